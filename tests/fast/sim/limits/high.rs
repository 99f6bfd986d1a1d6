//! H1 to H9 of `tests/fast/sim/failures.md`, those that a world can show.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{
    DeletionReason, Function, NodeClaim, NodeClaimName,
    ledger::{Basis, Commit, CommitOutcome},
    node_class::ImageTerm,
};
use ports::{Fault, Ledger as _};
use simulator::{
    Action, ApiAction, ClusterObject, Disorder, Happening, Injection, Sim, WorldSettings,
    first_calls,
};
use testkit::build;

use super::fleet::{deleting, fleet, has_initialized, initialized, pool};

/// The longest time from a notice to the deletion of its claim, and from the nth notice to the nth new claim,
/// in milliseconds.
fn reactions(sim: &Sim, from: usize, nodes: &BTreeMap<NodeClaimName, String>) -> (i128, i128) {
    let (mut told, mut created) = (BTreeMap::new(), Vec::new());
    let mut deleted = Vec::new();
    for event in sim.timeline(from) {
        match event.happening {
            Happening::SpotNotice { node: Some(node), .. } => {
                told.insert(node.to_string(), event.at);
            }
            Happening::ClaimDeleted { claim, .. } => {
                let at = nodes.get(&claim).and_then(|node| told.get(node));
                deleted.extend(at.map(|at| event.at.duration_since(*at).as_millis()));
            }
            Happening::ClaimCreated { .. } => created.push(event.at),
            _ => {}
        }
    }
    let mut times: Vec<_> = told.into_values().collect();
    times.sort();
    let missing = 3_600_000_i128;
    let replaced = if created.len() < times.len() {
        missing
    } else {
        let lags = times.iter().zip(&created).map(|(told, at)| at.duration_since(*told));
        lags.map(|lag| lag.as_millis()).max().unwrap_or(missing)
    };
    let longest = if deleted.len() < times.len() {
        missing
    } else {
        deleted.into_iter().max().unwrap_or(missing)
    };
    (longest, replaced)
}

fn nodes(sim: &Sim) -> BTreeMap<NodeClaimName, String> {
    let claims = sim.claims().into_iter();
    claims.filter_map(|claim| Some((claim.name, claim.node?.to_string()))).collect()
}

#[test]
fn h1_notices_cost_reads_by_index_and_one_commit_for_many() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(200, 200);
    let before = fleet.sim.meter();
    fleet.interrupt(100, 2_000);
    fleet.pass(15);
    let used = fleet.used_since(&before);
    let requests = used.requests_of(Function::Interrupt);
    let commits = requests[&ApiAction::dynamodb("TransactWriteItems")].answered;
    let queries = requests[&ApiAction::dynamodb("Query")].answered;
    let longest = used.invocations()[&Function::Interrupt].longest_millis;
    let story =
        format!("{queries} queries, {commits} commits, longest {longest} ms for 100 notices");
    assert!(commits <= 40 && queries <= 400, "{story}");
    assert!(longest < 5_000, "{story}");
}

#[test]
fn h2_a_mass_interruption_does_not_starve_its_replacements() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(200, 200);
    let (nodes, from) = (nodes(&fleet.sim), fleet.sim.timeline(0).len());
    fleet.interrupt(100, 10_000);
    fleet.pass(110);
    let (deleted, replaced) = reactions(&fleet.sim, from, &nodes);
    let count = |is_it: fn(&Happening) -> bool| {
        fleet.sim.timeline(from).iter().filter(|event| is_it(&event.happening)).count()
    };
    let story = format!(
        "{} deleted, after {deleted} ms at most, {} created, after {replaced} ms at most, {} \
         dead letters, {} pods lost",
        count(|happening| matches!(happening, Happening::ClaimDeleted { .. })),
        count(|happening| matches!(happening, Happening::ClaimCreated { .. })),
        fleet.sim.dead_letters().len(),
        fleet.sim.summary().pods_lost
    );
    assert!(deleted <= 5_000 && replaced <= 15_000, "{story}");
    assert_eq!(fleet.sim.dead_letters(), [], "{story}");
}

/// The outcome of a commit of new claims after another commit deleted a claim.
pub(crate) fn creation_after_a_departure(settings: WorldSettings) -> CommitOutcome {
    let cluster = settings.cluster.clone();
    let mut fleet = fleet(settings, 1);
    fleet.grow(2, 2);
    let sim = &fleet.sim;
    let head = sim.block_on(sim.head(&cluster)).expect("it ends").expect("an answer");
    let commit = |id: &str, basis, changed: Vec<NodeClaim>| Commit {
        id: build::id(id),
        ledger: head.ledger.clone(),
        parent: head.counters,
        basis,
        created: Vec::new(),
        adopted: Vec::new(),
        changed,
        unavailable_offerings: BTreeMap::new(),
        started: BTreeMap::new(),
        ended: BTreeSet::new(),
        decisions: Vec::new(),
    };
    let committed = |commit: &Commit| {
        sim.block_on(sim.commit(&cluster, commit)).expect("it ends").expect("an answer")
    };
    let claim = sim.claims().into_iter().next().expect("a claim");
    let deleted = claim.deleted(DeletionReason::SpotInterrupted, sim.now());
    let departure = committed(&commit("departure", Basis::Claims, vec![deleted]));
    assert!(matches!(departure, CommitOutcome::Committed(_)), "{departure:?}");
    committed(&commit("creation", Basis::Arrivals, Vec::new()))
}

