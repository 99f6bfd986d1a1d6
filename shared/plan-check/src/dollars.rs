//! What nodes may cost in an hour: those of a pool, and all together.
//!
//! A claim without an instance counts as the dearest that it may be launched as now, one with an instance as
//! what that costs. Where the catalog and the claim say different prices, the lower one counts: only what is
//! certainly too much is a violation. Claims that are deleted do not count.

use model::{CapacityType, HourlyPrice, NodeClaim, Offering, labels, node_pool::NodePool};

use crate::{
    Violation,
    world::{World, labels_of},
};

/// Judges the claims that the plan creates; a plan that creates nothing may stand above a cap.
pub(crate) fn check(world: &World<'_>, created: &[&NodeClaim], violations: &mut Vec<Violation>) {
    if created.is_empty() {
        return;
    }
    if let Some(most) = world.facts.policies.dollars_per_hour_max {
        check_cap(world, created, most, None, violations);
    }
    for pool in &world.facts.node_pools {
        let adds = created.iter().any(|claim| claim.node_pool == pool.name);
        if let (true, Some(text)) = (adds, pool.annotations.get(labels::MAX_DOLLARS_PER_HOUR)) {
            let most = HourlyPrice::parse_dollars(text).unwrap_or_default();
            check_cap(world, created, most, Some(pool), violations);
        }
    }
}

fn check_cap(
    world: &World<'_>,
    created: &[&NodeClaim],
    most: HourlyPrice,
    pool: Option<&NodePool>,
    violations: &mut Vec<Violation>,
) {
    let counts = |claim: &&NodeClaim| pool.is_none_or(|pool| claim.node_pool == pool.name);
    let owned = world.facts.ledger.claims.values().filter(|claim| !claim.is_deleting());
    let claims = owned.chain(created.iter().copied()).filter(counts);
    let sum =
        claims.fold(HourlyPrice::default(), |sum, claim| sum.saturating_add(price(world, claim)));
    if most < sum {
        let whose =
            pool.map_or_else(|| "the cluster".to_owned(), |pool| format!("NodePool {}", pool.name));
        violations.push(Violation::Dollars { whose, sum, most });
    }
}

fn price(world: &World<'_>, claim: &NodeClaim) -> HourlyPrice {
    let Some(instance) = &claim.instance else { return dearest(world, claim) };
    let sold = world.sold(&claim.node_class, &instance.instance_type);
    let its = sold.iter().flat_map(|sold| &sold.offerings).filter(|offering| {
        offering.zone == instance.zone && offering.capacity_type == instance.capacity_type
    });
    let now = its.map(|offering| offering.price).min();
    let expected = Some(instance.price).filter(|price| *price != HourlyPrice::default());
    now.into_iter().chain(expected).min().unwrap_or_default()
}

/// The most that EC2 may be paid for a claim.
fn dearest(world: &World<'_>, claim: &NodeClaim) -> HourlyPrice {
    let known = labels_of(claim);
    let may_be = |offering: &&Offering| {
        let buys_reserved = world.facts.policies.reserved_capacity;
        offering.is_launchable()
            && (buys_reserved || offering.capacity_type != CapacityType::Reserved)
            && offering.is_compatible(&known)
    };
    let types = claim.instance_types.iter().filter_map(|name| world.sold(&claim.node_class, name));
    let offerings = types.flat_map(|sold| &sold.offerings).filter(may_be);
    offerings.map(|offering| offering.price).max().unwrap_or_default()
}
