//! What scores enough (BA01–BA36).

use std::collections::BTreeMap;

use model::{HourlyPrice, NodePoolName, disruption::Method, node_pool::ConsolidationPolicy};
use planner::{
    disruption::{
        Options, balanced::*, candidate::Candidate, nodes::State, price::Exact, search::Field,
    },
    eviction,
};

use crate::planner::support::cluster::*;

/// Whether saving `saving` for a disruption of `disruption` is enough in a pool that costs `cost`
/// and would take `all` to disrupt.
#[track_caller]
fn check(saving: u128, disruption: u64, (cost, number): (u128, u64), approved: bool) {
    let pool = NodePoolName::new("general").unwrap();
    let total = Total { cost: Exact(cost), disruption: number };
    let totals = Totals { by_pool: BTreeMap::from([("general", total)]) };
    assert_eq!(totals.scores(&pool, Exact(saving), disruption), approved, "{saving} {disruption}");
}

#[test]
fn half_the_share_of_disruption_is_enough() {
    // Karpenter's worked examples, in cents: ten nodes, eighty pods.
    let mixed = (5_808, 90);
    check(726, 4, mixed, true);
    check(484, 5, mixed, true);
    check(242, 9, mixed, false);
    // Exactly one half.
    check(242, 9, (4_840, 90), true);
    check(241, 9, (4_840, 90), false);
    check(0, 9, mixed, false);
    check(0, 0, mixed, false);
    check(1, 0, mixed, true);
    check(726, 4, (0, 90), false);
    check(726, 4, (5_808, 0), false);
    // 20 % of the cost for 5 % of the disruption, equal shares, 5 % for 50 %.
    check(20, 5, (100, 100), true);
    check(30, 30, (100, 100), true);
    check(5, 50, (100, 100), false);
    // The same in a pool ten times as large, and the only node of a pool.
    check(242, 9, (48_400, 900), true);
    check(100, 7, (100, 7), true);
}

/// Two pools, one node each, the first of the policy.
fn two_pools(policy: ConsolidationPolicy) -> model::facts::Facts {
    let mut facts = cluster(&[("a", "t.large"), ("b", "t.large"), ("c", "t.large")]);
    facts.node_pools[0].disruption.policy = policy;
    facts.pods =
        vec![app("one", "a", "cpu=1"), app("two", "b", "cpu=1"), app("three", "c", "cpu=1")];
    facts
}

#[test]
fn only_balanced_pools_are_scored() {
    for (policy, approved) in [
        (ConsolidationPolicy::Balanced, false),
        (ConsolidationPolicy::WhenEmptyOrUnderutilized, true),
        (ConsolidationPolicy::WhenEmpty, true),
    ] {
        let facts = two_pools(policy);
        let state = State::of(&facts, facts.now, &Options::default());
        let field = Field::of(&state);
        let nodes: Vec<&Candidate<'_>> = field.candidates.iter().collect();
        assert_eq!(field.totals.approves(&nodes[..1], Exact(1)), approved, "{policy:?}");
        let price = nodes[0].price;
        assert!(field.totals.approves(&nodes[..1], price), "all of its price");
        assert!(field.totals.may_approve(nodes[0]));
    }
}

#[test]
fn a_pool_without_totals_approves_nothing() {
    let facts = two_pools(ConsolidationPolicy::Balanced);
    let state = State::of(&facts, facts.now, &Options::default());
    let field = Field::of(&state);
    let nodes: Vec<&Candidate<'_>> = field.candidates.iter().collect();
    assert!(!Totals::default().approves(&nodes, nodes[0].price));
}

#[test]
fn savings_are_shared_by_what_the_nodes_of_each_pool_cost() {
    assert_eq!(shared(Exact(90), Exact(20_000_000), Exact(60_000_000)), Exact(30));
    assert_eq!(shared(Exact(90), Exact(0), Exact(0)), Exact(0));
}

