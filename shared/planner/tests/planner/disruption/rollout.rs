//! Rollouts: canaries, their health, halts and freezes.

mod images;
mod pools;

use jiff::SignedDuration;
use model::{
    ClaimPhase, NodePoolName, Pod,
    disruption::{Command, Method, Progress},
    duration::later,
    event::EventReason,
    facts::Facts,
    labels::{self, ROLLOUT_BAKE_TIME, ROLLOUT_CANARY, ROLLOUT_FREEZE},
    node::{IllCondition, IllStatus},
    recorded::Question,
    rollout::RolloutAnnotations,
    static_hash::{NODE_CLASS, NODE_POOL},
};
use planner::{
    Answer, Memory, answer,
    disruption::{Options, outlook, rollout_condition},
};

use crate::planner::support::cluster::*;

/// Nodes on `ami-1` with a pod each, of a class that selects `ami-2` and has `annotations`.
fn fleet(nodes: usize, annotations: &[(&str, &str)]) -> Facts {
    let mut facts = cluster(&[]);
    for index in 0..nodes {
        add_one(&mut facts, &format!("n{index:02}"), "ami-1", 7_200);
    }
    let of_types = [("t.large".parse().unwrap(), "ami-2".parse().unwrap())].into();
    facts.class_images = [("default".parse().unwrap(), of_types)].into();
    settings(&mut facts, annotations);
    facts
}

fn settings(facts: &mut Facts, annotations: &[(&str, &str)]) {
    let texts = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let read = RolloutAnnotations::among(&texts.collect());
    facts.class_rollouts =
        read.into_iter().map(|read| ("default".parse().unwrap(), read)).collect();
}

/// Adds a node on `image` that was initialized `age` seconds ago, with one pod.
fn add_one(facts: &mut Facts, name: &str, image: &str, age: i64) {
    add(facts, name, "t.large", model::CapacityType::OnDemand);
    let claim = claim(facts, name);
    let instance = claim.instance.as_mut().expect("an instance");
    instance.image = Some(image.parse().unwrap());
    instance.launched_at = ago(age);
    claim.created_at = ago(age);
    claim.conditions.initialized_at = Some(ago(age));
    let pod = app(&format!("web-{name}"), name, "cpu=12");
    facts.pods.push(Pod { started_at: Some(ago(age)), ..pod });
}

fn pod_on<'f>(facts: &'f mut Facts, node: &str) -> &'f mut Pod {
    let on = |pod: &&mut Pod| pod.node.as_ref().is_some_and(|name| name.as_str() == node);
    facts.pods.iter_mut().find(on).expect("a pod")
}

fn looked(facts: &Facts) -> Answer {
    answer(facts, &Question::Disrupt { unseen: [].into(), from: None }, &Memory::default())
}

/// How many nodes the functions begin to replace, if each answer is committed.
fn moved(mut facts: Facts) -> usize {
    let mut count = 0;
    for _ in 0..30 {
        let answer = looked(&facts);
        let started = answer.plan.started.iter().filter(|(_, command)| command.is_under_way());
        if started.clone().count() == 0 {
            break;
        }
        count += started.count();
        for new in &answer.plan.new_claims {
            facts.ledger.claims.insert(new.claim.name.clone(), new.claim.clone());
        }
        facts.ledger.commands.extend(answer.plan.started);
        facts.ledger.head.counters.arrivals += 1;
    }
    count
}

const TWENTIETH: (&str, &str) = (ROLLOUT_CANARY, "5%");

#[test]
fn without_annotations_every_node_is_replaced_and_with_a_canary_only_the_first() {
    assert_eq!(moved(fleet(20, &[])), 20);
    assert_eq!(moved(fleet(20, &[TWENTIETH])), 1);
    // One is the least, and a share is rounded down.
    assert_eq!(moved(fleet(3, &[TWENTIETH])), 1);
    assert_eq!(moved(fleet(19, &[(ROLLOUT_CANARY, "10%")])), 1);
    assert_eq!(moved(fleet(20, &[(ROLLOUT_CANARY, "3")])), 3);
    assert_eq!(moved(fleet(2, &[(ROLLOUT_CANARY, "3")])), 2);
    // Freezes alone ask for no canary.
    assert_eq!(moved(fleet(4, &[(ROLLOUT_FREEZE, "@yearly 1h")])), 4);
}

