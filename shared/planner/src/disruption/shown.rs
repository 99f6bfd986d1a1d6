//! Claims that are replaced say so: condition `DisruptionReason`, from the moment their command begins until
//! they are given up or it is rolled back.
//!
//! Karpenter: `pkg/controllers/disruption/queue.go`, `StartCommand`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    NodeClaim, NodeClaimName,
    claim::{ClaimConditions, Disrupting},
    disruption::DisruptionReason,
    ledger::Snapshot,
};

/// The claims that do not say yet what they are replaced for, or say it though nobody replaces them, as they
/// should become.
#[must_use]
pub fn reasons_shown(ledger: &Snapshot, now: Timestamp) -> Vec<NodeClaim> {
    let under_way = ledger.commands.values().filter(|command| command.is_under_way());
    let replaced: BTreeMap<&NodeClaimName, DisruptionReason> = under_way
        .flat_map(|command| command.candidates.iter().map(|name| (name, command.method.reason())))
        .collect();
    let claims = ledger.claims.values().filter(|claim| !claim.is_deleting());
    let changed = claims.filter_map(|claim| {
        let reason = replaced.get(&claim.name).copied();
        let before = claim.conditions.disruption;
        if before.map(|before| before.reason) == reason {
            return None;
        }
        let disruption = reason.map(|reason| Disrupting { reason, since: now });
        let conditions = ClaimConditions { disruption, ..claim.conditions.clone() };
        Some(NodeClaim { conditions, ..claim.following() })
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use model::disruption::{Command, Method, Progress};

    use super::*;
    use crate::testing::*;

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
}
