//! Instances that end before their nodes join: their NodePool waits longer each time, as after refused launches.
//!
//! Karpenter launches again at once, without an end: <https://github.com/kubernetes-sigs/karpenter/issues/1407>.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, DeletionReason, NodeClaim, NodePoolName,
    duration::{doubled, later},
    ledger::{LaunchRefusals, Snapshot},
};

/// This number of ended instances in a row means that the next one ends, too.
const ENDED_MAX: u32 = 3;
/// Seconds until claims are created again for their NodePool, at first and at most.
const WAIT_SECONDS: (i64, i64) = (60, 600);

/// What is said of a NodePool that waits, before EC2's reason.
const WHY: &str = "its instances end before their nodes join";

/// The NodePool of `claim`, if its instance ended before its node joined. A claim that a user made has none.
#[must_use]
pub fn ended_early(claim: &NodeClaim) -> Option<&NodePoolName> {
    let deletion = claim.deletion.as_ref()?;
    let is_early = deletion.reason == DeletionReason::InstanceEnded && claim.node.is_none();
    (is_early && !claim.is_standalone()).then_some(&claim.node_pool)
}

/// What is stored with NodePools of which these instances ended before their nodes joined, each with why. Those that
/// end while their pool waits were launched before.
#[must_use]
pub fn waiting(
    ledger: &Snapshot,
    ended: &[(NodePoolName, String)],
    now: Timestamp,
) -> BTreeMap<NodePoolName, LaunchRefusals> {
    let mut pools: BTreeMap<NodePoolName, LaunchRefusals> = BTreeMap::new();
    for (pool, why) in ended {
        let before = || ledger.refusals.get(pool).filter(|refusals| refusals.ended > 0).cloned();
        let refusals = pools.entry(pool.clone()).or_insert_with(|| {
            let none = LaunchRefusals { reason: String::new(), count: 0, until: now, ended: 0 };
            before().unwrap_or(none)
        });
        refusals.ended = refusals.ended.saturating_add(1);
        refusals.reason = format!("{WHY}: {why}");
    }
    for refusals in pools.values_mut() {
        if ENDED_MAX <= refusals.ended && refusals.until <= now {
            refusals.count = refusals.count.saturating_add(1);
            refusals.until = later(now, wait(refusals.count));
        }
    }
    pools
}

/// What claims of `pool` are created again after; `None` creates them now. Instances that ended and whose claims are not
/// gone yet count already: else more are launched until they are.
#[must_use]
pub fn held_back(ledger: &Snapshot, pool: &NodePoolName, now: Timestamp) -> Option<LaunchRefusals> {
    let refusals = ledger.refusals.get(pool);
    if let Some(refusals) = refusals.filter(|refusals| now < refusals.until) {
        return Some(refusals.clone());
    }
    let (count, ended) = refusals.map_or((0, 0), |refusals| (refusals.count, refusals.ended));
    let until = |claim: &NodeClaim| {
        let ended_at = (ended_early(claim)? == pool).then_some(claim.deletion.as_ref())??.at;
        Some(later(ended_at, wait(count.saturating_add(1))))
    };
    let untils: Vec<Timestamp> =
        ledger.claims.values().filter_map(until).filter(|until| now < *until).collect();
    let ended = ended.saturating_add(u32::try_from(untils.len()).unwrap_or(u32::MAX));
    let until = untils.into_iter().max().filter(|_| ENDED_MAX <= ended)?;
    Some(LaunchRefusals { reason: WHY.to_owned(), count, until, ended })
}

/// How long a pool waits for the time `count`; before the first one not at all.
fn wait(count: u32) -> SignedDuration {
    let (first, most) = WAIT_SECONDS;
    if count == 0 { SignedDuration::ZERO } else { doubled(first, count, most) }
}

/// The NodePools that wait because their instances ended, and of which a node has joined since.
#[must_use]
pub fn joined_again(ledger: &Snapshot) -> BTreeSet<NodePoolName> {
    let is_refuted = |claim: &&NodeClaim| {
        let waiting = ledger.refusals.get(&claim.node_pool).filter(|refusals| refusals.ended > 0);
        let began_before = |waiting: &LaunchRefusals| {
            waiting.until < later(claim.phase_since, wait(waiting.count))
        };
        claim.phase == ClaimPhase::Registered && waiting.is_some_and(began_before)
    };
    ledger.claims.values().filter(is_refuted).map(|claim| claim.node_pool.clone()).collect()
}
