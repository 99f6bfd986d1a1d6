//! An object of each kind that the functions read cannot be read, for ever: it stops nothing but itself, and a
//! report names it.

use std::collections::{BTreeMap, BTreeSet};

use dispatch::Reports;
use jiff::{SignedDuration, Timestamp};
use model::{
    Function, PodKey,
    buffer::{BufferTarget, CapacityBuffer},
    overlay::NodeOverlay,
};
use ports::{Malformed, rights::rbac::RIGHTS};
use simulator::{Action, ClusterObject, Happening, Sim, SpotTarget, WorldSettings};

use crate::{
    buffers::spec,
    refused::{PENDING_MAX, guilty},
    settings::{SPREAD_ANYWAY, settings},
    storm::{play_seeds, strided},
    sweep_jobs::{neglected, open, swept},
    volumes::with_volumes,
    world::{MANIFESTS, add_manifests, drift, minute, runner_with, scale, sim_of, workload},
};

/// What cannot be read is called so, or belongs to what is.
const ODD: &str = "odd";

/// Since when it cannot be read.
const SINCE: i64 = 6;

/// Pods of their own on nodes of their own, which nothing else needs.
const BESIDE: &str = r"
---
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: NAME}
spec:
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: NAME}
      taints: [{key: NAME, effect: NoSchedule}]
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: NAME}
spec:
  role: KarpenterNodeRole-simulated
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: simulated}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: simulated}}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: NAME}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: NAME}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: NAME}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: NAME}
spec:
  selector: {matchLabels: {app: NAME-daemon}}
  template:
    metadata: {labels: {app: NAME-daemon}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: NAME}
      tolerations: [{operator: Exists}]
      containers: [{name: NAME, image: NAME, resources: {requests: {cpu: 100m}}}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: NAME}
spec:
  replicas: 1
  serviceName: NAME
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: NAME}
      tolerations: [{key: NAME, operator: Exists}]
      containers: [{name: NAME, image: NAME, resources: {requests: {cpu: 900m, memory: 1Gi}}}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], storageClassName: NAME, resources: {requests: {storage: 1Gi}}}
";

/// Resources that the functions list or get, each once.
fn resources() -> BTreeSet<&'static str> {
    let called: BTreeSet<&str> =
        Function::ALL.into_iter().flat_map(handlers::calls).copied().collect();
    let rights = RIGHTS.iter().filter(|(call, _)| called.contains(call)).flat_map(|(_, r)| *r);
    let read = rights.filter(|right| ["get", "list"].contains(&right.verb));
    // Of the webhooks of `wake` only URLs are read, and those of another form are none.
    let decides = |resource: &&str| *resource != "validatingwebhookconfigurations";
    read.map(|right| right.resource).filter(decides).collect()
}

/// The object of `resource` that cannot be read, of those in `sim` that are called [`ODD`], or of one that is not
/// simulated.
fn object_of(sim: &Sim, resource: &str, is_unlucky: bool) -> String {
    let claim = sim.claims().into_iter().find(|claim| claim.node_pool.as_str() == ODD);
    let node = claim.as_ref().map_or(ODD, |claim| claim.node.as_ref().expect("it joined").as_str());
    let claim = claim.as_ref().map_or(ODD, |claim| claim.name.as_str());
    match resource {
        "capacitybuffers" => format!("CapacityBuffer default/{ODD}"),
        "csinodes" => format!("CSINode {node}"),
        "daemonsets" => format!("DaemonSet default/{ODD}"),
        "deployments" => format!("Deployment default/{ODD}"),
        "deviceclasses" => format!("DeviceClass {ODD}"),
        "ec2nodeclasses" => format!("EC2NodeClass {ODD}"),
        "leases" => format!("Lease {ODD}/karpenter-leader-election"),
        "namespaces" => format!("Namespace {ODD}"),
        "nodeclaims" => format!("NodeClaim {claim}"),
        "nodeoverlays" => format!("NodeOverlay {ODD}"),
        "nodepools" => format!("NodePool {ODD}"),
        // In a world with nodes that never join, a Node that is not ours and that no label marks as initialized.
        "nodes" if is_unlucky => format!("Node {ODD}"),
        "nodes" => format!("Node {node}"),
        "persistentvolumeclaims" => format!("PersistentVolumeClaim default/data-{ODD}-0"),
        "persistentvolumes" => format!("PersistentVolume pvc-default-data-{ODD}-0"),
        "poddisruptionbudgets" => format!("PodDisruptionBudget default/{ODD}"),
        "pods" => format!("Pod default/{ODD}-0"),
        "podtemplates" => format!("PodTemplate default/{ODD}"),
        "replicasets" => format!("ReplicaSet default/{ODD}"),
        "replicationcontrollers" => format!("ReplicationController default/{ODD}"),
        "resourceclaims" => format!("ResourceClaim default/{ODD}"),
        "resourceslices" => format!("ResourceSlice {ODD}"),
        "services" => format!("Service default/{ODD}"),
        "statefulsets" => format!("StatefulSet default/{ODD}"),
        "storageclasses" => format!("StorageClass {ODD}"),
        "volumeattachments" => format!("VolumeAttachment csi-pvc-default-data-{ODD}-0-{node}"),
        _ => panic!("no story has an object of {resource}"),
    }
}

