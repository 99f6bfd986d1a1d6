//! What EC2's checks of instances and its scheduled events mean.
//!
//! Karpenter: `pkg/controllers/instancestatus/controller.go` of the AWS provider.

use jiff::{SignedDuration, Timestamp};
use model::{
    Function, InstanceId, NodeClaim, Plan,
    interruption::{Interruption, InterruptionKind, StatusProblem, StatusReport},
    ledger::Snapshot,
};

use super::interrupt::interrupt;

/// How long a check fails before its instance is terminated.
const FAILED_FOR: SignedDuration = SignedDuration::from_secs(120);

/// The claims of `snapshot` that are deleted for what EC2 reports of their instances: by force where a
/// check has failed for two minutes, in order where EC2 scheduled an event. A check of which EC2 does not say
/// since when it fails is waited for.
#[must_use]
pub fn impaired(snapshot: &Snapshot, reports: &[StatusReport], now: Timestamp) -> Plan {
    let interruptions: Vec<Interruption> =
        reports.iter().filter_map(|report| interruption(report, now)).collect();
    let of_instance = |id: &InstanceId| -> Vec<Interruption> {
        let is_of = |interruption: &&Interruption| interruption.instance == *id;
        interruptions.iter().filter(is_of).cloned().collect()
    };
    let events: Vec<(&NodeClaim, Vec<Interruption>)> = snapshot
        .claims
        .values()
        .filter_map(|claim| Some((claim, of_instance(&claim.instance.as_ref()?.id))))
        .filter(|(_, events)| !events.is_empty())
        .collect();
    let events = events.iter().map(|(claim, events)| (*claim, events.as_slice()));
    let mut plan = interrupt(snapshot, events, now);
    for decision in &mut plan.decisions {
        decision.function = Function::Sweep;
    }
    plan
}

fn interruption(report: &StatusReport, now: Timestamp) -> Option<Interruption> {
    let kind = match report.problem {
        StatusProblem::ScheduledEvent => InterruptionKind::ScheduledChange,
        StatusProblem::InstanceCheck { since } | StatusProblem::SystemCheck { since } => {
            let failed_for = now.duration_since(since?);
            (FAILED_FOR <= failed_for).then_some(InterruptionKind::CheckFailed)?
        }
    };
    Some(Interruption { kind, instance: report.instance.clone(), at: now })
}
