//! How much of a NodePool one new node may hold: the annotation `journeyman/max-node-share`.
//!
//! The pods of a new node together may request at most that share of the CPU, and of the memory, that all pods
//! on nodes of the pool request once the plan is carried out; those of DaemonSets do not count. One pod alone may
//! be more, since it cannot be divided. How much all pods of a pool request is known only when there is a plan:
//! it is made with what an earlier one came to, and again with less where that was too much. At last no two pods
//! share a new node of the pool, so that there is always a plan that holds.

use std::{collections::BTreeMap, fmt};

use model::{NodeName, NodePoolName, Plan, Pod, PodKey, facts::Facts, labels, plan::Target};

use super::{problem::Problem, solver::Solution};
use crate::{
    index::id::{PodId, TemplateId},
    world::World,
};

/// CPU and memory, in the units of [`model::Resources::get`].
type Pair = [u64; 2];

const NAMES: [&str; 2] = ["cpu", "memory"];

/// The most that pods may request together on a new node of a pool, by template; a template that is not there
/// has no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// The places of CPU and memory among resources.
    places: [usize; 2],
    most: BTreeMap<TemplateId, Pair>,
}

impl Caps {
    /// Whether pods that request `need` may be on one new node of `template`.
    pub(crate) fn allow(&self, template: TemplateId, need: &[i64]) -> bool {
        self.most.get(&template).is_none_or(|most| {
            let need = self.places.map(|place| need.get(place).copied().unwrap_or_default());
            need.iter().zip(most).all(|(need, most)| u64::try_from(*need).is_ok_and(|n| n <= *most))
        })
    }

    /// Of `room` only what pods may request together on a new node of `template`.
    pub(crate) fn clip(&self, template: TemplateId, room: &mut [i64]) {
        let Some(most) = self.most.get(&template) else { return };
        for (place, most) in self.places.iter().zip(most) {
            if let Some(room) = room.get_mut(*place) {
                *room = (*room).min(i64::try_from(*most).unwrap_or(i64::MAX));
            }
        }
    }

    /// The lower of both bounds.
    pub(crate) fn tightened(mut self, other: &Self) -> Self {
        for (template, most) in &mut self.most {
            if let Some(other) = other.most.get(template) {
                most.iter_mut().zip(other).for_each(|(most, other)| *most = (*most).min(*other));
            }
        }
        self
    }

    /// No two pods on one new node of a pool that has a bound.
    pub(crate) fn of_none(mut self) -> Self {
        self.most.values_mut().for_each(|most| *most = [0; 2]);
        self
    }
}

/// Whether any pool says how much of it one node may hold.
pub(crate) fn is_asked(problem: &Problem<'_>) -> bool {
    problem.templates.iter().any(|template| template.pool.max_node_share().is_some())
}

/// The bounds that follow from what pods request with `solution`, and else from those that run.
pub(crate) fn caps(problem: &Problem<'_>, solution: Option<&Solution>) -> Caps {
    if !is_asked(problem) {
        return Caps::default();
    }
    let mut totals = match solution {
        Some(_) => on_staying_nodes(problem.facts),
        None => on_nodes(problem.facts, |_| true),
    };
    if let Some(solution) = solution {
        add_planned(problem, solution, &mut totals);
    }
    let template = |number: TemplateId| {
        let pool = problem.templates[number].pool;
        let share = pool.max_node_share()?;
        let total = totals.get(&pool.name).copied().unwrap_or_default();
        Some((number, total.map(|amount| part(amount, share))))
    };
    let place =
        |name: &str| problem.resources.names().iter().position(|known| known.as_str() == name);
    Caps {
        places: NAMES.map(|name| place(name).unwrap_or(usize::MAX)),
        most: problem.templates.ids().filter_map(template).collect(),
    }
}

/// Whether every new node of `solution` with more than one pod holds no more than its share.
pub(crate) fn keeps(problem: &Problem<'_>, solution: &Solution) -> bool {
    let caps = caps(problem, Some(solution));
    let mut claims = solution.in_flight.iter();
    claims.all(|claim| claim.pods.len() < 2 || caps.allow(claim.template, &claim.requests))
}

/// This percentage of `amount`, rounded down.
fn part(amount: u64, share: u32) -> u64 {
    u64::try_from(u128::from(amount) * u128::from(share) / 100).unwrap_or(u64::MAX)
}

/// What pods request that run on nodes of each pool, as far as these are `counted`.
fn on_nodes(facts: &Facts, counted: impl Fn(&NodeName) -> bool) -> BTreeMap<NodePoolName, Pair> {
    let mut totals = BTreeMap::new();
    for pod in facts.pods.iter().filter(|pod| counts(pod)) {
        let node = pod.node.as_ref().filter(|node| counted(node));
        if let Some(pool) = node.and_then(|node| pool_of_node(facts, node)) {
            add(totals.entry(pool).or_default(), requests(pod));
        }
    }
    totals
}

