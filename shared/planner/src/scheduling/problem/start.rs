//! What is there before anything is placed.

use std::{
    collections::{BTreeMap, BTreeSet},
    ptr,
    rc::Rc,
};

use model::{
    ClaimPhase, Namespace, NodeName, Pod, PodKey, PodSpec, Requirements, facts::Facts, node::Node,
    plan::Target, pod::HostPort, requirements::Undefined, topology::PodAffinityTerm,
};

use super::{Problem, attach, value_of};
use crate::{
    index::{
        bits::BitSet,
        id::{ClassId, GroupId, PlaceId, PodId, RequestsId, kind},
        table::Table,
    },
    scheduling::{
        demand::{
            class::Class,
            fingerprint,
            profile::{Around, Footprint, term_group},
        },
        facts::volume,
        launchable::template::Template,
        numbers::{
            amounts::{self, Amounts},
            domains::{Domains, Key},
        },
        state::{Spot, State},
        supply::{Existing, Load, devices::DeviceHost, hosts::DomainByKey},
        topology::{
            groups::{Groups, Purpose},
            tally::Host,
        },
    },
    world::World,
};

/// What a pod that runs leaves behind depends on this.
type Print<'a> = (&'a str, &'a BTreeMap<String, String>, &'a [PodAffinityTerm]);

/// What pods leave behind, by a digest of their labels.
type Prints<'a> = BTreeMap<u64, Vec<(Print<'a>, Rc<Footprint>)>>;

impl<'a> Problem<'a> {
    /// Finds the claims to come that were created for pods which still wait.
    pub(super) fn know_own_claims(&mut self, world: &World<'a>) {
        let existing = self.supply.existing.entries();
        let places: BTreeMap<&Target, PlaceId> =
            existing.map(|(place, existing)| (&existing.target, place)).collect();
        let mut by_pod: BTreeMap<&PodKey, PlaceId> = BTreeMap::new();
        let claims = self.facts.ledger.claims.values();
        for claim in claims.filter(|claim| claim.phase < ClaimPhase::Initialized) {
            let target = match world.node(claim) {
                Some(node) => Target::Node(node.name.clone()),
                None => Target::Claim(claim.name.clone()),
            };
            if let Some(place) = places.get(&target) {
                by_pod.extend(claim.pods.iter().map(|pod| (pod, *place)));
            }
        }
        self.demand.know_own_claims(&by_pod);
    }

    /// Says how devices see existing capacity, where a pod claims any.
    pub(super) fn know_device_hosts(&mut self, world: &World<'a>) {
        if let Some(observed) = self.facts.devices.as_deref().filter(|_| self.devices.is_some()) {
            let host = |existing: &Existing| {
                DeviceHost::of(self.facts, world, (observed, &existing.target))
            };
            self.device_hosts = self.supply.existing.map(host);
        }
    }

    /// Finds the domains in which the pods that wait and want to be together can all be. Pods that can be nowhere
    /// together with those before them count for nothing.
    pub(super) fn know_first(&mut self) {
        let mut classes: Vec<ClassId> =
            self.demand.now.iter().map(|pod| self.demand.pods[*pod].class).collect();
        classes.sort_unstable();
        classes.dedup();
        for class in classes {
            let Class { profile, spec, alternatives, .. } = &self.classes[class];
            for group in self.profiles[*profile].own_affinity() {
                let group = &mut self.groups.all[group];
                let Some(key) = group.key.map(|key| &self.keys.all[key]) else { continue };
                let Some(domains) = reachable(key, spec, alternatives) else { continue };
                match &mut group.first {
                    Some(first) if first.meets(&domains) => first.keep(&domains),
                    Some(_) => {}
                    first => *first = Some(domains),
                }
            }
        }
    }

