//! What would be if some nodes went away: for disruption, which asks that of many nodes.
//!
//! [`World::of`] makes the facts ready once: names become numbers, everything that runs is counted.
//! [`World::without`] then only copies what placing pods changes (a few words for each node and each
//! topology rule; what a trial leaves alone stays shared) and places the pods that would need a
//! place. Nothing is undone, for nothing of the world is changed; what was found out about
//! requirements is kept for the next trial.
//!
//! A trial has the pods that [`crate::provision`] would place (pending pods, those of nodes that are
//! being disrupted, virtual pods of buffers), and those of the nodes that would go away, as far as
//! they would be moved. Pods wait for nothing: reserved capacity that others hold is passed over.
//! Limits are reckoned without the nodes that would go away, or with them where something is to be
//! launched before they go.
//!
//! With E nodes, P pods to place and the C claims that they open, a trial costs E words for the copy
//! and then what [`crate::provision`] costs for P pods.
//!
//! Karpenter: `pkg/controllers/disruption/helpers.go`, `SimulateScheduling`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use model::{
    HourlyPrice, InstanceType, NodeName, NodePoolName, PodKey, Requirements,
    disruption::Replacement,
    facts::Facts,
    limits,
    plan::{NewClaim, Target},
    policies::Packing,
};

use crate::{
    index::id::PodId,
    scheduling::{
        demand::Why,
        launchable::known::KnownTypes,
        output::{self, Draft, explain},
        packing::market,
        problem::Problem,
        provision::packed,
        replace, share,
        solver::{self, Failure, Options, Solution, Ties},
        state::State,
    },
};

/// Facts made ready for any number of trials.
#[derive(Debug)]
pub struct World<'a> {
    problem: Problem<'a>,
    /// Whether nodes that go away count against limits until something took their place.
    counts_leaving: bool,
}

/// What is supposed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trial<'t> {
    /// These nodes go away, and their pods are moved.
    pub without: &'t [&'t NodeName],
    /// Pods that run are not moved onto nodes whose pool's `consolidateAfter` has not passed at this
    /// moment since pods last came or went there. Pending pods, and those of nodes that are being
    /// disrupted anyway, are. `None` is that this does not matter.
    pub settles_at: Option<Timestamp>,
    /// The nodes go whatever their pods say.
    pub go_anyway: bool,
    /// One instance of this reservation is given back by what goes, and pods wait for reserved
    /// capacity that others hold. What would be launched is not looked at further.
    pub given_back: Option<&'t str>,
    /// New nodes are packed so that they cost least (`provision::packed`), in every pool.
    pub is_packed: bool,
    /// Small pods come first, and each goes where most room is: as kube-scheduler may place them, and not as it would
    /// have to.
    pub is_scattered: bool,
}

/// A node that would be launched.
#[derive(Clone, Debug)]
pub(crate) struct NewNode {
    /// Its pool.
    pub(crate) node_pool: NodePoolName,
    /// The types that it may become, cheapest first, at most as many as a claim keeps.
    pub(crate) instance_types: Vec<Arc<InstanceType>>,
    /// What its claim would ask for, `minValues` among it; without the list of types.
    pub(crate) requirements: Requirements,
    /// Its pods, in the order in which they were placed.
    pub(crate) pods: Vec<PodKey>,
    /// Drivers whose devices these pods claim.
    pub(crate) device_drivers: BTreeSet<String>,
}

/// Where all pods would be.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Nodes that would be launched, those for pods that are pending anyway among them.
    pub(crate) in_flight: Vec<NewNode>,
    /// Pods that go onto what is there or coming.
    pub placed: Vec<(Target, Vec<PodKey>)>,
    /// Pods that would find no place, though they run now, each with the reason. That is also what
    /// a pod of the nodes that go away comes to that would have to wait for a node to start. While
    /// there is none, all pods that are not pending anyway are scheduled.
    pub(crate) stuck: Vec<(PodKey, String)>,
    /// How often a pod was tried somewhere, or what took as long.
    pub(crate) pods: usize,
}

/// Steps of packing that take as long as trying one pod.
const STEPS_PER_POD: u64 = 100;

