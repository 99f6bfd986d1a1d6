//! What pools may own (specification §5.3).
//!
//! A claim without an instance counts as the largest of its instance types, since that is what it
//! may become. Where claim and node disagree about an instance, the smaller figure counts: only
//! what is certainly too much is a violation. Every claim is one of `nodes`, those of this plan as
//! well: Karpenter may overrun that limit by a batch.

use model::{
    InstanceType, NodeClaim, NodePoolName, Plan, Resources, node_pool::NodePool,
    resources::format_amount,
};

use crate::{Violation, world::World};

pub(crate) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    for pool in world.facts.node_pools.iter().filter(|pool| !pool.limits.0.is_empty()) {
        let created: Vec<&NodeClaim> = plan
            .new_claims
            .iter()
            .map(|new| &new.claim)
            .filter(|claim| claim.node_pool == pool.name)
            .collect();
        if !created.is_empty() {
            check_pool(world, pool, &created, violations);
        }
    }
}

fn check_pool(
    world: &World<'_>,
    pool: &NodePool,
    created: &[&NodeClaim],
    violations: &mut Vec<Violation>,
) {
    if world.is_static(&pool.name) {
        return check_nodes(world, pool, created.len(), violations);
    }
    let owned = owned(world, &pool.name);
    let nodes = u64::try_from(owned.len() + created.len()).unwrap_or(u64::MAX);
    let created = created.iter().map(|claim| largest(world, claim));
    let resources = owned
        .into_iter()
        .chain(created)
        .fold(Resources::default(), |sum, resources| sum.saturating_add(&resources));
    for (resource, limit) in &pool.limits.0 {
        let name = resource.as_str();
        let used = if name == "nodes" { nodes } else { resources.get(name) };
        if *limit < used {
            violations.push(Violation::Limit {
                node_pool: pool.name.clone(),
                resource: name.to_owned(),
                used: format_amount(name, used),
                limit: format_amount(name, *limit),
            });
        }
    }
}

/// Of the limits of a static pool only that on nodes counts, and nodes that are being disrupted count against
/// it (specification of disruption §3.6 and §5.2).
fn check_nodes(
    world: &World<'_>,
    pool: &NodePool,
    created: usize,
    violations: &mut Vec<Violation>,
) {
    let Some((resource, limit)) = pool.limits.0.iter().find(|(name, _)| name.as_str() == "nodes")
    else {
        return;
    };
    let claims = world.facts.ledger.claims.values();
    let there = claims.filter(|claim| claim.node_pool == pool.name).count();
    let used = u64::try_from(there + created).unwrap_or(u64::MAX);
    if *limit < used {
        let name = resource.as_str();
        violations.push(Violation::Limit {
            node_pool: pool.name.clone(),
            resource: name.to_owned(),
            used: format_amount(name, used),
            limit: format_amount(name, *limit),
        });
    }
}

/// What the pool owns already, claim by claim, without claims that are being deleted.
fn owned(world: &World<'_>, pool: &NodePoolName) -> Vec<Resources> {
    let claims = world
        .facts
        .ledger
        .claims
        .values()
        .filter(|claim| claim.node_pool == *pool && !claim.is_deleting());
    claims.map(|claim| of_claim(world, claim)).collect()
}

fn of_claim(world: &World<'_>, claim: &NodeClaim) -> Resources {
    if claim.instance.is_none() {
        return largest(world, claim);
    }
    match world.node_of.get(&claim.name) {
        Some(node) => smaller(&claim.capacity, &node.capacity),
        None => claim.capacity.clone(),
    }
}

/// The most that the claim may become, by resource; what it states where no type is known.
fn largest(world: &World<'_>, claim: &NodeClaim) -> Resources {
    let types: Vec<&InstanceType> = world.types_of(claim);
    let capacities = types.iter().map(|instance_type| instance_type.capacity.clone());
    capacities.reduce(|a, b| a.larger(&b)).unwrap_or_else(|| claim.capacity.clone())
}

/// The smaller amount of each resource that both name, else the one that is named.
fn smaller(a: &Resources, b: &Resources) -> Resources {
    let mut resources = a.larger(b);
    for (name, amount) in a.iter() {
        let other = b.get(name);
        if let Ok(name) = model::ResourceName::new(name)
            && 0 < other
        {
            resources.set(&name, amount.min(other));
        }
    }
    resources
}
