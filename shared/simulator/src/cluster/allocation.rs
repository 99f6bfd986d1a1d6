//! Stand-ins for what allocates devices: the part of kube-scheduler, and the controller that makes claims for pods and
//! takes devices back when pods end.
//!
//! Which devices a claim gets on a node is found by `devices`, as for plans: that the search is right is shown there.
//! That no device is taken twice is watched here.

use std::collections::BTreeMap;

use devices::{AllocatedDevice, CelSelectors, DevicePlace, DevicePlaceKey, Devices, Leaving};
use model::{
    InstanceTypeName, NodeName, NodePoolName, ObjectName, Pod, PodKey, Requirements,
    dynamic_resources::{
        ClaimAllocation, ClaimConsumer, DeviceFacts, NodeSelector, NodeSelectorTerm, ResourceClaim,
        ResourceClaimKey, ResourceSlice, SliceAccess,
    },
    node::Node,
};

use super::ClusterState;
use crate::{made_up, story::StoryClaimTemplate, world::World};

/// The devices that claims without some would get.
type Found = BTreeMap<ResourceClaimKey, Vec<AllocatedDevice>>;

impl World {
    /// The claims of a pod that is about to be bound get devices of `node`, and the pod reserves them.
    pub(super) fn allocate_devices(&mut self, pod: &Pod, node: &NodeName) {
        let Some(facts) = self.cluster.device_facts(pod) else { return };
        let devices = Devices::new(&facts, CelSelectors::default());
        let entry = self.cluster.nodes.get(node);
        let missing = entry.and_then(|entry| devices_on(&devices, pod, &entry.node));
        for (key, taken) in missing.unwrap_or_default() {
            let claims = self.cluster.devices.claims.values();
            let twice = taken.iter().filter(|device| is_taken(device, claims.clone()));
            self.violations.extend(twice.map(|device| format!("{} is allocated twice", device.id)));
            let selector = reach(&facts.slices, &taken);
            let taken = taken.into_iter().map(|device| (device.id, device.consumed)).collect();
            if let Some(claim) = self.cluster.devices.claims.get_mut(&key) {
                claim.allocation = Some(ClaimAllocation { devices: taken, selector });
            }
        }
        for key in claims_of(pod) {
            if let Some(claim) = self.cluster.devices.claims.get_mut(&key) {
                claim.reserved_for.push(ClaimConsumer::Pod(pod.uid.clone()));
            }
        }
    }
}

impl ClusterState {
    /// What decides about the devices of `pod`; nothing does if it has no claims.
    pub(super) fn device_facts(&self, pod: &Pod) -> Option<DeviceFacts> {
        (!pod.spec.claims.references.is_empty()).then(|| DeviceFacts {
            slices: self.devices.slices.values().cloned().collect(),
            classes: self.devices.classes.values().cloned().collect(),
            claims: self.devices.claims.values().cloned().collect(),
            // kube-scheduler takes what is published of any node.
            initialized: self.nodes.keys().cloned().collect(),
            templates: BTreeMap::new(),
        })
    }

    /// Makes the claims of the pod called `pod` that are made from templates: their names, by what its spec calls them.
    pub(super) fn make_claims(
        &mut self,
        templates: &BTreeMap<String, StoryClaimTemplate>,
        pod: &PodKey,
    ) -> BTreeMap<String, Option<ObjectName>> {
        let mut made = BTreeMap::new();
        for (reference, template) in templates {
            let claim = made_up(ObjectName::new(&format!("{}-{reference}", pod.name)));
            let namespace = pod.namespace.clone();
            let key = ResourceClaimKey { namespace, name: claim.clone() };
            let claim_of_pod = ResourceClaim {
                key: key.clone(),
                requests: template.requests.clone(),
                constraints: template.constraints.clone(),
                allocation: None,
                reserved_for: Vec::new(),
            };
            self.devices.claims.insert(key, claim_of_pod);
            made.insert(reference.clone(), Some(claim));
        }
        made
    }

