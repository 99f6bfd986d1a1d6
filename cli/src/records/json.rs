//! Records as documents for programs. Prices are dollars per hour, as texts: they are exact.

use model::{
    CommandId, NodeClaim,
    disruption::{Command, Progress},
    ledger::{Decision, Subject},
    rollout::Halt,
};
use report::json::Dollars;
use serde_json::{Map, Value, json};

/// A decision.
pub(crate) fn decision(decision: &Decision) -> Value {
    let rejected: Vec<Value> = decision
        .rejected
        .iter()
        .map(|rejected| {
            let reason = rejected.reason.as_str();
            known(json!({ "what": rejected.what, "reason": reason, "message": rejected.why }))
        })
        .collect();
    let bounds: Vec<Value> = decision
        .bounds
        .iter()
        .map(|bound| {
            let pool = bound.node_pool.as_str();
            known(json!({ "nodePool": pool, "what": bound.what, "left": bound.left }))
        })
        .collect();
    let origin = decision.origin.as_ref().map(|origin| {
        known(json!({
            "facts": format!("{:016x}", origin.facts),
            "recordedFacts": origin.recorded.map(|number| format!("{number:016x}")),
            "arrivals": origin.counters.arrivals,
            "departures": origin.counters.departures,
            "delivery": origin.delivery,
            "version": origin.version,
        }))
    });
    known(json!({
        "id": decision.short_id(),
        "kind": decision.kind.as_str(),
        "time": decision.at.to_string(),
        "count": decision.count,
        "lastTime": decision.last_at.to_string(),
        "function": decision.function.as_str(),
        "nodePool": decision.node_pool.as_ref().map(ToString::to_string),
        "summary": decision.summary,
        "about": decision.subjects.iter().map(subject).collect::<Vec<_>>(),
        "pods": decision.pods.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "rejected": rejected,
        "pricePerHourBefore": decision.price_before.map(Dollars::from),
        "pricePerHourAfter": decision.price_after.map(Dollars::from),
        "bounds": bounds,
        "origin": origin,
    }))
}

fn subject(subject: &Subject) -> Value {
    let offering = subject.offering.as_ref();
    known(json!({
        "nodeClaim": subject.claim.as_ref().map(ToString::to_string),
        "node": subject.node.as_ref().map(ToString::to_string),
        "instance": subject.instance.as_ref().map(ToString::to_string),
        "instanceType": offering.map(|offering| offering.instance_type.to_string()),
        "capacityType": offering.map(|offering| offering.capacity_type.as_str()),
        "zone": offering.map(|offering| offering.zone.to_string()),
        "pricePerHour": subject.price.map(Dollars::from),
        "pods": subject.pods.iter().map(ToString::to_string).collect::<Vec<_>>(),
    }))
}

/// A claim.
pub(crate) fn claim(claim: &NodeClaim) -> Value {
    let instance = claim.instance.as_ref();
    known(json!({
        "name": claim.name.as_str(),
        "nodePool": claim.node_pool.as_str(),
        "nodeClass": claim.node_class.as_str(),
        "phase": claim.phase.as_str(),
        "createdAt": claim.created_at.to_string(),
        "node": claim.node.as_ref().map(ToString::to_string),
        "instance": instance.map(|instance| instance.id.to_string()),
        "instanceType": instance.map(|instance| instance.instance_type.to_string()),
        "capacityType": instance.map(|instance| instance.capacity_type.as_str()),
        "zone": instance.map(|instance| instance.zone.to_string()),
        "image": instance.and_then(|instance| instance.image.as_ref()).map(ToString::to_string),
        "pricePerHour": instance.map(|instance| Dollars::from(instance.price)),
        "deletion": claim.deletion.as_ref().map(|deletion| deletion.reason.as_str()),
        "message": claim.message.as_ref().map(ToString::to_string),
    }))
}

/// A command of disruption.
pub(crate) fn command(id: &CommandId, command: &Command) -> Value {
    let (claims, why) = match &command.progress {
        Progress::Launching { claims, .. } => (Some(claims), None),
        Progress::RolledBack { why } | Progress::Halted(Halt { why, .. }) => (None, Some(why)),
        Progress::Found
        | Progress::Rebooting { .. }
        | Progress::Moved { .. }
        | Progress::Accepted(_) => (None, None),
    };
    known(json!({
        "id": id.as_str(),
        "method": command.method.as_str(),
        "progress": progress(command),
        "foundAt": command.found_at.to_string(),
        "candidates": command.candidates.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "replacements": claims.into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>(),
        "message": why,
    }))
}

/// How far `command` is, as a word.
pub(crate) fn progress(command: &Command) -> &'static str {
    match &command.progress {
        Progress::Found => "Validating",
        Progress::Launching { .. } => "WaitingForReplacements",
        Progress::Rebooting { .. } => "Rebooting",
        Progress::RolledBack { .. } => "RolledBack",
        Progress::Moved { .. } => "Remembered",
        Progress::Halted(_) => "RolloutHalted",
        Progress::Accepted(_) => "RolloutAccepted",
    }
}

/// `value` without what is not known.
pub(crate) fn known(value: Value) -> Value {
    let Value::Object(members) = value else { return value };
    let is_known = |member: &(String, Value)| {
        !member.1.is_null() && member.1.as_array().is_none_or(|list| !list.is_empty())
    };
    Value::Object(members.into_iter().filter(is_known).collect::<Map<_, _>>())
}
