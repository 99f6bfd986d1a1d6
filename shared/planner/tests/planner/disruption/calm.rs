//! What was moved lately is left in peace, if a policy asks for it.

use jiff::SignedDuration;
use model::{
    CommandId, Pod,
    disruption::{Command, DisruptionReason, Method, Progress},
    facts::Facts,
    policies::Calm,
};
use planner::disruption::{
    Options, PreparedCluster, begun, calm::*, carried_on, look, objection::Objection,
};

use crate::planner::support::cluster::*;

/// Two nodes that are too large for their pods, which are of one ReplicaSet, and settings.
fn roomy(calm: Calm) -> Facts {
    let mut facts = cluster(&[("a", "t.large"), ("b", "t.large")]);
    facts.pods = vec![
        owned(app("web-1", "a", "cpu=9"), "apps/v1", "ReplicaSet"),
        owned(app("web-2", "b", "cpu=9"), "apps/v1", "ReplicaSet"),
        Pod { owner: None, ..app("alone", "b", "cpu=100m") },
    ];
    facts.policies.calm = calm;
    facts
}

fn resting(minutes: i64) -> Calm {
    Calm { workload_rest: SignedDuration::from_mins(minutes), ..Calm::default() }
}

fn bounded(most: u64) -> Calm {
    Calm { moves_per_hour_max: Some(most), ..Calm::default() }
}

/// What is remembered when the node of `a` goes by `method`.
#[expect(clippy::unwrap_in_result, reason = "`None` is what a plan may say, an error is not")]
fn moved(facts: &Facts, method: Method) -> Option<(CommandId, Command)> {
    let claim = facts.ledger.claims.keys().next().unwrap().clone();
    let command = Command {
        method,
        found_at: facts.now,
        candidates: vec![claim],
        replacements: Vec::new(),
        drain: None,
        progress: Progress::Found,
    };
    let plan = begun(facts, (&CommandId::derived(&command), &command), &Options::deployed());
    let mut started = plan.unwrap().started;
    assert!(started.len() < 2);
    started.pop_first()
}

/// The same facts, some minutes after the node of `a` was disrupted.
fn later(facts: &Facts, minutes: i64) -> Facts {
    let (id, command) = moved(facts, Method::Drift).unwrap();
    let mut facts = facts.clone();
    facts.ledger.commands.insert(id, command);
    facts.now += SignedDuration::from_mins(minutes);
    facts
}

#[test]
fn what_moves_is_remembered_as_long_as_a_setting_asks_for_it() {
    assert_eq!(moved(&roomy(Calm::default()), Method::Drift), None);
    let both = Calm { moves_per_hour_max: Some(5), ..resting(90) };
    for (calm, minutes) in [(resting(10), 10), (bounded(5), 60), (both, 90)] {
        let facts = roomy(calm);
        let (id, command) = moved(&facts, Method::Drift).unwrap();
        assert!(id.as_str().starts_with("moved-drift-"), "{id}");
        let until = facts.now + SignedDuration::from_mins(minutes);
        let workloads = facts.pods[0].workload().into_iter().collect();
        assert_eq!(command.progress, Progress::Moved { until, pods: 1, workloads });
        let mut ledger = facts.ledger.clone();
        ledger.commands.insert(id.clone(), command);
        assert!(carried_on(&ledger, until - SignedDuration::from_secs(1)).is_empty());
        assert_eq!(carried_on(&ledger, until).ended, [id].into());
    }
    // A node without pods moves nothing.
    let mut facts = roomy(bounded(5));
    facts.pods.remove(0);
    assert_eq!(moved(&facts, Method::Emptiness), None);
}

#[test]
fn a_workload_rests_after_a_pod_of_it_was_moved() {
    let facts = roomy(resting(30));
    assert_eq!(
        why(&facts, Method::SingleNode, "b"),
        why(&roomy(Calm::default()), Method::SingleNode, "b")
    );
    let why_later = |minutes| why(&later(&facts, minutes), Method::SingleNode, "b");
    assert!(why_later(29).contains("web-2 was moved recently"), "{}", why_later(29));
    assert!(!why_later(30).contains("rests"), "{}", why_later(30));
    // Whatever has drifted goes all the same.
    assert!(!why(&later(&facts, 1), Method::Drift, "b").contains("rests"));
    // Other workloads do not wait.
    let mut other = later(&facts, 1);
    other.pods.remove(1);
    assert!(!why(&other, Method::SingleNode, "b").contains("rests"));
}