/// The facts of [`fleet`] where `canaries` on `ami-2` were initialized `age` seconds ago.
fn with_canaries(nodes: usize, canaries: usize, age: i64, annotations: &[(&str, &str)]) -> Facts {
    let mut facts = fleet(nodes, annotations);
    for index in 0..canaries {
        add_one(&mut facts, &format!("new{index}"), "ami-2", age);
    }
    facts
}

#[test]
fn the_others_follow_once_the_canaries_are_healthy_for_the_bake_time() {
    let bake = (ROLLOUT_BAKE_TIME, "10m");
    assert_eq!(moved(with_canaries(19, 1, 599, &[TWENTIETH, bake])), 0);
    assert_eq!(moved(with_canaries(19, 1, 600, &[TWENTIETH, bake])), 19);
    assert_eq!(moved(with_canaries(19, 1, 899, &[TWENTIETH])), 0);
    assert_eq!(moved(with_canaries(19, 1, 900, &[TWENTIETH])), 19);
    // All canaries have to be there, and each of them has to pass.
    let three = (ROLLOUT_CANARY, "3");
    assert_eq!(moved(with_canaries(19, 1, 600, &[three, bake])), 2);
    let mut young = with_canaries(19, 3, 600, &[three, bake]);
    assert_eq!(moved(young.clone()), 19);
    claim(&mut young, "new1").conditions.initialized_at = Some(ago(599));
    assert_eq!(moved(young.clone()), 0);
    // What joined for pods beside them is no canary that is waited for.
    add_one(&mut young, "new3", "ami-2", 10);
    claim(&mut young, "new1").conditions.initialized_at = Some(ago(600));
    assert_eq!(moved(young), 19);
    let why = why(&with_canaries(19, 1, 599, &[TWENTIETH, bake]), Method::Drift, "n03");
    let until = later(ago(0), SignedDuration::from_secs(1));
    let wanted = format!(
        "the rollout of EC2NodeClass default waits for its canaries, which must be healthy until {until:.0}"
    );
    assert_eq!(why, wanted);
    // A canary that is not ready has no end of its bake time.
    let mut unready = with_canaries(19, 1, 599, &[TWENTIETH, bake]);
    node(&mut unready, "new0").is_ready = false;
    let ill = IllCondition {
        kind: "Ready".to_owned(),
        status: IllStatus::False,
        reason: String::new(),
        since: Some(ago(10)),
    };
    node(&mut unready, "new0").ill_conditions = vec![ill];
    let why = self::why(&unready, Method::Drift, "n03");
    assert_eq!(why, "the rollout of EC2NodeClass default waits for its canaries");
}

#[test]
fn that_a_node_waits_for_canaries_says_more_than_that_no_node_is_consolidated() {
    let mut facts = with_canaries(19, 1, 599, &[TWENTIETH]);
    facts.node_pools[0].disruption.consolidate_after = None;
    let outlook = outlook(&facts, &Options::default());
    let answer = |node: &str| {
        let (method, why) = outlook.decisive(&node.parse().unwrap(), outlook.proposal())?;
        Some((method, why.to_string()))
    };
    let (method, why) = answer("n03").expect("a reason");
    assert_eq!(method, Some(Method::Drift));
    assert!(why.starts_with("the rollout of EC2NodeClass default waits"), "{why}");
    let (_, why) = answer("new0").expect("a reason");
    assert_eq!(why, "consolidateAfter of NodePool general is Never");
}

#[test]
fn what_is_not_known_to_be_healthy_does_not_pass() {
    let passes = |change: &dyn Fn(&mut Facts)| {
        let mut facts = with_canaries(19, 1, 900, &[TWENTIETH]);
        change(&mut facts);
        let answer = looked(&facts);
        assert_eq!(halts(&answer), 0);
        !answer.plan.started.is_empty()
    };
    assert!(passes(&|_| ()));
    assert!(!passes(&|facts| {
        node(facts, "new0").labels.remove(labels::INITIALIZED);
        let instance = claim(facts, "new0").instance.as_mut().unwrap();
        instance.launched_at = ago(100);
    }));
    assert!(!passes(&|facts| {
        facts.pods.retain(|pod| pod.node.as_ref().is_none_or(|node| node.as_str() != "new0"));
        facts.pods.push(unreadable("odd", "new0"));
    }));
    // One that is launched is neither old nor proven.
    assert!(!passes(&|facts| {
        let claim = claim(facts, "new0");
        claim.phase = ClaimPhase::Created;
        claim.conditions.initialized_at = None;
        claim.instance = None;
        facts.nodes.remove("new0");
    }));
}

