//! What each method would do on one state of the cluster, before any delay.
//!
//! Karpenter: `pkg/controllers/disruption/{emptiness,drift,staticdrift}.go`, `ComputeCommands`.

use std::collections::BTreeMap;

use model::{NodePoolName, Offering, ResourceName, disruption::Method, node_pool::NodePool};

use super::{
    balanced::Totals,
    budgets::Remaining,
    candidate::{self, Candidate},
    conditions, method,
    nodes::State,
    objection::Objection,
    rollout::Rollouts,
    simulation::{Mode, Simulated, Simulator},
};
use crate::{
    index::{
        id::{CandidateId, NodeId, kind},
        table::Table,
    },
    scheduling::launchable::template,
};

/// Candidates that would go together, and what would become of
/// their pods.
#[derive(Debug)]
pub(crate) struct CommandDraft {
    pub(crate) nodes: Vec<CandidateId>,
    pub(crate) outcome: Simulated,
    /// Whether they go before anything is launched in their place: there is no room for both.
    pub(crate) is_first: bool,
    /// Whether their instances are rebooted, and they stay.
    pub(crate) reboots: bool,
}

impl CommandDraft {
    /// `nodes` go, and nothing is known of their pods.
    pub(crate) fn of(nodes: Vec<CandidateId>) -> Self {
        Self { nodes, outcome: Simulated::default(), is_first: false, reboots: false }
    }
}

/// Why candidates are left alone.
pub(crate) type Notes = BTreeMap<CandidateId, Objection>;

/// Every node that could be disrupted, and what has to be known about all of them.
#[derive(Debug)]
pub struct Field<'a> {
    /// The nodes that a method may choose, in the order of the nodes.
    pub candidates: Table<kind::Candidate, Candidate<'a>>,
    /// The totals of each NodePool, for the policy `Balanced`.
    pub totals: Totals<'a>,
    /// Why the other nodes are none.
    pub(crate) others: BTreeMap<NodeId, Objection>,
}

impl<'a> Field<'a> {
    /// Collects the candidates of `state`.
    pub fn of(state: &State<'a>) -> Self {
        let mut candidates = Table::default();
        let mut others = BTreeMap::new();
        for (number, entry) in state.nodes.entries() {
            match candidate::candidate(state, number, entry) {
                Ok(candidate) => drop(candidates.push(candidate)),
                Err(reason) => drop(others.insert(number, reason)),
            }
        }
        let totals = Totals::of(state, &candidates);
        Self { candidates, totals, others }
    }

    /// The candidates that `method` looks at, and why not the others.
    pub(crate) fn eligible(&self, state: &State<'a>, method: Method) -> (Vec<CandidateId>, Notes) {
        let mut eligible = Vec::new();
        let mut notes = Notes::new();
        for (id, candidate) in self.candidates.entries() {
            match method::objection(state, method, candidate) {
                None => eligible.push(id),
                Some(reason) => drop(notes.insert(id, reason)),
            }
        }
        (eligible, notes)
    }

    /// The candidates `ids`, what saves most for what moving its pods costs first.
    pub fn by_savings(&self, ids: &[CandidateId]) -> Vec<CandidateId> {
        let mut sorted = ids.to_vec();
        let candidates = &self.candidates;
        sorted.sort_by(|a, b| candidate::by_savings(&candidates[*a], &candidates[*b]));
        sorted
    }

    /// The candidates with these numbers, in the order of `ids`.
    pub fn get(&self, ids: &[CandidateId]) -> Vec<&Candidate<'a>> {
        ids.iter().map(|id| &self.candidates[*id]).collect()
    }
}

/// As many of `sorted` as the budgets allow, in their order.
pub(crate) fn within_budgets(
    field: &Field<'_>,
    sorted: &[CandidateId],
    remaining: &mut Remaining<'_>,
    notes: &mut Notes,
) -> Vec<CandidateId> {
    let mut within_budgets = Vec::new();
    for at in sorted {
        let pool = &field.candidates[*at].pool.name;
        if remaining.take(pool) {
            within_budgets.push(*at);
        } else {
            notes.insert(*at, remaining.objection(pool));
        }
    }
    within_budgets
}

/// As many of `candidates` as may be moved within this hour, in their order.
fn within_moves(
    state: &State<'_>,
    field: &Field<'_>,
    candidates: &[CandidateId],
    notes: &mut Notes,
) -> Vec<CandidateId> {
    let (mut movable, mut pods) = (Vec::new(), 0);
    for at in candidates {
        let more = pods + field.candidates[*at].pods.len();
        match state.history.too_many(more) {
            None => {
                pods = more;
                movable.push(*at);
            }
            Some(objection) => drop(notes.insert(*at, objection)),
        }
    }
    movable
}

