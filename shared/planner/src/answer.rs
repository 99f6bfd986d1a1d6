//! The one door to decisions: a question about facts, and the answer.
//!
//! A function, a simulation and a replay ask here, so that a recorded question has the same answer wherever it is
//! asked again.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CommandId, Function, NodeClaim, NodePoolName, Plan, PodKey,
    disruption::{Command, Cursor, DisruptionReason},
    event::ObjectEvent,
    facts::Facts,
    ledger::{Basis, Snapshot},
    plan::Reason,
    recorded::Question,
};

use crate::{
    disruption::{self, Options, PreparedCluster, Proposal, Rollouts},
    events,
    lifecycle::{forced::forced, interrupt::interrupt},
    pace::validated_at,
    scheduling::{
        launchable::known::KnownTypes,
        provision::provision_with_reasons,
        remedy::known::KnownRemedies,
        static_pool::{launches, scaled_down},
    },
    unchanged::Unchanged,
};

/// What earlier answers in this process worked out. No answer depends on it: without it, work is repeated.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Indices of instance types.
    pub types: KnownTypes,
    /// The last plan for pods that could not be scheduled.
    unchanged: Unchanged,
    /// What would let such pods be scheduled.
    remedies: KnownRemedies,
}

impl Memory {
    /// What would let pods be scheduled that `plan` has no place for, in words, by the pod: what is known, or is searched
    /// now for pods of `due`. A workload is searched at most once a minute, and again only if `facts` changed; all
    /// searches of a minute together go through [`STEPS_MAX`](crate::STEPS_MAX) nodes and pods at most.
    pub fn remedies(
        &self,
        facts: &Facts,
        plan: &Plan,
        due: &BTreeSet<PodKey>,
    ) -> BTreeMap<PodKey, String> {
        self.remedies.of(facts, &plan.unplaced, due, &self.types)
    }
}

/// What a function is to do.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What to commit.
    pub plan: Plan,
    /// Which changes of the ledger since the facts were read make the plan stale.
    pub basis: Basis,
    /// What to publish once the plan is committed.
    pub events: Vec<ObjectEvent>,
    /// Functions with new work once the plan is committed, in the order in which they are woken.
    pub wakes: Vec<Function>,
    /// Whether the question has another answer at once, on the ledger with the plan in it.
    pub asks_again: bool,
    /// Static NodePools that do not get all of their replicas, and why.
    pub missing_replicas: Vec<Reason>,
    /// Where the next look continues; `None` if consolidation did not look.
    pub next_search: Option<NextSearch>,
    /// What a look for nodes to disrupt found, and the plan stores or begins; `None` if there was nothing, or no look.
    pub proposal: Option<Proposal>,
}

/// Where the next look for consolidation continues: [`Question::Disrupt`] carries it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextSearch {
    /// NodePools that the last look did not reach.
    ///
    /// Karpenter: `singlenodeconsolidation.go`, `PreviouslyUnseenNodePools`.
    pub unseen: BTreeSet<NodePoolName>,
    /// Where the last thorough search stopped; `None` if it was complete.
    pub from: Option<Cursor>,
}

impl NextSearch {
    /// The question of `disrupt` that continues there.
    pub fn question(&self) -> Question {
        Question::Disrupt { unseen: self.unseen.clone(), from: self.from.clone() }
    }
}

impl Answer {
    fn of(plan: Plan, basis: Basis) -> Self {
        let wakes = woken_by_disruption(&plan);
        Self {
            plan,
            basis,
            events: Vec::new(),
            wakes,
            asks_again: false,
            missing_replicas: Vec::new(),
            next_search: None,
            proposal: None,
        }
    }
}

