//! Pools whose class is not ready, or not known to be, launch nothing.

use jiff::SignedDuration;
use model::{
    ConditionReason, Function, SubnetId,
    node_class::{NodeClass, SubnetTerm},
};
use ports::{Fault, Ledger as _, NodeClasses as _};
use simulator::{Action, ClusterObject, Happening, Injection, Sim, WorldSettings, first_calls};

use crate::world::{minute, runner, scale, sim};

fn class(sim: &Sim) -> NodeClass {
    let seen = sim.block_on(sim.observed_classes()).expect("an answer").expect("a listing");
    seen.items.into_iter().map(|seen| seen.class).next().expect("a class")
}

/// When claims were created, in seconds from the start.
fn created(sim: &Sim) -> Vec<i64> {
    let start = WorldSettings::default().start;
    let events = sim.timeline(0).into_iter();
    let created = events
        .filter(|event| matches!(event.happening, Happening::ClaimCreated { .. }))
        .map(|event| event.at.duration_since(start).as_secs());
    created.collect()
}

#[test]
fn a_new_class_is_used_once_it_was_looked_at_and_checked() {
    let sim = sim(WorldSettings { classes_are_known: false, ..WorldSettings::default() });
    let (mut runner, reports) = runner(&sim);
    let before = sim.now().checked_add(SignedDuration::from_secs(50)).expect("a time of this year");
    runner.run_until(before).expect("nothing unsafe happens");
    assert_eq!(created(&sim), Vec::<i64>::new());
    let said: Vec<String> = reports
        .take()
        .into_iter()
        .filter(|decided| decided.function == Function::Provision)
        .filter_map(|decided| decided.report.plan)
        .flat_map(|plan| plan.unplaced)
        .map(|unplaced| format!("{unplaced:?}"))
        .collect();
    // It was looked at in the first second, and waits for the answer to its dry run.
    let why = "EC2NodeClass default is not ready: condition ValidationSucceeded is not true: ";
    assert!(!said.is_empty() && said.iter().all(|reason| reason.contains(why)), "{said:?}");
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let first = created(&sim)[0];
    // The second look of `resolve` knows what the dry run came to.
    assert!((61..75).contains(&first), "after {first} s");
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

#[test]
fn a_class_that_ec2_refuses_launches_nothing_until_it_does_not() {
    let sim = sim(WorldSettings::default());
    sim.act(scale("web", 0));
    sim.act(scale("store", 0));
    let forbidden = Injection::FailBefore(Fault::Permanent);
    sim.add_rule(first_calls("Fleet.dry_run", 1, forbidden));
    sim.at(minute(5), scale("web", 4));
    let (mut runner, _reports) = runner(&sim);
    // It is checked by a dry run again half an hour later.
    runner.run_until(minute(30)).expect("nothing unsafe happens");
    assert_eq!(created(&sim), Vec::<i64>::new());
    runner.run_until(minute(45)).expect("nothing unsafe happens");
    assert!(!created(&sim).is_empty());
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

#[test]
fn a_class_that_changes_is_used_again_within_a_minute() {
    let sim = sim(WorldSettings::default());
    sim.act(scale("web", 0));
    sim.act(scale("store", 0));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let changed = NodeClass { detailed_monitoring: Some(true), ..class(&sim) };
    sim.act(Action::Add(vec![ClusterObject::NodeClass(changed)]));
    sim.act(scale("web", 4));
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    let first = created(&sim)[0];
    let looked_at = SignedDuration::from_mins(11).as_secs();
    assert!((600..looked_at + 15).contains(&first), "after {first} s");
}

#[test]
fn a_class_that_selects_nothing_any_more_launches_nothing_and_keeps_its_nodes() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let nodes = sim.nodes().len();
    assert!(nodes > 0);
    for image in sim.class_status(&testkit::build::id("default")).expect("it was told").images {
        sim.act(Action::DeregisterImage(image.id));
    }
    runner.run_until(minute(12)).expect("nothing unsafe happens");
    let before = created(&sim).len();
    sim.act(scale("web", 24));
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    assert_eq!((created(&sim).len(), sim.nodes().len()), (before, nodes));
    assert!(sim.summary().pods_waiting > 0);
}

/// The class selects other subnets from now on, and until faults stop its status cannot be written.
fn select_other_subnets(sim: &Sim) {
    let busy = Injection::FailBefore(Fault::Transient);
    sim.add_rule(first_calls("NodeClasses.update_class_status", u32::MAX, busy));
    let tags = [("karpenter.sh/discovery".to_owned(), "other".to_owned())];
    let subnet_terms = vec![SubnetTerm::Tags(tags.into())];
    let changed = NodeClass { subnet_terms, ..class(sim) };
    sim.act(Action::Add(vec![ClusterObject::NodeClass(changed)]));
}

/// The usual world, still without pods.
fn without_pods() -> Sim {
    let sim = sim(WorldSettings::default());
    sim.act(scale("web", 0));
    sim.act(scale("store", 0));
    sim
}

fn subnets(sim: &Sim) -> Vec<SubnetId> {
    let status = sim.class_status(&testkit::build::id("default")).expect("it was told");
    status.subnets.into_iter().map(|subnet| subnet.id).collect()
}

fn launched(sim: &Sim) -> u32 {
    sim.summary().launched.values().sum()
}

#[test]
fn nothing_is_launched_from_a_new_generation_before_its_status_is_written() {
    let sim = without_pods();
    let (mut runner, reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    reports.take();
    let former = subnets(&sim);
    select_other_subnets(&sim);
    sim.act(scale("web", 4));
    runner.run_until(minute(13)).expect("nothing unsafe happens");
    assert_eq!((created(&sim), subnets(&sim)), (Vec::new(), former.clone()));
    let plans = reports.take().into_iter().filter_map(|decided| decided.report.plan);
    let unplaced: Vec<String> =
        plans.flat_map(|plan| plan.unplaced).map(|unplaced| format!("{unplaced:?}")).collect();
    let why = "EC2NodeClass default is not ready: its newest generation was not looked at yet";
    let is_said = unplaced.iter().all(|said| said.contains(why));
    assert!(!unplaced.is_empty() && is_said, "{unplaced:?}");
    sim.stop_faults();
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    assert!(subnets(&sim).iter().all(|id| !former.contains(id)), "{former:?}");
    assert!((780..900).contains(&created(&sim)[0]), "{:?}", created(&sim));
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

#[test]
fn claims_created_before_a_class_changed_wait_for_its_status_or_are_removed() {
    for is_in_time in [true, false] {
        let sim = without_pods();
        let (mut runner, _reports) = runner(&sim);
        runner.run_until(minute(10)).expect("nothing unsafe happens");
        let busy = Injection::FailBefore(Fault::Transient);
        sim.add_rule(first_calls("Templates.ensure", u32::MAX, busy));
        sim.act(scale("web", 4));
        let seconds = |seconds| {
            minute(10).checked_add(SignedDuration::from_secs(seconds)).expect("a time of this year")
        };
        runner.run_until(seconds(20)).expect("nothing unsafe happens");
        let before = created(&sim).len();
        assert!(before > 0 && launched(&sim) == 0, "{:?}", created(&sim));
        sim.stop_faults();
        select_other_subnets(&sim);
        runner.run_until(minute(12)).expect("nothing unsafe happens");
        assert_eq!((created(&sim).len(), launched(&sim)), (before, 0));
        if is_in_time {
            sim.stop_faults();
        } else {
            // All of them were created less than five minutes ago.
            runner.run_until(minute(15)).expect("nothing unsafe happens");
            assert_eq!(sim.claims().len(), before);
        }
        runner.run_until(minute(18)).expect("nothing unsafe happens");
        if is_in_time {
            assert!(created(&sim).len() == before && launched(&sim) > 0);
        } else {
            assert_eq!((sim.claims(), launched(&sim)), (Vec::new(), 0));
            // What is remembered of them has the reason that their condition `Launched` had.
            let cluster = WorldSettings::default().cluster;
            let known = sim
                .block_on(sim.registrations(&cluster))
                .expect("an answer")
                .expect("it works")
                .into_values()
                .next()
                .expect("a record");
            let failure = known.failures().last().expect("one of them");
            assert_eq!(failure.reason, ConditionReason::NodeClassNotReady);
            assert!(!failure.message.contains("NodeClassNotReady"), "{failure:?}");
            sim.stop_faults();
        }
        runner.run_until(minute(30)).expect("nothing unsafe happens");
        assert!(launched(&sim) > 0);
        assert_eq!(sim.check_liveness(), Vec::<String>::new());
    }
}
