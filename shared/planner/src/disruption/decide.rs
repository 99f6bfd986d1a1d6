//! What one method would do on one state of the cluster: its command, and why it leaves every other
//! node alone.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{
    NodeName, Pod, PodKey,
    disruption::{Command, DisruptionReason, Method, Progress, Replacement, VALIDATION_DELAY},
    facts::Facts,
    words,
};

use super::{
    Options,
    candidate::Candidate,
    conditions, consolidation,
    finding::Finding,
    multi,
    nodes::State,
    objection::Objection,
    price::{self, Exact},
    proposal::{Destination, Disrupted, Move, Proposal},
    repair,
    search::{self, CommandDraft, Field, Notes},
    simulation::{Simulated, Simulator},
    single,
    validation::{self, Valid, Voided},
};
use crate::index::id::CandidateId;

/// Alternatives that a proposal names.
const REJECTED_MAX: usize = 20;

/// The cluster, made ready for every method: for several questions about the same facts,
/// and so that both halves can be measured.
#[derive(Debug)]
pub struct PreparedCluster<'a> {
    /// The nodes, prepared once for all methods.
    pub state: State<'a>,
    /// The candidates among them.
    pub field: Field<'a>,
    pub(crate) simulator: Simulator<'a>,
    pub(crate) options: &'a Options,
    is_spared: bool,
    /// What methods found on these facts in an [`super::Outlook`]: a look after it does not search again.
    pub(super) decided: BTreeMap<Method, Finding>,
}

impl<'a> PreparedCluster<'a> {
    /// Gets `facts` ready. What-ifs are made ready by the first question that needs one.
    #[must_use]
    pub fn of(facts: &'a Facts, options: &'a Options) -> Self {
        let state = State::of(facts, facts.now, options);
        let field = Field::of(&state);
        Self {
            field,
            simulator: Simulator::new(facts, options),
            state,
            options,
            is_spared: false,
            decided: BTreeMap::new(),
        }
    }

    /// Spares the nodes that pending pods fit onto, if no function says which those are.
    pub(crate) fn spare_for_pending(&mut self) {
        if std::mem::replace(&mut self.is_spared, true) {
            return;
        }
        self.state.spare_for_pending();
        self.field = Field::of(&self.state);
    }

    /// Whether `method` decides nothing while a claim has no instance. To disrupt an empty node
    /// nothing is planned; who looks again and again does not wait with it for launches.
    fn waits(&self, method: Method) -> bool {
        self.options.is_watched || method != Method::Emptiness
    }

    /// Makes what-ifs ready now.
    pub fn make_what_ifs_ready(&mut self) {
        self.simulator.world();
    }

    /// What the first of `methods` that finds something would do, and why every other node stays; else
    /// what the last of them says.
    ///
    /// Whatever is decided about nodes that still work is decided here: for a plan that is only shown,
    /// for the function that carries it out, and for simulations. They differ in `options`.
    pub fn first(&mut self, methods: &[Method]) -> Finding {
        let is_asked = |method: &Method| !self.field.eligible(&self.state, *method).0.is_empty();
        if !self.options.is_watched && methods.iter().any(is_asked) {
            self.spare_for_pending();
        }
        let mut last = Finding::default();
        for method in methods {
            last = self.decide(*method);
            if last.proposal.is_some() {
                break;
            }
        }
        last
    }

    /// What one method would do.
    pub fn decide(&mut self, method: Method) -> Finding {
        if let Some(finding) = self.decided.get(&method) {
            return finding.clone();
        }
        let mut finding = Finding::default();
        if self.waits(method) && !self.state.is_complete() {
            finding.error = Some(Objection::Incomplete);
            return finding;
        }
        let (eligible, mut notes) = self.field.eligible(&self.state, method);
        finding.eligible =
            self.field.get(&eligible).iter().map(|candidate| candidate.node.name.clone()).collect();
        let examined = self.simulator.examined;
        self.simulator.allow(self.options.work);
        let found = self.found(method, &eligible, &mut notes, &mut finding);
        finding.examined = self.simulator.examined - examined;
        finding.examined_nodes = std::mem::take(&mut self.simulator.seen).len();
        match found {
            Ok(Some(draft)) => {
                let proposal = self.proposal(method, draft, &notes);
                self.keep_valid(proposal, &mut finding);
            }
            Ok(None) => {}
            Err(objection) => finding.error = Some(objection),
        }
        finding.is_cut_short = notes.values().any(|note| *note == Objection::NotReached);
        finding.notes = self.by_name(notes);
        finding
    }

