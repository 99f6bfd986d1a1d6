//! Static pools: nodes that are there whether anybody needs them or not.

use jiff::{SignedDuration, Timestamp};
use journeyman::manifests;
use model::{ClaimPhase, DeletionReason, disruption::DisruptionReason};
use simulator::{
    Action, ClusterObject, Dispatch, Happening, Runner, Sim, SpotTarget, Storm, WorldSettings,
    api_server_away,
};

use crate::{
    settings::settings,
    storm::{self, play_seeds},
    world::{catalog, minute, node_class, runner_with, scale},
};

const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// What a static pool looks like.
#[derive(Clone, Copy)]
struct Fixed {
    replicas: u32,
    team: &'static str,
    limits: &'static str,
    budget: &'static str,
}

const FIXED: Fixed = Fixed { replicas: 3, team: "payments", limits: "{}", budget: "1" };

impl Fixed {
    fn objects(self) -> Vec<ClusterObject> {
        let Self { replicas, team, limits, budget } = self;
        let class = node_class();
        let text = format!(
            r#"
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: fixed
  # What an API server's list says of its template.
  annotations: {{karpenter.sh/nodepool-hash: {team}, karpenter.sh/nodepool-hash-version: v3}}
spec:
  replicas: {replicas}
  limits: {limits}
  disruption: {{consolidateAfter: 0s, budgets: [{{nodes: "{budget}"}}]}}
  template:
    metadata: {{labels: {{team: {team}}}}}
    spec:
      expireAfter: Never
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
        - {{key: node.kubernetes.io/instance-type, operator: In, values: [m7g.large]}}
        - {{key: karpenter.sh/capacity-type, operator: In, values: [spot]}}
---
{class}---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
        - {{name: web, image: web, resources: {{requests: {{cpu: 900m, memory: 1Gi}}}}}}
"#
        );
        let texts = [manifests::InputFile::named("static.yaml", &text)];
        manifests::parse(&texts).expect("the manifests are sound").objects
    }

    fn world(self, settings: WorldSettings) -> Sim {
        let sim = Sim::new(settings, catalog());
        sim.add(self.objects());
        sim
    }

    /// The pool is like this from `at` on.
    fn apply(self, sim: &Sim, at: Timestamp) {
        let is_pool = |object: &ClusterObject| matches!(object, ClusterObject::NodePool(_));
        sim.at(at, Action::Add(self.objects().into_iter().filter(is_pool).collect()));
    }
}

fn opened(sim: &Sim) -> Runner<impl Dispatch + use<>> {
    runner_with(sim, settings(&[("FeatureGates", "StaticCapacity=true")])).0
}

/// Nodes that take pods.
fn ready(sim: &Sim) -> usize {
    sim.claims().iter().filter(|claim| claim.phase == ClaimPhase::Initialized).count()
}

/// Instances that are paid for.
fn instances(sim: &Sim) -> usize {
    sim.claims().iter().filter(|claim| claim.instance.is_some()).count()
}

fn calm(sim: &Sim) {
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.dead_letters(), Vec::new());
}

fn reasons(sim: &Sim) -> Vec<DeletionReason> {
    let deleted = sim.timeline(0).into_iter().filter_map(|event| match event.happening {
        Happening::ClaimDeleted { reason, .. } => Some(reason),
        _ => None,
    });
    deleted.collect()
}

/// Plays second by second; the most instances and the fewest nodes that were there.
fn watched(sim: &Sim, runner: &mut Runner<impl Dispatch>, until: Timestamp) -> (usize, usize) {
    let (mut most, mut fewest) = (0, usize::MAX);
    while sim.now() < until {
        let next = sim.now().checked_add(SECOND).expect("a time");
        runner.run_until(next.min(until)).expect("nothing unsafe happens");
        most = most.max(instances(sim));
        fewest = fewest.min(ready(sim));
    }
    (most, fewest)
}

#[test]
fn a_static_pool_has_its_replicas_whether_pods_need_them_or_not() {
    let sim = FIXED.world(WorldSettings::default());
    sim.at(minute(8), scale("web", 0));
    Fixed { replicas: 5, ..FIXED }.apply(&sim, minute(10));
    Fixed { replicas: 2, ..FIXED }.apply(&sim, minute(20));
    let mut runner = opened(&sim);
    for (minutes, replicas) in [(3, 3), (10, 3), (13, 5), (20, 5), (23, 2), (30, 2)] {
        runner.run_until(minute(minutes)).expect("nothing unsafe happens");
        assert_eq!(ready(&sim), replicas, "after {minutes} minutes");
        // Its status says so a minute later.
        if [10, 20, 30].contains(&minutes) {
            let told = sim.pool_status(&testkit::build::id("fixed")).expect("it was told");
            assert_eq!(usize::try_from(told.nodes), Ok(replicas), "after {minutes} minutes");
        }
    }
    calm(&sim);
    assert_eq!(reasons(&sim), [DeletionReason::Overprovisioned; 3]);
    let launched: u32 = sim.summary().launched.values().sum();
    assert_eq!(launched, 5);
}

