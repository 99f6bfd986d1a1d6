//! Small random clusters that use everything.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    InstanceType, LabelKey, NodeName, Plan, Pod, PodKey,
    buffer::{BufferTarget, CapacityBuffer},
    facts::Facts,
    labels::ZONE,
    node_pool::NodePool,
    overlay::{NodeOverlay, PriceChange},
    plan::Target,
    policies::PreferencePolicy,
    topology::{PodAffinityTerm, Weighted},
};
use planner::provision;
use proptest::prelude::*;
use testkit::build::{
    claim, daemon_set, facts, id, instance_type, node, node_of, node_pool, pod, pods, requirements,
    resources, storage, term, with,
};

/// One workload: how many pods, and which of a few possibilities each question gets.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    count: usize,
    app: usize,
    requests: usize,
    selector: usize,
    topology: (usize, usize, usize),
    preferences: usize,
    port: usize,
    volume: usize,
    tolerates: bool,
}

/// A whole world.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of the world by itself")]
pub(crate) struct Sketch {
    pub(crate) workloads: Vec<Workload>,
    /// Whether pods ask about other pods.
    pub(crate) is_about_others: bool,
    pub(crate) has_reserved: bool,
    pub(crate) has_nodes: bool,
    pub(crate) has_daemons: bool,
    pub(crate) has_buffer: bool,
    pub(crate) has_overlay: bool,
    pub(crate) ignores_preferences: bool,
    pub(crate) limit: Option<u32>,
}

impl Sketch {
    /// The same without what lets a second plan still find something.
    pub(crate) fn quiet(self) -> Self {
        Self { is_about_others: false, has_reserved: false, limit: None, ..self }
    }
}

/// Fails if there is something to plan once the plan for `facts` was carried out.
pub(crate) fn leaves_nothing_to_plan(facts: &Facts) -> Result<(), TestCaseError> {
    let plan = provision(facts);
    let after = carried_out(facts, &plan);
    let again = provision(&after);
    prop_assert!(again.is_empty(), "first {}\nthen {}", shown(facts, &plan), shown(&after, &again));
    Ok(())
}

fn workload() -> impl Strategy<Value = Workload> {
    let sizes = (1_usize..5, 0_usize..3, 0_usize..5, 0_usize..9);
    let topology = (0_usize..9, 0_usize..7, 0_usize..8);
    let rest = (0_usize..6, 0_usize..8, 0_usize..12, any::<bool>());
    (sizes, topology, rest).prop_map(
        |((count, app, requests, selector), topology, (preferences, port, volume, tolerates))| {
            Workload {
                count,
                app,
                requests,
                selector,
                topology,
                preferences,
                port,
                volume,
                tolerates,
            }
        },
    )
}

/// Any world.
pub(crate) fn worlds() -> impl Strategy<Value = Sketch> {
    let flags = (any::<[bool; 6]>(), proptest::option::of(0_u32..40));
    (proptest::collection::vec(workload(), 0..7), flags).prop_map(|(workloads, (flags, limit))| {
        let [has_reserved, has_nodes, has_daemons, has_buffer, has_overlay, ignores] = flags;
        Sketch {
            workloads,
            is_about_others: true,
            has_reserved,
            has_nodes,
            has_daemons,
            has_buffer,
            has_overlay,
            ignores_preferences: ignores,
            limit,
        }
    })
}

const APPS: [&str; 3] = ["app=a", "app=b", "app=c"];
const REQUESTS: [&str; 5] = [
    "cpu=100m memory=64Mi",
    "cpu=600m memory=1Gi",
    "cpu=1500m memory=3Gi",
    "cpu=3 memory=4Gi",
    "cpu=20",
];
const SELECTORS: [&str; 9] = [
    "",
    "",
    "",
    "arch=arm64",
    "zone=us-west-2b,us-west-2c",
    "paid=spot",
    "team=a",
    "team!=a",
    "karpenter.k8s.aws/instance-cpu>3",
];

fn types(has_reserved: bool) -> Vec<Arc<InstanceType>> {
    let everywhere = |name: &str, on_demand: &str, spot: &str| {
        let sold = ["us-west-2a", "us-west-2b", "us-west-2c"]
            .map(|zone| format!("on-demand:{zone}={on_demand} spot:{zone}={spot}"));
        format!("{name} overhead:cpu=70m overhead:memory=1Gi {}", sold.join(" "))
    };
    let mut xlarge = everywhere("m7g.xlarge cpu=4 memory=16Gi pods=58", "0.1632", "0.07");
    if has_reserved {
        xlarge += " reserved:us-west-2a=cr-1,2";
    }
    vec![
        instance_type(&everywhere("m7g.large cpu=2 memory=8Gi pods=29", "0.0816", "0.03")),
        instance_type(
            "m7i.large cpu=2 memory=8Gi pods=29 on-demand:us-west-2a=0.1008 spot:us-west-2a=0.05",
        ),
        instance_type(&xlarge),
        instance_type(&everywhere("m7i.2xlarge cpu=8 memory=32Gi pods=58", "0.4032", "0.2")),
        instance_type("r7g.large cpu=2 memory=16Gi pods=3 spot:us-west-2c=0.04"),
    ]
}

