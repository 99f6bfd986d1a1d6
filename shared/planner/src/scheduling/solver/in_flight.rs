//! Onto a claim that this plan opened before.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/nodeclaim.go`, `CanAdd`.

use std::rc::Rc;

use model::taint;

use super::{
    Claims, Pod, Run,
    devices::Planned,
    fresh::Hold,
    narrow::{Target, by_alternative},
};
use crate::{
    index::{
        bits::BitSet,
        id::{ClaimId, ConstraintsId, DevicesId, SetId, kind},
    },
    scheduling::{
        launchable::offer::Types,
        numbers::{amounts, domains::Left},
        problem::Problem,
        topology::{rules, tally::Host},
    },
};

/// Whether a claim takes a pod.
pub(super) enum Answer {
    Yes(Joined),
    /// Not with what the pod's rules allow now.
    NotNow,
    /// Never.
    Never,
    /// Never, nor any other pod with the same requests.
    Full,
}

/// A claim with one more pod; its types are in `Run::roomy`, its requests in `Run::need`.
pub(super) struct Joined {
    pub(super) set: SetId,
    held: BitSet<kind::Reservation>,
    devices: Option<DevicesId>,
}

impl Run<'_, '_> {
    /// Puts the pod onto the claim with the fewest pods that takes it.
    pub(super) fn onto_in_flight(&mut self, pod: &Pod) -> bool {
        if self.in_flight.is_empty() {
            return false;
        }
        let mut candidates = std::mem::take(&mut self.claims);
        self.in_flight_candidates(pod, &mut candidates);
        // What devices it gets depends on those that the claim has.
        let has_claims = self.has_claims(pod);
        let mut asked: Vec<(SetId, Vec<Target>)> = Vec::with_capacity(1);
        let mut entry = None;
        while let Some(claim) = self.order.first(&candidates) {
            let set = self.in_flight[claim].set;
            if has_claims {
                asked.clear();
            }
            let known = asked.iter().position(|(own, _)| *own == set);
            let place = known.unwrap_or_else(|| {
                asked.push((set, self.targets(pod, set, Planned::Opened(claim))));
                asked.len() - 1
            });
            let targets =
                asked.get(place).map(|(_, targets)| targets.as_slice()).unwrap_or_default();
            if targets.is_empty() && !has_claims {
                if let Some(claims) = self.by_set.get(&set) {
                    candidates.subtract(claims);
                    self.remember_refusal(pod, set);
                }
                continue;
            }
            match self.joins(pod, claim, targets) {
                Answer::Yes(joined) => {
                    entry = Some((claim, joined));
                    break;
                }
                Answer::NotNow => {}
                Answer::Never => {
                    self.refused
                        .entry((pod.constraints, pod.requests_id))
                        .or_default()
                        .insert(claim);
                }
                Answer::Full => self.full[pod.requests_id].insert(claim),
            }
            candidates.remove(claim);
        }
        self.claims = candidates;
        let is_found = entry.is_some();
        if let Some((claim, joined)) = entry {
            self.join(pod, claim, joined);
        }
        is_found
    }

    /// All claims but those of which it is known at a glance that they do not take the pod.
    pub(super) fn in_flight_candidates(&mut self, pod: &Pod, candidates: &mut Claims) {
        let constraints = pod.constraints;
        let tolerated = tolerated(self.problem, constraints);
        let problem = &*self.problem;
        candidates.clear();
        for template in tolerated.iter() {
            candidates.add(&self.by_template[template]);
        }
        candidates.subtract(&self.full[pod.requests_id]);
        if let Some(refused) = self.refused.get(&(constraints, pod.requests_id)) {
            candidates.subtract(refused);
        }
        let profile = &problem.profiles[pod.profile];
        for port in &profile.ports {
            candidates.subtract(&self.ports[*port]);
        }
        for rule in profile
            .preferences
            .known(pod.preference)
            .iter()
            .flat_map(|preference| &preference.on_hosts)
        {
            let tally = &self.state.tallies[rule.group];
            rules::keep_hosts(rule, &problem.groups, tally, |tally| &tally.in_flight, candidates);
        }
        for allowed in &pod.allowed {
            for (domain, claims) in self.by_domain[allowed.key].entries() {
                if !allowed.domains.contains(domain) {
                    candidates.subtract(claims);
                }
            }
        }
    }

    /// Claims whose requirements contradict the pod's own will always do so.
    fn remember_refusal(&mut self, pod: &Pod, set: SetId) {
        let preference = self.problem.constraints.all[pod.constraints].new;
        let is_final =
            !preference.is_possible || self.problem.sets.join(set, preference.set).is_none();
        if let Some(claims) = self.by_set.get(&set).filter(|_| is_final) {
            self.refused.entry((pod.constraints, pod.requests_id)).or_default().add(claims);
        }
    }

