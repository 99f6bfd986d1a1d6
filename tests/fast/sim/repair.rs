//! Ill nodes, repaired.

use jiff::{SignedDuration, Timestamp};
use model::{DeletionReason, NodeName, disruption::DisruptionReason, node_pool::BudgetNodes};
use ports::{Fault, NodePools as _};
use simulator::{
    Action, ClusterObject, Dispatch, Happening, Injection, Runner, Sim, WorldSettings,
};

use crate::{
    settings::settings,
    storm::{self, play_seeds},
    world::{MANIFESTS, minute, runner_with, scale, sim_of},
};

const UNHEALTHY: DeletionReason = DeletionReason::Disrupted(DisruptionReason::Unhealthy);

/// The usual world with many nodes, of which nothing else has any go.
fn world(settings: WorldSettings, change: impl Fn(String) -> String) -> Sim {
    let text = MANIFESTS
        .replace("cpu: \"40\"", "cpu: \"80\"")
        .replace("consolidateAfter: 30s", "consolidateAfter: Never");
    assert!(text != MANIFESTS);
    let sim = sim_of(settings, &change(text));
    sim.at(minute(0), scale("web", 20));
    sim
}

fn opened(sim: &Sim) -> Runner<impl Dispatch + use<>> {
    runner_with(sim, settings(&[("FeatureGates", "NodeRepair=true")])).0
}

/// Nodes in order of their names.
fn nodes(sim: &Sim) -> Vec<NodeName> {
    sim.nodes().into_iter().map(|node| node.name).collect()
}

fn set_ill(sim: &Sim, node: &NodeName, conditions: &[&str]) {
    let conditions = conditions.iter().map(|&kind| kind.to_owned()).collect();
    sim.act(Action::SetIll { node: node.clone(), conditions });
}

fn deleted(sim: &Sim) -> Vec<(Timestamp, DeletionReason)> {
    let deleted = sim.timeline(0).into_iter().filter_map(|event| match event.happening {
        Happening::ClaimDeleted { reason, .. } => Some((event.at, reason)),
        _ => None,
    });
    deleted.collect()
}

fn calm(sim: &Sim) {
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.dead_letters(), Vec::new());
}

#[test]
fn an_ill_node_is_replaced_when_its_condition_was_tolerated_for_long_enough() {
    for (gates, goes) in [("NodeRepair=true", true), ("", false)] {
        let sim = world(WorldSettings::default(), |text| text);
        let (mut runner, _reports) = runner_with(&sim, settings(&[("FeatureGates", gates)]));
        runner.run_until(minute(5)).expect("nothing unsafe happens");
        let before = nodes(&sim);
        assert!(before.len() >= 5, "{} nodes", before.len());
        set_ill(&sim, &before[0], &["StorageReady"]);
        runner.run_until(minute(35)).expect("nothing unsafe happens");
        assert_eq!(deleted(&sim), [], "half an hour is tolerated");
        runner.run_until(minute(55)).expect("nothing unsafe happens");
        let reasons: Vec<DeletionReason> =
            deleted(&sim).into_iter().map(|(_, reason)| reason).collect();
        assert_eq!(reasons, if goes { vec![UNHEALTHY] } else { Vec::new() }, "{gates}");
        assert_eq!(nodes(&sim).contains(&before[0]), !goes);
        calm(&sim);
    }
}

/// The disruption budget of every NodePool is `nodes` from now on.
fn allow(sim: &Sim, nodes: BudgetNodes) {
    let pools = sim.block_on(sim.observed_pools()).expect("an answer").expect("a listing");
    let allowed = pools.items.into_iter().map(|observed| {
        let mut pool = observed.pool;
        pool.disruption.budgets.iter_mut().for_each(|budget| budget.nodes = nodes);
        ClusterObject::NodePool(pool)
    });
    sim.act(Action::Add(allowed.collect()));
}

#[test]
fn an_ill_node_goes_as_ill_whatever_else_it_is() {
    let sim = world(WorldSettings::default(), |text| {
        text.replace("consolidateAfter: Never", "consolidateAfter: 30s")
            .replace("nodes: \"50%\"", "nodes: \"0\"")
    });
    sim.at(minute(5), scale("web", 0));
    let mut runner = opened(&sim);
    runner.run_until(minute(8)).expect("nothing unsafe happens");
    let used: Vec<NodeName> = sim.pods().into_iter().filter_map(|pod| pod.node).collect();
    let mut empty = nodes(&sim);
    empty.retain(|node| !used.contains(node));
    assert!(empty.len() >= 2, "{} nodes are empty", empty.len());
    set_ill(&sim, &empty[0], &["StorageReady"]);
    runner.run_until(minute(45)).expect("nothing unsafe happens");
    assert_eq!(deleted(&sim), [], "no budget allows it");
    allow(&sim, BudgetNodes::Percent(100));
    runner.run_until(minute(60)).expect("nothing unsafe happens");
    let gone = deleted(&sim);
    let as_ill = gone.iter().filter(|(_, reason)| *reason == UNHEALTHY).count();
    assert_eq!((gone[0].1, as_ill), (UNHEALTHY, 1), "{gone:?}");
    assert!(gone.len() >= empty.len(), "the others go as empty: {gone:?}");
    calm(&sim);
}

