//! Ill nodes: which of them goes, and what holds it up.

use jiff::SignedDuration;
use model::{
    CapacityType, CommandId, DeletionReason, Offering, Reservation,
    claim::Reboot,
    disruption::{
        Command, DisruptionReason,
        Method::{Drift, Emptiness, Repair},
        Progress,
    },
    event::EventObject,
    facts::Facts,
    labels,
    node::{IllCondition, IllStatus},
    node_pool::{Budget, BudgetNodes},
};
use planner::{
    disruption::{Options, begun, carried_on, outlook},
    events::of_staying,
};

use crate::planner::support::cluster::*;

/// Makes a node unhealthy for this number of minutes.
fn fall_ill(facts: &mut Facts, name: &str, kind: &str, minutes: i64) {
    node(facts, name).ill_conditions.push(IllCondition {
        kind: kind.to_owned(),
        status: IllStatus::False,
        reason: "Broken".to_owned(),
        since: Some(ago(60 * minutes)),
    });
}

/// Ten nodes with a pod each, of which some are ill for so long.
fn ward(ill: &[(&str, i64)]) -> Facts {
    let names: Vec<String> = (0..10).map(|number| format!("n{number}")).collect();
    let nodes: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "t.small")).collect();
    let mut facts = cluster(&nodes);
    facts.policies.node_repair = true;
    facts.pods = names.iter().map(|name| app(&format!("on-{name}"), name, "cpu=1")).collect();
    for (name, minutes) in ill {
        fall_ill(&mut facts, name, "StorageReady", *minutes);
    }
    facts
}

#[test]
fn the_node_that_has_been_due_the_longest_is_replaced_first() {
    let types = "t.small|t.gpu|t.medium|t.arm|t.large";
    let facts = ward(&[("n3", 31), ("n5", 45)]);
    assert_eq!(decided(&facts, Repair), format!("n5 → {types}"));
    let idle = Facts { pods: Vec::new(), ..facts.clone() };
    assert!(outlook(&idle, &Options::default()).answers[&Emptiness].proposal.is_some());
    assert_eq!(outlook(&idle, &Options::default()).first(), Some(Repair));
    assert_eq!(decided(&ward(&[("n3", 29)]), Repair), "nothing");
    assert_eq!(
        why(&ward(&[("n3", 29)]), Repair, "n3"),
        "healthy, or not unhealthy for long enough"
    );
    let mut closed = facts.clone();
    closed.policies.node_repair = false;
    assert!(!outlook(&closed, &Options::default()).answers.contains_key(&Repair));
    let mut legacy = facts;
    legacy.policies.legacy_node_repair = true;
    assert!(!outlook(&legacy, &Options::default()).answers.contains_key(&Repair));
}

#[test]
fn only_its_own_annotation_protects_an_unhealthy_node() {
    let mut facts = ward(&[("n3", 45)]);
    facts.pods[3] = annotated(facts.pods[3].clone(), labels::DO_NOT_DISRUPT, "true");
    facts.surroundings.disruption_budgets = vec![pdb("none", "on-n3")];
    let texts = &mut node(&mut facts, "n3").annotations;
    texts.insert(labels::DO_NOT_DISRUPT.to_owned(), "true".to_owned());
    let proposal = ask(&facts, Repair).proposal.unwrap();
    // The pod that is protected is placed all the same.
    assert_eq!((proposal.moves.len(), proposal.command.replacements.len()), (1, 1));
    assert_eq!(proposal.disrupted[0].drain, Some(SignedDuration::from_mins(10)));
    claim(&mut facts, "n3").termination_grace_period = Some(SignedDuration::from_mins(2));
    let proposal = ask(&facts, Repair).proposal.unwrap();
    assert_eq!(proposal.disrupted[0].drain, Some(SignedDuration::from_mins(2)));
    claim(&mut facts, "n3").termination_grace_period = Some(SignedDuration::from_hours(1));
    let proposal = ask(&facts, Repair).proposal.unwrap();
    assert_eq!(proposal.disrupted[0].drain, Some(SignedDuration::from_mins(10)));
    let texts = &mut node(&mut facts, "n3").annotations;
    texts.insert(labels::DO_NOT_REPAIR.to_owned(), "true".to_owned());
    assert_eq!(decided(&facts, Repair), "nothing");
    // For every other method it is protected as ever.
    assert!(why(&facts, Emptiness, "n3").contains("blocked by its annotation"));
}

