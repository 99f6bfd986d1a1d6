//! Onto what is there or coming.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/existingnode.go`, `CanAdd`.

use std::rc::Rc;

use devices::Allocation;
use model::{plan::Target, taint};

use super::{Pod, Run};
use crate::{
    index::{
        bits::BitSet,
        id::{ConstraintsId, PlaceId, PortId, kind},
    },
    scheduling::{
        demand::Why,
        facts::volume::{self, Attachments},
        numbers::amounts,
        problem::{self, Problem},
        supply::Kind,
        topology::rules::{self, Choice},
    },
};

/// Some of the existing capacity.
type Places = BitSet<kind::Place>;

impl Run<'_, '_> {
    /// Puts the pod onto the first existing capacity that takes it, or onto the one that has most room for it.
    pub(super) fn onto_existing(&mut self, pod: &Pod) -> bool {
        if self.problem.supply.existing.is_empty() {
            return false;
        }
        let mut candidates = std::mem::take(&mut self.places);
        self.existing_candidates(pod, &mut candidates);
        let mut from = PlaceId::default();
        let mut best: Option<(i64, PlaceId, Option<Allocation>)> = None;
        while let Some(place) = candidates.first_from(from) {
            from = place.next();
            if !amounts::fits(&self.problem.requests[pod.requests_id], self.state.room(place)) {
                Rc::make_mut(&mut self.state.full[pod.requests_id]).insert(place);
            } else if self.takes_volumes(pod, place)
                && let Ok(devices) = self.devices_at(pod, place)
            {
                let share = if self.options.is_scattered { self.share_left(pod, place) } else { 0 };
                if best.as_ref().is_none_or(|(most, ..)| *most < share) {
                    best = Some((share, place, devices));
                }
                if !self.options.is_scattered {
                    break;
                }
            }
        }
        self.places = candidates;
        let is_found = best.is_some();
        if let Some((_, place, devices)) = best {
            self.put_onto_existing(pod, place, devices);
        }
        is_found
    }

    /// How much of CPU and memory is left with the pod there: both shares, in thousandths, added up.
    ///
    /// kube-scheduler: `pkg/scheduler/framework/plugins/noderesources/least_allocated.go`, whose weights are one each
    /// unless its configuration sets others.
    fn share_left(&self, pod: &Pod, place: PlaceId) -> i64 {
        let problem = &*self.problem;
        let Some((_, whole)) = &problem.supply.existing[place].counts else { return 0 };
        let need = &problem.requests[pod.requests_id];
        let rooms = self.state.room(place).iter().zip(need.iter());
        let shares = problem.resources.names().iter().zip(rooms).map(|(name, (room, need))| {
            let whole = match name.as_str() {
                "cpu" => whole.cpu.0,
                "memory" => whole.memory.0,
                _ => return 0,
            };
            let whole = i64::try_from(whole).unwrap_or(i64::MAX).max(1);
            room.saturating_sub(*need).saturating_mul(1_000) / whole
        });
        shares.sum()
    }

    /// Puts the pod onto one existing capacity, if that takes it.
    pub(super) fn onto(&mut self, pod: &Pod, place: PlaceId) -> bool {
        let mut candidates = std::mem::take(&mut self.places);
        self.existing_candidates(pod, &mut candidates);
        let is_open = candidates.contains(place)
            && amounts::fits(&self.problem.requests[pod.requests_id], self.state.room(place))
            && self.takes_volumes(pod, place);
        self.places = candidates;
        let Some(Ok(devices)) = is_open.then(|| self.devices_at(pod, place)) else { return false };
        self.put_onto_existing(pod, place, devices);
        true
    }

