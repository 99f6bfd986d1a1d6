//! What is allocated so far in a pass.
//!
//! Karpenter: `pkg/scheduling/dynamicresources/allocationtracker.go`.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use model::{
    InstanceTypeName, Quantity,
    dynamic_resources::{DeviceId, ResourceClaimKey},
};

use crate::{
    allocate::Allocation,
    bounds::DeviceBounds,
    hold::{Hold, Taken},
    pass::Start,
};

/// A node in a plan, by a number of the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DevicePlaceKey {
    /// A node, or a NodeClaim without a node yet.
    Existing(usize),
    /// A NodeClaim that the plan creates.
    New(usize),
}

/// A device that a claim gets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllocatedDevice {
    /// The device.
    pub id: DeviceId,
    /// Whether it is of a template: the instance will have it.
    pub is_template: bool,
    /// `request`, or `request/alternative`.
    pub request: String,
    /// Its share of a shared device, by the name of the capacity. `None` is the whole device.
    pub consumed: Option<BTreeMap<String, Quantity>>,
}

/// What a claim gets for the pods of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocatedClaim {
    /// The node.
    pub place: DevicePlaceKey,
    /// By instance type of the node: the devices if it becomes this one.
    pub devices: BTreeMap<InstanceTypeName, Vec<AllocatedDevice>>,
    /// By instance type: nodes that reach the published ones among them.
    pub(crate) bounds: BTreeMap<InstanceTypeName, DeviceBounds>,
    /// Whether any is of a template: no other node reaches it.
    pub(crate) is_local: bool,
}

/// What is allocated in the cluster and so far in a plan. A copy shares what neither of them changed, so that one
/// for a trial costs little.
#[derive(Clone, Debug)]
pub struct Allocations {
    pub(crate) start: Rc<Start>,
    places: Rc<BTreeMap<DevicePlaceKey, Rc<Holds>>>,
    /// Published devices that are taken as a whole, by number.
    holders: Rc<BTreeMap<usize, DevicePlaceKey>>,
    /// What the plan takes of published devices, by any type that a node may become.
    used: Rc<Taken>,
    claims: Rc<BTreeMap<ResourceClaimKey, Rc<AllocatedClaim>>>,
}

/// What one node takes.
#[derive(Clone, Debug, Default)]
struct Holds {
    by_type: BTreeMap<InstanceTypeName, Hold>,
    /// Of published devices: the most over all types.
    most: Taken,
}

impl Holds {
    fn count(&mut self) {
        self.most = Taken::default();
        for hold in self.by_type.values() {
            self.most.raise(&hold.published);
        }
    }
}

impl Allocations {
    pub(crate) fn new(start: Start) -> Self {
        Self {
            start: Rc::new(start),
            places: Rc::default(),
            holders: Rc::default(),
            used: Rc::default(),
            claims: Rc::default(),
        }
    }

    /// Makes an allocation that was found in this very state, when its pod is placed.
    pub fn commit(&mut self, allocation: Allocation) {
        let Allocation { place, holds, claims, .. } = allocation;
        if claims.is_empty() {
            return;
        }
        let places = Rc::make_mut(&mut self.places);
        let holds_here = Rc::make_mut(places.entry(place).or_default());
        let holders = Rc::make_mut(&mut self.holders);
        for (instance_type, hold) in holds {
            holders.extend(hold.published.exclusive.iter().map(|device| (*device, place)));
            holds_here.by_type.entry(instance_type).or_default().add(&hold);
        }
        count(holds_here, &mut self.used);
        let allocated = Rc::make_mut(&mut self.claims);
        allocated.extend(claims.into_iter().map(|(key, claim)| (key, Rc::new(claim))));
    }

    /// Releases what a node holds for instance types that it can no longer become.
    pub fn keep_types(&mut self, place: DevicePlaceKey, keeps: impl Fn(&InstanceTypeName) -> bool) {
        let is_held = |holds: &Rc<Holds>| holds.by_type.keys().any(|name| !keeps(name));
        if !self.places.get(&place).is_some_and(is_held) {
            return;
        }
        let places = Rc::make_mut(&mut self.places);
        let holds_here = Rc::make_mut(places.entry(place).or_default());
        holds_here.by_type.retain(|name, _| keeps(name));
        count(holds_here, &mut self.used);
        let exclusive = &holds_here.most.exclusive;
        Rc::make_mut(&mut self.holders)
            .retain(|device, holder| *holder != place || exclusive.contains(device));
        for claim in Rc::make_mut(&mut self.claims).values_mut() {
            if claim.place == place && claim.devices.keys().any(|name| !keeps(name)) {
                let claim = Rc::make_mut(claim);
                claim.devices.retain(|name, _| keeps(name));
                claim.bounds.retain(|name, _| keeps(name));
            }
        }
    }

    /// What claims get that were allocated in this plan.
    pub fn claims(&self) -> impl Iterator<Item = (&ResourceClaimKey, &AllocatedClaim)> {
        self.claims.iter().map(|(key, claim)| (key, &**claim))
    }

    /// Drivers of the devices that were allocated on a node, over all types that it may become.
    pub fn drivers(&self, place: DevicePlaceKey) -> BTreeSet<&str> {
        let claims = self.claims.values().filter(|claim| claim.place == place);
        let devices = claims.flat_map(|claim| claim.devices.values()).flatten();
        devices.map(|device| &*device.id.driver).collect()
    }

    /// Whether any of `claims` was allocated in this plan.
    pub fn have_any(&self, claims: &[ResourceClaimKey]) -> bool {
        claims.iter().any(|key| self.claims.contains_key(key))
    }

    pub(crate) fn claim(&self, key: &ResourceClaimKey) -> Option<&AllocatedClaim> {
        self.claims.get(key).map(|claim| &**claim)
    }

    /// What a node holds if it becomes this type.
    pub(crate) fn hold(&self, place: DevicePlaceKey, name: &InstanceTypeName) -> Option<&Hold> {
        self.places.get(&place)?.by_type.get(name)
    }

    /// The node that takes a published device as a whole.
    pub(crate) fn holder(&self, device: usize) -> Option<DevicePlaceKey> {
        self.holders.get(&device).copied()
    }

    pub(crate) fn used(&self) -> &Taken {
        &self.used
    }
}

/// Counts anew what a node takes at most.
fn count(own: &mut Holds, used: &mut Rc<Taken>) {
    let used = Rc::make_mut(used);
    used.subtract(&own.most);
    own.count();
    used.add(&own.most);
}

impl AllocatedClaim {
    /// Nodes that reach its published devices, whichever type its own node becomes.
    pub(crate) fn bounds(&self) -> DeviceBounds {
        let mut bounds_of_all = DeviceBounds::default();
        for bounds in self.bounds.values() {
            bounds_of_all.add(bounds);
        }
        bounds_of_all
    }
}
