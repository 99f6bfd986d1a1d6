//! A running cluster of a size: the rule of Karpenter's consolidation benchmark, in code.
//!
//! Every name, number and order follows from the number of nodes and the kind. Pool `general` allows
//! on-demand capacity of `amd64`; *roomy* nodes are of five types and half empty, *packed* ones are
//! all `m6i.2xlarge` and full. 20 pods of 50 apps run on each; five apps spread over zones, two keep
//! their pods on different nodes. The first pod of each node has a deletion cost of its own, so that
//! no two nodes of a type are equally good candidates.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, ClaimPhase, InstanceType, NodeClaim, NodeName, Operator, Pod, PodSpec,
    Requirement, Requirements, Zone,
    claim::{ClaimConditions, LaunchedInstance},
    facts::Facts,
    labels as keys,
    node::Node,
    node_pool::{Budget, BudgetNodes},
    pod::{Owner, PodPhase},
    topology::{PodAffinity, SpreadConstraint},
};

use testkit::build::{ago, id, resources};

use crate::build::{affinity, facts, labels, listed, pending, spread};

/// What the nodes are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Roomy,
    Packed,
}

impl Kind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Roomy => "roomy",
            Self::Packed => "packed",
        }
    }
}

const ROOMY_TYPES: [&str; 5] =
    ["m6i.2xlarge", "c6i.4xlarge", "r6i.2xlarge", "m7i.2xlarge", "m6i.4xlarge"];
const ZONES: [&str; 3] = ["us-west-2a", "us-west-2b", "us-west-2c"];
const PODS_PER_NODE: usize = 20;
const APPS: usize = 50;

fn hours_ago(hours: i64) -> Timestamp {
    ago(3_600 * hours)
}

/// A cluster of `size` nodes.
pub(crate) fn cluster(size: usize, kind: Kind, types: &[Arc<InstanceType>]) -> Facts {
    let mut facts = facts(types.to_vec());
    let pool = &mut facts.node_pools[0];
    pool.name = "general".parse().unwrap();
    pool.limits = model::node_pool::Limits::default();
    pool.template.requirements = requirements(kind);
    let nodes = BudgetNodes::Percent(100);
    pool.disruption.budgets = vec![Budget { nodes, reasons: Vec::new(), window: None }];
    for index in 0..size {
        let name = match kind {
            Kind::Roomy => ROOMY_TYPES[index % ROOMY_TYPES.len()],
            Kind::Packed => "m6i.2xlarge",
        };
        let instance_type = types.iter().find(|candidate| candidate.name.as_str() == name).unwrap();
        facts.pods.extend((0..PODS_PER_NODE).map(|place| pod(index, place, kind)));
        let zone = Zone::new(ZONES[index % ZONES.len()]).unwrap();
        add_node(&mut facts, index, instance_type, &zone);
    }
    facts
}

/// Adds an on-demand node of that number to the cluster; its name.
pub(crate) fn add_node(
    facts: &mut Facts,
    index: usize,
    instance_type: &InstanceType,
    zone: &Zone,
) -> NodeName {
    let claim = claim(index, instance_type, zone);
    let node = node(index, &claim, instance_type);
    let name = node.name.clone();
    facts.nodes.insert(node.name.clone(), node);
    facts.ledger.claims.insert(claim.name.clone(), claim);
    name
}

fn requirements(kind: Kind) -> Requirements {
    let mut requirements: Requirements =
        [listed(keys::ARCH, &["amd64"]), listed(keys::CAPACITY_TYPE, &["on-demand"])]
            .into_iter()
            .collect();
    match kind {
        Kind::Roomy => {
            requirements.add(listed("karpenter.k8s.aws/instance-category", &["c", "m", "r"]));
            let key = "karpenter.k8s.aws/instance-generation";
            requirements.add(Requirement::new(key, Operator::Gt, ["4"]).unwrap());
        }
        Kind::Packed => requirements.add(listed("karpenter.k8s.aws/instance-family", &["m6i"])),
    }
    requirements
}

fn node_name(index: usize) -> NodeName {
    format!("node-{index:04}").parse().unwrap()
}

