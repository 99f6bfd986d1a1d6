//! From a plan to the ledger: checked, then in parts that each fit one transaction.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    BatchId, CommitId, NodeClaim, NodeClaimName, Plan,
    facts::Facts,
    ledger::{Basis, Commit, CommitOutcome, Counters, Decision, Origin, Subject, batch_items},
    limits,
    recorded::{Question, RecordedFacts},
};
use planner::Answer;
use ports::{Invocation, Ledger};

use crate::{
    error::{Error, story},
    settings::Record,
    standing::StandingDecisions,
};

/// What became of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Committed {
    /// The whole plan is committed, and the counters are these now.
    All(Counters),
    /// Another function committed first: earlier parts of the plan are committed, the rest has to be planned again.
    Overtaken,
}

/// A plan to commit.
pub(crate) struct Decided<'a> {
    pub(crate) plan: &'a Plan,
    /// Which changes of the ledger since the facts were read make the plan stale.
    pub(crate) basis: Basis,
    /// Counts decisions that every look makes again; `None` if the function makes none.
    standing: Option<&'a StandingDecisions>,
    /// The question, if the facts are stored with the decisions.
    question: Option<&'a Question>,
}

impl<'a> Decided<'a> {
    /// A plan that no question led to.
    pub(crate) fn of(plan: &'a Plan, basis: Basis) -> Self {
        Self { plan, basis, standing: None, question: None }
    }

    /// The `answer` to `question`, of whose decisions `record` is stored.
    pub(crate) fn answering(
        question: &'a Question,
        answer: &'a Answer,
        record: Record,
        standing: &'a StandingDecisions,
    ) -> Self {
        let is_repeated = matches!(question, Question::Provision | Question::Disrupt { .. });
        Self {
            standing: is_repeated.then_some(standing),
            question: (record == Record::Facts).then_some(question),
            ..Self::of(&answer.plan, answer.basis)
        }
    }

    /// The decisions to store: each once, with its origin.
    fn records(&self, facts: &Facts, at: &Invocation) -> Vec<Decision> {
        let due = self.plan.decisions.iter().filter_map(|decision| match self.standing {
            // Without any node that was looked at, nothing was decided.
            _ if decision.is_void() => None,
            Some(standing) if decision.kind.is_standing() => {
                standing.counted(decision.clone(), at.now)
            }
            _ => Some(decision.clone()),
        });
        let mut ids = BTreeSet::new();
        let mut records: Vec<Decision> = due.filter(|decision| ids.insert(decision.id())).collect();
        // The origin digests all facts, and most looks have nothing to store.
        let mut latest = None;
        for decision in records.iter_mut().filter(|decision| decision.origin.is_none()) {
            let origin: &mut Origin = latest.get_or_insert_with(|| self.origin(facts, at));
            decision.origin = Some(origin.clone());
        }
        records
    }

    /// On what it is made, with the number under which the facts are kept, where they are.
    fn origin(&self, facts: &Facts, at: &Invocation) -> Origin {
        let origin = origin(facts, at);
        let question = self.question.as_ref();
        let recorded = question.map(|question| RecordedFacts::number(question, &origin));
        Origin { recorded, ..origin }
    }

    /// Stores the facts if the origin of any of `records`, which are stored, names them: a decision that stands names
    /// those of its first look. A failure is only logged.
    async fn put_facts(
        &self,
        ledger: &impl Ledger,
        facts: &Facts,
        records: &[Decision],
        at: &Invocation,
    ) {
        let Some(question) = self.question.filter(|_| !records.is_empty()) else { return };
        let this_look = self.origin(facts, at).recorded;
        let mut named = records.iter().filter_map(|record| record.origin.as_ref()?.recorded);
        let Some(number) = named.find(|number| this_look == Some(*number)) else { return };
        if let Err(error) = ledger.put_facts(&at.cluster, number, question, facts, self.plan).await
        {
            tracing::warn!(story = story(&error), "the facts of decisions are not stored");
        }
    }
}

/// On what `facts` a decision is made, and which call makes it.
pub(crate) fn origin(facts: &Facts, at: &Invocation) -> Origin {
    Origin {
        facts: facts.digest(),
        counters: facts.ledger.head.counters,
        delivery: at.id.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        recorded: None,
    }
}

/// Judges a plan and commits it. Nothing is committed of a plan that changes nothing. What the judge refuses is left
/// out, so that one pod or claim that breaks a rule keeps no other: what is left of the plan then is returned, too.
pub(crate) async fn commit(
    ledger: &impl Ledger,
    facts: &Facts,
    decided: &Decided<'_>,
    at: &Invocation,
) -> Result<(Committed, Option<Plan>), Error> {
    let sound = sound_part(facts, decided.plan)?;
    let decided = Decided { plan: sound.as_ref().unwrap_or(decided.plan), ..*decided };
    let committed = commit_sound(ledger, facts, &decided, at, &mut Vec::new()).await?;
    Ok((committed, sound))
}