    /// All existing capacity that would take the pod but for its room and the pod's volumes.
    fn existing_candidates(&mut self, pod: &Pod, candidates: &mut Places) {
        candidates.copy_from(&accepting(self.problem, pod.constraints));
        candidates.keep(&self.state.active);
        candidates.subtract(&self.state.full[pod.requests_id]);
        if let Some(places) = self.short_of_devices(pod) {
            candidates.subtract(places);
        }
        let problem = &*self.problem;
        let profile = &problem.profiles[pod.profile];
        for port in &profile.ports {
            candidates.subtract(&self.state.ports[*port]);
        }
        for rule in profile
            .preferences
            .known(pod.preference)
            .iter()
            .flat_map(|preference| &preference.on_hosts)
        {
            let tally = &self.state.tallies[rule.group];
            rules::keep_hosts(rule, &problem.groups, tally, |tally| &tally.existing, candidates);
        }
        let wanted = &problem.demand.pods[pod.number];
        let is_moved = !wanted.is_pending && matches!(wanted.why, Why::Supposed | Why::Held);
        if let Some(now) = self.options.settles_at.filter(|_| is_moved) {
            for (place, until) in &problem.supply.settling {
                if now < *until {
                    candidates.remove(*place);
                }
            }
        }
        for allowed in &pod.allowed {
            let by_domain = &problem.hosts.by_key[allowed.key];
            self.allowed_places.clear();
            for domain in allowed.domains.iter() {
                if let Some(hosts) = by_domain.at.known(domain) {
                    self.allowed_places.add(hosts);
                }
            }
            for (place, domains) in &by_domain.undecided {
                // Wherever it comes to be, it must be right. A spread counts a pod only where it is
                // certain to be, and would let the next one join it.
                if allowed.choice == Choice::All && domains.is_within(&allowed.domains) {
                    self.allowed_places.insert(*place);
                }
            }
            if allowed.choice == Choice::Apart {
                self.allowed_places.add(&by_domain.without);
            }
            candidates.keep(&self.allowed_places);
        }
    }

    fn takes_volumes(&self, pod: &Pod, place: PlaceId) -> bool {
        let problem = &*self.problem;
        let wanted = &problem.demand.pods[pod.number];
        let Some(attachments) = &wanted.attachments else { return false };
        let existing = &problem.supply.existing[place];
        let kind = &problem.supply.kinds[existing.kind];
        let mut alternatives = problem.classes[pod.class].alternatives.iter();
        alternatives.any(|requirements| kind.accepts(requirements))
            && (attachments.is_empty() || self.attaches(attachments, place, &existing.target))
    }

    fn attaches(&self, attachments: &Attachments, place: PlaceId, target: &Target) -> bool {
        let Target::Node(name) = target else { return true };
        let storage = &self.problem.facts.surroundings.storage;
        let Some(limits) = storage.attach_limits.get(name) else { return true };
        let nothing = Attachments::new();
        let there = self
            .state
            .attached
            .get(&place)
            .map_or(&nothing, |volume_claim_keys| &**volume_claim_keys);
        volume::can_attach(limits, there, attachments)
    }

    fn put_onto_existing(&mut self, pod: &Pod, place: PlaceId, devices: Option<Allocation>) {
        if let Some((taken, allocation)) = self.state.devices.as_mut().zip(devices) {
            taken.allocations.commit(allocation);
        }
        self.state.take(place, &self.problem.requests[pod.requests_id]);
        self.placed.entry(place).or_default().push(pod.number);
        let attachments = self.problem.demand.pods[pod.number].attachments.as_ref();
        if let Some(attachments) =
            attachments.filter(|volume_claim_keys| !volume_claim_keys.is_empty())
        {
            let there = self.state.attached.entry(place).or_default();
            problem::attach(there, attachments);
        }
        for port in self.conflicting(&self.problem.profiles[pod.profile].ports) {
            Rc::make_mut(&mut self.state.ports[port]).insert(place);
        }
        self.record_existing(pod, place);
    }

    /// The ports that are taken with `ports`.
    pub(super) fn conflicting(&self, ports: &[PortId]) -> Vec<PortId> {
        let entries = self.problem.ports.entries();
        let is_taken = |host_port: &model::pod::HostPort| {
            ports.iter().any(|port| self.problem.ports[*port].conflicts(host_port))
        };
        if ports.is_empty() {
            return Vec::new();
        }
        entries.filter(|(_, host_port)| is_taken(host_port)).map(|(number, _)| number).collect()
    }
}

/// The existing capacity that takes pods of some constraints, room aside.
fn accepting(problem: &mut Problem<'_>, constraints: ConstraintsId) -> Rc<Places> {
    let preference = &mut problem.constraints.all[constraints];
    if let Some(known) = &preference.existing {
        return Rc::clone(known);
    }
    let accepts = |kind: &Kind| {
        taint::untolerated(kind.taints(), &preference.tolerations).is_empty()
            && kind.accepts(&preference.wanted)
    };
    let kinds = problem.supply.kinds.map(accepts);
    let existing = &problem.supply.existing;
    let ids = Rc::new(Places::of(existing.len(), |place| kinds[existing[place].kind]));
    preference.existing = Some(Rc::clone(&ids));
    ids
}
