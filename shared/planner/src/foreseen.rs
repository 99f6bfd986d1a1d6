//! What functions would do next, commit by commit, if nothing but their commits changed the cluster: for previews.
//!
//! Every commit is an [`crate::answer`] on the ledger that the commits before it leave.

use std::{borrow::Cow, collections::BTreeMap};

use model::{
    DeletionReason, NodeClaim, NodeClaimName, Plan,
    disruption::{Command, Progress, Replacement},
    facts::Facts,
    ledger::{Decision, Snapshot},
};

use crate::{
    answer::{Answer, NextSearch, disrupted_seen, needed},
    disruption::{Options, Outlook, Proposal, outlook},
    pace::COMMANDS_PER_LOOK,
    scheduling::launchable::known::KnownTypes,
};

/// Looks that are foreseen at most: claims that are due for termination, surplus replicas and nodes to free come before
/// a search, and a thorough search takes several looks.
const LOOKS_MAX: u32 = 1_000;

/// Nodes that one commit disrupts, and what it launches in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisruptionStep {
    /// Why the nodes are disrupted.
    pub reason: DeletionReason,
    /// The claims of the nodes, in the order in which their pods are moved.
    pub claims: Vec<NodeClaimName>,
    /// What is launched first.
    pub replacements: Vec<Replacement>,
    /// What was found; `None` if the claims are terminated without a search.
    pub proposal: Option<Proposal>,
}

/// What `plan` disrupts. `proposal` is what its look found.
#[must_use]
pub fn steps(plan: &Plan, proposal: Option<&Proposal>) -> Vec<DisruptionStep> {
    let is_begun = |command: &&Command| {
        matches!(
            command.progress,
            Progress::Found | Progress::Launching { .. } | Progress::Rebooting { .. }
        )
    };
    let begun = plan.started.values().filter(is_begun).map(|command| DisruptionStep {
        reason: DeletionReason::Disrupted(command.method.reason()),
        claims: command.candidates.clone(),
        replacements: command.replacements.clone(),
        proposal: proposal.cloned(),
    });
    let mut terminated: BTreeMap<DeletionReason, DisruptionStep> = BTreeMap::new();
    for (claim, reason) in plan.changes.iter().filter_map(deleted) {
        let step = terminated.entry(reason).or_insert_with(|| DisruptionStep {
            reason,
            claims: Vec::new(),
            replacements: Vec::new(),
            proposal: proposal.cloned(),
        });
        step.claims.push(claim.name.clone());
    }
    begun.chain(terminated.into_values()).collect()
}

fn deleted(claim: &NodeClaim) -> Option<(&NodeClaim, DeletionReason)> {
    Some((claim, claim.deletion.as_ref()?.reason))
}

/// What `disrupt` does next.
#[derive(Debug)]
pub struct NextDisruption<'f> {
    /// What it decides before its first look: claims that are due for termination, surplus replicas.
    pub ahead: Vec<Decision>,
    /// The facts of its first look, or of its last answer if it takes none.
    pub facts: Cow<'f, Facts>,
    /// What every method finds on them.
    pub outlook: Outlook,
    /// The commits that disrupt nodes, in order, up to what one look finds.
    pub steps: Vec<DisruptionStep>,
}

/// What `disrupt` does next, by one search. A search that takes several looks is searched to its end, unless a look
/// finds something before.
#[must_use]
pub fn next_disruption<'f>(facts: &'f Facts, options: &Options) -> NextDisruption<'f> {
    let (mut facts, mut options, mut next) = (Cow::Borrowed(facts), options.clone(), Vec::new());
    let (mut begun, mut ahead, mut first) = (0, Vec::new(), None);
    for _ in 0..LOOKS_MAX {
        let mut seen = None;
        let answer = disrupted_seen(&facts, &options, |prepared| {
            seen = first.is_none().then(|| prepared.outlook());
        });
        if let Some(outlook) = seen {
            first = Some((outlook, facts.clone()));
        }
        if first.is_none() && answer.plan.started.is_empty() && answer.plan.ended.is_empty() {
            ahead.extend(answer.plan.decisions.iter().cloned());
        }
        let is_look = answer.next_search.is_some();
        if let Some(NextSearch { unseen, from }) = answer.next_search {
            (options.unseen, options.from) = (unseen, from);
        }
        let steps = steps(&answer.plan, answer.proposal.as_ref());
        let has_steps = !steps.is_empty();
        next.extend(steps);
        begun += u32::from(answer.asks_again);
        let goes_on = match answer.asks_again {
            true => begun < COMMANDS_PER_LOOK,
            false if answer.proposal.is_some() => false,
            false if is_look => begun == 0 && options.from.is_some(),
            // Claims that are due, surplus replicas or nodes to free: the next look goes on without them.
            false => has_steps || !answer.plan.started.is_empty() || !answer.plan.ended.is_empty(),
        };
        if !goes_on {
            break;
        }
        facts.to_mut().ledger = committed(&facts.ledger, &answer.plan);
    }
    let (outlook, facts) = first.unwrap_or_else(|| (outlook(&facts, &options), facts));
    NextDisruption { ahead, facts, outlook, steps: next }
}

/// What `provision` would create for pods, after the nodes that static NodePools lack; and the facts on which it decides
/// that.
#[must_use]
pub fn next_claims<'f>(facts: &'f Facts, types: &KnownTypes) -> (Cow<'f, Facts>, Answer) {
    let mut facts = Cow::Borrowed(facts);
    loop {
        let answer = needed(&facts, types);
        if !answer.asks_again {
            return (facts, answer);
        }
        facts.to_mut().ledger = committed(&facts.ledger, &answer.plan);
    }
}

/// The ledger after `plan` was committed.
fn committed(ledger: &Snapshot, plan: &Plan) -> Snapshot {
    let mut after = ledger.clone();
    let adds = !plan.new_claims.is_empty();
    after.head.counters = ledger.head.counters.after(adds, &plan.changes, &plan.started);
    let created = plan.new_claims.iter().map(|new| &new.claim);
    let claims = created.chain(&plan.changes).cloned();
    after.claims.extend(claims.map(|claim| (claim.name.clone(), claim)));
    after.commands.retain(|id, _| !plan.ended.contains(id));
    after.commands.extend(plan.started.clone());
    after.unavailable_offerings.extend(plan.unavailable_offerings.clone());
    after
}
