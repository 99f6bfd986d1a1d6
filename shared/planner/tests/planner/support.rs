//! Builders for this crate's tests: small worlds in few words.

pub(crate) mod cluster;

use std::{collections::BTreeSet, sync::Arc};

use model::{
    CapacityType, HourlyPrice, InstanceId, InstanceType, InstanceTypeName, NodeClaim, NodeName,
    Offering, Plan, Pod, PodKey, PodSpec, Problem, Zone,
    claim::LaunchedInstance,
    facts::{ClassOffer, Facts},
    labels,
    ledger::{Counters, Head, Snapshot},
    node::Node,
    plan::Target,
    problem::{Rule, Weight},
};
pub(crate) use testkit::build::{
    ago, at, daemon_set, devices, id, limits, node_pool, now, owner, pod, pod_key, pods,
    requirement, requirements, resources, spec, taint, tolerates_key,
};

pub(crate) const ZONES: [&str; 3] = ["zone-1", "zone-2", "zone-3"];

/// An instance type with spot and on-demand offerings in three zones. Spot costs 30 millidollars
/// for each CPU, on-demand 100.
pub(crate) fn instance_type(name: &str, capacity: &str, extra: &[&str]) -> InstanceType {
    let capacity = resources(capacity);
    let cpu = capacity.cpu.0 / 1_000;
    let mut base = requirements(&format!(
        "type={name} zone={} paid=spot,on-demand os=linux karpenter.k8s.aws/instance-cpu={cpu} arch=amd64",
        ZONES.join(",")
    ));
    for text in extra {
        base.replace(requirement(text));
    }
    let kinds = [(CapacityType::Spot, 30_000), (CapacityType::OnDemand, 100_000)];
    let offerings = ZONES.into_iter().flat_map(|zone| {
        kinds.map(|(capacity_type, per_millicore)| Offering {
            zone: Zone::new(zone).unwrap(),
            zone_id: None,
            capacity_type,
            price: HourlyPrice::from_nanos(per_millicore * capacity.cpu.0),
            is_available: true,
            reservation: None,
        })
    });
    InstanceType {
        name: InstanceTypeName::new(name).unwrap(),
        requirements: base,
        overhead: resources("cpu=100m memory=10Mi"),
        offerings: offerings.collect(),
        capacity,
    }
}

/// `t.small` 2 CPU, `t.medium` 4, `t.large` 16, with 2 GiB for each CPU and 5 pods; `t.arm` like
/// large; `t.gpu` like medium with 2 GPUs.
pub(crate) fn default_types() -> Vec<InstanceType> {
    vec![
        instance_type("t.arm", "cpu=16 memory=32Gi pods=50", &["kubernetes.io/arch=arm64"]),
        instance_type("t.gpu", "cpu=4 memory=8Gi pods=5 example.com/gpu=2", &[]),
        instance_type("t.large", "cpu=16 memory=32Gi pods=50", &[]),
        instance_type("t.medium", "cpu=4 memory=8Gi pods=5", &[]),
        instance_type("t.small", "cpu=2 memory=4Gi pods=5", &[]),
    ]
}

/// A pod that kube-scheduler marked unschedulable.
pub(crate) fn pending(name: &str, spec: PodSpec) -> Pod {
    Pod { spec: Arc::new(spec), ..pod(name) }
}

/// `count` pods of one workload.
pub(crate) fn replicas(name: &str, count: usize, spec: &PodSpec) -> Vec<Pod> {
    let spec = Arc::new(spec.clone());
    let alike = |pod: Pod| Pod { spec: Arc::clone(&spec), ..pod };
    pods(&format!("{name} x{count}")).into_iter().map(alike).collect()
}

/// A pod that runs on `node`.
pub(crate) fn running(name: &str, node: &str, spec: PodSpec) -> Pod {
    Pod { spec: Arc::new(spec), ..pod(&format!("{name} on:{node}")) }
}

/// A pod on `node` of which only that could be read.
pub(crate) fn unreadable(name: &str, node: &str) -> Pod {
    let rule = Rule::Unreadable("spec.priority: must be a number".to_owned());
    let problems = vec![Problem { weight: Weight::Unusable, field: String::new(), rule }];
    running(name, node, PodSpec { problems, ..PodSpec::default() })
}

/// The head of a ledger after `arrivals` commits of new claims.
pub(crate) fn head(arrivals: u64) -> Head {
    Head { counters: Counters { arrivals, departures: 0 }, ..Head::default() }
}

/// A cluster with the pool `general` and the default types.
pub(crate) fn facts(pods: Vec<Pod>) -> Facts {
    let ledger = Snapshot { head: head(7), ..Snapshot::default() };
    let node_pools = vec![node_pool("general")];
    let mut facts = Facts { node_pools, pods, ..Facts::of(id("test"), now(), ledger) };
    offer(&mut facts, default_types());
    facts
}

/// Puts `types` in place of what the class `default` offers.
pub(crate) fn offer(facts: &mut Facts, types: Vec<InstanceType>) {
    let types = types.into_iter().map(Arc::new).collect();
    add_class(facts, "default", ClassOffer::Ready(types));
}

