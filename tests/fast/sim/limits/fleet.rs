//! A cluster of nodes that hold one pod each, under the limits of a real account.

use std::sync::Arc;

use dispatch::{Reports, dispatch_with};
use handlers::Settings;
use jiff::{SignedDuration, Timestamp};
use model::{ClaimPhase, NodeClaim, PodSpec, node_class::NodeClass, node_pool::NodePool};
use simulator::{
    Action, ClusterObject, Dispatch, Meter, Runner, Sim, SpotTarget, StoryWorkload, WorldSettings,
};
use testkit::build;

use crate::world::catalog;

/// A world in play.
pub(crate) struct Fleet<D: Dispatch> {
    pub(crate) sim: Sim,
    runner: Runner<D>,
}

/// The pool of the fleet: spot instances of two CPUs that never expire.
pub(crate) fn pool() -> NodePool {
    let mut pool = build::node_pool("default");
    pool.template.requirements = build::requirements("type=m7g.large,m7i.large paid=spot");
    pool.template.expire_after = None;
    pool
}

/// A Deployment of which this number of pods fills a node.
pub(crate) fn workload(name: &str, replicas: u32, pods_per_node: u32) -> StoryWorkload {
    let millis = 1_800 / pods_per_node;
    let spec = PodSpec {
        requests: build::resources(&format!("cpu={millis}m memory=100Mi pods=1")),
        termination_grace_seconds: 5,
        ..PodSpec::default()
    };
    StoryWorkload::deployment(build::pod_key(name), replicas, Arc::new(spec))
}

/// A cluster without nodes whose Deployment `web` wants no pods yet. Its first minute and a half is
/// over.
pub(crate) fn fleet(settings: WorldSettings, pods_per_node: u32) -> Fleet<impl Dispatch> {
    fleet_of(settings, pods_per_node, build::node_class("default"), pool())
}

/// The same with a class and a pool of one's own.
pub(crate) fn fleet_of(
    settings: WorldSettings,
    pods_per_node: u32,
    class: NodeClass,
    pool: NodePool,
) -> Fleet<impl Dispatch> {
    played(Sim::new(settings, catalog()), Settings::default(), pods_per_node, class, pool)
}

/// A cluster of `world` where the functions have `settings`.
pub(crate) fn fleet_in(
    world: WorldSettings,
    settings: Settings,
    pods_per_node: u32,
) -> Fleet<impl Dispatch> {
    let sim = Sim::new(world, catalog());
    played(sim, settings, pods_per_node, build::node_class("default"), pool())
}

/// The usual one, where the functions have `settings`.
pub(crate) fn fleet_with(settings: Settings, pods_per_node: u32) -> Fleet<impl Dispatch> {
    fleet_in(WorldSettings::default(), settings, pods_per_node)
}

fn played(
    sim: Sim,
    settings: Settings,
    pods_per_node: u32,
    class: NodeClass,
    pool: NodePool,
) -> Fleet<impl Dispatch> {
    sim.add(vec![
        ClusterObject::NodeClass(class),
        ClusterObject::NodePool(pool),
        ClusterObject::Workload(workload("web", 0, pods_per_node)),
    ]);
    let runner = Runner::new(&sim, dispatch_with(&sim, &Reports::default(), settings));
    let mut fleet = Fleet { sim, runner };
    fleet.pass(90);
    fleet
}

impl<D: Dispatch> Fleet<D> {
    /// Lets a number of seconds pass.
    pub(crate) fn pass(&mut self, seconds: i64) {
        let until = self.sim.now().checked_add(SignedDuration::from_secs(seconds));
        self.runner.run_until(until.expect("a time")).expect("nothing unsafe happens");
    }

    /// Lets time pass until `time`.
    pub(crate) fn pass_to(&mut self, time: Timestamp) {
        self.runner.run_until(time).expect("nothing unsafe happens");
    }

    /// The result of the run after a number of seconds, unsafe or not.
    pub(crate) fn pass_anyhow(&mut self, seconds: i64) -> Result<(), String> {
        let until = self
            .sim
            .now()
            .checked_add(SignedDuration::from_secs(seconds))
            .unwrap_or(Timestamp::MAX);
        self.runner.run_until(until).map_err(|stopped| stopped.to_string())
    }

    /// The workload wants this number of pods from now on.
    pub(crate) fn scale(&self, replicas: u32) {
        self.sim.act(Action::Scale { workload: build::pod_key("web"), replicas });
    }

    /// Seconds until `is_over`, at most `most`.
    pub(crate) fn until(&mut self, most: i64, is_over: impl Fn(&Sim) -> bool) -> i64 {
        let began = self.sim.now();
        while !is_over(&self.sim) && self.seconds_since(began) < most {
            self.pass(1);
        }
        self.seconds_since(began)
    }

    /// A cluster with a number of initialized nodes, in which nothing happens any more.
    pub(crate) fn grow(&mut self, nodes: u32, pods: u32) {
        self.scale(pods);
        let taken = self.until(3_600, has_initialized(nodes));
        assert!(taken < 3_600, "only {} nodes are initialized", initialized(&self.sim));
        self.pass(60);
    }

    /// Whole seconds from `began` to now.
    pub(crate) fn seconds_since(&self, began: Timestamp) -> i64 {
        self.sim.now().duration_since(began).as_secs()
    }

    /// What was used since `before` was taken.
    pub(crate) fn used_since(&self, before: &Meter) -> Meter {
        self.sim.meter().since(before)
    }

    /// The oldest `count` claims get spot notices within this number of milliseconds.
    pub(crate) fn interrupt(&self, count: usize, millis: i64) {
        let claims = self.sim.claims();
        let instances = claims.iter().filter_map(|claim| claim.instance.as_ref());
        for (index, instance) in instances.take(count).enumerate() {
            let index = i64::try_from(index).expect("few");
            let gap = millis / i64::try_from(count).expect("few");
            let at = self.sim.now().checked_add(SignedDuration::from_millis(index * gap));
            let target = SpotTarget::Instance(instance.id.clone());
            self.sim.at(at.expect("a time"), Action::InterruptSpot(target));
        }
    }
}

/// Claims whose nodes take pods.
pub(crate) fn initialized(sim: &Sim) -> usize {
    sim.claims().iter().filter(|claim| claim.phase == ClaimPhase::Initialized).count()
}

/// Whether this number of nodes takes pods and none is starting or ending.
pub(crate) fn has_initialized(nodes: u32) -> impl Fn(&Sim) -> bool {
    move |sim| {
        let claims = sim.claims();
        let is_there = |claim: &NodeClaim| claim.phase == ClaimPhase::Initialized;
        usize::try_from(nodes).is_ok_and(|n| n <= claims.len()) && claims.iter().all(is_there)
    }
}

/// Claims that are being deleted.
pub(crate) fn deleting(sim: &Sim) -> usize {
    sim.claims().iter().filter(|claim| claim.is_deleting()).count()
}
