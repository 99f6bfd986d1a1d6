//! Decisions are made again from the facts that were recorded with them.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use model::{
    Function,
    ledger::Decision,
    recorded::{Question, RecordedFacts},
};
use ports::Fault;
use simulator::{Injection, Sim, WorldSettings, first_calls};

use crate::{
    explained::{Explained, Left},
    settings::settings,
    storm::{self, play_seeds},
    world::{self, minute, runner_with, scale},
};

/// Number of worlds to play, unless the environment says otherwise.
const SEEDS_DEFAULT: u64 = 5;
/// Minimum number of decisions of each, in the mean.
const DECISIONS: usize = 20;

/// How the functions of the world of `seed` decide.
pub(crate) fn parameters(seed: u64) -> Vec<(&'static str, &'static str)> {
    let more: &[(&str, &str)] = match seed % 4 {
        0 => &[("Consolidation", "thorough")],
        1 => &[("Packing", "cheapest"), ("PreferencePolicy", "Ignore")],
        2 => &[("WorkloadRest", "2m"), ("MovesPerHour", "40"), ("ReplacementSaving", "0.05")],
        _ => {
            &[("FeatureGates", "StaticCapacity=true,SpotToSpotConsolidation=true,NodeRepair=true")]
        }
    };
    [&[("Record", "facts"), ("RebalanceRecommendations", "replace-first")], more].concat()
}

fn played(sim: &Sim, parameters: &[(&str, &str)], minutes: i64) {
    let (mut runner, _reports) = runner_with(sim, settings(parameters));
    runner.run_until(minute(minutes)).expect("nothing unsafe happens");
}

fn number(decision: &Decision) -> Option<u64> {
    decision.origin.as_ref()?.recorded
}

/// Whether the function looks at facts to decide.
fn decides(function: Function) -> bool {
    matches!(function, Function::Provision | Function::Disrupt | Function::Interrupt)
}

/// What is wrong with what is recorded in `sim`, if anything; otherwise how many decisions are made again.
fn made_again(sim: &Sim) -> Result<usize, String> {
    let (facts, mut count) = (sim.recorded_facts(), 0);
    for (number, recorded) in &facts {
        let read = wire::recorded::decode(&wire::recorded::encode(
            &recorded.question,
            &recorded.facts,
            &recorded.plan,
        ))
        .map_err(|error| format!("{number:016x}: {error}"))?;
        if read != **recorded {
            return Err(format!("{number:016x} is not read as it was"));
        }
        let RecordedFacts { question, facts, plan } = read;
        let again = planner::answer(&facts, &question, &planner::Memory::default()).plan;
        if again != plan {
            return Err(format!("{question:?}: {plan:#?} became {again:#?}"));
        }
    }
    for decision in sim.decisions().iter().filter(|decision| decides(decision.function)) {
        let number = number(decision).ok_or_else(|| format!("{}: no facts", decision.id()))?;
        // A write that failed failed nothing else.
        let Some(recorded) = facts.get(&number) else { continue };
        let is_same = |known: &Decision| known.content() == decision.content();
        // A decision that stands names pods of later looks; a commit in parts tells its part.
        let is_like =
            |known: &Decision| known.kind == decision.kind && known.summary == decision.summary;
        let known = &recorded.plan.decisions;
        if !known.iter().any(is_same) && !known.iter().any(is_like) {
            return Err(format!("{}: it is not among those of its plan", decision.id()));
        }
        count += 1;
    }
    Ok(count)
}

const fn kind(question: &Question) -> &'static str {
    match question {
        Question::Provision => "provision",
        Question::Disrupt { .. } => "disrupt",
        Question::CarryOn => "carry on",
        Question::Interrupt(_) => "interrupt",
    }
}

#[test]
fn decisions_of_storms_are_made_again_to_the_same_plan_and_explained_when_all_is_gone() {
    let [worlds, count] = [const { AtomicUsize::new(0) }; 2];
    let kinds = Mutex::new(BTreeSet::new());
    let asked = Mutex::new(Explained::default());
    play_seeds(SEEDS_DEFAULT, |seed| {
        worlds.fetch_add(1, Ordering::Relaxed);
        let sim = storm::stormy(storm::settings(seed));
        let mut runner = runner_with(&sim, settings(&parameters(seed))).0;
        world::drift(&sim, minute(20));
        runner.run_until(minute(40)).expect("nothing unsafe happens");
        count.fetch_add(made_again(&sim)?, Ordering::Relaxed);
        sim.stop_faults();
        for name in ["web", "store"] {
            sim.act(scale(name, 0));
        }
        runner.run_until(minute(55)).expect("nothing unsafe happens");
        let ledger = Left::by(&sim, &seed.to_string());
        asked.lock().expect("no thread panics").add(ledger.explained()?);
        ledger.complete()?;
        ledger.without_facts()?;
        let facts = sim.recorded_facts();
        let asked = facts.values().map(|recorded| kind(&recorded.question));
        kinds.lock().expect("no thread panics").extend(asked);
        Ok(())
    });
    let (count, kinds) = (count.into_inner(), kinds.into_inner().expect("no thread panics"));
    let least = worlds.into_inner() * DECISIONS;
    println!("{count} decisions made again: {kinds:?}");
    assert!(least <= count, "{count} decisions");
    assert_eq!(kinds, BTreeSet::from(["carry on", "disrupt", "interrupt", "provision"]));
    let asked = asked.into_inner().expect("no thread panics");
    println!("{asked:?}");
    asked.check(least);
}

#[test]
fn facts_are_kept_only_if_they_are_asked_for_and_nothing_waits_for_them() {
    let story = |parameters: &[(&str, &str)], fails: bool| {
        let sim = world::sim(WorldSettings::default());
        if fails {
            sim.add_rule(first_calls(
                "Ledger.put_facts",
                u32::MAX,
                Injection::FailBefore(Fault::Permanent),
            ));
        }
        sim.at(minute(10), scale("web", 3));
        played(&sim, parameters, 20);
        let facts = sim.recorded_facts().len();
        let said = sim.decisions().iter().filter(|decision| number(decision).is_some()).count();
        (facts, said, sim.decisions().len(), sim.claims().len())
    };
    let (facts, said, decisions, claims) = story(&[], false);
    assert_eq!((facts, said), (0, 0));
    let (facts, said, others, same) = story(&[("Record", "facts")], false);
    assert!(0 < facts && 0 < said, "{facts} of {said} decisions");
    assert_eq!((others, same), (decisions, claims));
    let (facts, _, others, same) = story(&[("Record", "facts")], true);
    assert_eq!((facts, same), (0, claims));
    // A call that fails takes no time: looks come at other seconds, and note once more or less why nodes stay.
    assert!(others.abs_diff(decisions) <= 2, "{others} decisions where {decisions} are made");
}
