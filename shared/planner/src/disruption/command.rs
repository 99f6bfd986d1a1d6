//! A command that is carried out: from the creation of its replacements to the end of its candidates, or back.
//!
//! ```text
//!                  begun                     carried_on
//!   Found ──────────────────► Launching ───────────────────► its claims are deleted
//!     │  no replacement            │  a replacement is gone,
//!     ▼                            ▼  or ten minutes are over
//!   its claims are deleted     RolledBack ── its nodes take pods again ──► done
//!                                  ▲
//!   Rebooting ─────────────────────┘  the node is ready after another boot
//!     └─ it is not back in time ──► its claim is deleted
//! ```
//!
//! The replacements are created in the commit that makes the command one that launches: a reader of
//! the ledger sees both or neither. From then on the candidates count as leaving. What replaces them is
//! seen in the ledger alone, so that waiting for it costs no look at the cluster. A replacement that
//! comes too late is a node like any other.
//!
//! Karpenter: `pkg/controllers/disruption/queue.go`.

mod reboot;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{
    ClaimPhase, CommandId, DeletionReason, Function, HourlyPrice, NodeClaim, NodeClaimName,
    NodeName, NodePoolName, Plan,
    disruption::{Command, Method, Progress, REPLACEMENTS_WITHIN, Replacement},
    duration::later,
    facts::Facts,
    labels,
    ledger::{Decision, DecisionKind, Rejected, RejectionReason, Snapshot},
    limits,
    plan::{NewClaim, Placement},
    words,
};

use super::{
    Objection, Options, calm,
    carry_out::{disrupted, name},
    decide::PreparedCluster,
    simulation::{Mode, NewNode},
    validation::as_found,
};
use crate::{
    index::id::CandidateId,
    scheduling::{output::told::created, static_pool},
    told,
    world::World,
};

/// Nodes of static pools that begin to be replaced at once: their commands and claims fit one commit.
const ONE_BY_ONE_MAX: usize = limits::ITEMS_PER_COMMIT_MAX / 2;

/// What carries out `command`, which holds on these very facts: its claims are deleted, or its
/// replacements created; or why they cannot be.
pub fn begun(
    facts: &Facts,
    (id, command): (&CommandId, &Command),
    options: &Options,
) -> Result<Plan, Objection> {
    PreparedCluster::of(facts, options).begun((id, command))
}

/// Nodes of static pools are replaced each by itself: one that does not come holds back no other. What is
/// more than fits one commit waits.
///
/// Karpenter: `pkg/controllers/disruption/staticdrift.go`, `ComputeCommands`.
fn one_by_one(facts: &Facts, command: &Command, options: &Options) -> Result<Plan, Objection> {
    let wanted = command.candidates.iter().zip(&command.replacements).take(ONE_BY_ONE_MAX);
    let pools: Vec<&NodePoolName> =
        wanted.clone().map(|(_, replacement)| &replacement.node_pool).collect();
    let new_claims =
        static_pool::replacements(facts, &pools, &options.types).map_err(Objection::NotCreated)?;
    // Where there is not enough for all, some go first.
    let begun = wanted.zip(&new_claims).filter_map(|(both, new)| Some((both, new.as_ref()?)));
    let single = |((candidate, replacement), new): ((&NodeClaimName, &Replacement), &NewClaim)| {
        let claims = vec![new.claim.name.clone()];
        let single = Command {
            candidates: vec![candidate.clone()],
            replacements: vec![replacement.clone()],
            progress: Progress::Launching { since: facts.now, claims },
            ..command.clone()
        };
        (CommandId::derived(&single), single)
    };
    let started: BTreeMap<CommandId, Command> = begun.map(single).collect();
    let new_claims: Vec<NewClaim> = new_claims.into_iter().flatten().collect();
    let candidates = started.values().flat_map(|single| single.candidates.clone()).collect();
    let decision = told(facts, &Command { candidates, ..command.clone() }, &new_claims);
    let (parent, decisions) = (facts.ledger.head.counters, vec![decision]);
    Ok(Plan { parent, new_claims, started, decisions, ..Plan::default() })
}

