//! Onto a new claim.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/scheduler.go`, `addToNewNodeClaim`.

use std::collections::BTreeSet;

use model::{HourlyPrice, policies::MinValuesPolicy};

use super::{
    InFlightClaim, Pod, Run, Try,
    devices::Planned,
    in_flight::tolerated,
    narrow::{Target, by_alternative},
};
use crate::{
    index::{
        bits::BitSet,
        id::{DevicesId, SetId, TemplateId, kind},
    },
    scheduling::{
        launchable::{offer::Types, template::Unmet},
        topology::rules,
    },
};

/// Some of the reservations.
type Reservations = BitSet<kind::Reservation>;

/// What becomes of the reservations of a claim.
pub(super) enum Hold {
    /// It holds these; none where it can be launched without.
    These(Reservations),
    /// It has to wait for one that others hold.
    Wait,
    /// It can be launched from full ones only.
    Nowhere,
}

/// A claim that a pod may open.
pub(super) struct Opening {
    pub(super) set: SetId,
    pub(super) types: Types,
    /// Whether a `minValues` of it wants less than the pool says.
    is_relaxed: bool,
    /// The devices of the pod.
    devices: Option<DevicesId>,
}

impl Run<'_, '_> {
    /// Opens a claim of the first pool that would launch something for the pod alone.
    pub(super) fn onto_new(&mut self, pod: &Pod) -> Try {
        if !self.allows_new_host(pod) {
            return Try::Failed;
        }
        let tolerated = tolerated(self.problem, pod.constraints);
        for template in tolerated.iter() {
            match self.opens(pod, template) {
                Try::Failed => {}
                answer => return answer,
            }
        }
        Try::Failed
    }

    /// Whether the pod's rules about other pods on its node let it onto a new one.
    pub(super) fn allows_new_host(&self, pod: &Pod) -> bool {
        let problem = &*self.problem;
        let preference = problem.profiles[pod.profile].preferences.known(pod.preference);
        let allows = |rule: &rules::Rule| {
            rules::allows_new_host(rule, &problem.groups, &self.state.tallies[rule.group])
        };
        preference.is_some_and(|preference| preference.on_hosts.iter().all(allows))
    }

    fn opens(&mut self, pod: &Pod, number: TemplateId) -> Try {
        let set = self.problem.templates[number].set;
        let mut answer = Try::Failed;
        for targets in by_alternative(&self.targets(pod, set, Planned::New(number))) {
            let mut openings: Vec<Opening> =
                targets.iter().filter_map(|target| self.opening(pod, number, target)).collect();
            if 1 < openings.len() {
                let shift = self.shift(openings.len());
                openings.sort_by_cached_key(|opening| {
                    self.cheapest(number, opening.set, &opening.types).unwrap_or(HourlyPrice::MAX)
                });
                openings.rotate_left(shift);
            }
            for opening in openings {
                match self.open(pod, number, opening) {
                    Try::Placed => return Try::Placed,
                    Try::PutOff => answer = Try::PutOff,
                    Try::Failed => {}
                }
            }
        }
        answer
    }

    /// The least that a claim of `template` costs that may become any of `types`.
    pub(super) fn cheapest(
        &mut self,
        template: TemplateId,
        set: SetId,
        types: &Types,
    ) -> Option<HourlyPrice> {
        let problem = &mut *self.problem;
        let offer = &mut problem.offers[problem.templates[template].offer];
        let prices = offer.by_price(&problem.sets, set);
        prices.iter().find(|(_, id)| types.contains(*id)).map(|(price, _)| *price)
    }

    /// The types with which the pod may open the claim `target`; `None` if there are none.
    pub(super) fn opening(
        &mut self,
        pod: &Pod,
        number: TemplateId,
        target: &Target,
    ) -> Option<Opening> {
        let mut opening = self.opening_without_devices(pod, number, target.set)?;
        // As in Karpenter, `minValues` are not looked at again.
        if let Some(devices) = target.devices {
            self.keep_with_devices(number, &mut opening.types, devices);
            opening.devices = Some(devices);
        }
        (!opening.types.is_empty()).then_some(opening)
    }

