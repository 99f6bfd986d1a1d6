//! Reserved capacity is not counted on twice (specification §4.6).
//!
//! A claim that may only become reserved capacity holds every reservation that it names, although it
//! will use one: it is not known which. One that was launched a few seconds ago holds its own: EC2's
//! count may be older.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{
    CapacityType, ClaimPhase, NodeClaim, Plan, Requirements,
    labels::{self},
};

use crate::{
    Violation,
    world::{World, labels_of},
};

/// EC2 may show a launch so late.
const COUNT_LAG: SignedDuration = SignedDuration::from_secs(15);

pub(crate) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    let counts = counts(world);
    let mut held: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    let created = plan.new_claims.iter().map(|new| (&new.claim, true));
    let coming = world
        .facts
        .ledger
        .claims
        .values()
        .map(|claim| (claim, false))
        .filter(|(claim, _)| claim.phase == ClaimPhase::Created);
    let launched = world
        .facts
        .ledger
        .claims
        .values()
        .filter_map(|claim| Some((just_launched_into(world, claim)?, false)));
    let holders = created.chain(coming).flat_map(|(claim, is_new)| {
        ids(world, claim, &counts).into_iter().map(move |id| (id, is_new))
    });
    let launched = launched.filter(|(id, _)| counts.contains_key(id));
    for (id, is_new) in holders.chain(launched) {
        let (holders, grown) = held.entry(id).or_default();
        *holders += 1;
        *grown |= is_new;
    }
    for (id, (claims, grown)) in held {
        let count = counts.get(id).copied().unwrap_or_default();
        if grown && usize::try_from(count).is_ok_and(|count| count < claims) {
            violations.push(Violation::Reservation { id: id.to_owned(), claims, count });
        }
    }
}

/// The reservation of a claim that was launched into it a few seconds ago.
fn just_launched_into<'a>(world: &World<'a>, claim: &'a NodeClaim) -> Option<&'a str> {
    let instance = claim.instance.as_ref()?;
    let age = world.facts.now.duration_since(instance.launched_at);
    let is_held = claim.is_reserved() && age < COUNT_LAG;
    claim.labels.get(labels::RESERVATION_ID).map(String::as_str).filter(|_| is_held)
}

/// By reservation, the fewest instances that any offering says are left.
fn counts<'a>(world: &World<'a>) -> BTreeMap<&'a str, u32> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for (_, types) in world.facts.ready_classes() {
        let offerings = types.iter().flat_map(|instance_type| &instance_type.offerings);
        for reservation in offerings.filter_map(|offering| offering.reservation.as_ref()) {
            let count = counts.entry(reservation.id.as_str()).or_insert(reservation.count);
            *count = (*count).min(reservation.count);
        }
    }
    counts
}

/// The reservations that `claim` holds.
fn ids<'a>(
    world: &World<'a>,
    claim: &NodeClaim,
    counts: &BTreeMap<&'a str, u32>,
) -> BTreeSet<&'a str> {
    let requirements: Requirements = labels_of(claim);
    let only = |key: &str, value: &str| {
        requirements
            .get(key)
            .and_then(|requirement| requirement.single_value())
            .is_some_and(|text| &**text == value)
    };
    if !only(labels::CAPACITY_TYPE, CapacityType::Reserved.as_str()) {
        return BTreeSet::new();
    }
    let Some(named) =
        requirements.get(labels::RESERVATION_ID).filter(|requirement| !requirement.is_complement())
    else {
        // Without names it may be any of its types' own.
        let offerings =
            world.types_of(claim).into_iter().flat_map(|instance_type| &instance_type.offerings);
        let filter_map = offerings.filter_map(|offering| offering.reservation.as_ref());
        let texts: BTreeSet<&str> = filter_map.map(|reservation| reservation.id.as_str()).collect();
        return counts.keys().copied().filter(|id| texts.contains(id)).collect();
    };
    counts.keys().copied().filter(|id| named.has(id)).collect()
}