impl PreparedCluster<'_> {
    /// What [`begun`] says, on facts that are ready.
    pub fn begun(&mut self, (id, command): (&CommandId, &Command)) -> Result<Plan, Objection> {
        let bounds = self.bounds_of(command);
        let mut plan = self.set_out((id, command))?;
        self.mark_canaries(command, &mut plan);
        for decision in &mut plan.decisions {
            decision.bounds.clone_from(&bounds);
        }
        plan.started.extend(calm::moves(self.state.facts, (id, command), &plan));
        Ok(plan)
    }

    /// What replaces a drifted node starts from the image that its class is to start from, accepted or not, and is a
    /// canary of the NodePool of that node.
    fn mark_canaries(&self, command: &Command, plan: &mut Plan) {
        let facts = self.state.facts;
        let is_of_drift = matches!(command.method, Method::Drift | Method::StaticDrift);
        let mut replaced =
            command.candidates.iter().filter_map(|name| facts.ledger.claims.get(name));
        let from = replaced.next().and_then(|claim| self.state.pool(claim.node_pool.as_str()));
        let from = from.filter(|pool| facts.class_rollouts.contains_key(&pool.template.node_class));
        for new in plan.new_claims.iter_mut().filter(|_| is_of_drift) {
            if let Some(from) = from.filter(|from| from.name != new.claim.node_pool) {
                new.claim.set_moved_from(from);
            }
            let class = &new.claim.node_class;
            let mut images = facts.class_candidates.get(class).into_iter().flatten();
            if images.any(|(_, image)| !facts.is_halted(class, image)) {
                new.claim.annotations.insert(labels::CANARY.to_owned(), "true".to_owned());
            }
        }
    }

    fn set_out(&mut self, (id, command): (&CommandId, &Command)) -> Result<Plan, Objection> {
        let facts = self.state.facts;
        let parent = facts.ledger.head.counters;
        if let Progress::Rebooting { .. } = command.progress {
            let (started, decisions) =
                ([(id.clone(), command.clone())].into(), vec![rebooting(facts, command)]);
            return Ok(Plan { parent, started, decisions, ..Plan::default() });
        }
        if command.replacements.is_empty() {
            let changes = disrupted(facts, command);
            return Ok(Plan { parent, changes, ended: [id.clone()].into(), ..Plan::default() });
        }
        let is_of_template = |replacement: &Replacement| replacement.instance_types.is_empty();
        if command.replacements.iter().all(is_of_template) {
            return one_by_one(facts, command, self.options);
        }
        let (new_claims, placements) = self.replacements(command)?;
        let claims = new_claims.iter().map(|new| new.claim.name.clone()).collect();
        let progress = Progress::Launching { since: facts.now, claims };
        let decision = told(facts, command, &new_claims);
        let started = Command { progress, ..command.clone() };
        Ok(Plan {
            parent,
            new_claims,
            placements,
            started: [(id.clone(), started)].into(),
            decisions: vec![decision],
            ..Plan::default()
        })
    }

    /// The claims that `command` launches, and where the other pods go.
    fn replacements(
        &mut self,
        command: &Command,
    ) -> Result<(Vec<NewClaim>, Vec<Placement>), Objection> {
        let named: BTreeSet<&NodeClaimName> = command.candidates.iter().collect();
        let candidates = self.field.candidates.entries();
        let is_named = |(_, candidate): &(CandidateId, &super::candidate::Candidate<'_>)| {
            named.contains(&candidate.claim.name)
        };
        let ids: Vec<CandidateId> = candidates.filter(is_named).map(|(id, _)| id).collect();
        let mode = match command.method {
            Method::StaticDrift | Method::Drift => Mode::Drift,
            Method::Repair => Mode::Repair,
            _ => Mode::Consolidation(self.state.now),
        };
        let nodes = self.field.get(&ids);
        let outcome = as_found(&self.state, &mut self.simulator, (command, mode), &nodes)?;
        if let Some(stuck) = outcome.stuck {
            return Err(Objection::Stuck(Box::new(stuck)));
        }
        let (in_flight, expected) = (outcome.in_flight.len(), command.replacements.len());
        if in_flight != expected {
            return Err(Objection::OtherCount { in_flight, expected });
        }
        let both = command.replacements.iter().zip(outcome.in_flight);
        let wanted: Vec<Replacement> = both.map(|(wanted, new)| narrowed(wanted, new)).collect();
        let new_claims =
            self.simulator.world().new_claims(&wanted).map_err(Objection::NotCreated)?;
        let placed = outcome.placed.into_iter().filter(|(_, pods)| !pods.is_empty());
        Ok((new_claims, placed.map(|(target, pods)| Placement { target, pods }).collect()))
    }
}

/// What was to be launched, for the pods and within the rules of now.
fn narrowed(wanted: &Replacement, new: NewNode) -> Replacement {
    let mut requirements = wanted.requirements.clone();
    requirements.add_all(&new.requirements);
    let NewNode { pods, device_drivers, .. } = new;
    Replacement { requirements, pods, device_drivers, ..wanted.clone() }
}