fn halts(answer: &Answer) -> usize {
    let commands = answer.plan.started.values();
    commands.filter(|command| matches!(command.progress, Progress::Halted(_))).count()
}

/// Why the rollout is halted, with what is said of it; empty if it is not.
fn halted(facts: &Facts) -> String {
    let answer = looked(facts);
    let under_way = answer.plan.started.values().filter(|command| command.is_under_way());
    let is_of_halt =
        |event: &&model::event::ObjectEvent| event.reason == EventReason::RolloutHalted;
    assert_eq!(answer.events.iter().filter(is_of_halt).count(), halts(&answer));
    let mut halts = answer.plan.started.values().filter_map(|command| match &command.progress {
        Progress::Halted(halt) => Some(halt.why.clone()),
        _ => None,
    });
    let why = halts.next().unwrap_or_default();
    assert!(halts.next().is_none());
    assert!(why.is_empty() || under_way.count() == 0, "nothing more begins");
    why
}

fn crashes(node: &'static str, started: i64) -> impl Fn(&mut Facts) {
    move |facts| {
        let pod = pod_on(facts, node);
        (pod.is_ready, pod.started_at) = (false, Some(ago(started)));
    }
}

#[test]
fn canaries_that_are_worse_than_the_old_nodes_halt_the_rollout() {
    let check = |changes: &[&dyn Fn(&mut Facts)], expected: &str| {
        let mut facts = with_canaries(19, 1, 700, &[TWENTIETH]);
        for change in changes {
            change(&mut facts);
        }
        assert_eq!(halted(&facts), expected);
    };
    let pods = "1 of 1 pods on new nodes are not ready 5 minutes after their start, and 0 of 19 on old nodes";
    check(&[], "");
    check(&[&crashes("new0", 300)], pods);
    check(&[&crashes("new0", 299)], "");
    // It does not run well on old nodes either.
    let names: Vec<String> = (0..19).map(|index| format!("n{index:02}")).collect();
    let everywhere = |facts: &mut Facts| {
        for name in &names {
            pod_on(facts, name).is_ready = false;
        }
    };
    check(&[&crashes("new0", 300), &everywhere], "");
    let unready = |facts: &mut Facts| node(facts, "new0").is_ready = false;
    check(&[&unready], "new node new0 is not ready");
    let unregistered = |age: i64| {
        move |facts: &mut Facts| {
            facts.nodes.remove("new0");
            facts.pods.retain(|pod| pod.node.as_ref().is_none_or(|node| node.as_str() != "new0"));
            let claim = claim(facts, "new0");
            (claim.phase, claim.conditions.initialized_at) = (ClaimPhase::Launched, None);
            claim.instance.as_mut().unwrap().launched_at = ago(age);
        }
    };
    check(&[&unregistered(540)], "new node claim-new0 did not register in time");
    check(&[&unregistered(539)], "");
    let half = |facts: &mut Facts| {
        node(facts, "new0").labels.remove(labels::INITIALIZED);
        claim(facts, "new0").instance.as_mut().unwrap().launched_at = ago(540);
    };
    check(&[&half], "new node new0 was not initialized in time");
    // Canaries that passed once are nodes like all others.
    let mut passed = with_canaries(19, 2, 900, &[TWENTIETH]);
    crashes("new1", 600)(&mut passed);
    assert_eq!(halted(&passed), "");
}

/// `facts` with the halt that its look finds.
fn remembered(mut facts: Facts) -> Facts {
    let answer = looked(&facts);
    assert_eq!(halts(&answer), 1);
    facts.ledger.commands.extend(answer.plan.started);
    facts
}

fn ended(facts: &Facts) -> usize {
    looked(facts).plan.ended.len()
}

