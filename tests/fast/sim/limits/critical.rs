//! C1 to C4 of `tests/fast/sim/failures.md`.

use model::{ClaimPhase, Function, NodeClaim};
use simulator::{
    AccountLimits, Action, ApiAction, FunctionTable, Injection, RecursiveLoop, WorldSettings,
    api_server_away, first_calls,
};

use super::fleet::{deleting, fleet, fleet_of, has_initialized, initialized, pool};

fn looping(recursive_loop: RecursiveLoop) -> WorldSettings {
    let functions = Function::ALL.into_iter().fold(FunctionTable::deployed(), |table, function| {
        table.with(function, |limits| {
            if limits.recursive_loop == RecursiveLoop::Allow {
                limits.recursive_loop = recursive_loop;
            }
        })
    });
    let limits = AccountLimits { functions, ..AccountLimits::default() };
    WorldSettings { limits, ..WorldSettings::default() }
}

#[test]
fn c1_chains_of_messages_go_on_as_the_template_deploys_the_functions() {
    let mut fleet = fleet(looping(RecursiveLoop::Allow), 1);
    fleet.scale(5);
    let taken = fleet.until(600, has_initialized(5));
    assert!(taken < 150, "{taken} s, {} initialized", initialized(&fleet.sim));
    // The poll chain has more than sixteen links by now.
    fleet.pass(300);
    fleet.scale(6);
    let taken = fleet.until(600, |sim| sim.claims().len() == 6);
    assert!(taken < 15, "the sixth pod was seen after {taken} s");
    let dropped: u64 =
        fleet.sim.meter().invocations().values().map(|count| count.recursive_dropped).sum();
    assert_eq!(dropped, 0);
}

#[test]
fn c1_the_world_ends_chains_where_the_template_does_not_allow_them() {
    let mut fleet = fleet(looping(RecursiveLoop::Terminate), 1);
    fleet.scale(5);
    fleet.pass(600);
    let dropped: u64 =
        fleet.sim.meter().invocations().values().map(|count| count.recursive_dropped).sum();
    assert!(dropped > 0, "no chain was ended: {} initialized", initialized(&fleet.sim));
}

#[test]
fn c2_nodes_that_start_are_listed_and_described_together() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    let before = fleet.sim.meter();
    fleet.scale(100);
    let taken = fleet.until(3_600, has_initialized(100));
    let used = fleet.used_since(&before);
    let throttled = used.throttled_requests();
    let described = used.answered(ApiAction::ec2("DescribeInstances"));
    let listed = used.answered(ApiAction::kubernetes("list nodes"));
    let tagged = used.answered(ApiAction::ec2("CreateTags"));
    let story = format!(
        "{taken} s for 100 nodes, {described} describes, {listed} node lists, {tagged} tag \
         calls, {throttled} throttled"
    );
    assert!(taken <= 150, "{story}");
    assert!(described < 100 && listed < 100, "{story}");
    // Karpenter tags each instance once.
    assert!(tagged <= 100, "{story}");
    assert_eq!(throttled, 0, "{story}");
}

#[test]
fn c3_many_launches_are_settled_side_by_side() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    let before = fleet.sim.meter();
    fleet.scale(300);
    let taken = fleet.until(3_600, has_initialized(300));
    let used = fleet.used_since(&before);
    let cut_off: u64 = used.invocations().values().map(|count| count.cut_off).sum();
    let story = format!("{taken} s for 300 nodes, {cut_off} invocations cut off");
    assert!(taken <= 150, "{story}");
    assert_eq!(cut_off, 0, "{story}");
    // The bucket of CreateTags has 100 tokens, and ten come back each second.
    fleet.pass(60);
    let used = fleet.used_since(&before);
    assert_eq!(used.answered(ApiAction::ec2("CreateTags")), 300, "each once");
    assert_eq!(used.throttled_requests(), 0, "nothing is asked for faster than the account allows");
    // That pods get their places is no reason to list everything anew.
    let looked = used.answered(ApiAction::kubernetes("list namespaces"));
    assert!(looked <= 15, "{looked} looks at the whole cluster");
}