    /// Counts what is there before anything is placed.
    pub(super) fn know_start(&mut self, load: &BTreeMap<&'a str, Load<'a>>) {
        let rooms: Vec<Amounts> =
            self.supply.existing.iter().map(|existing| existing.room.clone()).collect();
        let mut state = State::new(&rooms, self.resources.len());
        state.full = self.requests.map(|_| Rc::default());
        state.reserved.clone_from(&self.reservations.left);
        state.limits = self.templates.map(Template::limits_left);
        let counts = self.supply.existing.iter().filter_map(|existing| existing.counts.as_ref());
        for (pool, used) in counts.chain(&self.supply.replaced) {
            for (template, left) in self.templates.iter().zip(state.limits.iter_mut()) {
                if template.name() == pool {
                    let taken = template.taken(used);
                    left.iter_mut().zip(taken).for_each(|(l, t)| *l = l.saturating_sub(t));
                }
            }
        }
        state.tallies = self.groups.all.map(|_| Rc::default());
        for (number, group) in self.groups.all.entries() {
            let tally = Rc::make_mut(&mut state.tallies[number]);
            group.universe.iter().for_each(|domain| tally.know(domain));
            let Some(key) = group.key else { continue };
            for (place, existing) in self.supply.existing.entries() {
                // Claims whose node did not join yet bring no domain.
                let Target::Node(name) = &existing.target else { continue };
                let domain = self.hosts.domains[place].known(key).copied().flatten();
                let ignores_labels = group.filter.ignores_labels();
                let counted = if ignores_labels { &tally.there } else { &tally.known };
                let Some(domain) = domain.filter(|domain| !counted.contains(*domain)) else {
                    continue;
                };
                let node = self.facts.nodes.get(name);
                if node.is_some_and(|node| {
                    group.filter.is_open() || counts_node(&self.groups, number, node)
                }) {
                    tally.know(domain);
                    tally.there.insert(domain);
                }
            }
        }
        state.ports = self.ports.map(|_| Rc::default());
        state.devices = self.devices.as_ref().map(|devices| devices.begin(&[]));
        if !load.is_empty() {
            let now = self.demand.now.iter();
            let demanded: BTreeSet<PodKey> =
                now.map(|pod| self.demand.pods[*pod].key.clone().into_owned()).collect();
            self.count_load(&mut state, load, &demanded);
        }
        self.start = state;
    }

    fn count_load(
        &mut self,
        state: &mut State,
        load: &BTreeMap<&'a str, Load<'a>>,
        demanded: &BTreeSet<PodKey>,
    ) {
        let mut prints = Prints::new();
        for (name, load) in load {
            let Some(node) = self.facts.nodes.get(*name) else { continue };
            let place = self.supply.place(&node.name);
            let domains = self.domains_of(node);
            let mut counts = Counts::default();
            let spot = Spot { host: place.map(Host::Existing), domains: &domains };
            let moved: Vec<PodId> = self.demand.moved(&node.name, true).collect();
            for pod in &load.pods {
                if let Some(place) = place {
                    occupy(state, &self.ports, self.facts, place, pod);
                }
                if demanded.contains(&pod.key) || self.groups.all.is_empty() {
                    continue;
                }
                // What would move is known already.
                let key: &PodKey = &pod.key;
                let mut wanted = moved.iter().map(|moved| &self.demand.pods[*moved]);
                let known = wanted.find(|wanted| ptr::eq(wanted.key.as_ref(), key));
                let footprint = match known {
                    Some(wanted) => Rc::clone(&self.profile(wanted.class).footprint),
                    None => self.footprint_of(pod, &mut prints),
                };
                // Affinity does not count pods that end. Anti-affinity counts them until they have ended.
                let is_ending = pod.is_terminating();
                state.count(&self.groups, &footprint, spot, true, |group| {
                    (!is_ending || self.groups.all[group].purpose == Purpose::Inverse)
                        && counts.node(&self.groups, group, node)
                });
            }
        }
    }

