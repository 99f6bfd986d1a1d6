//! Which nodes may be candidates, and why not (CA01–CA31).

use std::collections::BTreeMap;

use model::{Pod, disruption::Method, facts::Facts, labels};
use planner::index::id::Id;

use crate::planner::support::cluster::*;

/// Why neither `graceful` emptiness or consolidation nor `eventual` drift may look at the only node.
#[track_caller]
fn check(change: impl Fn(&mut Facts), graceful: &str, eventual: &str) {
    let mut facts = cluster(&[("a", "t.large")]);
    facts.pods = vec![app("web", "a", "cpu=1")];
    claim(&mut facts, "a").conditions.drifted = Some("NodePoolDrifted".to_owned());
    change(&mut facts);
    for (method, expected) in [(Method::SingleNode, graceful), (Method::Drift, eventual)] {
        let eligible = !ask(&facts, method).eligible.is_empty();
        let reason = if eligible { String::new() } else { why(&facts, method, "a") };
        assert!(reason.contains(expected), "{method}: {reason}");
        assert_eq!(eligible, expected.is_empty(), "{method}: {reason}");
    }
}

fn with_pod(pod: Pod) -> impl Fn(&mut Facts) {
    move |facts| facts.pods.push(pod.clone())
}

fn with_grace(change: impl Fn(&mut Facts)) -> impl Fn(&mut Facts) {
    move |facts| {
        change(facts);
        let grace = jiff::SignedDuration::from_mins(5);
        claim(facts, "a").termination_grace_period = Some(grace);
    }
}

fn protected() -> Pod {
    annotated(app("db", "a", "cpu=1"), labels::DO_NOT_DISRUPT, "true")
}

fn held(facts: &mut Facts) {
    facts.surroundings.disruption_budgets = vec![pdb("hold", "web")];
}

#[test]
fn a_pod_that_forbids_disruption_keeps_its_node_unless_drift_may_wait_for_it() {
    let why = "blocked by the annotation karpenter.sh/do-not-disrupt of pod default/db";
    check(with_pod(protected()), why, why);
    check(with_grace(with_pod(protected())), why, "");
    check(with_pod(owned(protected(), "v1", "Node")), why, why);
    check(with_pod(owned(protected(), "apps/v1", "DaemonSet")), why, why);
}

#[test]
fn what_cannot_be_read_keeps_the_node_even_from_drift() {
    let why = "pod default/new on it cannot be read";
    check(with_pod(unreadable("new", "a")), why, why);
    check(with_grace(with_pod(unreadable("new", "a"))), why, why);
    check(with_pod(owned(unreadable("new", "a"), "apps/v1", "DaemonSet")), "", "");
    let unlocated = |facts: &mut Facts| facts.unlocated_pod = Some("Pod number 3".to_owned());
    let why = "a pod that cannot be read may be on it: Pod number 3";
    check(unlocated, why, why);
    check(with_grace(unlocated), why, why);
}

#[test]
fn a_pod_that_goes_or_ended_forbids_nothing() {
    check(with_pod(Pod { deleted_at: Some(now()), ..protected() }), "", "");
    check(with_pod(Pod { phase: model::pod::PodPhase::Succeeded, ..protected() }), "", "");
}

#[test]
fn a_disruption_budget_keeps_the_node_unless_drift_may_wait_for_it() {
    let why = "PodDisruptionBudget default/hold allows no disruption";
    check(held, why, why);
    check(with_grace(held), why, "");
    let two = |facts: &mut Facts| {
        let open = |name| model::eviction::PodDisruptionBudget {
            disruptions_allowed: 1,
            ..pdb(name, "web")
        };
        facts.surroundings.disruption_budgets = vec![open("one"), open("two")];
    };
    check(two, "two PodDisruptionBudgets", "two PodDisruptionBudgets");
}

#[test]
fn a_disruption_budget_holds_daemons_but_not_what_is_never_evicted() {
    let pod = |kind: Option<(&str, &str)>| {
        let pod = app("held", "a", "cpu=1");
        match kind {
            Some((api, kind)) => owned(pod, api, kind),
            None => pod,
        }
    };
    let with_budget = |pod: Pod| {
        move |facts: &mut Facts| {
            facts.pods.push(pod.clone());
            facts.surroundings.disruption_budgets = vec![pdb("hold", "held")];
        }
    };
    let why = "PodDisruptionBudget default/hold";
    check(with_budget(pod(Some(("apps/v1", "DaemonSet")))), why, why);
    check(with_budget(pod(Some(("v1", "Node")))), "", "");
    check(with_budget(Pod { phase: model::pod::PodPhase::Failed, ..pod(None) }), "", "");
    check(with_budget(Pod { deleted_at: Some(now()), ..pod(None) }), "", "");
    let tolerating = with(pod(None), |spec| {
        spec.tolerations = vec![tolerates_key(&disrupted_taint().key)];
    });
    check(with_budget(tolerating), "", "");
}

