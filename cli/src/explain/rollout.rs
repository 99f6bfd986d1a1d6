//! What rollouts mean for what is explained: it is a canary, or it waits.

use jiff::Timestamp;
use model::{NodeClaim, labels::CANARY, rollout::Halt, words};
use report::output::named;

use crate::records::{Records, is_at};

/// Nodes that a line names.
const NODES_SHOWN: usize = 5;

/// What a rollout means for the node of `claim`, in sentences.
pub(super) fn of_claim(records: &Records, claim: &NodeClaim) -> Vec<String> {
    if claim.is_deleting() {
        return Vec::new();
    }
    let name = &claim.name;
    let mut lines = Vec::new();
    let is_canary = claim.annotations.contains_key(CANARY);
    let mut halts = records.halts().filter(|(_, halt)| {
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
        let is_former = claim.conditions.drifted.is_some();
        lines.extend(waiting(records, of_origin(claim)).filter(|_| !is_former));
    }
    lines
}

/// What rollouts mean for the nodes of `pool`, which has `claims`, in sentences.
pub(super) fn of_pool(records: &Records, pool: &str, claims: &[&NodeClaim]) -> Vec<String> {
    let halts = records.halts().filter(|(_, halt)| halt.target.node_pool.as_str() == pool);
    let halts: Vec<(Timestamp, &Halt)> = halts.collect();
    let mut lines: Vec<String> = halts.iter().copied().map(halted).collect();
    let waiting = waiting(records, pool);
    if waiting.is_none() && lines.is_empty() {
        return lines;
    }
    let stay = || claims.iter().filter(|claim| !claim.is_deleting());
    let has_drifted = |claim: &&&NodeClaim| claim.conditions.drifted.is_some();
    // A canary of a former rollout has drifted, and one of a halted one, too.
    let is_canary = |claim: &&&NodeClaim| {
        let is_halted = || halts.iter().any(|(_, halt)| is_at(claim, &halt.target));
        claim.annotations.contains_key(CANARY) && (!has_drifted(claim) || is_halted())
    };
    let canaries: Vec<&str> = stay().filter(is_canary).map(|claim| claim.name.as_str()).collect();
    if !canaries.is_empty() {
        let number = words::counted(canaries.len(), "canary node");
        lines.push(format!("{number} on a new AMI: {}", named(&canaries, NODES_SHOWN)));
    }
    let changed = stay().filter(|claim| !is_canary(claim) && !has_drifted(claim));
    let changed: Vec<&str> = changed.map(|claim| claim.name.as_str()).collect();
    if !changed.is_empty() && stay().any(|claim| has_drifted(&claim)) {
        let has = if changed.len() == 1 { "has" } else { "have" };
        let number = words::counted(changed.len(), "node");
        lines.push(format!("{number} {has} the change: {}", named(&changed, NODES_SHOWN)));
    }
    // Of a halt all is said.
    lines.extend(waiting.filter(|_| halts.is_empty()));
    lines
}

fn halted((at, halt): (Timestamp, &Halt)) -> String {
    format!("the rollout to {} is halted since {at:.0}: {}", halt.target, halt.why)
}

/// The NodePool whose canary `claim` is.
fn of_origin(claim: &NodeClaim) -> &str {
    claim.moved_from().map_or(claim.node_pool.as_str(), |(pool, _)| pool)
}

/// Why nodes of `pool` that are still there wait.
fn waiting(records: &Records, pool: &str) -> Option<String> {
    let (at, why) = records.waiting(pool)?;
    Some(format!("drifted nodes of NodePool {pool}: {why} (decided at {at:.0})"))
}
