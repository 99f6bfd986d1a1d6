//! What people are told by events of Kubernetes, how often, and that nothing waits for it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    NodeClaim,
    event::{EventObject, EventReason, ObjectEvent},
};
use ports::Fault;
use simulator::{Action, Injection, Sim, SpotTarget, WorldSettings, first_calls};

use crate::{
    commands,
    world::{MANIFESTS, minute, runner, scale, sim, sim_of},
};

fn run_until(sim: &Sim, minutes: i64) {
    let (mut runner, _reports) = runner(sim);
    runner.run_until(minute(minutes)).expect("nothing unsafe happens");
}

/// Reasons of events about what `is_meant`.
fn reasons(sim: &Sim, is_meant: impl Fn(&EventObject) -> bool) -> BTreeSet<EventReason> {
    let told = sim.told().into_iter().map(|(_, event)| event);
    told.filter(|event| is_meant(&event.about)).map(|event| event.reason).collect()
}

fn is_pod(about: &EventObject) -> bool {
    matches!(about, EventObject::Pod(..))
}

fn is_node(about: &EventObject) -> bool {
    matches!(about, EventObject::Node(_))
}

fn is_claim(about: &EventObject) -> bool {
    matches!(about, EventObject::NodeClaim(_))
}

/// Nothing is said again before its time.
#[track_caller]
fn check_apart(sim: &Sim) {
    let mut last: BTreeMap<(EventObject, EventReason), Timestamp> = BTreeMap::new();
    for (at, ObjectEvent { about, reason, .. }) in sim.told() {
        let words = format!("{about} {reason} at {at}");
        if let Some(before) = last.insert((about, reason), at) {
            // A call takes as long as it takes.
            let apart = at.duration_since(before) + SignedDuration::from_secs(5);
            assert!(reason.said_for() <= apart, "{words}, and before at {before}");
        }
    }
}

#[test]
fn pods_are_told_where_they_go_and_when_nowhere() {
    let huge = MANIFESTS.replace("cpu: 900m", "cpu: \"500\"");
    assert!(huge != MANIFESTS);
    let sim = sim_of(WorldSettings::default(), &huge);
    run_until(&sim, 12);
    let expected = BTreeSet::from([EventReason::FailedScheduling, EventReason::Nominated]);
    assert!(expected.is_subset(&reasons(&sim, is_pod)), "{:?}", reasons(&sim, is_pod));
    let about = |name: &str| {
        let mut of_pod = sim.told().into_iter().map(|(_, event)| event).filter(|event| {
            matches!(&event.about, EventObject::Pod(key, _) if key.name.as_str().starts_with(name))
        });
        of_pod.next().map(|event| (event.reason, event.message))
    };
    let (reason, why) = about("web").expect("an event");
    assert_eq!(reason, EventReason::FailedScheduling);
    assert!(why.starts_with("no node for it: general: "), "{why}");
    assert_eq!(about("store").map(|told| told.0), Some(EventReason::Nominated));
    check_apart(&sim);
}

#[test]
fn what_would_let_a_pod_be_scheduled_is_reported() {
    let picky = "nodeSelector: {team: a}\n      terminationGracePeriodSeconds: 5";
    let manifests = MANIFESTS.replacen("terminationGracePeriodSeconds: 5", picky, 1);
    let sim = sim_of(WorldSettings::default(), &manifests);
    run_until(&sim, 12);
    let failed = sim.told().into_iter().map(|(_, event)| event);
    let failed = failed.filter(|event| event.reason == EventReason::FailedScheduling);
    let messages: Vec<String> = failed.map(|event| event.message).collect();
    let remedy = "; it could be scheduled without its node selector team In [a]";
    let is_named = messages.iter().all(|message| message.ends_with(remedy));
    assert!(24 <= messages.len() && is_named, "{messages:#?}");
    check_apart(&sim);
}