/// The answer to `question` about `facts`.
#[must_use]
pub fn answer(facts: &Facts, question: &Question, memory: &Memory) -> Answer {
    match question {
        Question::Provision => memory.unchanged.or_plan(facts, || needed(facts, &memory.types)),
        Question::Disrupt { unseen, from } => {
            let (unseen, from, types) = (unseen.clone(), from.clone(), memory.types.clone());
            disrupted(facts, &Options { unseen, types, from, ..Options::deployed() })
        }
        Question::CarryOn => {
            let plan = disruption::carried_on(&facts.ledger, facts.now);
            let events = events::of_commands(&facts.ledger, &plan);
            let asks_again = !plan.is_empty();
            Answer { events, asks_again, ..Answer::of(plan, Basis::Both) }
        }
        Question::Interrupt(announced) => {
            let claims = announced.iter().filter_map(|(name, interruptions)| {
                Some((facts.ledger.claims.get(name)?, interruptions.as_slice()))
            });
            let plan = interrupt(&facts.ledger, claims, facts.now);
            let is_any_deleted = plan.changes.iter().any(NodeClaim::is_deleting);
            let wakes = [Function::Drain, Function::Provision];
            let wakes = if is_any_deleted { wakes.to_vec() } else { Vec::new() };
            Answer { wakes, ..Answer::of(plan, Basis::Claims) }
        }
    }
}

/// The nodes that static NodePools lack, or, if they lack none, the nodes that pods need. Pods may be scheduled
/// to nodes of static NodePools, so these come first.
pub(crate) fn needed(facts: &Facts, types: &KnownTypes) -> Answer {
    let replicas = launches(facts, types);
    let missing_replicas = replicas.notes.clone();
    let is_any_missing = !replicas.new_claims.is_empty();
    let (plan, closed) = if is_any_missing {
        // The next answer, which is asked for at once, says which NodePools can launch nothing.
        (replicas.plan(facts), BTreeMap::new())
    } else {
        provision_with_reasons(facts, types)
    };
    let mut events = events::of_pods(&plan, &facts.pods, facts.now);
    events.extend(events::of_pools_without_types(&closed));
    let wakes = if plan.new_claims.is_empty() { Vec::new() } else { OF_NEW_CLAIMS.to_vec() };
    let asks_again = is_any_missing;
    Answer { events, wakes, asks_again, missing_replicas, ..Answer::of(plan, Basis::Arrivals) }
}

/// The functions with new work after claims are created: `launch` launches them, and `settle` shows them.
const OF_NEW_CLAIMS: [Function; 2] = [Function::Launch, Function::Settle];

/// The functions with new work after a plan of disruption.
fn woken_by_disruption(plan: &Plan) -> Vec<Function> {
    let is_any_deleted = plan.changes.iter().any(NodeClaim::is_deleting);
    let is_carried_out = !plan.started.values().all(Command::is_found);
    let of_new = OF_NEW_CLAIMS.map(|function| (function, !plan.new_claims.is_empty()));
    let others = [
        (Function::Provision, is_any_deleted),
        (Function::Drain, is_any_deleted || is_carried_out),
    ];
    let wakes = of_new.into_iter().chain(others);
    wakes.filter_map(|(function, wakes)| wakes.then_some(function)).collect()
}

/// The reasons in the order in which they are asked: the first that finds something acts.
const REASONS: [DisruptionReason; 4] = [
    DisruptionReason::Unhealthy,
    DisruptionReason::Empty,
    DisruptionReason::Drifted,
    DisruptionReason::Underutilized,
];

/// The first step of disruption on `facts`, with its events.
pub(crate) fn disrupted(facts: &Facts, options: &Options) -> Answer {
    disrupted_seen(facts, options, |_| ())
}

/// The answer of [`disrupted`]. If it takes a look, `see` sees first what the look starts from.
pub(crate) fn disrupted_seen<'f>(
    facts: &'f Facts,
    options: &'f Options,
    see: impl FnOnce(&mut PreparedCluster<'f>),
) -> Answer {
    let mut answer = before_look(facts, options).unwrap_or_else(|| {
        let mut prepared = PreparedCluster::of(facts, options);
        see(&mut prepared);
        new_look(facts, &mut prepared)
    });
    answer.events.splice(0..0, events::of_commands(&facts.ledger, &answer.plan));
    answer.asks_again = answer.plan.started.values().any(Command::is_under_way);
    answer
}