/// A world with work for all functions, and what is called [`ODD`] beside it.
fn world(settings: WorldSettings) -> Sim {
    let sim = sim_of(settings, &with_volumes(MANIFESTS));
    for name in [ODD, "brief"] {
        add_manifests(&sim, &BESIDE.replace("NAME", name));
    }
    let target = BufferTarget::Template(spec(MANIFESTS));
    let mut objects = Vec::new();
    for name in [ODD, "spare"] {
        objects.push(ClusterObject::CapacityBuffer {
            refers_to: None,
            buffer: CapacityBuffer {
                namespace: workload("web").namespace,
                name: testkit::build::id(name),
                uid: testkit::build::id(name),
                replicas: Some(1),
                percentage: None,
                limits: BTreeMap::new(),
                target: target.clone(),
            },
        });
        objects.push(ClusterObject::NodeOverlay(NodeOverlay {
            name: testkit::build::id(name),
            weight: 0,
            requirements: testkit::build::requirements("arch=arm64"),
            price: None,
            capacity: None,
            problems: Vec::new(),
        }));
    }
    sim.add(objects);
    sim
}

/// Pods come and go, and so do nodes; an instance loses its claim and its NodePool.
fn begin(sim: &Sim) {
    sim.at(minute(8), scale("web", 20));
    sim.at(minute(15), scale("web", 4));
    drift(sim, minute(22));
    sim.at(minute(30), scale("web", 24));
}

/// An instance of a node that pods of `web` run on, and is neither [`ODD`] nor brief.
fn innocent(sim: &Sim) -> SpotTarget {
    let mut claims = sim.claims().into_iter();
    let claim = claims.find(|claim| claim.node_pool.as_str() == "general" && claim.node.is_some());
    SpotTarget::Instance(claim.and_then(|claim| claim.instance).expect("an instance").id)
}

/// The claim of the NodePool `brief` is lost, and the pool goes with all that needs it.
fn stray(sim: &Sim) {
    let mut claims = sim.claims().into_iter();
    let claim = claims.find(|claim| claim.node_pool.as_str() == "brief").expect("a claim");
    sim.act(Action::DeleteWorkload(workload("brief")));
    sim.act(Action::DeleteDaemonSet(workload("brief")));
    sim.act(Action::ForgetClaim(claim.name));
    sim.act(Action::DeleteNodePool(claim.node_pool));
}

/// Pods that waited too long, but for those whose names have a part of `named`.
fn late(sim: &Sim, named: &BTreeSet<String>) -> Vec<String> {
    let mut since: BTreeMap<PodKey, Timestamp> = BTreeMap::new();
    let mut waits: Vec<(PodKey, SignedDuration)> = Vec::new();
    for event in sim.timeline(0) {
        match event.happening {
            Happening::PodPending { pod } => drop(since.insert(pod, event.at)),
            Happening::PodRunning { pod, .. } => {
                if let Some(begun) = since.remove(&pod) {
                    waits.push((pod, event.at.duration_since(begun)));
                }
            }
            Happening::PodEvicted { pod, .. } | Happening::PodLost { pod, .. } => {
                since.remove(&pod);
            }
            _ => {}
        }
    }
    let is_late = |(pod, waited): &&(PodKey, SignedDuration)| {
        PENDING_MAX < *waited && !named.iter().any(|name| pod.name.as_str().contains(name))
    };
    waits.iter().filter(is_late).map(|(pod, waited)| format!("{pod} waited {waited:#}")).collect()
}

