//! What deciders ask, from the question to the plan: the same for a function, a simulation, and whoever makes a
//! recorded decision again.

use std::collections::BTreeSet;

use jiff::Timestamp;
use model::{
    CommandId, NodeClaim, NodeClaimName, NodePoolName, Plan,
    disruption::{Command, Cursor, DisruptionReason, Progress, VALIDATION_DELAY},
    event::ObjectEvent,
    facts::Facts,
    interruption::Interruption,
    ledger::{Basis, Snapshot},
    plan::Reason,
    recorded::Question,
};

use crate::{
    KnownTypes,
    disruption::{self, Options, PreparedCluster},
    events, forced, interrupt, launches, provision_with, scaled_down,
};

/// What is decided on `facts` where `question` is asked of them.
#[must_use]
pub fn answer(facts: &Facts, question: &Question) -> Plan {
    match question {
        Question::Provision => needed(facts, &KnownTypes::default()).plan,
        Question::Disrupt { unseen, from } => {
            let (unseen, from) = (unseen.clone(), from.clone());
            next_step(facts, &Options { unseen, from, ..Options::deployed() }).plan
        }
        Question::CarryOn => disruption::carried_on(&facts.ledger, facts.now),
        Question::Interrupt(events) => interrupted(facts, events),
    }
}

/// What `provision` promises on one state of the cluster.
#[derive(Debug)]
pub struct Needed {
    /// What is to become real.
    pub plan: Plan,
    /// Whether it is the nodes that static pools lack: pods may go onto them, so those are looked at again.
    pub is_for_static_pools: bool,
    /// Static pools that do not get what they want, and why.
    pub notes: Vec<Reason>,
}

/// What is promised on `facts`: the nodes that static pools lack, and only where they lack none those that
/// pods need. `types` is what was worked out before about instance types: nothing depends on it.
#[must_use]
pub fn needed(facts: &Facts, types: &KnownTypes) -> Needed {
    let fixed = launches(facts, types);
    let (is_for_static_pools, notes) = (!fixed.promises.is_empty(), fixed.notes.clone());
    let plan = if is_for_static_pools { fixed.plan(facts) } else { provision_with(facts, types) };
    Needed { plan, is_for_static_pools, notes }
}

/// What becomes of claims of whose instances EC2 tells `events`.
fn interrupted(facts: &Facts, events: &[(NodeClaimName, Vec<Interruption>)]) -> Plan {
    let events: Vec<(&NodeClaim, Vec<&Interruption>)> = events
        .iter()
        .filter_map(|(name, events)| {
            Some((facts.ledger.claims.get(name)?, events.iter().collect()))
        })
        .collect();
    let events: Vec<(&NodeClaim, &[&Interruption])> =
        events.iter().map(|(claim, events)| (*claim, events.as_slice())).collect();
    interrupt(&facts.ledger, &events, facts.now)
}

/// What `disrupt` does on one state of the cluster.
#[derive(Debug)]
pub struct NextStep {
    /// What is to become real.
    pub plan: Plan,
    /// What it must not have missed.
    pub basis: Basis,
    /// What is told of nodes that stay.
    pub staying: Vec<ObjectEvent>,
    /// Where the next look goes on: the NodePools that consolidation did not reach, and where a thorough search
    /// stopped; `None` where consolidation was not asked.
    pub left: Option<(BTreeSet<NodePoolName>, Option<Cursor>)>,
}

impl NextStep {
    fn of(plan: Plan, basis: Basis) -> Self {
        Self { plan, basis, staying: Vec::new(), left: None }
    }
}

/// The reasons in the order in which they are asked: the first that finds something acts.
const REASONS: [DisruptionReason; 4] = [
    DisruptionReason::Unhealthy,
    DisruptionReason::Empty,
    DisruptionReason::Drifted,
    DisruptionReason::Underutilized,
];

/// What is to be done first: what must go, what static pools have too many, nodes that are kept free for
/// nothing, then what was found a while ago, then a new look.
#[must_use]
pub fn next_step(facts: &Facts, options: &Options) -> NextStep {
    let forced = forced(facts);
    if !forced.is_empty() {
        return NextStep::of(forced, Basis::Claims);
    }
    let surplus = scaled_down(facts);
    if !surplus.is_empty() {
        return NextStep::of(surplus, Basis::Both);
    }
    let freed = disruption::freed(facts);
    if !freed.is_empty() {
        return NextStep::of(freed, Basis::Both);
    }
    if let Some((id, command)) = found(&facts.ledger) {
        if facts.now < validated_at(command) {
            return NextStep::of(disruption::observed(facts), Basis::Claims);
        }
        let plan = disruption::validated(facts, (id, command), options);
        return NextStep::of(plan, Basis::Both);
    }
    new_look(facts, options)
}

fn new_look(facts: &Facts, options: &Options) -> NextStep {
    let mut step = NextStep::of(disruption::observed(facts), Basis::Claims);
    let is_asked = |reason: &DisruptionReason| {
        *reason != DisruptionReason::Unhealthy || facts.policies.repairs_nodes()
    };
    let mut prepared = PreparedCluster::of(facts, options);
    for reason in REASONS.into_iter().filter(is_asked) {
        let outlook = prepared.look(reason);
        let (notes, ineligible) = (&outlook.notes, &outlook.ineligible);
        step.staying.extend(events::of_staying(&facts.ledger, reason, notes, ineligible));
        step.plan.decisions.extend(outlook.decision);
        if reason == DisruptionReason::Underutilized {
            step.left = Some((outlook.unseen, outlook.left));
        }
        let Some(command) = outlook.command else { continue };
        let id = CommandId::derived(&command);
        if !command.method.is_eventual() {
            step.plan.started.insert(id, command);
            return step;
        }
        match prepared.begun((&id, &command)) {
            Ok(plan) => {
                return NextStep { plan: with(plan, step.plan), basis: Basis::Both, ..step };
            }
            Err(objection) => {
                if let Some(last) = step.plan.decisions.last_mut() {
                    last.rejected.push(objection.rejected(None));
                }
            }
        }
    }
    disruption::note(facts, &mut step.plan.changes);
    step
}

/// `plan`, with what was `observed` before it.
fn with(mut plan: Plan, mut observed: Plan) -> Plan {
    // A claim is changed once: by its going.
    observed
        .changes
        .retain(|noted| plan.changes.iter().all(|given_up| given_up.name != noted.name));
    plan.changes.append(&mut observed.changes);
    plan.decisions.splice(0..0, observed.decisions);
    plan
}

/// The command that waits to be validated, if there is one.
fn found(ledger: &Snapshot) -> Option<(&CommandId, &Command)> {
    ledger.commands.iter().find(|(_, command)| command.progress == Progress::Found)
}

/// When `command`, which was found, is validated.
#[must_use]
pub fn validated_at(command: &Command) -> Timestamp {
    command.found_at.checked_add(VALIDATION_DELAY).unwrap_or(Timestamp::MAX)
}