#[test]
fn h2_new_claims_are_not_refused_for_claims_deleted_meanwhile() {
    let outcome = creation_after_a_departure(WorldSettings::default());
    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
}

#[test]
fn h3_a_transient_failure_does_not_wait_for_the_queue() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(3, 3);
    fleet.sim.add_rule(first_calls("Fleet.terminate", 1, Injection::FailBefore(Fault::Transient)));
    let claim = fleet.sim.claims().into_iter().next().expect("a claim");
    fleet.sim.act(Action::DeleteNodeClaim(claim.name));
    let deleted = fleet.until(120, |sim| deleting(sim) == 1);
    let taken = fleet.until(600, |sim| deleting(sim) == 0);
    assert!(taken <= 120, "deleted after {deleted} s, and gone {taken} s later");
}

/// How often `settle` is called for ten nodes, while messages come once, and while three in ten come twice.
pub(crate) fn orderly_and_doubled(settings: &WorldSettings) -> (u64, u64) {
    let visits = |duplicated_per_mille| {
        let disorder = Disorder { duplicated_per_mille, ..Disorder::default() };
        let mut fleet = fleet(WorldSettings { disorder, ..settings.clone() }, 1);
        let before = fleet.sim.meter();
        fleet.scale(10);
        fleet.pass(120);
        let used = fleet.used_since(&before);
        used.invocations().get(&Function::Settle).map_or(0, |count| count.invocations)
    };
    (visits(0), visits(300))
}

#[test]
fn h4_doubled_messages_do_not_double_the_work() {
    // Which messages come twice is chance: one world says little.
    let worlds = (1..=8)
        .map(|seed| orderly_and_doubled(&WorldSettings { seed, ..WorldSettings::default() }));
    let (orderly, doubled) = worlds.fold((0, 0), |sum, world| (sum.0 + world.0, sum.1 + world.1));
    println!("{doubled} visits where {orderly} do");
    assert!(doubled < orderly * 2, "{doubled} visits where {orderly} do");
}

/// How many of ten nodes are initialized though every function with continued work crashes once in a pass
/// and none of their schedules comes round.
pub(crate) fn initialized_after_crashes(settings: WorldSettings) -> usize {
    let mut fleet = fleet(settings, 1);
    fleet.grow(1, 1);
    for function in [Function::Provision, Function::Launch, Function::Settle] {
        fleet.sim.act(Action::StopSchedule(function));
        let mut is_over = false;
        fleet.sim.add_rule(Box::new(move |call, _| {
            let is_its = call.delivery.is_some_and(|(_, caller)| caller == function);
            let is_pass = is_its && call.operation == "Ledger.head";
            if is_over || !is_pass {
                return Injection::Pass;
            }
            is_over = true;
            Injection::CrashBefore
        }));
    }
    fleet.scale(11);
    fleet.pass(3 * 3_600);
    initialized(&fleet.sim)
}

#[test]
fn h4_a_message_is_there_until_the_pulse_is_armed() {
    assert_eq!(initialized_after_crashes(WorldSettings::default()), 11);
}

#[test]
fn h4_a_call_that_outlives_its_function_is_made_up_for_by_the_schedule() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(3, 3);
    // Slower than any time-out of a call would let it be.
    let slow = Injection::Delay(SignedDuration::from_mins(10));
    fleet.sim.add_rule(first_calls("Fleet.terminate", 1, slow));
    let before = fleet.sim.meter();
    let claim = fleet.sim.claims().into_iter().next().expect("a claim");
    fleet.sim.act(Action::DeleteNodeClaim(claim.name));
    let deleted = fleet.until(120, |sim| deleting(sim) == 1);
    let taken = fleet.until(1_200, |sim| deleting(sim) == 0);
    // The schedule's minute, a beat that is overdue, and what an instance takes to end.
    assert!(taken <= 160, "deleted after {deleted} s, and gone {taken} s later");
    fleet.pass(900);
    let cut_off = fleet.used_since(&before).invocations()[&Function::Drain].cut_off;
    assert_eq!(cut_off, 1, "the pass was not cut off");
}

#[test]
fn h5_a_class_that_cannot_be_resolved_stops_no_other() {
    let mut class = build::node_class("golden");
    class.image_terms = vec![ImageTerm::SsmParameter("/golden/ami".to_owned())];
    let mut golden = pool();
    golden.name = build::id("golden");
    golden.weight = 50;
    golden.template.node_class = build::id("golden");
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.sim.add_rule(Box::new(|call, _| {
        let is_its = call.operation == "Discovery.images" && call.subject.contains("/golden/ami");
        if is_its { Injection::FailBefore(Fault::Permanent) } else { Injection::Pass }
    }));
    fleet.sim.add(vec![ClusterObject::NodeClass(class), ClusterObject::NodePool(golden)]);
    fleet.pass(120);
    fleet.scale(3);
    let taken = fleet.until(600, has_initialized(3));
    assert!(taken <= 150, "{taken} s, {} initialized", initialized(&fleet.sim));
}