#[test]
fn a_node_that_is_not_whole_is_no_candidate() {
    let annotate = |text: &'static str| {
        move |facts: &mut Facts| {
            let texts = &mut node(facts, "a").annotations;
            texts.insert(labels::DO_NOT_DISRUPT.to_owned(), text.to_owned());
        }
    };
    check(annotate("true"), "its annotation", "its annotation");
    check(annotate("false"), "", "");
    let unlabelled = |key: &'static str| move |f: &mut Facts| drop(node(f, "a").labels.remove(key));
    check(unlabelled(labels::INITIALIZED), "not initialized", "not initialized");
    check(unlabelled(labels::NODE_POOL), "no label", "no label");
    check(|facts| facts.node_pools.clear(), "does not exist", "does not exist");
    let nominate = |facts: &mut Facts| {
        let until = now() + jiff::SignedDuration::from_secs(20);
        facts.surroundings.nominated = BTreeMap::from([("a".parse().unwrap(), until)]);
    };
    check(nominate, "nominated", "nominated");
    let past = |facts: &mut Facts| {
        facts.surroundings.nominated = BTreeMap::from([("a".parse().unwrap(), now())]);
    };
    check(past, "", "");
    let delete = |facts: &mut Facts| {
        let changed = claim(facts, "a");
        *changed = changed.deleted(model::DeletionReason::Expired, now());
    };
    check(delete, "already being disrupted", "already being disrupted");
    let terminating = |facts: &mut Facts| {
        claim(facts, "a").conditions.instance_terminating_since = Some(jiff::Timestamp::UNIX_EPOCH);
    };
    check(terminating, "already being disrupted", "already being disrupted");
    let unmanaged = |facts: &mut Facts| facts.ledger.claims.clear();
    check(unmanaged, "no NodeClaim", "no NodeClaim");
}

#[test]
fn a_claim_without_a_node_is_no_candidate() {
    let mut facts = cluster(&[("a", "t.large")]);
    facts.nodes.clear();
    let outlook = planner::disruption::outlook(&facts, &planner::disruption::Options::default());
    assert_eq!(outlook.ineligible["claim-a"].to_string(), "its node has not registered yet");
}

#[test]
fn what_is_not_known_about_a_node_keeps_it_from_consolidation_only() {
    let unlabelled = |key: &'static str| move |f: &mut Facts| drop(node(f, "a").labels.remove(key));
    check(unlabelled(labels::CAPACITY_TYPE), "no label karpenter.sh/capacity-type", "");
    check(unlabelled(labels::ZONE), "no label topology.kubernetes.io/zone", "");
    check(unlabelled(labels::INSTANCE_TYPE), "no known price", "");
    let unknown = |facts: &mut Facts| {
        let texts = &mut node(facts, "a").labels;
        texts.insert(labels::INSTANCE_TYPE.to_owned(), "x.large".to_owned());
    };
    check(unknown, "no known price", "");
}

#[test]
fn a_pool_without_types_has_no_candidates() {
    let none = |facts: &mut Facts| offer(facts, Vec::new());
    check(none, "has no instance types", "has no instance types");
}

#[test]
fn prices_that_no_instance_has_are_put_into_words() {
    let said = |dollars: &str| {
        let price = model::HourlyPrice::parse_dollars(dollars).unwrap();
        planner::disruption::Objection::NotCheaper(price).to_string()
    };
    // An instance of a capacity reservation counts for a ten-millionth of its on-demand price.
    for (dollars, why) in [
        ("0.0000000096", "its capacity reservation is paid for anyway"),
        ("0", "its own price is not known, or 0"),
        ("0.0959999904", "nothing below $0.0960 an hour fits its pods"),
        ("0.023456", "nothing below $0.023456 an hour fits its pods"),
    ] {
        assert_eq!(said(dollars), format!("no cheaper replacement: {why}"));
    }
}

#[test]
fn a_node_is_worth_disrupting_for_its_price_and_against_what_its_pods_cost() {
    let mut facts = cluster(&[("a", "t.large"), ("b", "t.large"), ("c", "t.small")]);
    let cheap =
        |pod: Pod| annotated(pod, "controller.kubernetes.io/pod-deletion-cost", "-100000000");
    facts.pods =
        vec![app("one", "a", "cpu=1"), cheap(app("two", "b", "cpu=1")), app("three", "c", "cpu=1")];
    let state = planner::disruption::nodes::State::of(
        &facts,
        facts.now,
        &planner::disruption::Options::default(),
    );
    let field = planner::disruption::search::Field::of(&state);
    let sorted = field.by_savings(&[0, 1, 2].map(Id::nth));
    let names: Vec<&str> =
        field.get(&sorted).iter().map(|candidate| candidate.node.name.as_str()).collect();
    assert_eq!(names, ["b", "a", "c"]);
}
