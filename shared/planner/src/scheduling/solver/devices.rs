//! Devices for the claims of a pod.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/nodeclaim.go` and `existingnode.go`, `CanAdd`.

use std::{mem, rc::Rc, slice};

use devices::{Allocation, DevicePlace, DevicePlaceKey};

use super::{Pod, Run};
use crate::{
    index::{
        bits::BitSet,
        id::{ClaimId, DevicesId, PlaceId, SetId, TemplateId, kind},
    },
    scheduling::{demand::constraints, launchable::offer::Types, numbers::amounts},
};

/// A node of this plan.
#[derive(Clone, Copy, Debug)]
pub(super) enum Planned {
    /// A new claim of the template.
    New(TemplateId),
    /// A claim that was opened before.
    Opened(ClaimId),
}

/// That a pod does not get the devices that it claims.
pub(super) struct DevicesMissing;

impl Run<'_, '_> {
    /// Whether the pod claims devices.
    pub(super) fn has_claims(&self, pod: &Pod) -> bool {
        !self.problem.classes[pod.class].claims.is_empty()
    }

    /// What the devices of the pod leave of `set` on a node of this plan, and the devices; `None` where it gets none.
    /// They are sought among the types that have room for it, so that no other type has a say in which nodes do.
    pub(super) fn with_devices(
        &mut self,
        pod: &Pod,
        set: SetId,
        node: Planned,
    ) -> Option<(SetId, DevicesId)> {
        let problem = &mut *self.problem;
        let (number, claim) = match node {
            Planned::New(template) => (template, None),
            Planned::Opened(claim) => (self.in_flight[claim].template, Some(claim)),
        };
        let template = &problem.templates[number];
        let offer = &mut problem.offers[template.offer];
        let mut need = problem.requests[pod.requests_id].clone();
        let mut types = match claim.map(|claim| &self.in_flight[claim]) {
            Some(in_flight) => {
                amounts::add(&mut need, &in_flight.requests);
                in_flight.types.clone()
            }
            None => template.types.clone(),
        };
        types.keep(&offer.allowed(&problem.sets, set));
        template.keep_roomy(&mut types, &need);
        template.keep_ports(&mut types, &problem.profiles[pod.profile].spec.host_ports);
        if claim.is_none() {
            template.keep_within_limits(&mut types, &self.state.limits[number]);
        }
        let names = offer.names(&types);
        let requirements = problem.sets.get(set);
        let place = DevicePlace {
            key: key(claim.unwrap_or_else(|| self.in_flight.next_id())),
            node: None,
            node_pool: template.name(),
            requirements: &requirements,
            types: &names,
            has_templates: true,
        };
        let claims = &problem.classes[pod.class].claims;
        let (devices, taken) = problem.devices.as_ref().zip(self.state.devices.as_ref())?;
        let allocation = devices.devices.allocate(&taken.allocations, &place, claims).ok()?;
        let asked = constraints::of_new(&allocation.requirements, &mut problem.sets);
        let joined = problem.sets.join(set, asked.set).filter(|_| asked.is_possible)?;
        Some((joined, self.found.push(Rc::new(allocation))))
    }

    /// Of `types` of the template those that have `devices`.
    pub(super) fn keep_with_devices(
        &self,
        number: TemplateId,
        types: &mut Types,
        devices: DevicesId,
    ) {
        if let Some(allocation) = self.found.known(devices) {
            let offer = &self.problem.offers[self.problem.templates[number].offer];
            let mut having = Types::empty(offer.index.types.len());
            having.extend(offer.named(&allocation.types));
            types.keep(&having);
        }
    }

    /// The devices that the pod gets on existing capacity, `None` if it claims none.
    pub(super) fn devices_at(
        &mut self,
        pod: &Pod,
        place: PlaceId,
    ) -> Result<Option<Allocation>, DevicesMissing> {
        if !self.has_claims(pod) {
            return Ok(None);
        }
        let known = self.problem.devices.as_ref().zip(self.state.devices.as_mut());
        let host = self.problem.device_hosts.known(place);
        let ((known, taken), host) = known.zip(host).ok_or(DevicesMissing)?;
        let claims = &self.problem.classes[pod.class].claims;
        let (state, there) = (&taken.allocations, host.place(place));
        let refusal = match known.devices.allocate(state, &there, claims) {
            Ok(allocation) if host.has(&allocation) => return Ok(Some(allocation)),
            Ok(_) => return Err(DevicesMissing),
            Err(refusal) => refusal,
        };
        if !state.have_any(claims)
            && let Some(asked) = known.devices.asked(claims)
            && known.devices.is_final(state, &there, &refusal)
        {
            let nowhere = || Rc::new(BitSet::empty(self.problem.supply.existing.len()));
            Rc::make_mut(taken.short.entry(asked).or_insert_with(nowhere)).insert(place);
        }
        Err(DevicesMissing)
    }

    /// Existing capacity that has no devices for the pod, as far as others that claim the same found out.
    pub(super) fn short_of_devices(&self, pod: &Pod) -> Option<&BitSet<kind::Place>> {
        let claims = &self.problem.classes[pod.class].claims;
        let (known, taken) = self.problem.devices.as_ref().zip(self.state.devices.as_ref())?;
        if claims.is_empty() || taken.short.is_empty() || taken.allocations.have_any(claims) {
            return None;
        }
        taken.short.get(&known.devices.asked(claims)?).map(|places| &**places)
    }

    /// Takes devices on a claim of this plan, and gives back those of types that it can no longer become.
    pub(super) fn take_devices(&mut self, claim: ClaimId, devices: Option<DevicesId>) {
        let Some(taken) = &mut self.state.devices else { return };
        let state = &mut taken.allocations;
        let allocations = mem::take(&mut self.found);
        if let Some(allocation) = devices.and_then(|id| allocations.known(id).cloned()) {
            drop(allocations);
            state.commit(Rc::unwrap_or_clone(allocation));
        }
        let in_flight = &self.in_flight[claim];
        let offer = &self.problem.offers[self.problem.templates[in_flight.template].offer];
        state.keep_types(key(claim), |name| {
            offer.named(slice::from_ref(name)).iter().any(|id| in_flight.types.contains(*id))
        });
    }

    /// Has each claim of this plan know the drivers of its devices.
    pub(super) fn name_drivers(&mut self) {
        let Some(taken) = &self.state.devices else { return };
        for (place, in_flight) in self.in_flight.iter_mut().enumerate() {
            let drivers = taken.allocations.drivers(key(ClaimId::at(place)));
            in_flight.device_drivers = drivers.into_iter().map(str::to_owned).collect();
        }
    }
}

fn key(claim: ClaimId) -> DevicePlaceKey {
    DevicePlaceKey::New(claim.place())
}
