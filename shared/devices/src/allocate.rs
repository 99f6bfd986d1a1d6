//! Which devices the claims of a pod get on one node.
//!
//! Karpenter: `Allocate` of `pkg/scheduling/dynamicresources/allocator.go`.

use std::collections::BTreeMap;

use model::{
    InstanceTypeName, NodeName, NodePoolName, Requirements, dynamic_resources::ResourceClaimKey,
};

use crate::{
    bounds::DeviceBounds,
    hold::Hold,
    pass::Devices,
    refusal::DeviceRefusal,
    requests::{Templates, Wanted},
    search::{Found, Search},
    state::{AllocatedClaim, AllocatedDevice, Allocations, DevicePlaceKey},
};

/// A node that a pod may go onto.
#[derive(Clone, Copy, Debug)]
pub struct DevicePlace<'p> {
    /// Which one.
    pub key: DevicePlaceKey,
    /// The node's name, if there is a node.
    pub node: Option<&'p NodeName>,
    /// Its NodePool.
    pub node_pool: &'p NodePoolName,
    /// Labels of a node; requirements of a NodeClaim, with those of the pod and its volumes added.
    pub requirements: &'p Requirements,
    /// What it may become, in order; of a node the one type that it is.
    pub types: &'p [InstanceTypeName],
    /// Whether templates stand for its devices: false for an initialized node.
    pub has_templates: bool,
}

/// Devices for all claims of a pod on one node.
#[derive(Clone, Debug)]
pub struct Allocation {
    pub(crate) place: DevicePlaceKey,
    pub(crate) holds: BTreeMap<InstanceTypeName, Hold>,
    pub(crate) claims: BTreeMap<ResourceClaimKey, AllocatedClaim>,
    /// The types with which the pod gets all devices, in order.
    pub types: Vec<InstanceTypeName>,
    /// What its devices ask of the node. To be added to a NodeClaim's requirements.
    pub requirements: Requirements,
    /// Whether the search ended before it tried all types: others may do as well.
    pub is_cut: bool,
}

impl Allocation {
    /// Claims that are allocated by it, and not before.
    pub fn claims(&self) -> &BTreeMap<ResourceClaimKey, AllocatedClaim> {
        &self.claims
    }
}

/// What claims that have devices already ask of a node.
struct Classified {
    /// Claims without devices.
    open: Vec<usize>,
    /// The node's requirements with those of devices.
    tightened: Requirements,
    /// Those of devices alone.
    added: Requirements,
}

impl Devices<'_> {
    /// Finds devices for all of `claims` of a pod on `place`. Nothing changes before [`Allocations::commit`].
    pub fn allocate(
        &self,
        state: &Allocations,
        place: &DevicePlace<'_>,
        claims: &[ResourceClaimKey],
    ) -> Result<Allocation, DeviceRefusal> {
        let Classified { open, tightened, added } = self.classify(state, place, claims)?;
        let nothing = Allocation {
            place: place.key,
            holds: BTreeMap::new(),
            claims: BTreeMap::new(),
            types: place.types.to_vec(),
            requirements: added,
            is_cut: false,
        };
        if open.is_empty() {
            return Ok(nothing);
        }
        let view = self.view(&state.start, (&tightened, place.node));
        let mut templates = Templates::new();
        for instance_type in place.types.iter().filter(|_| place.has_templates) {
            if let Some(outfit) = self.outfit(place.node_pool, instance_type) {
                templates.insert(instance_type, &outfit.entries);
            }
        }
        let mut wanted = Vec::with_capacity(open.len());
        for number in open {
            let Some((claim, prepared)) = self.claim(number).zip(self.prepared(number)) else {
                continue;
            };
            let faulty = |fault| {
                let (claim, fault) = (claim.key.clone(), Box::new(fault));
                DeviceRefusal::Claim { claim, fault }
            };
            let prepared = prepared.as_ref().map_err(|fault| faulty(fault.clone()))?;
            let checked = Wanted::new(prepared, &view, &templates, &self.selectors);
            wanted.push(checked.map_err(faulty)?);
        }
        let search = Search::new((self, state, place), &wanted, &view, tightened);
        over_types(search, place, nothing)
    }

    /// Karpenter: `ClassifyClaims`.
    fn classify(
        &self,
        state: &Allocations,
        place: &DevicePlace<'_>,
        claims: &[ResourceClaimKey],
    ) -> Result<Classified, DeviceRefusal> {
        let (tightened, added) = (place.requirements.clone(), Requirements::new());
        let mut classified = Classified { open: Vec::new(), tightened, added };
        for key in claims {
            let numbered = self.number(key).and_then(|number| Some((number, self.claim(number)?)));
            let (number, claim) =
                numbered.ok_or_else(|| DeviceRefusal::ClaimNotFound(key.clone()))?;
            let is_freed = state.start.freed.contains(&number);
            let bounds = match (&claim.allocation, state.claim(key)) {
                (Some(allocation), _) if !is_freed => {
                    allocation.selector.as_ref().map(DeviceBounds::of_selector)
                }
                (_, Some(planned)) if planned.is_local && planned.place == place.key => None,
                (_, Some(planned)) if planned.is_local => {
                    return Err(DeviceRefusal::OnAnotherNode(key.clone()));
                }
                (_, Some(planned)) => Some(planned.bounds()),
                (_, None) => {
                    if !classified.open.contains(&number) {
                        classified.open.push(number);
                    }
                    continue;
                }
            };
            let Some(bounds) = bounds else { continue };
            if !bounds.allow(&classified.tightened, place.node) {
                return Err(DeviceRefusal::OutOfReach(key.clone()));
            }
            classified.tightened.add_all(&bounds.requirements);
            classified.added.add_all(&bounds.requirements);
        }
        Ok(classified)
    }
}

/// Searches once for each type: what one type's devices ask of the node, they ask of it as every type.
fn over_types<'s>(
    mut search: Search<'s>,
    place: &'s DevicePlace<'s>,
    mut allocation: Allocation,
) -> Result<Allocation, DeviceRefusal> {
    allocation.types = Vec::new();
    for instance_type in place.types {
        match search.search(instance_type) {
            Found::Nothing => {}
            Found::TriesSpent => {
                allocation.is_cut = true;
                break;
            }
            Found::All => {
                allocation.types.push(instance_type.clone());
                for (claim, device, bounds) in search.devices() {
                    note(&mut allocation, claim, instance_type, (device, bounds));
                }
                allocation.holds.insert(instance_type.clone(), search.take_hold());
            }
        }
    }
    if !allocation.types.is_empty() {
        return Ok(allocation);
    }
    if allocation.is_cut {
        return Err(DeviceRefusal::TriesSpent);
    }
    Err(search.shortage().map_or(DeviceRefusal::NoInstanceType, DeviceRefusal::Shortage))
}

fn note(
    allocation: &mut Allocation,
    claim: &ResourceClaimKey,
    instance_type: &InstanceTypeName,
    (device, bounds): (AllocatedDevice, Option<&DeviceBounds>),
) {
    let place = allocation.place;
    let claim = allocation.claims.entry(claim.clone()).or_insert_with(|| AllocatedClaim {
        place,
        devices: BTreeMap::new(),
        bounds: BTreeMap::new(),
        is_local: false,
    });
    claim.is_local |= device.is_template;
    claim.devices.entry(instance_type.clone()).or_default().push(device);
    if let Some(bounds) = bounds {
        claim.bounds.entry(instance_type.clone()).or_default().add(bounds);
        allocation.requirements.add_all(&bounds.requirements);
    }
}