    /// What `pod`, which stays where it is, leaves behind.
    fn footprint_of<'p>(&mut self, pod: &'p Pod, prints: &mut Prints<'p>) -> Rc<Footprint> {
        let terms = pod.spec.pod_anti_affinity.required.as_slice();
        let print: Print<'_> = (pod.key.namespace.as_str(), &pod.spec.labels, terms);
        // Hashing labels once is quicker than comparing them with those of many others.
        let alike = prints.entry(fingerprint(&pod.spec.labels)).or_default();
        if let Some((_, footprint)) = alike.iter().find(|(other, _)| *other == print) {
            return Rc::clone(footprint);
        }
        let (_, mut around, _) = self.split();
        let new = Rc::new(footprint(&pod.key.namespace, &pod.spec, &mut around));
        alike.push((print, Rc::clone(&new)));
        new
    }

    /// Finds out where there is no room for `requests_id` before anything is placed: nothing that is placed
    /// makes room.
    pub(crate) fn know_full(&mut self, requests_id: RequestsId) {
        if self.full.contains(requests_id) {
            return;
        }
        self.full.insert(requests_id);
        let (start, need) = (&self.start, &self.requests[requests_id]);
        let is_full = |place| !amounts::fits(need, start.room(place));
        self.start.full[requests_id] = Rc::new(BitSet::of(self.supply.existing.len(), is_full));
    }

    /// No longer counts `pods` of a node, which are placed anew.
    pub(crate) fn forget(&self, state: &mut State, node: &NodeName, pods: &[PodId]) {
        let Some(node) = self.facts.nodes.get(node).filter(|_| !self.groups.all.is_empty()) else {
            return;
        };
        let place = self.supply.place(&node.name);
        let domains = self.domains_of(node);
        let spot = Spot { host: place.map(Host::Existing), domains: &domains };
        let mut counts = Counts::default();
        for pod in pods {
            let footprint = &self.profile(self.demand.pods[*pod].class).footprint;
            state.count(&self.groups, footprint, spot, false, |group| {
                counts.node(&self.groups, group, node)
            });
        }
    }

    /// The domains that `node` is in.
    fn domains_of(&self, node: &Node) -> DomainByKey {
        let domain =
            |key: &Key| value_of(node, key.label.as_str()).and_then(|value| key.find(value));
        self.keys.all.map(domain)
    }
}

/// What a pod of `namespace` with `spec` leaves behind where it runs. Its own groups must be there.
fn footprint(namespace: &Namespace, spec: &PodSpec, around: &mut Around<'_>) -> Footprint {
    let terms = spec.pod_anti_affinity.required.iter();
    let carried: Vec<GroupId> =
        terms.map(|term| term_group(term, namespace, spec, Purpose::Inverse, around)).collect();
    let counted = around.groups.selecting(namespace, &spec.labels);
    let is_normal = |group: &GroupId| around.groups.all[*group].purpose != Purpose::Inverse;
    Footprint { counted: counted.into_iter().filter(is_normal).collect(), carried }
}

/// The domains of `key` in which pods with `spec` and one of these demands of their volumes can be; `None` is any, or
/// none.
fn reachable(key: &Key, spec: &PodSpec, alternatives: &[Requirements]) -> Option<Domains> {
    let mut domains = Domains::default();
    for term in 0..spec.required_terms.len().max(1) {
        for of_volumes in alternatives {
            let mut asked = spec.requirements(term);
            asked.add_all(of_volumes);
            domains.add(&key.having(asked.get(key.label.as_str())?));
        }
    }
    Some(domains).filter(|domains| !domains.is_empty())
}

/// Whether each group counts the pods of one node, as far as anybody asked.
#[derive(Default)]
struct Counts(BTreeMap<GroupId, bool>);

impl Counts {
    fn node(&mut self, groups: &Groups, group: GroupId, node: &Node) -> bool {
        groups.all[group].filter.is_open()
            || *self.0.entry(group).or_insert_with(|| counts_node(groups, group, node))
    }
}

/// Whether `group` counts the pods of `node`, by the labels and the taints that it has now, those
/// among them that go by themselves.
///
/// Karpenter: `topology.go`, `countDomains`.
fn counts_node(groups: &Groups, group: GroupId, node: &Node) -> bool {
    let filter = &groups.all[group].filter;
    let map = node.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let requirements = Requirements::of_labels(map);
    filter.passes(&node.taints, |term| requirements.compatible(term, Undefined::Refused).is_ok())
}

/// Ports and volumes of a pod that runs.
fn occupy(
    state: &mut State,
    ports: &Table<kind::Port, HostPort>,
    facts: &Facts,
    place: PlaceId,
    pod: &Pod,
) {
    for taken in &pod.spec.host_ports {
        for (number, port) in ports.entries() {
            if port.conflicts(taken) {
                Rc::make_mut(&mut state.ports[number]).insert(place);
            }
        }
    }
    if let Ok(volume_claim_keys) = volume::attachments(pod, &facts.surroundings.storage) {
        attach(state.attached.entry(place).or_default(), &volume_claim_keys);
    }
}