    /// `notes` by the names of the nodes that they are about.
    pub(super) fn by_name(&self, notes: Notes) -> BTreeMap<NodeName, Objection> {
        let name = |at: CandidateId| self.field.candidates[at].node.name.clone();
        notes.into_iter().map(|(at, objection)| (name(at), objection)).collect()
    }

    fn found(
        &mut self,
        method: Method,
        eligible: &[CandidateId],
        notes: &mut Notes,
        finding: &mut Finding,
    ) -> Result<Option<CommandDraft>, Objection> {
        let (state, field, simulator) = (&self.state, &self.field, &mut self.simulator);
        match method {
            Method::Repair => repair::repair(state, simulator, field, eligible, notes),
            Method::Emptiness => Ok(search::emptiness(state, field, eligible, notes)),
            Method::StaticDrift => Ok(search::static_drift(state, field, eligible, notes)),
            Method::Drift => search::drift(state, simulator, field, eligible, notes),
            Method::MultiNode => multi::multi_node(state, simulator, field, eligible, notes),
            Method::SingleNode => {
                let candidates = (eligible, &self.options.unseen);
                let single = single::single_node(state, simulator, field, candidates, notes);
                finding.unseen = single.unseen;
                Ok(single.draft)
            }
        }
    }

    /// Puts `proposal` into the finding, if it will hold.
    fn keep_valid(&mut self, proposal: Proposal, finding: &mut Finding) {
        let method = proposal.command.method;
        // Emptiness that is looked at again and again is looked at again then.
        if method.is_eventual() || !self.waits(method) {
            finding.proposal = Some(proposal);
            return;
        }
        match self.later(&proposal) {
            Ok(proposal) => finding.proposal = Some(proposal),
            Err(voided) => finding.voided = Some((proposal, voided)),
        }
    }

    /// `proposal` as far as it will hold after the delay, if only the clock moves.
    pub(crate) fn later(&mut self, proposal: &Proposal) -> Result<Proposal, Voided> {
        let (facts, command) = (self.state.facts, &proposal.command);
        let later = facts.now.checked_add(VALIDATION_DELAY).unwrap_or(facts.now);
        let state = self.state.at(later);
        let valid = if is_another_world(&self.state, &state) {
            let facts = Facts { now: later, ..facts.clone() };
            PreparedCluster::of(&facts, self.options).still(command)?
        } else {
            // Who is a candidate changes with pods and nodes, and both stayed as they were.
            validation::still_in(&state, &self.field, &mut self.simulator, command)?
        };
        Ok(proposal.clone().narrowed(valid))
    }

    /// What of `command` holds now.
    pub(super) fn still(&mut self, command: &Command) -> Result<Valid, Voided> {
        validation::still_in(&self.state, &self.field, &mut self.simulator, command)
    }

    /// The command that a draft is, with what speaks for it.
    pub(crate) fn proposal(&self, method: Method, draft: CommandDraft, notes: &Notes) -> Proposal {
        let chosen = self.field.get(&draft.nodes);
        let before =
            chosen.iter().fold(Exact::default(), |sum, candidate| sum.plus(candidate.price));
        let after = consolidation::price_after(&draft.outcome);
        let rejected =
            notes.iter().filter(|_| method.reason() == DisruptionReason::Underutilized).map(
                |(at, why)| format!("{}: {}", self.field.candidates[*at].node.name, why.in_full()),
            );
        Proposal {
            disrupted: chosen.iter().map(|candidate| self.disrupted(method, candidate)).collect(),
            moves: moves(&chosen, &draft.outcome),
            price_before: before.rounded(),
            price_after: after.rounded(),
            rejected: rejected.take(REJECTED_MAX).collect(),
            is_terminate_first: draft.is_first,
            command: Command {
                method,
                found_at: self.state.facts.now,
                candidates: chosen.iter().map(|candidate| candidate.claim.name.clone()).collect(),
                replacements: match method {
                    _ if draft.is_first || draft.reboots => Vec::new(),
                    Method::StaticDrift | Method::Repair
                        if chosen.iter().any(|candidate| candidate.pool.replicas.is_some()) =>
                    {
                        chosen.iter().map(|candidate| from_pool(candidate)).collect()
                    }
                    _ => draft.outcome.in_flight.into_iter().map(replacement).collect(),
                },
                drain: chosen.iter().filter_map(|candidate| drain(method, candidate)).min(),
                progress: if draft.reboots {
                    Progress::Rebooting { since: self.state.facts.now }
                } else {
                    Progress::Found
                },
            },
        }
    }