/// Every empty node that the budgets allow, at once.
pub(crate) fn emptiness(
    state: &State<'_>,
    field: &Field<'_>,
    eligible: &[CandidateId],
    notes: &mut Notes,
) -> Option<CommandDraft> {
    let mut remaining = Remaining::of(state, Method::Emptiness.reason());
    let nodes = within_budgets(field, &field.by_savings(eligible), &mut remaining, notes);
    (!nodes.is_empty()).then(|| CommandDraft::of(nodes))
}

/// The first drifted node whose pods all find a place: what drifted first, and before that what has
/// no pods.
pub(crate) fn drift<'a>(
    state: &State<'a>,
    simulator: &mut Simulator<'a>,
    field: &Field<'a>,
    eligible: &[CandidateId],
    notes: &mut Notes,
) -> Result<Option<CommandDraft>, Objection> {
    let remaining = Remaining::of(state, Method::Drift.reason());
    let rollouts = Rollouts::of(state);
    let mut sorted: Vec<(bool, jiff::Timestamp, CandidateId)> = Vec::new();
    for at in eligible {
        let candidate = &field.candidates[*at];
        let drift = conditions::drift(state, &state.nodes[candidate.number], candidate.pool);
        let Some((since, _)) = drift else { continue };
        sorted.push((!candidate.pods.is_empty(), since, *at));
    }
    sorted.sort_unstable();
    for (_, _, at) in sorted {
        let candidate = &field.candidates[at];
        if simulator.is_used_up() {
            notes.insert(at, Objection::NotReached);
            continue;
        }
        if remaining.is_spent(&candidate.pool.name) {
            notes.insert(at, remaining.objection(&candidate.pool.name));
            continue;
        }
        if let Some(objection) = rollouts.objection(state, candidate) {
            notes.insert(at, objection);
            continue;
        }
        let goes_first = state.facts.policies.terminate_first_drift;
        match dynamic(simulator, candidate, (Mode::Drift, goes_first))? {
            Ok((outcome, is_first)) => {
                return Ok(Some(CommandDraft { outcome, is_first, ..CommandDraft::of(vec![at]) }));
            }
            Err(objection) => drop(notes.insert(at, objection)),
        }
    }
    Ok(None)
}

/// What becomes of the pods of a node that has to go, and whether it goes before anything is launched
/// in its place; or why it stays. With `goes_first`, a node goes first whose pods find a place only
/// in the reservation that it gives back.
///
/// Karpenter 1.15: `helpers.go`, `SimulateSchedulingWithReservedFallback`.
pub(crate) fn dynamic<'a>(
    simulator: &mut Simulator<'a>,
    candidate: &Candidate<'a>,
    (mode, goes_first): (Mode, bool),
) -> Result<Result<(Simulated, bool), Objection>, Objection> {
    let outcome = simulator.without(&[candidate], mode)?;
    let Some(reason) = outcome.stuck else {
        return Ok(Ok((outcome, false)));
    };
    let second = goes_first.then(|| simulator.first_without(candidate, mode)).flatten();
    if let Some(outcome) = second.transpose()?
        && outcome.stuck.is_none()
    {
        return Ok(Ok((outcome, true)));
    }
    Ok(Err(Objection::Stuck(Box::new(reason))))
}

/// As many drifted nodes of each static pool as its budgets and its limit of nodes allow. Behind the
/// gate `TerminateFirstDrift`, those of a pool without room for a replacement go first.
pub(crate) fn static_drift<'a>(
    state: &State<'a>,
    field: &Field<'a>,
    eligible: &[CandidateId],
    notes: &mut Notes,
) -> Option<CommandDraft> {
    let remaining = Remaining::of(state, Method::StaticDrift.reason());
    let eligible = within_moves(state, field, eligible, notes);
    let eligible = Rollouts::of(state).within(state, &field.candidates, eligible, notes);
    let mut by_pool: BTreeMap<&NodePoolName, Vec<CandidateId>> = BTreeMap::new();
    for at in eligible {
        by_pool.entry(&field.candidates[at].pool.name).or_default().push(at);
    }
    let (mut replaced, mut first) = (Vec::new(), Vec::new());
    for (pool, candidates) in by_pool {
        let granted = match granted(state, field, (pool, &candidates), &remaining) {
            Ok(granted) => granted,
            Err(reason) => {
                notes.extend(candidates.iter().map(|at| (*at, reason.clone())));
                continue;
            }
        };
        let stay = candidates.iter().filter(|at| !granted.nodes.contains(*at));
        notes.extend(stay.map(|at| (*at, Objection::NoRoomInNodePool)));
        (if granted.is_first { &mut first } else { &mut replaced }).extend(granted.nodes);
    }
    // What is replaced is as good as ever: those that go first wait until nothing else is to be done.
    let is_first = replaced.is_empty();
    let nodes = if is_first { first } else { replaced };
    (!nodes.is_empty()).then(|| CommandDraft { is_first, ..CommandDraft::of(nodes) })
}