fn claim(index: usize, instance_type: &InstanceType, zone: &Zone) -> NodeClaim {
    let offering = instance_type
        .offerings
        .iter()
        .find(|offered| offered.zone == *zone && offered.capacity_type == CapacityType::OnDemand)
        .unwrap();
    let name = format!("general-node-{index:04}");
    let mut node_labels: BTreeMap<String, String> = instance_type
        .requirements
        .iter()
        .filter_map(|requirement| {
            Some((requirement.key().as_str().to_owned(), requirement.single_value()?.to_string()))
        })
        .collect();
    node_labels.extend(labels(&[
        (keys::NODE_POOL, "general"),
        (keys::NODE_CLASS, "default"),
        (keys::CAPACITY_TYPE, "on-demand"),
        (keys::ZONE, zone.as_str()),
    ]));
    NodeClaim {
        labels: node_labels,
        instance_types: [instance_type.name.clone()].into(),
        expire_after: Some(SignedDuration::from_hours(720)),
        phase: ClaimPhase::Initialized,
        capacity: instance_type.capacity.clone(),
        allocatable: instance_type.allocatable(),
        requested_at: Some(hours_ago(24)),
        instance: Some(LaunchedInstance {
            id: format!("i-{index:017x}").parse().unwrap(),
            instance_type: instance_type.name.clone(),
            zone: zone.clone(),
            capacity_type: CapacityType::OnDemand,
            price: offering.price,
            image: None,
            launched_at: hours_ago(24),
        }),
        node: Some(node_name(index)),
        conditions: ClaimConditions {
            last_pod_event_at: Some(hours_ago(2)),
            initialized_at: Some(hours_ago(24)),
            is_consolidatable: Some(true),
            ..ClaimConditions::default()
        },
        ..NodeClaim::created(id(&name), id("general"), id("default"), id(&name), hours_ago(24))
    }
}

fn node(index: usize, claim: &NodeClaim, instance_type: &InstanceType) -> Node {
    let name = node_name(index);
    let mut node_labels = claim.labels.clone();
    node_labels.extend(labels(&[
        (keys::REGISTERED, "true"),
        (keys::INITIALIZED, "true"),
        (keys::HOSTNAME, name.as_str()),
    ]));
    Node {
        provider_id: claim.instance.as_ref().map(LaunchedInstance::provider_id),
        created_at: hours_ago(24),
        labels: node_labels,
        finalizers: [keys::TERMINATION_FINALIZER.to_owned()].into(),
        capacity: instance_type.capacity.clone(),
        allocatable: instance_type.allocatable(),
        ..testkit::build::node(name.as_str())
    }
}

fn pod(node: usize, place: usize, kind: Kind) -> Pod {
    let number = PODS_PER_NODE * node + place;
    let app = format!("app-{}", number % APPS);
    let (cpu, memory) = match kind {
        Kind::Roomy => {
            (100 + 50 * ((7 * node + 3 * place) % 5), 128 + 64 * ((5 * node + place) % 4))
        }
        Kind::Packed => (390, 1_400),
    };
    let mut requests = resources(&format!("cpu={cpu}m memory={memory}Mi"));
    requests.pods = 1;
    let mut spec = PodSpec {
        labels: labels(&[("app", &app)]),
        requests,
        termination_grace_seconds: 30,
        ..PodSpec::default()
    };
    let entry = ("app", app.as_str());
    match number % APPS {
        0..=4 => {
            let over_zones = SpreadConstraint { max_skew: 10, ..spread(keys::ZONE, entry, true) };
            spec.spread = vec![over_zones];
        }
        5 | 6 => {
            let apart = vec![affinity(keys::HOSTNAME, entry)];
            spec.pod_anti_affinity = PodAffinity { required: apart, preferred: Vec::new() };
        }
        _ => {}
    }
    if place == 0 {
        let cost = ("controller.kubernetes.io/pod-deletion-cost", format!("{}", 10_000 * node));
        spec.annotations = labels(&[(cost.0, &cost.1)]);
    }
    Pod {
        owner: Some(Arc::new(Owner {
            api_version: "apps/v1".to_owned(),
            kind: "ReplicaSet".to_owned(),
            name: app,
        })),
        ..running(pending(&format!("pod-{number}"), Arc::new(spec)), node_name(node))
    }
}

/// The pod once it has run for two hours.
pub(crate) fn running(pod: Pod, node: NodeName) -> Pod {
    Pod {
        phase: PodPhase::Running,
        started_at: Some(hours_ago(2)),
        created_at: hours_ago(2),
        unschedulable_at: None,
        node: Some(node),
        is_ready: true,
        ..pod
    }
}