#[test]
fn behind_a_closed_gate_a_static_pool_is_left_alone() {
    let sim = FIXED.world(WorldSettings::default());
    let (mut runner, _reports) = runner_with(&sim, settings(&[]));
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    assert_eq!((sim.claims().len(), sim.summary().pods_waiting), (0, 2));
}

#[test]
fn a_static_node_that_is_lost_is_replaced_at_once() {
    let sim = FIXED.world(WorldSettings::default());
    let mut runner = opened(&sim);
    sim.at(minute(15), Action::InterruptSpot(SpotTarget::Oldest));
    runner.run_until(minute(15)).expect("nothing unsafe happens");
    let launched = |sim: &Sim| sim.summary().launched.values().sum::<u32>();
    assert_eq!(launched(&sim), 3);
    runner.run_until(minute(15) + SECOND * 20).expect("nothing unsafe happens");
    assert_eq!(launched(&sim), 4, "within twenty seconds of the notice");
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    assert_eq!((ready(&sim), launched(&sim)), (3, 4));
    calm(&sim);
}

#[test]
fn drifted_static_nodes_are_replaced_first_within_budget_and_node_limit() {
    // A node whose instance is being terminated spends no budget any more, and its instance is still there.
    for (limits, budget, most) in
        [("{}", "2", 6), ("{nodes: 4}", "100%", 4), ("{}", "100%", 6), ("{nodes: 5}", "1", 5)]
    {
        let fixed = Fixed { limits, budget, ..FIXED };
        let sim = fixed.world(WorldSettings::default());
        Fixed { team: "orders", ..fixed }.apply(&sim, minute(8));
        let mut runner = opened(&sim);
        runner.run_until(minute(8)).expect("nothing unsafe happens");
        let (instances, fewest) = watched(&sim, &mut runner, minute(30));
        assert_eq!((instances, fewest), (most, 3), "{limits} {budget}");
        let is_renewed = |team: &String| team == "orders";
        let nodes = sim.nodes();
        assert!(nodes.iter().all(|node| node.labels.get("team").is_some_and(is_renewed)));
        assert_eq!(reasons(&sim), [DeletionReason::Disrupted(DisruptionReason::Drifted); 3]);
        calm(&sim);
    }
}

#[test]
fn without_room_for_a_replacement_drifted_static_nodes_stay_unless_they_may_go_first() {
    let fixed = Fixed { limits: "{nodes: 3}", ..FIXED };
    for (gates, gone) in [("", 0), (",TerminateFirstDrift=true", 3)] {
        let sim = fixed.world(WorldSettings::default());
        Fixed { team: "orders", ..fixed }.apply(&sim, minute(8));
        let gates = format!("StaticCapacity=true{gates}");
        let (mut runner, _reports) = runner_with(&sim, settings(&[("FeatureGates", &gates)]));
        runner.run_until(minute(3)).expect("nothing unsafe happens");
        let (most, _) = watched(&sim, &mut runner, minute(40));
        assert_eq!((most, ready(&sim), reasons(&sim).len()), (3, 3, gone), "{gates}");
        calm(&sim);
    }
}

/// A pool that is resized up and down while the API server is away, and EC2 and everything else fails now
/// and then.
fn resized_in_an_outage(seed: u64) -> Result<(), String> {
    let sim = FIXED.world(storm::settings(seed));
    let (from, until) = (minute(5), minute(10));
    sim.add_rule(Storm::MODERATE.rule());
    sim.add_rule(api_server_away(from, until));
    let sizes = [7, 1, 4, 6, 2];
    for (minutes, replicas) in (5..).step_by(2).zip(sizes) {
        Fixed { replicas, ..FIXED }.apply(&sim, minute(minutes));
    }
    let mut runner = opened(&sim);
    let stopped = |stopped: simulator::Stopped| stopped.to_string();
    let mut most = 0;
    while sim.now() < minute(20) {
        runner.run_until(sim.now() + SECOND * 5).map_err(stopped)?;
        let claims = sim.claims();
        most = most.max(claims.iter().filter(|claim| !claim.is_deleting()).count());
    }
    sim.stop_faults();
    runner.run_until(minute(60)).map_err(stopped)?;
    let mut problems = sim.check_liveness();
    problems.extend(sim.check_node_claims());
    if ready(&sim) != 2 || sim.claims().len() != 2 {
        problems.push(format!("{} nodes, and {} claims", ready(&sim), sim.claims().len()));
    }
    if most > 7 {
        problems.push(format!("{most} claims at a time"));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

#[test]
fn a_static_pool_that_is_resized_in_an_outage_ends_with_its_replicas() {
    play_seeds(4, resized_in_an_outage);
}
