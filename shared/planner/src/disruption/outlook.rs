//! Everything that can be said about giving nodes up at one moment: what each method would do, and
//! why every other node stays.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::{
    HourlyPrice, NodeName, NodePoolName, Pod, PodKey, facts::Facts, node_pool::BudgetReason,
};

use super::{
    Method, Options,
    budgets::Remaining,
    candidate::Candidate,
    command::{Command, Destination, Disrupted, Move, Replacement},
    conditions,
    consolidation::{self, Obstacle},
    multi,
    nodes::State,
    price::{self, Exact},
    search::{self, Draft, Field, Notes},
    simulation::{Outcome, Simulator},
    single,
    validation::{self, Voided},
};

/// How long a consolidation waits before it is carried out if it still holds.
///
/// Karpenter: `pkg/controllers/disruption/consolidation.go`, `consolidationTTL`.
pub const VALIDATION_DELAY: SignedDuration = SignedDuration::from_secs(15);
/// Alternatives that a command names.
const REJECTED_MAX: usize = 20;

/// What one method says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What it would do.
    pub command: Option<Command>,
    /// The nodes that it looks at, before budgets.
    pub eligible: Vec<NodeName>,
    /// Why it leaves the other nodes alone.
    pub notes: BTreeMap<NodeName, String>,
    /// What it found and would not do 15 seconds later, and why.
    pub voided: Option<(Command, Voided)>,
    /// Why it could not look at all.
    pub error: Option<String>,
    /// Pools that it did not reach within its work: they come first next time.
    pub unseen: Vec<NodePoolName>,
    /// Whether it stopped at its limit of work.
    pub is_cut_short: bool,
    /// How many what-ifs it took.
    pub examined: u64,
    /// How many different nodes they were about.
    pub examined_nodes: usize,
}

/// What would be given up, and why everything else stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// Each method's answer on the same facts, independently of the others.
    pub answers: BTreeMap<Method, Answer>,
    /// Nodes, or claims without a node, that no method can look at, and why.
    pub ineligible: BTreeMap<String, String>,
    /// What the budgets leave; `None` is unlimited.
    pub budgets: BTreeMap<NodePoolName, BTreeMap<BudgetReason, Option<u64>>>,
    /// Why nothing is decided at all, if so.
    pub waiting: Option<String>,
}

impl Outlook {
    /// The method that acts: the first in order that found something.
    pub fn first(&self) -> Option<Method> {
        let mut answers = self.answers.iter();
        answers.find_map(|(method, answer)| answer.command.is_some().then_some(*method))
    }

    /// The command that is carried out.
    pub fn command(&self) -> Option<&Command> {
        self.answers.get(&self.first()?)?.command.as_ref()
    }
}

/// What every method would do.
#[must_use]
pub fn outlook(facts: &Facts, options: &Options) -> Outlook {
    let mut all = Prepared::of(facts, options);
    let answers = Method::ALL.into_iter().map(|method| (method, all.answer(method))).collect();
    Outlook { answers, ..all.about_nodes() }
}

/// What one method would do.
#[must_use]
pub fn answer(facts: &Facts, method: Method, options: &Options) -> Answer {
    Prepared::of(facts, options).answer(method)
}

/// `command` as far as it holds on newer facts; or why it does not.
pub fn validated(facts: &Facts, command: &Command, options: &Options) -> Result<Command, Voided> {
    let mut look = Prepared::of(facts, options);
    validation::validated(&look.state, &look.field, &mut look.simulator, command)
}

/// The cluster, made ready for every method: for whoever asks several questions about the same facts,
/// and so that both halves can be measured.
#[derive(Debug)]
pub struct Prepared<'a> {
    pub(crate) state: State<'a>,
    pub(crate) field: Field<'a>,
    pub(crate) simulator: Simulator<'a>,
    pub(crate) options: &'a Options,
}

impl<'a> Prepared<'a> {
    /// Gets `facts` ready. What-ifs are made ready by the first question that needs one.
    #[must_use]
    pub fn of(facts: &'a Facts, options: &'a Options) -> Self {
        let state = State::of(facts, facts.now, options);
        let field = Field::of(&state);
        Self { field, simulator: Simulator::new(facts), state, options }
    }

    /// Spares the nodes that pending pods fit onto, where nobody else says which those are.
    pub(crate) fn spare_for_pending(&mut self) {
        self.state.spare_for_pending();
        self.field = Field::of(&self.state);
    }

