//! Machines that never join: the condition, the event and the decision name why, for each cause that can be told
//! from outside; of another one they show the end of the console.

use api::karpenter::node_claim_patch::{StoredNodeClaim, changes};
use handlers::architecture_of;
use jiff::Timestamp;
use journeyman::explain::ExplainedKind;
use model::{ConditionReason, NodeClaim, event::EventReason, join::JoinReason, labels};
use simulator::{Injection, JoinFailure, Sim, WorldSettings, first_calls};

use crate::{
    explained,
    world::{minute, runner, sim},
};

/// What each cause is called.
const TOLD: [(JoinFailure, JoinReason); 12] = [
    (JoinFailure::NoAccessEntry, JoinReason::NoAccessEntry),
    (JoinFailure::WrongRole, JoinReason::NodeRoleRefused),
    (JoinFailure::NoRoute, JoinReason::ApiServerUnreachable),
    (JoinFailure::WrongArchitecture, JoinReason::ArchitectureMismatch),
    (JoinFailure::BrokenUserData, JoinReason::UserDataFailed),
    (JoinFailure::NoCniPermission, JoinReason::CniPermissionMissing),
    (JoinFailure::NoImagePermission, JoinReason::ImagePullDenied),
    (JoinFailure::WrongCluster, JoinReason::ClusterNotFound),
    (JoinFailure::WrongCertificate, JoinReason::CertificateRejected),
    (JoinFailure::NoDns, JoinReason::DnsFailed),
    (JoinFailure::FullDisk, JoinReason::DiskFull),
    (JoinFailure::Panic, JoinReason::KernelPanic),
];

/// Causes of which the console says nothing, and what of the account is said in its place.
const SEEN: [(JoinFailure, JoinReason, &str); 8] = [
    (
        JoinFailure::SilentRoute,
        JoinReason::ApiServerUnreachable,
        "(route table rtb-0123456789abcdef0) has no route out of the VPC",
    ),
    (
        JoinFailure::BlackHole,
        JoinReason::ApiServerUnreachable,
        "to nat-0123456789abcdef0 is a black hole",
    ),
    (
        JoinFailure::NoPublicAddress,
        JoinReason::ApiServerUnreachable,
        "is igw-0123456789abcdef0, for which the instance has no public address",
    ),
    (
        JoinFailure::ClosedOut,
        JoinReason::ApiServerUnreachable,
        "no security group of the instance (sg-",
    ),
    (
        JoinFailure::ClosedIn,
        JoinReason::ApiServerUnreachable,
        "no security group of the API server lets those of the instance (sg-",
    ),
    (JoinFailure::EntryOfPeople, JoinReason::NodeRoleRefused, "is of type STANDARD"),
    (JoinFailure::OtherImage, JoinReason::ArchitectureMismatch, "and the instance is a"),
    (JoinFailure::Several, JoinReason::ApiServerUnreachable, "; also: role "),
];

/// What is said of some causes beside what the console says.
const BESIDE: [(JoinFailure, &str); 4] = [
    (JoinFailure::NoAccessEntry, "has no access entry in the cluster; its console: "),
    (JoinFailure::WrongRole, "is of type STANDARD, and nodes need EC2_LINUX"),
    (JoinFailure::NoRoute, "has no route out of the VPC; its console: "),
    (JoinFailure::WrongArchitecture, "as it is: a program on it is not; its console: "),
];

/// A cluster whose machines never join, because of `failure`.
fn never_joining(failure: JoinFailure) -> Sim {
    let settings = WorldSettings::default();
    sim(WorldSettings { never_joins_per_mille: 1_000, join_failure: failure, ..settings })
}

fn run_until(sim: &Sim, end: Timestamp) {
    let (mut runner, _reports) = runner(sim);
    runner.run_until(end).expect("nothing unsafe happens");
    assert_eq!(sim.dead_letters(), Vec::new());
}

/// The claims that have an instance and are not being deleted.
fn waiting(sim: &Sim) -> Vec<NodeClaim> {
    let claims = sim.claims().into_iter();
    claims.filter(|claim| claim.instance.is_some() && !claim.is_deleting()).collect()
}