#[test]
fn totals_count_every_node_of_the_pool() {
    let mut facts = two_pools(ConsolidationPolicy::Balanced);
    // Not a candidate any more, and still part of the pool.
    node(&mut facts, "c").labels.remove(model::labels::INITIALIZED);
    let state = State::of(&facts, facts.now, &Options::default());
    let totals = Totals::of(&state, &Field::of(&state).candidates);
    let total = totals.by_pool["general"];
    assert_eq!(total.cost.rounded().nanos(), 3 * 1_600_000_000);
    assert_eq!(total.disruption, 6 * eviction::COST_UNIT.unsigned_abs());
    // Each pool has its own, and one without nodes has none.
    let costs = |facts: &model::facts::Facts| -> Vec<(String, u64)> {
        let state = State::of(facts, facts.now, &Options::default());
        let totals = Totals::of(&state, &Field::of(&state).candidates);
        let of_pool = |(pool, total): (&&str, &Total)| {
            ((*pool).to_owned(), total.cost.rounded().nanos() / 1_600_000_000)
        };
        totals.by_pool.iter().map(of_pool).collect()
    };
    let mut other = facts.node_pools[0].clone();
    other.name = "other".parse().unwrap();
    facts.node_pools.push(other);
    node(&mut facts, "b").labels.insert(model::labels::NODE_POOL.to_owned(), "other".to_owned());
    assert_eq!(costs(&facts), [("general".to_owned(), 2), ("other".to_owned(), 1)]);
    facts.nodes.retain(|name, _| name.as_str() == "a");
    facts.ledger.claims.retain(|name, _| name.as_str() == "claim-a");
    assert_eq!(costs(&facts), [("general".to_owned(), 1)]);
}

#[test]
fn totals_follow_prices_and_overlays() {
    let total = |facts: &model::facts::Facts| {
        let state = State::of(facts, facts.now, &Options::default());
        let totals = Totals::of(&state, &Field::of(&state).candidates);
        totals.by_pool["general"].cost.rounded().nanos()
    };
    let mut facts = two_pools(ConsolidationPolicy::Balanced);
    let before = total(&facts);
    facts.policies.node_overlay = true;
    facts.surroundings.node_overlays = vec![model::overlay::NodeOverlay {
        name: "cheaper".parse().unwrap(),
        weight: 0,
        requirements: requirements("type=t.large"),
        price: Some(model::overlay::PriceChange::Absolute(HourlyPrice::from_nanos(7))),
        capacity: None,
        problems: Vec::new(),
    }];
    assert_eq!(total(&facts), 3 * 7);
    facts.surroundings.node_overlays.clear();
    assert_eq!(total(&facts), before);
    let mut types = default_types();
    let offerings = types.iter_mut().flat_map(|kind| &mut kind.offerings);
    offerings.for_each(|offering| offering.price = HourlyPrice::from_nanos(9));
    offer(&mut facts, types);
    assert_eq!(total(&facts), 3 * 9);
}

#[test]
fn a_well_packed_node_of_a_balanced_pool_is_left_alone() {
    let mut facts = cluster(&[("a", "t.medium"), ("b", "t.large")]);
    facts.node_pools[0].disruption.policy = ConsolidationPolicy::Balanced;
    facts.pods = (0..4).map(|i| app(&format!("p{i}"), "a", "cpu=100m")).collect();
    facts.pods.extend((0..2).map(|i| app(&format!("q{i}"), "b", "cpu=5")));
    let before = decided(&facts, Method::SingleNode);
    assert_eq!(before, "nothing");
    assert_eq!(
        why(&facts, Method::SingleNode, "a"),
        "saves too little for the pods that would move (consolidationPolicy Balanced)"
    );
    facts.node_pools[0].disruption.policy = ConsolidationPolicy::WhenEmptyOrUnderutilized;
    assert_ne!(decided(&facts, Method::SingleNode), "nothing");
}
