//! Properties of every plan for pods that claim devices: the judge, which looks for devices by itself, finds some for
//! all of them.

use std::{fmt::Write as _, sync::Arc};

use model::{Plan, dynamic_resources::DeviceFacts, facts::Facts, policies::Packing};
use plan_check::{undecided, violations};
use planner::{PreparedFacts, provision};
use proptest::{collection::vec, prelude::*, sample::select};
use testkit::build::{devices, with};

use super::worlds::{self, Sketch, world, worlds};

const CLASSES: &str = "class any
    class a where device.attributes['gpu.example.com'].model == 'a'
    class big where device.capacity['gpu.example.com'].memory.compareTo(quantity('16Gi')) >= 0
    initialized general-6-0 byo\n";
const CLAIMS: usize = 9;

/// Devices, and the claims that pods name, one after the other.
#[derive(Clone, Debug)]
struct Claims {
    text: String,
    of_pods: Vec<Vec<usize>>,
}

fn words(list: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    select(list)
}

/// Some devices without their names.
fn device() -> impl Strategy<Value = String> {
    let model = words(&["", " model=a", " model=a", " model=b"]);
    let root = words(&["", " root=#0", " root=#1"]);
    let memory = words(&[" memory:8Gi", " memory:16Gi", " memory:16Gi/default=4Gi"]);
    let memory = prop_oneof![2 => memory, 1 => words(&[" memory:24Gi/min=2Gi/step=2Gi/max=16Gi"])];
    let shared = words(&["", "", " shared"]);
    let counters = words(&["", "", "", " -c.u=1", " -c.u=500m"]);
    (model, root, memory, shared, counters).prop_map(|(model, root, memory, shared, counters)| {
        [model, root, memory, shared, counters].concat()
    })
}

fn listed(prefix: &str, each: &[(String, u32)]) -> String {
    let each = each
        .iter()
        .enumerate()
        .map(|(at, (device, count))| format!("{prefix}{at}-[0-{count}]{device}"));
    each.collect::<Vec<_>>().join("; ")
}

/// Instance types of pools with devices, and sometimes attributes that these have in common.
fn templates() -> impl Strategy<Value = String> {
    let pool = words(&["general", "general", "soft", "teams"]);
    let kind = words(&["m7g.large", "m7g.xlarge", "m7i.2xlarge", "m7i.large"]);
    let each = vec((device(), 0_u32..4), 1..3);
    let template = (pool, kind, words(&["c.u=1", "c.u=2"]), each);
    (vec(template, 1..6), any::<bool>()).prop_map(|(templates, is_bound)| {
        let mut text = String::new();
        for (at, (pool, kind, budget, each)) in templates.iter().enumerate() {
            let named = listed("d", each);
            writeln!(text, "template {pool} {kind} gpu.example.com/t{at} {budget}: {named}")
                .unwrap();
            if is_bound {
                let gpu = |number: usize| format!("gpu.example.com/t{at}/d0-{number}");
                let both = format!("{} {}", gpu(0), gpu(1));
                writeln!(text, "bind {pool} {kind} gpu.example.com/root {both}").unwrap();
            }
        }
        text
    })
}

/// Slices that drivers have published, each a pool; what they consume is declared, or some of it is not.
fn slices() -> impl Strategy<Value = String> {
    let access = words(&[
        "all",
        "zone=us-west-2a",
        "zone=us-west-2b,us-west-2c",
        "type=m7g.large,m7g.xlarge",
        "node=byo owner=byo",
        "node=general-6-0 owner=general-6-0",
        "node=gone owner=gone",
        "name=byo,general-6-0",
    ]);
    let each = vec((device(), 0_u32..2), 1..3);
    let slice = (access, words(&["1", "2", ""]), each);
    vec(slice, 0..4).prop_map(|slices| {
        let mut text = String::new();
        for (at, (access, budget, each)) in slices.iter().enumerate() {
            let (of, named) = (if budget.is_empty() { 1 } else { 2 }, listed("d", each));
            writeln!(text, "slice s{at} gpu.example.com/p{at} {access} of={of}: {named}").unwrap();
            if !budget.is_empty() {
                writeln!(text, "counters c{at} gpu.example.com/p{at} of=2: c.u={budget}").unwrap();
            }
        }
        text
    })
}

fn ask() -> impl Strategy<Value = String> {
    let count = words(&["1", "1", "1", "2", "all"]);
    let class = words(&["any", "any", "any", "any", "a", "a", "big", "missing"]);
    let share = words(&["", "", " with memory=4Gi", " with memory=9Gi"]);
    let selector = words(&["", "", " where device.attributes['gpu.example.com'].root == 1"]);
    (count, class, share, selector)
        .prop_map(|(count, class, share, selector)| format!("{count} {class}{share}{selector}"))
}

