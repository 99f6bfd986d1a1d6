//! Rollouts of an image: canaries, a halt, a freeze, and storms.

#[path = "rollouts/storms.rs"]
mod storms;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use model::{
    ConditionKind, ImageId, NodeClassName,
    event::EventReason,
    labels::{ROLLOUT_BAKE_TIME, ROLLOUT_CANARY, ROLLOUT_FREEZE},
    node_class::{ImageFamily, ImageTerm, NodeClass},
    node_pool::BudgetNodes,
    rollout::RolloutAnnotations,
};
use simulator::{Action, ClusterObject, Dispatch, Runner, Sim, WorldSettings};

use crate::{
    commands,
    lifecycle::world,
    world::{minute, runner, scale},
};

/// When another image is there.
const CHANGED: i64 = 25;

fn annotations(texts: &[(&str, &str)]) -> Option<RolloutAnnotations> {
    let texts = texts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    RolloutAnnotations::among(&texts.collect())
}

fn class(sim: &Sim) -> NodeClass {
    let seen = sim.block_on(ports::NodeClasses::observed_classes(sim));
    let seen = seen.expect("an answer").expect("a listing");
    seen.items.into_iter().map(|seen| seen.class).next().expect("a class")
}

/// The EC2NodeClass is what `change` makes of it now.
fn edit(sim: &Sim, change: impl FnOnce(&mut NodeClass)) {
    let mut class = class(sim);
    change(&mut class);
    sim.act(Action::Add(vec![ClusterObject::NodeClass(class)]));
}

/// The class selects another image from now on.
fn renew_image(sim: &Sim) {
    edit(sim, |class| {
        let version = "v20260101".to_owned();
        class.image_terms = vec![ImageTerm::Alias { family: ImageFamily::Al2023, version }];
    });
}

/// How many nodes have images that are not in `before`.
fn renewed(sim: &Sim, before: &BTreeSet<ImageId>) -> usize {
    let claims = sim.claims();
    let stay = claims.iter().filter(|claim| !claim.is_deleting());
    let images = stay.filter_map(|claim| claim.image());
    images.filter(|image| !before.contains(*image)).count()
}

fn halts(sim: &Sim) -> Vec<(Timestamp, String)> {
    let halts =
        sim.told().into_iter().filter(|(_, event)| event.reason == EventReason::RolloutHalted);
    halts.map(|(at, event)| (at, event.message)).collect()
}

/// A world of about 20 full nodes whose class has the annotations `texts`, ten minutes before [`CHANGED`].
fn grown(texts: &[(&str, &str)]) -> (Sim, Runner<impl Dispatch + use<>>) {
    let settings = WorldSettings { never_joins_per_mille: 0, ..WorldSettings::default() };
    let sim = world(settings, 80, BudgetNodes::Percent(10));
    edit(&sim, |class| class.rollout = annotations(texts));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(CHANGED - 10)).expect("nothing unsafe happens");
    assert!((20..30).contains(&sim.nodes().len()), "{}", sim.nodes().len());
    (sim, runner)
}

/// Plays from minute to minute until `is_over`, and says which minute that is; `see` sees each of them.
fn until(
    (sim, runner): (&Sim, &mut Runner<impl Dispatch>),
    most: i64,
    mut see: impl FnMut(&Sim),
    is_over: impl Fn(&Sim) -> bool,
) -> i64 {
    let now = || sim.now().duration_since(minute(0)).as_mins();
    while now() < most {
        runner.run_until(sim.now() + SignedDuration::from_mins(1)).expect("nothing unsafe happens");
        see(sim);
        if is_over(sim) {
            return now();
        }
    }
    panic!("it is not over after {most} minutes");
}

/// The condition of the class that says that its rollout is halted.
fn condition(sim: &Sim) -> Option<model::Condition> {
    let name: NodeClassName = "default".parse().expect("a name");
    let status = sim.class_status(&name)?;
    status.conditions.into_iter().find(|condition| condition.kind == ConditionKind::RolloutHalted)
}

