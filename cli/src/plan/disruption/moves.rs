//! Where pods move, as sums.

use std::collections::BTreeSet;

use model::{PodKey, facts::Facts, plan::Target};
use planner::disruption::{Destination, Proposal};
use report::output::{count, in_order, many, named};

use crate::plan::owners::Owners;

/// Nodes that a line names.
const NODES_SHOWN: usize = 3;

/// `12 pods of 3 workloads → n4, n5 and 1 new node`; `None` if no pod moves.
pub(super) fn in_words(proposal: &Proposal, facts: &Facts) -> Option<String> {
    if proposal.moves.is_empty() {
        return None;
    }
    let (mut existing, mut launched) = (BTreeSet::new(), BTreeSet::new());
    for pod_move in &proposal.moves {
        match &pod_move.to {
            Destination::Existing(Target::Node(node)) => drop(existing.insert(node.as_str())),
            Destination::Existing(Target::Claim(claim)) => drop(existing.insert(claim.as_str())),
            Destination::Replacement(place) => drop(launched.insert(*place)),
        }
    }
    let existing = in_order(existing);
    let mut to = Vec::new();
    if !existing.is_empty() {
        to.push(named(&existing, NODES_SHOWN));
    }
    match launched.len() {
        0 => {}
        1 => to.push("the new node".to_owned()),
        number => to.push(format!("{} new nodes", many(number))),
    }
    let pods = proposal.moves.iter().map(|pod_move| &pod_move.pod);
    Some(format!("{} → {}", of_workloads(pods.collect(), facts), to.join(" and ")))
}

/// `1 pod`, `12 pods of 3 workloads`
fn of_workloads(pods: Vec<&PodKey>, facts: &Facts) -> String {
    let counted = |number: usize, noun| count(u64::try_from(number).unwrap_or(u64::MAX), noun);
    let (number, owners) = (pods.len(), Owners::of(&facts.pods).count(pods));
    match number {
        1 => counted(1, "pod"),
        number => format!("{} of {}", counted(number, "pod"), counted(owners, "workload")),
    }
}
