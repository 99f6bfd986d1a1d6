//! After the last pod: its volumes are detached before the instance is terminated.
//!
//! A volume that is still attached when its instance ends is taken away from it by force, minutes later, and
//! its pod waits for that elsewhere.
//!
//! Karpenter: `pkg/controllers/node/termination/controller.go`, `awaitVolumeDetachment`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    NodeClaim, NodeName, ObjectName, Pod,
    claim::{VolumeState, VolumesDetached},
    storage::{PodVolume, VolumeAttachment, VolumeClaim, VolumeClaimKey},
    words::counted,
};

use super::{deadline_of, is_drained, often_at_first};

/// How many volumes are named to people.
const NAMED_MAX: usize = 3;

/// What to look at of a drained node's volumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeLook {
    /// The node.
    pub node: NodeName,
    /// Claims of pods that stay: what they are bound to is not waited for.
    pub kept: BTreeSet<VolumeClaimKey>,
}

/// What to do about the volumes of a drained node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeStep {
    /// The instance is terminated; the condition is this from now on.
    End(VolumesDetached),
    /// They are waited for.
    Wait {
        /// The condition from now on.
        volumes: VolumesDetached,
        /// What people read.
        why: String,
        /// When to look again.
        revisit_after_seconds: u32,
    },
}

/// What to look at before the instance of `claim` is terminated, if that is not settled.
pub fn look(
    claim: &NodeClaim,
    node: &NodeName,
    pods: &[Pod],
    now: Timestamp,
) -> Option<VolumeLook> {
    let state = claim.conditions.volumes.map(|volumes| volumes.state);
    if matches!(state, Some(VolumeState::Detached | VolumeState::Elapsed)) {
        return None;
    }
    let staying = pods.iter().filter(|pod| !is_drained(pod, now));
    Some(VolumeLook { node: node.clone(), kept: staying.flat_map(claims_of).collect() })
}

fn claims_of(pod: &Pod) -> impl Iterator<Item = VolumeClaimKey> {
    pod.volumes.iter().filter_map(|volume| {
        let name = match volume {
            PodVolume::Claim(name) => name.clone(),
            PodVolume::Ephemeral { volume, .. } => {
                ObjectName::new(&format!("{}-{volume}", pod.key.name)).ok()?
            }
        };
        Some(VolumeClaimKey { namespace: pod.key.namespace.clone(), name })
    })
}

/// Whether the volumes of the drained node of `claim` are waited for, whose cluster has `attachments`; `None` is
/// that they cannot be read. Of `look`'s claims, those that are there are among `claims`.
#[must_use]
pub fn await_volumes(
    claim: &NodeClaim,
    look: &VolumeLook,
    attachments: Option<&[VolumeAttachment]>,
    claims: &BTreeMap<VolumeClaimKey, VolumeClaim>,
    now: Timestamp,
) -> VolumeStep {
    let kept_volumes: BTreeSet<&str> =
        look.kept.iter().filter_map(|key| claims.get(key)?.volume.as_deref()).collect();
    let awaited: Option<Vec<&str>> = attachments.map(|attachments| {
        let here = attachments.iter().filter(|attachment| attachment.node == look.node);
        let volumes = here.filter_map(|attachment| attachment.volume.as_deref());
        volumes.filter(|volume| !kept_volumes.contains(volume)).collect()
    });
    let became = |state| {
        let before = claim.conditions.volumes.filter(|before| before.state == state);
        before.unwrap_or(VolumesDetached { state, since: now })
    };
    if awaited.as_ref().is_some_and(Vec::is_empty) {
        return VolumeStep::End(became(VolumeState::Detached));
    }
    let deadline = deadline_of(claim);
    if deadline.is_some_and(|deadline| deadline <= now) {
        return VolumeStep::End(became(VolumeState::Elapsed));
    }
    let volumes = became(VolumeState::Awaited);
    let age = now.duration_since(volumes.since);
    let until_deadline = deadline
        .map_or(SignedDuration::MAX, |deadline| deadline.duration_since(now))
        .as_secs()
        .saturating_add(1);
    VolumeStep::Wait {
        volumes,
        why: awaited.map_or_else(|| "its volumes cannot be read".to_owned(), |names| words(&names)),
        revisit_after_seconds: often_at_first(age)
            .min(u32::try_from(until_deadline).unwrap_or(u32::MAX)),
    }
}

/// `volumes are still attached: pv-1, pv-2 and 3 others`
fn words(volumes: &[&str]) -> String {
    let named = volumes.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    match volumes.len().saturating_sub(NAMED_MAX) {
        0 => format!("volumes are still attached: {named}"),
        others => {
            let others = counted(others, "other");
            format!("volumes are still attached: {named} and {others}")
        }
    }
}
