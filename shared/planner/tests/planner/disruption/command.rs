//! Replacements first, then the nodes that they replace; and back.

use jiff::SignedDuration;
use model::{
    ClaimPhase, CommandId, DeletionReason, HourlyPrice, InstanceTypeName, NodeClaim, NodeClaimName,
    NodeName, Plan,
    disruption::{Command, DisruptionReason, Method, Progress},
    facts::Facts,
    ledger::UnreadableItem,
    node_pool::BudgetNodes,
    plan::Placement,
};
use planner::{
    disruption::{Objection, Options, command::*, look, outlook as outlook_of},
    world::World,
};

use crate::planner::support::cluster::*;

fn options() -> Options {
    Options::deployed()
}

/// One node that is too large for its pod.
fn large() -> Facts {
    let mut facts = cluster(&[("a", "t.large")]);
    facts.pods = vec![app("web", "a", "cpu=500m")];
    facts
}

fn begin(facts: &Facts) -> Plan {
    let command =
        look(facts, DisruptionReason::Underutilized, &options()).command().cloned().unwrap();
    let plan = begun(facts, (&CommandId::derived(&command), &command), &options()).unwrap();
    assert_eq!(plan_check::violations(facts, &plan), Vec::new());
    plan
}

/// The ledger after `plan`, in which no time passed.
fn committed(facts: &Facts, plan: &Plan) -> Facts {
    let mut facts = facts.clone();
    let ledger = &mut facts.ledger;
    ledger.head.counters.arrivals += 1;
    ledger.head.counters.departures += 1;
    let claims = plan.new_claims.iter().map(|new| &new.claim).chain(&plan.changes);
    ledger.claims.extend(claims.map(|claim| (claim.name.clone(), claim.clone())));
    ledger.commands.extend(plan.started.clone());
    ledger.commands.retain(|id, _| !plan.ended.contains(id));
    facts
}

/// [`large`] with a command that launches, and the claim of its replacement.
fn launching() -> (Facts, NodeClaimName) {
    let facts = large();
    let plan = begin(&facts);
    let claim = plan.new_claims[0].claim.name.clone();
    (committed(&facts, &plan), claim)
}

fn replacement<'f>(facts: &'f mut Facts, name: &NodeClaimName) -> &'f mut NodeClaim {
    facts.ledger.claims.get_mut(name).unwrap()
}

fn after(facts: &Facts, seconds: i64) -> Plan {
    let now = facts.now + SignedDuration::from_secs(seconds);
    let plan = carried_on(&facts.ledger, now);
    let facts = Facts { now, ..Facts::of(facts.cluster.clone(), now, facts.ledger.clone()) };
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    plan
}

#[test]
fn a_replacement_is_created_before_its_node_goes() {
    let facts = large();
    let plan = begin(&facts);
    assert!(plan.changes.is_empty());
    let [new] = plan.new_claims.as_slice() else { panic!("{:?}", plan.new_claims) };
    let types = new.claim.instance_types.iter().map(InstanceTypeName::as_str);
    assert_eq!(types.collect::<Vec<_>>(), ["t.small", "t.gpu", "t.medium"]);
    assert_eq!(new.claim.pods, [pod_key("web")]);
    let (_, command) = plan.started.first_key_value().unwrap();
    let claims = vec![new.claim.name.clone()];
    assert_eq!(command.progress, Progress::Launching { since: now(), claims });
    let [decision] = plan.decisions.as_slice() else { panic!("{:?}", plan.decisions) };
    assert!(
        decision.summary.starts_with("consolidation: 1 node for 1 new node, $"),
        "{decision:?}"
    );
    assert!(decision.price_after < decision.price_before);
}

#[test]
fn while_a_replacement_is_awaited_its_node_counts_as_going() {
    let (mut facts, claim) = launching();
    // The next plan finds the claim that was created for the pod.
    let plan = planner::provision(&facts);
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    assert!(plan.new_claims.is_empty() && plan.unplaced.is_empty(), "{plan:?}");
    let target = model::plan::Target::Claim(claim.clone());
    assert_eq!(plan.placements, [Placement { target, pods: vec![pod_key("web")] }]);
    // A pod that waits gets no place on it.
    facts.pods.push(pod("late cpu=15"));
    assert_eq!(planner::provision(&facts).new_claims.len(), 1);
    facts.pods.pop();
    // No method looks at it, and it spends its budget.
    let mut instance = facts.ledger.claims["claim-a"].instance.clone();
    instance.as_mut().unwrap().id = "i-0123456789abcdef0".parse().unwrap();
    replacement(&mut facts, &claim).instance = instance;
    add(&mut facts, "b", "t.large", model::CapacityType::OnDemand);
    facts.node_pools[0].disruption.budgets = vec![budget(BudgetNodes::Count(1))];
    let view = outlook_of(&facts, &options());
    assert_eq!(view.ineligible["a"], Objection::AlreadyGoing);
    let left = &view.budgets.values().next().unwrap()[&DisruptionReason::Empty];
    assert_eq!(*left, Some(0));
}

