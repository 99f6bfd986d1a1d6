//! Decisions.

use jiff::Timestamp;
use model::{
    Function, Plan, Pod,
    facts::Facts,
    ledger::{Decision, DecisionKind, Rejected, RejectionReason, Snapshot, Subject},
    recorded::{Question, RecordedFacts},
};

use super::{id, pod_key, price};

/// That `general-0` is launched for the pod `default/web`, as `summary` says, at `at`.
pub fn decision(summary: &str, at: Timestamp) -> Decision {
    let who = (Function::Provision, at);
    let subject =
        Subject { claim: Some(id("general-0")), pods: vec![pod_key("web")], ..Subject::default() };
    let reason = RejectionReason::TooLarge;
    let rejected = Rejected { what: Some("small".to_owned()), reason, why: "nothing".to_owned() };
    Decision {
        node_pool: Some(id("general")),
        subjects: vec![subject],
        rejected: vec![rejected],
        price_after: Some(price("0.0816")),
        ..Decision::about(DecisionKind::Launch, [], who, summary.to_owned())
    }
}

/// That `provision` created nothing at `at` for the one pod called `pod` that there is.
pub fn recorded_facts(pod: &str, at: Timestamp) -> RecordedFacts {
    let mut facts = Facts::of(id("demo"), at, Snapshot::default());
    facts.pods.push(super::pod(pod));
    RecordedFacts { question: Question::Provision, facts, plan: Plan::default() }
}

/// The pod `web-<number>`, whose uid is like no other's: nothing makes it shorter.
pub fn pod_with_uid(number: u32) -> Pod {
    let digest = |salt: &str| model::ledger::digest(format!("{salt}{number}").as_bytes());
    let uid = id(&format!("{:016x}{:016x}", digest("a"), digest("b")));
    Pod { uid, ..super::pod(&format!("web-{number}")) }
}