/// What comes before a look, in this order: claims that are due for termination, surplus replicas of static NodePools,
/// nodes of commands that were rolled back, a command that waits for its validation. `None` if there is nothing.
fn before_look(facts: &Facts, options: &Options) -> Option<Answer> {
    let forced = forced(facts);
    if !forced.is_empty() {
        return Some(Answer::of(forced, Basis::Claims));
    }
    let surplus = scaled_down(facts);
    if !surplus.is_empty() {
        return Some(Answer::of(surplus, Basis::Both));
    }
    let freed = disruption::freed(facts);
    if !freed.is_empty() {
        return Some(Answer::of(freed, Basis::Both));
    }
    let (id, command) = unvalidated(&facts.ledger)?;
    if facts.now < validated_at(command) {
        return Some(Answer::of(disruption::observed(facts), Basis::Claims));
    }
    let plan = disruption::validated(facts, (id, command), options);
    Some(Answer::of(with(plan, disruption::observed(facts)), Basis::Both))
}

fn new_look<'f>(facts: &'f Facts, prepared: &mut PreparedCluster<'f>) -> Answer {
    let (mut plan, mut basis) = (disruption::observed(facts), Basis::Claims);
    let (mut events, mut next_search, mut acting) = (Vec::new(), None, None);
    let is_asked = |reason: &DisruptionReason| {
        *reason != DisruptionReason::Unhealthy || facts.policies.repairs_nodes()
    };
    let mut is_command_begun = false;
    for reason in REASONS.into_iter().filter(is_asked) {
        let finding = prepared.look(reason);
        let is_last = reason == DisruptionReason::Underutilized;
        let ineligible = if is_last { prepared.ineligible() } else { BTreeMap::new() };
        events.extend(events::of_staying(&facts.ledger, reason, &finding.notes, &ineligible));
        plan.decisions.extend(finding.decision);
        if is_last {
            next_search = Some(NextSearch { unseen: finding.unseen, from: finding.left });
        }
        let Some(proposal) = finding.proposal else { continue };
        let command = &proposal.command;
        let id = CommandId::derived(command);
        if !command.method.is_eventual() {
            // It begins once it was validated; until then its nodes say that they may be consolidated.
            plan.started.insert(id, command.clone());
            acting = Some(proposal);
            break;
        }
        match prepared.begun((&id, command)) {
            Ok(begun) => {
                (plan, basis, is_command_begun) = (with(begun, plan), Basis::Both, true);
                disruption::note_drift(&prepared.state, &mut plan);
                acting = Some(proposal);
                break;
            }
            Err(objection) => {
                if let Some(last) = plan.decisions.last_mut() {
                    last.rejected.push(objection.rejected(None));
                }
            }
        }
    }
    events.extend(events::of_annotations(&facts.ledger, &facts.pods));
    Rollouts::of(&prepared.state).note(&prepared.state, &mut plan);
    if !is_command_begun {
        disruption::note(&prepared.state, &mut plan.changes);
    }
    Answer { events, next_search, proposal: acting, ..Answer::of(plan, basis) }
}

/// `plan`, with what was `observed` before it.
fn with(mut plan: Plan, mut observed: Plan) -> Plan {
    // A claim is changed once: its deletion wins.
    observed.changes.retain(|noted| plan.changes.iter().all(|deleted| deleted.name != noted.name));
    plan.changes.append(&mut observed.changes);
    plan.decisions.splice(0..0, observed.decisions);
    plan
}

/// The command that waits for its validation, if there is one.
fn unvalidated(ledger: &Snapshot) -> Option<(&CommandId, &Command)> {
    ledger.commands.iter().find(|(_, command)| command.is_found())
}