#[test]
fn pods_that_must_not_be_disrupted_hold_an_ill_node_for_ten_minutes() {
    let sim = world(WorldSettings::default(), |text| {
        text.replace(
            "metadata: {labels: {app: web}}",
            "metadata: {annotations: {karpenter.sh/do-not-disrupt: \"true\"}, labels: {app: web}}",
        )
    });
    let mut runner = opened(&sim);
    runner.run_until(minute(5)).expect("nothing unsafe happens");
    let node = sim
        .pods()
        .into_iter()
        .find_map(|pod| {
            let is_web = pod.key.name.as_str().starts_with("web");
            pod.node.filter(|_| is_web)
        })
        .expect("a pod that runs");
    set_ill(&sim, &node, &["Ready", "KernelReady"]);
    runner.run_until(minute(60)).expect("nothing unsafe happens");
    let reasons = deleted(&sim);
    let [(at, reason)] = reasons.as_slice() else { panic!("{reasons:?}") };
    assert_eq!(*reason, UNHEALTHY);
    let ended = sim.timeline(0).into_iter().find_map(|event| match &event.happening {
        Happening::NodeRemoved { node: gone, .. } if *gone == node => Some(event.at),
        _ => None,
    });
    let took = ended.expect("the node goes").duration_since(*at);
    let bound = SignedDuration::from_mins(10);
    assert!(bound - SignedDuration::from_secs(60) < took, "{took:#} of {bound:#}");
    assert!(took < bound + SignedDuration::from_mins(2), "{took:#} of {bound:#}");
    calm(&sim);
}

