//! How launches of NodePools ended → what the ledger remembers of it.
//!
//! It is for people, in a condition of the NodePool: what cannot be noted holds nothing up.

use std::collections::BTreeMap;

use model::{
    ClaimPhase, ConditionReason, DeletionReason, NodeClaim, NodePoolName,
    claim::ClaimMessage,
    ledger::WriteOutcome,
    node_pool::{RegistrationFailure, RegistrationOutcome, Registrations},
};
use ports::{Invocation, Ledger, PortError};

use crate::error::story;

/// How often it is written again after a concurrent write.
const ATTEMPTS_MAX: u32 = 3;

/// How launches ended, each with the NodePool of its claim.
pub(crate) type Ended = Vec<(NodePoolName, RegistrationOutcome)>;

/// The launches whose nodes joined and are not in service yet. Every pass tells them again until they are, so
/// that none is lost with the pass that registered it.
pub(crate) fn joined<'c>(claims: impl IntoIterator<Item = &'c NodeClaim>) -> Ended {
    let joined = claims.into_iter().filter(|claim| claim.phase == ClaimPhase::Registered);
    let outcome = |claim: &NodeClaim| RegistrationOutcome {
        claim: claim.name.clone(),
        at: claim.phase_since,
        failure: None,
    };
    joined.map(|claim| (claim.node_pool.clone(), outcome(claim))).collect()
}

/// Those of `claims`, which are deleted, whose nodes did not join in time.
pub(crate) fn not_joined(claims: &[NodeClaim], at: &Invocation) -> Ended {
    let is_late = |claim: &&NodeClaim| {
        let deletion = claim.deletion.as_ref();
        deletion.is_some_and(|deletion| deletion.reason == DeletionReason::NotRegistered)
    };
    let late = claims.iter().filter(is_late);
    failed(late, &ConditionReason::RegistrationFailed, "its node did not join in time", at)
}

/// The launches of `claims`, which are withdrawn since nothing was launched in time: why, `message` says, in
/// the words of their condition `Launched`.
///
/// Karpenter: `pkg/controllers/nodeclaim/lifecycle/liveness.go`.
pub(crate) fn not_launched(claims: &[NodeClaim], message: &str, at: &Invocation) -> Ended {
    let ClaimMessage { reason, text } = ClaimMessage::parse(message);
    failed(claims, &reason.unwrap_or(ConditionReason::LaunchFailed), &text, at)
}

fn failed<'c>(
    claims: impl IntoIterator<Item = &'c NodeClaim>,
    reason: &ConditionReason,
    message: &str,
    at: &Invocation,
) -> Ended {
    let outcome = |claim: &NodeClaim| RegistrationOutcome {
        claim: claim.name.clone(),
        at: at.now,
        failure: Some(RegistrationFailure { reason: reason.clone(), message: message.to_owned() }),
    };
    claims.into_iter().map(|claim| (claim.node_pool.clone(), outcome(claim))).collect()
}

/// Notes how launches ended. Repeating it changes nothing.
pub(crate) async fn note(ledger: &impl Ledger, ended: Ended, at: &Invocation) {
    // Launches of claims that users made say nothing about any NodePool.
    let ended: Ended = ended.into_iter().filter(|(pool, _)| !pool.is_none()).collect();
    if ended.is_empty() {
        return;
    }
    if let Err(error) = try_note(ledger, ended, at).await {
        tracing::warn!(story = story(&error), "how launches ended is not noted");
    }
}

async fn try_note(ledger: &impl Ledger, ended: Ended, at: &Invocation) -> Result<(), PortError> {
    let mut by_pool: BTreeMap<NodePoolName, Vec<RegistrationOutcome>> = BTreeMap::new();
    for (pool, outcome) in ended {
        by_pool.entry(pool).or_default().push(outcome);
    }
    for _ in 0..ATTEMPTS_MAX {
        let stored = ledger.registrations(&at.cluster).await?;
        let none = Registrations::default();
        let mut overtaken = BTreeMap::new();
        for (pool, outcomes) in by_pool {
            let Some(next) = stored.get(&pool).unwrap_or(&none).after(&outcomes) else { continue };
            match ledger.put_registrations(&at.cluster, &pool, &next).await? {
                WriteOutcome::Written => {}
                WriteOutcome::Conflict => drop(overtaken.insert(pool, outcomes)),
            }
        }
        if overtaken.is_empty() {
            return Ok(());
        }
        by_pool = overtaken;
    }
    Ok(())
}
