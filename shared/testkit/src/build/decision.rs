//! Decisions.

use jiff::Timestamp;
use model::{
    Function,
    ledger::{Decision, DecisionKind, Rejected, RejectionReason, Subject},
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