#[test]
fn c3_a_minute_without_the_api_server_loses_no_work() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.scale(100);
    fleet.pass(10);
    let now = fleet.sim.now();
    let until = now.checked_add(jiff::SignedDuration::from_mins(5)).expect("a time");
    fleet.sim.add_rule(api_server_away(now, until));
    fleet.pass(300);
    let taken = fleet.until(3_600, has_initialized(100));
    let letters = fleet.sim.dead_letters().len();
    let stuck: Vec<_> = fleet
        .sim
        .claims()
        .into_iter()
        .filter(|claim| claim.phase != ClaimPhase::Initialized)
        .map(|claim| claim.name)
        .collect();
    let story = format!("{taken} s after it is back, {letters} dead letters, stuck: {stuck:?}");
    assert!(taken <= 150 && stuck.is_empty(), "{story}");
    assert_eq!(letters, 0, "{story}");
}

#[test]
fn c4_a_refused_eviction_stops_neither_its_neighbours_nor_the_deadline() {
    let mut pool = pool();
    pool.template.termination_grace_period = Some(jiff::SignedDuration::from_mins(10));
    let class = testkit::build::node_class("default");
    let mut fleet = fleet_of(WorldSettings::default(), 4, class, pool);
    fleet.grow(3, 12);
    let claims = fleet.sim.claims();
    let node = claims.first().and_then(|claim: &NodeClaim| claim.node.clone()).expect("a node");
    let on_node = || {
        let pods = fleet.sim.pods().into_iter();
        pods.filter(|pod| pod.node.as_ref() == Some(&node) && !pod.is_terminating())
            .collect::<Vec<_>>()
    };
    // The first that is asked: what is behind it must be asked all the same.
    let refused = on_node().first().expect("a pod").key.clone();
    fleet.sim.act(Action::RefuseEvictions(refused.clone()));
    fleet.sim.act(Action::DeleteNodeClaim(claims[0].name.clone()));
    fleet.pass(150);
    let on_node = |sim: &simulator::Sim| -> Vec<String> {
        let pods = sim.pods().into_iter();
        pods.filter(|pod| pod.node.as_ref() == Some(&node)).map(|pod| pod.key.to_string()).collect()
    };
    assert_eq!(on_node(&fleet.sim), [refused.to_string()], "the others are asked to leave");
    // Its grace period is enforced although evictions are refused.
    let taken = fleet.until(3_600, |sim| deleting(sim) == 0) + 150;
    assert!(taken <= 780, "the node was gone {taken} s after its claim was deleted");
    assert_eq!(fleet.sim.dead_letters(), []);
}

/// How often EC2 is asked in ten minutes to terminate an instance, which it refuses.
pub(crate) fn refused_terminations(settings: WorldSettings) -> usize {
    let mut fleet = fleet(settings, 1);
    fleet.grow(3, 3);
    fleet.sim.add_rule(first_calls(
        "Fleet.terminate",
        u32::MAX,
        Injection::Refuse("OperationNotPermitted"),
    ));
    let claim = fleet.sim.claims().into_iter().next().expect("a claim");
    let from = fleet.sim.trace().len();
    fleet.sim.act(Action::DeleteNodeClaim(claim.name));
    fleet.pass(600);
    let trace = fleet.sim.trace().into_iter().skip(from);
    trace.filter(|line| line.contains(" Fleet.terminate ")).count()
}

#[test]
fn c4_what_is_refused_is_asked_for_less_and_less_often() {
    let asked = refused_terminations(WorldSettings::default());
    // Together and by itself, after 2, 4, 8 … 120 s.
    assert!((6..=30).contains(&asked), "{asked} requests in ten minutes");
}