#[test]
fn claims_are_deleted_once_all_replacements_are_initialized() {
    let (mut facts, claim) = launching();
    assert!(after(&facts, 30).is_empty());
    for phase in [ClaimPhase::Launched, ClaimPhase::Registered] {
        replacement(&mut facts, &claim).phase = phase;
        assert!(after(&facts, 30).is_empty(), "{phase}");
    }
    replacement(&mut facts, &claim).phase = ClaimPhase::Initialized;
    let plan = after(&facts, 30);
    let [gone] = plan.changes.as_slice() else { panic!("{:?}", plan.changes) };
    let reason = DeletionReason::Disrupted(DisruptionReason::Underutilized);
    assert_eq!((gone.name.as_str(), gone.deletion.as_ref().unwrap().reason), ("claim-a", reason));
    assert!(plan.started.is_empty());
    assert!(carried_on(&committed(&facts, &plan).ledger, facts.now).is_empty());
    // Before that the judge refuses its deletion.
    let early = {
        let mut facts = facts.clone();
        replacement(&mut facts, &claim).phase = ClaimPhase::Registered;
        let changes = vec![facts.ledger.claims["claim-a"].deleted(reason, facts.now)];
        plan_check::violations(&facts, &Plan { changes, ended: plan.ended, ..Plan::default() })
    };
    assert!(
        early.iter().any(|v| v.to_string().contains("what replaces it is not ready")),
        "{early:?}"
    );
}

#[test]
fn a_command_waits_for_all_of_its_replacements() {
    let mut facts = cluster(&[("a", "t.large")]);
    facts.pods = (0..2).map(|index| app(&format!("p{index}"), "a", "cpu=1500m")).collect();
    let small = requirement("type=t.small");
    facts.node_pools[0].template.requirements.add(small);
    claim(&mut facts, "a").conditions.drifted = Some("NodePoolDrifted".to_owned());
    let command = look(&facts, DisruptionReason::Drifted, &options()).command().cloned().unwrap();
    let plan = begun(&facts, (&CommandId::derived(&command), &command), &options()).unwrap();
    let mut facts = committed(&facts, &plan);
    let [first, second] = plan.new_claims.as_slice() else { panic!("{:?}", plan.new_claims) };
    replacement(&mut facts, &second.claim.name).phase = ClaimPhase::Initialized;
    assert!(after(&facts, 30).is_empty());
    replacement(&mut facts, &first.claim.name).phase = ClaimPhase::Initialized;
    let then = after(&facts, 30);
    assert_eq!((then.changes.len(), then.ended.len()), (1, 1));
    // Of one that is gone the other is no consolation.
    facts.ledger.claims.remove(&first.claim.name);
    let then = after(&facts, 30);
    assert!(then.changes.is_empty() && then.started.values().all(Command::is_rolled_back));
}

#[test]
fn a_command_without_replacements_is_over_at_once() {
    let mut facts = large();
    add(&mut facts, "b", "t.large", model::CapacityType::OnDemand);
    facts.pods.push(app("db", "b", "cpu=10"));
    let command =
        look(&facts, DisruptionReason::Underutilized, &options()).command().cloned().unwrap();
    let id = CommandId::derived(&command);
    facts.ledger.commands.insert(id.clone(), command.clone());
    let plan = begun(&facts, (&id, &command), &options()).unwrap();
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    assert_eq!((plan.changes.len(), plan.new_claims.len(), plan.started.len()), (1, 0, 0));
    assert!(committed(&facts, &plan).ledger.commands.is_empty());
}

