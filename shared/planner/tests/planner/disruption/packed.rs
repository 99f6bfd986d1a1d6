//! Several new nodes in the place of one, and what keeps them from coming.

use model::{
    CapacityType, CommandId, HourlyPrice, NodeClaimName,
    disruption::{Command, Method, Progress},
    facts::Facts,
    policies::ConsolidationSearch,
};
use planner::disruption::{Objection, Options, Proposal, begun, carried_on, thorough, validated};

use crate::planner::support::cluster::*;

/// A node of 16 CPUs with three pods, each of which fits onto a node of 2 CPUs.
fn large() -> Facts {
    let mut facts = cluster(&[("a", "t.large")]);
    for name in ["p", "q", "r"] {
        facts.pods.push(app(name, "a", "cpu=1800m memory=1Gi"));
    }
    facts.policies.consolidation = ConsolidationSearch::Thorough;
    facts
}

fn found(facts: &Facts) -> Option<Proposal> {
    thorough(facts, &Options::default(), u64::MAX, None).proposal
}

fn command(facts: &Facts) -> (CommandId, Command) {
    let command = found(facts).unwrap().command;
    (CommandId::derived(&command), command)
}

#[test]
fn several_new_nodes_take_the_place_of_one() {
    let facts = large();
    // Karpenter's rule: one node at most.
    assert_eq!(decided(&facts, Method::SingleNode), "nothing");
    let proposal = found(&facts).unwrap();
    let types = proposal.command.replacements.iter().map(|new| new.instance_types[0].as_str());
    assert_eq!(types.collect::<Vec<_>>(), ["t.small"; 3]);
    assert_eq!(proposal.moves.len(), 3);
    assert_eq!(proposal.saving(), HourlyPrice::from_nanos(1_000_000_000));
}

#[test]
fn they_cost_less_together_whatever_is_launched() {
    let facts = large();
    let (_, command) = command(&facts);
    let before = 1_600_000_000;
    let (_, types) = facts.ready_classes().next().unwrap();
    let worst = |name: &model::InstanceTypeName| {
        let sold = types.iter().find(|sold| sold.name == *name).unwrap();
        let offers =
            sold.offerings.iter().filter(|offer| offer.capacity_type == CapacityType::OnDemand);
        offers.map(|offer| offer.price.nanos()).max().unwrap()
    };
    let of_dearest =
        command.replacements.iter().map(|new| new.instance_types.iter().map(worst).max());
    assert!(of_dearest.map(Option::unwrap).sum::<u64>() < before);
}

#[test]
fn all_are_created_at_once_and_the_node_goes_when_all_are_there() {
    let mut facts = large();
    let (id, command) = command(&facts);
    let options = Options::deployed();
    let plan = validated(&facts, (&id, &command), &options);
    assert_eq!(plan.new_claims.len(), 3);
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    commit(&mut facts, &plan);
    facts.ledger.commands.extend(plan.started.clone());
    let waiting = carried_on(&facts.ledger, facts.now);
    assert!(waiting.changes.is_empty() && waiting.ended.is_empty());
    let names: Vec<NodeClaimName> =
        plan.new_claims.iter().map(|new| new.claim.name.clone()).collect();
    for name in &names {
        facts.ledger.claims.get_mut(name).unwrap().phase = model::ClaimPhase::Initialized;
    }
    let done = carried_on(&facts.ledger, facts.now);
    assert_eq!(done.changes.len(), 1);
    // One that never comes brings all back.
    facts.ledger.claims.remove(&names[1]);
    let back = carried_on(&facts.ledger, facts.now);
    assert!(back.changes.is_empty());
    let progress = back.started.values().map(|command| &command.progress);
    assert!(progress.into_iter().all(|progress| matches!(progress, Progress::RolledBack { .. })));
    assert_eq!(back.started.len(), 1);
}

#[test]
fn consolidation_as_karpenter_does_it_begins_no_such_command() {
    let mut facts = large();
    let (id, command) = command(&facts);
    facts.policies.consolidation = ConsolidationSearch::Karpenter;
    let refused = begun(&facts, (&id, &command), &Options::deployed());
    assert!(
        matches!(refused, Err(Objection::NotCreated(_) | Objection::OtherCount { .. })),
        "{refused:?}"
    );
}

#[test]
fn what_more_nodes_cost_beside_their_instances_is_set_against_it() {
    let mut facts = large();
    facts.policies.node_charge = HourlyPrice::from_nanos(999_999_999);
    assert!(found(&facts).is_some());
    facts.policies.node_charge = HourlyPrice::from_nanos(1_000_000_000);
    assert_eq!(found(&facts), None);
}

#[test]
fn what_yields_too_little_for_the_pods_that_it_moves_is_left() {
    let mut facts = large();
    facts.policies.calm.saving_per_move_min = HourlyPrice::from_nanos(333_333_333);
    assert!(found(&facts).is_some());
    facts.policies.calm.saving_per_move_min = HourlyPrice::from_nanos(333_333_334);
    assert_eq!(found(&facts), None);
}

#[test]
fn pods_that_may_not_be_moved_keep_their_node() {
    let mut facts = large();
    let held = annotated(app("s", "a", "cpu=100m"), model::labels::DO_NOT_DISRUPT, "true");
    facts.pods.push(held);
    assert_eq!(found(&facts), None);
}

#[test]
fn spot_is_packed_anew_only_where_the_gate_for_it_is_open() {
    let mut facts = cluster(&[]);
    facts.node_pools[0].template.requirements = requirements("paid=spot");
    add(&mut facts, "a", "t.large", CapacityType::Spot);
    add(&mut facts, "b", "t.large", CapacityType::Spot);
    for (name, node) in [("p", "a"), ("q", "a"), ("r", "b"), ("s", "b"), ("t", "b")] {
        facts.pods.push(app(name, node, "cpu=3500m memory=1Gi"));
    }
    facts.policies.consolidation = ConsolidationSearch::Thorough;
    assert_eq!(found(&facts), None);
    facts.policies.spot_to_spot_consolidation = true;
    assert_eq!(found(&facts).unwrap().disrupted.len(), 2);
}