/// What is to be done about commands that are carried out, as far as the ledger alone says it: claims
/// that are deleted, commands that are rolled back or done. Empty where all wait.
#[must_use]
pub fn carried_on(ledger: &Snapshot, now: Timestamp) -> Plan {
    let mut plan = Plan { parent: ledger.head.counters, ..Plan::default() };
    for (id, command) in &ledger.commands {
        let (since, claims) = match &command.progress {
            Progress::Launching { since, claims } => (since, claims),
            Progress::Rebooting { since } => {
                reboot::carried_on(&mut plan, (id, command), (ledger, *since, now));
                continue;
            }
            // No policy needs it any more.
            Progress::Moved { until, .. } if *until <= now => {
                plan.ended.insert(id.clone());
                continue;
            }
            _ => continue,
        };
        let candidates: Vec<&NodeClaim> = claims_left(ledger, command).collect();
        let deadline = later(*since, REPLACEMENTS_WITHIN);
        let state = Replacements::of(ledger, claims);
        match state {
            _ if candidates.is_empty() => drop(plan.ended.insert(id.clone())),
            Replacements::Initialized => {
                let reason = DeletionReason::Disrupted(command.method.reason());
                let disrupted =
                    candidates.iter().map(|claim| claim.deleted_within(reason, now, command.drain));
                plan.changes.extend(disrupted);
                plan.ended.insert(id.clone());
                plan.decisions.push(finished(command, &candidates, now));
            }
            Replacements::Gone(claim) => {
                let why = format!("its replacement {claim} is gone");
                let why = (RejectionReason::ReplacementGone, why);
                roll_back(&mut plan, (id, command), (&candidates, now), why);
            }
            Replacements::Coming(claim) if deadline <= now => {
                let minutes = REPLACEMENTS_WITHIN.as_mins();
                let why = format!("its replacement {claim} was not ready within {minutes} minutes");
                let why = (RejectionReason::ReplacementLate, why);
                roll_back(&mut plan, (id, command), (&candidates, now), why);
            }
            Replacements::Coming(_) => {}
        }
    }
    plan
}

/// How far the replacements of a command are.
enum Replacements<'l> {
    /// All of them take pods.
    Initialized,
    /// This one is still to come.
    Coming(&'l NodeClaimName),
    /// This one never will.
    Gone(&'l NodeClaimName),
}

impl<'l> Replacements<'l> {
    fn of(ledger: &Snapshot, claims: &'l [NodeClaimName]) -> Self {
        let mut coming = None;
        for name in claims {
            match ledger.claims.get(name).map(|claim| claim.phase) {
                // An item that cannot be read is not one that is not there.
                None if is_unreadable(ledger, name) => coming = Some(name),
                None | Some(ClaimPhase::Deleting) => return Self::Gone(name),
                Some(ClaimPhase::Initialized) => {}
                Some(_) => coming = Some(name),
            }
        }
        coming.map_or(Self::Initialized, Self::Coming)
    }
}

fn is_unreadable(ledger: &Snapshot, name: &NodeClaimName) -> bool {
    let batches_are = |item: &model::ledger::UnreadableItem| item.claim.is_none();
    ledger.unreadable.iter().any(|item| item.claim.as_ref() == Some(name) || batches_are(item))
}

/// The candidates of `command` that were not deleted meanwhile.
fn claims_left<'l>(ledger: &'l Snapshot, command: &Command) -> impl Iterator<Item = &'l NodeClaim> {
    let claims = command.candidates.iter().filter_map(|name| ledger.claims.get(name));
    claims.filter(|claim| !claim.is_deleting())
}

fn roll_back(
    plan: &mut Plan,
    (id, command): (&CommandId, &Command),
    (left, now): (&[&NodeClaim], Timestamp),
    (reason, why): (RejectionReason, String),
) {
    let (method, count) = (name(command.method.reason()), words::many(left.len()));
    let nodes = if left.len() == 1 { "node stays" } else { "nodes stay" };
    let summary = format!("{method}: {count} {nodes}, rolled back");
    let rejected = vec![Rejected { what: None, reason, why: why.clone() }];
    let (kind, who) = (DecisionKind::RollBack, (Function::Disrupt, now));
    let decision = Decision::about(kind, left.iter().copied(), who, summary);
    plan.decisions.push(Decision { rejected, ..decision });
    let progress = Progress::RolledBack { why };
    plan.started.insert(id.clone(), Command { progress, ..command.clone() });
}

/// The event when a reboot begins.
fn rebooting(facts: &Facts, command: &Command) -> Decision {
    let claims: Vec<&NodeClaim> = claims_left(&facts.ledger, command).collect();
    let nodes = words::counted(claims.len(), "node");
    let summary = format!("{}: {nodes} to be rebooted", name(command.method.reason()));
    let (kind, who) = (DecisionKind::Disruption, (Function::Disrupt, facts.now));
    told::with_pods(Decision::about(kind, claims, who, summary), facts)
}

