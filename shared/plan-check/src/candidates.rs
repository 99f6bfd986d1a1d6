//! What a new claim may be launched as: types, offerings, prices, `minValues`.
//!
//! The claims of a batch are alike (that is judged elsewhere), so the first of each speaks for all.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    BatchId, HourlyPrice, InstanceType, InstanceTypeName, NodeClaim, Offering, Plan, Requirement,
    Requirements, labels, limits::INSTANCE_TYPES_PER_CLAIM_MAX, plan::NewClaim,
    policies::MinValuesPolicy,
};

use crate::{
    Violation,
    world::{World, labels_of},
};

pub(crate) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    let mut judged: BTreeMap<&BatchId, Option<HourlyPrice>> = BTreeMap::new();
    for new in &plan.new_claims {
        let claim = &new.claim;
        let requirements = labels_of(claim);
        let least = *judged.entry(&claim.batch).or_insert_with(|| {
            check_list(claim, violations);
            check_min_values(world, claim, violations);
            check_types(world, claim, &requirements, violations)
        });
        check_cheapest(world, new, &requirements, least, violations);
    }
}

fn check_list(claim: &NodeClaim, violations: &mut Vec<Violation>) {
    let types = &claim.instance_types;
    let mut refuse =
        |why: String| violations.push(Violation::InstanceTypes { claim: claim.name.clone(), why });
    if types.is_empty() {
        refuse("it is empty".to_owned());
    }
    if INSTANCE_TYPES_PER_CLAIM_MAX < types.len() {
        refuse(format!("it has {}, at most {INSTANCE_TYPES_PER_CLAIM_MAX} fit", types.len()));
    }
    if types.iter().collect::<BTreeSet<_>>().len() < types.len() {
        refuse("a type is in it twice".to_owned());
    }
}

/// Every type must be one that the class offers, that the claim's requirements allow and that can
/// be bought; the cheapest comes first. The lowest price, if there is one.
fn check_types(
    world: &World<'_>,
    claim: &NodeClaim,
    own: &Requirements,
    violations: &mut Vec<Violation>,
) -> Option<HourlyPrice> {
    let (mut prices, mut left_out) = (Vec::new(), 0);
    let mut unmarketed = own.clone();
    for key in MARKET_LABELS {
        unmarketed.remove(key);
    }
    for name in claim.instance_types.iter() {
        let mut refuse = |why: String| {
            let (claim, instance_type) = (claim.name.clone(), name.clone());
            violations.push(Violation::InstanceType { claim, instance_type, why });
        };
        let Some(instance_type) = world.instance_type(claim, name) else {
            refuse("its EC2NodeClass does not offer it".to_owned());
            continue;
        };
        let price = usable(instance_type, own).map(|offering| offering.price).min();
        // Of a claim that holds reservations, types without one stay in the list: they count for
        // `minValues`, and the launch leaves them out.
        let is_left_out = price.is_none() && claim.is_held_to_reservations();
        let asked = if is_left_out { &unmarketed } else { own };
        left_out += usize::from(is_left_out);
        if let Err(reasons) = instance_type.requirements.intersects(asked) {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            refuse(reasons.join("; "));
        }
        match price {
            Some(price) => prices.push((price, name)),
            None if is_left_out => {}
            None => refuse("no offering that its requirements allow is available".to_owned()),
        }
    }
    if 0 < left_out && left_out == claim.instance_types.len() {
        let why = "none of them can be launched".to_owned();
        violations.push(Violation::InstanceTypes { claim: claim.name.clone(), why });
    }
    let out_of_order = |pair: &[(HourlyPrice, &InstanceTypeName)]| match pair {
        [(first, _), (second, name)] => (second < first).then(|| (*name).clone()),
        _ => None,
    };
    if let Some(name) = prices.windows(2).find_map(out_of_order) {
        let why = format!("{name} is cheaper than the type before it");
        violations.push(Violation::InstanceTypes { claim: claim.name.clone(), why });
    }
    prices.iter().map(|(price, _)| *price).min()
}

/// The offerings that can be bought and that `own` allows (specification §4.2: loose).
pub(crate) fn usable<'a>(
    instance_type: &'a InstanceType,
    requirements: &Requirements,
) -> impl Iterator<Item = &'a Offering> {
    let offerings = instance_type.offerings.iter();
    offerings.filter(move |offering| offering.is_launchable() && is_allowed(offering, requirements))
}

/// The labels that say how something is bought.
const MARKET_LABELS: [&str; 5] = [
    labels::ZONE,
    labels::ZONE_ID,
    labels::CAPACITY_TYPE,
    labels::RESERVATION_ID,
    labels::RESERVATION_TYPE,
];

