//! What holds of every command, whatever the cluster is like.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CapacityType, CommandId, HourlyPrice, NodeName, NodePoolName, Plan, Pod, Requirement,
    disruption::{DisruptionReason, Method},
    eviction::PodDisruptionBudget,
    facts::Facts,
    labels,
    node_pool::BudgetNodes,
    plan::{Placement, Target},
    policies::ConsolidationSearch,
    topology::{PodAffinity, PodAffinityTerm},
};
use planner::disruption::{
    Destination, Options, Outlook, Proposal, Voided, begun, look, outlook, thorough, validated,
    validation::still,
};
use proptest::prelude::*;

use crate::planner::support::cluster::*;

mod wider;

/// A node: its type, whether it is spot, and its pods.
type NodeSketch = (usize, bool, Vec<PodSketch>);
/// A pod: its size, and what it says.
type PodSketch = (usize, u8);

const TYPES: [&str; 3] = ["t.small", "t.medium", "t.large"];
const SIZES: [&str; 5] =
    ["cpu=100m", "cpu=500m", "cpu=1 memory=2Gi", "cpu=1800m", "cpu=3 memory=1Gi"];

fn sketches() -> impl Strategy<Value = (Vec<NodeSketch>, u32, bool)> {
    let pods = proptest::collection::vec((0..SIZES.len(), 0..24_u8), 0..5);
    let nodes = proptest::collection::vec((0..TYPES.len(), any::<bool>(), pods), 1..7);
    (nodes, 0..5_u32, any::<bool>())
}

fn world((nodes, allowed, gate): &(Vec<NodeSketch>, u32, bool)) -> Facts {
    let mut facts = cluster(&[]);
    facts.node_pools[0].template.requirements = model::Requirements::default();
    facts.node_pools[0].disruption.budgets = vec![budget(BudgetNodes::Count(*allowed))];
    facts.policies.spot_to_spot_consolidation = *gate;
    for (index, (kind, is_spot, pods)) in nodes.iter().enumerate() {
        let name = format!("n{index}");
        let paid = if *is_spot { CapacityType::Spot } else { CapacityType::OnDemand };
        add(&mut facts, &name, TYPES[*kind], paid);
        for (number, (size, says)) in pods.iter().enumerate() {
            facts.pods.push(pod(&format!("p-{index}-{number}"), &name, SIZES[*size], *says));
        }
    }
    let held = PodDisruptionBudget { ..pdb("hold", "held") };
    facts.surroundings.disruption_budgets = vec![held];
    facts
}

/// A pod that says something about one time in four.
fn pod(name: &str, on: &str, size: &str, says: u8) -> Pod {
    let base = app(name, on, size);
    match says {
        0 => annotated(base, labels::DO_NOT_DISRUPT, "true"),
        1 => with(base, |spec| drop(spec.labels.insert("app".to_owned(), "held".to_owned()))),
        2 => owned(base, "apps/v1", "DaemonSet"),
        3 => with(base, |spec| {
            spec.node_selector = requirements("zone=zone-1");
        }),
        4 | 5 => with(base, |spec| {
            spec.labels.insert("app".to_owned(), "apart".to_owned());
            let term = PodAffinityTerm {
                topology_key: model::LabelKey::new(labels::HOSTNAME).unwrap(),
                selector: Some(model::selector::LabelSelector::of_labels([("app", "apart")])),
                namespaces: BTreeSet::new(),
                namespace_selector: None,
            };
            spec.pod_anti_affinity = PodAffinity { required: vec![term], preferred: Vec::new() };
        }),
        _ => base,
    }
}

/// The facts once the claims of a command are being deleted.
fn deleting(facts: &Facts, command: &Proposal) -> Facts {
    let mut after = facts.clone();
    for disrupted in &command.disrupted {
        let claim = after.ledger.claims.get_mut(&disrupted.claim).unwrap();
        *claim = claim.deleted(model::DeletionReason::Expired, facts.now);
    }
    after
}

