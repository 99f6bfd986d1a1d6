//! Devices: pods with ResourceClaims get nodes, kube-scheduler gives them devices there, and the nodes go with the pods.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use model::{
    ClaimPhase, NodeClaim, RegionCatalog,
    dynamic_resources::{
        DeviceAsk, DeviceClass, DeviceCount, DeviceRequest, DeviceSelector, RequestKind,
        ResourceClaim,
    },
    labels,
};
use ports::{Cluster as _, FoundDevices, Malformed};
use simulator::{
    Action, Chance, ClusterObject, DeviceDrivers, Sim, Span, StoryClaimTemplate, StoryWorkload,
    WorldSettings,
};

use crate::{
    settings::settings,
    storm,
    world::{
        MANIFESTS, add_manifests, catalog, empty_of, minute, play_with, runner_with, scale,
        workload,
    },
};

/// The parameter that opens the gate.
pub(crate) const OPEN: (&str, &str) = ("FeatureGates", "DRANVIDIAGPU=true");
const DRIVER: &str = "gpu.nvidia.com";

/// Nodes that only pods with a toleration use.
const POOL: &str = "
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpus}
spec:
  disruption: {consolidateAfter: 30s}
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints: [{key: gpu, effect: NoSchedule}]
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
";

/// The usual types, and some with a GPU.
fn with_gpus() -> Arc<RegionCatalog> {
    static CATALOG: OnceLock<Arc<RegionCatalog>> = OnceLock::new();
    let catalog = CATALOG.get_or_init(|| {
        let mut sold = RegionCatalog::clone(&catalog());
        let builtin = instance_catalog::builtin().expect("the built-in catalog is sound");
        let added = builtin.instance_types.into_iter();
        let added: Vec<_> =
            added.filter(|t| ["g4dn.xlarge", "g5.xlarge"].contains(&t.name.as_str())).collect();
        assert_eq!(added.len(), 2);
        sold.instance_types.extend(added);
        sold.instance_types.sort_by(|a, b| a.name.cmp(&b.name));
        Arc::new(sold)
    });
    Arc::clone(catalog)
}

/// The usual world with types that have a GPU, their driver and a NodePool for them; each pod of the Deployment `train`,
/// which has none yet, claims a GPU.
fn world_with(world_settings: WorldSettings) -> Sim {
    let device_drivers = DeviceDrivers { nvidia_gpu: true, ..DeviceDrivers::default() };
    let sim = empty_of(WorldSettings { device_drivers, ..world_settings }, with_gpus());
    add_manifests(&sim, &format!("{MANIFESTS}{POOL}"));
    let expression = format!("device.driver == '{DRIVER}'");
    let class =
        DeviceClass { name: "gpu".to_owned(), selectors: vec![DeviceSelector::Cel(expression)] };
    let ask = DeviceAsk {
        class: class.name.clone(),
        selectors: Vec::new(),
        count: DeviceCount::Exact(1),
        capacity: BTreeMap::new(),
    };
    let request = DeviceRequest { name: "one".to_owned(), kind: RequestKind::Exactly(ask) };
    let template = StoryClaimTemplate { requests: vec![request], constraints: Vec::new() };
    let mut spec = testkit::build::spec(
        "cpu=1 memory=1Gi app=train tolerate:gpu select:karpenter.sh/nodepool=gpus",
    );
    spec.claims.references.push(("gpu".to_owned(), None));
    let train = StoryWorkload {
        device_claims: BTreeMap::from([("gpu".to_owned(), template)]),
        ..StoryWorkload::deployment(workload("train"), 0, Arc::new(spec))
    };
    sim.add(vec![ClusterObject::DeviceClass(class), ClusterObject::Workload(train)]);
    sim
}

pub(crate) fn world() -> Sim {
    world_with(WorldSettings::default())
}

/// Storms with devices of a plain `cargo test`; CI plays more.
const SEEDS_DEFAULT: u64 = 4;

/// Pods that claim GPUs come.
pub(crate) fn train(sim: &Sim) {
    sim.at(minute(7), scale("train", 2));
}

/// A world in which GPUs are claimed.
pub(crate) fn played() -> Sim {
    let sim = world();
    train(&sim);
    let (mut runner, _reports) = runner_with(&sim, settings(&[OPEN]));
    runner.run_until(minute(12)).expect("nothing unsafe happens");
    sim
}

fn found(sim: &Sim) -> FoundDevices {
    sim.block_on(sim.devices()).expect("an answer").expect("a listing")
}

/// The claims of nodes for GPUs.
fn of_gpus(sim: &Sim) -> Vec<NodeClaim> {
    let drivers = |claim: &NodeClaim| claim.annotations.get(labels::REQUESTED_DRA_DRIVERS).cloned();
    let claims = sim.claims().into_iter();
    claims.filter(|claim| drivers(claim).as_deref() == Some(DRIVER)).collect()
}

/// The devices of `claim`.
fn devices(claim: &ResourceClaim) -> Vec<String> {
    let allocation = claim.allocation.iter();
    allocation.flat_map(|allocated| &allocated.devices).map(|(id, _)| id.to_string()).collect()
}

