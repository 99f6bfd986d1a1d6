//! ResourceClaims of pods: that they are there, that the devices that they have are in reach, and that a new node can have
//! as many devices as are claimed on it.
//!
//! Which devices those are is kube-scheduler's choice: what selectors, constraints and counters leave of them is not
//! judged.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    InstanceTypeName, NodeClaim, Plan, Pod, PodUid, Requirements,
    dynamic_resources::{
        ClaimConsumer, DeviceAsk, DeviceCount, DeviceFacts, RequestKind, ResourceClaim,
        ResourceClaimKey, SliceAccess, SliceDevice,
    },
    facts::Facts,
};

use crate::{Violation, world::World};

/// Claims by name.
#[derive(Default)]
pub(crate) struct DeviceClaims<'a> {
    by_key: BTreeMap<&'a ResourceClaimKey, &'a ResourceClaim>,
    pods: BTreeMap<&'a PodUid, &'a Pod>,
}

impl<'a> DeviceClaims<'a> {
    pub(crate) fn of(facts: &'a Facts) -> Self {
        let Some(devices) = &facts.devices else { return Self::default() };
        Self {
            by_key: devices.claims.iter().map(|claim| (&claim.key, claim)).collect(),
            pods: facts.pods.iter().map(|pod| (&pod.uid, pod)).collect(),
        }
    }
}

pub(crate) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    let created = plan.new_claims.iter().flat_map(|new| &new.claim.pods);
    let placed = plan.placements.iter().flat_map(|placement| &placement.pods);
    for pod in created.chain(placed).filter_map(|key| world.pods.get(key)) {
        if let Some(why) = unusable(world, pod) {
            violations.push(Violation::DevicesUnusable { pod: pod.key.clone(), why });
        }
    }
    let Some(devices) = &world.facts.devices else { return };
    for new in &plan.new_claims {
        check_count(world, devices, &new.claim, violations);
    }
}

/// The names of the pod's claims, without those for which no claim was made.
fn names(pod: &Pod) -> BTreeSet<ResourceClaimKey> {
    let made = |name: &String| pod.made_claims.get(name).cloned().flatten();
    let references = pod.spec.claims.references.iter();
    let names = references.filter_map(|(name, own)| own.clone().or_else(|| made(name)));
    let key = |name| ResourceClaimKey { namespace: pod.key.namespace.clone(), name };
    names.map(key).collect()
}

fn unusable(world: &World<'_>, pod: &Pod) -> Option<String> {
    if pod.spec.claims.is_empty() {
        return None;
    }
    if world.facts.devices.is_none() {
        return Some("ResourceClaims are ignored".to_owned());
    }
    let missing = names(pod).into_iter().find(|key| !world.device_claims.by_key.contains_key(key));
    missing.map(|key| format!("ResourceClaim {key} does not exist"))
}

/// What the devices ask of a node that claims of the pod have, and keep.
pub(crate) fn reach(world: &World<'_>, pod: &Pod) -> Requirements {
    let mut requirements = Requirements::new();
    for key in names(pod) {
        let claim = world.device_claims.by_key.get(&key).filter(|claim| is_kept(world, claim));
        let allocation = claim.and_then(|claim| claim.allocation.as_ref());
        let selector = allocation.and_then(|allocation| allocation.selector.as_ref());
        for term in selector.iter().flat_map(|selector| &selector.terms) {
            requirements.add_all(&term.requirements);
        }
    }
    requirements
}

/// Whether a pod that stays where it is has reserved the claim, or another object has, or none.
fn is_kept(world: &World<'_>, claim: &ResourceClaim) -> bool {
    let stays = |consumer: &ClaimConsumer| match consumer {
        ClaimConsumer::Other => true,
        ClaimConsumer::Pod(uid) => world
            .device_claims
            .pods
            .get(uid)
            .is_none_or(|pod| pod.node.as_ref().is_none_or(|node| !world.is_node_ending(node))),
    };
    claim.reserved_for.is_empty() || claim.reserved_for.iter().any(stays)
}

fn check_count(
    world: &World<'_>,
    devices: &DeviceFacts,
    claim: &NodeClaim,
    violations: &mut Vec<Violation>,
) {
    let pods = claim.pods.iter().filter_map(|key| world.pods.get(key));
    let keys: BTreeSet<ResourceClaimKey> = pods.flat_map(|pod| names(pod)).collect();
    let claims = keys.iter().filter_map(|key| world.device_claims.by_key.get(key));
    let open = claims.filter(|claim| claim.allocation.is_none());
    let wanted: usize = open.map(|claim| least(claim)).sum();
    if wanted == 0 {
        return;
    }
    for name in claim.instance_types.iter() {
        let Some(there) = most(devices, claim, name) else { continue };
        if there < wanted {
            let place = format!("claim {} as {name}", claim.name);
            let pods = claim.pods.clone();
            violations.push(Violation::Devices { place, pods, wanted, there });
            // One type is enough to name.
            return;
        }
    }
}

/// The least number of devices that the claim is satisfied with.
fn least(claim: &ResourceClaim) -> usize {
    let count = |ask: &DeviceAsk| match ask.count {
        DeviceCount::Exact(count) => count,
        DeviceCount::All => 1,
    };
    let requests = claim.requests.iter().map(|request| match &request.kind {
        RequestKind::Exactly(ask) => count(ask),
        RequestKind::FirstAvailable(asks) => {
            asks.iter().map(|(_, ask)| count(ask)).min().unwrap_or_default()
        }
        RequestKind::Unsupported => 0,
    });
    requests.sum()
}

/// The most devices that a new node of the type could reach; `None` if any of them may be shared.
fn most(devices: &DeviceFacts, claim: &NodeClaim, name: &InstanceTypeName) -> Option<usize> {
    let templates = devices.templates.get(&claim.node_pool).and_then(|types| types.get(name));
    let of_templates = templates.iter().flat_map(|templates| &templates.slices);
    let reachable = devices.slices.iter().filter(|slice| match slice.access {
        SliceAccess::AllNodes | SliceAccess::Selector(_) => true,
        SliceAccess::Node(_) | SliceAccess::Unsupported => false,
    });
    let of_templates = of_templates.flat_map(|slice| &slice.devices);
    let devices: Vec<&SliceDevice> =
        of_templates.chain(reachable.flat_map(|slice| &slice.devices)).collect();
    let is_any_shared = devices.iter().any(|device| device.allows_multiple_allocations);
    (!is_any_shared).then_some(devices.len())
}