#[test]
fn h6_what_was_launched_late_is_not_withdrawn_by_an_early_stamp() {
    // EC2 lists what was launched only after a minute and a half, and messages come twice.
    let disorder = Disorder {
        duplicated_per_mille: 1_000,
        held_back_per_mille: 1_000,
        held_back_max: SignedDuration::from_secs(20),
    };
    let listing_lag = SignedDuration::from_secs(90);
    let mut fleet = fleet(WorldSettings { disorder, listing_lag, ..WorldSettings::default() }, 1);
    // For two minutes requests fail without effect; then one launches and its answer is lost; EC2
    // takes all others for another request under the same token.
    let from = fleet.sim.now().checked_add(SignedDuration::from_secs(150)).expect("a time");
    let mut is_launched = false;
    fleet.sim.add_rule(Box::new(move |call, _| {
        if call.operation != "Fleet.launch" {
            Injection::Pass
        } else if call.now < from {
            Injection::FailBefore(Fault::Transient)
        } else if is_launched {
            Injection::FailBefore(Fault::Conflict)
        } else {
            is_launched = true;
            Injection::CrashAfter
        }
    }));
    fleet.scale(3);
    let outcome = fleet.pass_anyhow(1_200);
    let running = fleet.sim.summary().nodes_by_type.values().sum::<u32>();
    assert_eq!((outcome, running), (Ok(()), 3), "{} claims", fleet.sim.claims().len());
}

#[test]
fn h7_an_empty_ledger_deletes_nothing_that_it_does_not_know() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(3, 3);
    fleet.sim.act(Action::LoseLedger);
    let outcome = fleet.pass_anyhow(1_800);
    let nodes = fleet.sim.nodes().len();
    let objects = fleet.sim.claims().len();
    let running = fleet.sim.summary().nodes_by_type.values().sum::<u32>();
    let story = format!("{outcome:?}: {nodes} nodes, {running} instances, {objects} claims");
    assert_eq!((nodes, running, objects), (3, 3, 3), "{story}");
    assert_eq!(outcome, Ok(()), "{story}");
}

#[test]
fn h9_our_own_terminations_wake_no_function() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(50, 50);
    // Until more pods are no longer expected.
    fleet.pass(600);
    let before = fleet.sim.meter();
    fleet.scale(0);
    let taken = fleet.until(3_600, |sim| sim.claims().is_empty());
    let used = fleet.used_since(&before);
    let looks = used.invocations()[&Function::Provision].invocations;
    let asked = used.messages().get(&Function::Interrupt).copied().unwrap_or_default();
    // A look in five seconds, the schedule's, and for each commit of `disrupt` one, or one that puts it off
    // because the last one was a moment ago, and that.
    let usual = u64::try_from(taken).unwrap() / 5 + u64::try_from(taken).unwrap() / 60 * 2 + 40;
    assert!(looks <= usual, "{looks} looks in {taken} s, for {asked} events; {usual} would do");
    let snapshots = used.requests_of(Function::Interrupt);
    let read = snapshots.get(&ApiAction::dynamodb("Query")).map_or(0, |count| count.answered);
    assert!(read <= asked * 2, "{read} queries for {asked} events about our own terminations");
}

#[test]
fn h3_one_eviction_that_fails_once_delays_no_other_node() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(10, 10);
    fleet.sim.add_rule(first_calls("Nodes.evict", 3, Injection::FailBefore(Fault::Transient)));
    fleet.interrupt(10, 1_000);
    fleet.pass(100);
    let left = fleet.sim.summary().pods_lost;
    assert_eq!((deleting(&fleet.sim), left), (0, 0), "a hundred seconds after the notices");
}

#[test]
fn h1_a_notice_that_goes_to_the_dead_letters_is_made_up_for_by_sweep() {
    let mut fleet = fleet(WorldSettings { receives_max: 2, ..WorldSettings::default() }, 1);
    fleet.grow(3, 3);
    fleet.pass(600);
    // For ten minutes the claim of an instance cannot be found.
    let until = fleet.sim.now().checked_add(SignedDuration::from_mins(10)).expect("a time");
    fleet.sim.add_rule(Box::new(move |call, _| {
        let is_asked = call.operation == "Ledger.claims_of_instances" && call.now < until;
        if is_asked { Injection::FailBefore(Fault::Transient) } else { Injection::Pass }
    }));
    fleet.interrupt(1, 1);
    let claim = fleet.sim.claims().into_iter().next().expect("a claim").name;
    let taken = fleet.until(600, |sim| sim.claims().iter().all(|known| known.name != claim));
    assert!(!fleet.sim.dead_letters().is_empty(), "the notice was handled");
    assert!(taken <= 420, "its claim was gone after {taken} s");
    let taken = fleet.until(600, has_initialized(3));
    assert!(taken <= 150, "its pod waited {taken} s for another node");
}
