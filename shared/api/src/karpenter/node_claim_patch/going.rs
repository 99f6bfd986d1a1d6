//! How far a claim is whose node is rebooted, or that is deleted: what its conditions say of that.

use jiff::Timestamp;
use model::{
    Condition as Found, ConditionKind, ConditionReason, NodeClaim,
    claim::{ClaimConditions, Reboot, VolumeState},
};

/// How far the latest reboot is.
///
/// Karpenter 1.15: `pkg/controllers/nodeclaim/reboot`.
pub(super) fn rebooting(reboot: &Reboot) -> (Found, Timestamp) {
    let kind = ConditionKind::Rebooting;
    match *reboot {
        Reboot { ended_at: Some(at), .. } => {
            (Found::fails(kind, ConditionReason::RebootSucceeded, ""), at)
        }
        Reboot { issued_at: Some(at), .. } => {
            (Found { reason: ConditionReason::RebootIssued, ..Found::holds(kind) }, at)
        }
        Reboot { drained_at, .. } => {
            (Found { reason: ConditionReason::RebootRequested, ..Found::holds(kind) }, drained_at)
        }
    }
}

/// How far a claim that is deleted since `at` is.
///
/// Karpenter: `pkg/controllers/node/termination/controller.go`.
pub(super) fn termination(claim: &NodeClaim, at: Timestamp) -> Vec<(Found, Timestamp)> {
    let ClaimConditions { drained_since, volumes, instance_terminating_since, .. } =
        claim.conditions;
    let drained = match drained_since {
        Some(since) => Some((Found::holds(ConditionKind::Drained), since)),
        None if claim.node.is_some() => {
            let draining = ConditionReason::Draining;
            Some((Found::unknown(ConditionKind::Drained, draining, "Draining"), at))
        }
        None => None,
    };
    let terminating = instance_terminating_since
        .map(|since| (Found::holds(ConditionKind::InstanceTerminating), since));
    let volumes = volumes.map(|volumes| (detached(volumes.state), volumes.since));
    drained.into_iter().chain(volumes).chain(terminating).collect()
}

fn detached(state: VolumeState) -> Found {
    let kind = ConditionKind::VolumesDetached;
    let awaiting = ConditionReason::AwaitingVolumeDetachment;
    let elapsed = ConditionReason::TerminationGracePeriodElapsed;
    match state {
        VolumeState::Awaited => Found::unknown(kind, awaiting.clone(), awaiting.as_str()),
        VolumeState::Detached => Found::holds(kind),
        VolumeState::Elapsed => Found::fails(kind, elapsed.clone(), elapsed.as_str()),
    }
}