#[test]
fn a_halt_outlives_its_canaries_and_ends_with_another_target_or_other_settings() {
    let mut bad = with_canaries(19, 1, 700, &[TWENTIETH]);
    crashes("new0", 400)(&mut bad);
    let mut facts = remembered(bad);
    let why_halted = "the rollout of EC2NodeClass default is halted: 1 of 1 pods on new nodes are not ready 5 \
                      minutes after their start, and 0 of 19 on old nodes";
    assert_eq!(why(&facts, Method::Drift, "n00"), why_halted);
    assert_eq!(halts(&looked(&facts)), 0, "it is said once");
    facts.ledger.claims.remove("claim-new0");
    facts.nodes.remove("new0");
    facts.pods.retain(|pod| pod.node.as_ref().is_none_or(|node| node.as_str() != "new0"));
    assert_eq!(why(&facts, Method::Drift, "n00"), why_halted);
    assert_eq!((moved(facts.clone()), ended(&facts)), (0, 0));
    let class = model::node_class::NodeClass {
        rollout: facts.class_rollouts.values().next().cloned(),
        ..testkit::build::node_class("default")
    };
    let condition = rollout_condition(&class, &facts.ledger).expect("a condition");
    assert!(
        condition
            .message
            .starts_with("NodePool general, EC2NodeClass default, image ami-2: 1 of 1")
    );
    // Another image.
    let mut another = facts.clone();
    let images = another.class_images.values_mut().next().unwrap();
    for image in images.values_mut() {
        *image = "ami-3".parse().unwrap();
    }
    assert_eq!((moved(another.clone()), ended(&another)), (1, 1));
    // Other settings.
    let mut again = facts.clone();
    settings(&mut again, &[(ROLLOUT_CANARY, "1")]);
    assert_eq!((moved(again.clone()), ended(&again)), (1, 1));
    settings(&mut again, &[]);
    assert_eq!((moved(again.clone()), ended(&again)), (19, 1));
    // What cannot be read now ends nothing.
    facts.class_images.clear();
    facts.class_hashes = None;
    assert_eq!((moved(facts.clone()), ended(&facts)), (0, 0));
    facts.classes.as_mut().unwrap().clear();
    facts.class_rollouts.clear();
    assert_eq!((moved(facts.clone()), ended(&facts)), (0, 0));
}

#[test]
fn a_halt_holds_for_other_node_pools_if_class_or_image_is_what_changes() {
    let mut bad = with_canaries(19, 1, 700, &[TWENTIETH]);
    crashes("new0", 400)(&mut bad);
    let mut facts = remembered(bad);
    let other: NodePoolName = "other".parse().unwrap();
    let mut pool = facts.node_pools[0].clone();
    pool.name = other.clone();
    facts.node_pools.push(pool);
    claim(&mut facts, "n00").node_pool = other.clone();
    node(&mut facts, "n00").labels.insert(labels::NODE_POOL.to_owned(), other.to_string());
    assert!(why(&facts, Method::Drift, "n00").contains("is halted"));
    // Its own hash is another matter.
    let instance = claim(&mut facts, "n00").instance.as_mut().unwrap();
    instance.image = Some("ami-2".parse().unwrap());
    facts.node_pools[1].annotations = NODE_POOL.annotations("2").into();
    claim(&mut facts, "n00").annotations = NODE_POOL.annotations("1").into();
    let answer = looked(&facts);
    let replaced: Vec<&Command> =
        answer.plan.started.values().filter(|command| command.is_under_way()).collect();
    assert_eq!(replaced[0].candidates[0].as_str(), "claim-n00");
}

#[test]
fn hashes_of_class_and_node_pool_are_rolled_out_too() {
    let changed = |key: model::static_hash::StaticHash| {
        let mut facts = with_canaries(19, 1, 700, &[TWENTIETH]);
        facts.class_images.clear();
        for claim in facts.ledger.claims.values_mut() {
            let hash = if claim.name.as_str() == "claim-new0" { "2" } else { "1" };
            claim.annotations.extend(key.annotations(hash));
        }
        facts.class_hashes = Some([("default".parse().unwrap(), "2".to_owned())].into());
        facts.node_pools[0].annotations = NODE_POOL.annotations("2").into();
        facts
    };
    for key in [NODE_CLASS, NODE_POOL] {
        let mut facts = changed(key);
        assert_eq!(moved(facts.clone()), 0);
        claim(&mut facts, "new0").conditions.initialized_at = Some(ago(900));
        assert_eq!(moved(facts.clone()), 19);
        // What was made for the spec before is no canary.
        claim(&mut facts, "new0").annotations.extend(key.annotations("1"));
        assert_eq!(moved(facts), 1);
    }
}

