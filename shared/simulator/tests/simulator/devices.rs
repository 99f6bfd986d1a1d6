//! Devices, as kube-scheduler's stand-in allocates them.

use std::{collections::BTreeMap, sync::Arc};

use model::{dynamic_resources::ResourceClaim, facts::DaemonSet};
use ports::Cluster as _;
use simulator::{
    Action, ClusterObject, Sim, StoryClaimTemplate, StoryWorkload, StoryWorkloadKind, WorldSettings,
};
use testkit::build;

use crate::simulator::toy;

/// A world with a node and devices as lines say them; the claims among them are not allocated.
fn world(devices: impl FnOnce(&str) -> String) -> Sim {
    let sim = toy::sim(WorldSettings::default());
    toy::node(&sim, "a");
    toy::node(&sim, "b");
    let node = sim.nodes()[0].name.clone();
    let listed = build::devices(&devices(node.as_str()));
    let slices = listed.slices.into_iter().map(|s| ClusterObject::ResourceSlice(Box::new(s)));
    let classes = listed.classes.into_iter().map(ClusterObject::DeviceClass);
    let claims = listed.claims.into_iter().map(|c| ClusterObject::ResourceClaim(Box::new(c)));
    sim.add(slices.chain(classes).chain(claims).collect());
    sim
}

fn claims(sim: &Sim) -> Vec<ResourceClaim> {
    sim.block_on(sim.devices()).unwrap().unwrap().claims
}

/// How many claims have devices, and how many pods have a node.
fn counts(sim: &Sim) -> (usize, usize) {
    let allocated = claims(sim).into_iter().filter(|claim| claim.allocation.is_some());
    let pods = sim.pods().into_iter().filter(|pod| pod.node.is_some());
    (allocated.count(), pods.count())
}

/// Two pods, each with a claim of its own for a device.
fn each_with_a_claim() -> StoryWorkload {
    let requests = build::devices("class gpu\nclaim any: one 1 gpu").claims[0].requests.clone();
    let template = StoryClaimTemplate { requests, constraints: Vec::new() };
    let mut spec = build::spec("cpu=500m memory=1Gi");
    spec.claims.references.push(("gpu".to_owned(), None));
    StoryWorkload {
        kind: StoryWorkloadKind::StatefulSet,
        device_claims: BTreeMap::from([("gpu".to_owned(), template)]),
        spec: Arc::new(spec),
        ..toy::workload("train", 2)
    }
}

#[test]
fn a_pod_waits_until_another_ends_that_has_the_device() {
    let sim = world(|_| "class gpu\nslice s gpu.example.com/p all: gpu-0".to_owned());
    toy::add(&sim, each_with_a_claim());
    toy::pass(&sim, 10);
    assert_eq!((claims(&sim).len(), counts(&sim)), (2, (1, 1)));
    let taken = claims(&sim).into_iter().find_map(|claim| claim.allocation).unwrap();
    assert_eq!(taken.devices[0].0.to_string(), "gpu.example.com/p/gpu-0");
    assert_eq!(taken.selector, None);
    sim.act(Action::Scale { workload: toy::pod_key("train"), replicas: 1 });
    toy::pass(&sim, 10);
    // The claim that was made for the other pod went with it.
    assert_eq!((claims(&sim).len(), counts(&sim)), (1, (1, 1)));
}

#[test]
fn devices_of_a_node_take_their_pods_there() {
    let sim = world(|node| format!("class gpu\nslice s gpu.example.com/p node={node}: gpu-[0-1]"));
    toy::add(&sim, each_with_a_claim());
    toy::pass(&sim, 10);
    assert_eq!(counts(&sim), (2, 2));
    let node = sim.nodes()[0].name.clone();
    assert!(sim.pods().iter().all(|pod| pod.node.as_ref() == Some(&node)));
    for claim in claims(&sim) {
        let selector = claim.allocation.and_then(|allocation| allocation.selector).unwrap();
        assert_eq!(selector.terms[0].nodes, Some([node.clone()].into()));
    }
}

#[test]
fn a_claim_of_several_pods_is_free_when_the_last_one_ends() {
    let text = "class gpu\nslice s gpu.example.com/p all: gpu-0\nclaim shared: one 1 gpu";
    let sim = world(|_| text.to_owned());
    let spec = Arc::new(build::spec("cpu=1 memory=1Gi claim:shared"));
    toy::add(&sim, StoryWorkload { spec, ..toy::workload("train", 2) });
    toy::pass(&sim, 10);
    assert_eq!((counts(&sim), claims(&sim)[0].reserved_for.len()), ((1, 2), 2));
    for (replicas, allocated) in [(1, 1), (0, 0)] {
        sim.act(Action::Scale { workload: toy::pod_key("train"), replicas });
        toy::pass(&sim, 10);
        let reserved = usize::try_from(replicas).unwrap();
        assert_eq!(counts(&sim), (allocated, reserved));
        assert_eq!(claims(&sim)[0].reserved_for.len(), reserved);
    }
}

#[test]
fn a_pod_waits_for_a_claim_that_is_not_there() {
    let sim = world(|_| "class gpu".to_owned());
    let spec = Arc::new(build::spec("cpu=1 memory=1Gi claim:missing"));
    toy::add(&sim, StoryWorkload { spec, ..toy::workload("train", 1) });
    toy::pass(&sim, 10);
    assert_eq!(counts(&sim), (0, 0));
}

/// A DaemonSet whose pods say `words`.
fn daemons(sim: &Sim, words: &str) {
    let spec = Arc::new(build::spec(&format!("cpu=100m memory=64Mi {words}")));
    let set = DaemonSet { key: toy::pod_key("agent"), spec };
    sim.add(vec![ClusterObject::DaemonSet(set, BTreeMap::new())]);
}

#[test]
fn daemons_with_claims_of_their_own_run_where_the_devices_are() {
    let sim = world(|node| format!("class gpu\nslice s gpu.example.com/p node={node}: gpu-[0-1]"));
    let StoryWorkload { device_claims, spec, .. } = each_with_a_claim();
    let key = toy::pod_key("agent");
    sim.add(vec![ClusterObject::DaemonSet(DaemonSet { key, spec }, device_claims)]);
    toy::pass(&sim, 10);
    // The pod of the other node waits, with its claim.
    assert_eq!((claims(&sim).len(), counts(&sim)), (2, (1, 1)));
    let placed = sim.pods().into_iter().find_map(|pod| pod.node).unwrap();
    assert_eq!(placed, sim.nodes()[0].name);
    // What it has, no other pod gets.
    toy::add(&sim, each_with_a_claim());
    toy::pass(&sim, 10);
    assert_eq!((claims(&sim).len(), counts(&sim)), (4, (2, 2)));
}

#[test]
fn daemons_share_a_claim_where_its_devices_are_in_reach() {
    let text = |access: &str| {
        format!("class gpu\nslice s gpu.example.com/p {access}: gpu-0\nclaim shared: one 1 gpu")
    };
    let sim = world(|_| text("all"));
    daemons(&sim, "claim:shared");
    toy::pass(&sim, 10);
    assert_eq!((counts(&sim), claims(&sim)[0].reserved_for.len()), ((1, 2), 2));
    let sim = world(|node| text(&format!("node={node}")));
    daemons(&sim, "claim:shared");
    toy::pass(&sim, 10);
    assert_eq!((counts(&sim), claims(&sim)[0].reserved_for.len()), ((1, 1), 1));
    let sim = world(|_| text("all"));
    daemons(&sim, "claim:missing");
    toy::pass(&sim, 10);
    assert_eq!(counts(&sim), (0, 0));
}