#[test]
fn only_the_annotation_of_the_node_keeps_it_from_repair() {
    let mut facts = ward(&[("n3", 45)]);
    let of_claim = &mut claim(&mut facts, "n3").annotations;
    of_claim.insert(labels::DO_NOT_REPAIR.to_owned(), "true".to_owned());
    assert_ne!(decided(&facts, Repair), "nothing");
    let says = |facts: &mut Facts, text: &str| {
        let of_node = &mut node(facts, "n3").annotations;
        of_node.insert(labels::DO_NOT_REPAIR.to_owned(), text.to_owned());
    };
    says(&mut facts, "yes");
    assert_ne!(decided(&facts, Repair), "nothing");
    says(&mut facts, "true");
    assert_eq!(decided(&facts, Repair), "nothing");
}

#[test]
fn an_ill_node_that_goes_already_is_left_to_its_end() {
    let mut facts = ward(&[("n3", 45)]);
    claim(&mut facts, "n3").termination_grace_period = Some(SignedDuration::from_mins(2));
    let goes = claim(&mut facts, "n3");
    *goes = goes.deleted(DeletionReason::Expired, ago(600));
    assert_eq!(decided(&facts, Repair), "nothing");
    assert_eq!(why(&facts, Repair, "n3"), "already being disrupted");
}

#[test]
fn too_many_ill_nodes_are_nothing_that_new_nodes_would_cure() {
    assert_ne!(decided(&ward(&[("n1", 45), ("n2", 1)]), Repair), "nothing");
    let facts = ward(&[("n1", 45), ("n2", 1), ("n3", 1)]);
    assert_eq!(decided(&facts, Repair), "nothing");
    assert!(why(&facts, Repair, "n1").starts_with("more than 20% of the nodes"));
    // One of three is more than a fifth, but for rounding up.
    let mut three = ward(&[("n1", 45)]);
    three.nodes.retain(|name, _| name.as_str() < "n3");
    three.ledger.claims.retain(|name, _| name.as_str() < "claim-n3");
    assert_eq!(three.nodes.len(), 3);
    assert_ne!(decided(&three, Repair), "nothing");
    fall_ill(&mut three, "n2", "KernelReady", 1);
    assert_eq!(decided(&three, Repair), "nothing");
}

/// The events of unhealthy nodes that stay.
fn told(facts: &Facts) -> Vec<String> {
    let view = outlook(facts, &Options::default());
    let (reason, notes) = (DisruptionReason::Unhealthy, &view.answers[&Repair].notes);
    let told = of_staying(&facts.ledger, reason, notes, &view.ineligible).into_iter();
    let of_nodes = told.filter(|told| matches!(told.about, EventObject::Node(_)));
    of_nodes.map(|told| format!("{} {}", told.about, told.reason)).collect()
}

#[test]
fn a_pool_with_too_many_ill_nodes_is_reported() {
    let facts = ward(&[("n1", 45), ("n2", 1), ("n3", 1)]);
    assert_eq!(told(&facts), ["Node n1 NodeRepairBlocked"]);
}

#[test]
fn ill_nodes_without_a_pool_are_neither_repaired_nor_counted() {
    let mut facts = ward(&[("n1", 45), ("n2", 45), ("n3", 45)]);
    for name in ["n2", "n3"] {
        node(&mut facts, name).labels.remove(labels::NODE_POOL);
    }
    assert!(decided(&facts, Repair).starts_with("n1 → "));
    node(&mut facts, "n1").labels.remove(labels::NODE_POOL);
    assert_eq!(decided(&facts, Repair), "nothing");
    assert!(why(&facts, Repair, "n1").contains("no label karpenter.sh/nodepool"));
}

