//! Rows OV of the specification.

use std::{collections::BTreeSet, sync::Arc};

use model::{
    HourlyPrice, NodePoolName, ObjectName, Problem,
    facts::{ClassOffer, Facts},
    overlay::{NodeOverlay, PriceChange},
};
use planner::scheduling::facts::overlay::*;

use crate::planner::support::{
    add_class, facts, limits, node_pool, offer, requirements, resources,
};

/// `name`, weight, requirements, and what it changes: `price=0.5`, `price+0.1`, `price-10%` or
/// amounts.
type Given<'a> = (&'a str, u32, &'a [&'a str], &'a str);

fn overlay((name, weight, wanted, change): Given<'_>) -> NodeOverlay {
    let nanos =
        |text: &str| i64::try_from(HourlyPrice::parse_dollars(text).unwrap().nanos()).unwrap();
    let price = change.strip_prefix("price").map(|text| {
        if let Some(dollars) = text.strip_prefix('=') {
            return PriceChange::Absolute(HourlyPrice::parse_dollars(dollars).unwrap());
        }
        let sign = if text.starts_with('-') { -1 } else { 1 };
        let amount = text.trim_start_matches(['+', '-']);
        match amount.strip_suffix('%') {
            Some(percent) => PriceChange::Scaled(sign * nanos(percent) / 100),
            None => PriceChange::Added(sign * nanos(amount)),
        }
    });
    NodeOverlay {
        name: ObjectName::new(name).unwrap(),
        weight,
        requirements: requirements(&wanted.join(" ")),
        price,
        capacity: price.is_none().then(|| resources(change)),
        problems: Vec::new(),
    }
}

