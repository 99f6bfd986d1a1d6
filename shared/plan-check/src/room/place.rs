//! Pods on capacity that is there, or that is coming.

use std::collections::BTreeMap;

use model::{
    InstanceType, NodeClaim, NodeClaimName, NodeName, Plan, Pod, Requirements, Resources, Taint,
    node::Node, plan::Target, requirements::Undefined, taint::is_ephemeral,
};

use super::{check_taints, one_of_each, pods_of, sum, unmet_by_some_outcome};
use crate::{
    Violation,
    daemons::{on_node, wanted},
    volumes::check_attachments,
    world::{World, allocatable, labels_of},
};

/// Where pods go: a claim, whether its node joined or not, or an unmanaged node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place<'a> {
    Claim(&'a NodeClaimName),
    Node(&'a NodeName),
}

/// What there is at a place (specification §9.1).
pub(crate) struct Seat<'a> {
    pub(crate) shown: String,
    pub(crate) labels: Labels<'a>,
    pub(crate) taints: Vec<Taint>,
    /// The node, if it joined.
    pub(crate) node: Option<&'a Node>,
    allocatable: Resources,
    bound: Vec<&'a Pod>,
}

/// What is known about the labels of a place.
pub(crate) enum Labels<'a> {
    /// They are these.
    Known(Requirements),
    /// They will be those of what EC2 launches.
    Open(&'a NodeClaim),
}

pub(super) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    let mut pods_at: BTreeMap<Place<'_>, Vec<&Pod>> = BTreeMap::new();
    for placement in &plan.placements {
        match place(world, &placement.target) {
            Ok(place) => {
                pods_at.entry(place).or_default().extend(pods_of(world, &placement.pods));
            }
            Err(why) => {
                violations.push(Violation::Target { target: placement.target.clone(), why });
            }
        }
    }
    for (place, pods) in pods_at {
        if let Some(seat) = seat(world, place) {
            check_seat(world, &seat, &pods, violations);
        }
    }
}

/// The place that `target` names; a node and its claim are one place.
pub(crate) fn place<'a>(world: &World<'a>, target: &'a Target) -> Result<Place<'a>, &'static str> {
    let claim = match target {
        Target::Claim(name) => {
            Some(world.facts.ledger.claims.get(name).ok_or("the ledger does not hold it")?)
        }
        Target::Node(name) => {
            let node = world.facts.nodes.get(name).ok_or("the cluster does not have it")?;
            let claim = world.claim_of.get(name).copied();
            if claim.is_none() && node.is_deleting {
                return Err("it is being deleted");
            }
            claim
        }
    };
    match (claim, target) {
        (Some(claim), _) if world.is_ending(claim) => Err("it is being deleted"),
        (Some(claim), _) => Ok(Place::Claim(&claim.name)),
        (None, Target::Node(name)) => Ok(Place::Node(name)),
        (None, Target::Claim(_)) => Err("the ledger does not hold it"),
    }
}

/// The place of what stands on the node called `name` now, whether it ends or not.
pub(crate) fn place_of_node<'a>(world: &World<'a>, name: &'a NodeName) -> Option<Place<'a>> {
    let claim = world.claim_of.get(name).map(|claim| Place::Claim(&claim.name));
    claim.or_else(|| world.facts.nodes.contains_key(name).then_some(Place::Node(name)))
}

pub(crate) fn seat<'a>(world: &World<'a>, place: Place<'a>) -> Option<Seat<'a>> {
    match place {
        Place::Node(name) => {
            let node = world.facts.nodes.get(name)?;
            Some(Seat {
                shown: format!("node {name}"),
                labels: Labels::Known(labels_of_node(node)),
                taints: node.taints.clone(),
                node: Some(node),
                allocatable: node.allocatable.clone(),
                bound: bound(world, node),
            })
        }
        Place::Claim(name) => {
            let claim = world.facts.ledger.claims.get(name)?;
            let node = world.node_of.get(name).copied();
            Some(match node {
                Some(node) if node.is_registered() => seat_of_node(world, claim, node),
                _ => seat_of_claim(world, claim, node),
            })
        }
    }
}

/// A node that carries what its claim says; until everything on it started, taints that go away by
/// themselves do not count, and what the kubelet does not report yet is the claim's.
fn seat_of_node<'a>(world: &World<'a>, claim: &NodeClaim, node: &'a Node) -> Seat<'a> {
    let (taints, allocatable) = if node.is_initialized() {
        (node.taints.clone(), node.allocatable.clone())
    } else {
        let mut allocatable = claim.allocatable.clone();
        for (name, amount) in node.allocatable.iter() {
            if let Ok(name) = model::ResourceName::new(name) {
                allocatable.set(&name, amount);
            }
        }
        (lasting(&node.taints, claim), allocatable)
    };
    Seat {
        shown: format!("node {}", node.name),
        labels: Labels::Known(labels_of_node(node)),
        taints,
        node: Some(node),
        allocatable,
        bound: bound(world, node),
    }
}