/// [`commit`], which stores the facts, too, if the function records them. A call of its own: not every function may.
pub(crate) async fn commit_and_record(
    ledger: &impl Ledger,
    facts: &Facts,
    decided: &Decided<'_>,
    at: &Invocation,
) -> Result<(Committed, Option<Plan>), Error> {
    let sound = sound_part(facts, decided.plan)?;
    let decided = Decided { plan: sound.as_ref().unwrap_or(decided.plan), ..*decided };
    let mut stored = Vec::new();
    let committed = commit_sound(ledger, facts, &decided, at, &mut stored).await;
    // Last, so that no commit is late for it.
    decided.put_facts(ledger, facts, &stored, at).await;
    Ok((committed?, sound))
}

/// What is left of `plan` without what breaks a rule; `None` if nothing does.
fn sound_part(facts: &Facts, plan: &Plan) -> Result<Option<Plan>, Error> {
    if plan.is_empty() || is_torn(facts, plan) {
        return Ok(None);
    }
    let Err(invalid) = plan_check::ensure_valid(facts, plan) else { return Ok(None) };
    tracing::error!(%invalid, "what breaks a rule is left out of the plan");
    Ok(Some(plan_check::sound(facts, plan.clone(), invalid)?))
}

/// `stored` gets the decisions that are committed, also if the commit of others fails.
async fn commit_sound(
    ledger: &impl Ledger,
    facts: &Facts,
    decided: &Decided<'_>,
    at: &Invocation,
    stored: &mut Vec<Decision>,
) -> Result<Committed, Error> {
    if decided.plan.is_empty() {
        return Ok(Committed::All(facts.ledger.head.counters));
    }
    let records = decided.records(facts, at);
    if is_torn(facts, decided.plan) {
        return Ok(Committed::Overtaken);
    }
    in_parts(ledger, facts, decided, records, at, stored).await
}

/// Commits `decided` with its `records`, one part after the other.
async fn in_parts(
    ledger: &impl Ledger,
    facts: &Facts,
    decided: &Decided<'_>,
    records: Vec<Decision>,
    at: &Invocation,
    stored: &mut Vec<Decision>,
) -> Result<Committed, Error> {
    let head = &facts.ledger.head;
    let mut parent = head.counters;
    for part in parts(decided, records) {
        let commit = Commit { ledger: head.ledger.clone(), parent, ..part };
        // A redelivered message plans again, and may plan something else: the id says which parent
        // and which claims it was for, so that only the very same commit is recognized.
        let commit = Commit { id: identity(&commit, at), ..commit };
        match ledger.commit(&at.cluster, &commit).await? {
            CommitOutcome::Committed(counters) => parent = counters,
            CommitOutcome::Conflict => return Ok(Committed::Overtaken),
            CommitOutcome::TooLarge { items, items_max } => {
                return Err(Error::TooLarge { items, items_max });
            }
        }
        decided.standing.iter().for_each(|standing| standing.written(&commit.decisions, at.now));
        stored.extend(commit.decisions);
    }
    Ok(Committed::All(parent))
}

/// Stores the decisions of a plan that changes nothing, if its function counts them. A failure is only logged.
pub(crate) async fn put_decisions(
    ledger: &impl Ledger,
    facts: &Facts,
    decided: &Decided<'_>,
    at: &Invocation,
) {
    let Some(standing) = decided.standing else { return };
    let records = decided.records(facts, at);
    if records.is_empty() {
        return;
    }
    match ledger.put_decisions(&at.cluster, &records).await {
        Ok(()) => {
            standing.written(&records, at.now);
            decided.put_facts(ledger, facts, &records, at).await;
        }
        Err(error) => {
            tracing::warn!(story = story(&error), "decisions without effect are not stored");
        }
    }
}

/// Whether another function created capacity between the reading of the head and that of the claims: names come from the
/// head's counters, and are there already.
fn is_torn(facts: &Facts, plan: &Plan) -> bool {
    let mut created = plan.new_claims.iter().map(|new| &new.claim.name);
    created.any(|name| facts.ledger.claims.contains_key(name))
}

/// What was made of two plans, one after the other.
pub(crate) fn both(first: Option<Plan>, then: Option<Plan>) -> Option<Plan> {
    let (first, mut plan) = match (first, then) {
        (Some(first), Some(then)) => (first, then),
        (first, then) => return first.or(then),
    };
    plan.new_claims.splice(0..0, first.new_claims);
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
    let claims = commit.created.iter().chain(&commit.changed);
    let mut text: Vec<String> =
        claims.map(|claim| format!("{}/{}", claim.name, claim.version)).collect();
    text.extend(commit.started.keys().chain(&commit.ended).map(ToString::to_string));
    let digest = model::ledger::digest(text.join(" ").as_bytes());
    CommitId::derived(&format!("{}/{}/{digest:016x}", at.id, commit.parent), 0)
}