/// The pool `general`, the pool `blue` with the label `team=blue`, and these overlays.
fn world(given: &[Given<'_>]) -> Facts {
    let mut facts = facts(Vec::new());
    facts.policies.node_overlay = true;
    let mut blue = node_pool("blue");
    blue.template.labels.insert("team".to_owned(), "blue".to_owned());
    facts.node_pools.insert(0, blue);
    facts.surroundings.node_overlays = given.iter().map(|entry| overlay(*entry)).collect();
    facts
}

/// What changed: `general/t.small spot zone-1 0.0600` or `general/t.small example.com/a=2`, and the
/// rejected with their reasons.
fn shown(facts: &Facts) -> Vec<String> {
    let plain = facts.ready_types(&"default".parse().unwrap()).unwrap();
    let applied = overlays(facts);
    let mut lines = Vec::new();
    for (pool, overlaid) in &applied.pools {
        for (before, after) in plain.iter().zip(&overlaid.types) {
            let place = format!("{pool}/{}", after.name);
            let touched =
                overlaid.priced.contains(&after.name) || overlaid.extended.contains(&after.name);
            assert_eq!(Arc::ptr_eq(before, after), !touched, "{place} is shared unless touched");
            assert_eq!(before.requirements, after.requirements);
            for (before, after) in before.offerings.iter().zip(&after.offerings) {
                if before.price != after.price {
                    let (kind, zone, price) = (after.capacity_type, &after.zone, after.price);
                    lines.push(format!("{place} {kind} {zone} {price}"));
                }
            }
            let extended =
                after.capacity.iter().filter(|(name, n)| before.capacity.get(name) != *n);
            lines.extend(extended.map(|(name, amount)| format!("{place} {name}={amount}")));
        }
    }
    lines.extend(applied.rejected.iter().map(|(name, why)| match why {
        Rejection::RuntimeValidation(_) => format!("{name}: RuntimeValidation"),
        Rejection::Conflict { .. } => format!("{name}: Conflict"),
    }));
    lines
}

#[track_caller]
fn check(given: &[Given<'_>], expected: &[&str]) {
    assert_eq!(shown(&world(given)), expected);
}

const SMALL: &str = "node.kubernetes.io/instance-type=t.small";
const GENERAL: &str = "karpenter.sh/nodepool=general";
const SPOT: &str = "karpenter.sh/capacity-type=spot";
const ONE: &str = "topology.kubernetes.io/zone=zone-1";

#[test]
fn nothing_changes_without_overlays_or_without_the_gate() {
    check(&[], &[]);
    let mut facts = world(&[("a", 0, &[], "price=0.5")]);
    facts.policies.node_overlay = false;
    assert_eq!(overlays(&facts), Overlays::default());
}

#[test]
fn an_overlay_is_about_a_pool_a_label_a_type_a_zone_or_a_way_to_pay() {
    let wanted = [GENERAL, SMALL, SPOT, ONE];
    check(&[("a", 0, &wanted, "price=0.5")], &["general/t.small spot zone-1 0.5000"]);
    let wanted = ["team=blue", SMALL, SPOT];
    let expected =
        ["zone-1", "zone-2", "zone-3"].map(|zone| format!("blue/t.small spot {zone} 0.5000"));
    check(&[("a", 0, &wanted, "price=0.5")], &expected.each_ref().map(String::as_str));
    check(&[("a", 0, &["team=red"], "price=0.5")], &[]);
    check(&[("a", 0, &["topology.kubernetes.io/zone=zone-9"], "example.com/a=1")], &[]);
    let applied = overlays(&world(&[("a", 0, &[], "price=0.5")]));
    let prices: BTreeSet<_> = applied
        .pools
        .values()
        .flat_map(|p| &p.types)
        .flat_map(|t| &t.offerings)
        .map(|offering| offering.price.to_string())
        .collect();
    assert_eq!((applied.pools.len(), prices), (2, BTreeSet::from(["0.5000".to_owned()])));
}

#[test]
fn a_change_adds_or_scales_and_never_goes_below_nothing() {
    let wanted = [GENERAL, SMALL, SPOT, ONE];
    for (change, price) in [
        ("price+0.1", "0.1600"),
        ("price-0.02", "0.0400"),
        ("price-1", "0.0000"),
        ("price+10%", "0.0660"),
        ("price-50.5%", "0.0297"),
        ("price-100%", "0.0000"),
        ("price+250%", "0.2100"),
    ] {
        check(&[("a", 0, &wanted, change)], &[&format!("general/t.small spot zone-1 {price}")]);
    }
}

#[test]
fn a_capacity_for_one_offering_is_the_whole_types() {
    let wanted = [GENERAL, SMALL, ONE];
    check(&[("a", 0, &wanted, "example.com/a=2")], &["general/t.small example.com/a=2"]);
}

#[test]
fn the_heavier_overlay_wins_and_the_lighter_fills_the_rest() {
    let wanted = [GENERAL, SMALL, SPOT];
    let expected = [
        "general/t.small spot zone-1 0.0010",
        "general/t.small spot zone-2 0.5000",
        "general/t.small spot zone-3 0.5000",
    ];
    let heavy = [GENERAL, SMALL, SPOT, ONE];
    check(&[("a", 1, &wanted, "price=0.5"), ("b", 10, &heavy, "price=0.001")], &expected);
    let capacity = [GENERAL, SMALL];
    let both = [
        ("a", 1, &capacity[..], "example.com/a=2 example.com/b=2"),
        ("b", 10, &capacity, "example.com/a=1"),
    ];
    check(&both, &["general/t.small example.com/a=1", "general/t.small example.com/b=2"]);
}

#[test]
fn of_equal_overlays_about_the_same_the_name_that_sorts_first_is_rejected() {
    let wanted = [GENERAL, SMALL, SPOT, ONE];
    let wide = [GENERAL, SMALL, SPOT];
    let expected = ["general/t.small spot zone-1 0.5000", "a: Conflict"];
    // Applied nowhere, also not if no other overlay applies; equal values conflict as well.
    for change in ["price=0.4", "price=0.5"] {
        check(&[("a", 5, &wide, change), ("b", 5, &wanted, "price=0.5")], &expected);
    }
    let other = [GENERAL, SMALL, SPOT, "topology.kubernetes.io/zone=zone-2"];
    let disjoint = ["general/t.small spot zone-1 0.5000", "general/t.small spot zone-2 0.4000"];
    check(&[("a", 5, &other, "price=0.4"), ("b", 5, &wanted, "price=0.5")], &disjoint);
}

#[test]
fn an_equal_overlay_conflicts_although_a_heavier_one_decides() {
    let wanted = [GENERAL, SMALL, SPOT, ONE];
    let entries = [
        ("a", 1, &wanted[..], "price=0.3"),
        ("b", 1, &wanted, "price=0.2"),
        ("c", 2, &wanted, "price=0.1"),
    ];
    check(&entries, &["general/t.small spot zone-1 0.1000", "a: Conflict"]);
}

#[test]
fn capacities_conflict_only_about_one_resource() {
    let wanted = [GENERAL, SMALL];
    let two = [("a", 1, &wanted[..], "example.com/a=1"), ("b", 1, &wanted, "example.com/b=1")];
    check(&two, &["general/t.small example.com/a=1", "general/t.small example.com/b=1"]);
    let three = [
        ("a", 1, &wanted[..], "example.com/a=1"),
        ("b", 1, &wanted, "example.com/a=2"),
        ("c", 1, &wanted, "example.com/c=1"),
    ];
    let expected =
        ["general/t.small example.com/a=2", "general/t.small example.com/c=1", "a: Conflict"];
    check(&three, &expected);
}

#[test]
fn a_price_and_a_capacity_combine() {
    let wanted = [GENERAL, SMALL, SPOT, ONE];
    let both = [("a", 1, &wanted[..], "price=0.5"), ("b", 1, &wanted, "example.com/b=1")];
    check(&both, &["general/t.small spot zone-1 0.5000", "general/t.small example.com/b=1"]);
}

#[test]
fn an_invalid_overlay_is_rejected_and_hinders_no_other() {
    let wanted = [GENERAL, SMALL, SPOT, ONE];
    let mut facts = world(&[("a", 1, &wanted, "price=0.5"), ("b", 1, &wanted, "price=0.4")]);
    facts.surroundings.node_overlays[1].problems =
        vec![Problem::unusable("spec.price", "it is wrong")];
    let expected = ["general/t.small spot zone-1 0.5000", "b: RuntimeValidation"];
    assert_eq!(shown(&facts), expected);
    let applied = overlays(&facts);
    assert_eq!(applied.rejected["b"].to_string(), "spec.price: it is wrong");
}

#[test]
fn a_pool_whose_class_is_not_ready_is_left_out() {
    let mut facts = world(&[("a", 1, &[], "price=0.5")]);
    facts.node_pools[0].limits = limits("nodes=1");
    facts.node_pools[0].template.node_class = "other".parse().unwrap();
    let not_ready = ClassOffer::NotReady(vec![model::node_class::Obstacle::SubnetsNotFound]);
    add_class(&mut facts, "other", not_ready);
    let pools: Vec<_> = overlays(&facts).pools.into_keys().collect();
    assert_eq!(pools.iter().map(NodePoolName::as_str).collect::<Vec<_>>(), ["general"]);
}

#[test]
fn without_types_there_is_nothing_to_overlay() {
    let mut facts = world(&[("a", 1, &[], "price=0.5")]);
    offer(&mut facts, Vec::new());
    assert_eq!(overlays(&facts), Overlays::default());
}
