//! Where pods go, what is launched for them, and why some find no place.

use model::{Plan, PodSpec, facts::Facts, policies::Packing};
use planner::scheduling::provision::*;

use crate::planner::support::*;

mod affinity;
mod devices;
mod dollars;
mod existing;
mod labels;
mod laws;
mod markets;
mod packed;
mod places;
mod pods;
mod pools;
mod preferences;
mod shares;
mod spread;
mod volumes;

/// Plans `facts` and compares with what [`shown`] says of the plan.
#[track_caller]
fn check(facts: &Facts, expected: &[&str]) {
    let plan = provision(facts);
    assert_eq!(shown(&plan), expected.join("\n"));
    assert_eq!(provision(facts), plan, "planned twice");
}

fn with_selector(requests: &str, selector: &[&str]) -> PodSpec {
    PodSpec { node_selector: requirements(&selector.join(" ")), ..spec(requests) }
}

fn with_terms(requests: &str, terms: &[&[&str]]) -> PodSpec {
    let term = |term: &&[&str]| term.iter().map(|text| requirement(text)).collect();
    PodSpec { required_terms: terms.iter().map(term).collect(), ..spec(requests) }
}
