//! From "to be rebooted" to "ready again": the next step of one claim, whose node stays.
//!
//! Karpenter 1.15: `pkg/controllers/nodeclaim/reboot`.

use jiff::{SignedDuration, Timestamp};
use model::{
    NodeClaim, Pod,
    claim::Reboot,
    node::{EvictionRequest, Node},
};

use super::{DRAIN_SECONDS_MIN, delay_seconds, evictions, held_for_reboot, is_waited_for};

/// How often it is looked whether an instance is back.
const BACK_SECONDS: u32 = 15;
/// Until EC2 is asked again that did not take the request.
const ASKED_AGAIN_SECONDS: u32 = 10;

/// What to do now to reboot an instance, in the order of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RebootStep {
    /// Pods to evict, or to delete where the time that the node may drain is nearly over.
    pub evict: Vec<EvictionRequest>,
    /// What the claim is to say, before EC2 is asked: a repeated step then knows the boot that ends.
    pub next: Option<NodeClaim>,
    /// Whether to ask EC2 for the reboot.
    pub reboot: bool,
    /// When to look again; `None` is never.
    pub revisit_after_seconds: Option<u32>,
}

/// The next step of rebooting the instance of `claim` for a command that began at `since` and lets pods have
/// `drain` at most. Its node has a taint first; when all its pods are gone the boot is noted and EC2 asked; when
/// the node is ready after another boot, the reboot is over.
#[must_use]
pub fn reboot(
    claim: &NodeClaim,
    (since, drain): (Timestamp, Option<SignedDuration>),
    node: Option<&Node>,
    pods: &[Pod],
    now: Timestamp,
) -> RebootStep {
    let again =
        |seconds| RebootStep { revisit_after_seconds: Some(seconds), ..RebootStep::default() };
    let Some(node) = node else { return again(BACK_SECONDS) };
    if let Some(reboot) = claim.conditions.reboot(since) {
        return match (is_back(node, reboot), reboot) {
            (_, Reboot { ended_at: Some(_), .. }) => RebootStep::default(),
            (true, reboot) => {
                let ended = Reboot { ended_at: Some(now), ..reboot.clone() };
                RebootStep { next: Some(noted(claim, ended)), ..RebootStep::default() }
            }
            (false, Reboot { issued_at: None, .. }) => {
                RebootStep { reboot: true, ..again(ASKED_AGAIN_SECONDS) }
            }
            (false, _) => again(BACK_SECONDS),
        };
    }
    let deadline = drain.and_then(|drain| since.checked_add(drain).ok());
    let waiting: Vec<&Pod> = pods.iter().filter(|pod| is_waited_for(pod, now)).collect();
    let age = now.duration_since(since);
    if !waiting.is_empty() {
        return RebootStep {
            evict: evictions(&waiting, deadline, now),
            ..again(delay_seconds(&waiting, deadline, age, now))
        };
    }
    if held_for_reboot(node).is_some() || age.as_secs() < i64::from(DRAIN_SECONDS_MIN) {
        return again(DRAIN_SECONDS_MIN);
    }
    let begun = Reboot {
        requested_at: since,
        boot_id: node.boot_id.clone(),
        drained_at: now,
        issued_at: None,
        ended_at: None,
    };
    RebootStep { next: Some(noted(claim, begun)), reboot: true, ..again(ASKED_AGAIN_SECONDS) }
}

/// Whether `node` is ready after another boot than the one that `reboot` ends.
fn is_back(node: &Node, reboot: &Reboot) -> bool {
    node.is_ready && !node.boot_id.is_empty() && node.boot_id != reboot.boot_id
}

fn noted(claim: &NodeClaim, reboot: Reboot) -> NodeClaim {
    NodeClaim { conditions: claim.conditions.with_reboot(reboot), ..claim.following() }
}
