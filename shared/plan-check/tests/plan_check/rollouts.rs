//! What drift replaces while annotations of the EC2NodeClass limit it.

use jiff::SignedDuration;
use model::{
    CommandId, DeletionReason, ImageId, NodeClaim, Plan, Pod,
    disruption::{Command, DisruptionReason, Method, Progress},
    facts::Facts,
    labels,
    ledger::Counters,
    node::{IllCondition, IllStatus},
    rollout::{Halt, RolloutAnnotations, RolloutTarget},
    static_hash::NODE_POOL,
};
use testkit::build::{claim, id, new_claim, node_of, pod};

use super::{good, good_claim, violations};

const DRIFTED: DeletionReason = DeletionReason::Disrupted(DisruptionReason::Drifted);
const ONE: &[(&str, &str)] = &[(labels::ROLLOUT_CANARY, "1"), (labels::ROLLOUT_BAKE_TIME, "10m")];

/// `old` nodes on `ami-1` and `new` ones on `ami-2`, which is selected, without pods. The new ones were initialized nine
/// minutes ago.
fn fleet(old: usize, new: usize, annotations: &[(&str, &str)]) -> Facts {
    let (mut facts, _) = good();
    facts.pods.clear();
    facts.nodes.clear();
    facts.ledger.claims.clear();
    facts.node_pools[0].disruption.budgets.clear();
    for number in 0..old + new {
        add(&mut facts, &format!("general-6-{number}"), number < old);
    }
    let texts = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let read = RolloutAnnotations::among(&texts.collect());
    facts.class_rollouts = read.into_iter().map(|read| (id("default"), read)).collect();
    facts.class_images = [(id("default"), [(id("m7g.large"), id("ami-2"))].into())].into();
    facts
}

fn add(facts: &mut Facts, name: &str, is_old: bool) {
    let (mut joined, node) = node_of(&claim(name), &format!("i-{}", name.replace('-', "")));
    let since = facts.now - SignedDuration::from_mins(if is_old { 600 } else { 9 });
    let instance = joined.instance.as_mut().unwrap();
    instance.instance_type = id("m7g.large");
    instance.image = Some(id(if is_old { "ami-1" } else { "ami-2" }));
    instance.launched_at = since;
    joined.conditions.initialized_at = Some(since);
    facts.nodes.insert(node.name.clone(), node);
    facts.ledger.claims.insert(joined.name.clone(), joined);
}