/// The same on nodes that do not go.
fn on_staying_nodes(facts: &Facts) -> BTreeMap<NodePoolName, Pair> {
    let leaving = World::of(facts).leaving(facts);
    on_nodes(facts, |node| !leaving.contains_key(node))
}

fn counts(pod: &Pod) -> bool {
    !pod.is_terminal() && !pod.is_owned_by_daemon_set()
}

fn requests(pod: &Pod) -> Pair {
    NAMES.map(|name| pod.spec.requests.get(name))
}

fn add(sum: &mut Pair, more: Pair) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(more));
}

fn pool_of_node(facts: &Facts, node: &NodeName) -> Option<NodePoolName> {
    let name = facts.nodes.get(node)?.labels.get(labels::NODE_POOL)?;
    NodePoolName::new(name).ok()
}

fn pool_of(facts: &Facts, target: &Target) -> Option<NodePoolName> {
    match target {
        Target::Node(node) => pool_of_node(facts, node),
        Target::Claim(claim) => Some(facts.ledger.claims.get(claim)?.node_pool.clone()),
    }
}

/// Adds what the pods of `solution` request, by the pool of their places.
fn add_planned(
    problem: &Problem<'_>,
    solution: &Solution,
    totals: &mut BTreeMap<NodePoolName, Pair>,
) {
    let amounts = |pod: &PodId| -> Pair {
        let class = &problem.classes[problem.demand.pods[*pod].class];
        NAMES.map(|name| class.spec.requests.get(name))
    };
    for (place, pods) in &solution.placed {
        if let Some(pool) = pool_of(problem.facts, problem.target(*place)) {
            let total = totals.entry(pool).or_default();
            for pod in pods {
                add(total, amounts(pod));
            }
        }
    }
    for claim in &solution.in_flight {
        let total = totals.entry(problem.templates[claim.template].name().clone()).or_default();
        for pod in &claim.pods {
            add(total, amounts(pod));
        }
    }
}

/// A pool of which single pods ask for more of a node than it may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AboveShare {
    /// The pool.
    pub node_pool: NodePoolName,
    /// What it says, in per cent.
    pub share: u32,
    /// How many new nodes hold more.
    pub nodes: usize,
    /// The most that one of them holds, in per cent.
    pub held: u64,
}

impl fmt::Display for AboveShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node_pool, share, nodes, held } = self;
        let (nodes, verb) = if *nodes == 1 {
            ("1 node".to_owned(), "holds")
        } else {
            (format!("{nodes} nodes"), "hold")
        };
        write!(
            f,
            "NodePool {node_pool}: {nodes} with one pod each {verb} up to {held}% of what its pods request, more \
             than {} {share}%: a pod cannot be divided",
            labels::MAX_NODE_SHARE
        )
    }
}

/// The pools of which new nodes of `plan` hold more than one may, because they have one pod that cannot be divided.
#[must_use]
pub fn above_share(facts: &Facts, plan: &Plan) -> Vec<AboveShare> {
    let shared: BTreeMap<&NodePoolName, u32> = facts
        .node_pools
        .iter()
        .filter_map(|pool| Some((&pool.name, pool.max_node_share()?)))
        .collect();
    if shared.is_empty() {
        return Vec::new();
    }
    let virtual_pods = super::facts::buffer::virtual_pods(facts);
    let known: BTreeMap<&PodKey, Pair> =
        facts.pods.iter().chain(&virtual_pods).map(|pod| (&pod.key, requests(pod))).collect();
    let sum = |pods: &[PodKey]| {
        let mut sum = Pair::default();
        let requested = pods.iter().filter_map(|pod| known.get(pod));
        requested.for_each(|more| add(&mut sum, *more));
        sum
    };
    let mut totals = on_staying_nodes(facts);
    for placement in &plan.placements {
        if let Some(pool) = pool_of(facts, &placement.target) {
            add(totals.entry(pool).or_default(), sum(&placement.pods));
        }
    }
    for new in &plan.new_claims {
        let total = totals.entry(new.claim.node_pool.clone()).or_default();
        add(total, sum(&new.claim.pods));
    }
    let above = shared.into_iter().filter_map(|(pool, share)| {
        let total = totals.get(pool)?;
        let new_claims = plan.new_claims.iter().filter(|new| new.claim.node_pool == *pool);
        let held = new_claims
            .map(|new| sum(&new.claim.pods))
            .filter(|held| held.iter().zip(total).any(|(held, total)| part(*total, share) < *held));
        let per_cent = |held: Pair| {
            let parts = held.iter().zip(total);
            parts.map(|(held, total)| held.saturating_mul(100) / (*total).max(1)).max()
        };
        let held: Vec<u64> = held.filter_map(per_cent).collect();
        let most = held.iter().copied().max()?;
        Some(AboveShare { node_pool: pool.clone(), share, nodes: held.len(), held: most })
    });
    above.collect()
}
