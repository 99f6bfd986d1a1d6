//! Builders for this crate's tests: small worlds in few words.

pub(crate) mod cluster;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, ClusterName, HourlyPrice, InstanceId, InstanceType, InstanceTypeName, Namespace,
    NodeClaim, NodeName, NodePoolName, ObjectName, Offering, Operator, Plan, Pod, PodKey, PodSpec,
    PodUid, Problem, ProviderId, Requirement, Requirements, ResourceName, Resources, Taint,
    TaintEffect, Toleration, Zone,
    claim::LaunchedInstance,
    facts::{ClassOffer, DaemonSet, Facts},
    labels,
    ledger::{Counters, Head, Snapshot},
    node::Node,
    node_pool::{Disruption, Limits, NodeClaimTemplate, NodePool},
    plan::Target,
    pod::{Owner, PodPhase},
    problem::{Rule, Weight},
    taint::TolerationOperator,
};

pub(crate) const NOW: &str = "2026-11-20T12:00:00Z";

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn now() -> Timestamp {
    at(NOW)
}

/// The time `seconds` before [`NOW`].
pub(crate) fn ago(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

/// `cpu=1500m memory=2Gi example.com/a=1`; `pods` as written.
pub(crate) fn resources(text: &str) -> Resources {
    let mut resources = Resources::default();
    for part in text.split_whitespace() {
        let (name, amount) = part.split_once('=').unwrap();
        resources.set_quantity(&ResourceName::new(name).unwrap(), amount).unwrap();
    }
    resources
}

/// `key=a,b` is In, `key!=a` NotIn, `key` Exists, `!key` DoesNotExist, `key>1` and `key<1`.
pub(crate) fn requirement(text: &str) -> Requirement {
    let (key, operator, values) = if let Some((key, values)) = text.split_once("!=") {
        (key, Operator::NotIn, values)
    } else if let Some((key, values)) = text.split_once('=') {
        (key, Operator::In, values)
    } else if let Some((key, values)) = text.split_once('>') {
        (key, Operator::Gt, values)
    } else if let Some((key, values)) = text.split_once('<') {
        (key, Operator::Lt, values)
    } else if let Some(key) = text.strip_prefix('!') {
        (key, Operator::DoesNotExist, "")
    } else {
        (text, Operator::Exists, "")
    };
    let values = values.split(',').filter(|value| !value.is_empty());
    Requirement::new(key, operator, values).unwrap()
}

pub(crate) fn requirements(texts: &[&str]) -> Requirements {
    texts.iter().map(|text| requirement(text)).collect()
}

/// `key=value:NoSchedule`
pub(crate) fn taint(text: &str) -> Taint {
    let (rest, effect) = text.rsplit_once(':').unwrap();
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    let effect = TaintEffect::parse(effect).unwrap();
    Taint { key: key.to_owned(), value: value.to_owned(), effect }
}

pub(crate) fn tolerates(key: &str) -> Toleration {
    let operator = TolerationOperator::Exists;
    Toleration { key: key.to_owned(), operator, ..Toleration::default() }
}

pub(crate) const ZONES: [&str; 3] = ["zone-1", "zone-2", "zone-3"];

/// An instance type with spot and on-demand offerings in three zones. Spot costs 30 millidollars
/// for each CPU, on-demand 100.
pub(crate) fn instance_type(name: &str, capacity: &str, extra: &[&str]) -> InstanceType {
    let capacity = resources(capacity);
    let mut base = requirements(&[
        &format!("{}={name}", labels::INSTANCE_TYPE),
        &format!("{}={}", labels::ZONE, ZONES.join(",")),
        &format!("{}=spot,on-demand", labels::CAPACITY_TYPE),
        &format!("{}=linux", labels::OS),
        &format!("karpenter.k8s.aws/instance-cpu={}", capacity.cpu.0 / 1_000),
    ]);
    let extra_requirements: Requirements = requirements(extra);
    extra_requirements.iter().for_each(|requirement| base.replace(requirement.clone()));
    if !base.contains(labels::ARCH) {
        base.add(requirement(&format!("{}=amd64", labels::ARCH)));
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

pub(crate) fn pool(name: &str) -> NodePool {
    NodePool {
        name: NodePoolName::new(name).unwrap(),
        annotations: BTreeMap::new(),
        weight: 0,
        replicas: None,
        limits: Limits::default(),
        template: NodeClaimTemplate {
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            node_class: "default".parse().unwrap(),
            requirements: Requirements::default(),
            taints: Vec::new(),
            startup_taints: Vec::new(),
            expire_after: Some(SignedDuration::from_hours(720)),
            termination_grace_period: None,
        },
        disruption: Disruption::default(),
        is_deleting: false,
        problems: Vec::new(),
    }
}

/// Limits as in [`resources`]; `nodes` too, and zeros count.
pub(crate) fn limits(text: &str) -> Limits {
    let limit = |part: &str| {
        let name = ResourceName::new(part.split_once('=').unwrap().0).unwrap();
        let amount = resources(part).get(name.as_str());
        (name, amount)
    };
    Limits(text.split_whitespace().map(limit).collect())
}

pub(crate) fn pod_key(name: &str) -> PodKey {
    let namespace = Namespace::new("default").unwrap();
    PodKey { namespace, name: ObjectName::new(name).unwrap() }
}

pub(crate) fn spec(requests: &str) -> PodSpec {
    let mut requests = resources(requests);
    requests.pods = 1;
    PodSpec { requests, termination_grace_seconds: 30, ..PodSpec::default() }
}

/// A pod that kube-scheduler gave up.
pub(crate) fn pending(name: &str, spec: PodSpec) -> Pod {
    Pod {
        key: pod_key(name),
        uid: PodUid::new(&format!("uid-{name}")).unwrap(),
        created_at: ago(60),
        deleted_at: None,
        phase: PodPhase::Pending,
        started_at: None,
        unschedulable_at: Some(ago(30)),
        node: None,
        nominated_node: None,
        is_ready: false,
        volumes: Vec::new(),
        owner: Some(owner("apps/v1", "ReplicaSet")),
        spec: Arc::new(spec),
    }
}

pub(crate) fn owner(api_version: &str, kind: &str) -> Arc<Owner> {
    let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
    Arc::new(Owner { api_version, kind, name: "owner".to_owned() })
}

/// `count` pods of one workload.
pub(crate) fn replicas(name: &str, count: usize, spec: &PodSpec) -> Vec<Pod> {
    let pod_spec = Arc::new(spec.clone());
    let pod = |index| Pod {
        spec: Arc::clone(&pod_spec),
        ..pending(&format!("{name}-{index}"), PodSpec::default())
    };
    (0..count).map(pod).collect()
}

/// A pod that runs on `node`.
pub(crate) fn running(name: &str, node: &str, spec: PodSpec) -> Pod {
    Pod {
        phase: PodPhase::Running,
        started_at: Some(ago(600)),
        unschedulable_at: None,
        node: Some(NodeName::new(node).unwrap()),
        ..pending(name, spec)
    }
}

/// A pod on `node` of which only that could be read.
pub(crate) fn unreadable(name: &str, node: &str) -> Pod {
    let rule = Rule::Unreadable("spec.priority: must be a number".to_owned());
    let problems = vec![Problem { weight: Weight::Unusable, field: String::new(), rule }];
    running(name, node, PodSpec { problems, ..PodSpec::default() })
}

pub(crate) fn daemon_set(name: &str, spec: PodSpec) -> DaemonSet {
    DaemonSet { key: pod_key(name), spec: Arc::new(spec) }
}

/// The head of a ledger after so many promises.
pub(crate) fn head(arrivals: u64) -> Head {
    Head { counters: Counters { arrivals, departures: 0 }, ..Head::default() }
}

/// A cluster with the pool `general` and the default types.
pub(crate) fn facts(pods: Vec<Pod>) -> Facts {
    let ledger = Snapshot { head: head(7), ..Snapshot::default() };
    let cluster = ClusterName::new("test").unwrap();
    let mut facts =
        Facts { node_pools: vec![pool("general")], pods, ..Facts::of(cluster, now(), ledger) };
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

/// A ready node that nobody manages.
pub(crate) fn node(name: &str, allocatable: &str) -> Node {
    Node {
        name: NodeName::new(name).unwrap(),
        provider_id: Some(ProviderId::new(&format!("other:///{name}")).unwrap()),
        created_at: ago(3_600),
        is_deleting: false,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        finalizers: BTreeSet::new(),
        taints: Vec::new(),
        capacity: resources(allocatable),
        allocatable: resources(allocatable),
        is_ready: true,
        boot_id: String::new(),
        ill_conditions: Vec::new(),
    }
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
        ..node(name, "")
    }
}

/// A claim of the pool `general` whose initialized node `name` is a `t.large`, in the ledger.
pub(crate) fn add_managed(facts: &mut Facts, name: &str) -> NodeClaim {
    let mut empty = self::facts(vec![pending("any", spec("cpu=1"))]);
    empty.ledger.head = head(1);
    let mut claim = planner::provision(&empty).promises.remove(0).claim;
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

/// Commits the promises of a plan.
pub(crate) fn commit(facts: &mut Facts, plan: &Plan) {
    facts.ledger.head.counters.arrivals += 1;
    for promise in &plan.promises {
        facts.ledger.claims.insert(promise.claim.name.clone(), promise.claim.clone());
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
    for promise in &plan.promises {
        let types: Vec<&str> =
            promise.claim.instance_types.iter().map(InstanceTypeName::as_str).collect();
        let pool = &promise.claim.node_pool;
        lines.push(format!("{pool} [{}]: {}", types.join(" "), names(&promise.claim.pods)));
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