    /// Whether some instance type of the claim still takes all of its pods and this one.
    pub(super) fn joins(&mut self, pod: &Pod, number: ClaimId, targets: &[Target]) -> Answer {
        if targets.is_empty() {
            return Answer::NotNow;
        }
        let problem = &mut *self.problem;
        let claim = &self.in_flight[number];
        let template = &problem.templates[claim.template];
        self.need.clear();
        self.need.extend_from_slice(&claim.requests);
        amounts::add(&mut self.need, &problem.requests[pod.requests_id]);
        if !problem.shares.allow(claim.template, &self.need) {
            return Answer::Full;
        }
        let mut roomy = std::mem::take(&mut self.roomy);
        roomy.copy_from(&claim.types);
        template.keep_roomy(&mut roomy, &self.need);
        if roomy.is_empty() {
            self.roomy = roomy;
            return Answer::Full;
        }
        template.keep_ports(&mut roomy, &problem.profiles[pod.profile].spec.host_ports);
        let joined =
            by_alternative(targets).find_map(|targets| self.joined(number, &roomy, targets));
        if let Some((joined, types)) = joined {
            self.roomy = types;
            self.narrowed = roomy;
            return Answer::Yes(joined);
        }
        self.roomy = roomy;
        let problem = &*self.problem;
        let class = &problem.classes[pod.class];
        // Every pod with these constraints and these requests fails here, unless it was a rule, a
        // volume, a device, a port or a missing reservation that narrowed the types.
        let is_plain = problem.profiles[pod.profile].ports.is_empty()
            && class.alternatives.iter().all(model::Requirements::is_empty)
            && class.claims.is_empty()
            && problem.reservations.left.is_empty();
        if pod.allowed.is_empty() && is_plain { Answer::Never } else { Answer::NotNow }
    }

    /// What the claim becomes with one of `targets` that goes, as ties are broken, and the types that are
    /// left of `roomy`.
    fn joined(
        &mut self,
        number: ClaimId,
        roomy: &Types,
        targets: &[Target],
    ) -> Option<(Joined, Types)> {
        if let [target] = targets {
            return self.narrowed(number, roomy, target);
        }
        let template = self.in_flight[number].template;
        let goes = targets.iter().filter_map(|target| {
            let (joined, types) = self.narrowed(number, roomy, target)?;
            let price = self.cheapest(template, target.set, &types);
            Some((price.is_none(), price, joined, types))
        });
        let mut goes: Vec<_> = goes.collect();
        if 1 < goes.len() {
            let shift = self.shift(goes.len());
            goes.sort_by_key(|(is_dear, price, ..)| (*is_dear, *price));
            goes.rotate_left(shift);
        }
        goes.into_iter().next().map(|(_, _, joined, types)| (joined, types))
    }

    /// What the claim becomes as `target` says, and the types that are left of `roomy`.
    fn narrowed(
        &mut self,
        number: ClaimId,
        roomy: &Types,
        target: &Target,
    ) -> Option<(Joined, Types)> {
        let set = target.set;
        let mut types = std::mem::take(&mut self.narrowed);
        types.copy_from(roomy);
        let problem = &mut *self.problem;
        let claim = &self.in_flight[number];
        let template = &problem.templates[claim.template];
        if set != claim.set {
            types.keep(&problem.offers[template.offer].allowed(&problem.sets, set));
        }
        if types.is_empty() || !template.unmet(&types, set, &problem.sets).is_empty() {
            self.narrowed = types;
            return None;
        }
        let (template, before) = (claim.template, claim.held.clone());
        if let Some(devices) = target.devices {
            self.keep_with_devices(template, &mut types, devices);
            if types.is_empty() {
                self.narrowed = types;
                return None;
            }
        }
        match self.hold(template, set, &types, &before) {
            Hold::These(held) => Some((Joined { set, held, devices: target.devices }, types)),
            Hold::Wait | Hold::Nowhere => None,
        }
    }

    pub(super) fn join(&mut self, pod: &Pod, number: ClaimId, joined: Joined) {
        let claim = &mut self.in_flight[number];
        let before = claim.set;
        claim.set = joined.set;
        claim.requests.copy_from_slice(&self.need);
        claim.types.copy_from(&self.roomy);
        claim.pods.push(pod.number);
        let held = std::mem::replace(&mut claim.held, joined.held);
        let now = claim.held.clone();
        self.exchange(&held, &now);
        self.order.grow(number);
        if before != self.in_flight[number].set {
            if let Some(claims) = self.by_set.get_mut(&before) {
                claims.remove(number);
            }
            self.know_set(number);
        }
        if self.state.devices.is_some() {
            self.take_devices(number, joined.devices);
        }
        self.settle(pod, number);
    }

    /// Notes where a claim belongs by its requirements.
    pub(super) fn know_set(&mut self, number: ClaimId) {
        let set = self.in_flight[number].set;
        self.by_set.entry(set).or_default().insert(number);
        let left = self.problem.keys.left(set, &self.problem.sets);
        for (by_domain, left) in self.by_domain.iter_mut().zip(left.iter()) {
            if let Left::One(domain) = left {
                by_domain.grow(*domain, Claims::default);
                by_domain[*domain].insert(number);
            }
        }
    }

    /// What every pod changes on its claim.
    pub(super) fn settle(&mut self, pod: &Pod, number: ClaimId) {
        for port in self.conflicting(&self.problem.profiles[pod.profile].ports) {
            self.ports[port].insert(number);
        }
        self.record(pod, Host::Opened(number));
    }
}

/// The templates whose taints the constraints tolerate.
pub(super) fn tolerated(
    problem: &mut Problem<'_>,
    constraints: ConstraintsId,
) -> Rc<BitSet<kind::Template>> {
    let preference = &mut problem.constraints.all[constraints];
    let templates = &problem.templates;
    let known = preference.tolerates.get_or_insert_with(|| {
        Rc::new(BitSet::of(templates.len(), |template| {
            let taints = &templates[template].pool.template.taints;
            taint::untolerated(taints, &preference.tolerations).is_empty()
        }))
    });
    Rc::clone(known)
}