fn is_allowed(offering: &Offering, requirements: &Requirements) -> bool {
    MARKET_LABELS.into_iter().all(|key| {
        match (requirements.get(key), offering_label(offering, key)) {
            (Some(requirement), OfferingLabel::Is(value)) => requirement.has(value),
            (Some(requirement), OfferingLabel::Absent) => requirement.allows_absence(),
            (None, _) | (_, OfferingLabel::Unknown) => true,
        }
    })
}

/// What an offering says about a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfferingLabel<'a> {
    /// The node will have this value.
    Is(&'a str),
    /// The node will not have it.
    Absent,
    /// Nothing.
    Unknown,
}

/// What `offering` says about the label `key`.
pub(crate) fn offering_label<'a>(offering: &'a Offering, key: &str) -> OfferingLabel<'a> {
    let reservation = offering.reservation.as_ref();
    match key {
        labels::ZONE => OfferingLabel::Is(offering.zone.as_str()),
        labels::CAPACITY_TYPE => OfferingLabel::Is(offering.capacity_type.as_str()),
        labels::ZONE_ID => match &offering.zone_id {
            Some(zone_id) => OfferingLabel::Is(zone_id.as_str()),
            None => OfferingLabel::Unknown,
        },
        labels::RESERVATION_ID => {
            reservation.map_or(OfferingLabel::Absent, |r| OfferingLabel::Is(r.id.as_str()))
        }
        labels::RESERVATION_TYPE => {
            reservation.map_or(OfferingLabel::Absent, |r| OfferingLabel::Is(&r.kind))
        }
        _ => OfferingLabel::Unknown,
    }
}

/// Specification §3.6; a value counts if the claim may still have it. The pool's own `minValues` hold as well, unless the claim says that they
/// were relaxed, and that may be.
fn check_min_values(world: &World<'_>, claim: &NodeClaim, violations: &mut Vec<Violation>) {
    let types = world.types_of(claim);
    let is_relaxed = world.facts.policies.min_values == MinValuesPolicy::BestEffort
        && claim.annotations.get(labels::MIN_VALUES_RELAXED).is_some_and(|value| value == "true");
    let pool = world.pools.get(&claim.node_pool).filter(|_| !is_relaxed);
    let of_pool = pool.into_iter().flat_map(|pool| pool.template.requirements.iter());
    let mut wanted: BTreeMap<&str, (&Requirement, u32)> = BTreeMap::new();
    for requirement in claim.requirements.iter().chain(of_pool) {
        let Some(min) = requirement.min_values() else { continue };
        let entry = wanted.entry(requirement.key().as_str()).or_insert((requirement, min));
        entry.1 = entry.1.max(min);
    }
    for (key, (requirement, min)) in wanted {
        // Which market it is bought in was settled when it took hold of reservations.
        if key == labels::CAPACITY_TYPE && claim.is_held_to_reservations() {
            continue;
        }
        let asked = claim.requirements.get(key).unwrap_or(requirement);
        let values: BTreeSet<_> = types
            .iter()
            .filter_map(|instance_type| instance_type.requirements.get(key))
            .flat_map(Requirement::values)
            .filter(|value| asked.has(value))
            .collect();
        if usize::try_from(min).is_ok_and(|min| values.len() < min) {
            violations.push(Violation::MinValues {
                claim: claim.name.clone(),
                label: requirement.key().clone(),
                wanted: min,
                found: values.len(),
            });
        }
    }
}

fn check_cheapest(
    world: &World<'_>,
    new: &NewClaim,
    requirements: &Requirements,
    least: Option<HourlyPrice>,
    violations: &mut Vec<Violation>,
) {
    let (claim, stated) = (&new.claim, &new.cheapest);
    let offering = claim
        .instance_types
        .contains(&stated.instance_type)
        .then(|| world.instance_type(claim, &stated.instance_type))
        .flatten()
        .and_then(|instance_type| {
            usable(instance_type, requirements)
                .filter(|o| o.zone == stated.zone && o.capacity_type == stated.capacity_type)
                .min_by_key(|offering| offering.price)
        });
    let why = match (offering, least) {
        (None, _) => "it is none that can be bought for the claim".to_owned(),
        (Some(offering), _) if offering.price != new.price => {
            format!("it costs {}", offering.price)
        }
        (Some(offering), Some(least)) if least < offering.price => {
            format!("one is to be had at {least}")
        }
        (Some(_), _) => return,
    };
    violations.push(Violation::Cheapest {
        claim: claim.name.clone(),
        stated: stated.clone(),
        stated_price: new.price,
        why,
    });
}
