//! Onto a new claim.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/scheduler.go`, `addToNewNodeClaim`.

use std::rc::Rc;

use model::policies::MinValuesPolicy;

use super::{InFlightClaim, Options, Pod, Run, Try, in_flight::tolerated};
use crate::{
    index::{
        bits::BitSet,
        id::{SetId, TemplateId, kind},
    },
    scheduling::{
        launchable::{
            offer::{Reserved, Types},
            template::Minimums,
        },
        state::State,
        topology::rules,
    },
};

/// Some of the reservations.
type Reservations = BitSet<kind::Reservation>;

impl Run<'_, '_> {
    /// Opens a claim of the first pool that would launch something for the pod alone.
    pub(super) fn onto_new(&mut self, pod: &Pod) -> Try {
        let tolerated = tolerated(self.problem, pod.constraints);
        let problem = &*self.problem;
        let preference = problem.classes[pod.class].preferences.known(pod.preference);
        let allows = |rule: &rules::Rule| {
            rules::allows_new_host(rule, &problem.groups, &self.state.tallies[rule.group])
        };
        if !preference.is_some_and(|preference| preference.on_hosts.iter().all(allows)) {
            return Try::Failed;
        }
        for template in tolerated.iter() {
            match self.opens(pod, template) {
                Try::Failed => {}
                answer => return answer,
            }
        }
        Try::Failed
    }

    fn opens(&mut self, pod: &Pod, number: TemplateId) -> Try {
        let set = self.problem.templates[number].set;
        let mut answer = Try::Failed;
        for target in self.targets(pod, set) {
            match self.opens_with(pod, number, target) {
                Try::Placed => return Try::Placed,
                other => answer = other,
            }
        }
        answer
    }

    fn opens_with(&mut self, pod: &Pod, number: TemplateId, mut set: SetId) -> Try {
        let problem = &mut *self.problem;
        let template = &problem.templates[number];
        let offer = &mut problem.offers[template.offer];
        let requests = &problem.requests[pod.requests_id];
        let mut types = template.types.clone();
        types.keep(&offer.allowed(&problem.sets, set));
        template.keep_roomy(&mut types, requests);
        template.keep_ports(&mut types, &problem.classes[pod.class].spec.host_ports);
        template.keep_within_limits(&mut types, &self.state.limits[number]);
        if types.is_empty() {
            return Try::Failed;
        }
        let mut minimums = template.minimums();
        let unmet = template.unmet(&types, &minimums);
        let is_relaxed = !unmet.is_empty();
        if is_relaxed {
            if problem.facts.policies.min_values == MinValuesPolicy::Strict {
                return Try::Failed;
            }
            let mut requirements = problem.sets.get(set);
            let mut lowered = Minimums::clone(&minimums);
            for (key, minimum, there) in unmet {
                lowered[minimum] = there;
                if let Some(requirement) = requirements.get(key.as_str()).cloned() {
                    requirements.replace(requirement.with_min_values(Some(there)));
                }
            }
            set = problem.sets.id(&requirements);
            minimums = Rc::new(lowered);
        }
        let reserved = offer.reserved(set, &problem.sets);
        let nothing = Reservations::default();
        let Some(held) = held(&self.state, &self.options, &reserved, &types, &nothing) else {
            return Try::PutOff;
        };
        template.count(&types, &mut self.state.limits[number]);
        self.exchange(&nothing, &held);
        let (requests, pods) = (self.problem.requests[pod.requests_id].clone(), vec![pod.number]);
        let in_flight = InFlightClaim {
            template: number,
            set,
            types,
            requests,
            pods,
            minimums,
            is_relaxed,
            held,
        };
        let claim = self.in_flight.push(in_flight);
        self.order.open(claim);
        self.by_template[number].insert(claim);
        self.know_set(claim);
        self.settle(pod, claim);
        Try::Placed
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

/// The reservations that a claim with `types` would hold, or `None` if it must wait for one. It
/// takes all that it could be launched from, for nobody knows from which it will be.
///
/// Karpenter: `nodeclaim.go`, `offeringsToReserve`.
pub(super) fn held(
    state: &State,
    options: &Options,
    reserved: &Reserved,
    types: &Types,
    before: &Reservations,
) -> Option<Reservations> {
    let mut held = Reservations::default();
    let mut is_possible = false;
    for (number, _) in reserved.iter().filter(|(_, sold)| sold.meets(types)) {
        is_possible = true;
        let is_left = state.reserved.known(*number).is_some_and(|left| 0 < *left);
        if before.contains(*number) || is_left {
            held.insert(*number);
        }
    }
    let must_wait = held.is_empty() && (is_possible || !before.is_empty());
    (!must_wait || !options.waits_for_reserved).then_some(held)
}