    fn disrupted(&self, method: Method, candidate: &Candidate<'_>) -> Disrupted {
        let reason = match method {
            Method::Repair => {
                let due = candidate.due.as_ref();
                let why = due.map(|due| format!("unhealthy: {}", due.condition));
                let reboots = if candidate.is_to_be_rebooted() { ", rebooted" } else { "" };
                why.unwrap_or_default() + reboots
            }
            Method::Emptiness => "empty".to_owned(),
            Method::StaticDrift | Method::Drift => {
                let entry = &self.state.nodes[candidate.number];
                let drift = conditions::drift(&self.state, entry, candidate.pool);
                let (_, reason) = drift.unwrap_or_default();
                format!("drifted: {reason}")
            }
            Method::MultiNode | Method::SingleNode => {
                let pods = words::counted(candidate.pods.len(), "pod");
                let fit = if candidate.pods.len() == 1 { "fits" } else { "fit" };
                format!("{pods} {fit} elsewhere for less")
            }
        };
        Disrupted {
            node: candidate.node.name.clone(),
            claim: candidate.claim.name.clone(),
            node_pool: candidate.pool.name.clone(),
            price: candidate.price.rounded(),
            reason,
            drain: drain(method, candidate),
        }
    }
}

/// How long an ill node may drain: as long as its policy says, and not longer than its claim.
fn drain(method: Method, candidate: &Candidate<'_>) -> Option<SignedDuration> {
    let drain = candidate.due.as_ref().filter(|_| method == Method::Repair)?.drain;
    let bound = candidate.claim.termination_grace_period;
    Some(bound.map_or(drain, |bound| bound.min(drain)))
}

/// Whether other pods are protected, only because time has passed.
fn is_another_world(before: &State<'_>, after: &State<'_>) -> bool {
    let moved = |pod: &&Pod| pod.is_protected(before.now) != pod.is_protected(after.now);
    before.guarded.iter().any(moved)
}

/// The replacement of a node of a static pool: a claim made from the pool alone.
fn from_pool(candidate: &Candidate<'_>) -> Replacement {
    Replacement {
        node_pool: candidate.pool.name.clone(),
        instance_types: Vec::new(),
        requirements: crate::scheduling::launchable::template::requirements(candidate.pool),
        cheapest: None,
        pods: Vec::new(),
        device_drivers: BTreeSet::new(),
    }
}

fn replacement(new: super::simulation::NewNode) -> Replacement {
    let offers = new.types.iter().filter_map(|instance_type| {
        let (price, offering) = price::cheapest(instance_type, &new.requirements)?;
        Some((price, instance_type.key_of(offering)))
    });
    let cheapest = offers.min().map(|(price, key)| (key, price.rounded()));
    Replacement {
        node_pool: new.pool,
        instance_types: new.types.iter().map(|instance_type| instance_type.name.clone()).collect(),
        cheapest,
        requirements: new.requirements,
        pods: new.pods,
        device_drivers: new.device_drivers,
    }
}

/// Where the pods of `chosen` go.
fn moves(chosen: &[&Candidate<'_>], outcome: &Simulated) -> Vec<Move> {
    let moved = |pod: &&'_ Pod, node: &NodeName| (pod.key.clone(), node.clone());
    let from: BTreeMap<PodKey, NodeName> = chosen
        .iter()
        .flat_map(|candidate| {
            candidate.pods.iter().map(move |pod| moved(pod, &candidate.node.name))
        })
        .collect();
    let existing = outcome.placed.iter().flat_map(|(target, pods)| {
        pods.iter().map(|pod| (pod, Destination::Existing(target.clone())))
    });
    let new =
        outcome.in_flight.iter().enumerate().flat_map(|(at, new)| {
            new.pods.iter().map(move |pod| (pod, Destination::Replacement(at)))
        });
    let filter_map = existing.chain(new).filter_map(|(pod, to)| {
        let from = from.get(pod)?.clone();
        Some(Move { pod: pod.clone(), from, to })
    });
    filter_map.collect()
}