#[test]
fn of_nodes_due_for_as_long_the_cheapest_to_move_goes_and_one_that_cannot_is_passed_over() {
    let goes = |facts: &Facts| {
        let proposal = ask(facts, Repair).proposal.unwrap();
        proposal.nodes().map(ToString::to_string).collect::<Vec<_>>()
    };
    let mut facts = ward(&[("n3", 45), ("n5", 45)]);
    assert_eq!(goes(&facts), ["n3"]);
    facts.pods[3] = with(facts.pods[3].clone(), |spec| spec.priority = 1_000);
    assert_eq!(goes(&facts), ["n5"]);
    facts.pods[5] = with(facts.pods[5].clone(), |spec| {
        spec.node_selector = requirements("team=none");
    });
    assert_eq!(goes(&facts), ["n3"]);
    assert!(why(&facts, Repair, "n5").contains("cannot be scheduled elsewhere"));
}

#[test]
fn ill_nodes_of_a_static_pool_go_one_by_one_within_its_limit() {
    let fixed = |replicas: u64, limit: &str| {
        let mut facts = ward(&[("n3", 45), ("n5", 46)]);
        facts.policies.static_capacity = true;
        facts.node_pools[0].replicas = Some(replicas);
        facts.node_pools[0].limits = limits(limit);
        facts
    };
    let goes = |facts: &Facts| {
        let proposal = ask(facts, Repair).proposal?;
        let names: Vec<String> = proposal.nodes().map(ToString::to_string).collect();
        Some((names.join(" "), proposal.command.replacements.len()))
    };
    assert_eq!(goes(&fixed(10, "")), Some(("n5".to_owned(), 1)));
    assert_eq!(goes(&fixed(10, "nodes=11")), Some(("n5".to_owned(), 1)));
    assert_eq!(goes(&fixed(9, "")), None, "one is too many already");
    let mut full = fixed(10, "nodes=10");
    assert_eq!(goes(&full), None);
    assert_eq!(told(&full), ["Node n3 DisruptionBlocked", "Node n5 DisruptionBlocked"]);
    full.policies.terminate_first_drift = true;
    assert_eq!(goes(&full), None, "that is another gate");
    full.policies.terminate_first_repair = true;
    assert_eq!(goes(&full), Some(("n5".to_owned(), 0)));
    full.node_pools[0].problems = vec![model::Problem::unusable("", "it is wrong")];
    assert_eq!(goes(&full), None, "nothing would come in its place");
}

#[test]
fn budgets_pace_repair_but_for_nodes_that_never_came_up() {
    let mut facts = ward(&[("n1", 45)]);
    let closed = |reason| Budget { reasons: vec![reason], ..budget(BudgetNodes::Count(0)) };
    facts.node_pools[0].disruption.budgets = vec![closed(DisruptionReason::Drifted)];
    assert_ne!(decided(&facts, Repair), "nothing");
    facts.node_pools[0].disruption.budgets = vec![closed(DisruptionReason::Unhealthy)];
    assert_eq!(decided(&facts, Repair), "nothing");
    let spent = "blocked by the disruption budgets of its NodePool for Unhealthy: none may be disrupted now";
    assert_eq!(why(&facts, Repair, "n1"), spent);
    node(&mut facts, "n1").labels.remove(labels::INITIALIZED);
    assert_ne!(decided(&facts, Repair), "nothing");
    // A node that is not ready is a burden for every reason but this.
    let mut facts = ward(&[("n1", 45)]);
    facts.node_pools[0].disruption.budgets = vec![budget(BudgetNodes::Count(1))];
    node(&mut facts, "n1").is_ready = false;
    let budgets = outlook(&facts, &Options::default()).budgets.pop_first().unwrap().1;
    assert_eq!(budgets[&DisruptionReason::Unhealthy], Some(1));
    assert_eq!(budgets[&DisruptionReason::Drifted], Some(0));
}

