//! From an instance to a node in service, and what goes wrong on the way.

use model::{
    CapacityType, ClaimPhase, DeletionReason, NodeClaim, NodeName,
    claim::ClaimMessage,
    dynamic_resources::{ResourcePool, ResourceSlice, SliceAccess},
    labels,
    node::{Node, NodePatch},
};
use planner::lifecycle::settle::*;

use crate::planner::support::*;

/// Where no driver publishes devices.
const NONE: SeenSlices<'_> = SeenSlices { readable: &[], unreadable: None };

fn seen(readable: &[ResourceSlice]) -> SeenSlices<'_> {
    SeenSlices { readable, ..NONE }
}

/// A launched claim and its node, which just joined.
fn joined() -> (NodeClaim, Node) {
    let mut claim = add_managed(&mut facts(Vec::new()), "node-1");
    claim.phase = ClaimPhase::Launched;
    claim.node = None;
    claim.created_at = ago(30);
    claim.taints = vec![taint("team=x:NoSchedule")];
    claim.startup_taints = vec![taint("cni:NoExecute")];
    claim.annotations.insert("note".to_owned(), "y".to_owned());
    let mut node = node("node-1 cpu=16 memory=32Gi pods=50");
    node.taints = vec![taint("karpenter.sh/unregistered:NoExecute")];
    node.labels.insert(labels::NODE_POOL.to_owned(), "stale".to_owned());
    (claim, node)
}

/// What a node becomes by a patch.
fn patched(node: &Node, patch: Option<&NodePatch>) -> Node {
    let mut node = node.clone();
    let Some(patch) = patch else { return node };
    node.labels.extend(patch.labels.clone());
    node.annotations.extend(patch.annotations.clone());
    node.taints.retain(|present| !patch.remove_taints.iter().any(|taint| is_same(present, taint)));
    node.taints.extend(patch.add_taints.clone());
    node.finalizers.extend(patch.add_finalizers.clone());
    node.finalizers.retain(|finalizer| !patch.remove_finalizers.contains(finalizer));
    node
}

#[test]
fn a_node_that_joined_is_registered_with_all_that_its_claim_says() {
    let (claim, node) = joined();
    let settled = settle(&claim, Some(&node), NONE, false, now());
    let next = settled.claim.unwrap();
    assert_eq!((next.phase, next.version), (ClaimPhase::Registered, claim.version + 1));
    assert_eq!(next.node.as_ref(), Some(&node.name));
    let after = patched(&node, settled.patch.as_ref());
    assert!(after.is_registered());
    assert_eq!(after.labels[labels::NODE_POOL], "general");
    assert_eq!(after.labels[labels::NODE_CLASS], "default");
    assert_eq!(after.labels[labels::CAPACITY_TYPE], "spot");
    assert_eq!(after.annotations["note"], "y");
    assert_eq!(after.taints, [taint("team=x:NoSchedule"), taint("cni:NoExecute")]);
    assert!(after.finalizers.contains(labels::TERMINATION_FINALIZER));
    // Again on what it became, and when only one of both writes arrived.
    assert_eq!(settle(&next, Some(&after), NONE, false, now()).patch, None);
    assert_eq!(settle(&claim, Some(&after), NONE, false, now()).patch, None);
    assert!(settle(&next, Some(&node), NONE, false, now()).patch.is_some());
}

#[test]
fn a_node_that_sets_its_own_taints_keeps_them() {
    let (claim, mut node) = joined();
    node.labels.insert(labels::DO_NOT_SYNC_TAINTS.to_owned(), "true".to_owned());
    let after = patched(&node, settle(&claim, Some(&node), NONE, false, now()).patch.as_ref());
    assert_eq!(after.taints, []);
    // Any other value is as none.
    for value in ["false", "yes", ""] {
        node.labels.insert(labels::DO_NOT_SYNC_TAINTS.to_owned(), value.to_owned());
        let after = patched(&node, settle(&claim, Some(&node), NONE, false, now()).patch.as_ref());
        assert_eq!(after.taints, [taint("team=x:NoSchedule"), taint("cni:NoExecute")], "{value}");
    }
}