fn claim() -> impl Strategy<Value = String> {
    let request = (ask(), proptest::option::weighted(0.3, ask()));
    let constraint =
        words(&["", "", "; same gpu.example.com/root", "; same gpu.example.com/model"]);
    let allocated = words(&[
        "",
        "",
        "",
        "",
        " has gpu.example.com/p0/d0-0 for uid-bound-0",
        " has gpu.example.com/p0/d0-0@memory=4Gi for uid-bound-1",
        " has gpu.example.com/p1/d0-0 on zone=us-west-2a for other",
        " has gpu.example.com/p1/d0-1 on name=byo",
    ]);
    (allocated, vec(request, 1..3), constraint).prop_map(|(allocated, requests, constraint)| {
        let each = requests.iter().enumerate().map(|(at, (ask, other))| match other {
            Some(other) => format!("r{at} {ask} or {other}"),
            None => format!("r{at} {ask}"),
        });
        format!("{allocated}: {}{constraint}", each.collect::<Vec<_>>().join("; "))
    })
}

fn claims() -> impl Strategy<Value = Claims> {
    let of_pods = vec(vec(0..CLAIMS, 0..3), 1..12);
    (templates(), slices(), vec(claim(), CLAIMS), of_pods).prop_map(
        |(templates, slices, claims, of_pods)| {
            let mut text = format!("{CLASSES}{templates}{slices}");
            for (at, claim) in claims.iter().enumerate() {
                writeln!(text, "claim c{at}{claim}").unwrap();
            }
            Claims { text, of_pods }
        },
    )
}

/// A world whose pods claim devices.
fn claiming(sketch: &Sketch, claims: &Claims) -> Facts {
    let mut facts = world(sketch);
    for (pod, names) in facts.pods.iter_mut().zip(claims.of_pods.iter().cycle()) {
        let words: Vec<String> = names.iter().map(|name| format!("claim:c{name}")).collect();
        *pod = with(pod.clone(), &words.join(" "));
    }
    facts.devices = Some(Arc::new(devices(&claims.text)));
    facts
}

#[track_caller]
fn check(facts: &Facts, plan: &Plan, claims: &Claims) {
    let texts: Vec<String> = violations(facts, plan).iter().map(ToString::to_string).collect();
    let (text, shown) = (&claims.text, worlds::shown(facts, plan));
    assert!(texts.is_empty(), "{}\n{text}{:?}\n{shown}", texts.join("\n"), claims.of_pods);
    assert_eq!(undecided(facts, plan), 0, "{text}{:?}\n{shown}", claims.of_pods);
}

/// Whether the plan places a pod with a claim that has no devices yet.
fn places_open_claims(facts: &Facts, plan: &Plan) -> bool {
    let known = facts.devices.as_ref().unwrap();
    let created = plan.new_claims.iter().flat_map(|new| &new.claim.pods);
    let mut placed = created.chain(plan.placements.iter().flat_map(|placement| &placement.pods));
    placed.any(|key| {
        let pod = facts.pods.iter().find(|pod| pod.key == *key);
        let references = pod.iter().flat_map(|pod| &pod.spec.claims.references);
        let mut names = references.filter_map(|(_, name)| name.as_ref());
        names.any(|name| {
            let mut open = known.claims.iter().filter(|claim| claim.allocation.is_none());
            open.any(|claim| claim.key.name == *name)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_judge_finds_devices_for_every_plan(
        sketch in worlds(), claims in claims(), is_cheapest: bool, tries in 0_usize..12,
    ) {
        let mut facts = claiming(&sketch, &claims);
        facts.policies.packing = if is_cheapest { Packing::Cheapest } else { Packing::Karpenter };
        let plan = provision(&facts);
        check(&facts, &plan, &claims);
        check(&facts, &PreparedFacts::of(&facts).plan_within(tries), &claims);
        let after = super::commit(&facts, &plan);
        check(&after, &provision(&after), &claims);
    }

    #[test]
    fn the_order_in_which_devices_are_listed_changes_nothing(
        sketch in worlds(), claims in claims(),
    ) {
        let facts = claiming(&sketch, &claims);
        let mut other = facts.clone();
        other.pods.reverse();
        let devices = Arc::make_mut(other.devices.as_mut().unwrap());
        devices.slices.reverse();
        devices.classes.reverse();
        devices.claims.reverse();
        let plan = provision(&facts);
        prop_assert_eq!(&plan, &provision(&facts));
        prop_assert_eq!(&plan, &provision(&other));
        prop_assert_eq!(violations(&other, &plan), Vec::new());
    }

    /// Without devices, and with devices that are all taken, the same plan is wrong.
    #[test]
    fn the_judge_misses_devices_that_are_not_there(sketch in worlds(), claims in claims()) {
        let facts = claiming(&sketch, &claims);
        let plan = provision(&facts);
        if !places_open_claims(&facts, &plan) {
            return Ok(());
        }
        let known = DeviceFacts::clone(facts.devices.as_ref().unwrap());
        let gone = DeviceFacts { slices: Vec::new(), templates: [].into(), ..known.clone() };
        let unnamed = DeviceFacts { classes: Vec::new(), ..known };
        for devices in [gone, unnamed] {
            let mut other = facts.clone();
            other.devices = Some(Arc::new(devices));
            prop_assert_ne!(violations(&other, &plan), Vec::new());
        }
    }
}
