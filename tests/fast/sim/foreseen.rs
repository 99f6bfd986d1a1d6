//! What `plan` and `plan --disruption` say on what a function looked at is what the function commits then; so is what
//! they say on a dump of it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

use jiff::Timestamp;
use journeyman::{
    manifests::InputFile,
    plan::{self, PlanArgs},
    records,
    simulate::dumps,
};
use model::{
    NodeClaim, NodeClaimName, Plan,
    disruption::Command,
    facts::Facts,
    labels,
    ledger::Snapshot,
    recorded::{Question, RecordedFacts},
};
use planner::{NextSearch, disruption::Options, foreseen};
use simulator::Sim;

use crate::{
    differences::{committed, creation_differs, disruption_differs},
    recorded::parameters,
    settings::settings,
    storm::{self, play_seeds},
    world::{self, MANIFESTS, minute, runner_with},
};

/// Worlds of a plain `cargo test`; CI plays more.
const SEEDS_DEFAULT: u64 = 2;

/// How many steps were foreseen, by kind.
#[derive(Default)]
struct Seen {
    looks: AtomicUsize,
    disrupted: AtomicUsize,
    created: AtomicUsize,
    validated: AtomicUsize,
}

/// What AWS says, and neither an object of the cluster nor the file of the ledger: `facts` with that of `seen`.
fn with_the_rest(facts: Facts, seen: &Facts) -> Facts {
    let Snapshot { claims, commands, .. } = facts.ledger;
    let ledger = Snapshot { claims, commands, ..seen.ledger.clone() };
    Facts {
        cluster: seen.cluster.clone(),
        now: seen.now,
        ledger,
        classes: seen.classes.clone(),
        class_hashes: seen.class_hashes.clone(),
        class_images: seen.class_images.clone(),
        class_candidates: seen.class_candidates.clone(),
        node_charges: seen.node_charges.clone(),
        deleted_claims: seen.deleted_claims.clone(),
        ending_reservations: seen.ending_reservations.clone(),
        policies: seen.policies,
        ..facts
    }
}

/// `facts` as a dump of the cluster and a file of the ledger show them, at the same time.
fn dumped(facts: &Facts, seed: u64) -> Facts {
    let pool = facts.node_pools.first().expect("a pool");
    let is_narrow =
        pool.template.requirements.get(labels::ARCH).is_some_and(|arch| !arch.has("arm64"));
    let text = if is_narrow { world::narrowed() } else { MANIFESTS.to_owned() };
    let files = [InputFile::named("world.yaml", &text)];
    let dump = dumps::of_facts(facts, &files).expect("a dump");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("previews");
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let path = folder.join(format!("{seed}.json"));
    std::fs::write(&path, dump.to_string()).expect("a file for the test");
    let ledger = folder.join(format!("{seed}.ledger"));
    records::write(&ledger, (facts.now, &facts.ledger), &[], &records::PackedFacts::default())
        .expect("the ledger is written");
    let args = PlanArgs {
        manifests: vec![path],
        ledger: Some(ledger),
        now: Some(facts.now.to_string()),
        ..PlanArgs::default()
    };
    with_the_rest(plan::read_facts(&args).expect("the dump is sound"), facts)
}