/// Nodes of one static pool that may go now.
struct Granted {
    nodes: Vec<CandidateId>,
    /// Whether they go before anything is launched in their place.
    is_first: bool,
}

/// Which of `candidates`, all of one static pool, may go now.
fn granted(
    state: &State<'_>,
    field: &Field<'_>,
    (name, candidates): (&NodePoolName, &[CandidateId]),
    remaining: &Remaining<'_>,
) -> Result<Granted, Objection> {
    let nothing = Granted { nodes: Vec::new(), is_first: false };
    let Some(pool) = state.pool(name.as_str()) else { return Ok(nothing) };
    let wanted = candidates.len();
    let left = remaining.left(name).map_or(wanted, |left| usize::try_from(left).unwrap_or(wanted));
    if left == 0 {
        return Err(remaining.objection(name));
    }
    let room = room(state, pool)?;
    let goes_first = state.facts.policies.terminate_first_drift;
    if room == 0 {
        if !goes_first || !may_refill(state, pool) {
            return Err(Objection::AtNodeLimit);
        }
        let nodes = candidates.iter().copied().take(left).collect();
        return Ok(Granted { nodes, is_first: true });
    }
    if goes_first && is_full(state, pool) {
        // Only what gives an instance of a reservation back makes room for its replacement.
        let holders =
            candidates.iter().copied().filter(|at| gives_back(state, pool, &field.candidates[*at]));
        return Ok(Granted { nodes: holders.take(left).collect(), is_first: true });
    }
    let count = left.min(usize::try_from(room).unwrap_or(usize::MAX));
    Ok(Granted { nodes: candidates.iter().copied().take(count).collect(), is_first: false })
}

/// How many nodes more the static pool `pool` may have.
pub(crate) fn room(state: &State<'_>, pool: &NodePool) -> Result<u64, Objection> {
    let filter = state.facts.ledger.claims.values().filter(|claim| claim.node_pool == pool.name);
    let (mut active, mut deleting) = (0_u64, 0_u64);
    for claim in filter {
        let is_going = claim.is_deleting() || claim.is_instance_terminating();
        *(if is_going { &mut deleting } else { &mut active }) += 1;
    }
    if pool.replicas.is_some_and(|replicas| replicas < active) {
        return Err(Objection::ScalesDown);
    }
    let nodes = ResourceName::new("nodes").ok();
    let limit = nodes.and_then(|nodes| pool.limits.0.get(&nodes).copied());
    Ok(limit.map_or(u64::MAX, |limit| limit.saturating_sub(active + deleting)))
}

/// Whether a static pool would launch a node again in place of one that goes.
pub(crate) fn may_refill(state: &State<'_>, pool: &NodePool) -> bool {
    state.facts.policies.static_capacity
        && !pool.is_deleting
        && pool.problems.is_empty()
        && state.facts.ready_types(&pool.template.node_class).is_some()
}

/// What can be bought for a static pool is reserved, and all of it is used up.
fn is_full(state: &State<'_>, pool: &NodePool) -> bool {
    let mut open = open(state, pool).peekable();
    open.peek().is_some() && open.all(|offering| !offering.is_launchable())
}

/// Whether `candidate` runs in a reservation that is still offered to its pool.
fn gives_back(state: &State<'_>, pool: &NodePool, candidate: &Candidate<'_>) -> bool {
    let Some(own) = candidate.reservation() else { return false };
    let mut held = open(state, pool).filter_map(|offering| offering.reservation.as_ref());
    held.any(|reservation| reservation.id.as_str() == own)
}

/// The available offerings that the requirements of a static pool allow.
fn open<'s>(state: &'s State<'_>, pool: &NodePool) -> impl Iterator<Item = &'s Offering> {
    let requirements = template::requirements(pool);
    let types = state.types(pool).iter();
    let allowed: Vec<&Offering> = types
        .filter(|instance_type| instance_type.requirements.intersects(&requirements).is_ok())
        .flat_map(|instance_type| &instance_type.offerings)
        .filter(|offering| offering.is_available && offering.is_compatible(&requirements))
        .collect();
    allowed.into_iter()
}
