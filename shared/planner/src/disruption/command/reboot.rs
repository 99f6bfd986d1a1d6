//! A command that reboots: its node takes pods again once it is back, or its claim is deleted.
//!
//! Karpenter 1.15: `pkg/controllers/nodeclaim/reboot`.

use jiff::Timestamp;
use model::{
    CommandId, DeletionReason, Function, NodeClaim, Plan,
    claim::Reboot,
    disruption::{Command, Progress},
    ledger::{Decision, DecisionKind, Rejected, RejectionReason, Snapshot},
};

use super::claims_left;
use crate::disruption::carry_out::name;

/// What is to be done about `command`, which reboots since `since`, as far as its claims say it.
pub(super) fn carried_on(
    plan: &mut Plan,
    (id, command): (&CommandId, &Command),
    (ledger, since, now): (&Snapshot, Timestamp, Timestamp),
) {
    let candidates: Vec<&NodeClaim> = claims_left(ledger, command).collect();
    if candidates.is_empty() {
        plan.ended.insert(id.clone());
        return;
    }
    let late = candidates.iter().copied().find_map(|claim| {
        let reboot = claim.conditions.reboot(since)?;
        Some((claim, overdue(reboot, now)?))
    });
    let decide = |claims: &[&NodeClaim], summary: String| {
        let (kind, who) = (DecisionKind::Disruption, (Function::Disrupt, now));
        Decision::about(kind, claims.iter().copied(), who, summary)
    };
    let method = name(command.method.reason());
    if let Some((claim, why)) = late {
        let reason = DeletionReason::Disrupted(command.method.reason());
        plan.changes.push(claim.deleted_within(reason, now, command.drain));
        plan.ended.insert(id.clone());
        let decision =
            decide(&[claim], format!("{method}: a node is disrupted, its reboot failed"));
        let reason = RejectionReason::RebootFailed;
        let rejected = vec![Rejected { what: None, reason, why }];
        plan.decisions.push(Decision { rejected, ..decision });
        return;
    }
    let is_back = |claim: &&NodeClaim| {
        claim.conditions.reboot(since).is_some_and(|reboot| reboot.ended_at.is_some())
    };
    if candidates.iter().all(is_back) {
        plan.decisions.push(decide(&candidates, format!("{method}: a node was rebooted")));
        let progress = Progress::RolledBack { why: "its instance was rebooted".to_owned() };
        plan.started.insert(id.clone(), Command { progress, ..command.clone() });
    }
}

/// Why a reboot is not waited for any longer, if so.
fn overdue(reboot: &Reboot, now: Timestamp) -> Option<String> {
    if reboot.ended_at.is_some() {
        return None;
    }
    let (from, within) = match reboot.issued_at {
        None => (reboot.drained_at, Reboot::ACCEPTED_WITHIN),
        Some(issued_at) => (issued_at, Reboot::BACK_WITHIN),
    };
    let is_late = within <= now.duration_since(from);
    let minutes = within.as_mins();
    is_late.then(|| match reboot.issued_at {
        None => format!("EC2 did not take the request to reboot it within {minutes} minutes"),
        Some(_) => format!("it was not back within {minutes} minutes"),
    })
}