#[test]
fn a_node_goes_first_where_only_its_own_reservation_has_room() {
    let mut facts = ward(&[("n1", 45)]);
    facts.pods.truncate(2);
    let mut types = default_types();
    let small = types.iter_mut().find(|kind| kind.name.as_str() == "t.small").unwrap();
    small.offerings = vec![Offering {
        capacity_type: CapacityType::Reserved,
        reservation: Some(Reservation {
            id: "cr-1".parse().unwrap(),
            kind: "default".to_owned(),
            interruptible: false,
            count: 0,
        }),
        ..small.offerings[0].clone()
    }];
    let kinds = requirement(&format!("{}=reserved", labels::CAPACITY_TYPE));
    small.requirements.replace(kinds);
    let id = requirement(&format!("{}=cr-1", labels::RESERVATION_ID));
    small.requirements.replace(id);
    offer(&mut facts, types);
    facts.node_pools[0].template.requirements = requirements("paid=reserved");
    // Nothing else has room.
    facts.nodes.retain(|name, _| name.as_str() <= "n1");
    facts.ledger.claims.retain(|name, _| name.as_str() <= "claim-n1");
    for method in [Repair, Drift] {
        let mut facts = facts.clone();
        claim(&mut facts, "n1").conditions.drifted = Some("NodePoolDrifted".to_owned());
        let labels = &mut node(&mut facts, "n1").labels;
        labels.insert(labels::CAPACITY_TYPE.to_owned(), "reserved".to_owned());
        labels.insert(labels::RESERVATION_ID.to_owned(), "cr-1".to_owned());
        if method == Repair {
            // Of two nodes one is more than a fifth, rounded up it is not.
            assert_eq!(facts.nodes.len(), 2);
        }
        assert_eq!(decided(&facts, method), "nothing", "{method}");
        facts.policies.terminate_first_drift = true;
        facts.policies.terminate_first_repair = true;
        let proposal = ask(&facts, method).proposal.unwrap();
        assert!(
            proposal.is_terminate_first && proposal.command.replacements.is_empty(),
            "{method}"
        );
    }
}

/// `n3` has an error for which a reboot is enough; the gate is open.
fn rebootable() -> Facts {
    let mut facts = ward(&[]);
    facts.policies.reboot_for_repair = true;
    fall_ill(&mut facts, "n3", "AcceleratedHardwareReady", 45);
    let ill = node(&mut facts, "n3");
    "first".clone_into(&mut ill.boot_id);
    "NvidiaXID48Error".clone_into(&mut ill.ill_conditions[0].reason);
    facts
}

