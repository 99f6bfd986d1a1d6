//! Claims that are replaced say so: condition `DisruptionReason`, from the moment their command begins until

use model::{
    claim::Disrupting,
    disruption::{Command, DisruptionReason, Method, Progress},
};
use planner::disruption::shown::*;

use crate::planner::support::*;

#[test]
fn a_claim_says_what_it_is_replaced_for_until_it_is_not() {
    let mut facts = facts(Vec::new());
    let claim = add_managed(&mut facts, "node-1");
    let mut ledger = facts.ledger;
    assert_eq!(reasons_shown(&ledger, now()), []);
    let mut command = Command {
        method: Method::Drift,
        found_at: now(),
        candidates: vec![claim.name.clone()],
        replacements: Vec::new(),
        drain: None,
        progress: Progress::Found,
    };
    let id: model::CommandId = "command-1".parse().unwrap();
    ledger.commands.insert(id.clone(), command.clone());
    assert_eq!(reasons_shown(&ledger, now()), [], "it is only found");
    command.progress = Progress::Launching { since: now(), claims: Vec::new() };
    ledger.commands.insert(id.clone(), command.clone());
    let says = reasons_shown(&ledger, now());
    let reason = DisruptionReason::Drifted;
    assert_eq!(says[0].conditions.disruption, Some(Disrupting { reason, since: now() }));
    ledger.claims.insert(claim.name.clone(), says[0].clone());
    assert_eq!(reasons_shown(&ledger, now()), []);
    command.progress = Progress::RolledBack { why: "it did not come".to_owned() };
    ledger.commands.insert(id, command);
    let freed = reasons_shown(&ledger, now());
    assert_eq!(freed[0].conditions.disruption, None);
    ledger.claims.insert(claim.name.clone(), freed[0].clone());
    ledger.commands.clear();
    assert_eq!(reasons_shown(&ledger, now()), []);
}