/// A command moves pods only where they may go, as `plan-check` judges.
fn check_moves(facts: &Facts, command: &Proposal) {
    let after = deleting(facts, command);
    let mut plan = Plan { parent: facts.ledger.head.counters, ..Plan::default() };
    let mut existing: BTreeMap<&Target, Vec<_>> = BTreeMap::new();
    for pod_move in &command.moves {
        if let Destination::Existing(target) = &pod_move.to {
            existing.entry(target).or_default().push(pod_move.pod.clone());
        }
    }
    plan.placements = existing
        .into_iter()
        .map(|(target, pods)| Placement { target: target.clone(), pods })
        .collect();
    if let [new] = command.command.replacements.as_slice() {
        let created = planner::provision(&after).new_claims;
        let mut created = created
            .into_iter()
            .find(|created| created.claim.pods == new.pods)
            .expect("the pods of a replacement need a new node");
        created.possible = new.instance_types.clone().into();
        created.claim.instance_types = new.instance_types.clone().into();
        let names = new.instance_types.iter().map(model::InstanceTypeName::as_str);
        let types = Requirement::new(labels::INSTANCE_TYPE, model::Operator::In, names).unwrap();
        created.claim.requirements.replace(types);
        let (cheapest, price) = new.cheapest.clone().unwrap();
        let paid = new.requirements.get(labels::CAPACITY_TYPE).cloned();
        if let Some(requirement) = paid {
            created.claim.requirements.add(requirement);
        }
        (created.cheapest, created.price) = (cheapest, price);
        plan.new_claims.push(created);
    }
    let violations = plan_check::violations(&after, &plan);
    let texts: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(texts.is_empty(), "{}", texts.join("\n"));
}

/// A command respects protection, PodDisruptionBudgets and disruption budgets, told apart from what
/// the planner knows of them.
fn check_respect(facts: &Facts, command: &Proposal) {
    let going: BTreeSet<&NodeName> = command.nodes().collect();
    for pod in
        facts.pods.iter().filter(|pod| pod.node.as_ref().is_some_and(|on| going.contains(on)))
    {
        let says = |key: &str, text: &str| pod.spec.annotations.get(key).is_some_and(|v| v == text);
        assert!(!says(labels::DO_NOT_DISRUPT, "true"), "{} is protected", pod.key);
        let is_held = pod.spec.labels.get("app").is_some_and(|app| app == "held");
        assert!(!is_held, "{} is held by a PodDisruptionBudget", pod.key);
    }
    let BudgetNodes::Count(allowed) = facts.node_pools[0].disruption.budgets[0].nodes else {
        panic!("a count")
    };
    assert!(going.len() <= usize::try_from(allowed).unwrap(), "more nodes than the budget");
    assert_eq!(command.disrupted.len(), going.len(), "a node stands there twice");
}

/// The cluster after a command: its nodes gone, its pods moved, its replacement there as the
/// cheapest that it may become.
fn carried_out(facts: &Facts, command: &Proposal, step: usize) -> Facts {
    let mut after = facts.clone();
    for disrupted in &command.disrupted {
        after.nodes.remove(&disrupted.node);
        after.ledger.claims.remove(&disrupted.claim);
    }
    let name = |place: usize| format!("new-{step}-{place}");
    for (place, new) in command.command.replacements.iter().enumerate() {
        let (cheapest, _) = new.cheapest.as_ref().unwrap();
        add(&mut after, &name(place), cheapest.instance_type.as_str(), cheapest.capacity_type);
    }
    let to: BTreeMap<_, NodeName> = command
        .moves
        .iter()
        .map(|pod_move| {
            let to = match &pod_move.to {
                Destination::Existing(Target::Node(node)) => node.clone(),
                Destination::Existing(Target::Claim(_)) => panic!("nothing is created here"),
                Destination::Replacement(place) => name(*place).parse().unwrap(),
            };
            (&pod_move.pod, to)
        })
        .collect();
    let gone: BTreeSet<&NodeName> = command.nodes().collect();
    after.pods.retain(|pod| {
        to.contains_key(&pod.key) || !pod.node.as_ref().is_some_and(|on| gone.contains(on))
    });
    for pod in &mut after.pods {
        if let Some(node) = to.get(&pod.key) {
            pod.node = Some(node.clone());
        }
    }
    after
}

fn cost(facts: &Facts) -> u64 {
    let claims = facts.ledger.claims.values().filter_map(|claim| claim.instance.as_ref());
    claims.map(|instance| instance.price.nanos()).sum()
}