    /// Whether `method` has any node to look at.
    pub(crate) fn looks_at_any(&self, method: Method) -> bool {
        !self.field.eligible(&self.state, method).0.is_empty()
    }

    /// Makes what-ifs ready now.
    pub fn make_what_ifs_ready(&mut self) {
        self.simulator.world();
    }

    /// What one method would do, as [`answer`] says.
    pub fn answer(&mut self, method: Method) -> Answer {
        let mut answer = Answer::default();
        if !self.state.is_complete() {
            answer.error = Some(WAITING.to_owned());
            return answer;
        }
        let (eligible, mut notes) = self.field.eligible(&self.state, method);
        answer.eligible =
            self.field.get(&eligible).iter().map(|one| one.node.name.clone()).collect();
        let examined = self.simulator.examined;
        let found = self.found(method, &eligible, &mut notes, &mut answer);
        answer.examined = self.simulator.examined - examined;
        answer.examined_nodes = std::mem::take(&mut self.simulator.seen).len();
        match found {
            Ok(Some(draft)) => {
                let command = self.command(method, draft, &notes);
                self.keep_valid(command, &mut answer);
            }
            Ok(None) => {}
            Err(obstacle) => answer.error = Some(obstacle.to_string()),
        }
        let named = notes.into_iter().filter_map(|(at, text)| {
            let candidate = self.field.candidates.get(at)?;
            Some((candidate.node.name.clone(), text))
        });
        answer.notes = named.collect();
        answer
    }

    fn found(
        &mut self,
        method: Method,
        eligible: &[usize],
        notes: &mut Notes,
        answer: &mut Answer,
    ) -> Result<Option<Draft>, Obstacle> {
        let (state, field, simulator) = (&self.state, &self.field, &mut self.simulator);
        match method {
            Method::Emptiness => Ok(search::emptiness(state, field, eligible, notes)),
            Method::StaticDrift => Ok(search::static_drift(state, field, eligible, notes)),
            Method::Drift => search::drift(state, simulator, field, eligible, notes),
            Method::MultiNode => multi::multi_node(state, simulator, field, eligible, notes),
            Method::SingleNode => {
                let asked = (eligible, self.options);
                let single = single::single_node(state, simulator, field, asked, notes);
                answer.unseen = single.unseen.into_iter().collect();
                answer.is_cut_short = single.is_cut_short;
                Ok(single.draft)
            }
        }
    }

    /// Puts `command` into the answer, if it will hold.
    fn keep_valid(&mut self, command: Command, answer: &mut Answer) {
        if command.method.is_eventual() {
            answer.command = Some(command);
            return;
        }
        match self.later(&command) {
            Ok(command) => answer.command = Some(command),
            Err(voided) => answer.voided = Some((command, voided)),
        }
    }

    /// `command` as far as it will hold after the delay, if only the clock moves.
    pub(crate) fn later(&mut self, command: &Command) -> Result<Command, Voided> {
        let facts = self.state.facts;
        let later = facts.now.checked_add(VALIDATION_DELAY).unwrap_or(facts.now);
        let state = self.state.at(later);
        if is_another_world(&self.state, &state) {
            let facts = Facts { now: later, ..facts.clone() };
            return validated(&facts, command, self.options);
        }
        // Who is a candidate changes with pods and nodes, and both stayed as they were.
        validation::validated(&state, &self.field, &mut self.simulator, command)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.state.is_complete()
    }

    fn about_nodes(&self) -> Outlook {
        if !self.state.is_complete() {
            return Outlook { waiting: Some(WAITING.to_owned()), ..Outlook::default() };
        }
        let mut ineligible = BTreeMap::new();
        for (place, reason) in &self.field.others {
            if let Some(entry) = self.state.nodes.get(*place) {
                ineligible.insert(entry.name().to_owned(), reason.clone());
            }
        }
        for candidate in &self.field.candidates {
            if let Some(reason) = candidate.blocked_for(Method::Drift) {
                ineligible.insert(candidate.node.name.to_string(), reason.to_owned());
            }
        }
        let mut budgets: BTreeMap<NodePoolName, BTreeMap<BudgetReason, Option<u64>>> =
            BTreeMap::new();
        let reasons = [BudgetReason::Underutilized, BudgetReason::Empty, BudgetReason::Drifted];
        for reason in reasons {
            let remaining = Remaining::of(&self.state, reason);
            for pool in &self.state.facts.node_pools {
                let own = budgets.entry(pool.name.clone()).or_default();
                own.insert(reason, remaining.left(&pool.name));
            }
        }
        Outlook { ineligible, budgets, ..Outlook::default() }
    }

