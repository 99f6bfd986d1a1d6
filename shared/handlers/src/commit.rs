//! From a plan to the ledger: checked, then in parts that each fit one transaction.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    BatchId, CommitId, NodeClaim, Plan,
    facts::Facts,
    ledger::{Basis, Commit, CommitOutcome, Counters, batch_items},
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
    /// All of it is real, and the counters are these now.
    All(Counters),
    /// Somebody else moved first: the parts before are real, the rest is to be planned again.
    Overtaken,
}

/// What is to become real.
pub(crate) struct Decided<'a> {
    pub(crate) plan: &'a Plan,
    /// What it must not have missed.
    pub(crate) basis: Basis,
}

impl<'a> Decided<'a> {
    pub(crate) fn of(plan: &'a Plan, basis: Basis) -> Self {
        Self { plan, basis }
    }
}

/// Judges what was decided and makes it real. A plan that changes nothing is real already.
pub(crate) async fn commit(
    ledger: &impl Ledger,
    facts: &Facts,
    decided: &Decided<'_>,
    at: &Invocation,
) -> Result<Committed, Error> {
    let head = &facts.ledger.head;
    let mut parent = head.counters;
    if decided.plan.is_empty() {
        return Ok(Committed::All(parent));
    }
    if is_torn(facts, decided.plan) {
        return Ok(Committed::Overtaken);
    }
    plan_check::ensure_valid(facts, decided.plan)?;
    for part in parts(decided) {
        let commit = Commit { ledger: head.ledger.clone(), parent, ..part };
        // A redelivered message plans again, and may plan something else: the id says which parent
        // and which promises it was for, so that only the very same commit is recognized.
        let commit = Commit { id: identity(&commit, at), ..commit };
        match ledger.commit(&at.cluster, &commit).await? {
            CommitOutcome::Committed(counters) => parent = counters,
            CommitOutcome::Conflict => return Ok(Committed::Overtaken),
            CommitOutcome::TooLarge { items, items_max } => {
                return Err(Error::TooLarge { items, items_max });
            }
        }
    }
    Ok(Committed::All(parent))
}

/// Whether somebody promised capacity between the reading of the head and that of the claims: names come from the
/// head's counters, and are there already.
fn is_torn(facts: &Facts, plan: &Plan) -> bool {
    let mut promised = plan.promises.iter().map(|promise| &promise.claim.name);
    promised.any(|name| facts.ledger.claims.contains_key(name))
}

/// What was made of two plans, one after the other.
pub(crate) fn both(first: Option<Plan>, then: Option<Plan>) -> Option<Plan> {
    let (first, mut plan) = match (first, then) {
        (Some(first), Some(then)) => (first, then),
        (first, then) => return first.or(then),
    };
    plan.promises.splice(0..0, first.promises);
    plan.changes.splice(0..0, first.changes);
    plan.placements.splice(0..0, first.placements);
    for (id, command) in first.started {
        plan.started.entry(id).or_insert(command);
    }
    plan.ended.extend(first.ended);
    plan.decisions.splice(0..0, first.decisions);
    Some(plan)
}

fn identity(commit: &Commit, at: &Invocation) -> CommitId {
    let claims = commit.promised.iter().chain(&commit.changed);
    let mut text: Vec<String> =
        claims.map(|claim| format!("{}/{}", claim.name, claim.version)).collect();
    text.extend(commit.started.keys().chain(&commit.ended).map(ToString::to_string));
    let digest = model::ledger::digest(text.join(" ").as_bytes());
    CommitId::derived(&format!("{}/{}/{digest:016x}", at.id, commit.parent), 0)
}

/// Cuts what was decided into commits. The claims of a batch stay together, so that every part is a
/// valid plan by itself.
fn parts(decided: &Decided<'_>) -> Vec<Commit> {
    let Decided { plan, basis } = decided;
    let mut parts = Parts { basis: *basis, done: Vec::new() };
    let load = Load { items: 1, ..Load::default() };
    // Together with the first promises, which are its replacements if it has any.
    for (id, command) in &plan.started {
        parts.room_for(&load).started.insert(id.clone(), command.clone());
    }
    for batch in batches(plan) {
        let pods = batch.iter().map(|claim| claim.pods.len()).sum();
        let items = batch_items(&batch).len();
        parts.room_for(&Load { items, claims: batch.len(), pods }).promised.extend(batch);
    }
    for claim in &plan.changes {
        parts.room_for(&load).changed.push(claim.clone());
    }
    for (offering, until) in &plan.unavailable_offerings {
        parts.room_for(&load).unavailable_offerings.insert(offering.clone(), *until);
    }
    // Once all of its claims are given up.
    for id in &plan.ended {
        parts.room_for(&load).ended.insert(id.clone());
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
struct Parts {
    basis: Basis,
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
                ledger: None,
                parent: Counters::default(),
                basis: self.basis,
                promised: Vec::new(),
                adopted: Vec::new(),
                changed: Vec::new(),
                unavailable_offerings: BTreeMap::new(),
                started: BTreeMap::new(),
                ended: BTreeSet::new(),
                decisions: Vec::new(),
            });
        }
        #[expect(clippy::indexing_slicing, reason = "the part was there or has just been pushed")]
        &mut self.done[index]
    }
}