/// What previews are asked about: what a function saw, and a dump of it.
fn by(facts: &Facts, seed: u64) -> [(&'static str, Facts); 2] {
    [("facts", facts.clone()), ("dump", dumped(facts, seed))]
}

/// What of the objects reads otherwise in a dump.
fn unlike(seen: &Facts, dumped: &Facts) -> String {
    let lines = |facts: &Facts| {
        let objects = format!(
            "{:#?}\n{:#?}\n{:#?}\n{:#?}",
            facts.node_pools, facts.ledger.claims, facts.nodes, facts.pods
        );
        objects.lines().map(ToOwned::to_owned).collect::<Vec<String>>()
    };
    let (seen, dumped) = (lines(seen), lines(dumped));
    let missing = |these: &[String], those: &[String]| {
        let those: std::collections::BTreeSet<&String> = those.iter().collect();
        let lines = these.iter().filter(|line| !those.contains(line));
        lines.take(12).map(|line| line.trim().to_owned()).collect::<Vec<String>>()
    };
    format!("seen {:?}, dumped {:?}", missing(&seen, &dumped), missing(&dumped, &seen))
}

/// The versions of the claims in the ledger that a function looked at.
fn versions(recorded: &RecordedFacts) -> BTreeMap<NodeClaimName, u64> {
    let claims = recorded.facts.ledger.claims.values();
    claims.map(|claim| (claim.name.clone(), claim.version)).collect()
}

/// The facts of `validated`, if nothing changed since `found` but by its own commit.
fn unchanged(found: &RecordedFacts, validated: &RecordedFacts) -> Facts {
    let (before, ledger) = (&found.facts.ledger, validated.facts.ledger.clone());
    let mut claims = before.claims.clone();
    claims.extend(found.plan.changes.iter().map(|claim| (claim.name.clone(), claim.clone())));
    let before = before.clone();
    let Snapshot { head, commands, .. } = ledger;
    let ledger = Snapshot { head, commands, claims, ..before };
    Facts { now: validated.facts.now, ledger, ..found.facts.clone() }
}

/// The commands that were void when they were looked at again, though nothing had changed.
fn void_for_nothing(facts: &[&RecordedFacts], seen: &Seen) -> Result<(), String> {
    for (place, validated) in facts.iter().enumerate() {
        let RecordedFacts { facts: at, plan, .. } = validated;
        let found_by = |id| {
            let earlier = facts.iter().take(place).rev();
            earlier.copied().find(|recorded| recorded.plan.started.contains_key(id))
        };
        for (id, command) in at.ledger.commands.iter().filter(|(_, command)| command.is_found()) {
            let is_begun = plan.started.contains_key(id) || plan.changes.iter().any(is_deleted);
            let is_over = is_begun || plan.ended.contains(id);
            let Some(found) = found_by(id).filter(|_| is_over) else { continue };
            if !unchanged(found, validated).differ_in_time_alone(at) {
                continue;
            }
            seen.validated.fetch_add(1, Ordering::Relaxed);
            if !is_begun && !is_late(at, command, at.now) {
                let (from, decisions) = (found.facts.now, &plan.decisions);
                return Err(format!("{}: {command:?} of {from} is void: {decisions:?}", at.now));
            }
        }
    }
    Ok(())
}

/// Whether nothing but time makes `command` void: on the same facts it is found at the time of its look, and not at the
/// time `at`, when nodes have settled that take its pods.
fn is_late(facts: &Facts, command: &Command, at: Timestamp) -> bool {
    let is_found_at = |now: Timestamp| {
        let mut facts = Facts { now, ..facts.clone() };
        facts.ledger.commands.retain(|_, other| other != command);
        let steps = foreseen::next_disruption(&facts, &Options::deployed()).steps;
        steps.iter().any(|step| {
            step.claims == command.candidates
                && step.replacements.len() == command.replacements.len()
        })
    };
    is_found_at(command.found_at) && !is_found_at(at)
}

fn is_deleted(claim: &NodeClaim) -> bool {
    claim.is_deleting()
}

/// Compares every look that was recorded in `sim`.
fn compare(sim: &Sim, seed: u64, seen: &Seen) -> Result<(), String> {
    let facts = sim.recorded_facts();
    let mut looks: BTreeMap<Timestamp, Vec<&RecordedFacts>> = BTreeMap::new();
    for recorded in facts.values() {
        match recorded.question {
            Question::Disrupt { .. } => {
                looks.entry(recorded.facts.now).or_default().push(recorded);
            }
            Question::Provision => {
                let plan = &recorded.plan;
                for (how, facts) in by(&recorded.facts, seed) {
                    if let Some(why) = creation_differs(&facts, plan) {
                        let unlike = unlike(&recorded.facts, &facts);
                        return Err(format!(
                            "{}: provision, by its {how}: {why}\n{unlike}",
                            facts.now
                        ));
                    }
                }
                seen.created.fetch_add(plan.new_claims.len(), Ordering::Relaxed);
            }
            Question::CarryOn | Question::Interrupt(_) => {}
        }
    }
    for looks in looks.values_mut() {
        looks.sort_by_key(|recorded| recorded.plan.parent);
    }
    let in_order: Vec<&RecordedFacts> = looks.values().flatten().copied().collect();
    void_for_nothing(&in_order, seen)?;
    for (now, looks) in looks {
        let Some(first) = looks.first() else { continue };
        if first.question != NextSearch::default().question() {
            return Err(format!("{now}: a search goes on: play smaller worlds"));
        }
        // Another function wrote to the ledger in between: what follows is another look.
        let (mut counters, mut claims) = (first.plan.parent, versions(first));
        let same = looks.iter().take_while(|recorded| {
            let is_next = recorded.plan.parent == counters && versions(recorded) == claims;
            let Plan { new_claims, changes, started, .. } = &recorded.plan;
            counters = counters.after(!new_claims.is_empty(), changes, started);
            let written = new_claims.iter().map(|new| &new.claim).chain(changes);
            claims.extend(written.map(|claim| (claim.name.clone(), claim.version)));
            is_next
        });
        let plans: Vec<&Plan> = same.map(|recorded| &recorded.plan).collect();
        for (how, facts) in by(&first.facts, seed) {
            if let Some(why) = disruption_differs(&facts, &plans) {
                let unlike = unlike(&first.facts, &facts);
                return Err(format!("{now}: disrupt, by its {how}: {why}\n{unlike}"));
            }
        }
        seen.looks.fetch_add(1, Ordering::Relaxed);
        let steps = plans.iter().flat_map(|plan| committed(plan)).count();
        seen.disrupted.fetch_add(steps, Ordering::Relaxed);
    }
    Ok(())
}

#[test]
fn what_plan_says_of_random_worlds_is_what_functions_do() {
    let seen = Seen::default();
    play_seeds(SEEDS_DEFAULT, |seed| {
        let sim = storm::stormy(storm::settings(seed));
        let mut runner = runner_with(&sim, settings(&parameters(seed))).0;
        world::drift(&sim, minute(20));
        runner.run_until(minute(40)).expect("nothing unsafe happens");
        compare(&sim, seed, &seen)
    });
    let [looks, disrupted, created, validated] =
        [seen.looks, seen.disrupted, seen.created, seen.validated].map(AtomicUsize::into_inner);
    println!("{looks} looks, {disrupted} steps of disruption and {created} claims foreseen");
    println!("{validated} commands were looked at again on the same facts");
    assert!(0 < looks.min(disrupted).min(created).min(validated));
}
