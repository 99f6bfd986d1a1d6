//! After the last pod: its volumes are detached before the instance is terminated.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{
    DeletionReason, NodeClaim,
    claim::{VolumeState, VolumesDetached},
    storage::{PodVolume, VolumeAttachment, VolumeClaim, VolumeClaimKey},
};
use planner::lifecycle::drain::volumes::{self, *};

use crate::planner::support::*;

/// A claim that was deleted 20 seconds ago and has `grace` seconds in all, drained.
fn deleted(grace: Option<i64>) -> NodeClaim {
    let mut facts = facts(Vec::new());
    let mut claim = add_managed(&mut facts, "node-1");
    claim.termination_grace_period = grace.map(SignedDuration::from_secs);
    claim.deleted(DeletionReason::Expired, ago(20))
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
        (Some(20), Some(&here), VolumeState::Elapsed),
        (Some(20), Some(&elsewhere), VolumeState::Detached),
        (Some(20), None, VolumeState::Elapsed),
    ] {
        let claim = deleted(grace);
        let attachments = attachments.map(<[_; 2]>::as_slice);
        let step = await_volumes(&claim, &look(), attachments, &BTreeMap::new(), now());
        assert_eq!(state(&step), expected, "{grace:?} {attachments:?}");
    }
}

#[test]
fn what_is_waited_for_is_named_and_looked_at_often_at_first() {
    let attachments = ["a", "b", "c", "d", "e"].map(|volume| attached(volume, "node-1"));
    let mut claim = deleted(None);
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
    let mut stays = pod("stays on:node-1 cpu=1");
    stays.owner = owner("v1/Node");
    stays.volumes = vec![PodVolume::Claim("data".parse().unwrap())];
    let mut stuck = pod("stuck on:node-1 cpu=1");
    stuck.deleted_at = Some(ago(61));
    let scratch = PodVolume::Ephemeral { volume: "scratch".to_owned(), storage_class: None };
    stuck.volumes = vec![scratch];
    let claim = deleted(None);
    let pods = [stays, stuck];
    let node = "node-1".parse().unwrap();
    let look = volumes::look(&claim, &node, &pods, now()).unwrap();
    assert_eq!(look.kept, BTreeSet::from([key("data"), key("stuck-scratch")]));
    let bound =
        |volume: &str| VolumeClaim { volume: Some(volume.to_owned()), ..VolumeClaim::default() };
    let claims = BTreeMap::from([(key("data"), bound("pv-1"))]);
    let attachments = [attached("pv-1", "node-1")];
    let step = await_volumes(&claim, &look, Some(&attachments), &claims, now());
    assert_eq!(state(&step), VolumeState::Detached);
    // It is not known of which claim the other is: it is waited for.
    let attachments = [attached("pv-1", "node-1"), attached("pv-2", "node-1")];
    let step = await_volumes(&claim, &look, Some(&attachments), &claims, now());
    assert_eq!(state(&step), VolumeState::Awaited);
}

#[test]
fn what_is_settled_is_not_looked_at_again() {
    let node = "node-1".parse().unwrap();
    let mut claim = deleted(None);
    for (state, looks) in [
        (None, true),
        (Some(VolumeState::Awaited), true),
        (Some(VolumeState::Detached), false),
        (Some(VolumeState::Elapsed), false),
    ] {
        claim.conditions.volumes = state.map(|state| VolumesDetached { state, since: ago(1) });
        assert_eq!(volumes::look(&claim, &node, &[], now()).is_some(), looks, "{state:?}");
    }
}