/// A pool that is tried last and takes everything.
pub(crate) fn weightless() -> NodePool {
    NodePool { weight: 0, ..node_pool("zero") }
}

fn pools(limit: Option<u32>) -> Vec<NodePool> {
    let limit = limit.map(|cpu| format!("limit:cpu={cpu}")).unwrap_or_default();
    vec![
        node_pool(&format!("general weight:10 {limit}")),
        node_pool(
            "soft weight:20 taint:soft=a:PreferNoSchedule require:zone=us-west-2a,us-west-2b",
        ),
        node_pool("teams weight:5 team=a taint:dedicated=a:NoSchedule"),
    ]
}

fn about_others(app: &str, workload: &Workload) -> String {
    let (by, near, away) = workload.topology;
    let spread = match by {
        4 => format!("spread:zone:{app}"),
        5 => format!("spread:host:{app}"),
        6 => format!("spread:zone:{app} spread:host:{app}:soft"),
        7 => "spread:zone:app=a:skew=2:domains=3".to_owned(),
        8 => format!("spread:paid:{app}"),
        _ => String::new(),
    };
    let near = match near {
        4 => format!("near:zone:{app}"),
        5 => "near:host:app=a".to_owned(),
        6 => "near:zone:app=b".to_owned(),
        _ => String::new(),
    };
    let away = match away {
        5 => format!("away:host:{app}"),
        6 => format!("away:zone:{app}"),
        7 => "away:host:app=b".to_owned(),
        _ => String::new(),
    };
    let preference = match workload.preferences {
        3 => format!("away:zone:{app}:weight=10"),
        4 => format!("near:host:{app}:weight=10"),
        5 => "prefer:zone=us-west-2c:weight=5".to_owned(),
        _ => String::new(),
    };
    [spread, near, away, preference].join(" ")
}

/// The preference to keep away from the pods of an app.
pub(crate) fn keep_away(label: &str, app: usize) -> Weighted<PodAffinityTerm> {
    let app = APPS.get(app).copied().unwrap_or_default();
    Weighted { weight: 10, term: term(&format!("{label}:{app}")) }
}

/// The pod, spread over the values of `key`, alone of its kind.
pub(crate) fn spread_over(key: &str, mut pod: Pod) -> Pod {
    Arc::make_mut(&mut pod.spec).spread.clear();
    with(pod, &format!("app=a spread:{key}:app=a"))
}

/// The pod, which must be where `key` is `value`.
pub(crate) fn pinned(key: &str, value: &str, pod: Pod) -> Pod {
    with(pod, &format!("select:{key}={value}"))
}

/// Nothing is left of any reservation.
pub(crate) fn fill_reservations(facts: &mut Facts) {
    let offers = facts.classes.iter_mut().flatten();
    for (_, offer) in offers {
        let model::facts::ClassOffer::Ready(types) = offer else { continue };
        let offerings = types.iter_mut().flat_map(|kind| &mut Arc::make_mut(kind).offerings);
        for reservation in offerings.filter_map(|offering| offering.reservation.as_mut()) {
            reservation.count = 0;
        }
    }
}

fn workload_pods(sketch: &Sketch, index: usize, workload: &Workload) -> Vec<Pod> {
    let app = *APPS.get(workload.app).unwrap();
    let requests = REQUESTS.get(workload.requests).unwrap();
    let selector = SELECTORS.get(workload.selector).unwrap();
    let others = if sketch.is_about_others { about_others(app, workload) } else { String::new() };
    let tolerates = if workload.tolerates { "tolerate:dedicated" } else { "" };
    let port = if workload.port == 7 { "port:80" } else { "" };
    let volumes = match workload.volume {
        8 => "volume:zonal",
        9 => "volume:waiting",
        10 => "volume:either volume:zonal",
        11 => "volume:missing",
        _ => "",
    };
    let (count, words) = (workload.count, format!("{app} {requests} select:{selector}"));
    pods(&format!("w{index} x{count} {words} {others} {tolerates} {port} {volumes}"))
}

/// The facts of a shape.
pub(crate) fn world(sketch: &Sketch) -> Facts {
    let mut facts = facts(types(sketch.has_reserved));
    facts.node_pools = pools(sketch.limit);
    facts.pods = sketch
        .workloads
        .iter()
        .enumerate()
        .flat_map(|(i, workload)| workload_pods(sketch, i, workload))
        .collect();
    let volumes = [
        ("zonal", Some("zone=us-west-2a")),
        ("waiting", None),
        ("either", Some("zone=us-west-2b|zone=us-west-2a,us-west-2c")),
    ];
    facts.surroundings.storage = storage(&volumes);
    if sketch.has_nodes {
        add_nodes(&mut facts, sketch.is_about_others);
    }
    if sketch.has_daemons {
        facts.daemon_sets = vec![
            daemon_set("kube-system/logs cpu=150m memory=50Mi tolerate:*"),
            daemon_set("kube-system/arm cpu=100m tolerate:* select:arch=arm64"),
        ];
    }
    facts.policies.capacity_buffer = sketch.has_buffer;
    facts.surroundings.capacity_buffers = vec![CapacityBuffer {
        namespace: id("default"),
        name: id("spare"),
        uid: id("uid-spare"),
        replicas: Some(2),
        percentage: None,
        limits: BTreeMap::new(),
        target: BufferTarget::Template(pod("any cpu=700m").spec),
    }];
    facts.policies.node_overlay = sketch.has_overlay;
    facts.surroundings.node_overlays = vec![NodeOverlay {
        name: id("cheap"),
        weight: 0,
        requirements: requirements("type=m7i.2xlarge"),
        price: Some(PriceChange::Scaled(-900_000_000)),
        capacity: Some(resources("example.com/fuse=1")),
        problems: Vec::new(),
    }];
    if sketch.ignores_preferences {
        facts.policies.preferences = PreferencePolicy::Ignore;
    }
    facts
}

