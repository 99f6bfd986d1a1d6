//! The facts, made ready for solving: every name that matters has a number.

mod start;

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use model::{
    HourlyPrice, InstanceType, LabelKey, Namespace, NodePoolName, Pod, Requirements, Resources,
    TaintEffect,
    facts::{ClassOffer, Daemon, Facts, daemons},
    labels,
    node::Node,
    node_pool::NodePool,
    plan::Target,
    pod::HostPort,
    policies::Packing,
    requirement::Value,
};

use crate::{
    index::{
        bits::BitSet,
        id::{
            ClassId, GroupId, KeyId, OfferId, PlaceId, PodId, PortId, RequestsId, SetId,
            TemplateId, kind,
        },
        table::Table,
    },
    scheduling::{
        demand::{
            Demand,
            class::Class,
            constraints::ConstraintTable,
            demand,
            profile::{Around, MeantTable, Profile, term_group},
        },
        dollars::Standings,
        facts::{
            buffer,
            device::KnownDevices,
            overlay::{self, Overlays},
            volume::Attachments,
        },
        launchable::{
            known::KnownTypes,
            offer::{Offer, Reservations},
            template::{self, Template, in_order},
            universe::{Source, Universe},
        },
        numbers::{
            amounts::{Amounts, ResourceIndex},
            domains::Keys,
            sets::Sets,
        },
        share::Caps,
        state::State,
        supply::{self, Load, Supply, Surroundings, devices::DeviceHost, hosts::Hosts},
        topology::groups::{Groups, Purpose},
    },
    world::World,
};