#[test]
fn an_interruption_is_reported_on_node_and_claim_and_a_drain_on_its_pods() {
    let sim = sim(WorldSettings::default());
    sim.at(minute(5), Action::InterruptSpot(SpotTarget::Any));
    run_until(&sim, 10);
    let both = BTreeSet::from([
        EventReason::SpotInterrupted,
        EventReason::TerminatingOnInterruption,
        EventReason::TerminationGracePeriodExpiring,
    ]);
    assert!(both.is_subset(&reasons(&sim, is_node)), "{:?}", reasons(&sim, is_node));
    assert!(both.is_subset(&reasons(&sim, is_claim)), "{:?}", reasons(&sim, is_claim));
    assert!(reasons(&sim, is_node).contains(&EventReason::FailedDraining));
    assert!(reasons(&sim, is_pod).contains(&EventReason::Evicted));
    check_apart(&sim);
}

#[test]
fn pods_that_a_budget_holds_are_told_of_and_asked_until_their_node_must_go() {
    let held = MANIFESTS
        .replace("expireAfter: Never", "expireAfter: Never\n      terminationGracePeriod: 5m");
    let budget = "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n\
                  spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}\n";
    let sim = sim_of(WorldSettings::default(), &format!("{held}{budget}"));
    let (mut runner, _reports) = runner(&sim);
    let mut run_until = |end| runner.run_until(minute(end)).expect("nothing unsafe happens");
    run_until(6);
    let pods = sim.pods();
    let web =
        pods.iter().find(|pod| pod.key.name.as_str().starts_with("web") && pod.node.is_some());
    let web = web.expect("a pod that runs");
    let claim = sim.claims().into_iter().find(|claim| claim.node == web.node).expect("its claim");
    sim.act(Action::DeleteNodeClaim(claim.name.clone()));
    run_until(10);
    let is_there = || sim.pods().iter().any(|pod| pod.uid == web.uid && !pod.is_terminating());
    let told = |reason| {
        let of_pod =
            |about: &EventObject| matches!(about, EventObject::Pod(key, _) if *key == web.key);
        reasons(&sim, of_pod).contains(&reason)
    };
    assert!(is_there() && sim.nodes().iter().any(|node| Some(&node.name) == web.node.as_ref()));
    assert!(reasons(&sim, is_node).contains(&EventReason::FailedDraining));
    assert!(!told(EventReason::Evicted) && !told(EventReason::Disrupted));
    let asked = format!("Nodes.evict {}", web.key);
    let asked = sim.trace().into_iter().filter(|line| line.contains(&asked)).count();
    assert!(asked > 10, "asked {asked} times in three minutes");
    run_until(14);
    assert!(!is_there() && told(EventReason::Disrupted));
    assert!(sim.claims().iter().all(|other| other.name != claim.name));
    check_apart(&sim);
}

#[test]
fn a_command_is_reported_from_its_beginning_to_its_end() {
    let sim = commands::world(WorldSettings::default());
    sim.at(minute(6), scale("web", 1));
    let (mut runner, _reports) = runner(&sim);
    let is_said = |claim: &NodeClaim| claim.conditions.disruption.is_some() && !claim.is_deleting();
    let mut was_said = false;
    for seconds in (0..1_200).step_by(5) {
        let until = minute(0).checked_add(SignedDuration::from_secs(seconds));
        runner.run_until(until.expect("a time")).expect("nothing unsafe happens");
        was_said |= sim.claims().iter().any(is_said);
    }
    assert!(was_said, "a claim that is replaced says so before it goes");
    let replaced = [EventReason::DisruptionLaunching, EventReason::DisruptionWaitingReadiness];
    let told = reasons(&sim, is_claim);
    assert!(replaced.iter().any(|reason| told.contains(reason)), "{told:?}");
    assert!(told.contains(&EventReason::DisruptionTerminating), "{told:?}");
    check_apart(&sim);
}

#[test]
fn an_event_that_cannot_be_published_fails_nothing() {
    let sim = sim(WorldSettings::default());
    let denied = Injection::FailBefore(Fault::Permanent);
    sim.add_rule(first_calls("Events.publish", 1_000_000, denied));
    sim.at(minute(6), scale("web", 2));
    run_until(&sim, 20);
    assert_eq!(sim.events_published(), 0);
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.dead_letters(), Vec::new());
}
