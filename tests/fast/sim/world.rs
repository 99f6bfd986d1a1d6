//! The worlds that storms, sweeps and stories play in.

use std::{
    cell::Cell,
    sync::{Arc, OnceLock},
};

use dispatch::{Reports, Settings, dispatch_with};
use jiff::{SignedDuration, Timestamp};
use journeyman::manifests;
use model::{CapacityType, InstanceType, OfferingKey, PodKey, RegionCatalog};
use simulator::{Action, ClusterObject, Runner, Sim, Stopped, WorldSettings};

/// A NodePool with little room to spare, a class, and pods that fill a few small nodes.
pub(crate) const MANIFESTS: &str = r#"
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  limits: {cpu: "40"}
  disruption: {consolidateAfter: 30s, budgets: [{nodes: "50%"}]}
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-simulated
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: simulated}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: simulated}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 12
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
        - {name: web, image: web, resources: {requests: {cpu: 900m, memory: 1Gi}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  replicas: 3
  serviceName: store
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
        - {name: store, image: store, resources: {requests: {cpu: "1500m", memory: 2Gi}}}
"#;

/// The EC2NodeClass of [`MANIFESTS`].
pub(crate) fn node_class() -> &'static str {
    let mut documents = MANIFESTS.split("---\n");
    documents.find(|document| document.contains("\nkind: EC2NodeClass")).expect("there is one")
}

/// A few small types of the built-in catalog: plans stay readable, and seeds quick.
pub(crate) fn catalog() -> Arc<RegionCatalog> {
    static CATALOG: OnceLock<Arc<RegionCatalog>> = OnceLock::new();
    let catalog = CATALOG.get_or_init(|| {
        let mut catalog = instance_catalog::builtin().expect("the built-in catalog is sound");
        let kept =
            ["c7g.xlarge", "c7i.xlarge", "m7g.large", "m7g.xlarge", "m7i.large", "m7i.xlarge"];
        catalog.instance_types.retain(|t| kept.contains(&t.name.as_str()));
        assert_eq!(catalog.instance_types.len(), kept.len());
        Arc::new(catalog)
    });
    Arc::clone(catalog)
}

thread_local! {
    static KEEPS_AUTHORIZATIONS: Cell<bool> = const { Cell::new(false) };
}

/// Whether the worlds that this thread makes from now on keep what IAM is asked.
pub(crate) fn keep_authorizations(keeps: bool) {
    KEEPS_AUTHORIZATIONS.set(keeps);
}

/// A cluster with [`MANIFESTS`].
pub(crate) fn sim(settings: WorldSettings) -> Sim {
    sim_of(settings, MANIFESTS)
}

/// A cluster without anything.
pub(crate) fn empty(settings: WorldSettings) -> Sim {
    empty_of(settings, catalog())
}

/// The same where `catalog` is sold.
pub(crate) fn empty_of(settings: WorldSettings, catalog: Arc<RegionCatalog>) -> Sim {
    let sim = Sim::new(settings, catalog);
    if KEEPS_AUTHORIZATIONS.get() {
        sim.keep_authorizations();
    }
    sim
}

/// A cluster with these manifests.
pub(crate) fn sim_of(settings: WorldSettings, manifests: &str) -> Sim {
    let sim = empty(settings);
    add_manifests(&sim, manifests);
    sim
}

/// The cluster has these manifests from now on.
pub(crate) fn add_manifests(sim: &Sim, manifests: &str) {
    let texts = [manifests::InputFile::named("world.yaml", manifests)];
    sim.add(manifests::parse(&texts).expect("the manifests are sound").objects);
}

/// A driver over the handlers, and a way to what they decide.
pub(crate) fn runner(sim: &Sim) -> (Runner<impl simulator::Dispatch + use<>>, Reports) {
    runner_with(sim, Settings::default())
}

/// The same, where the functions have `settings`.
pub(crate) fn runner_with(
    sim: &Sim,
    settings: Settings,
) -> (Runner<impl simulator::Dispatch + use<>>, Reports) {
    let reports = Reports::default();
    (Runner::new(sim, dispatch_with(sim, &reports, settings)), reports)
}

/// The time a number of minutes after the start of the default settings.
pub(crate) fn minute(minutes: i64) -> Timestamp {
    let start = WorldSettings::default().start;
    start.checked_add(SignedDuration::from_mins(minutes)).expect("a time of this year")
}

/// [`MANIFESTS`] with a NodePool that takes no arm64.
pub(crate) fn narrowed() -> String {
    let text = MANIFESTS.replace("values: [amd64, arm64]", "values: [amd64]");
    assert_ne!(text, MANIFESTS);
    text
}

/// The NodePool of [`MANIFESTS`] takes no arm64 from `time` on: nodes of that architecture drift.
pub(crate) fn drift(sim: &Sim, time: Timestamp) {
    let texts = [manifests::InputFile::named("world.yaml", &narrowed())];
    renew_pools(sim, time, manifests::parse(&texts).expect("the manifests are sound").objects);
}

/// NodePools are as `objects` say from `time` on.
pub(crate) fn renew_pools(sim: &Sim, time: Timestamp, objects: Vec<ClusterObject>) {
    let is_pool = |object: &ClusterObject| matches!(object, ClusterObject::NodePool(_));
    sim.at(time, Action::Add(objects.into_iter().filter(is_pool).collect()));
}

/// EC2 has no instance of the offerings that are meant, of all in the order of the catalog: by their number among those
/// of their type.
pub(crate) fn sell_none(sim: &Sim, is_meant: impl Fn(usize, &OfferingKey) -> bool) {
    for (number, offering) in offerings() {
        if is_meant(number, &offering) {
            sim.act(Action::SetCapacity { offering, instances: Some(0) });
        }
    }
}

/// All offerings in the order of the catalog, each with its number among those of its type.
pub(crate) fn offerings() -> Vec<(usize, OfferingKey)> {
    let catalog = catalog();
    let of_type = |sold: &Arc<InstanceType>| -> Vec<_> {
        sold.offerings.iter().map(|offering| sold.key_of(offering)).enumerate().collect()
    };
    catalog.instance_types.iter().flat_map(of_type).collect()
}

/// The key of the workload `name`.
pub(crate) fn workload(name: &str) -> PodKey {
    testkit::build::pod_key(name)
}

/// `name` wants a number of pods.
pub(crate) fn scale(name: &str, replicas: u32) -> Action {
    Action::Scale { workload: workload(name), replicas }
}

/// How many live instances of a capacity type there are.
pub(crate) fn running(sim: &Sim, capacity_type: CapacityType) -> usize {
    let claims = sim.claims();
    claims
        .iter()
        .filter_map(|claim| claim.instance.as_ref())
        .filter(|i| i.capacity_type == capacity_type)
        .count()
}

/// Plays to the end, and what is wrong then.
pub(crate) fn play(sim: &Sim, storm_ends: Timestamp, end: Timestamp) -> Result<(), String> {
    play_with(sim, Settings::default(), (storm_ends, end))
}

/// The same, where the functions have `settings`.
pub(crate) fn play_with(
    sim: &Sim,
    settings: Settings,
    (storm_ends, end): (Timestamp, Timestamp),
) -> Result<(), String> {
    let (mut runner, _reports) = runner_with(sim, settings);
    let stopped = |stopped: Stopped| stopped.to_string();
    runner.run_until(storm_ends).map_err(stopped)?;
    sim.stop_faults();
    runner.run_until(end).map_err(stopped)?;
    let mut problems = sim.check_liveness();
    problems.extend(sim.check_node_claims());
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}
