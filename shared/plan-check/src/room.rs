//! Whether pods can be where the plan puts them: room, taints, labels (specification §5.4).
//!
//! A claim is good for a pod only if it is whatever EC2 launches for it: every instance type, and of
//! each every offering that its requirements leave.

pub(crate) mod place;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    BatchId, InstanceType, NodeClaim, Plan, Pod, PodKey, PodSpec, Requirement, Requirements,
    Resources, labels, plan::NewClaim,
};

use crate::{
    Violation,
    candidates::{OfferingLabel, offering_label, usable},
    daemons::{Overheads, keeping_away, wanted},
    world::{World, allocatable, labels_of},
};

pub(crate) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    let mut overheads = Overheads::default();
    let mut judged: BTreeSet<(&BatchId, BTreeSet<Kind<'_>>)> = BTreeSet::new();
    for new in &plan.new_claims {
        let pods = pods_of(world, &new.claim.pods);
        check_new_room(world, new, &pods, &mut overheads, violations);
        // Claims of a batch are alike: where equal pods go onto them, once is enough.
        let kinds: BTreeSet<Kind<'_>> = pods.iter().copied().map(kind).collect();
        if judged.insert((&new.claim.batch, kinds)) {
            check_new_labels(world, new, &pods, violations);
        }
    }
    place::check(world, plan, violations);
}

/// Those of `keys` that the facts know.
fn pods_of<'a>(world: &World<'a>, keys: &[PodKey]) -> Vec<&'a Pod> {
    keys.iter().filter_map(|key| world.pods.get(key).copied()).collect()
}

fn sum<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> Resources {
    pods.into_iter().fold(Resources::default(), |sum, pod| sum.saturating_add(&pod.spec.requests))
}

fn check_new_room(
    world: &World<'_>,
    new: &NewClaim,
    pods: &[&Pod],
    overheads: &mut Overheads,
    violations: &mut Vec<Violation>,
) {
    let claim = &new.claim;
    let needed = sum(pods.iter().copied());
    let states = |what, why| Violation::ClaimStates { claim: claim.name.clone(), what, why };
    if !needed.fits_in(&claim.requests) {
        let why = format!("{} for pods that request {needed}", claim.requests);
        violations.push(states("requests", why));
    }
    let mut too_small = None;
    let mut overstated = None;
    for instance_type in world.types_of(claim) {
        let room = allocatable(instance_type);
        if !claim.allocatable.fits_in(&room) {
            overstated = overstated.or_else(|| Some((instance_type, room.clone())));
        }
        let needed = match world.pools.get(&claim.node_pool) {
            Some(pool) => needed.saturating_add(overheads.of(world, pool, instance_type)),
            None => needed.clone(),
        };
        if !needed.fits_in(&room) {
            too_small = too_small.or(Some((instance_type, needed, room)));
        }
    }
    // One type is enough to name: there may be hundreds.
    if let Some((instance_type, room)) = overstated {
        let why = format!("{} where {} has {room}", claim.allocatable, instance_type.name);
        violations.push(states("allocatable", why));
    }
    if let Some((instance_type, needed, room)) = too_small {
        let place = format!("claim {} as {}", claim.name, instance_type.name);
        let (needed, room) = (needed.to_string(), room.to_string());
        let pods = claim.pods.clone();
        violations.push(Violation::Resources { place, pods, needed, room });
    }
}

fn check_new_labels(
    world: &World<'_>,
    new: &NewClaim,
    pods: &[&Pod],
    violations: &mut Vec<Violation>,
) {
    let claim = &new.claim;
    let place = format!("claim {}", claim.name);
    for pod in one_of_each(pods) {
        check_taints(pod, &claim.taints, &place, violations);
        if let Some((place, why)) = unmet_by_some_outcome(world, claim, pod) {
            violations.push(Violation::Labels { pod: pod.key.clone(), place, why });
        }
    }
}

/// What makes pods go with the same labels: their spec, and volumes or claims of their own.
type Kind<'a> = (&'a PodSpec, Option<&'a PodKey>);

fn kind(pod: &Pod) -> Kind<'_> {
    let has_own = !pod.volumes.is_empty() || !pod.spec.claims.is_empty();
    (&pod.spec, has_own.then_some(&pod.key))
}

/// One pod of each kind.
fn one_of_each<'a>(pods: &[&'a Pod]) -> Vec<&'a Pod> {
    let mut by_kind: BTreeMap<Kind<'_>, &Pod> = BTreeMap::new();
    for pod in pods {
        by_kind.entry(kind(pod)).or_insert(pod);
    }
    by_kind.into_values().collect()
}

fn check_taints(pod: &Pod, taints: &[model::Taint], place: &str, violations: &mut Vec<Violation>) {
    if let Some(taint) = keeping_away(taints, &pod.spec.tolerations) {
        let (pod, taint) = (pod.key.clone(), taint.to_string());
        violations.push(Violation::Taint { pod, taint, place: place.to_owned() });
    }
}

/// What `claim` may become on which the pod could not run, and what it misses there.
fn unmet_by_some_outcome<'a>(
    world: &World<'a>,
    claim: &'a NodeClaim,
    pod: &Pod,
) -> Option<(String, String)> {
    let requirements = labels_of(claim);
    let alternatives: Vec<Requirements> = wanted(world, pod);
    for instance_type in world.types_of(claim) {
        for offering in usable(instance_type, &requirements) {
            let unmet = |wanted: &Requirements| {
                let label = |key| outcome_label(&requirements, instance_type, offering, key);
                wanted.iter().find(|wanted| !meets(label(wanted.key().as_str()), wanted)).cloned()
            };
            let missing: Option<Vec<Requirement>> = alternatives.iter().map(unmet).collect();
            if let Some(missing) = missing {
                let place = format!("claim {} as {}", claim.name, instance_type.key_of(offering));
                let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
                return Some((place, missing.join(" or ")));
            }
        }
    }
    None
}

/// What is known about the label `key` of the node that an offering of a type becomes.
pub(crate) fn outcome_label(
    requirements: &Requirements,
    instance_type: &InstanceType,
    offering: &model::Offering,
    key: &str,
) -> Option<Requirement> {
    let of_offering = match offering_label(offering, key) {
        OfferingLabel::Is(value) => Requirement::of_label(key, value).ok(),
        OfferingLabel::Absent | OfferingLabel::Unknown => None,
    };
    [requirements.get(key).cloned(), instance_type.requirements.get(key).cloned(), of_offering]
        .into_iter()
        .flatten()
        .reduce(|a, b| a.intersection(&b))
}

/// Whether a node whose label is `offered` takes a pod that asks for `wanted`. Nothing known about
/// a label: only well-known ones may turn up later.
fn meets(offered: Option<Requirement>, wanted: &Requirement) -> bool {
    match offered {
        None => wanted.allows_absence() || labels::is_well_known(wanted.key().as_str()),
        Some(offered) => {
            offered.allows_absence() && wanted.allows_absence() || offered.has_intersection(wanted)
        }
    }
}