#[test]
fn a_node_without_the_taint_that_marks_it_registers_as_well() {
    let (claim, mut node) = joined();
    node.taints.clear();
    let settled = settle(&claim, Some(&node), NONE, false, now());
    assert_eq!(settled.claim.unwrap().phase, ClaimPhase::Registered);
    let after = patched(&node, settled.patch.as_ref());
    assert!(after.is_registered());
    assert_eq!(after.taints, [taint("team=x:NoSchedule"), taint("cni:NoExecute")]);
}

#[test]
fn a_node_is_initialized_when_everything_on_it_is_there() {
    let (claim, node) = joined();
    let settled = settle(&claim, Some(&node), NONE, false, now());
    let (claim, node) = (settled.claim.unwrap(), patched(&node, settled.patch.as_ref()));
    let mut done = node.clone();
    done.taints = vec![taint("team=x:NoSchedule")];
    let mut gpu = claim.clone();
    gpu.requests = resources("cpu=1 example.com/gpu=1");
    for (claim, node, reason) in [
        (&claim, Node { is_ready: false, ..done.clone() }, "NodeNotReady: its node is not ready"),
        (&claim, node, "StartupTaintsExist: cni:NoExecute is still on its node"),
        (
            &claim,
            Node { taints: vec![taint("readiness.k8s.io/x:NoSchedule")], ..done.clone() },
            "KnownEphemeralTaintsExist: readiness.k8s.io/x:NoSchedule is still on its node",
        ),
        (&gpu, done.clone(), "ResourceNotRegistered: its node reports no example.com/gpu yet"),
    ] {
        let settled = settle(claim, Some(&node), NONE, false, now());
        let next = settled.claim.unwrap();
        assert_eq!(next.message.as_ref().unwrap().to_string(), reason);
        assert_eq!((next.phase, settled.revisit_after_seconds), (ClaimPhase::Registered, Some(2)));
        // The same reason is not written twice.
        assert_eq!(settle(&next, Some(&node), NONE, false, now()).claim, None);
    }
    let settled = settle(&claim, Some(&done), NONE, false, now());
    assert_eq!(settled.claim.as_ref().unwrap().phase, ClaimPhase::Initialized);
    let after = patched(&done, settled.patch.as_ref());
    assert!(after.is_initialized());
    let last = settle(&settled.claim.unwrap(), Some(&after), NONE, false, now());
    assert_eq!(last, Settlement::default());
}

/// A claim that is registered, and its node, which has all but what the case takes away.
fn starting() -> (NodeClaim, Node) {
    let (claim, node) = joined();
    let settled = settle(&claim, Some(&node), NONE, false, now());
    let mut node = patched(&node, settled.patch.as_ref());
    node.taints = vec![taint("team=x:NoSchedule")];
    (settled.claim.unwrap(), node)
}

#[test]
fn a_startup_taint_that_was_taken_away_is_not_put_back() {
    let (claim, node) = starting();
    for is_ready in [false, true] {
        let node = Node { is_ready, ..node.clone() };
        let settled = settle(&claim, Some(&node), NONE, false, now());
        let after = patched(&node, settled.patch.as_ref());
        assert_eq!(after.taints, [taint("team=x:NoSchedule")], "ready: {is_ready}");
        let next = settled.claim.unwrap();
        assert_eq!(next.phase == ClaimPhase::Initialized, is_ready);
        assert_eq!(settle(&next, Some(&after), NONE, false, now()).patch, None);
    }
}

#[test]
fn an_extended_resource_that_comes_later_is_waited_for() {
    let (mut claim, mut node) = starting();
    claim.requests = resources("cpu=1 example.com/gpu=1");
    let phase = |claim: &NodeClaim, node: &Node| {
        let settled = settle(claim, Some(node), NONE, false, now());
        settled.claim.map_or(claim.phase, |next| next.phase)
    };
    for reported in ["cpu=16 memory=32Gi", "cpu=16 memory=32Gi example.com/gpu=0"] {
        node.allocatable = resources(reported);
        assert_eq!(phase(&claim, &node), ClaimPhase::Registered, "{reported}");
    }
    node.allocatable = resources("cpu=16 memory=32Gi example.com/gpu=1");
    assert_eq!(phase(&claim, &node), ClaimPhase::Initialized);
}

