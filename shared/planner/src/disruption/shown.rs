//! Claims that are replaced say so: condition `DisruptionReason`, from the moment their command begins until
//! they are deleted or it is rolled back.
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

/// The claims that do not say yet what they are replaced for, or say it although they are not replaced, as they
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
