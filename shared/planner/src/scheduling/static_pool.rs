//! Static pools: how many nodes a NodePool with `replicas` lacks, or which of them go.
//!
//! Nothing is placed on a new node of such a pool; what its claim looks like `launches` says.
//!
//! Karpenter: `pkg/controllers/static/{provisioning,deprovisioning}/controller.go`.

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, DeletionReason, Function, NodeClaim, NodeClaimName, Plan, Pod, Problem,
    facts::Facts,
    ledger::{Decision, DecisionKind},
    node_pool::NodePool,
    words,
};

use crate::{eviction::eviction_cost, told, world::World};

pub mod launches;

pub(crate) use launches::replacements;
pub use launches::{Launches, launches};

/// What a static pool needs to have its replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replicas {
    /// Nothing.
    Enough,
    /// A number of claims more.
    Missing(u64),
    /// Claims are missing, and `limits.nodes` allows none.
    Limited {
        /// How many are missing.
        missing: u64,
        /// The limit.
        nodes_max: u64,
    },
    /// These claims are deleted, in this order.
    Surplus(Vec<NodeClaimName>),
    /// It launches nothing, and deletes nothing, now: in words.
    Unusable(String),
}

/// What the static pool `pool` needs, behind the gate `StaticCapacity`; `None` for a pool without
/// `replicas` or behind a closed gate.
///
/// Deleted first are claims without an instance, then empty nodes, then those whose pods cost
/// least to move, and nodes with a pod that forbids it last. Claims that are being deleted or replaced
/// have left the pool, but their nodes still count against `limits.nodes`.
pub fn replicas(facts: &Facts, pool: &NodePool) -> Option<Replicas> {
    let wanted = pool.replicas.filter(|_| facts.policies.static_capacity)?;
    if pool.is_deleting {
        return Some(Replicas::Unusable("the NodePool is being deleted".to_owned()));
    }
    let claims: Vec<&NodeClaim> =
        facts.ledger.claims.values().filter(|claim| claim.node_pool == pool.name).collect();
    // What takes the place of a claim is there already.
    let replaced = facts.ledger.being_replaced();
    let (pending, active): (Vec<&NodeClaim>, Vec<&NodeClaim>) = claims
        .iter()
        .copied()
        .filter(|claim| !claim.is_deleting())
        .partition(|claim| replaced.contains(&claim.name));
    let surplus = count(active.len()).saturating_sub(wanted);
    if surplus > 0 {
        return Some(Replicas::Surplus(deleted(facts, &active, surplus)));
    }
    if wanted <= count(active.len() + pending.len()) {
        return Some(Replicas::Enough);
    }
    let missing = wanted.saturating_sub(count(active.len()));
    if !pool.problems.is_empty() {
        let why = format!("the NodePool cannot be used: {}", Problem::in_words(&pool.problems));
        return Some(Replicas::Unusable(why));
    }
    let Some(nodes_max) = pool.limits.0.get("nodes").copied() else {
        return Some(Replicas::Missing(missing));
    };
    Some(match missing.min(nodes_max.saturating_sub(count(claims.len()))) {
        0 => Replicas::Limited { missing, nodes_max },
        granted => Replicas::Missing(granted),
    })
}

/// Deletes what static pools have beyond their `replicas`. Neither budgets nor pods hold that back. A
/// claim whose launch may be under way goes once that is known, and no other in its place.
///
/// Karpenter: `pkg/controllers/static/deprovisioning/controller.go`.
#[must_use]
pub fn scaled_down(facts: &Facts) -> Plan {
    let mut plan = Plan { parent: facts.ledger.head.counters, ..Plan::default() };
    for pool in &facts.node_pools {
        let Some(Replicas::Surplus(names)) = replicas(facts, pool) else { continue };
        let claims = names.iter().filter_map(|name| facts.ledger.claims.get(name));
        let claims: Vec<&NodeClaim> =
            claims.filter(|claim| claim.phase != ClaimPhase::Created).collect();
        if claims.is_empty() {
            continue;
        }
        let nodes = words::counted(claims.len(), "node");
        let wanted = words::thousands(pool.replicas.unwrap_or_default().into());
        let summary = format!("{}: deletes {nodes} beyond its replicas ({wanted})", pool.name);
        let deleted =
            |claim: &&NodeClaim| claim.deleted(DeletionReason::Overprovisioned, facts.now);
        plan.changes.extend(claims.iter().map(deleted));
        let who = (Function::Disrupt, facts.now);
        plan.decisions.push(Decision::about(DecisionKind::Termination, claims, who, summary));
    }
    told::name_pods(&mut plan.decisions, facts);
    plan
}

fn count(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// The `surplus` claims of `active` that go first.
fn deleted(facts: &Facts, active: &[&NodeClaim], surplus: u64) -> Vec<NodeClaimName> {
    let world = World::of(facts);
    let key = |claim: &&NodeClaim| {
        let node = world.node(claim);
        let on_node = |pod: &&Pod| {
            pod.node.as_ref().is_some_and(|name| node.is_some_and(|node| node.name == *name))
                && !pod.is_terminal()
        };
        let pods: Vec<&Pod> = facts.pods.iter().filter(on_node).collect();
        (rank(claim, &pods, facts.now), cost(facts, claim, &pods), claim.name.clone())
    };
    let mut sorted = active.to_vec();
    sorted.sort_by_cached_key(key);
    let surplus = usize::try_from(surplus).unwrap_or(usize::MAX);
    sorted.into_iter().take(surplus).map(|claim| claim.name.clone()).collect()
}

/// In which group a claim goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Unresolved,
    Empty,
    Used,
    Protected,
}

fn rank(claim: &NodeClaim, pods: &[&Pod], now: Timestamp) -> Rank {
    if claim.instance.is_none() {
        Rank::Unresolved
    } else if pods.iter().any(|pod| pod.is_protected(now)) {
        Rank::Protected
    } else if pods.iter().all(|pod| pod.is_owned_by_daemon_set()) {
        Rank::Empty
    } else {
        Rank::Used
    }
}

/// What moving the pods costs, less the nearer the claim is to its end, in units of 2⁻⁴⁷.
///
/// Karpenter: `pkg/utils/disruption/disruption.go`.
fn cost(facts: &Facts, claim: &NodeClaim, pods: &[&Pod]) -> i128 {
    let cost = |pod: &&Pod| i128::from(eviction_cost(pod, &facts.policies));
    let pods: i128 = pods.iter().map(cost).sum();
    pods * left_of_life(claim, facts.now)
}

/// The share of its life that a claim has before it, in units of 2⁻²⁰. One that never expires has
/// all of it.
fn left_of_life(claim: &NodeClaim, now: Timestamp) -> i128 {
    const ALL: i128 = 1 << 20;
    let Some(whole) = claim.expire_after.filter(SignedDuration::is_positive) else { return ALL };
    let left = whole.saturating_sub(now.duration_since(claim.created_at));
    (left.as_nanos() * ALL / whole.as_nanos()).clamp(0, ALL)
}