/// Many nodes turn ill at once, and all but one get well.
fn storm_of_ill_nodes(seed: u64) -> Result<(), String> {
    let sim =
        world(WorldSettings { never_joins_per_mille: 0, ..storm::settings(seed) }, |text| text);
    let mut runner = opened(&sim);
    let stopped = |stopped: simulator::Stopped| stopped.to_string();
    runner.run_until(minute(10)).map_err(stopped)?;
    let before = nodes(&sim);
    let (ill, total) = (before.len() / 2, before.len());
    for node in before.iter().take(ill) {
        set_ill(&sim, node, &["NetworkingReady"]);
    }
    runner.run_until(minute(120)).map_err(stopped)?;
    let held = deleted(&sim).len();
    for node in before.iter().take(ill).skip(1) {
        set_ill(&sim, node, &[]);
    }
    sim.stop_faults();
    runner.run_until(minute(150)).map_err(stopped)?;
    let mut problems = sim.check_liveness();
    problems.extend(sim.check_node_claims());
    if held != 0 {
        problems.push(format!("{held} nodes went while {ill} of {total} were ill"));
    }
    let left = deleted(&sim);
    if left.iter().map(|(_, reason)| *reason).collect::<Vec<_>>() != [UNHEALTHY] {
        problems.push(format!("of one that stays ill {left:?}"));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

#[test]
fn a_storm_of_ill_nodes_is_held_by_the_breaker_until_most_are_well() {
    play_seeds(3, storm_of_ill_nodes);
}

fn rebooted(sim: &Sim) -> Vec<Timestamp> {
    let reboots = sim.timeline(0).into_iter().filter_map(|event| match event.happening {
        Happening::NodeReboots { .. } => Some(event.at),
        _ => None,
    });
    reboots.collect()
}

fn reboots(gates: &str) -> (Sim, Runner<impl Dispatch + use<>>, NodeName) {
    let sim = world(WorldSettings::default(), |text| text);
    let (mut runner, _reports) = runner_with(&sim, settings(&[("FeatureGates", gates)]));
    runner.run_until(minute(5)).expect("nothing unsafe happens");
    let ill = nodes(&sim).remove(0);
    make_one_ill(&sim);
    (sim, runner, ill)
}

/// The first node has what a reboot cures.
pub(crate) fn make_one_ill(sim: &Sim) {
    set_ill(sim, &nodes(sim).remove(0), &["AcceleratedHardwareReady=NvidiaXID48Error"]);
}

pub(crate) const REBOOTS: &str = "NodeRepair=true,RebootForRepair=true";

/// A node that is rebooted.
pub(crate) fn rebooting() -> Sim {
    let (sim, mut runner, _) = reboots(REBOOTS);
    runner.run_until(minute(40)).expect("nothing unsafe happens");
    sim
}

#[test]
fn an_ill_node_that_a_reboot_cures_is_emptied_rebooted_and_takes_pods_again() {
    let (sim, mut runner, ill) = reboots(REBOOTS);
    let evicted = sim.summary().evictions;
    runner.run_until(minute(40)).expect("nothing unsafe happens");
    assert_eq!((deleted(&sim), rebooted(&sim).len()), (Vec::new(), 1));
    assert!(evicted < sim.summary().evictions, "its pods left first");
    assert_eq!(sim.summary().pods_lost, 0);
    let node = sim.nodes().into_iter().find(|node| node.name == ill).expect("it stays");
    let ours = |taint: &&model::Taint| taint.key.starts_with("karpenter.sh/");
    assert_eq!((node.taints.iter().find(ours), node.is_ready), (None, true));
    assert_eq!(sim.commands(), Vec::new());
    let claim = sim.claims().into_iter().find(|claim| claim.node.as_ref() == Some(&ill)).unwrap();
    let reboot = claim.conditions.reboots.last().expect("it is remembered");
    assert!(reboot.issued_at.is_some() && reboot.ended_at.is_some(), "{reboot:?}");
    calm(&sim);
}

#[test]
fn without_the_gate_it_is_replaced() {
    let (sim, mut runner, ill) = reboots("NodeRepair=true");
    runner.run_until(minute(40)).expect("nothing unsafe happens");
    assert_eq!((deleted(&sim).len(), rebooted(&sim).len()), (1, 0));
    assert!(!nodes(&sim).contains(&ill));
    calm(&sim);
}

#[test]
fn a_node_that_is_ill_again_after_two_reboots_within_a_day_is_replaced() {
    let (sim, mut runner, ill) = reboots(REBOOTS);
    for round in 1..=3 {
        runner.run_until(minute(round * 60)).expect("nothing unsafe happens");
        set_ill(&sim, &ill, &["AcceleratedHardwareReady=NvidiaXID48Error"]);
    }
    runner.run_until(minute(240)).expect("nothing unsafe happens");
    assert_eq!((deleted(&sim).len(), rebooted(&sim).len()), (1, 2));
    assert!(!nodes(&sim).contains(&ill));
    calm(&sim);
}

#[test]
fn a_reboot_that_ec2_refuses_ends_with_another_node() {
    let (sim, mut runner, ill) = reboots(REBOOTS);
    sim.add_rule(Box::new(|call, _| match call.operation {
        "Fleet.reboot" => Injection::FailBefore(Fault::Transient),
        _ => Injection::Pass,
    }));
    runner.run_until(minute(50)).expect("nothing unsafe happens");
    assert_eq!((deleted(&sim).len(), rebooted(&sim).len()), (1, 0));
    assert!(!nodes(&sim).contains(&ill));
    calm(&sim);
}

/// Crashes, doubled messages and failures while nodes are rebooted: none is rebooted by two requests more than
/// answers are lost, and none keeps its taint.
fn reboots_in_a_storm(seed: u64) -> Result<(), String> {
    let sim =
        world(WorldSettings { never_joins_per_mille: 0, ..storm::settings(seed) }, |text| text);
    let (mut runner, _reports) = runner_with(&sim, settings(&[("FeatureGates", REBOOTS)]));
    let stopped = |stopped: simulator::Stopped| stopped.to_string();
    runner.run_until(minute(10)).map_err(stopped)?;
    for node in nodes(&sim).iter().take(1) {
        set_ill(&sim, node, &["AcceleratedHardwareReady=NvidiaXID48Error"]);
    }
    sim.add_rule(simulator::Storm::MODERATE.rule());
    runner.run_until(minute(60)).map_err(stopped)?;
    sim.stop_faults();
    runner.run_until(minute(100)).map_err(stopped)?;
    let mut problems = sim.check_liveness();
    problems.extend(sim.check_node_claims());
    let is_ours = |taint: &model::Taint| taint.key == model::labels::REBOOTING_TAINT;
    if sim.nodes().iter().any(|node| node.taints.iter().any(is_ours)) || !sim.commands().is_empty()
    {
        problems.push("a reboot did not end".to_owned());
    }
    if rebooted(&sim).is_empty() && deleted(&sim).is_empty() {
        problems.push("nothing was done".to_owned());
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

#[test]
fn reboots_in_a_storm_end() {
    play_seeds(3, reboots_in_a_storm);
}