/// A managed node, an unmanaged one, a claim on its way, and pods that run.
fn add_nodes(facts: &mut Facts, are_about_others: bool) {
    let (joined, own) = node_of(&claim("general-6-0"), "i-0600");
    facts.nodes.insert(own.name.clone(), own);
    for claim in [joined, claim("general-6-1")] {
        facts.ledger.claims.insert(claim.name.clone(), claim);
    }
    let byo = node("byo zone=us-west-2b");
    facts.nodes.insert(byo.name.clone(), byo);
    let limits = BTreeMap::from([("ebs.csi.aws.com".to_owned(), 1)]);
    facts.surroundings.storage.attach_limits.insert(id("general-6-0"), limits);
    let away = if are_about_others { "away:host:app=b" } else { "" };
    let bound =
        format!("bound-0 app=a cpu=500m port:80 on:general-6-0; bound-1 app=c on:byo {away}");
    facts.pods.extend(pods(&bound));
}

/// The pod that keeps away from others on an unmanaged node is being deleted.
pub(crate) fn end_the_guard(facts: &mut Facts) {
    for pod in facts.pods.iter_mut().filter(|pod| pod.key.name.as_str() == "bound-1") {
        pod.deleted_at = Some(facts.now);
    }
}

/// The facts when every new claim became a node of its own and every pod runs where it was put.
pub(crate) fn carried_out(facts: &Facts, plan: &Plan) -> Facts {
    let mut after = facts.clone();
    let mut places: BTreeMap<PodKey, NodeName> = BTreeMap::new();
    for new in &plan.new_claims {
        let claim = &new.claim;
        let mut joined = node(claim.name.as_str());
        let single = claim.requirements.iter().filter_map(|requirement| {
            Some((requirement.key().to_string(), requirement.single_value()?.to_string()))
        });
        joined.labels.extend(single);
        joined.labels.insert(ZONE.to_owned(), new.cheapest.zone.to_string());
        joined.labels.extend(claim.labels.clone());
        joined.taints.clone_from(&claim.taints);
        joined.capacity.clone_from(&claim.capacity);
        joined.allocatable.clone_from(&claim.allocatable);
        places.extend(new.claim.pods.iter().map(|pod| (pod.clone(), joined.name.clone())));
        after.nodes.insert(joined.name.clone(), joined);
    }
    for placement in &plan.placements {
        let name: NodeName = match &placement.target {
            Target::Node(name) => name.clone(),
            Target::Claim(name) => id(name.as_str()),
        };
        places.extend(placement.pods.iter().map(|pod| (pod.clone(), name.clone())));
    }
    for pod in &mut after.pods {
        if let Some(name) = places.get(&pod.key) {
            pod.node = Some(name.clone());
            pod.unschedulable_at = None;
        }
    }
    after
}

/// The pods of a world with what they ask, and where they went: for messages.
pub(crate) fn shown(facts: &Facts, plan: &Plan) -> String {
    let mut lines = Vec::new();
    for pod in &facts.pods {
        let spec = &pod.spec;
        let keys = |pod_affinity_terms: &[PodAffinityTerm]| -> Vec<LabelKey> {
            pod_affinity_terms.iter().map(|term| term.topology_key.clone()).collect()
        };
        lines.push(format!(
            "{} {} [{}] {:?} spread {:?} near {:?} away {:?} volumes {:?}",
            pod.key,
            spec.requests,
            spec.node_selector,
            spec.labels,
            spec.spread,
            keys(&spec.pod_affinity.required),
            keys(&spec.pod_anti_affinity.required),
            pod.volumes,
        ));
    }
    for new in &plan.new_claims {
        let claim = &new.claim;
        lines.push(format!(
            "{} of {} [{}] {:?}: {:?}",
            claim.name, claim.node_pool, claim.requirements, claim.instance_types, new.claim.pods
        ));
    }
    for placement in &plan.placements {
        lines.push(format!("{:?}: {:?}", placement.target, placement.pods));
    }
    for unplaced in &plan.unplaced {
        lines.push(format!("{}: {:?}", unplaced.pod, unplaced.reasons));
    }
    lines.join("\n")
}