#[test]
fn a_changed_requirement_is_rolled_out_by_nodes_that_are_younger_than_it() {
    let mut facts = with_canaries(19, 1, 900, &[TWENTIETH]);
    facts.class_images.clear();
    for claim in
        facts.ledger.claims.values_mut().filter(|claim| claim.name.as_str() != "claim-new0")
    {
        claim.conditions.drifted = Some("SubnetDrift".to_owned());
        claim.conditions.drifted_since = Some(ago(800));
    }
    // It is older than the change.
    assert_eq!(moved(facts.clone()), 1);
    let new = claim(&mut facts, "new0");
    new.created_at = ago(790);
    new.conditions.initialized_at = Some(ago(700));
    assert_eq!(moved(facts.clone()), 0);
    settings(&mut facts, &[TWENTIETH, (ROLLOUT_BAKE_TIME, "700s")]);
    assert_eq!(moved(facts), 19);
}

#[test]
fn static_node_pools_have_canaries_too() {
    let mut facts = fleet(8, &[(ROLLOUT_CANARY, "3")]);
    facts.policies.static_capacity = true;
    facts.node_pools[0].replicas = Some(8);
    assert_eq!(moved(facts.clone()), 3);
    settings(&mut facts, &[]);
    assert_eq!(moved(facts), 8);
}

#[test]
fn nothing_drifts_in_a_freeze_or_under_annotations_that_cannot_be_read() {
    // It is noon of 1 August 2026, a Saturday: 14 o'clock in Berlin.
    let check = |annotations: &[(&str, &str)], expected: &str| {
        let facts = fleet(3, annotations);
        assert_eq!(moved(facts.clone()), usize::from(expected.is_empty()) * 3);
        assert_eq!(why(&facts, Method::Drift, "n02"), expected);
    };
    let frozen = |text: &str| {
        let until = "until 2026-08-01T13:00:00Z";
        format!("no drifted node of EC2NodeClass default is replaced {until}: frozen by `{text}`")
    };
    check(&[(ROLLOUT_FREEZE, "0 12 * * 6 1h")], &frozen("0 12 * * 6 1h"));
    check(&[(ROLLOUT_FREEZE, "0 11 * * 6 59m")], "");
    let berlin = "TZ=Europe/Berlin 0 14 * * 6 1h";
    check(&[(ROLLOUT_FREEZE, &format!("@yearly 1h; {berlin}"))], &frozen(berlin));
    check(&[(ROLLOUT_FREEZE, "TZ=Europe/Berlin 0 12 * * 6 1h")], "");
    // Firings that overlap are one freeze; one without an end is named without.
    check(&[(ROLLOUT_FREEZE, "*/10 10-12 * * 6 10m")], &frozen("*/10 10-12 * * 6 10m"));
    let always =
        "no drifted node of EC2NodeClass default is replaced now: frozen by `* * * * * 1h`";
    check(&[(ROLLOUT_FREEZE, "* * * * * 1h")], always);
    let closed = |why: &str| {
        format!("no drifted node of EC2NodeClass default is replaced: annotation {why}")
    };
    check(
        &[(ROLLOUT_FREEZE, "0 12 * * 6")],
        &closed(
            "journeyman/rollout-freeze: `0 12 * * 6` is not a schedule and a duration, such as `0 18 * * 5 62h`",
        ),
    );
    check(
        &[(ROLLOUT_CANARY, "0%")],
        &closed(
            "journeyman/rollout-canary: `0%` is not a number of nodes from 1, or a share from 1% to 100%",
        ),
    );
    check(
        &[(ROLLOUT_BAKE_TIME, "1h")],
        &closed("journeyman/rollout-bake-time: it needs journeyman/rollout-canary"),
    );
    check(
        &[TWENTIETH, ("journeyman/rollout-bake", "1h")],
        &closed("journeyman/rollout-bake: there is no such setting"),
    );
}