#[test]
fn a_command_is_rolled_back_when_a_replacement_does_not_come() {
    let (facts, claim) = launching();
    let check = |facts: &Facts, seconds, expected: &str| {
        let plan = after(facts, seconds);
        assert!(plan.changes.is_empty() && plan.ended.is_empty());
        let why = plan.started.values().map(|command| match &command.progress {
            Progress::RolledBack { why } => why.as_str(),
            other => panic!("{other:?}"),
        });
        assert_eq!(why.collect::<Vec<_>>(), [expected]);
        assert_eq!(plan.decisions[0].summary, "consolidation: 1 node stays, rolled back");
        let rolled_back = committed(facts, &plan);
        assert!(carried_on(&rolled_back.ledger, facts.now).is_empty());
        assert!(!World::of(&rolled_back).is_leaving(&rolled_back.ledger.claims["claim-a"]));
    };
    assert!(after(&facts, 599).is_empty());
    let late = format!("its replacement {claim} was not ready within 10 minutes");
    check(&facts, 600, &late);
    let gone = format!("its replacement {claim} is gone");
    let mut deleting = facts.clone();
    let deleted = replacement(&mut deleting, &claim).deleted(DeletionReason::NotRegistered, now());
    *replacement(&mut deleting, &claim) = deleted;
    check(&deleting, 1, &gone);
    let mut removed = facts.clone();
    removed.ledger.claims.remove(&claim);
    check(&removed, 1, &gone);
    // What cannot be read is not gone.
    let (item, problem) = (format!("claim#{claim}"), "odd".to_owned());
    let unreadable = UnreadableItem { item, claim: Some(claim.clone()), instance: None, problem };
    removed.ledger.unreadable.push(unreadable);
    assert!(after(&removed, 1).is_empty());
}

#[test]
fn nothing_is_launched_for_the_pods_of_a_node_whose_replacement_is_gone() {
    let (mut facts, claim) = launching();
    facts.ledger.claims.remove(&claim);
    // Before the command is rolled back.
    let plan = planner::provision(&facts);
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    assert!(plan.new_claims.is_empty() && plan.placements.is_empty(), "{plan:?}");
}

#[test]
fn a_command_ends_when_others_gave_its_nodes_up() {
    let (mut facts, _) = launching();
    let claim = facts.ledger.claims["claim-a"].deleted(DeletionReason::Expired, now());
    facts.ledger.claims.insert(claim.name.clone(), claim);
    let plan = after(&facts, 1);
    assert_eq!((plan.changes.len(), plan.started.len(), plan.ended.len()), (0, 0, 1));
}

#[test]
fn nodes_that_no_command_disrupts_are_freed() {
    let (mut facts, claim) = launching();
    node(&mut facts, "a").taints.push(taint("karpenter.sh/disrupted:NoSchedule"));
    assert!(freed(&facts).is_empty());
    let name = || "a".parse::<NodeName>().unwrap();
    let replaced = Marked { replaced: [name()].into(), ..Marked::default() };
    assert_eq!(marked(&facts.ledger), replaced);
    // Rolled back: until the taint is gone, and not for longer.
    facts.ledger.claims.remove(&claim);
    let rolled_back = committed(&facts, &after(&facts, 1));
    let freed_again = Marked { freed: [name()].into(), ..Marked::default() };
    assert_eq!(marked(&rolled_back.ledger), freed_again);
    assert!(freed(&rolled_back).is_empty());
    let mut clean = rolled_back.clone();
    node(&mut clean, "a").taints.clear();
    assert_eq!(freed(&clean).ended.len(), 1);
    // A taint that no pod tolerates.
    let mut lost = rolled_back;
    lost.ledger.commands.clear();
    let plan = freed(&lost);
    assert_eq!(plan_check::violations(&lost, &plan), Vec::new());
    let known = committed(&lost, &plan);
    assert_eq!(marked(&known.ledger), freed_again);
    assert!(freed(&known).is_empty());
}

#[test]
fn both_nodes_together_are_held_to_the_limits_of_their_pool() {
    let mut facts = large();
    facts.node_pools[0].limits = limits("cpu=16");
    assert_eq!(decided(&facts, Method::SingleNode), "a → t.small|t.gpu|t.medium");
    let outlook = look(&facts, DisruptionReason::Underutilized, &options());
    assert_eq!(outlook.command(), None);
    let why: Vec<String> =
        outlook.decision.iter().flat_map(|d| d.rejected.iter().map(ToString::to_string)).collect();
    assert!(why.iter().any(|why| why.contains("limit")), "{why:?}");
    facts.node_pools[0].limits = limits("cpu=18");
    let plan = begin(&facts);
    let types = plan.new_claims[0].claim.instance_types.iter().map(InstanceTypeName::as_str);
    assert_eq!(types.collect::<Vec<_>>(), ["t.small"]);
}

