//! What is there before anything is placed.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use model::{
    Pod, PodKey, Requirements, facts::Facts, node::Node, pod::HostPort, requirements::Undefined,
    topology::PodAffinityTerm,
};

use super::{Problem, attach, footprint, value_of};
use crate::{
    amounts::Amounts,
    class::Footprint,
    groups::Groups,
    state::{Spot, State},
    supply::Load,
    table::Table,
    tally::Host,
    template::Template,
    volume,
};

/// What a pod that runs leaves behind depends on this.
type Print<'a> = (&'a str, &'a BTreeMap<String, String>, &'a [PodAffinityTerm]);

impl<'a> Problem<'a> {
    /// Counts what is there before anything is placed.
    pub(super) fn know_start(&mut self, load: &BTreeMap<&'a str, Load<'a>>) {
        let rooms: Vec<Amounts> =
            self.supply.existing.iter().map(|existing| existing.room.clone()).collect();
        let mut state = State::new(&rooms, self.resources.len());
        state.full = self.shapes.iter().map(|_| Rc::default()).collect();
        state.reserved.clone_from(&self.reservations.left);
        state.limits = self.templates.iter().map(Template::limits_left).collect();
        for existing in &self.supply.existing {
            let Some((pool, used)) = &existing.counts else { continue };
            for (template, left) in self.templates.iter().zip(state.limits.iter_mut()) {
                if template.name() == pool {
                    let taken = template.taken(used);
                    left.iter_mut().zip(taken).for_each(|(l, t)| *l = l.saturating_sub(t));
                }
            }
        }
        state.tallies = self.groups.all.iter().map(|_| Rc::default()).collect();
        for (number, group) in self.groups.all.iter().enumerate() {
            let tally = Rc::make_mut(&mut state.tallies[number]);
            group.universe.iter().for_each(|domain| tally.know(domain));
            let Some(key) = group.key else { continue };
            for domain in self.hosts.domains_of(group, key, &self.supply) {
                tally.know(domain);
            }
        }
        state.ports = self.ports.iter().map(|_| Rc::default()).collect();
        let now = self.demand.now.iter().map(|pod| self.demand.pods[*pod].key.clone());
        let demanded: BTreeSet<PodKey> = now.collect();
        self.count_load(&mut state, load, &demanded);
        self.start = state;
    }

    fn count_load(
        &mut self,
        state: &mut State,
        load: &BTreeMap<&'a str, Load<'a>>,
        demanded: &BTreeSet<PodKey>,
    ) {
        let mut prints: BTreeMap<Print<'_>, Rc<Footprint>> = BTreeMap::new();
        let mut domains: Vec<Option<usize>> = Vec::new();
        for (name, load) in load {
            let Some(node) = self.facts.nodes.get(*name) else { continue };
            let place = self.supply.place(&node.name);
            domains.clear();
            domains.extend(
                self.keys.all.iter().map(|key| {
                    value_of(node, key.label.as_str()).and_then(|value| key.find(value))
                }),
            );
            let spot = Spot { host: place.map(Host::Existing), domains: &domains };
            for pod in &load.pods {
                if let Some(place) = place {
                    occupy(state, &self.ports, self.facts, place, pod);
                }
                let is_counted = !pod.is_terminating() && !demanded.contains(&pod.key);
                if !is_counted || self.groups.all.is_empty() {
                    continue;
                }
                let spec = Arc::clone(&pod.spec);
                let terms = pod.spec.pod_anti_affinity.required.as_slice();
                let print: Print<'_> = (pod.key.namespace.as_str(), &pod.spec.labels, terms);
                let known = prints.get(&print).map(Rc::clone);
                let footprint = known.unwrap_or_else(|| {
                    let (_, mut around, _) = self.split();
                    let new = Rc::new(footprint(&pod.key.namespace, &spec, &mut around));
                    prints.insert(print, Rc::clone(&new));
                    new
                });
                state.count(&self.groups, &footprint, spot, true, |group| {
                    counts_node(&self.groups, group, node)
                });
            }
        }
    }

    /// No longer counts a pod that is placed anew.
    pub(crate) fn forget(&self, state: &mut State, pod: usize) {
        let wanted = &self.demand.pods[pod];
        let Some(node) = wanted.node.as_ref().and_then(|name| self.facts.nodes.get(name)) else {
            return;
        };
        let place = self.supply.place(&node.name);
        let domains: Vec<Option<usize>> = self
            .keys
            .all
            .iter()
            .map(|key| value_of(node, key.label.as_str()).and_then(|value| key.find(value)))
            .collect();
        let spot = Spot { host: place.map(Host::Existing), domains: &domains };
        let footprint = &self.classes[wanted.class].footprint;
        state.count(&self.groups, footprint, spot, false, |group| {
            counts_node(&self.groups, group, node)
        });
    }
}

fn counts_node(groups: &Groups, group: usize, node: &Node) -> bool {
    let filter = &groups.all[group].filter;
    filter.is_open() || {
        let own = node.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let own = Requirements::of_labels(own);
        filter.passes(&node.taints, |term| own.compatible(term, Undefined::Refused).is_ok())
    }
}

/// Ports and volumes of a pod that runs.
fn occupy(state: &mut State, ports: &Table<HostPort>, facts: &Facts, place: usize, pod: &Pod) {
    for taken in &pod.spec.host_ports {
        for (number, port) in ports.iter().enumerate() {
            if port.conflicts(taken) {
                Rc::make_mut(&mut state.ports[number]).insert(place);
            }
        }
    }
    if let Ok(own) = volume::attachments(pod, &facts.surroundings.storage) {
        attach(state.attached.entry(place).or_default(), &own);
    }
}
