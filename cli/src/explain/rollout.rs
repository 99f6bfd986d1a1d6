//! What rollouts mean for what is explained: it is a canary, or it is held. From the records alone: they say when a rollout
//! was halted and what was decided about nodes, and not which image is accepted since long ago.

use jiff::Timestamp;
use model::{
    NodeClaim,
    labels::CANARY,
    ledger::{Decision, RejectionReason},
    rollout::{Halt, RolloutTarget},
    static_hash::{NODE_CLASS, NODE_POOL, StaticHash},
    words,
};

use super::found::names;
use crate::records::Records;

/// What a rollout means for the node of `claim`, in sentences.
pub(super) fn of_claim(records: &Records, claim: &NodeClaim) -> Vec<String> {
    if claim.is_deleting() {
        return Vec::new();
    }
    let name = &claim.name;
    let mut lines = Vec::new();
    let is_canary = claim.annotations.contains_key(CANARY);
    let mut halts = halts(records).filter(|(_, halt)| {
        halt.target.node_class == claim.node_class && halt.target.node_pool == claim.node_pool
    });
    if let Some((at, halt)) = halts.next() {
        let Halt { target, why, .. } = halt;
        lines.push(if is_at(claim, target) {
            let back =
                if is_canary { ", and is replaced by a node on the accepted AMI" } else { "" };
            format!(
                "NodeClaim {name} is a canary of a halted rollout{back}. Halted at {at:.0}: {why}"
            )
        } else {
            halted((at, halt))
        });
    } else if is_canary {
        let image = claim.image().map(|image| format!(" on image {image}")).unwrap_or_default();
        let is_accepted = records.commands.values().any(|command| {
            let images = command.progress.accepted().map(|accepted| &accepted.images);
            images.zip(claim.image()).is_some_and(|(images, image)| images.contains(image))
        });
        let accepted = if is_accepted { "; the image is accepted" } else { "" };
        lines.push(format!(
            "NodeClaim {name} was launched as a canary of EC2NodeClass {}{image}{accepted}",
            claim.node_class
        ));
        lines.extend(waiting(records, of_origin(claim)));
    }
    lines
}

/// What rollouts mean for the nodes of `pool`, which has `claims`, in sentences.
pub(super) fn of_pool(records: &Records, pool: &str, claims: &[&NodeClaim]) -> Vec<String> {
    let of_pool = halts(records).filter(|(_, halt)| halt.target.node_pool.as_str() == pool);
    let mut lines: Vec<String> = of_pool.map(halted).collect();
    let held = waiting(records, pool);
    if held.is_some() || !lines.is_empty() {
        let canaries = claims
            .iter()
            .filter(|claim| !claim.is_deleting() && claim.annotations.contains_key(CANARY));
        let canaries: Vec<&str> = canaries.map(|claim| claim.name.as_str()).collect();
        if !canaries.is_empty() {
            let number = words::counted(canaries.len(), "canary node");
            lines.push(format!("{number} on a new AMI: {}", canaries.join(", ")));
        }
    }
    lines.extend(held);
    lines
}

/// Rollouts that are halted, and since when.
fn halts(records: &Records) -> impl Iterator<Item = (Timestamp, &Halt)> {
    records
        .commands
        .values()
        .filter_map(|command| Some((command.found_at, command.progress.halt()?)))
}

fn halted((at, halt): (Timestamp, &Halt)) -> String {
    format!("the rollout to {} is halted since {at:.0}: {}", halt.target, halt.why)
}

/// Whether `claim` was moved to `target`: it has its hashes and its image, as far as the records name them.
fn is_at(claim: &NodeClaim, target: &RolloutTarget) -> bool {
    let has = |hash: StaticHash, wanted: &Option<String>| {
        let stored = hash.of(&claim.annotations);
        stored.zip(wanted.as_ref()).is_none_or(|(stored, wanted)| stored.hash == wanted)
    };
    has(NODE_POOL, &target.pool_hash)
        && has(NODE_CLASS, &target.class_hash)
        && target.image.as_ref().is_none_or(|wanted| claim.image() == Some(wanted))
}

/// The NodePool whose canary `claim` is.
fn of_origin(claim: &NodeClaim) -> &str {
    claim.moved_from().map_or(claim.node_pool.as_str(), |(pool, _)| pool)
}

/// Why nodes of `pool` that are still there wait, as the newest decision says that holds any of them for a rollout.
fn waiting(records: &Records, pool: &str) -> Option<String> {
    let nodes = |claim: &NodeClaim| claim.node_pool.as_str() == pool && !claim.is_deleting();
    let claims: Vec<&NodeClaim> = records.claims.values().filter(|claim| nodes(claim)).collect();
    let is_its = |what: &str| {
        claims.iter().any(|claim| {
            names(what, claim.name.as_str())
                || claim.node.as_ref().is_some_and(|node| names(what, node.as_str()))
        })
    };
    let held = |decision: &'_ Decision| {
        let why = decision.rejected.iter().find(|rejected| {
            rejected.reason == RejectionReason::Rollout
                && rejected.what.as_deref().is_some_and(is_its)
        })?;
        Some((decision.last_at, why.why.clone()))
    };
    let (at, why) = records.decisions.iter().filter_map(held).max_by_key(|(at, _)| *at)?;
    Some(format!("other nodes of NodePool {pool}: {why} ({at:.0})"))
}