/// The condition `Registered` of the object of `claim`: status, reason and message.
fn registered(sim: &Sim, claim: &NodeClaim) -> (String, String, String) {
    let shown = sim
        .node_claim(&claim.name)
        .and_then(|object| object.claim)
        .expect("the object shows its claim");
    let stored = StoredNodeClaim::read(br#"{"metadata":{"uid":"1"}}"#).expect("an object");
    let status = changes(&stored, &shown).status.expect("it changes");
    let conditions = status.pointer("/status/conditions").and_then(serde_json::Value::as_array);
    let mut conditions = conditions.expect("conditions").iter();
    let is_it = |condition: &&serde_json::Value| {
        condition.get("type").is_some_and(|kind| kind == "Registered")
    };
    let condition = conditions.find(is_it).expect("a condition");
    let text = |name: &str| {
        condition.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    (text("status"), text("reason"), text("message"))
}

/// Messages of the events about claims that do not join.
fn told(sim: &Sim) -> Vec<String> {
    let told = sim
        .told()
        .into_iter()
        .map(|(_, event)| event)
        .filter(|event| event.reason == EventReason::FailedRegistration);
    told.map(|event| event.message).collect()
}

/// Summaries of the decisions by which claims that did not join were deleted.
fn deleted(sim: &Sim) -> Vec<String> {
    let summaries = sim.decisions().into_iter().map(|decision| decision.summary);
    summaries.filter(|summary| summary.contains("did not join")).collect()
}

/// What `explain` prints of the node of `claim`, which never was, by its instance; and of the claim.
fn explained(sim: &Sim, claim: &NodeClaim) -> [String; 2] {
    let instance = claim.instance.as_ref().expect("it has an instance").id.to_string();
    [(ExplainedKind::Node, instance), (ExplainedKind::NodeClaim, claim.name.to_string())]
        .map(|asked| explained::answer(sim, asked))
}

/// That `failure` is named by `expected`, and with `words`, wherever a user may look.
#[track_caller]
fn check(failure: JoinFailure, expected: JoinReason, words: &str) {
    let name = format!("{failure:?}");
    let sim = never_joining(failure);
    run_until(&sim, minute(4));
    let claims = waiting(&sim);
    assert!(!claims.is_empty(), "{name}");
    for claim in &claims {
        let (status, reason, message) = registered(&sim, claim);
        assert_eq!((status.as_str(), reason.as_str()), ("Unknown", expected.as_str()), "{message}");
        assert!(!message.is_empty() && message.contains(words), "{name}: {message}");
        // Its record is what `get nodeclaims` reads.
        let stored = claim.message.as_ref().expect("it says why");
        assert!(stored.text.contains(words), "{name}: {}", stored.text);
        for answer in explained(&sim, claim) {
            assert!(answer.contains(words), "{name}: {answer}");
        }
    }
    let told = told(&sim);
    let names = |text: &String| text.starts_with(expected.as_str()) && text.contains(words);
    assert!(!told.is_empty() && told.iter().all(names), "{told:?}");
    run_until(&sim, minute(18));
    let deleted = deleted(&sim);
    let start = format!("its node did not join within 15 minutes: {expected}: ");
    assert!(!deleted.is_empty(), "{name}");
    let names = |text: &String| text.contains(&start) && text.contains(words);
    assert!(deleted.iter().all(names), "{deleted:?}");
    for claim in &claims {
        for answer in explained(&sim, claim) {
            assert!(answer.contains(&start) && answer.contains(words), "{name}: {answer}");
        }
    }
}

#[test]
fn each_cause_that_can_be_told_is_named() {
    for (failure, expected) in TOLD {
        let beside = BESIDE.iter().find(|(known, _)| *known == failure);
        check(failure, expected, beside.map(|(_, words)| *words).unwrap_or_default());
    }
    assert_eq!(TOLD.map(|(failure, _)| failure), JoinFailure::TOLD);
}

#[test]
fn each_cause_that_only_the_account_shows_is_named() {
    for (failure, expected, words) in SEEN {
        check(failure, expected, words);
    }
    assert_eq!(SEEN.map(|(failure, ..)| failure), JoinFailure::SEEN);
}

#[test]
fn an_unknown_cause_shows_the_end_of_the_console_without_secrets() {
    let console = "one\ntwo\nthree\nfour\nfive\nDB_PASSWORD=hunter2\nsix";
    let failure = JoinFailure::Console(console.to_owned());
    check(failure.clone(), JoinReason::UnknownJoinFailure, "");
    let sim = never_joining(failure);
    run_until(&sim, minute(4));
    let (_, _, message) = registered(&sim, &waiting(&sim)[0]);
    assert!(message.ends_with("three | four | five | DB_PASSWORD=*** | six"), "{message}");
    assert!(told(&sim).iter().all(|told| !told.contains("hunter2")), "a secret was told");
}

#[test]
fn a_look_that_fails_fails_nothing_and_the_next_one_is_five_minutes_later() {
    let sim = never_joining(JoinFailure::Panic);
    for call in ["Forensics.console", "Forensics.checks", "Forensics.instance"] {
        sim.add_rule(first_calls(call, 5, Injection::Refuse("UnauthorizedOperation")));
    }
    run_until(&sim, minute(4));
    let reasons = |sim: &Sim| -> Vec<Option<ConditionReason>> {
        waiting(sim).into_iter().map(|claim| claim.message?.reason).collect()
    };
    let could_not = Some(ConditionReason::NotJoined(JoinReason::NotLookedInto));
    assert!(reasons(&sim).contains(&could_not), "{:?}", reasons(&sim));
    run_until(&sim, minute(10));
    let expected = Some(ConditionReason::NotJoined(JoinReason::KernelPanic));
    assert!(reasons(&sim).iter().all(|reason| *reason == expected), "{:?}", reasons(&sim));
}

#[test]
fn an_instance_is_looked_into_seldom_and_one_that_joins_never() {
    let sim = never_joining(JoinFailure::Silent);
    run_until(&sim, minute(14));
    let instances = u64::try_from(waiting(&sim).len()).expect("a count");
    let asked = |sim: &Sim, action: &str| {
        let calls = sim.calls_by_action();
        let its = calls.iter().find(|(known, _)| known.name == action);
        its.map(|(_, count)| count.answered).unwrap_or_default()
    };
    // At two, seven and twelve minutes.
    for action in ["GetConsoleOutput", "DescribeAccessEntry", "DescribeRouteTables"] {
        assert_eq!(asked(&sim, action), 3 * instances, "{action}");
    }
    let well = sim_that_joins();
    run_until(&well, minute(14));
    assert_eq!(asked(&well, "GetConsoleOutput"), 0);
    // Where the console tells why, nothing else is asked for.
    let told = never_joining(JoinFailure::Panic);
    run_until(&told, minute(14));
    assert!(asked(&told, "GetConsoleOutput") > 0);
    assert_eq!(asked(&told, "DescribeAccessEntry") + asked(&told, "DescribeRouteTables"), 0);
}

fn sim_that_joins() -> Sim {
    let slow = simulator::Span::from_secs(100, 119);
    sim(WorldSettings { node_joins_after: slow, ..WorldSettings::default() })
}

#[test]
fn many_are_looked_into_a_few_at_a_time() {
    let sim = never_joining(JoinFailure::NoDns);
    sim.at(minute(0), crate::world::scale("web", 40));
    run_until(&sim, minute(5));
    let claims = waiting(&sim);
    assert!(claims.len() > 5, "{}", claims.len());
    let expected = Some(ConditionReason::NotJoined(JoinReason::DnsFailed));
    let reason = |claim: &NodeClaim| claim.message.as_ref().and_then(|told| told.reason.clone());
    assert!(claims.iter().all(|claim| reason(claim) == expected), "all of them are at last");
}

#[test]
fn the_name_of_a_type_says_its_architecture() {
    let catalog = instance_catalog::builtin().expect("the built-in catalog is sound");
    assert!(catalog.instance_types.len() > 1_000);
    for sold in &catalog.instance_types {
        let said = sold
            .requirements
            .get(labels::ARCH)
            .and_then(|arch| arch.single_value())
            .expect("an architecture")
            .to_string();
        assert_eq!(architecture_of(&sold.name), said, "{}", sold.name);
    }
}
