//! Small worlds, line by line, so that what is left of a failure is short.

use std::fmt::Write as _;

use proptest::{collection::vec, option, prelude::*, sample::select};

/// Facts and steps in the language of these tests.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    pub(crate) world: String,
    pub(crate) steps: String,
}

const CLASSES: &str = "class any\nclass t4 where model=t4\nclass big where memory>=8\n";

fn words(list: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    select(list)
}

/// A device without its name.
fn device() -> impl Strategy<Value = String> {
    let model = words(&["", " model=t4", " model=l4"]);
    let numa = words(&["", " numa=#0", " numa=#1"]);
    let memory = words(&["", " memory:8", " memory:16", " memory:16/default=4"]);
    let shared = words(&["", "", " shared"]);
    let counters = words(&["", "", " -c.u=1", " -c.u=2", " -c.u=500m"]);
    (model, numa, memory, shared, counters).prop_map(|(model, numa, memory, shared, counters)| {
        [model, numa, memory, shared, counters].concat()
    })
}

fn named(prefix: &str, devices: &[String]) -> String {
    let each = devices.iter().enumerate().map(|(at, device)| format!("{prefix}{at}{device}"));
    each.collect::<Vec<_>>().join("; ")
}

/// Slices of the pools that have any, with counters for one of them, and sometimes one slice missing.
fn slices() -> impl Strategy<Value = String> {
    let pool = words(&["gpu/p", "gpu/p", "net/q"]);
    let access = words(&[
        "all",
        "all",
        "zone=a",
        "zone=b",
        "zone=a,b",
        "node=node-a owner=node-a",
        "name=node-a,node-b",
    ]);
    let slice = (pool, access, vec(device(), 1..3));
    (vec(slice, 0..4), words(&["", "1", "2", "3"]), 0..12_usize).prop_map(
        |(slices, budget, less)| {
            let count = |pool: &str| {
                let of_pool = slices.iter().filter(|slice| slice.0 == pool).count();
                of_pool
                    + usize::from(pool == "gpu/p" && !budget.is_empty())
                    + usize::from(less == 0)
            };
            let mut text = String::new();
            if !budget.is_empty() {
                let of = count("gpu/p");
                writeln!(text, "counters c gpu/p of={of}: c.u={budget}").unwrap();
            }
            for (at, (pool, access, devices)) in slices.iter().enumerate() {
                let (of, devices) = (count(pool), named(&format!("d{at}"), devices));
                writeln!(text, "slice s{at} {pool} {access} of={of}: {devices}").unwrap();
            }
            text
        },
    )
}

fn templates() -> impl Strategy<Value = String> {
    let template = (words(&["m.x", "m.y"]), words(&["", " c.u=1", " c.u=2"]), vec(device(), 1..4));
    (vec(template, 0..3), any::<bool>()).prop_map(|(templates, is_bound)| {
        let mut text = String::new();
        for (at, (name, budget, devices)) in templates.iter().enumerate() {
            let named = named("d", devices);
            writeln!(text, "template p {name} gpu/t{at}{budget}: {named}").unwrap();
            if is_bound && 1 < devices.len() {
                writeln!(text, "bind p {name} numa gpu/t{at}/d0 gpu/t{at}/d1").unwrap();
            }
        }
        text
    })
}

fn ask() -> impl Strategy<Value = String> {
    let count = words(&["1", "1", "2", "all"]);
    let class = words(&["any", "any", "t4", "big"]);
    let share = words(&["", "", " with memory=4", " with memory=12"]);
    let selector = words(&["", "", " where has numa", " where numa=1"]);
    (count, class, share, selector)
        .prop_map(|(count, class, share, selector)| format!("{count} {class}{share}{selector}"))
}

fn claim() -> impl Strategy<Value = String> {
    let request = (ask(), option::weighted(0.3, ask()));
    let constraint = words(&["", "", "; same numa", "; same model", "; same numa of r0"]);
    let allocated = words(&[
        "",
        "",
        "",
        "",
        " has gpu/p/d00 for web",
        " has gpu/p/d01@memory=4 for web",
        " has net/q/d10 on zone=a for web other",
        " has gpu/p/d11 on name=node-a",
    ]);
    (allocated, vec(request, 1..3), constraint).prop_map(|(allocated, requests, constraint)| {
        let each = requests.iter().enumerate().map(|(at, (ask, other))| match other {
            Some(other) => format!("r{at} {ask} or {other}"),
            None => format!("r{at} {ask}"),
        });
        let requests: Vec<String> = each.collect();
        format!("{allocated}: {}{constraint}", requests.join("; "))
    })
}

const CLAIMS: usize = 4;

fn step() -> impl Strategy<Value = String> {
    let place = words(&["new-0", "new-0", "new-1", "new-2", "node-a", "node-b"]);
    let types = words(&["m.x,m.y", "m.y,m.x", "m.x", "m.x,m.y,c.x"]);
    let zone = words(&["zone=a", "zone=b", "zone=a,b", ""]);
    let claims = vec(0..CLAIMS, 1..3);
    let visit = (place, types, zone, claims).prop_map(|(place, types, zone, claims)| {
        let is_node = place.starts_with("node");
        // A node has one type and one zone, and stays what it is.
        let (types, zone) = if is_node { ("m.x", "zone=a") } else { (types, zone) };
        let fresh = if place == "node-b" { " fresh" } else { "" };
        let names: Vec<String> = claims.iter().map(|claim| format!("c{claim}")).collect();
        format!("{place} p {types}{fresh} {zone}: {}", names.join(" "))
    });
    let keep =
        words(&["keep new-0 m.x", "keep new-0 m.y", "keep new-1 m.x"]).prop_map(String::from);
    prop_oneof![6 => visit, 1 => keep]
}

pub(crate) fn worlds() -> impl Strategy<Value = Sketch> {
    let leaving = words(&["", "", "leaving pods=web\n", "leaving pods=web nodes=node-a\n"]);
    (slices(), templates(), vec(claim(), CLAIMS), leaving, vec(step(), 1..6)).prop_map(
        |(slices, templates, claims, leaving, steps)| {
            let claims =
                claims.iter().enumerate().map(|(at, claim)| format!("claim c{at}{claim}\n"));
            let claims: String = claims.collect();
            let world = format!("{CLASSES}initialized node-a\n{slices}{templates}{claims}");
            Sketch { world, steps: format!("{leaving}{}", steps.join("\n")) }
        },
    )
}