/// What is wrong if the first `count` old nodes are deleted because they have drifted.
fn deleted(facts: &Facts, count: usize) -> Vec<String> {
    let names = (0..count).map(|number| format!("general-6-{number}"));
    let claims = names.map(|name| facts.ledger.claims[name.as_str()].deleted(DRIFTED, facts.now));
    let parent = Counters { arrivals: 7, departures: 0 };
    let plan = Plan { parent, changes: claims.collect(), ..Plan::default() };
    violations(facts, &plan).iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(facts: &Facts, count: usize, wanted: &[&str]) {
    let texts = deleted(facts, count);
    let fits = texts.len() == wanted.len()
        && texts.iter().zip(wanted).all(|(text, wanted)| text.contains(wanted));
    assert!(fits, "{texts:#?}");
}

/// The new nodes were initialized ten minutes ago.
fn baked(facts: &mut Facts) {
    for claim in facts.ledger.claims.values_mut() {
        let since = claim.conditions.initialized_at.as_mut().unwrap();
        *since = (*since).min(facts.now - SignedDuration::from_mins(10));
    }
}

#[test]
fn as_many_canaries_as_are_allowed_are_moved_and_no_more() {
    check(&fleet(6, 0, &[]), 6, &[]);
    check(&fleet(6, 0, ONE), 1, &[]);
    check(&fleet(6, 0, ONE), 2, &["NodePool general would have 2 canaries, and 1 is allowed"]);
    check(&fleet(6, 1, ONE), 1, &["NodePool general would have 2 canaries, and 1 is allowed"]);
    let share = &[(labels::ROLLOUT_CANARY, "30%")];
    check(&fleet(7, 0, share), 2, &[]);
    check(&fleet(6, 0, share), 2, &["would have 2 canaries"]);
    // Those that are on their way count.
    let mut leaving = fleet(6, 0, ONE);
    let claim = leaving.ledger.claims["general-6-5"].deleted(DRIFTED, leaving.now);
    leaving.ledger.claims.insert(claim.name.clone(), claim);
    check(&leaving, 1, &["would have 2 canaries"]);
    // What has not drifted is not moved by a rollout, and a node that drifted otherwise is no canary.
    let mut otherwise = fleet(6, 1, ONE);
    let claim = otherwise.ledger.claims.get_mut("general-6-6").unwrap();
    claim.conditions.drifted = Some("RequirementsDrifted".to_owned());
    check(&otherwise, 1, &[]);
}

#[test]
fn a_node_that_came_from_another_nodepool_is_a_canary_of_that_one() {
    let mut facts = fleet(6, 1, ONE);
    let mut other = facts.node_pools[0].clone();
    other.name = id("other");
    facts.node_pools.push(other);
    let from = |facts: &mut Facts, pool: &str| {
        let claim = facts.ledger.claims.get_mut("general-6-6").unwrap();
        claim.node_pool = id("other");
        claim.annotations.insert(labels::MOVED_FROM.to_owned(), pool.to_owned());
    };
    from(&mut facts, "elsewhere");
    check(&facts, 1, &[]);
    from(&mut facts, "general");
    check(&facts, 1, &["would have 2 canaries"]);
    // It came for this change of the NodePool, and not for an earlier one.
    facts.node_pools[0].annotations.extend(NODE_POOL.annotations("2"));
    from(&mut facts, "general/2");
    check(&facts, 1, &["would have 2 canaries"]);
    from(&mut facts, "general/1");
    check(&facts, 1, &[]);
}

#[test]
fn the_others_follow_when_canaries_are_ready_for_the_bake_time_and_not_worse_than_old_nodes() {
    let mut facts = fleet(6, 1, ONE);
    baked(&mut facts);
    check(&facts, 6, &[]);
    let mut unready = facts.clone();
    let node = unready.nodes.get_mut("general-6-6").unwrap();
    node.is_ready = false;
    node.ill_conditions = vec![IllCondition {
        kind: "Ready".to_owned(),
        status: IllStatus::False,
        reason: String::new(),
        since: Some(facts.now - SignedDuration::from_secs(119)),
    }];
    check(&unready, 1, &["would have 2 canaries"]);
    let node = unready.nodes.get_mut("general-6-6").unwrap();
    node.ill_conditions[0].since = Some(facts.now - SignedDuration::from_mins(2));
    check(&unready, 1, &["canaries are not healthy: a larger share of them"]);
    let mut crashing = facts.clone();
    let on = |node: &str, is_ready| Pod {
        started_at: Some(facts.now - SignedDuration::from_mins(5)),
        is_ready,
        ..pod(&format!("app-{node} cpu=100m on:{node}"))
    };
    crashing.pods = vec![on("general-6-6", false), on("general-6-5", true)];
    check(&crashing, 1, &["canaries are not healthy: a larger share of their pods"]);
    crashing.pods[1].is_ready = false;
    check(&crashing, 1, &[]);
}

#[test]
fn nothing_is_moved_in_a_freeze_or_by_annotations_that_cannot_be_read() {
    let now = fleet(1, 0, &[]).now;
    let hour = now.strftime("0 %H * * *").to_string();
    let during = format!("{hour} 1h");
    check(&fleet(2, 0, &[(labels::ROLLOUT_FREEZE, &during)]), 1, &["is frozen by"]);
    let over = format!("{} 1h", (now - SignedDuration::from_hours(2)).strftime("0 %H * * *"));
    check(&fleet(2, 0, &[(labels::ROLLOUT_FREEZE, &over)]), 2, &[]);
    check(&fleet(2, 0, &[(labels::ROLLOUT_CANARY, "0")]), 1, &["has an invalid annotation"]);
    // Other reasons than drift are not held back.
    let frozen = fleet(2, 0, &[(labels::ROLLOUT_FREEZE, &during)]);
    let stored = &frozen.ledger.claims["general-6-0"];
    let changes = vec![stored.deleted(DeletionReason::InstanceEnded, frozen.now)];
    let parent = Counters { arrivals: 7, departures: 0 };
    assert_eq!(violations(&frozen, &Plan { parent, changes, ..Plan::default() }), Vec::new());
}

/// The ledger remembers that canaries of `general` were not healthy.
fn halt(facts: &mut Facts, change: impl FnOnce(&mut Halt)) {
    let target = RolloutTarget {
        node_class: id("default"),
        node_pool: id("general"),
        pool_hash: None,
        class_hash: None,
        image: Some(id("ami-2")),
    };
    let settings = facts.class_rollouts["default"].digest();
    let mut halt = Halt { target, settings, why: "new node a is not ready".to_owned() };
    change(&mut halt);
    let command = Command {
        method: Method::Drift,
        found_at: facts.now,
        candidates: Vec::new(),
        replacements: Vec::new(),
        drain: None,
        progress: Progress::Halted(halt),
    };
    facts.ledger.commands.insert(CommandId::derived(&command), command);
}

#[test]
fn nothing_is_moved_to_what_is_halted() {
    let halted = |change: fn(&mut Halt)| {
        let mut facts = fleet(3, 0, ONE);
        halt(&mut facts, change);
        deleted(&facts, 1)
    };
    let texts = halted(|_| ());
    assert!(texts[0].contains("EC2NodeClass default is halted: new node a"), "{texts:?}");
    assert_eq!(halted(|halt| halt.settings = 7), [""; 0]);
    assert_eq!(halted(|halt| halt.target.image = Some(id("ami-3"))), [""; 0]);
    assert_eq!(halted(|halt| halt.target.class_hash = Some("7".to_owned())), [""; 0]);
    // A halt of another NodePool is about the image, too, and not about the hash of this NodePool.
    assert_eq!(halted(|halt| halt.target.node_pool = id("other")).len(), 1);
    let mut facts = fleet(3, 0, ONE);
    facts.class_images.clear();
    for (key, value) in NODE_POOL.annotations("1") {
        facts.node_pools[0].annotations.insert(key, value);
    }
    halt(&mut facts, |halt| (halt.target.node_pool, halt.target.image) = (id("other"), None));
    check(&facts, 1, &[]);
}

#[test]
fn the_way_back_from_a_halted_image_has_no_canaries() {
    let mut facts = fleet(6, 0, ONE);
    check(&facts, 2, &["would have 2 canaries"]);
    halt(&mut facts, |halt| halt.target.image = Some(id("ami-1")));
    check(&facts, 6, &[]);
}

/// A plan that replaces `general-6-0` by a node with the annotation of canaries.
fn replaced(method: Method) -> Plan {
    let mut claim: NodeClaim = good_claim("general-7-0");
    claim.annotations.insert(labels::CANARY.to_owned(), "true".to_owned());
    let facts = fleet(1, 0, &[]);
    let command = Command {
        method,
        found_at: facts.now,
        candidates: vec![id("general-6-0")],
        replacements: Vec::new(),
        drain: None,
        progress: Progress::Launching { since: facts.now, claims: vec![claim.name.clone()] },
    };
    let started = [(CommandId::derived(&command), command)].into();
    let parent = Counters { arrivals: 7, departures: 0 };
    Plan { parent, new_claims: vec![new_claim(claim, &[])], started, ..Plan::default() }
}

#[test]
fn only_what_replaces_a_drifted_node_starts_from_an_image_that_is_not_accepted() {
    let refused = |facts: &Facts, method: Method| -> Vec<String> {
        let texts = violations(facts, &replaced(method)).into_iter().map(|other| other.to_string());
        texts.filter(|text| text.contains(labels::CANARY)).collect()
    };
    let mut facts = fleet(3, 0, ONE);
    let image: ImageId = id("ami-2");
    facts.class_candidates = [(id("default"), [(id("m7g.large"), image)].into())].into();
    assert_eq!(refused(&facts, Method::Drift), [""; 0]);
    let texts = refused(&facts, Method::SingleNode);
    assert!(texts[0].ends_with("it replaces no drifted node"), "{texts:?}");
    halt(&mut facts, |_| ());
    let texts = refused(&facts, Method::Drift);
    assert!(texts[0].ends_with("no AMI of its EC2NodeClass waits for canaries"), "{texts:?}");
}

#[test]
fn a_command_of_drift_is_held_like_a_deletion() {
    let refused = |count: &str| -> Vec<String> {
        let facts = fleet(3, 1, &[(labels::ROLLOUT_CANARY, count)]);
        let texts = violations(&facts, &replaced(Method::StaticDrift)).into_iter();
        let texts = texts.map(|other| other.to_string());
        texts.filter(|text| text.contains("canaries, and")).collect()
    };
    assert_eq!(refused("2"), [""; 0]);
    let texts = refused("1");
    assert!(texts[0].contains("general-6-0: NodePool general would have 2"), "{texts:?}");
}
