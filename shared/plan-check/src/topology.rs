//! What pods ask about the places of other pods (specification §6): hard spread, and required
//! affinity and anti-affinity.
//!
//! A plan does not say in which order everything was placed, so only that is judged which no order
//! makes right. What is undecided (a claim that may come up in several zones) counts against the
//! plan where it must be kept away from, and not for it where it must be near.

mod affinity;
mod anti_affinity;
mod spread;

use model::{Namespace, Pod, Requirements, topology::PodAffinityTerm};

use crate::{Violation, crowd::Crowd, daemons::terms, world::World};

pub(crate) fn check(world: &World<'_>, crowd: &Crowd<'_>, violations: &mut Vec<Violation>) {
    spread::check(world, crowd, violations);
    affinity::check(world, crowd, violations);
    anti_affinity::check(world, crowd, violations);
}

/// Whether a term of a pod in the namespace `own` is about pods of `other`.
fn includes(
    world: &World<'_>,
    namespace: &Namespace,
    term: &PodAffinityTerm,
    other: &Namespace,
) -> bool {
    if term.namespaces.is_empty() && term.namespace_selector.is_none() {
        return namespace == other;
    }
    let none = std::collections::BTreeMap::new();
    let labels = world.facts.surroundings.namespaces.get(other).unwrap_or(&none);
    let selects = term
        .namespace_selector
        .as_ref()
        .is_some_and(|label_selector| label_selector.selects(labels));
    selects || term.namespaces.contains(other)
}

/// Whether a pod may be where the label `key` is `value`, by each of its alternatives.
fn allows(pod: &Pod, key: &str, value: &str) -> bool {
    terms(&pod.spec).all(|wanted: Requirements| {
        wanted.get(key).is_none_or(|requirement| requirement.has(value))
    })
}