#[test]
fn both_nodes_together_are_held_to_caps_in_dollars() {
    // The node costs $1.60; the smallest that takes its pods $0.20 on demand.
    let mut facts = large();
    facts.policies.dollars_per_hour_max = Some(HourlyPrice::parse_dollars("1.6").unwrap());
    assert_eq!(decided(&facts, Method::SingleNode), "a → t.small|t.gpu|t.medium");
    let outlook = look(&facts, DisruptionReason::Underutilized, &options());
    assert_eq!(outlook.command(), None);
    let why: Vec<String> =
        outlook.decision.iter().flat_map(|d| d.rejected.iter().map(ToString::to_string)).collect();
    assert!(why.iter().any(|why| why.contains("MaxDollarsPerHour")), "{why:?}");
    facts.policies.dollars_per_hour_max = Some(HourlyPrice::parse_dollars("1.8").unwrap());
    let plan = begin(&facts);
    let types = plan.new_claims[0].claim.instance_types.iter().map(InstanceTypeName::as_str);
    assert_eq!(types.collect::<Vec<_>>(), ["t.small"]);
}

/// A static pool with a number of nodes, all of another hash than it has.
fn fixed(nodes: usize) -> Facts {
    let names: Vec<String> = (0..nodes).map(|index| format!("n{index}")).collect();
    let nodes: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "t.large")).collect();
    let mut facts = cluster(&nodes);
    facts.policies.static_capacity = true;
    let pool = &mut facts.node_pools[0];
    pool.replicas = Some(names.len().try_into().unwrap());
    pool.disruption.budgets = vec![budget(BudgetNodes::Percent(100))];
    for claim in facts.ledger.claims.values_mut() {
        claim.conditions.drifted = Some("NodePoolDrifted".to_owned());
    }
    facts
}

#[test]
fn nodes_of_static_pools_are_replaced_each_by_itself() {
    let facts = fixed(3);
    let command = look(&facts, DisruptionReason::Drifted, &options()).command().cloned().unwrap();
    let plan = begun(&facts, (&CommandId::derived(&command), &command), &options()).unwrap();
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    assert_eq!((plan.started.len(), plan.new_claims.len()), (3, 3));
    // One that does not come holds back no other.
    let mut facts = committed(&facts, &plan);
    let names: Vec<NodeClaimName> =
        plan.new_claims.iter().map(|new| new.claim.name.clone()).collect();
    facts.ledger.claims.remove(&names[0]);
    replacement(&mut facts, &names[1]).phase = ClaimPhase::Initialized;
    let then = after(&facts, 30);
    assert_eq!((then.changes.len(), then.ended.len()), (1, 1));
    let rolled_back = then.started.values().filter(|command| command.is_rolled_back());
    assert_eq!(rolled_back.count(), 1);
}

#[test]
fn nodes_of_static_pools_whose_number_is_not_kept_are_replaced_and_never_go_first() {
    let mut facts = fixed(3);
    facts.policies.static_capacity = false;
    let command = look(&facts, DisruptionReason::Drifted, &options()).command().cloned().unwrap();
    let plan = begun(&facts, (&CommandId::derived(&command), &command), &options()).unwrap();
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    assert_eq!((plan.started.len(), plan.new_claims.len()), (3, 3));
    // Nothing would be launched in the place of one that goes before its replacement.
    facts.policies.terminate_first_drift = true;
    facts.node_pools[0].limits = limits("nodes=3");
    assert_eq!(look(&facts, DisruptionReason::Drifted, &options()).command(), None);
    facts.policies.static_capacity = true;
    assert!(look(&facts, DisruptionReason::Drifted, &options()).command().is_some());
}

#[test]
fn more_nodes_of_static_pools_than_fit_one_commit_wait() {
    let facts = fixed(60);
    let command = look(&facts, DisruptionReason::Drifted, &options()).command().cloned().unwrap();
    let plan = begun(&facts, (&CommandId::derived(&command), &command), &options()).unwrap();
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    assert_eq!((plan.started.len(), plan.new_claims.len()), (50, 50));
}
