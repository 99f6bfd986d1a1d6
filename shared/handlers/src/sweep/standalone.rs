//! NodeClaims that users made: created, shown, and deleted when their objects are gone.
//!
//! Karpenter: `pkg/controllers/nodeclaim/lifecycle/controller.go`.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CommitId, DeletionReason, Function, NodeClaim, NodeClaimName,
    ledger::{Basis, Commit, CommitOutcome, Counters, Decision, DecisionKind, Head, Snapshot},
    limits,
};
use ports::{Adapters, Invocation, Ledger as _, NodeClaims as _, PortError};

use super::{SweepPorts, in_turn, instances};
use crate::{Error, job::Tally, pulse::wake, sync::sync};

/// Creates claims that users made, and makes their objects ours before `launch` looks: from then on a
/// finalizer holds them. Where that fails, the next sweep does it.
///
/// Nothing was decided about them but what their objects say, so no plan is judged.
pub(super) async fn create<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    (head, parent): (&Head, Counters),
    claims: &[NodeClaim],
    at: &Invocation,
) -> Result<(), Error> {
    if claims.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = claims.iter().map(|claim| claim.name.as_str()).collect();
    let summary = format!("users made: {}", names.join(", "));
    let commit = Commit {
        id: CommitId::derived(&format!("{}/{parent}/standalone", at.id), 0),
        ledger: head.ledger.clone(),
        parent,
        basis: Basis::Arrivals,
        created: claims.to_vec(),
        adopted: Vec::new(),
        changed: Vec::new(),
        unavailable_offerings: BTreeMap::new(),
        started: BTreeMap::new(),
        ended: BTreeSet::new(),
        decisions: Decision::about(
            DecisionKind::Launch,
            claims,
            (Function::Sweep, at.now),
            summary,
        )
        .split(),
    };
    let counters = match ports.ledger.commit(&at.cluster, &commit).await? {
        CommitOutcome::Committed(counters) => counters,
        // Another function created claims meanwhile: the next sweep finds these again.
        CommitOutcome::Conflict => return Ok(()),
        CommitOutcome::TooLarge { items, items_max } => {
            return Err(Error::TooLarge { items, items_max });
        }
    };
    for claim in claims {
        tracing::info!(claim = %claim.name, "a user's NodeClaim is created");
        sync(ports.node_claims, claim).await;
    }
    wake(ports.mailbox, &[Function::Launch], counters, at).await;
    Ok(())
}

/// Tells of objects that nothing is launched for.
pub(super) fn tell_left(left: &[(NodeClaimName, &'static str)]) {
    for (name, why) in left {
        tracing::warn!(claim = %name, why, "nothing is launched for a user's NodeClaim");
    }
}

/// Deletes users' objects whose instances are gone, and lets them go: nothing of them is in the ledger. They are
/// objects of ours first, as only those are written. What fails keeps no other, and is tried again by the next sweep.
pub(super) async fn remove<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    names: &[NodeClaimName],
    at: &Invocation,
) -> Result<(), PortError> {
    let mut tally = Tally::default();
    for name in in_turn(names.iter().collect(), limits::NODE_CLAIMS_PER_SWEEP_MAX, at) {
        tracing::info!(claim = %name, "EC2 does not list the instance of a user's NodeClaim: it is deleted");
        let mut answer = ports.node_claims.take_over(name).await;
        if answer.is_ok() {
            answer = ports.node_claims.remove(name).await;
        }
        tally.note(format_args!("NodeClaim {name}"), answer);
    }
    tally.done()
}

/// Deletes the claims of users whose names are in `gone`: their objects were removed together with their
/// finalizers. A claim that has not launched waits until its launch is known.
pub(super) async fn delete<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    gone: &BTreeSet<NodeClaimName>,
    snapshot: &Snapshot,
    at: &Invocation,
) -> Result<(), Error> {
    if gone.is_empty() {
        return Ok(());
    }
    let is_gone = |claim: &&NodeClaim| {
        gone.contains(&claim.name) && claim.instance.is_some() && !claim.is_deleting()
    };
    let claims: Vec<NodeClaim> = snapshot.claims.values().filter(is_gone).cloned().collect();
    let because = instances::Because {
        reason: DeletionReason::NodeClaimDeleted,
        words: "its NodeClaim is not there any more",
    };
    instances::delete_claims(ports, claims, snapshot, because, at).await
}
