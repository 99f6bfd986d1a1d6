//! What is in the price of a fleet.

use std::collections::BTreeSet;

use model::{HourlyPrice, NodeClassName, facts::Facts, plan::NewClaim};
use report::output::{count, dollars};

/// What prices of the nodes of `new_claims` are of, as [`in_words`] says it.
pub(super) fn of_new_claims<'p>(
    facts: &Facts,
    new_claims: impl IntoIterator<Item = &'p NewClaim>,
) -> String {
    in_words(facts, new_claims.into_iter().map(|new| Some(&new.claim.node_class)))
}

/// What prices of nodes are of, each of an EC2NodeClass or of none: `instances, their volumes and $0.0100 for
/// each node, without data transfer`.
pub(super) fn in_words<'f>(
    facts: &Facts,
    nodes: impl IntoIterator<Item = Option<&'f NodeClassName>>,
) -> String {
    let (mut priced, mut others, mut classless) = (false, BTreeSet::new(), 0);
    for class in nodes {
        match class {
            Some(class) if facts.node_charges.contains_key(class) => priced = true,
            Some(class) => {
                others.insert(class.as_str());
            }
            None => classless += 1,
        }
    }
    let mut without = Vec::new();
    if !others.is_empty() {
        let names: Vec<&str> = others.into_iter().collect();
        without.push(format!("of EC2NodeClass {}", names.join(", ")));
    }
    if 0 < classless {
        without.push(format!("of {} without an EC2NodeClass", count(classless, "node")));
    }
    let mut parts = vec!["instances".to_owned()];
    if priced {
        parts.push(match without.as_slice() {
            [] => "their volumes".to_owned(),
            without => format!("their volumes (but {})", without.join(" and ")),
        });
    }
    let charge = facts.policies.node_charge;
    if charge != HourlyPrice::default() {
        parts.push(format!("{} for each node", dollars(charge.nanos().into())));
    }
    let parts = match parts.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        parts => parts.concat(),
    };
    let missing = if priced { "data transfer" } else { "volumes and data transfer" };
    format!("{parts}, without {missing}")
}
