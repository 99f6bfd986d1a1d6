//! Properties of every plan that is packed so that it costs least, in random small clusters: the judge has
//! nothing to say, it places what Karpenter's places, for no more money and for no less than is proved to be
//! the least, the same facts give the same plan, and planning on its result plans nothing.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    HourlyPrice, NodeClassName, Plan, facts::Facts, labels::MAX_NODE_SHARE, policies::Packing,
};
use plan_check::violations;
use planner::{LowerBound, fleet_price, fleets, lower_bound, provision};
use proptest::prelude::*;
use testkit::build::{facts, id, instance_type, node, node_pool, pod};

use super::worlds::{self, Sketch, world, worlds};

fn packed(sketch: &Sketch) -> Facts {
    let mut facts = world(sketch);
    facts.policies.packing = Packing::Cheapest;
    facts
}

fn as_karpenter(facts: &Facts) -> Facts {
    let mut other = facts.clone();
    other.policies.packing = Packing::Karpenter;
    other
}

/// `facts` where nodes cost this number of nano-dollars an hour besides their instances, by their class and each.
fn charged(mut facts: Facts, of_class: u64, of_node: u64) -> Facts {
    let classes: Vec<NodeClassName> =
        facts.classes.iter().flatten().map(|(n, _)| n.clone()).collect();
    facts.node_charges =
        classes.into_iter().map(|class| (class, HourlyPrice::from_nanos(of_class))).collect();
    facts.policies.node_charge = HourlyPrice::from_nanos(of_node);
    facts
}

/// How many pods of each workload stay pending; replicas are called alike up to their last number.
fn pending(plan: &Plan) -> BTreeMap<String, usize> {
    let mut pending = BTreeMap::new();
    for unplaced in &plan.unplaced {
        let name = unplaced.pod.to_string();
        let workload = name.rsplit_once('-').map_or(&*name, |(workload, _)| workload);
        *pending.entry(workload.to_owned()).or_default() += 1;
    }
    pending
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_judge_has_nothing_to_say(sketch in worlds()) {
        let facts = packed(&sketch);
        let plan = provision(&facts);
        let broken: Vec<String> = violations(&facts, &plan).iter().map(ToString::to_string).collect();
        prop_assert!(broken.is_empty(), "{}\n{}", broken.join("\n"), worlds::shown(&facts, &plan));
    }

    #[test]
    fn it_places_what_karpenter_places_for_no_more_and_no_less_than_the_least(sketch in worlds()) {
        let facts = packed(&sketch);
        let (plan, other) = (provision(&facts), provision(&as_karpenter(&facts)));
        let (after, before) = (pending(&plan), pending(&other));
        let lost = after.iter().find(|(workload, count)| before.get(*workload) < Some(*count));
        prop_assert!(lost.is_none(), "{lost:?}");
        let (price, most) = (fleet_price(&facts, &plan), fleet_price(&facts, &other));
        let least = fleets(&facts, false).bound;
        let rough = fleets(&facts, true).bound;
        prop_assert!(price <= most || after != before, "{price} and not {most}");
        prop_assert!(rough <= price, "{price} and not {rough}");
        prop_assert!(least <= price, "{price} and not {least}\n{}", worlds::shown(&facts, &plan));
    }

    /// What nodes cost beside their instances is in prices and in the bound.
    #[test]
    fn charges_are_in_the_price_and_in_the_bound(
        sketch in worlds(),
        of_class in 0_u64..300_000_000,
        of_node in 0_u64..300_000_000,
    ) {
        let facts = charged(packed(&sketch), of_class, of_node);
        let (plan, other) = (provision(&facts), provision(&as_karpenter(&facts)));
        let broken: Vec<String> = violations(&facts, &plan).iter().map(ToString::to_string).collect();
        prop_assert!(broken.is_empty(), "{}", broken.join("\n"));
        let (price, most) = (fleet_price(&facts, &plan), fleet_price(&facts, &other));
        let least = fleets(&facts, false).bound;
        let is_same = pending(&plan) == pending(&other);
        prop_assert!(price <= most || !is_same, "{price} and not {most}");
        prop_assert!(least <= price, "{price} and not {least}");
        // They decide nothing where pods are packed as Karpenter packs.
        let free = charged(facts.clone(), 0, 0);
        prop_assert_eq!(other.new_claims, provision(&as_karpenter(&free)).new_claims);
    }

    #[test]
    fn no_new_node_holds_more_than_its_share(sketch in worlds(), share in 1_u32..=100, is_cheapest: bool) {
        let mut facts = world(&sketch);
        facts.policies.packing = if is_cheapest { Packing::Cheapest } else { Packing::Karpenter };
        for pool in &mut facts.node_pools {
            pool.annotations.insert(MAX_NODE_SHARE.to_owned(), format!("{share}%"));
        }
        let plan = provision(&facts);
        let broken: Vec<String> = violations(&facts, &plan).iter().map(ToString::to_string).collect();
        prop_assert!(broken.is_empty(), "{}\n{}", broken.join("\n"), worlds::shown(&facts, &plan));
        prop_assert_eq!(&plan, &provision(&facts));
    }

    #[test]
    fn the_same_facts_give_the_same_plan(sketch in worlds()) {
        let facts = packed(&sketch);
        let mut other = facts.clone();
        other.pods.reverse();
        prop_assert_eq!(provision(&facts), provision(&other));
    }

    #[test]
    fn planning_on_its_result_plans_nothing(sketch in worlds()) {
        worlds::leaves_nothing_to_plan(&packed(&sketch.quiet()))?;
    }

    /// Against every way to divide a few pods into nodes.
    #[test]
    fn the_bound_is_below_the_best_of_all_fleets(
        sizes in proptest::collection::vec((1_u64..16, 1_u64..16), 1..7),
        prices in proptest::collection::vec(20_u64..120, 4),
        charge in 0_u64..100,
    ) {
        let facts = charged(small(&sizes, &prices), charge * 1_000_000, 0);
        let with_charge: Vec<u64> = prices.iter().map(|price| price + charge).collect();
        let best = best_of_all(&sizes, &with_charge);
        let least = fleets(&facts, false).bound;
        prop_assert!(least <= best, "{least} and not {best}");
        // It is worth something, too.
        prop_assert!(best <= HourlyPrice::from_nanos(least.nanos() * 3 + 1), "{least} of {best}");
        prop_assert_eq!(of_running(&facts), LowerBound { price: least, unsold: 0 });
        let mut cheapest = facts.clone();
        cheapest.policies.packing = Packing::Cheapest;
        let price = fleet_price(&facts, &provision(&cheapest));
        prop_assert!(best <= price, "{price} is less than the best of all, {best}");
    }
}