/// Karpenter: `initialization_test.go`, which holds initialization until expected drivers publish complete pools.
#[test]
fn the_devices_of_every_requested_driver_are_waited_for() {
    let (mut claim, node) = starting();
    let drivers = (labels::REQUESTED_DRA_DRIVERS.to_owned(), "dra.net,gpu.nvidia.com".to_owned());
    claim.annotations.extend([drivers]);
    let slice = |driver: &str, slices: i64| ResourceSlice {
        name: driver.to_owned(),
        owner: Some(node.name.clone()),
        driver: driver.into(),
        pool: ResourcePool { name: "p".into(), generation: 1, slice_count: slices },
        access: SliceAccess::Node(node.name.clone()),
        devices: Vec::new(),
        shared_counters: Vec::new(),
    };
    let (efa, gpu) = (slice("dra.net", 1), slice("gpu.nvidia.com", 1));
    for (published, driver) in [
        (vec![], "dra.net"),
        (vec![efa.clone()], "gpu.nvidia.com"),
        (vec![efa.clone(), slice("gpu.nvidia.com", 2)], "gpu.nvidia.com"),
    ] {
        let settled = settle(&claim, Some(&node), seen(&published), false, now());
        let next = settled.claim.unwrap();
        let reason = format!(
            "DRADriverPoolsNotPublished: {driver} has not published the devices of its node yet"
        );
        assert_eq!(next.message.as_ref().unwrap().to_string(), reason);
        assert_eq!(ClaimMessage::parse(&reason), next.message.unwrap());
        assert_eq!((next.phase, settled.revisit_after_seconds), (ClaimPhase::Registered, Some(2)));
    }
    let unreadable = SeenSlices { unreadable: Some("ResourceSlice a"), ..NONE };
    let waits = settle(&claim, Some(&node), unreadable, false, now()).claim.unwrap();
    let why = waits.message.unwrap().text;
    assert!(why.ends_with("yet, or ResourceSlice a, which cannot be read, is among them"), "{why}");
    let settled = settle(&claim, Some(&node), seen(&[efa, gpu]), false, now());
    assert_eq!(settled.claim.unwrap().phase, ClaimPhase::Initialized);
    assert!(awaits_devices(&claim));
    claim.annotations.remove(labels::REQUESTED_DRA_DRIVERS);
    assert!(!awaits_devices(&claim));
}

/// Karpenter: `pkg/scheduling/taints.go`, `KnownEphemeralTaints`.
#[test]
fn taints_that_go_by_themselves_hold_initialization_until_they_are_gone() {
    let (claim, node) = starting();
    for text in [
        "node.kubernetes.io/not-ready:NoSchedule",
        "node.kubernetes.io/not-ready:NoExecute",
        "node.kubernetes.io/unreachable:NoSchedule",
        "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule",
    ] {
        let tainted = Node { taints: vec![taint(text)], ..node.clone() };
        let waits = settle(&claim, Some(&tainted), NONE, false, now()).claim.unwrap();
        assert_eq!(waits.phase, ClaimPhase::Registered, "{text}");
        let why = waits.message.as_ref().unwrap().to_string();
        assert!(why.starts_with("KnownEphemeralTaintsExist: "), "{why}");
        let settled = settle(&waits, Some(&node), NONE, false, now());
        assert_eq!(settled.claim.unwrap().phase, ClaimPhase::Initialized, "{text}");
    }
}

#[test]
fn what_joined_in_time_stays_however_long_it_takes_to_be_ready() {
    let (claim, node) = starting();
    let claim = NodeClaim { created_at: ago(86_400), phase_since: ago(86_000), ..claim };
    let unready = Node { is_ready: false, ..node };
    let waits = settle(&claim, Some(&unready), NONE, false, now());
    assert_eq!(waits.claim.unwrap().deletion, None);
    assert!(waits.revisit_after_seconds.is_some());
    assert_eq!(
        settle(&claim, None, NONE, false, now()).claim.and_then(|claim| claim.deletion),
        None
    );
}

