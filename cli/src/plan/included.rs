//! What is in the price of a fleet.

use std::collections::BTreeSet;

use model::{HourlyPrice, NodeClassName, Plan, facts::Facts};
use report::output::dollars;

/// What prices of the nodes of `plan` are of: `instances, their volumes and $0.0100 for each node`.
pub(super) fn in_words(facts: &Facts, plan: &Plan) -> String {
    let classes = plan.promises.iter().map(|promise| &promise.claim.node_class);
    let bought: BTreeSet<&NodeClassName> = classes.collect();
    let (priced, others): (Vec<&NodeClassName>, Vec<&NodeClassName>) =
        bought.into_iter().partition(|class| facts.node_charges.contains_key(*class));
    let mut parts = vec!["instances".to_owned()];
    match (priced.as_slice(), others.as_slice()) {
        ([], _) => {}
        (_, []) => parts.push("their volumes".to_owned()),
        _ => {
            let names: Vec<&str> = others.iter().map(|class| class.as_str()).collect();
            parts.push(format!("their volumes (but of EC2NodeClass {})", names.join(", ")));
        }
    }
    let charge = facts.policies.node_charge;
    if charge != HourlyPrice::default() {
        parts.push(format!("{} for each node", dollars(charge.nanos().into())));
    }
    match parts.as_slice() {
        [alone] => format!("{alone} alone"),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
        [] => String::new(),
    }
}
