//! Claims whose node did not join yet: what is certain of a node that may become one of many types.

use std::collections::{BTreeMap, BTreeSet};

use model::{NodeClaim, Operator, Requirement, Resources, labels};

use super::{
    Kind, Surroundings,
    kind::{Known, daemon_requests, exact, started},
    labels_of, room,
};
use crate::scheduling::numbers::amounts::{self, Amounts};

/// What is left on the node that `claim` will have, and what decides which pods go there.
pub(super) fn of_claim(around: &Surroundings<'_>, claim: &NodeClaim) -> (Amounts, Kind) {
    let offer = around.offers.get(claim.node_pool.as_str()).copied();
    let types = match &claim.instance {
        Some(instance) => std::slice::from_ref(&instance.instance_type),
        None => &*claim.instance_types,
    };
    let named = offer.map(|offer| offer.named(types)).unwrap_or_default();
    let types: Vec<&model::InstanceType> =
        named.iter().filter_map(|id| Some(&*offer?.index.types[*id])).collect();
    let mut labels = known(claim, &types, |key| around.keys.contains(key));
    let zone = claim.instance.is_none() && around.keys.contains(labels::ZONE);
    if let Some(values) = zone.then(|| only_zone(claim, &types)).flatten() {
        labels.insert(labels::ZONE.to_owned(), Known { values, may_be_absent: false });
    }
    let asked = Kind { labels, taints: claim.taints.clone() };
    let room = match &claim.instance {
        None if named.len() == claim.instance_types.len() => least_room(around, claim, &types),
        _ => room_on(around, &claim.allocatable, claim, &types),
    };
    (room, asked)
}

/// The zone of all that an unlaunched claim may be bought as, now or later, if it is one: often that of
/// its reservation.
fn only_zone(claim: &NodeClaim, types: &[&model::InstanceType]) -> Option<Requirement> {
    let offerings = types.iter().flat_map(|instance_type| &instance_type.offerings);
    let mut open = offerings.filter(|offering| offering.is_compatible(&claim.requirements));
    let first = open.next()?;
    let is_only = open.all(|other| other.zone == first.zone);
    Requirement::of_label(labels::ZONE, first.zone.as_str()).ok().filter(|_| is_only)
}

/// The room that is left on whichever type the claim becomes.
fn least_room(
    around: &Surroundings<'_>,
    claim: &NodeClaim,
    types: &[&model::InstanceType],
) -> Amounts {
    let rooms = types.iter().map(|instance_type| {
        room_on(around, &instance_type.allocatable(), claim, &[instance_type])
    });
    let least = rooms.reduce(|mut least, room| {
        amounts::lower(&mut least, &room);
        least
    });
    least.unwrap_or_else(|| around.resources.amounts(&Resources::default()))
}

fn room_on(
    around: &Surroundings<'_>,
    allocatable: &Resources,
    claim: &NodeClaim,
    types: &[&model::InstanceType],
) -> Amounts {
    let mut labels = known(claim, types, |key| around.keys.contains(key));
    labels.extend(started());
    let kind = Kind { labels, taints: claim.taints.clone() };
    let overhead = daemon_requests(&kind, around.daemons);
    room(around.resources, allocatable, &[&overhead])
}

/// What is certain about the labels of a claim's node that may become any of `types`.
fn known(
    claim: &NodeClaim,
    types: &[&model::InstanceType],
    is_asked: impl Fn(&str) -> bool,
) -> BTreeMap<String, Known> {
    let mut knowns: BTreeMap<String, Known> = BTreeMap::new();
    for requirement in claim.requirements.iter().filter(|r| is_asked(r.key().as_str())) {
        if requirement.operator() != Operator::DoesNotExist {
            let values = requirement.clone().with_min_values(None);
            let may_be_absent = requirement.allows_absence();
            knowns.insert(requirement.key().as_str().to_owned(), Known { values, may_be_absent });
        }
    }
    let keys: BTreeSet<&str> = types
        .iter()
        .flat_map(|instance_type| instance_type.requirements.iter().map(|r| r.key().as_str()))
        .filter(|key| is_asked(key))
        .collect();
    for key in keys {
        match of_types(key, types) {
            Some(mut known) => {
                if let Some(requirement) = claim.requirements.get(key) {
                    known.values =
                        known.values.intersection(&requirement.clone().with_min_values(None));
                }
                knowns.insert(key.to_owned(), known);
            }
            None => {
                knowns.remove(key);
            }
        }
    }
    let exactly = labels_of(claim);
    if claim.instance.is_some() {
        // What is launched has its labels, and will never get others.
        knowns.retain(|_, known| known.values.single_value().is_some() && !known.may_be_absent);
    }
    knowns.extend(exact(&exactly, &is_asked));
    knowns
}

/// The values that `types` have for the label `key`; `None` when none of them has it.
fn of_types(key: &str, types: &[&model::InstanceType]) -> Option<Known> {
    let mut values = BTreeSet::new();
    let mut may_be_absent = false;
    for instance_type in types {
        match instance_type
            .requirements
            .get(key)
            .filter(|requirement| !requirement.values().is_empty())
        {
            Some(requirement) => values.extend(requirement.values()),
            None => may_be_absent = true,
        }
    }
    let key = model::LabelKey::new(key).ok()?;
    let values: model::Values = values.into_iter().map(std::sync::Arc::clone).collect();
    let is_known = !values.is_empty();
    is_known.then(|| Known { values: Requirement::listed(key, values), may_be_absent })
}
