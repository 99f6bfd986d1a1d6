//! What keeps requirements from every instance type, by its name: a type that there is not, a zone
//! without a subnet, a reservation that the class does not select.

use std::collections::BTreeSet;

use model::{CapacityType, NodeClassName, Requirement, Requirements, labels, words};

use super::{offer::Types, type_index::TypeIndex};

/// Values that are named at most.
const NAMED_MAX: usize = 5;

/// Why no type of the class called `class` has what is `asked`, if one label of it is to blame: none
/// of the values that it lists is on any type.
pub fn cause(index: &TypeIndex, asked: &Requirements, class: &NodeClassName) -> Option<String> {
    asked.iter().find_map(|requirement| of_one(index, requirement, class))
}

/// The fewest of `asked` that no type has together, in words; `None` if some type has everything.
pub fn conflict(index: &TypeIndex, asked: &Requirements) -> Option<String> {
    let is_met = |requirements: &[&Requirement]| {
        let mut types = Types::full(index.types.len());
        for requirement in requirements {
            types.keep(&index.matching_one(requirement));
        }
        !types.is_empty()
    };
    let mut needed: Vec<&Requirement> = asked.iter().collect();
    if is_met(&needed) {
        return None;
    }
    for requirement in asked.iter() {
        let others: Vec<&Requirement> =
            needed.iter().copied().filter(|other| *other != requirement).collect();
        if !is_met(&others) {
            needed = others;
        }
    }
    let impossible =
        |requirement: &Requirement| !requirement.is_complement() && requirement.values().is_empty();
    match needed.as_slice() {
        [] => None,
        [requirement] if impossible(requirement) => {
            let key = requirement.key().as_str();
            Some(format!("no instance type meets all requirements on {key}"))
        }
        needed => {
            let texts: Vec<String> = needed.iter().map(ToString::to_string).collect();
            Some(format!("no instance type has {}", texts.join(" and ")))
        }
    }
}

/// That what is `asked` needs a capacity reservation, and those of the class called `class` are in other zones, if so.
pub fn elsewhere(index: &TypeIndex, asked: &Requirements, class: &NodeClassName) -> Option<String> {
    let paid = asked.get(labels::CAPACITY_TYPE)?;
    let has = |capacity_type: CapacityType| paid.has(capacity_type.as_str());
    if has(CapacityType::OnDemand) || has(CapacityType::Spot) || !has(CapacityType::Reserved) {
        return None;
    }
    let zones = asked.get(labels::ZONE)?;
    let offerings = index.types.iter().flat_map(|instance_type| &instance_type.offerings);
    let reserved = offerings.filter(|offering| offering.capacity_type == CapacityType::Reserved);
    let there: BTreeSet<&str> = reserved.map(|offering| offering.zone.as_str()).collect();
    let is_elsewhere = !there.is_empty() && !there.iter().any(|zone| zones.has(zone));
    is_elsewhere.then(|| {
        let there = there.into_iter().collect::<Vec<_>>().join(", ");
        format!("the capacity reservations of EC2NodeClass {class} are in {there}, and {zones} is required")
    })
}

fn of_one(index: &TypeIndex, asked: &Requirement, class: &NodeClassName) -> Option<String> {
    let key = asked.key().as_str();
    let is_listed = !asked.is_complement() && !asked.values().is_empty();
    if !is_listed || index.types.is_empty() {
        return None;
    }
    let said = index.said(key);
    let known: BTreeSet<&str> = said
        .iter()
        .filter_map(|(requirement, _)| requirement.as_ref())
        .flat_map(Requirement::values)
        .map(|value| &**value)
        .collect();
    if asked.values().iter().any(|value| known.contains(&**value)) {
        return None;
    }
    let wanted = named(asked.values().iter().map(|value| &**value));
    match key {
        labels::INSTANCE_TYPE => Some(format!("there is no instance type {wanted}")),
        labels::ZONE | labels::ZONE_ID if !known.is_empty() => Some(format!(
            "nodes of EC2NodeClass {class} can only be in {}, not in {wanted}",
            named(known.into_iter())
        )),
        labels::RESERVATION_ID => {
            Some(format!("EC2NodeClass {class} selects no capacity reservation {wanted}"))
        }
        _ => {
            let meant = asked
                .values()
                .iter()
                .filter_map(|value| labels::meant(value, known.iter().copied()));
            let meant: BTreeSet<&str> = meant.collect();
            let cure = |values: BTreeSet<&str>| {
                format!("no instance type has {asked}: write {}", named(values.into_iter()))
            };
            if !meant.is_empty() {
                return Some(cure(meant));
            }
            let of_family = match key {
                labels::OS if !known.is_empty() => format!("is for {}", named(known.into_iter())),
                labels::WINDOWS_BUILD => "has no such build".to_owned(),
                _ => return None,
            };
            Some(format!(
                "no instance type has {asked}: the AMI family of EC2NodeClass {class} {of_family} \
                 (spec.amiFamily, or an alias in spec.amiSelectorTerms)"
            ))
        }
    }
}

/// `a or b or c`.
fn named<'v>(values: impl ExactSizeIterator<Item = &'v str>) -> String {
    let others = values.len().saturating_sub(NAMED_MAX);
    let shown: Vec<&str> = values.take(NAMED_MAX).collect();
    let shown = shown.join(" or ");
    if others == 0 { shown } else { format!("{shown} and {}", words::counted(others, "other")) }
}