    /// The command that a draft is.
    pub(crate) fn command(&self, method: Method, draft: Draft, notes: &Notes) -> Command {
        let chosen = self.field.get(&draft.nodes);
        let before = chosen.iter().fold(Exact::default(), |sum, one| sum.plus(one.price));
        let after = consolidation::price_after(&draft.outcome);
        let rejected =
            notes.iter().filter(|_| method.is_consolidation()).filter_map(|(at, text)| {
                let name = &self.field.candidates.get(*at)?.node.name;
                Some(format!("{name}: {text}"))
            });
        Command {
            method,
            candidates: chosen.iter().map(|one| self.disrupted(method, one)).collect(),
            moves: moves(&chosen, &draft.outcome),
            replacements: match method {
                Method::StaticDrift => chosen.iter().map(|one| from_pool(one)).collect(),
                _ => draft.outcome.opened.into_iter().map(replacement).collect(),
            },
            price_before: before.rounded(),
            price_after: after.rounded(),
            rejected: rejected.take(REJECTED_MAX).collect(),
        }
    }

    fn disrupted(&self, method: Method, candidate: &Candidate<'_>) -> Disrupted {
        let reason = match method {
            Method::Emptiness => "no pod needs it".to_owned(),
            Method::StaticDrift | Method::Drift => {
                let entry = self.state.nodes.get(candidate.place);
                let drift =
                    entry.and_then(|entry| conditions::drift(&self.state, entry, candidate.pool));
                let (_, reason) = drift.unwrap_or_default();
                format!("it has drifted: {reason}")
            }
            Method::MultiNode | Method::SingleNode => {
                let pods = super::counted(candidate.pods.len(), "pod");
                format!("its {pods} fit elsewhere for less")
            }
        };
        Disrupted {
            node: candidate.node.name.clone(),
            claim: candidate.claim.name.clone(),
            node_pool: candidate.pool.name.clone(),
            price: candidate.price.rounded(),
            reason,
        }
    }
}

/// Whether other pods are protected, only because time has passed.
fn is_another_world(before: &State<'_>, after: &State<'_>) -> bool {
    let moved = |pod: &&Pod| pod.is_protected(before.now) != pod.is_protected(after.now);
    before.guarded.iter().any(moved)
}

const WAITING: &str = "a NodeClaim has no instance yet: nothing is decided until it has";

pub(crate) fn price_of(nodes: &[Disrupted]) -> HourlyPrice {
    nodes.iter().fold(HourlyPrice::default(), |sum, one| sum.saturating_add(one.price))
}

/// The replacement of a node of a static pool: a claim made from the pool alone.
fn from_pool(candidate: &Candidate<'_>) -> Replacement {
    Replacement {
        node_pool: candidate.pool.name.clone(),
        instance_types: Vec::new(),
        requirements: crate::scheduling::launchable::template::requirements(candidate.pool),
        cheapest: None,
        pods: Vec::new(),
    }
}

fn replacement(new: super::simulation::NewNode) -> Replacement {
    let offers = new.types.iter().filter_map(|one| {
        let (price, offering) = price::cheapest(one, &new.requirements)?;
        Some((price, one.key_of(offering)))
    });
    let cheapest = offers.min().map(|(price, key)| (key, price.rounded()));
    Replacement {
        node_pool: new.pool,
        instance_types: new.types.iter().map(|one| one.name.clone()).collect(),
        cheapest,
        requirements: new.requirements,
        pods: new.pods,
    }
}

/// Where the pods of `chosen` go.
fn moves(chosen: &[&Candidate<'_>], outcome: &Outcome) -> Vec<Move> {
    let own = |pod: &&'_ Pod, node: &NodeName| (pod.key.clone(), node.clone());
    let from: BTreeMap<PodKey, NodeName> = chosen
        .iter()
        .flat_map(|one| one.pods.iter().map(move |pod| own(pod, &one.node.name)))
        .collect();
    let existing = outcome.placed.iter().flat_map(|(target, pods)| {
        pods.iter().map(|pod| (pod, Destination::Existing(target.clone())))
    });
    let new =
        outcome.opened.iter().enumerate().flat_map(|(at, new)| {
            new.pods.iter().map(move |pod| (pod, Destination::Replacement(at)))
        });
    let all = existing.chain(new).filter_map(|(pod, to)| {
        let from = from.get(pod)?.clone();
        Some(Move { pod: pod.clone(), from, to })
    });
    all.collect()
}