/// A claim without a node, or whose node has only just joined.
fn seat_of_claim<'a>(world: &World<'a>, claim: &'a NodeClaim, node: Option<&'a Node>) -> Seat<'a> {
    let launched = claim.instance.as_ref().map(|instance| {
        let mut requirements = labels_of(claim);
        let instance_type = world.instance_type(claim, &instance.instance_type);
        requirements.add_all(&instance_type.map(|t| t.requirements.clone()).unwrap_or_default());
        requirements.add_all(&Requirements::of_labels([
            (model::labels::INSTANCE_TYPE, instance.instance_type.as_str()),
            (model::labels::ZONE, instance.zone.as_str()),
            (model::labels::CAPACITY_TYPE, instance.capacity_type.as_str()),
        ]));
        // What its kubelet reports of itself comes on top.
        let reported = node.map(labels_of_node).unwrap_or_default();
        for label in reported.iter() {
            if !requirements.contains(label.key().as_str()) {
                requirements.add(label.clone());
            }
        }
        requirements
    });
    Seat {
        shown: format!("claim {}", claim.name),
        labels: launched.map_or(Labels::Open(claim), Labels::Known),
        taints: lasting(&claim.taints, claim),
        node,
        allocatable: claim.allocatable.clone(),
        bound: node.map(|node| bound(world, node)).unwrap_or_default(),
    }
}

fn labels_of_node(node: &Node) -> Requirements {
    Requirements::of_labels(node.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())))
}

/// Specification §9.2: taints that disappear while a node starts are not there for scheduling.
fn lasting(taints: &[Taint], claim: &NodeClaim) -> Vec<Taint> {
    let at_start = |taint: &Taint| {
        claim
            .startup_taints
            .iter()
            .any(|present| present.key == taint.key && present.effect == taint.effect)
    };
    taints.iter().filter(|taint| !is_ephemeral(taint) && !at_start(taint)).cloned().collect()
}

/// Pods that hold resources of the node.
fn bound<'a>(world: &World<'a>, node: &Node) -> Vec<&'a Pod> {
    let pods = world.pods_on.get(&node.name).into_iter().flatten();
    pods.filter(|pod| !pod.is_terminal()).copied().collect()
}

fn check_seat(world: &World<'_>, seat: &Seat<'_>, pods: &[&Pod], violations: &mut Vec<Violation>) {
    let (requested, bound) = (sum(pods.iter().copied()), sum(seat.bound.iter().copied()));
    let daemons = sum(seat.bound.iter().filter(|pod| pod.is_owned_by_daemon_set()).copied());
    for outcome in outcomes(world, seat) {
        let expected = on_node(world, &seat.taints, &outcome.labels).saturating_sub(&daemons);
        // What the place does not name is taken only by a new request for it.
        let taken = bound.saturating_add(&expected).named_by(&outcome.allocatable);
        let needed = requested.saturating_add(&taken);
        if !needed.fits_in(&outcome.allocatable) {
            violations.push(Violation::Resources {
                place: outcome.shown,
                pods: pods.iter().map(|pod| pod.key.clone()).collect(),
                needed: needed.to_string(),
                room: outcome.allocatable.to_string(),
            });
            // One outcome is enough to name: there may be hundreds.
            break;
        }
    }
    if let Some(node) = seat.node {
        let storage = &world.facts.surroundings.storage;
        check_attachments(storage, &node.name, &seat.bound, pods, violations);
    }
    for pod in one_of_each(pods) {
        check_taints(pod, &seat.taints, &seat.shown, violations);
        let unmet = match &seat.labels {
            Labels::Known(requirements) => {
                unmet(world, requirements, pod).map(|why| (seat.shown.clone(), why))
            }
            Labels::Open(claim) => unmet_by_some_outcome(world, claim, pod),
        };
        if let Some((place, why)) = unmet {
            violations.push(Violation::Labels { pod: pod.key.clone(), place, why });
        }
    }
}

/// What a place may turn out to be.
struct Outcome {
    shown: String,
    labels: Requirements,
    allocatable: Resources,
}

/// A node is what it is; an open claim becomes one of its types, or what it states where its class
/// does not offer all of them any more.
fn outcomes(world: &World<'_>, seat: &Seat<'_>) -> Vec<Outcome> {
    let stated = |labels| {
        vec![Outcome { shown: seat.shown.clone(), labels, allocatable: seat.allocatable.clone() }]
    };
    let claim = match &seat.labels {
        Labels::Known(requirements) => return stated(requirements.clone()),
        Labels::Open(claim) => claim,
    };
    let requirements = labels_of(claim);
    let types = world.types_of(claim);
    if types.is_empty() || types.len() < claim.instance_types.len() {
        return stated(requirements);
    }
    let outcome = |instance_type: &InstanceType| {
        let mut labels = requirements.clone();
        labels.add_all(&instance_type.requirements);
        Outcome {
            shown: format!("{} as {}", seat.shown, instance_type.name),
            labels,
            allocatable: allocatable(instance_type),
        }
    };
    types.into_iter().map(outcome).collect()
}

/// Why labels that are there do not satisfy the pod, unless one of its alternatives goes with them.
fn unmet(world: &World<'_>, requirements: &Requirements, pod: &Pod) -> Option<String> {
    let wanted = wanted(world, pod);
    let reasons: Option<Vec<_>> =
        wanted.iter().map(|term| requirements.compatible(term, Undefined::Refused).err()).collect();
    let texts: Vec<String> = reasons?.iter().flatten().map(ToString::to_string).collect();
    Some(texts.join("; "))
}
