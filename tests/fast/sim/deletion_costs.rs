//! Deletion costs of pods: a Deployment that is scaled down empties the nodes that would go next.

use std::collections::BTreeMap;

use model::{NodeName, labels};
use ports::Fault;
use simulator::{Injection, Sim, WorldSettings};

use crate::{
    settings::settings,
    world::{MANIFESTS, minute, runner_with, scale, sim_of},
};

/// Twenty pods on several nodes. Consolidation takes none of these nodes.
pub(crate) fn world() -> Sim {
    let text = MANIFESTS
        .replace("cpu: \"40\"", "cpu: \"80\"")
        .replace("consolidateAfter: 30s", "consolidateAfter: 720h");
    let sim = sim_of(WorldSettings::default(), &text);
    sim.at(minute(0), scale("web", 20));
    sim
}

pub(crate) const OPEN: (&str, &str) = ("FeatureGates", "PodDeletionCostManagement=true");

/// The cost that each pod of `web` says, by node.
fn costs(sim: &Sim) -> BTreeMap<NodeName, Vec<Option<i32>>> {
    let mut costs = BTreeMap::<NodeName, Vec<Option<i32>>>::new();
    for pod in sim.pods() {
        let is_its = pod.spec.labels.get("app").is_some_and(|app| app == "web");
        if let Some(node) = pod.node.filter(|_| is_its) {
            let text = pod.spec.annotations.get(labels::POD_DELETION_COST);
            let cost = text.map(|text| text.parse().expect("a number"));
            costs.entry(node).or_default().push(cost);
        }
    }
    costs
}

pub(crate) fn played() -> Sim {
    let sim = world();
    let (mut runner, _reports) = runner_with(&sim, settings(&[OPEN]));
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    sim
}

#[test]
fn pods_of_one_node_cost_alike_and_nodes_are_ranked() {
    let sim = played();
    let costs = costs(&sim);
    assert!(costs.len() > 2, "{costs:?}");
    let mut ranks: Vec<i32> = Vec::new();
    for costs in costs.values() {
        assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
        ranks.extend(costs[0]);
    }
    ranks.sort_unstable();
    let allowed = i32::try_from(ranks.len()).expect("few");
    assert!(allowed > 0 && ranks.iter().copied().eq(-allowed..0), "{ranks:?}");
}

#[test]
fn a_deployment_that_is_scaled_down_empties_the_node_that_would_go_next() {
    let sim = world();
    let (mut runner, _reports) = runner_with(&sim, settings(&[OPEN]));
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let before = costs(&sim);
    let least = before.iter().min_by_key(|(_, costs)| costs[0].unwrap_or_default());
    let (next, pods) = least.map(|(node, pods)| (node.clone(), pods.len())).expect("a node");
    sim.act(scale("web", 20 - u32::try_from(pods).expect("few")));
    runner.run_until(minute(12)).expect("nothing unsafe happens");
    assert!(!costs(&sim).contains_key(&next), "{before:?}, {:?}", costs(&sim));
}

#[test]
fn a_right_that_is_missing_stops_nothing_else() {
    let sim = world();
    sim.add_rule(Box::new(|call, _| {
        let is_meant = call.operation == "Nodes.set_deletion_cost";
        if is_meant { Injection::FailBefore(Fault::Permanent) } else { Injection::Pass }
    }));
    let (mut runner, _reports) = runner_with(&sim, settings(&[OPEN]));
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.dead_letters(), Vec::new());
    assert!(costs(&sim).values().flatten().all(Option::is_none));
}
