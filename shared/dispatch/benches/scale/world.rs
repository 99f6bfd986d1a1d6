//! A cluster of a given number of nodes, and how it goes on.

use std::sync::{Arc, OnceLock};

use dispatch::{Reports, dispatch};
use jiff::{SignedDuration, Timestamp};
use model::{ClaimPhase, NodeClaim, PodKey, PodSpec, RegionCatalog};
use simulator::{
    AccountLimits, Action, ClusterObject, Dispatch, Meter, Runner, Sim, StoryWorkload, Trace,
    WorldSettings,
};
use testkit::build;

/// How often a story looks whether it is over.
const STEP: SignedDuration = SignedDuration::from_millis(500);

/// What comes with the program: some nine hundred types.
fn catalog() -> Arc<RegionCatalog> {
    static CATALOG: OnceLock<Arc<RegionCatalog>> = OnceLock::new();
    let catalog = CATALOG.get_or_init(|| Arc::new(instance_catalog::builtin().unwrap()));
    Arc::clone(catalog)
}

/// A world in play.
pub(crate) struct Cluster<D: Dispatch> {
    pub(crate) sim: Sim,
    runner: Runner<D>,
    reports: Reports,
}

/// A world with one pool of small nodes, each of which holds as many pods of `web` as are asked for.
/// `web` has no pods yet.
pub(crate) fn cluster(pods_per_node: u32) -> Cluster<impl Dispatch> {
    within(AccountLimits::default(), pods_per_node)
}

/// The same in an account that had AWS raise how many instances it may launch at once to `instances`: two a second
/// after the first thousand would take most of an hour.
pub(crate) fn raised_cluster(instances: u32, pods_per_node: u32) -> Cluster<impl Dispatch> {
    let mut limits = AccountLimits::default();
    for bucket in limits.requests.resources.values_mut() {
        bucket.capacity = bucket.capacity.max(instances);
    }
    within(limits, pods_per_node)
}

fn within(limits: AccountLimits, pods_per_node: u32) -> Cluster<impl Dispatch> {
    let defaults = WorldSettings::default();
    let settings = WorldSettings { limits, trace: Trace::Dropped, polls_max: u64::MAX, ..defaults };
    let sim = Sim::new(settings, catalog());
    let mut pool = build::node_pool("default");
    pool.template.requirements =
        build::requirements("type=m7g.large,m7i.large,m6i.large,m6g.large paid=spot");
    pool.template.expire_after = None;
    sim.add(vec![
        ClusterObject::NodeClass(build::node_class("default")),
        ClusterObject::NodePool(pool),
        ClusterObject::Workload(workload("web", 0, pods_per_node)),
    ]);
    let reports = Reports::default();
    let runner = Runner::new(&sim, dispatch(&sim, &reports));
    Cluster { sim, runner, reports }
}

/// A Deployment of which `pods_per_node` pods fill a node of two CPUs and eight gigabytes.
fn workload(name: &str, replicas: u32, pods_per_node: u32) -> StoryWorkload {
    // 1.93 CPUs are left to pods.
    let millis = 1_800 / pods_per_node.max(1);
    let spec = PodSpec {
        requests: build::resources(&format!("cpu={millis}m memory=100Mi pods=1")),
        termination_grace_seconds: 5,
        ..PodSpec::default()
    };
    StoryWorkload::deployment(build::pod_key(name), replicas, Arc::new(spec))
}

/// The key of the workload.
pub(crate) fn web() -> PodKey {
    build::pod_key("web")
}

impl<D: Dispatch> Cluster<D> {
    /// Seconds since the world began, in milliseconds.
    pub(crate) fn now(&self) -> Timestamp {
        self.sim.now()
    }

    /// The workload wants this number of pods from now on.
    pub(crate) fn scale(&self, replicas: u32) {
        self.sim.act(Action::Scale { workload: web(), replicas });
    }

    /// Lets `duration` pass.
    pub(crate) fn pass(&mut self, duration: SignedDuration) {
        let until = self.now().checked_add(duration).unwrap();
        self.runner.run_until(until).unwrap();
        self.reports.take();
    }

    /// Goes on until `is_over`, at most for `most`. How long it took, if it is over.
    pub(crate) fn until(
        &mut self,
        most: SignedDuration,
        is_over: impl Fn(&Sim) -> bool,
    ) -> Option<SignedDuration> {
        let began = self.now();
        while !is_over(&self.sim) {
            if most <= self.now().duration_since(began) {
                return None;
            }
            self.pass(STEP);
        }
        Some(self.now().duration_since(began))
    }

    /// What was used so far.
    pub(crate) fn meter(&self) -> Meter {
        self.sim.meter()
    }
}

/// Claims whose nodes take pods.
pub(crate) fn initialized(sim: &Sim) -> usize {
    sim.claims().iter().filter(|claim| claim.phase == ClaimPhase::Initialized).count()
}

/// Whether no pod waits, and all nodes take pods: as many as are wanted, or fewer that hold more.
pub(crate) fn are_initialized(nodes: u32) -> impl Fn(&Sim) -> bool {
    move |sim| {
        let claims = sim.claims();
        let is_settled = |claim: &NodeClaim| claim.phase == ClaimPhase::Initialized;
        let is_near = usize::try_from(nodes).is_ok_and(|nodes| claims.len() * 10 >= nodes * 9);
        is_near && claims.iter().all(is_settled) && sim.summary().pods_waiting == 0
    }
}

/// Whether all instances say whose they are.
pub(crate) fn are_tagged(sim: &Sim) -> bool {
    sim.claims().iter().all(NodeClaim::is_tagged)
}