impl<'a> World<'a> {
    /// Makes `facts` ready, whose instance types may be `known`. `is_watched` as in [`crate::disruption::Options`].
    #[must_use]
    pub fn of(facts: &'a Facts, known: &KnownTypes, is_watched: bool) -> Self {
        let mut problem = Problem::of(facts, true, known);
        problem.shares = share::caps(&problem, None);
        problem.supply.settle(facts, is_watched);
        Self { problem, counts_leaving: !is_watched }
    }

    /// Whether a node is there onto which no pod that runs elsewhere is moved at `now`, as it settles.
    pub(crate) fn is_any_unsettled(&self, now: Timestamp) -> bool {
        self.problem.supply.settling.iter().any(|(_, until)| now < *until)
    }

    /// A claim for each of `wanted`; or why one of them cannot be created.
    pub(crate) fn new_claims(&mut self, wanted: &[Replacement]) -> Result<Vec<NewClaim>, String> {
        replace::new_claims(&mut self.problem, wanted)
    }

    /// What would be, if what `trial` supposes came true.
    pub fn without(&mut self, trial: &Trial<'_>) -> Outcome {
        let problem = &mut self.problem;
        let mut pods = problem.demand.without(trial.without, trial.go_anyway);
        if trial.is_scattered {
            pods.reverse();
        }
        for pod in &pods {
            problem.know_full(problem.classes[problem.demand.pods[*pod].class].requests);
        }
        let state = without(problem, trial, self.counts_leaving);
        let options = Options {
            waits_for_reserved: trial.given_back.is_some(),
            settles_at: trial.settles_at,
            tries_max: limits::TRIES_PER_PLAN_MAX,
            ties: Ties::Cheapest,
            is_scattered: trial.is_scattered,
        };
        let mut tried = pods.len();
        let solution = if trial.is_packed {
            let first = solver::solve(problem, state.clone(), &pods, options);
            let (solution, steps) = at_least_cost(problem, |problem| {
                packed::of(problem, first, (state, &pods), options)
            });
            tried = tried.saturating_mul(2).saturating_add(in_pods(steps));
            solution
        } else {
            solver::solve(problem, state, &pods, options)
        };
        outcome(problem, &solution, trial, tried)
    }

    /// What the pods of each of `nodes` are worth for one hour, if all of them are given new nodes, packed so that
    /// they cost least; and what finding that out took, in pods.
    pub(crate) fn values(&mut self, nodes: &[&NodeName]) -> (Vec<HourlyPrice>, usize) {
        let problem = &mut self.problem;
        let class = |problem: &Problem<'_>, pod: PodId| problem.demand.pods[pod].class;
        let trial = Trial { without: nodes, ..Trial::default() };
        let start = without(problem, &trial, self.counts_leaving);
        let mut classes = BTreeMap::new();
        for pod in nodes.iter().flat_map(|node| problem.demand.moved(node, false)) {
            *classes.entry(class(problem, pod)).or_default() += 1;
        }
        let (values, steps) =
            at_least_cost(problem, |problem| packed::values(problem, &start, &classes));
        let value = |pod: PodId| values.get(&class(problem, pod)).copied().unwrap_or_default();
        let worth = |node: &&NodeName| {
            let pods = problem.demand.moved(node, false);
            market::price(pods.map(|pod| i128::from(value(pod))).sum())
        };
        (nodes.iter().map(worth).collect(), in_pods(steps))
    }
}

/// What `look` finds while new nodes are packed so that they cost least, in every pool.
fn at_least_cost<'a, T>(problem: &mut Problem<'a>, look: impl FnOnce(&mut Problem<'a>) -> T) -> T {
    let usual = problem.packing.replace(Packing::Cheapest);
    let seen = look(problem);
    problem.packing = usual;
    seen
}

fn in_pods(steps: u64) -> usize {
    usize::try_from(steps / STEPS_PER_POD).unwrap_or(usize::MAX)
}

