//! Objects of claims without an instance: shown as soon as the claims are committed, and removed once `launch` has
//! withdrawn the claims.
//!
//! No claim waits for its object: what cannot be written or removed here `sweep` makes right within a minute.

use jiff::Timestamp;
use model::{ClaimPhase, NodeClaim, NodeClaimName, ledger::Snapshot};
use ports::{Adapters, Invocation};

use super::{AT_ONCE, LOOKED_FOR_AFTER, SettlePorts};
use crate::{
    pass::each,
    pulse::Start,
    sync::{remove, sync},
};

/// Shows the claims of `snapshot` without an instance that no earlier pass had read, and removes the objects of claims
/// that were withdrawn since this process showed them. Returns when claims without an instance are looked for again; `None`
/// if there is none.
pub(super) async fn show<A: Adapters>(
    ports: &SettlePorts<'_, A>,
    start: &Start,
    snapshot: &Snapshot,
    at: &Invocation,
) -> Option<Timestamp> {
    let SettlePorts { node_claims, clock, ref recorder, .. } = *ports;
    let unlaunched = &recorder.memory.unlaunched;
    let served = start.pulse.served.arrivals;
    let is_new = |claim: &&NodeClaim| {
        is_unlaunched(claim) && claim.batch.arrivals().is_none_or(|arrivals| served < arrivals)
    };
    let new: Vec<&NodeClaim> = snapshot.claims.values().filter(is_new).collect();
    let mut objects = unlaunched.take();
    let withdrawn: Vec<NodeClaimName> =
        objects.iter().filter(|name| snapshot.is_without(name)).cloned().collect();
    objects.retain(|name| snapshot.claims.get(name).is_some_and(is_unlaunched));
    objects.extend(new.iter().map(|claim| claim.name.clone()));
    unlaunched.replace(objects);
    let [soon, later] = LOOKED_FOR_AFTER.map(|after| at.after(after));
    let look_at = if new.is_empty() { later } else { soon };
    let mut claims = snapshot.claims.values();
    let look_at = claims.any(|claim| claim.phase == ClaimPhase::Created).then_some(look_at);
    each(withdrawn, AT_ONCE, clock, at, async |name| remove(node_claims, &name).await).await;
    each(new, AT_ONCE, clock, at, async |claim| sync(node_claims, claim).await).await;
    look_at
}

/// Whether `claim` has no instance and a function created it. `sweep` shows those that users made.
fn is_unlaunched(claim: &NodeClaim) -> bool {
    claim.phase == ClaimPhase::Created && !claim.is_standalone()
}