/// The event when replacements are created.
fn told(facts: &Facts, command: &Command, new_claims: &[NewClaim]) -> Decision {
    let replaced: Vec<&NodeClaim> = claims_left(&facts.ledger, command).collect();
    let before = price(&replaced);
    let prices = new_claims.iter().map(|new| new.price);
    let after = prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add);
    let method = name(command.method.reason());
    let nodes = words::counted(replaced.len(), "node");
    let new = words::counted(new_claims.len(), "new node");
    let summary = format!("{method}: {nodes} for {new}, ${before} to ${after} an hour");
    let (kind, who) = (DecisionKind::Disruption, (Function::Disrupt, facts.now));
    let decision = Decision::about(kind, replaced, who, summary);
    let mut decision = told::with_pods(decision, facts);
    let launched = created(new_claims, who, String::new());
    if launched.node_pool != decision.node_pool {
        decision.node_pool = None;
    }
    decision.subjects.extend(launched.subjects);
    Decision { price_before: Some(before), price_after: Some(after), ..decision }
}

fn finished(command: &Command, left: &[&NodeClaim], now: Timestamp) -> Decision {
    let (method, count) = (name(command.method.reason()), words::many(left.len()));
    let nodes = if left.len() == 1 { "node is" } else { "nodes are" };
    let summary = format!("{method}: {count} {nodes} disrupted, replacements are ready");
    let (kind, who) = (DecisionKind::Disruption, (Function::Disrupt, now));
    let decision = Decision::about(kind, left.iter().copied(), who, summary);
    Decision { price_before: Some(price(left)), ..decision }
}

fn price(claims: &[&NodeClaim]) -> HourlyPrice {
    let prices = claims.iter().filter_map(|claim| Some(claim.instance.as_ref()?.price));
    prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add)
}

/// Commands that were rolled back and whose nodes take pods again, and nodes that bear the taint of
/// disruption though no command disrupts them, as a command that is rolled back: who
/// tainted them, or lost the command, does not matter.
///
/// Karpenter: `pkg/controllers/disruption/controller.go`, `Reconcile`, which frees such nodes first.
#[must_use]
pub fn freed(facts: &Facts) -> Plan {
    let world = World::of(facts);
    let is_tainted = |claim: &NodeClaim| {
        let ours = [labels::DISRUPTED_TAINT, labels::REBOOTING_TAINT];
        let is_it = |present: &model::Taint| ours.contains(&present.key.as_str());
        !world.is_leaving(claim)
            && world.node(claim).is_some_and(|node| node.taints.iter().any(is_it))
    };
    let claims = facts.ledger.claims.values();
    let tainted: BTreeSet<&NodeClaimName> =
        claims.filter(|claim| is_tainted(claim)).map(|claim| &claim.name).collect();
    let mut plan = Plan { parent: facts.ledger.head.counters, ..Plan::default() };
    let mut rolled_back: BTreeSet<&NodeClaimName> = BTreeSet::new();
    for (id, command) in
        facts.ledger.commands.iter().filter(|(_, command)| command.is_rolled_back())
    {
        rolled_back.extend(&command.candidates);
        if command.candidates.iter().all(|name| !tainted.contains(name)) {
            plan.ended.insert(id.clone());
        }
    }
    let stale: Vec<NodeClaimName> =
        tainted.into_iter().filter(|name| !rolled_back.contains(name)).cloned().collect();
    if !stale.is_empty() {
        let why = "no command disrupts its nodes".to_owned();
        let command = Command {
            method: Method::Emptiness,
            found_at: facts.now,
            candidates: stale,
            replacements: Vec::new(),
            drain: None,
            progress: Progress::RolledBack { why },
        };
        plan.started.insert(CommandId::freeing(facts.now), command);
    }
    plan
}

/// The nodes that are to bear a taint of ours, or to bear it no longer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// No new pod is to go onto them: they are replaced.
    pub replaced: BTreeSet<NodeName>,
    /// No new pod is to go onto them: they are rebooted.
    pub rebooting: BTreeSet<NodeName>,
    /// They were to be either, and take pods again.
    pub freed: BTreeSet<NodeName>,
}

/// The nodes onto which no new pod is to go because of a command, and those of commands that are rolled back.
#[must_use]
pub fn marked(ledger: &Snapshot) -> Marked {
    let node = |command: &Command| -> Vec<NodeName> {
        claims_left(ledger, command).filter_map(|claim| claim.node.clone()).collect()
    };
    let commands = || ledger.commands.values();
    let (rebooting, replaced): (Vec<&Command>, Vec<&Command>) =
        commands().filter(|command| command.is_under_way()).partition(|command| command.reboots());
    let of = |commands: Vec<&Command>| commands.into_iter().flat_map(node).collect();
    let (replaced, rebooting): (BTreeSet<NodeName>, BTreeSet<NodeName>) =
        (of(replaced), of(rebooting));
    let freed = commands().filter(|command| command.is_rolled_back()).flat_map(node);
    let freed =
        freed.filter(|node| !replaced.contains(node) && !rebooting.contains(node)).collect();
    Marked { replaced, rebooting, freed }
}