fn commands(facts: &Facts) -> Vec<Proposal> {
    let answers = outlook(facts, &Options::default()).answers;
    answers.into_values().filter_map(|answer| answer.proposal).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_command_breaks_a_rule(sketch in sketches()) {
        let facts = world(&sketch);
        for command in commands(&facts) {
            check_respect(&facts, &command);
            check_moves(&facts, &command);
            if matches!(command.command.method, Method::MultiNode | Method::SingleNode) {
                prop_assert!(command.price_after < command.price_before);
                prop_assert!(command.saving() > HourlyPrice::default());
            }
            let pools: BTreeSet<&NodePoolName> =
                command.disrupted.iter().map(|disrupted| &disrupted.node_pool).collect();
            prop_assert_eq!(pools.len(), 1);
            prop_assert!(command.disrupted.iter().all(|disrupted| !disrupted.reason.is_empty()));
        }
    }

    #[test]
    fn what_is_carried_out_breaks_no_rule_and_still_holds(sketch in sketches()) {
        let facts = world(&sketch);
        let options = Options::deployed();
        for reason in DisruptionReason::ALL {
            let outlook = look(&facts, reason, &options);
            let Some(command) = outlook.command().cloned() else { continue };
            let id = CommandId::derived(&command);
            let plan = match begun(&facts, (&id, &command), &options) {
                Ok(plan) => plan,
                Err(objection) => panic!("{command:?} is found and cannot be begun: {objection}"),
            };
            prop_assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
            prop_assert_eq!(plan.new_claims.len(), command.replacements.len());
            let validated = validated(&facts, (&id, &command), &options);
            prop_assert_eq!(&validated.changes, &plan.changes);
            prop_assert_eq!(&validated.started, &plan.started);
            prop_assert_eq!(&validated.new_claims, &plan.new_claims);
        }
    }

    #[test]
    fn every_node_goes_or_says_why_it_stays(sketch in sketches()) {
        let facts = world(&sketch);
        let view = outlook(&facts, &Options::default());
        for (method, answer) in &view.answers {
            let going: BTreeSet<&NodeName> =
                answer.proposal.iter().flat_map(Proposal::nodes).collect();
            for node in facts.nodes.keys().filter(|node| !going.contains(node)) {
                let known = answer.notes.contains_key(node) || view.ineligible.contains_key(node.as_str());
                // What comes after the first that can go was not asked.
                prop_assert!(known || !going.is_empty(), "{method} says nothing about {node}");
            }
        }
    }

    #[test]
    fn deciding_again_does_not_undo_what_was_done(sketch in sketches()) {
        let mut facts = world(&sketch);
        for step in 0..20 {
            let Some(command) = outlook(&facts, &Options::default()).proposal().cloned() else {
                return Ok(());
            };
            let after = carried_out(&facts, &command, step);
            prop_assert!(cost(&after) < cost(&facts), "{command:?}");
            facts = after;
        }
        prop_assert!(false, "it never ends");
    }

    #[test]
    fn the_same_facts_give_the_same_commands(sketch in sketches()) {
        let facts = world(&sketch);
        let once = outlook(&facts, &Options::default());
        prop_assert_eq!(&once, &outlook(&facts, &Options::default()));
        let mut turned = facts.clone();
        turned.pods.reverse();
        let commands = |outlook: &Outlook| -> Vec<Option<(Vec<NodeName>, usize)>> {
            let answers = outlook.answers.values();
            answers
                .map(|answer| answer.proposal.as_ref().map(|c| (c.nodes().cloned().collect(), c.command.replacements.len())))
                .collect()
        };
        prop_assert_eq!(commands(&once), commands(&outlook(&turned, &Options::default())));
    }

    #[test]
    fn what_newer_facts_void_is_refused_with_the_reason(
        sketch in sketches(), change in 0..4_u8, at in 0..6_usize,
    ) {
        let facts = world(&sketch);
        let mut newer = facts.clone();
        let name = format!("n{at}");
        let known: Result<NodeName, _> = name.parse();
        let is_there = newer.nodes.contains_key(known.as_ref().unwrap());
        match change {
            0 => newer.pods.push(pod("late", &name, "cpu=100m", 0)),
            1 => newer.pods.push(pod("late", &name, "cpu=15", 9)),
            2 => newer.node_pools[0].disruption.budgets = vec![budget(BudgetNodes::Count(0))],
            _ => drop(newer.nodes.remove(known.as_ref().unwrap())),
        }
        for command in commands(&facts) {
            let concerned = change == 2 || command.nodes().any(|node| Ok(node) == known.as_ref());
            let candidates = &command.command.candidates;
            match still(&newer, &command.command, &Options::default()) {
                Ok(valid) => {
                    let left = valid.command.candidates;
                    prop_assert!(left.iter().all(|claim| candidates.contains(claim)));
                    let hard = concerned && is_there && matches!(change, 0 | 2 | 3);
                    prop_assert!(!hard || left.len() < candidates.len());
                }
                Err(Voided::Churn(dropped) | Voided::Budget(dropped)) => {
                    prop_assert!(!dropped.is_empty());
                }
                Err(Voided::Scheduling(_)) => {}
            }
        }
    }
}
