//! Counts a pod where it was placed.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/topology.go`, `Record`.

use std::rc::Rc;

use super::{Pod, Run};
use crate::index::id::PlaceId;
use crate::scheduling::{
    numbers::domains::Left,
    topology::{groups::Purpose, tally::Host},
};

impl Run<'_, '_> {
    /// Counts the pod on a claim of this plan. Where its domain is still open, it counts in all that
    /// are left, or in none, by what the group is for.
    pub(super) fn record(&mut self, pod: &Pod, host: Host) {
        let footprint = Rc::clone(&self.problem.profiles[pod.profile].footprint);
        if footprint.counted.is_empty() && footprint.carried.is_empty() {
            return;
        }
        let Host::Opened(number) = host else { return };
        let (template, set) = (self.in_flight[number].template, self.in_flight[number].set);
        let left = self.problem.keys.left(set, &self.problem.sets);
        for group in footprint.counted.iter().chain(&footprint.carried) {
            if !self.problem.is_counted(*group, template, set) {
                continue;
            }
            let definition = &self.problem.groups.all[*group];
            let tally = Rc::make_mut(&mut self.state.tallies[*group]);
            let Some(key) = definition.key else {
                tally.add_host(definition, host);
                continue;
            };
            let is_anti = matches!(definition.purpose, Purpose::AntiAffinity | Purpose::Inverse);
            match left.known(key) {
                Some(Left::One(domain)) => tally.add(*domain),
                Some(Left::Some(domains, true)) if is_anti => {
                    domains.iter().for_each(|domain| tally.add(domain));
                }
                _ => {}
            }
        }
    }

    /// Counts the pod on existing capacity.
    pub(super) fn record_existing(&mut self, pod: &Pod, place: PlaceId) {
        let footprint = Rc::clone(&self.problem.profiles[pod.profile].footprint);
        let problem = &*self.problem;
        let kind = &problem.supply.kinds[problem.supply.existing[place].kind];
        let domains = &problem.hosts.domains[place];
        for group in footprint.counted.iter().chain(&footprint.carried) {
            let definition = &problem.groups.all[*group];
            let filter = &definition.filter;
            if !filter.is_open() && !filter.passes(kind.taints(), |term| kind.accepts(term)) {
                continue;
            }
            let tally = Rc::make_mut(&mut self.state.tallies[*group]);
            let Some(key) = definition.key else {
                tally.add_host(definition, Host::Existing(place));
                continue;
            };
            let is_anti = matches!(definition.purpose, Purpose::AntiAffinity | Purpose::Inverse);
            if let Some(domain) = domains.known(key).copied().flatten() {
                tally.add(domain);
            } else if is_anti {
                let undecided = problem.hosts.by_key[key].undecided.iter();
                let filter = undecided.filter(|(other, _)| *other == place);
                filter.for_each(|(_, domains)| domains.iter().for_each(|domain| tally.add(domain)));
            }
        }
    }
}