    /// A pod ended: claims that were made for it go, and devices of others that nothing else reserves are free.
    pub(super) fn release_devices(&mut self, pod: &Pod) {
        for key in claims_of(pod) {
            if pod.made_claims.values().flatten().any(|made| *made == key.name) {
                self.devices.claims.remove(&key);
                continue;
            }
            let Some(claim) = self.devices.claims.get_mut(&key) else { continue };
            let consumer = ClaimConsumer::Pod(pod.uid.clone());
            if !claim.reserved_for.contains(&consumer) {
                continue;
            }
            claim.reserved_for.retain(|other| *other != consumer);
            if claim.reserved_for.is_empty() {
                claim.allocation = None;
            }
        }
    }
}

/// The devices of `node` that the claims of `pod` lack; `None` if it cannot have them, or if a claim is missing.
pub(super) fn devices_on(devices: &Devices<'_>, pod: &Pod, node: &Node) -> Option<Found> {
    let mut references = pod.spec.claims.references.iter();
    if !references.all(|(name, own)| own.is_some() || pod.made_claims.contains_key(name)) {
        return None;
    }
    let claims = devices.claims_of(pod).ok()?;
    let labels = node.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    // Without templates, pool and type decide nothing.
    let place = DevicePlace {
        key: DevicePlaceKey::Existing(0),
        node: Some(&node.name),
        node_pool: &made_up(NodePoolName::new("any")),
        requirements: &Requirements::of_labels(labels),
        types: &[made_up(InstanceTypeName::new("any.large"))],
        has_templates: false,
    };
    let allocation = devices.allocate(&devices.begin(&Leaving::default()), &place, &claims).ok()?;
    let by_claim = allocation.claims().iter().map(|(key, claim)| {
        (key.clone(), claim.devices.values().flatten().cloned().collect::<Vec<_>>())
    });
    Some(by_claim.collect())
}

/// The claims of a pod by name, whether or not they are there.
fn claims_of(pod: &Pod) -> Vec<ResourceClaimKey> {
    let named = pod.spec.claims.references.iter().filter_map(|(name, own)| {
        own.as_ref().or_else(|| pod.made_claims.get(name).and_then(Option::as_ref))
    });
    let namespace = &pod.key.namespace;
    let mut keys: Vec<_> = named
        .map(|name| ResourceClaimKey { namespace: namespace.clone(), name: name.clone() })
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

/// Whether one of `claims` has the whole of a device, or a part of what is to be taken whole.
fn is_taken<'c>(device: &AllocatedDevice, claims: impl Iterator<Item = &'c ResourceClaim>) -> bool {
    let mut allocated = claims.filter_map(|claim| claim.allocation.as_ref());
    allocated.any(|allocation| {
        let mut others = allocation.devices.iter();
        others.any(|(id, share)| *id == device.id && (share.is_none() || device.consumed.is_none()))
    })
}

/// The nodes that reach all of `taken`; `None` is every node.
///
/// Kubernetes: `createNodeSelector` of `staging/src/k8s.io/dynamic-resource-allocation/structured`.
fn reach(slices: &[ResourceSlice], taken: &[AllocatedDevice]) -> Option<NodeSelector> {
    let publishes = |slice: &&ResourceSlice| {
        taken.iter().any(|device| {
            let is_of_pool = device.id.driver == slice.driver && device.id.pool == slice.pool.name;
            is_of_pool && slice.devices.iter().any(|known| known.name == device.id.device)
        })
    };
    let mut term = NodeSelectorTerm::default();
    let mut is_bound = false;
    for slice in slices.iter().filter(publishes) {
        match &slice.access {
            SliceAccess::Node(node) => term.nodes = Some([node.clone()].into()),
            SliceAccess::Selector(selector) => {
                for alternative in &selector.terms {
                    term.requirements.add_all(&alternative.requirements);
                    term.nodes = alternative.nodes.clone().or(term.nodes);
                }
            }
            SliceAccess::AllNodes | SliceAccess::Unsupported => continue,
        }
        is_bound = true;
    }
    is_bound.then(|| NodeSelector { terms: vec![term] })
}
