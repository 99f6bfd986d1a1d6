//! Static pools: no more nodes than `replicas`, but for those that take the place of others, and only
//! surplus nodes are deleted (specification of disruption §5.2 and §5.3).

use model::{ClaimPhase, DeletionReason, NodeClaim, NodeClaimName, Plan, Pod, node_pool::NodePool};

use crate::{Violation, world::World};

pub(crate) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    for pool in world.facts.node_pools.iter().filter(|pool| world.is_static(&pool.name)) {
        check_new_claims(world, pool, plan, violations);
        check_scaled_down(world, pool, plan, violations);
    }
}

/// The claims of the pool that stay.
fn staying<'w>(world: &'w World<'_>, pool: &'w NodePool) -> impl Iterator<Item = &'w NodeClaim> {
    let claims = world.facts.ledger.claims.values();
    claims.filter(|claim| claim.node_pool == pool.name && !world.is_ending(claim))
}

fn check_new_claims(
    world: &World<'_>,
    pool: &NodePool,
    plan: &Plan,
    violations: &mut Vec<Violation>,
) {
    let of_pool = plan.new_claims.iter().filter(|new| new.claim.node_pool == pool.name);
    let created = of_pool.count();
    let gone = |name: &NodeClaimName| plan.changes.iter().any(|change| change.name == *name);
    let staying = staying(world, pool).filter(|claim| !gone(&claim.name)).count();
    let (wanted, nodes) = (pool.replicas.unwrap_or_default(), staying + created);
    if 0 < created && wanted < u64::try_from(nodes).unwrap_or(u64::MAX) {
        let (node_pool, wanted) = (pool.name.clone(), wanted.to_string());
        violations.push(Violation::Replicas {
            node_pool,
            why: format!("it would have {nodes} nodes, and wants {wanted}"),
        });
    }
}

fn check_scaled_down(
    world: &World<'_>,
    pool: &NodePool,
    plan: &Plan,
    violations: &mut Vec<Violation>,
) {
    let is_too_many = |name: &NodeClaimName| {
        plan.changes.iter().any(|change| {
            let deletion = change.deletion.as_ref();
            change.name == *name
                && deletion
                    .is_some_and(|deletion| deletion.reason == DeletionReason::Overprovisioned)
        })
    };
    let (gone, left): (Vec<&NodeClaim>, Vec<&NodeClaim>) =
        staying(world, pool).partition(|claim| is_too_many(&claim.name));
    if gone.is_empty() {
        return;
    }
    let mut refuse =
        |why: String| violations.push(Violation::Replicas { node_pool: pool.name.clone(), why });
    let wanted = pool.replicas.unwrap_or_default();
    if pool.is_deleting {
        refuse("it is being deleted".to_owned());
    }
    if u64::try_from(left.len()).unwrap_or(u64::MAX) < wanted {
        refuse(format!("{} nodes would be left, and it wants {wanted}", left.len()));
    }
    let dearest = gone.iter().map(|claim| (worth(world, claim), claim)).max_by_key(|(w, _)| *w);
    // Whose launch may be under way waits until that is known.
    let left = left.iter().filter(|claim| claim.phase != ClaimPhase::Created);
    let cheapest = left.map(|claim| (worth(world, claim), claim)).min_by_key(|(w, _)| *w);
    if let (Some((gone, name)), Some((left, stays))) = (dearest, cheapest)
        && left < gone
    {
        refuse(format!("{} goes, and {} stays, which matters less", name.name, stays.name));
    }
}

/// Why the claim cannot be one too many, by itself.
pub(crate) fn not_too_many(world: &World<'_>, claim: &NodeClaim) -> Option<String> {
    if !world.is_static(&claim.node_pool) {
        return Some(format!("NodePool {} is not static", claim.node_pool));
    }
    if world.is_ending(claim) {
        return Some("it is being replaced".to_owned());
    }
    (claim.phase == ClaimPhase::Created).then(|| "its launch may be under way".to_owned())
}

/// How much what runs on a claim matters: nothing, or not to be disturbed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    NoInstance,
    Empty,
    Used,
    Protected,
}

fn worth(world: &World<'_>, claim: &NodeClaim) -> Worth {
    let node = world.node_of.get(&claim.name);
    let pods: Vec<&Pod> = node
        .and_then(|node| world.pods_on.get(&node.name))
        .into_iter()
        .flatten()
        .copied()
        .filter(|pod| !pod.is_terminal())
        .collect();
    if claim.instance.is_none() {
        Worth::NoInstance
    } else if pods.iter().any(|pod| pod.is_protected(world.facts.now)) {
        Worth::Protected
    } else if pods.iter().all(|pod| pod.is_owned_by_daemon_set()) {
        Worth::Empty
    } else {
        Worth::Used
    }
}
