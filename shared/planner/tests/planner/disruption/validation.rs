//! What makes a command void 15 seconds later (VA01–VA09, EM27, CE08, CE09).

use model::{
    NodeName,
    disruption::{Command, DisruptionReason, Method},
    facts::Facts,
    labels,
    node_pool::BudgetNodes,
};
use planner::disruption::{Options, Proposal, validation::*};

use crate::planner::support::cluster::*;

fn again(facts: &Facts, command: &Command) -> Result<Valid, Voided> {
    still(facts, command, &Options::default())
}

fn merged() -> (Facts, Command) {
    let names = ["a", "b"];
    let mut facts = cluster(&names.map(|name| (name, "t.large")));
    facts.pods = names.map(|on| app(&format!("p-{on}"), on, "cpu=1")).to_vec();
    let command = ask(&facts, Method::MultiNode).proposal.unwrap().command;
    (facts, command)
}

fn replaced() -> (Facts, Command) {
    let mut facts = cluster(&[("a", "t.large")]);
    facts.pods = vec![app("web", "a", "cpu=1")];
    let command = ask(&facts, Method::SingleNode).proposal.unwrap().command;
    (facts, command)
}

/// Why `command` is void after `change`.
#[track_caller]
fn check((facts, command): (Facts, Command), change: impl Fn(&mut Facts), expected: &str) {
    let mut facts = facts;
    let whole = Valid { command: command.clone(), dropped: Vec::new() };
    assert_eq!(again(&facts, &command), Ok(whole));
    change(&mut facts);
    let valid = again(&facts, &command);
    let text = valid.err().map(|voided| voided.to_string()).unwrap_or_default();
    assert!(text.contains(expected) && !text.is_empty(), "{text}");
}

#[test]
fn a_command_is_void_when_a_node_is_no_candidate_any_more() {
    let protect = |facts: &mut Facts| {
        let pod = annotated(app("db", "a", "cpu=100m"), labels::DO_NOT_DISRUPT, "true");
        facts.pods.push(pod);
    };
    let hold = |facts: &mut Facts| {
        facts.pods.push(app("held", "a", "cpu=100m"));
        facts.surroundings.disruption_budgets = vec![pdb("hold", "held")];
    };
    for case in [merged, replaced] {
        check(case(), protect, "void (churn): a: blocked by the annotation");
        check(case(), hold, "void (churn): a: PodDisruptionBudget default/hold");
        check(
            case(),
            |facts| facts.ledger.claims.clear(),
            "void (churn): claim-a: its NodeClaim is gone",
        );
        check(case(), |facts| facts.nodes.clear(), "void (churn): claim-a: its node is gone");
    }
}

#[test]
fn a_command_is_void_when_budgets_are_spent_or_pods_were_nominated_to_a_node() {
    let close = |facts: &mut Facts| {
        let budgets = vec![budget(BudgetNodes::Count(0))];
        facts.node_pools[0].disruption.budgets = budgets;
    };
    let nominate = |facts: &mut Facts| {
        let until = now() + jiff::SignedDuration::from_secs(20);
        facts.surroundings.nominated.insert("a".parse().unwrap(), until);
    };
    for case in [merged, replaced] {
        check(case(), close, "void (budget): a: blocked by the disruption budgets");
        check(case(), nominate, "void (budget): a: nominated for pending pods");
    }
    let one_left = |facts: &mut Facts| {
        let mut single = budget(BudgetNodes::Count(1));
        single.reasons = vec![DisruptionReason::Underutilized];
        facts.node_pools[0].disruption.budgets = vec![single];
    };
    check(merged(), one_left, "void (budget): b: blocked by the disruption budgets");
}

#[test]
fn a_command_is_void_when_its_pods_do_not_fit_as_they_did() {
    let grow = |facts: &mut Facts| facts.pods.push(app("new", "a", "cpu=13"));
    check(replaced(), grow, "void (scheduling): its replacement may not have all");
    let split = |facts: &mut Facts| {
        facts.pods.push(app("large", "a", "cpu=14"));
        facts.pods.push(app("other", "b", "cpu=14"));
    };
    check(merged(), split, "void (scheduling)");
    let fewer = |facts: &mut Facts| {
        offer(
            facts,
            default_types().into_iter().filter(|t| t.name.as_str() != "t.small").collect(),
        );
    };
    check(replaced(), fewer, "void (scheduling): its replacement may not have all");
    let room = |facts: &mut Facts| {
        add_node(facts, crate::planner::support::node("own cpu=64 memory=64Gi pods=99"));
    };
    check(replaced(), room, "void (scheduling): its pods need 0 new nodes now, not 1");
    let stuck = |facts: &mut Facts| {
        let pod = facts.pods[0].clone();
        facts.pods[0] = with(pod, |s| s.node_selector = requirements("team=none"));
    };
    check(replaced(), stuck, "void (scheduling): pod default/web cannot be scheduled elsewhere");
}

#[test]
fn of_an_emptiness_command_the_rest_still_holds() {
    let mut facts = cluster(&[("a", "t.large"), ("b", "t.large")]);
    let proposal = ask(&facts, Method::Emptiness).proposal.unwrap();
    let command = &proposal.command;
    facts.pods = vec![app("web", "a", "cpu=1")];
    let left = again(&facts, command).unwrap();
    let left: Proposal = proposal.clone().narrowed(left);
    assert_eq!(left.nodes().map(NodeName::as_str).collect::<Vec<_>>(), ["b"]);
    assert_eq!(left.command.candidates.len(), 1);
    assert_eq!(left.rejected, ["a: not empty: 1 pod would need another node"]);
    assert_eq!(left.price_before.nanos(), 1_600_000_000);
    facts.pods.push(app("db", "b", "cpu=1"));
    assert!(matches!(again(&facts, command), Err(Voided::Churn(_))));
    facts.pods.clear();
    facts.node_pools[0].disruption.budgets = vec![budget(BudgetNodes::Count(0))];
    assert!(matches!(again(&facts, command), Err(Voided::Budget(_))));
}

/// A large node that has drifted, and a budget that is closed from noon on.
fn drifted() -> Facts {
    let mut facts = cluster(&[("a", "t.large")]);
    claim(&mut facts, "a").conditions.drifted = Some("AMIDrift".to_owned());
    let mut closed = budget(BudgetNodes::Count(0));
    closed.window = Some(model::node_pool::BudgetWindow {
        schedule: "0 12 * * *".to_owned(),
        duration: jiff::SignedDuration::from_hours(1),
    });
    facts.node_pools[0].disruption.budgets = vec![closed];
    facts.now = ago(10);
    facts
}

#[test]
fn a_window_that_opens_while_a_command_waits_stops_it() {
    let answer = ask(&drifted(), Method::Emptiness);
    assert!(answer.proposal.is_none());
    assert!(matches!(answer.voided, Some((_, Voided::Budget(_)))));
}

#[test]
fn drift_is_carried_out_as_it_was_found() {
    let mut facts = drifted();
    let answer = ask(&facts, Method::Drift);
    assert!(answer.voided.is_none());
    // Asking again later nevertheless answers what holds then.
    let command = answer.proposal.unwrap().command;
    assert_eq!(again(&facts, &command).map(|valid| valid.command), Ok(command.clone()));
    facts.now = now();
    assert!(matches!(again(&facts, &command), Err(Voided::Budget(_))));
}