#[test]
fn pods_with_claims_get_nodes_and_devices_and_the_nodes_go_with_them() {
    let sim = world();
    sim.at(minute(2), scale("train", 3));
    let (mut runner, _reports) = runner_with(&sim, settings(&[OPEN]));
    runner.run_until(minute(8)).expect("nothing unsafe happens");
    let pods = sim.pods().into_iter().filter(|pod| pod.spec.labels["app"] == "train");
    let nodes: Vec<String> = pods.map(|pod| pod.node.expect("it is bound").to_string()).collect();
    let claims = found(&sim).claims;
    let allocated: BTreeSet<String> = claims.iter().flat_map(devices).collect();
    let expected = nodes.iter().map(|node| format!("{DRIVER}/{node}/gpu-0")).collect();
    assert_eq!((claims.len(), allocated), (3, expected));
    assert!(claims.iter().all(|claim| claim.reserved_for.len() == 1), "{claims:?}");
    let launched = of_gpus(&sim);
    let phases: Vec<ClaimPhase> = launched.iter().map(|claim| claim.phase).collect();
    assert_eq!(phases, [ClaimPhase::Initialized; 3]);

    sim.act(scale("train", 0));
    runner.run_until(minute(25)).expect("nothing unsafe happens");
    let (listed, launched) = (found(&sim), of_gpus(&sim));
    assert_eq!((listed.claims.len(), listed.slices.len(), launched.len()), (0, 0, 0));
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

#[test]
fn a_node_is_initialized_once_its_driver_has_published_and_no_other_is_launched_meanwhile() {
    let sim = world_with(WorldSettings {
        devices_published_after: Span::from_secs(240, 240),
        ..WorldSettings::default()
    });
    sim.at(minute(2), scale("train", 2));
    let (mut runner, _reports) = runner_with(&sim, settings(&[OPEN]));
    runner.run_until(minute(5)).expect("nothing unsafe happens");
    let waiting = of_gpus(&sim);
    let why: Vec<_> = waiting.iter().map(|claim| (claim.phase, claim.message.clone())).collect();
    let message = model::claim::ClaimMessage::parse(
        "DRADriverPoolsNotPublished: gpu.nvidia.com has not published the devices of its node yet",
    );
    assert_eq!(why, [(); 2].map(|()| (ClaimPhase::Registered, Some(message.clone()))));
    runner.run_until(minute(9)).expect("nothing unsafe happens");
    let settled = of_gpus(&sim);
    let names =
        |claims: &[NodeClaim]| -> Vec<_> { claims.iter().map(|c| c.name.clone()).collect() };
    assert_eq!(names(&settled), names(&waiting));
    assert!(settled.iter().all(|claim| claim.phase == ClaimPhase::Initialized));
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

#[test]
fn a_slice_that_cannot_be_read_may_be_the_one_that_is_missing() {
    let sim = world_with(WorldSettings {
        devices_published_after: Span::from_secs(180, 180),
        ..WorldSettings::default()
    });
    sim.at(minute(2), scale("train", 1));
    let (mut runner, _reports) = runner_with(&sim, settings(&[OPEN]));
    runner.run_until(minute(4)).expect("nothing unsafe happens");
    let node = of_gpus(&sim)[0].node.clone().expect("it joined");
    let slice = format!("ResourceSlice {node}-{DRIVER}");
    let unreadable = Malformed::new(slice.clone(), "spec.devices: must be a list");
    sim.add(vec![ClusterObject::Unreadable(unreadable)]);
    runner.run_until(minute(8)).expect("nothing unsafe happens");
    let waiting = of_gpus(&sim);
    assert_eq!((waiting.len(), waiting[0].phase), (1, ClaimPhase::Registered));
    let why = waiting[0].message.as_ref().expect("a reason").to_string();
    assert!(
        why.ends_with(&format!("yet, or {slice}, which cannot be read, is among them")),
        "{why}"
    );
    sim.act(Action::MakeReadable(slice));
    runner.run_until(minute(11)).expect("nothing unsafe happens");
    let settled = of_gpus(&sim);
    assert_eq!((settled.len(), settled[0].phase), (1, ClaimPhase::Initialized));
}

/// Pods that claim GPUs come and go at random times, too, and their drivers are slow.
#[test]
fn storms_with_devices_leak_nothing_and_lose_nothing() {
    storm::play_seeds(SEEDS_DEFAULT, |seed| {
        let sim = world_with(WorldSettings {
            devices_published_after: Span::from_secs(1, 120),
            ..storm::settings(seed)
        });
        storm::begin(&sim, seed);
        let mut chance = Chance::new(seed).child("devices");
        for replicas in [2, 5, 1, 3] {
            let time = minute(i64::try_from(chance.below(16)).unwrap());
            sim.at(time, scale("train", replicas));
        }
        play_with(&sim, settings(&[OPEN]), (minute(16), minute(60)))?;
        let claims = found(&sim).claims;
        match claims.iter().find(|claim| claim.allocation.is_none()) {
            Some(claim) => Err(format!("{} has no devices", claim.key)),
            None if claims.is_empty() => Err("nothing claims devices".to_owned()),
            None => Ok(()),
        }
    });
}