/// What has to be solved, and what was found out about it so far. Nothing of it depends on what is
/// tried: that is in [`State`].
#[derive(Debug)]
pub struct Problem<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) resources: ResourceIndex,
    pub(crate) sets: Sets,
    pub(crate) keys: Keys,
    pub(crate) groups: Groups,
    pub(crate) universe: Universe,
    pub(crate) constraints: ConstraintTable,
    pub(crate) classes: Table<kind::Class, Class>,
    pub(crate) profiles: Table<kind::Profile, Profile>,
    pub(crate) demand: Demand<'a>,
    /// Distinct requests.
    pub(crate) requests: Table<kind::Requests, Amounts>,
    /// Distinct ports that pods ask for.
    pub(crate) ports: Table<kind::Port, HostPort>,
    pub(crate) supply: Supply,
    pub(crate) hosts: Hosts,
    /// Devices, where a pod claims any.
    pub(crate) devices: Option<KnownDevices<'a>>,
    /// Existing capacity as devices see it; none where no pod claims any.
    pub(crate) device_hosts: Table<kind::Place, DeviceHost>,
    pub(crate) offers: Table<kind::Offer, Offer>,
    pub(crate) reservations: Reservations,
    /// In the order in which they are tried.
    pub(crate) templates: Table<kind::Template, Template<'a>>,
    /// Pools that launch nothing now, and why.
    pub(crate) closed: Vec<(&'a NodePoolName, String)>,
    /// Static pools that nothing is wrong with, and what they may launch.
    pub(crate) fixed: Vec<(&'a NodePool, OfferId)>,
    /// Whether any pool may take pods, if only its types allowed it.
    pub(crate) has_pools: bool,
    /// Whether a usable pool has a soft taint.
    pub(crate) has_soft_taints: bool,
    /// Labels of every namespace.
    namespaces: BTreeMap<Namespace, BTreeMap<String, String>>,
    /// By group and set: whether a new node with the set is counted.
    counts: BTreeMap<(GroupId, SetId), bool>,
    /// What nodes cost that are there, where there is a cap.
    pub(crate) standing: Standings,
    /// How all pools are packed, if that is said of all of them.
    pub(crate) packing: Option<Packing>,
    /// How much one new node of each pool may hold.
    pub(crate) shares: Caps,
    /// What everybody starts from.
    pub(crate) start: State,
    /// Shapes of which the start says where there is no room.
    full: BitSet<kind::Requests>,
}

impl<'a> Problem<'a> {
    /// The problem that `facts` pose. If `supposes`, what becomes of pods whose node goes away can
    /// be asked for every node. What is `known` about types is not worked out again.
    pub(crate) fn of(facts: &'a Facts, supposes: bool, known: &KnownTypes) -> Self {
        let world = World::of(facts);
        let leaving = world.leaving(facts);
        let load = supply::load(facts);
        let daemons = daemons(facts);
        let mut problem = Self::without_facts(facts);
        let virtual_pods = buffer::virtual_pods(facts);
        problem.devices = KnownDevices::of(facts, &virtual_pods, leaving.keys().copied());
        let devices = problem.devices.as_ref();
        (problem.demand, problem.classes, problem.profiles) =
            demand(facts, (&virtual_pods, devices), &leaving, supposes);
        problem.know_requests(&daemons);
        let offer_of = problem.open_pools(&daemons, known);
        problem.reservations.hold(facts.ledger.claims.values(), facts.now);
        for offer in &mut problem.offers {
            offer.know_full(&problem.reservations.left);
        }
        for template in &problem.templates {
            // What the pool alone allows is asked for by most claims.
            problem.offers[template.offer].by_price(&problem.sets, template.set);
        }
        let bound: Vec<&Pod> = load.values().flat_map(|load| load.pods.iter().copied()).collect();
        problem.know_labels(&bound);
        problem.know_groups(&bound);
        problem.know_supply(&world, &offer_of, (&daemons, &load));
        problem.know_first();
        problem.know_own_claims(&world);
        problem.know_start(&load);
        problem.know_dollars(&world);
        problem
    }

    pub(crate) fn without_facts(facts: &'a Facts) -> Self {
        let mut namespaces = facts.surroundings.namespaces.clone();
        let mut last = None;
        for namespace in facts.pods.iter().map(|pod| &pod.key.namespace) {
            // A list is sorted by namespace.
            if last != Some(namespace) && !namespaces.contains_key(namespace) {
                namespaces.insert(namespace.clone(), BTreeMap::new());
            }
            last = Some(namespace);
        }
        Self {
            facts,
            resources: ResourceIndex::default(),
            sets: Sets::default(),
            keys: Keys::default(),
            groups: Groups::default(),
            universe: Universe::default(),
            constraints: ConstraintTable::default(),
            classes: Table::default(),
            profiles: Table::default(),
            demand: Demand::default(),
            requests: Table::default(),
            ports: Table::default(),
            supply: Supply::default(),
            hosts: Hosts::default(),
            devices: None,
            device_hosts: Table::default(),
            offers: Table::default(),
            reservations: Reservations::default(),
            templates: Table::default(),
            closed: Vec::new(),
            fixed: Vec::new(),
            has_pools: false,
            has_soft_taints: false,
            namespaces,
            counts: BTreeMap::new(),
            standing: BTreeMap::new(),
            packing: None,
            shares: Caps::default(),
            start: State::default(),
            full: BitSet::default(),
        }
    }

    /// What profiles need to find their groups, beside the profiles.
    pub(crate) fn split(
        &mut self,
    ) -> (&mut Table<kind::Profile, Profile>, Around<'_>, &mut ConstraintTable) {
        let around = Around {
            keys: &mut self.keys,
            sets: &mut self.sets,
            groups: &mut self.groups,
            universe: &mut self.universe,
            offers: &self.offers,
            namespaces: &self.namespaces,
            preferences: self.facts.policies.preferences,
            has_soft_taints: self.has_soft_taints,
        };
        (&mut self.profiles, around, &mut self.constraints)
    }

    fn know_requests(&mut self, daemons: &[Daemon]) {
        let daemons = daemons.iter().map(|daemon| &daemon.spec.requests);
        let requests = self.classes.iter().map(|class| &class.spec.requests).chain(daemons);
        self.resources = ResourceIndex::of(requests);
        let mut known: BTreeMap<&Resources, RequestsId> = BTreeMap::new();
        let mut ports: BTreeMap<HostPort, PortId> = BTreeMap::new();
        for Class { spec, requests, .. } in &mut self.classes {
            let number = |asked: &&Resources| self.requests.push(self.resources.amounts(asked));
            *requests = *known.entry(&spec.requests).or_insert_with_key(number);
        }
        for profile in &mut self.profiles {
            for port in &profile.spec.host_ports {
                let number = |port: &HostPort| self.ports.push(port.clone());
                let number = *ports.entry(port.clone()).or_insert_with_key(number);
                profile.ports.push(number);
            }
        }
    }

    /// Makes a template of every pool that can launch, and says of the others why they cannot.
    /// Returns the offer of each pool whose class is ready.
    pub(super) fn open_pools(
        &mut self,
        daemons: &[Daemon],
        known: &KnownTypes,
    ) -> BTreeMap<&'a str, OfferId> {
        let overlays = overlay::overlays(self.facts);
        let mut by_class: BTreeMap<&str, OfferId> = BTreeMap::new();
        let mut by_pool = BTreeMap::new();
        let mut sources = Vec::new();
        for pool in in_order(&self.facts.node_pools) {
            let class = &pool.template.node_class;
            let types =
                match self.facts.classes.as_ref().map(|class_offers| class_offers.get(class)) {
                    Some(Some(ClassOffer::Ready(types))) => types,
                    Some(Some(offer @ ClassOffer::NotReady(_))) => {
                        let text = offer.why_not_ready(class).unwrap_or_default();
                        self.closed.push((&pool.name, text));
                        continue;
                    }
                    Some(None) => {
                        // A pool of another provider names no EC2NodeClass at all.
                        let missing = || format!("EC2NodeClass {class} does not exist");
                        let text = unusable(pool).unwrap_or_else(missing);
                        self.closed.push((&pool.name, text));
                        continue;
                    }
                    None => {
                        let text =
                            format!("the offerings of EC2NodeClass {class} were not observed");
                        self.closed.push((&pool.name, text));
                        continue;
                    }
                };
            let overlaid = overlays.pools.get(&pool.name);
            let offer = match overlaid {
                Some(overlaid) => self.offer(&overlaid.types, known),
                None => match by_class.get(class.as_str()) {
                    Some(offer) => *offer,
                    None => self.offer(types, known),
                },
            };
            if overlaid.is_none() {
                by_class.insert(class.as_str(), offer);
            }
            by_pool.insert(pool.name.as_str(), offer);
            if let Some(reason) = unusable(pool) {
                self.closed.push((&pool.name, reason));
                if !pool.is_deleting && pool.problems.is_empty() {
                    self.fixed.push((pool, offer));
                }
                continue;
            }
            self.has_pools = true;
            if !self.offers[offer].index.types.is_empty() {
                let requirements = template::requirements(pool);
                let taints = pool.template.taints.clone();
                sources.push(Source { requirements, taints, offer });
            }
            self.open_pool(pool, offer, daemons, &overlays);
        }
        self.universe = Universe::of(sources);
        by_pool
    }

    fn offer(&mut self, types: &[Arc<InstanceType>], known: &KnownTypes) -> OfferId {
        let index = known.index(types, self.facts.policies.reserved_capacity);
        self.offers.push(Offer::new(index, &mut self.reservations))
    }

    fn open_pool(
        &mut self,
        pool: &'a NodePool,
        number: OfferId,
        daemons: &[Daemon],
        overlays: &Overlays,
    ) {
        self.has_soft_taints |=
            pool.template.taints.iter().any(|t| t.effect == TaintEffect::PreferNoSchedule);
        match self.template(pool, number, daemons) {
            Ok(mut template) => {
                if let Some(overlaid) = overlays.pools.get(&pool.name) {
                    template.overlaid = [overlaid.priced.clone(), overlaid.extended.clone()];
                }
                self.templates.push(template);
            }
            Err(why) => self.closed.push((&pool.name, why)),
        }
    }

    /// Finds the labels by which pods are spread or kept together, and their values.
    fn know_labels(&mut self, bound: &[&Pod]) {
        let mut label_keys: BTreeSet<&LabelKey> = BTreeSet::new();
        let mut specs: Vec<&model::PodSpec> =
            self.profiles.iter().map(|profile| &*profile.spec).collect();
        let of_profiles = specs.len();
        specs.extend(bound.iter().map(|pod| &*pod.spec));
        for (place, spec) in specs.iter().enumerate() {
            let required = spec.pod_anti_affinity.required.iter();
            label_keys.extend(required.map(|term| &term.topology_key));
            if place < of_profiles {
                let (near, far) = (&spec.pod_affinity, &spec.pod_anti_affinity);
                let preferred =
                    near.preferred.iter().chain(&far.preferred).map(|preference| &preference.term);
                let terms = near.required.iter().chain(preferred);
                label_keys.extend(terms.map(|term| &term.topology_key));
                label_keys.extend(spec.spread.iter().map(|constraint| &constraint.topology_key));
            }
        }
        let mut values: BTreeMap<KeyId, BTreeSet<Value>> = BTreeMap::new();
        for label in label_keys {
            let canonical = labels::canonical(label.as_str());
            if canonical == labels::HOSTNAME {
                continue;
            }
            let Ok(label) = LabelKey::new(canonical) else { continue };
            let key = self.keys.key(&label, &mut self.sets);
            let own_values = values.entry(key).or_default();
            for node in self.facts.nodes.values() {
                own_values.extend(value_of(node, label.as_str()).map(Value::from));
            }
        }
        for (key, values) in values {
            self.keys.know(key, &values);
            self.universe.know(key, &mut self.keys, &self.offers);
        }
    }

    fn know_groups(&mut self, bound: &[&Pod]) {
        let mut profiles = std::mem::take(&mut self.profiles);
        let (_, mut around, _) = self.split();
        for profile in &mut profiles {
            profile.find_groups(&mut around);
        }
        for pod in bound {
            for term in &pod.spec.pod_anti_affinity.required {
                let purpose = Purpose::Inverse;
                term_group(term, &pod.key.namespace, &pod.spec, purpose, &mut around);
            }
        }
        let mut meant = MeantTable::default();
        for profile in &mut profiles {
            profile.know_groups(around.groups, &mut meant);
        }
        self.profiles = profiles;
    }

    fn know_supply(
        &mut self,
        world: &World<'a>,
        offer_of: &BTreeMap<&'a str, OfferId>,
        (daemons, load): (&[Daemon], &BTreeMap<&'a str, Load<'a>>),
    ) {
        let mut keys: BTreeSet<&str> = BTreeSet::new();
        let specs = self.profiles.iter().map(|profile| &*profile.spec);
        for spec in specs.chain(daemons.iter().map(|daemon| &*daemon.spec)) {
            let preferred = spec.preferred_terms.iter().flat_map(|preference| &preference.term);
            let chain = spec.node_selector.iter().chain(spec.required_terms.iter().flatten());
            keys.extend(chain.chain(preferred).map(|requirement| requirement.key().as_str()));
        }
        for class in &self.classes {
            let flat_map = class.alternatives.iter().flat_map(Requirements::iter);
            keys.extend(flat_map.map(|requirement| requirement.key().as_str()));
        }
        keys.extend(self.keys.all.iter().map(|key| key.label.as_str()));
        for group in &self.groups.all {
            let flat_map = group.filter.terms.iter().flat_map(Requirements::iter);
            keys.extend(flat_map.map(|requirement| requirement.key().as_str()));
        }
        let offers = offer_of.iter().map(|(pool, offer)| (*pool, &self.offers[*offer])).collect();
        self.supply = supply::supply(&Surroundings {
            facts: self.facts,
            world,
            resources: &self.resources,
            offers,
            keys: &keys,
            daemons,
            load,
        });
        self.hosts = Hosts::of(&self.supply, &mut self.keys);
        self.know_device_hosts(world);
    }

    /// Whether pods on a new node with the requirements `set` are counted in `group`.
    pub(crate) fn is_counted(&mut self, group: GroupId, template: TemplateId, set: SetId) -> bool {
        let filter = &self.groups.all[group].filter;
        if filter.is_open() {
            return true;
        }
        let (sets, templates) = (&self.sets, &self.templates);
        *self.counts.entry((group, set)).or_insert_with(|| {
            let requirements = sets.get(set);
            let taints = &templates[template].pool.template.taints;
            filter.passes(taints, |term| {
                requirements.compatible(term, model::requirements::Undefined::Refused).is_ok()
            })
        })
    }

    /// Whether nodes of `template` are packed so that they cost least.
    pub(crate) fn is_packed(&self, template: TemplateId) -> bool {
        let chosen = self.packing.or_else(|| self.templates[template].pool.packing());
        chosen.unwrap_or(self.facts.policies.packing) == Packing::Cheapest
    }

    /// What a node of `template` costs beside its instance.
    pub(crate) fn charge(&self, template: TemplateId) -> HourlyPrice {
        self.facts.node_charge(&self.templates[template].pool.template.node_class)
    }

    /// What `pod` is called.
    pub(crate) fn key(&self, pod: PodId) -> model::PodKey {
        self.demand.pods[pod].key.clone().into_owned()
    }

    /// What pods of `class` ask for beside resources and volumes.
    pub(crate) fn profile(&self, class: ClassId) -> &Profile {
        &self.profiles[self.classes[class].profile]
    }

    /// What `place` is called.
    pub(crate) fn target(&self, place: PlaceId) -> &Target {
        &self.supply.existing[place].target
    }
}

/// Adds volumes to those of a node.
pub(crate) fn attach(volume_claim_keys: &mut Rc<Attachments>, more: &Attachments) {
    if more.is_empty() {
        return;
    }
    let attached = Rc::make_mut(volume_claim_keys);
    for (driver, volumes) in more {
        attached.entry(driver.clone()).or_default().extend(volumes.iter().cloned());
    }
}

/// The value of a node's label by its canonical name.
fn value_of<'n>(node: &'n Node, label: &str) -> Option<&'n str> {
    let text = node.labels.get(label);
    let read = text.or_else(|| {
        node.labels.iter().find(|(key, _)| labels::canonical(key) == label).map(|(_, value)| value)
    });
    read.map(String::as_str)
}

fn unusable(pool: &NodePool) -> Option<String> {
    if pool.is_usable() {
        None
    } else if pool.is_deleting {
        Some("the NodePool is being deleted".to_owned())
    } else if pool.replicas.is_some() {
        Some("the NodePool is static: it has replicas and takes no pending pods".to_owned())
    } else {
        Some(format!("the NodePool cannot be used: {}", model::Problem::in_words(&pool.problems)))
    }
}