#[test]
fn a_node_whose_reservation_ended_is_labelled_on_demand() {
    let (claim, mut node) = joined();
    let mut claim = NodeClaim { phase: ClaimPhase::Initialized, ..claim };
    let entries = labels::OF_RESERVATIONS.map(|key| (key.to_owned(), "x".to_owned()));
    node.labels.extend(entries);
    for key in [labels::REGISTERED, labels::INITIALIZED] {
        node.labels.insert(key.to_owned(), "true".to_owned());
    }
    node.labels.insert(labels::CAPACITY_TYPE.to_owned(), "reserved".to_owned());
    claim.instance.as_mut().unwrap().capacity_type = CapacityType::Reserved;
    assert_eq!(settle(&claim, Some(&node), NONE, false, now()), Settlement::default());
    claim.instance.as_mut().unwrap().capacity_type = CapacityType::OnDemand;
    let patch = settle(&claim, Some(&node), NONE, false, now()).patch.unwrap();
    assert_eq!(patch.remove_labels, labels::OF_RESERVATIONS.map(str::to_owned).into());
    let said = patch.labels.get(labels::CAPACITY_TYPE).map(String::as_str);
    assert_eq!(said, Some("on-demand"));
    node.labels.retain(|key, _| !patch.remove_labels.contains(key));
    node.labels.extend(patch.labels);
    assert_eq!(settle(&claim, Some(&node), NONE, false, now()), Settlement::default());
}

#[test]
fn a_claim_that_takes_too_long_is_deleted() {
    let (launched, _) = joined();
    for (age, reason) in [(899, None), (900, Some(DeletionReason::NotRegistered))] {
        let claim = NodeClaim { created_at: ago(age), ..launched.clone() };
        let settled = settle(&claim, None, NONE, false, now());
        let deleted = settled.claim.and_then(|claim| claim.deletion);
        assert_eq!(deleted.map(|deletion| deletion.reason), reason, "{age}");
        assert_eq!(settled.revisit_after_seconds.is_some(), reason.is_none(), "{age}");
    }
}

#[test]
fn a_claim_that_is_only_created_is_left_to_its_launch() {
    let (launched, _) = joined();
    let created = NodeClaim { phase: ClaimPhase::Created, instance: None, ..launched };
    let created = NodeClaim { created_at: ago(3_600), ..created };
    assert_eq!(settle(&created, None, NONE, false, now()), Settlement::default());
}

#[test]
fn a_claim_whose_instance_is_gone_is_deleted() {
    let (claim, node) = joined();
    let settled = settle(&claim, Some(&node), NONE, true, now());
    let deletion = settled.claim.unwrap().deletion.unwrap();
    assert_eq!((deletion.reason, settled.patch), (DeletionReason::InstanceEnded, None));
    let created = NodeClaim { phase: ClaimPhase::Created, instance: None, ..claim };
    assert_eq!(settle(&created, None, NONE, true, now()).claim, None);
}

#[test]
fn visits_become_rarer_and_never_miss_a_deadline() {
    let (claim, _) = joined();
    for (age, delay) in [(10, 2), (100, 5), (500, 15), (895, 6)] {
        let claim = NodeClaim { created_at: ago(age), ..claim.clone() };
        let settled = settle(&claim, None, NONE, false, now());
        assert_eq!(settled.revisit_after_seconds, Some(delay), "{age}");
    }
}

#[test]
fn of_several_nodes_with_one_instance_none_is_taken_and_the_claim_goes_in_time() {
    let (claim, node) = joined();
    let names = [node.name.clone(), NodeName::new("node-2").unwrap()];
    let settled = settle_among(&claim, &names, now());
    let told = settled.claim.unwrap();
    assert_eq!((told.phase, settled.patch), (ClaimPhase::Launched, None));
    let message = told.message.as_ref().unwrap().to_string();
    assert_eq!(message, "MultipleNodesFound: several nodes report its instance: node-1, node-2");
    assert_eq!(ClaimMessage::parse(&message), told.message.clone().unwrap());
    // It is reported once, and neither of them is its node when the other is gone.
    for settled in
        [settle_among(&told, &names, now()), settle(&told, Some(&node), NONE, false, now())]
    {
        assert_eq!((settled.claim, settled.patch), (None, None));
        assert!(settled.revisit_after_seconds.is_some());
    }
    // Its time begins when that is seen, however long it waited before.
    assert_eq!(told.phase_since, now());
    let old = NodeClaim { created_at: ago(15 * 60), ..told.clone() };
    assert_eq!(settle_among(&old, &names, now()).claim, None);
    let late = NodeClaim { phase_since: ago(15 * 60), ..told };
    let gone = settle_among(&late, &names, now()).claim.unwrap();
    assert_eq!(gone.deletion.unwrap().reason, DeletionReason::NotRegistered);
}