#[test]
fn no_more_pods_are_moved_within_an_hour_than_may() {
    // One was moved, and two would be next.
    for (most, minutes, is_held) in [(2, 59, true), (2, 60, false), (3, 59, false), (1, 10, true)] {
        let (facts, options) = (later(&roomy(bounded(most)), minutes), Options::default());
        let prepared = PreparedCluster::of(&facts, &options);
        let mut candidates = prepared.field.candidates.iter();
        let b = candidates.find(|candidate| candidate.node.name.as_str() == "b").unwrap();
        for method in Method::ALL {
            let goes_anyway = matches!(method, Method::Repair | Method::Emptiness);
            let objection = (is_held && !goes_anyway).then_some(Objection::ManyMoves(1));
            let why = prepared.state.history.objection(method, b);
            assert_eq!(why, objection, "{most}, {minutes}: {method}");
        }
        let said = why(&facts, Method::SingleNode, "b");
        let held =
            said == "1 pod moved within the last hour, which is the maximum (setting MovesPerHour)";
        assert_eq!(held, is_held, "{said}");
    }
    // In a quiet hour more than the bound may go at once: it would never go otherwise.
    let facts = roomy(bounded(1));
    assert!(!why(&facts, Method::SingleNode, "b").contains("last hour"));
}

#[test]
fn several_nodes_together_are_held_to_the_bound() {
    let mut facts = cluster(&[("a", "t.large"), ("b", "t.large"), ("c", "t.large")]);
    facts.pods = ["a", "b", "c"].map(|on| app(&format!("pod-{on}"), on, "cpu=100m")).into();
    assert_eq!(
        decided(&facts, Method::MultiNode).split(' ').filter(|word| word.len() == 1).count(),
        3
    );
    facts.policies.calm = bounded(2);
    // One pod was moved before: one more may be.
    let history = History { moved: 1, most: Some(2), ..History::default() };
    assert_eq!(history.too_many(1), None);
    assert_eq!(history.too_many(2), Some(Objection::ManyMoves(1)));
    let (id, mut command) = moved(&roomy(bounded(2)), Method::Drift).unwrap();
    command.found_at = facts.now;
    facts.ledger.commands.insert(id, command);
    assert_eq!(decided(&facts, Method::MultiNode), "nothing");
    assert_ne!(decided(&facts, Method::SingleNode), "nothing");
}

#[test]
fn a_new_node_saves_as_much_as_is_asked_for() {
    let facts = |saving_min_millionths| {
        let mut facts = cluster(&[("a", "t.large")]);
        facts.pods = vec![app("web", "a", "cpu=500m")];
        facts.policies.calm = Calm { saving_min_millionths, ..Calm::default() };
        facts
    };
    let usual = decided(&facts(0), Method::SingleNode);
    assert_eq!(usual, "a → t.small|t.gpu|t.medium");
    assert_eq!(decided(&facts(1), Method::SingleNode), usual);
    let fewer = decided(&facts(800_000), Method::SingleNode);
    assert!(fewer.len() < usual.len() && fewer.starts_with("a → t.small"), "{fewer}");
    let everything = facts(1_000_000);
    assert_eq!(decided(&everything, Method::SingleNode), "nothing");
    let why = why(&everything, Method::SingleNode, "a");
    assert!(why.contains("save too little of $"), "{why}");
    // What goes without a new node saves all that it costs.
    let mut two = everything;
    add(&mut two, "b", "t.large", model::CapacityType::OnDemand);
    two.pods.push(app("other", "b", "cpu=500m"));
    assert_eq!(decided(&two, Method::SingleNode), "a");
}

#[test]
fn moving_a_pod_saves_as_much_as_is_asked_for() {
    let facts = |least: &str| {
        let mut facts = cluster(&[("a", "t.large")]);
        facts.pods = vec![app("web", "a", "cpu=500m"), app("other", "a", "cpu=100m")];
        let saving_per_move_min = model::HourlyPrice::parse_dollars(least).unwrap();
        facts.policies.calm = Calm { saving_per_move_min, ..Calm::default() };
        facts
    };
    let usual = decided(&facts("0"), Method::SingleNode);
    assert_ne!(usual, "nothing");
    let (all, options) = (facts("0"), Options::default());
    let answer = PreparedCluster::of(&all, &options).decide(Method::SingleNode);
    let saved = answer.proposal.unwrap().saving();
    assert_eq!(decided(&facts(&saved.divided_by(2).to_string()), Method::SingleNode), usual);
    let more = facts(&saved.to_string());
    assert_eq!(decided(&more, Method::SingleNode), "nothing");
    let why = why(&more, Method::SingleNode, "a");
    assert!(why.contains("and moving 2 pods must save $"), "{why}");
}

#[test]
fn a_look_says_what_rests() {
    let facts = later(&roomy(resting(30)), 1);
    let looked = look(&facts, DisruptionReason::Underutilized, &Options::deployed());
    let rejected = looked.decision.unwrap().rejected;
    assert!(
        rejected.iter().any(|why| why.to_string().contains("was moved recently")),
        "{rejected:?}"
    );
}
