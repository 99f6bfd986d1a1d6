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
pub(super) fn look(
    claim: &NodeClaim,
    node: &NodeName,
    pods: &[Pod],
    now: Timestamp,
) -> Option<VolumeLook> {
    let state = claim.conditions.volumes.map(|volumes| volumes.state);
    if matches!(state, Some(VolumeState::Detached | VolumeState::GivenUp)) {
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
        return VolumeStep::End(became(VolumeState::GivenUp));
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
        others => format!("volumes are still attached: {named} and {others} others"),
    }
}

#[cfg(test)]
mod tests {
    use model::DeletionReason;

    use super::*;
    use crate::testing::*;

    /// A claim that was given up 20 seconds ago and has `grace` seconds in all, drained.
    fn given_up(grace: Option<i64>) -> NodeClaim {
        let mut facts = facts(Vec::new());
        let mut claim = add_managed(&mut facts, "node-1");
        claim.termination_grace_period = grace.map(SignedDuration::from_secs);
        claim.given_up(DeletionReason::Expired, ago(20))
    }

    fn attached(volume: &str, node: &str) -> VolumeAttachment {
        let volume_name = (!volume.is_empty()).then(|| volume.to_owned());
        let name = format!("csi-{volume}-{node}");
        VolumeAttachment { name, node: node.parse().unwrap(), volume: volume_name }
    }

    fn look() -> VolumeLook {
        VolumeLook { node: "node-1".parse().unwrap(), kept: BTreeSet::new() }
    }

    fn state(step: &VolumeStep) -> VolumeState {
        match step {
            VolumeStep::End(volumes) | VolumeStep::Wait { volumes, .. } => volumes.state,
        }
    }

    fn key(name: &str) -> VolumeClaimKey {
        VolumeClaimKey { namespace: "default".parse().unwrap(), name: name.parse().unwrap() }
    }

    #[test]
    fn volumes_of_the_node_are_waited_for_until_the_deadline() {
        let here = [attached("pv-1", "node-1"), attached("pv-2", "node-2")];
        let elsewhere = [attached("pv-2", "node-2"), attached("", "node-1")];
        for (grace, attachments, expected) in [
            (None, Some(&here), VolumeState::Awaited),
            (None, Some(&elsewhere), VolumeState::Detached),
            (None, None, VolumeState::Awaited),
            (Some(21), Some(&here), VolumeState::Awaited),
            (Some(20), Some(&here), VolumeState::GivenUp),
            (Some(20), Some(&elsewhere), VolumeState::Detached),
            (Some(20), None, VolumeState::GivenUp),
        ] {
            let claim = given_up(grace);
            let attachments = attachments.map(<[_; 2]>::as_slice);
            let step = await_volumes(&claim, &look(), attachments, &BTreeMap::new(), now());
            assert_eq!(state(&step), expected, "{grace:?} {attachments:?}");
        }
    }

    #[test]
    fn what_is_waited_for_is_named_and_looked_at_often_at_first() {
        let attachments = ["a", "b", "c", "d", "e"].map(|volume| attached(volume, "node-1"));
        let mut claim = given_up(None);
        for (age, delay) in [(0, 2), (59, 2), (60, 5), (599, 5), (600, 15)] {
            let since = ago(age);
            claim.conditions.volumes = Some(VolumesDetached { state: VolumeState::Awaited, since });
            let step = await_volumes(&claim, &look(), Some(&attachments), &BTreeMap::new(), now());
            let VolumeStep::Wait { volumes, why, revisit_after_seconds } = step else {
                panic!("{step:?}")
            };
            assert_eq!((volumes.since, revisit_after_seconds), (since, delay));
            assert_eq!(why, "volumes are still attached: a, b, c and 2 others");
        }
    }

    #[test]
    fn volumes_of_pods_that_stay_are_not_waited_for() {
        let mut stays = running("stays", "node-1", spec("cpu=1"));
        stays.owner = Some(owner("v1", "Node"));
        stays.volumes = vec![PodVolume::Claim("data".parse().unwrap())];
        let mut stuck = running("stuck", "node-1", spec("cpu=1"));
        stuck.deleted_at = Some(ago(61));
        let scratch = PodVolume::Ephemeral { volume: "scratch".to_owned(), storage_class: None };
        stuck.volumes = vec![scratch];
        let claim = given_up(None);
        let pods = [stays, stuck];
        let node = "node-1".parse().unwrap();
        let look = super::look(&claim, &node, &pods, now()).unwrap();
        assert_eq!(look.kept, BTreeSet::from([key("data"), key("stuck-scratch")]));
        let bound = |volume: &str| VolumeClaim {
            volume: Some(volume.to_owned()),
            ..VolumeClaim::default()
        };
        let claims = BTreeMap::from([(key("data"), bound("pv-1"))]);
        let attachments = [attached("pv-1", "node-1")];
        let step = await_volumes(&claim, &look, Some(&attachments), &claims, now());
        assert_eq!(state(&step), VolumeState::Detached);
        // Nobody knows of which claim the other is: it is waited for.
        let attachments = [attached("pv-1", "node-1"), attached("pv-2", "node-1")];
        let step = await_volumes(&claim, &look, Some(&attachments), &claims, now());
        assert_eq!(state(&step), VolumeState::Awaited);
    }

    #[test]
    fn what_is_settled_is_not_looked_at_again() {
        let node = "node-1".parse().unwrap();
        let mut claim = given_up(None);
        for (state, looks) in [
            (None, true),
            (Some(VolumeState::Awaited), true),
            (Some(VolumeState::Detached), false),
            (Some(VolumeState::GivenUp), false),
        ] {
            claim.conditions.volumes = state.map(|state| VolumesDetached { state, since: ago(1) });
            assert_eq!(super::look(&claim, &node, &[], now()).is_some(), looks, "{state:?}");
        }
    }
}