/// Cuts what was decided into commits. The claims of a batch stay together, so that every part is a
/// valid plan by itself.
fn parts(decided: &Decided<'_>, records: Vec<Decision>) -> Vec<Commit> {
    let Decided { plan, basis, .. } = decided;
    let (mut of_one, shared) = by_claim(plan, records);
    let reserved = shared.len().min(SHARED_MAX);
    let mut parts = Parts { basis: *basis, reserved, done: Vec::new() };
    let load = Load { items: 1, ..Load::default() };
    // Together with the first new claims, which are its replacements if it has any.
    for (id, command) in &plan.started {
        parts.room_for(&load).started.insert(id.clone(), command.clone());
    }
    for batch in batches(plan) {
        let pods = batch.iter().map(|claim| claim.pods.len()).sum();
        let items = batch_items(&batch).len();
        parts.room_for(&Load { items, claims: batch.len(), pods }).created.extend(batch);
    }
    for claim in &plan.changes {
        let its = of_one.remove(&claim.name).unwrap_or_default();
        let part = parts.room_for(&Load { items: 1 + its.len(), ..Load::default() });
        part.changed.push(claim.clone());
        part.decisions.extend(its);
    }
    for (offering, until) in &plan.unavailable_offerings {
        parts.room_for(&load).unavailable_offerings.insert(offering.clone(), *until);
    }
    // Once all of its claims are deleted.
    for id in &plan.ended {
        parts.room_for(&load).ended.insert(id.clone());
    }
    parts.reserved = 0;
    for decision in shared {
        parts.tell(decision);
    }
    parts.done
}

/// Decisions that are not about one claim alone, for which each commit has room.
const SHARED_MAX: usize = 20;

/// The decisions about one claim that changes, and all others.
fn by_claim(
    plan: &Plan,
    records: Vec<Decision>,
) -> (BTreeMap<NodeClaimName, Vec<Decision>>, Vec<Decision>) {
    let changed: BTreeSet<&NodeClaimName> = plan.changes.iter().map(|claim| &claim.name).collect();
    let (mut of_one, mut shared): (BTreeMap<_, Vec<_>>, Vec<Decision>) = Default::default();
    for decision in records {
        let only = match decision.subjects.as_slice() {
            [subject] => subject.claim.clone().filter(|name| changed.contains(name)),
            _ => None,
        };
        match only {
            Some(name) => of_one.entry(name).or_default().push(decision),
            None => shared.push(decision),
        }
    }
    (of_one, shared)
}

fn batches(plan: &Plan) -> Vec<Vec<NodeClaim>> {
    let mut batches: BTreeMap<&BatchId, Vec<NodeClaim>> = BTreeMap::new();
    for new in &plan.new_claims {
        batches.entry(&new.claim.batch).or_default().push(new.claim.clone());
    }
    batches.into_values().collect()
}

/// What is to be added to a commit at once.
#[derive(Default)]
struct Load {
    items: usize,
    /// New claims, and the pods that they are for.
    claims: usize,
    pods: usize,
}

/// Commits that are being filled; the last one takes what fits.
struct Parts {
    basis: Basis,
    /// Items of each that are left free.
    reserved: usize,
    done: Vec<Commit>,
}

impl Parts {
    /// Puts events of claims into the commits that make them real, and all others into the first.
    fn tell(&mut self, decision: Decision) {
        let mut rest = decision;
        let last = self.done.len().saturating_sub(1);
        for (index, part) in self.done.iter_mut().enumerate() {
            if index == last && index == 0 {
                break;
            }
            let claims = part.created.iter().chain(&part.changed).map(|claim| &claim.name);
            let here: BTreeSet<&NodeClaimName> = claims.collect();
            let is_here =
                |subject: &Subject| subject.claim.as_ref().is_some_and(|name| here.contains(name));
            let (its, others): (Vec<Subject>, Vec<Subject>) =
                rest.subjects.iter().cloned().partition(is_here);
            if its.is_empty() {
                continue;
            }
            let records = Decision { subjects: its, pods: Vec::new(), ..rest.clone() }.split();
            if limits::ITEMS_PER_COMMIT_MAX < part.items() + records.len() {
                continue;
            }
            part.decisions.extend(records);
            rest.subjects = others;
            if rest.subjects.is_empty() && rest.pods.is_empty() {
                return;
            }
        }
        for record in rest.split() {
            self.room_for(&Load { items: 1, ..Load::default() }).decisions.push(record);
        }
    }

    /// The commit that has room for `more`.
    fn room_for(&mut self, more: &Load) -> &mut Commit {
        let fits = self.done.last().is_some_and(|part| {
            let pods: usize = part.created.iter().map(|claim| claim.pods.len()).sum();
            part.items() + more.items + self.reserved <= limits::ITEMS_PER_COMMIT_MAX
                && part.created.len() + more.claims <= limits::CLAIMS_PER_COMMIT_MAX
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
                created: Vec::new(),
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

#[cfg(test)]
mod tests;