#[test]
fn a_node_is_rebooted_where_that_is_enough_and_may_help() {
    let progress = |facts: &Facts| {
        let command = ask(facts, Repair).proposal.unwrap().command;
        (command.replacements.len(), command.progress)
    };
    let facts = rebootable();
    assert_eq!(progress(&facts), (0, Progress::Rebooting { since: facts.now }));
    let replaced = (1, Progress::Found);
    let mut closed = rebootable();
    closed.policies.reboot_for_repair = false;
    assert_eq!(progress(&closed), replaced, "behind its gate");
    let mut unknown = rebootable();
    node(&mut unknown, "n3").boot_id.clear();
    assert_eq!(progress(&unknown), replaced, "it was not observed whether it booted");
    let mut worse = rebootable();
    fall_ill(&mut worse, "n3", "StorageReady", 45);
    assert_eq!(progress(&worse), replaced, "replacing wins");
    let mut twice = rebootable();
    for minutes in [600, 120] {
        let reboot = Reboot {
            requested_at: ago(60 * minutes),
            boot_id: "earlier".to_owned(),
            drained_at: ago(60 * minutes),
            issued_at: None,
            ended_at: Some(ago(60 * minutes)),
        };
        let ill = claim(&mut twice, "n3");
        ill.conditions = ill.conditions.with_reboot(reboot);
    }
    assert_eq!(progress(&twice), replaced, "twice within a day is enough");
    let rebooted = |minutes: i64| {
        let mut facts = rebootable();
        let reboot = Reboot {
            requested_at: ago(60 * minutes),
            boot_id: "earlier".to_owned(),
            drained_at: ago(60 * minutes),
            issued_at: Some(ago(60 * minutes)),
            ended_at: Some(ago(60 * minutes)),
        };
        let ill = claim(&mut facts, "n3");
        ill.conditions = ill.conditions.with_reboot(reboot);
        facts
    };
    assert_eq!(ask(&rebooted(9), Repair).proposal, None, "what it reports may be of the last boot");
    assert_eq!(progress(&rebooted(10)), (0, Progress::Rebooting { since: facts.now }));
    let mut spent = rebootable();
    spent.node_pools[0].disruption.budgets = vec![budget(BudgetNodes::Count(0))];
    assert_eq!(ask(&spent, Repair).proposal, None, "budgets pace reboots, too");
}

#[test]
fn a_command_that_reboots_is_valid_and_gives_nothing_up() {
    let facts = rebootable();
    let command = ask(&facts, Repair).proposal.unwrap().command;
    let id = CommandId::derived(&command);
    let plan = begun(&facts, (&id, &command), &Options::default()).unwrap();
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    assert_eq!((plan.changes.len(), plan.started.len(), plan.new_claims.len()), (0, 1, 0));
    assert_eq!(plan.decisions[0].summary, "repair: 1 node to be rebooted");
    // What is said is what the judge asks for.
    let mut closed = facts.clone();
    closed.policies.reboot_for_repair = false;
    let refused = plan_check::violations(&closed, &plan);
    assert!(refused[0].to_string().contains("no node is rebooted for that"), "{refused:?}");
    let mut well = facts;
    fall_ill(&mut well, "n3", "StorageReady", 45);
    let refused = plan_check::violations(&well, &plan);
    assert!(refused[0].to_string().contains("does not cure"), "{refused:?}");
}

#[test]
fn a_reboot_ends_when_the_node_is_back_or_with_its_claim() {
    let mut facts = rebootable();
    let command = ask(&facts, Repair).proposal.unwrap().command;
    let (id, since) = (CommandId::derived(&command), facts.now);
    facts.ledger.commands.insert(id.clone(), command);
    let after = |reboot: Option<Reboot>, minutes: i64| {
        let mut later = facts.clone();
        later.now = since + SignedDuration::from_mins(minutes);
        let ill = claim(&mut later, "n3");
        if let Some(reboot) = reboot {
            ill.conditions = ill.conditions.with_reboot(reboot);
        }
        let plan = carried_on(&later.ledger, later.now);
        assert_eq!(plan_check::violations(&later, &plan), Vec::new());
        (plan.changes.len(), plan.started.values().any(Command::is_rolled_back), plan.ended.len())
    };
    let asked = Reboot {
        requested_at: since,
        boot_id: "first".to_owned(),
        drained_at: since,
        issued_at: None,
        ended_at: None,
    };
    let issued = Reboot { issued_at: Some(since), ..asked.clone() };
    let ended = Reboot { ended_at: Some(since), ..issued.clone() };
    let (waits, gone, back) = ((0, false, 0), (1, false, 1), (0, true, 0));
    assert_eq!(after(None, 600), waits, "its pods may take as long as they may");
    assert_eq!(after(Some(asked.clone()), 4), waits);
    assert_eq!(after(Some(asked), 5), gone, "EC2 does not take the request");
    assert_eq!(after(Some(issued.clone()), 19), waits);
    assert_eq!(after(Some(issued), 20), gone, "it does not come back");
    assert_eq!(after(Some(ended), 1), back);
}