fn unreadable(object: &str) -> ClusterObject {
    let provider_id = Some(testkit::build::id("aws:///us-west-2a/i-0dd"));
    ClusterObject::Unreadable(Malformed {
        provider_id,
        ..Malformed::new(object, "status.capacity: must be a map")
    })
}

/// What is wrong in a world in which an object of `resource` cannot be read.
pub(crate) fn outcome(resource: &str, world_settings: WorldSettings) -> Result<(), String> {
    let is_hard = world_settings.never_joins_per_mille > 0;
    let sim = world(world_settings);
    begin(&sim);
    let all_kinds_read = [
        ("FeatureGates", "CapacityBuffer=true,NodeOverlay=true"),
        ("IgnoreDraRequests", "false"),
        ("SchedulerConfig", SPREAD_ANYWAY),
    ];
    let (mut runner, reports) = runner_with(&sim, settings(&all_kinds_read));
    let failed = |why: String| format!("{resource}: {why}");
    runner.run_until(minute(SINCE)).map_err(|why| failed(why.to_string()))?;
    let object = object_of(&sim, resource, is_hard);
    sim.add(vec![unreadable(&object)]);
    stray(&sim);
    let mut named = BTreeSet::new();
    let mut reported = BTreeSet::new();
    for minutes in SINCE + 1..=65 {
        match minutes {
            10 => sim.act(Action::InterruptSpot(innocent(&sim))),
            12 => sim.act(Action::TerminateInstance(innocent(&sim))),
            _ => {}
        }
        runner.run_until(minute(minutes)).map_err(|why| failed(why.to_string()))?;
        named.extend(guilty(&sim, ODD));
        reported.extend(malformed(&reports));
    }
    let is_innocent = |problem: &String| !named.iter().any(|name| problem.contains(name.as_str()));
    let mut problems: Vec<String> = sim.check_liveness().into_iter().filter(is_innocent).collect();
    problems.extend(sim.check_node_claims().into_iter().filter(is_innocent));
    if !is_hard {
        problems.extend(late(&sim, &named));
    }
    if !reported.contains(&object) {
        problems.push(format!("{object} is not among {reported:?}"));
    }
    if problems.is_empty() { Ok(()) } else { Err(failed(problems.join("; "))) }
}

/// The objects that functions said that they cannot read.
fn malformed(reports: &Reports) -> Vec<String> {
    let malformed = reports.take().into_iter().flat_map(|decided| decided.report.malformed);
    malformed.map(|malformed| malformed.object).collect()
}

/// Kinds that a plain `cargo test` makes unreadable; CI makes each so twice.
const SEEDS_DEFAULT: u64 = 7;
/// Neighbours in the list are alike.
const STRIDE: u64 = 7;

/// The resource of `seed`, and the world of its story: in every second round, some nodes never join.
fn chosen(seed: u64) -> (&'static str, WorldSettings) {
    let resources: Vec<&str> = resources().into_iter().collect();
    let (resource, round) = strided(&resources, STRIDE, seed);
    let never_joins_per_mille = if round.is_multiple_of(2) { 0 } else { 200 };
    (resource, WorldSettings { never_joins_per_mille, ..WorldSettings::with_seed(round) })
}

#[test]
fn an_unreadable_object_of_any_kind_stops_nothing_but_itself_and_is_reported() {
    play_seeds(SEEDS_DEFAULT, |seed| {
        let (resource, settings) = chosen(seed);
        outcome(resource, settings)
    });
}

#[test]
fn no_job_of_sweep_waits_for_an_unreadable_object() {
    for resource in resources() {
        let sim = neglected();
        sim.add(vec![unreadable(&object_of(&sim, resource, false))]);
        assert_eq!((swept(&sim), open(&sim)), (Vec::new(), Vec::new()), "{resource}");
    }
}