/// Puts what the class `name` offers in place of what it offered.
pub(crate) fn add_class(facts: &mut Facts, name: &str, offer: ClassOffer) {
    facts.classes.get_or_insert_default().insert(name.parse().unwrap(), offer);
}

/// A ready unmanaged node that a cloud has.
pub(crate) fn node(words: &str) -> Node {
    let node = testkit::build::node(words);
    Node { provider_id: Some(id(&format!("other:///{}", node.name))), ..node }
}

pub(crate) fn add_node(facts: &mut Facts, node: Node) {
    facts.nodes.insert(node.name.clone(), node);
}

/// The claim after its launch, as the cheapest thing that it could become.
pub(crate) fn launched(claim: &NodeClaim, instance_type: &InstanceType) -> NodeClaim {
    let offering = instance_type.cheapest(&claim.requirements).unwrap();
    let id: String = claim.name.as_str().chars().filter(char::is_ascii_alphanumeric).collect();
    NodeClaim {
        phase: model::ClaimPhase::Launched,
        version: claim.version + 1,
        capacity: instance_type.capacity.clone(),
        allocatable: instance_type.allocatable(),
        instance: Some(LaunchedInstance {
            id: InstanceId::new(&format!("i-{id}")).unwrap(),
            instance_type: instance_type.name.clone(),
            zone: offering.zone.clone(),
            capacity_type: offering.capacity_type,
            price: offering.price,
            image: None,
            launched_at: claim.created_at,
        }),
        ..claim.clone()
    }
}

/// The node of a launched claim, initialized.
pub(crate) fn node_of(claim: &NodeClaim, name: &str) -> Node {
    let instance = claim.instance.as_ref().unwrap();
    let mut texts = claim.labels.clone();
    for (key, value) in [
        (labels::REGISTERED, "true"),
        (labels::INITIALIZED, "true"),
        (labels::ZONE, instance.zone.as_str()),
        (labels::CAPACITY_TYPE, instance.capacity_type.as_str()),
        (labels::INSTANCE_TYPE, instance.instance_type.as_str()),
    ] {
        texts.insert(key.to_owned(), value.to_owned());
    }
    Node {
        provider_id: Some(instance.provider_id()),
        labels: texts,
        taints: claim.taints.clone(),
        capacity: claim.capacity.clone(),
        allocatable: claim.allocatable.clone(),
        finalizers: BTreeSet::from([labels::TERMINATION_FINALIZER.to_owned()]),
        ..node(name)
    }
}

/// A claim of the pool `general` whose initialized node `name` is a `t.large`, in the ledger.
pub(crate) fn add_managed(facts: &mut Facts, name: &str) -> NodeClaim {
    let mut empty = self::facts(vec![pending("any", spec("cpu=1"))]);
    empty.ledger.head = head(1);
    let mut claim = planner::provision(&empty).new_claims.remove(0).claim;
    claim.name = format!("claim-{name}").parse().unwrap();
    claim.created_at = ago(3_600);
    let large = instance_type("t.large", "cpu=16 memory=32Gi pods=50", &[]);
    let mut claim = launched(&claim, &large);
    claim.phase = model::ClaimPhase::Initialized;
    claim.node = Some(NodeName::new(name).unwrap());
    add_node(facts, node_of(&claim, name));
    facts.ledger.claims.insert(claim.name.clone(), claim.clone());
    claim
}

/// Commits the new claims of a plan.
pub(crate) fn commit(facts: &mut Facts, plan: &Plan) {
    facts.ledger.head.counters.arrivals += 1;
    for new in &plan.new_claims {
        facts.ledger.claims.insert(new.claim.name.clone(), new.claim.clone());
    }
    for claim in &plan.changes {
        facts.ledger.claims.insert(claim.name.clone(), claim.clone());
    }
}

/// A plan in a few lines: each new claim with its pods, types and price; placements; who is left.
pub(crate) fn shown(plan: &Plan) -> String {
    let names = |pods: &[PodKey]| {
        let names: Vec<&str> = pods.iter().map(|pod| pod.name.as_str()).collect();
        names.join(" ")
    };
    let mut lines = Vec::new();
    for new in &plan.new_claims {
        let types: Vec<&str> =
            new.claim.instance_types.iter().map(InstanceTypeName::as_str).collect();
        let pool = &new.claim.node_pool;
        lines.push(format!("{pool} [{}]: {}", types.join(" "), names(&new.claim.pods)));
    }
    for placement in &plan.placements {
        let target = match &placement.target {
            Target::Node(name) => name.as_str(),
            Target::Claim(name) => name.as_str(),
        };
        lines.push(format!("{target}: {}", names(&placement.pods)));
    }
    for unplaced in &plan.unplaced {
        let reasons: Vec<String> = unplaced.reasons.iter().map(ToString::to_string).collect();
        lines.push(format!("{} not placed: {}", unplaced.pod.name, reasons.join(" | ")));
    }
    lines.join("\n")
}