#[test]
fn an_image_that_works_reaches_one_node_and_after_the_bake_time_all() {
    let (sim, mut runner) = grown(&[(ROLLOUT_CANARY, "5%"), (ROLLOUT_BAKE_TIME, "20m")]);
    let before = commands::images(&sim);
    runner.run_until(minute(CHANGED)).expect("nothing unsafe happens");
    renew_image(&sim);
    let first = until((&sim, &mut runner), 60, |_| (), |sim| renewed(sim, &before) == 1);
    // What is launched for pods starts from the accepted image.
    sim.act(scale("web", 100));
    let more = until((&sim, &mut runner), 120, |_| (), |sim| 1 < renewed(sim, &before));
    assert!((20..25).contains(&(more - first)), "{first} {more}");
    assert!(25 <= sim.nodes().len(), "{}", sim.nodes().len());
    let is_renewed = |sim: &Sim| commands::images(sim).is_disjoint(&before);
    until((&sim, &mut runner), 300, |_| (), is_renewed);
    assert_eq!(halts(&sim), Vec::new());
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

#[test]
fn an_image_on_which_pods_crash_reaches_one_node_and_is_halted_within_ten_minutes() {
    let (sim, mut runner) = grown(&[(ROLLOUT_CANARY, "5%")]);
    let before = commands::images(&sim);
    runner.run_until(minute(CHANGED)).expect("nothing unsafe happens");
    renew_image(&sim);
    let launched = until((&sim, &mut runner), 60, |_| (), |sim| renewed(sim, &before) == 1);
    for image in &commands::images(&sim) - &before {
        sim.act(Action::BreakImage(image));
    }
    let mut told = BTreeSet::new();
    let mut see = |sim: &Sim| {
        told.extend(halts(sim));
        assert!(renewed(sim, &before) <= 1, "canaries are 5% of 20 nodes");
    };
    let halted = until((&sim, &mut runner), 90, &mut see, |sim| !halts(sim).is_empty());
    assert!(halted - launched <= 10, "{launched} {halted}");
    // The way back, by itself: the canary is replaced by a node on the image before.
    until((&sim, &mut runner), halted + 60, &mut see, |sim| renewed(sim, &before) == 0);
    until((&sim, &mut runner), halted + 120, &mut see, |sim| minute(halted + 90) <= sim.now());
    assert_eq!(renewed(&sim, &before), 0);
    assert_eq!(told.len(), 1, "it is said once: {told:?}");
    let said = condition(&sim).expect("a condition");
    assert!(said.message.contains("on new nodes are not ready"), "{}", said.message);
    assert_eq!(sim.summary().pods_waiting, 0);
    // Another image ends the halt.
    edit(&sim, |class| {
        let version = "v20260201".to_owned();
        class.image_terms = vec![ImageTerm::Alias { family: ImageFamily::Al2023, version }];
    });
    let is_renewed = |sim: &Sim| commands::images(sim).is_disjoint(&before);
    until((&sim, &mut runner), halted + 400, |_| (), is_renewed);
    assert_eq!((condition(&sim), halts(&sim)), (None, Vec::new()));
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

#[test]
fn no_node_drifts_in_a_freeze() {
    // Virtual time begins at 8:00 in UTC, a Monday.
    let freeze = "TZ=Europe/Berlin 20 9 * * 1 90m";
    let (sim, mut runner) = grown(&[(ROLLOUT_FREEZE, freeze)]);
    let before = commands::images(&sim);
    runner.run_until(minute(CHANGED)).expect("nothing unsafe happens");
    renew_image(&sim);
    let see = |sim: &Sim| {
        let is_frozen = sim.now() < minute(110);
        assert!(!is_frozen || renewed(sim, &before) == 0, "{}", sim.now());
    };
    let is_renewed = |sim: &Sim| commands::images(sim).is_disjoint(&before);
    until((&sim, &mut runner), 300, see, is_renewed);
}