/// CPUs and GiB of four types.
const SHAPES: [(u64, u64); 4] = [(8, 8), (16, 8), (8, 16), (16, 16)];

/// Pods with CPUs and GiB, and types with prices in cents.
fn small(sizes: &[(u64, u64)], cents: &[u64]) -> Facts {
    let types = SHAPES.iter().zip(cents).enumerate().map(|(place, ((cpu, memory), cents))| {
        let capacity = format!("cpu={cpu} memory={memory}Gi pods=99");
        let price = format!("0.{cents:03}");
        instance_type(&format!("m{place}.large {capacity} on-demand:us-west-2a={price}"))
    });
    let mut facts = facts(types.collect());
    facts.node_pools = vec![node_pool("general")];
    facts.pods = sizes
        .iter()
        .enumerate()
        .map(|(place, (cpu, memory))| {
            let requests = format!("cpu={cpu} memory={memory}Gi");
            pod(&format!("pod-{place} {requests}"))
        })
        .collect();
    facts
}

/// The bound of the pods of `facts` as if they ran on a node that is there, where a limit leaves nothing to be bought
/// and another pod has no type to run on; but for that pod.
fn of_running(facts: &Facts) -> LowerBound {
    let mut there = facts.clone();
    let node = node("there");
    there.nodes.insert(node.name.clone(), node);
    there.node_pools[0].limits.0.insert(id("cpu"), 1);
    let mut counts = BTreeMap::new();
    for pod in &facts.pods {
        *counts.entry(Arc::clone(&pod.spec)).or_default() += 1;
    }
    let usual = lower_bound(&there, &counts, false);
    counts.insert(Arc::clone(&pod("huge cpu=99").spec), 3);
    let bound = lower_bound(&there, &counts, false);
    assert_eq!(bound, LowerBound { unsold: 3, ..usual });
    usual
}

/// The price of the cheapest fleet, by looking at all of them.
fn best_of_all(sizes: &[(u64, u64)], cents: &[u64]) -> HourlyPrice {
    fn go(sizes: &[(u64, u64)], cents: &[u64], nodes: &mut Vec<(u64, u64)>) -> u64 {
        let Some(((cpu, memory), rest)) = sizes.split_first() else {
            return nodes.iter().map(|node| cheapest(*node, cents)).fold(0, u64::saturating_add);
        };
        let mut best = u64::MAX;
        for place in 0..=nodes.len() {
            if place == nodes.len() {
                nodes.push((0, 0));
            }
            let before = nodes[place];
            nodes[place] = (before.0 + cpu, before.1 + memory);
            if cheapest(nodes[place], cents) != u64::MAX {
                best = best.min(go(rest, cents, nodes));
            }
            nodes[place] = before;
            if nodes.last() == Some(&(0, 0)) {
                nodes.pop();
            }
        }
        best
    }
    fn cheapest((cpu, memory): (u64, u64), cents: &[u64]) -> u64 {
        let fits = SHAPES.iter().zip(cents).filter(|((c, m), _)| cpu <= *c && memory <= *m);
        fits.map(|(_, cents)| *cents).min().unwrap_or(u64::MAX)
    }
    HourlyPrice::from_nanos(go(sizes, cents, &mut Vec::new()) * 1_000_000)
}