/// What everybody starts from when nodes have gone away.
fn without(problem: &Problem<'_>, trial: &Trial<'_>, counts_leaving: bool) -> State {
    let mut state = problem.start.clone();
    state.devices = problem.devices.as_ref().map(|devices| devices.begin(trial.without));
    for node in trial.without {
        let pods: Vec<PodId> = problem.demand.moved(node, trial.go_anyway).collect();
        problem.forget(&mut state, node, &pods);
        let Some(place) = problem.supply.place(node) else { continue };
        state.active.remove(place);
        if !counts_leaving {
            problem.give_back(&mut state.dollars, node);
        }
        if counts_leaving {
            continue;
        }
        let Some((pool, used)) = &problem.supply.existing[place].counts else { continue };
        for (template, left) in problem.templates.iter().zip(state.limits.iter_mut()) {
            if template.name() == pool {
                let taken = template.taken(used);
                left.iter_mut().zip(taken).for_each(|(l, t)| *l = l.saturating_add(t));
            }
        }
    }
    let given_back = trial.given_back.and_then(|id| {
        let mut names = problem.reservations.names.entries();
        names.find(|(_, name)| name.as_str() == id).map(|(number, _)| number)
    });
    if let Some(number) = given_back {
        let left = &mut state.reserved[number];
        *left = left.saturating_add(1);
    }
    state
}

fn outcome(
    problem: &mut Problem<'_>,
    solution: &Solution,
    trial: &Trial<'_>,
    pods: usize,
) -> Outcome {
    let mut outcome = Outcome { pods, ..Outcome::default() };
    let is_running = |problem: &Problem<'_>, pod: PodId| {
        let why = problem.demand.pods[pod].why;
        matches!(why, Why::Leaving | Why::Returning | Why::Supposed | Why::Held)
    };
    let is_returning =
        |problem: &Problem<'_>, pod: PodId| problem.demand.pods[pod].why == Why::Returning;
    for (pod, failure) in &solution.failed {
        if is_running(problem, *pod) {
            let text = reason(problem, solution, *pod, *failure);
            outcome.stuck.push((problem.key(*pod), text));
        }
    }
    for (place, pods) in &solution.placed {
        let existing = &problem.supply.existing[*place];
        if existing.is_starting {
            let is_moved =
                |pod: &&PodId| matches!(problem.demand.pods[**pod].why, Why::Supposed | Why::Held);
            let moved = pods.iter().filter(is_moved);
            outcome.stuck.extend(moved.map(|pod| {
                (problem.key(*pod), "it would have to wait for a node to start".to_owned())
            }));
        }
        let target = existing.target.clone();
        let known = pods.iter().filter(|pod| !is_returning(problem, **pod));
        let keys: Vec<PodKey> = known.map(|pod| problem.key(*pod)).collect();
        if !keys.is_empty() {
            outcome.placed.push((target, keys));
        }
    }
    let launched = solution.in_flight.iter().filter(|_| trial.given_back.is_none());
    for in_flight in launched {
        let returning = in_flight.pods.iter().filter(|pod| is_returning(problem, **pod));
        outcome.stuck.extend(
            returning.map(|pod| {
                (problem.key(*pod), "the pod in its place is about to be made".to_owned())
            }),
        );
        match output::draft(problem, in_flight) {
            Ok(draft) => outcome.in_flight.push(new_node(problem, in_flight, draft)),
            Err(text) => {
                let running = in_flight.pods.iter().filter(|pod| is_running(problem, **pod));
                outcome.stuck.extend(running.map(|pod| (problem.key(*pod), text.to_owned())));
            }
        }
    }
    outcome
}

fn new_node(problem: &Problem<'_>, in_flight: &solver::InFlightClaim, draft: Draft) -> NewNode {
    let template = &problem.templates[in_flight.template];
    let types = &problem.offers[template.offer].index.types;
    NewNode {
        node_pool: template.name().clone(),
        instance_types: draft.kept().iter().map(|id| Arc::clone(&types[*id])).collect(),
        requirements: draft.requirements,
        pods: in_flight.pods.iter().map(|pod| problem.key(*pod)).collect(),
        device_drivers: in_flight.device_drivers.clone(),
    }
}

fn reason(problem: &Problem<'_>, solution: &Solution, pod: PodId, failure: Failure) -> String {
    let reasons = explain::reasons(problem, &solution.state, pod, failure);
    let words: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    words.join("; ")
}
