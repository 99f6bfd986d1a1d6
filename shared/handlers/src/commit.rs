//! From a plan to the ledger: checked, then in parts that each fit one transaction.

use std::collections::BTreeMap;

use model::{
    BatchId, CommitId, NodeClaim, Plan,
    facts::Facts,
    ledger::{Commit, CommitOutcome, Generation, batch_items},
    limits,
};
use ports::{Invocation, Ledger};

use crate::Error;

/// How often a decider plans when somebody else commits first. Whatever holds then is found by the next
/// call.
pub(crate) const ATTEMPTS_MAX: u32 = 3;

/// What became of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Committed {
    /// All of it is real.
    All,
    /// Somebody else moved first: the parts before are real, the rest is to be planned again.
    Overtaken,
}

/// Judges `plan` and makes it real. A plan that changes nothing is real already.
pub(crate) async fn commit(
    ledger: &impl Ledger,
    facts: &Facts,
    plan: &Plan,
    at: &Invocation,
) -> Result<Committed, Error> {
    if plan.is_empty() {
        return Ok(Committed::All);
    }
    plan_check::ensure_valid(facts, plan)?;
    let mut parent = plan.parent;
    for part in parts(plan) {
        let commit = Commit { parent, ..part };
        // A redelivered message plans again, and may plan something else: the id says which parent
        // and which promises it was for, so that only the very same commit is recognized.
        let commit = Commit { id: identity(&commit, at), ..commit };
        match ledger.commit(&at.cluster, &commit).await? {
            CommitOutcome::Committed(generation) => parent = generation,
            CommitOutcome::Conflict => return Ok(Committed::Overtaken),
            CommitOutcome::TooLarge { items, items_max } => {
                return Err(Error::TooLarge { items, items_max });
            }
        }
    }
    Ok(Committed::All)
}

fn identity(commit: &Commit, at: &Invocation) -> CommitId {
    let claims = commit.promised.iter().chain(&commit.changed);
    let text: Vec<String> =
        claims.map(|claim| format!("{}/{}", claim.name, claim.version)).collect();
    let digest = model::ledger::digest(text.join(" ").as_bytes());
    let Generation(parent) = commit.parent;
    CommitId::derived(&format!("{}/{parent}/{digest:016x}", at.id), 0)
}

/// Cuts a plan into commits. The claims of a batch stay together, so that every part is a valid
/// plan by itself.
fn parts(plan: &Plan) -> Vec<Commit> {
    let mut parts = Parts::default();
    for batch in batches(plan) {
        let pods = batch.iter().map(|claim| claim.pods.len()).sum();
        let items = batch_items(&batch).len();
        parts.room_for(&Load { items, claims: batch.len(), pods }).promised.extend(batch);
    }
    let load = Load { items: 1, ..Load::default() };
    for claim in &plan.changes {
        parts.room_for(&load).changed.push(claim.clone());
    }
    for (offering, until) in &plan.unavailable_offerings {
        parts.room_for(&load).unavailable_offerings.insert(offering.clone(), *until);
    }
    for decision in &plan.decisions {
        parts.room_for(&load).decisions.push(decision.clone());
    }
    parts.done
}

fn batches(plan: &Plan) -> Vec<Vec<NodeClaim>> {
    let mut batches: BTreeMap<&BatchId, Vec<NodeClaim>> = BTreeMap::new();
    for promise in &plan.promises {
        batches.entry(&promise.claim.batch).or_default().push(promise.claim.clone());
    }
    batches.into_values().collect()
}

/// What is to be added to a commit at once.
#[derive(Default)]
struct Load {
    items: usize,
    /// That are promised, and the pods that they are for.
    claims: usize,
    pods: usize,
}

/// Commits that are being filled; the last one takes what fits.
#[derive(Default)]
struct Parts {
    done: Vec<Commit>,
}

impl Parts {
    /// The commit that has room for `more`.
    fn room_for(&mut self, more: &Load) -> &mut Commit {
        let fits = self.done.last().is_some_and(|part| {
            let pods: usize = part.promised.iter().map(|claim| claim.pods.len()).sum();
            part.items() + more.items <= limits::ITEMS_PER_COMMIT_MAX
                && part.promised.len() + more.claims <= limits::CLAIMS_PER_COMMIT_MAX
                && pods + more.pods <= limits::PODS_PER_COMMIT_MAX
        });
        let next = self.done.len();
        let index = if fits { next.saturating_sub(1) } else { next };
        if !fits {
            self.done.push(Commit {
                id: CommitId::derived("part", 0),
                parent: Generation::default(),
                promised: Vec::new(),
                changed: Vec::new(),
                unavailable_offerings: BTreeMap::new(),
                decisions: Vec::new(),
            });
        }
        #[expect(clippy::indexing_slicing, reason = "the part was there or has just been pushed")]
        &mut self.done[index]
    }
}