    fn opening_without_devices(
        &mut self,
        pod: &Pod,
        number: TemplateId,
        set: SetId,
    ) -> Option<Opening> {
        let problem = &mut *self.problem;
        let template = &problem.templates[number];
        let mut types = template.types.clone();
        types.keep(&problem.offers[template.offer].allowed(&problem.sets, set));
        template.keep_roomy(&mut types, &problem.requests[pod.requests_id]);
        template.keep_ports(&mut types, &problem.profiles[pod.profile].spec.host_ports);
        template.keep_within_limits(&mut types, &self.state.limits[number]);
        problem.keep_affordable(&self.state.dollars, number, &mut types);
        if types.is_empty() {
            return None;
        }
        let unmet = template.unmet(&types, set, &problem.sets);
        if unmet.is_empty() {
            return Some(Opening { set, types, is_relaxed: false, devices: None });
        }
        if problem.facts.policies.min_values == MinValuesPolicy::Strict {
            return None;
        }
        let mut requirements = problem.sets.get(set);
        for Unmet { key, there, .. } in unmet {
            if let Some(requirement) = requirements.get(key.as_str()).cloned() {
                requirements.replace(requirement.with_min_values(Some(there)));
            }
        }
        let set = problem.sets.id(&requirements);
        Some(Opening { set, types, is_relaxed: true, devices: None })
    }

    pub(super) fn open(&mut self, pod: &Pod, number: TemplateId, opening: Opening) -> Try {
        let Opening { set, types, is_relaxed, devices } = opening;
        let nothing = Reservations::default();
        let held = match self.hold(number, set, &types, &nothing) {
            Hold::These(held) => held,
            Hold::Wait => return Try::PutOff,
            Hold::Nowhere => return Try::Failed,
        };
        self.problem.templates[number].count(&types, &mut self.state.limits[number]);
        self.problem.pay(&mut self.state.dollars, number, &types);
        self.exchange(&nothing, &held);
        let (requests, pods) = (self.problem.requests[pod.requests_id].clone(), vec![pod.number]);
        let in_flight = InFlightClaim {
            template: number,
            set,
            types,
            requests,
            pods,
            is_relaxed,
            held,
            device_drivers: BTreeSet::new(),
        };
        let claim = self.in_flight.push(in_flight);
        self.order.open(claim);
        self.by_template[number].insert(claim);
        self.know_set(claim);
        if self.state.devices.is_some() {
            self.take_devices(claim, devices);
        }
        self.settle(pod, claim);
        Try::Placed
    }

    /// The reservations that a claim with `set` and `types` would hold that holds `before`. It takes
    /// all that it could be launched from, because it is not known from which it will be.
    ///
    /// Karpenter: `nodeclaim.go`, `offeringsToReserve`.
    pub(super) fn hold(
        &mut self,
        template: TemplateId,
        set: SetId,
        types: &Types,
        before: &Reservations,
    ) -> Hold {
        let mut held = Reservations::default();
        if self.state.reserved.is_empty() {
            return Hold::These(held);
        }
        let problem = &mut *self.problem;
        let offer = &mut problem.offers[problem.templates[template].offer];
        let reserved = offer.reserved(set, &problem.sets);
        let (mut is_sold, mut has_capacity) = (false, false);
        for (number, _) in reserved.iter().filter(|(_, sold)| sold.meets(types)) {
            is_sold = true;
            has_capacity |= self.unreserved[*number] != 0;
            if before.contains(*number) || self.state.reserved[*number] != 0 {
                held.insert(*number);
            }
        }
        // What others hold for now may be free later. What is full stays so.
        let must_wait = held.is_empty() && (has_capacity || !before.is_empty());
        if must_wait && self.options.waits_for_reserved {
            return Hold::Wait;
        }
        let is_full = held.is_empty() && is_sold;
        if is_full && !offer.is_sold_unreserved(&problem.sets.get(set), types) {
            return Hold::Nowhere;
        }
        Hold::These(held)
    }

    /// Gives reservations back and takes others.
    pub(super) fn exchange(&mut self, before: &Reservations, now: &Reservations) {
        for number in self.state.reserved.ids() {
            let left = &mut self.state.reserved[number];
            match (before.contains(number), now.contains(number)) {
                (true, false) => *left = left.saturating_add(1),
                (false, true) => *left = left.saturating_sub(1),
                _ => {}
            }
        }
    }
}
