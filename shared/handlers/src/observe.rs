//! Facts: supply first, demand last.
//!
//! What is read later may show more pods than what was read earlier has room for, never the other
//! way round: planning too little is repaired by the next look, planning too much is paid for.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures_util::future::{try_join, try_join3, try_join5};
use launch_template::{Live, Offers, images_of_types, of_status, volume_price};
use model::{
    InstanceType, InstanceTypeName, NodeClassName, Problem, RegionCatalog,
    buffer::ObservedBuffer,
    dynamic_resources::DeviceFacts,
    facts::{ClassOffer, Facts},
    ledger::Snapshot,
    node_class::{ClusterSettings, Image, ListedNodeClass, NodeClass},
    node_pool::NodePool,
    problem::{Rule, Weight},
};
use ports::{
    Adapters, Catalog as _, Cluster, Discovery as _, FoundDevices, FoundSelectors, Invocation,
    Listing, Malformed, PodSelection, Surrounded,
};

use crate::{error::Error, live::reservations, settings::Settings};

/// Where a decision about new nodes looks.
pub(crate) struct Sources<'a, A: Adapters> {
    pub(crate) cluster: &'a A::Cluster,
    pub(crate) catalog: &'a A::Catalog,
    pub(crate) discovery: &'a A::Discovery,
    pub(crate) offers: &'a Offers,
    pub(crate) settings: &'a Settings,
}

impl<A: Adapters> Sources<'_, A> {
    /// Everything that a decision about new nodes may look at. `snapshot` was read before anything else is.
    pub(crate) async fn look(&self, snapshot: Snapshot, at: &Invocation) -> Result<Seen, Error> {
        let (mut seen, classes) =
            Box::pin(try_join(self.supply(snapshot, at), self.classes(at))).await?;
        let Classes { listing, settings, live, catalog } = classes;
        let node_classes = kept(listing, &mut seen.malformed);
        close_pools(&mut seen.facts.node_pools, &node_classes);
        hold_back_refused(&mut seen.facts, at);
        let wanted = named_classes(&seen.facts.node_pools, node_classes);
        let classes = wanted.iter().map(|listed| &listed.class);
        seen.facts.class_hashes = Some(class_hashes(&settings, classes.clone()));
        let rollout = |class: &NodeClass| Some((class.name.clone(), class.rollout.clone()?));
        seen.facts.class_rollouts = classes.filter_map(rollout).collect();
        let ledger = &seen.facts.ledger;
        let launched = launched_types(ledger);
        let charge = |listed: &ListedNodeClass| {
            let price = volume_price(&listed.class, &catalog.region).hourly?;
            Some((listed.class.name.clone(), price))
        };
        seen.facts.node_charges = wanted.iter().filter_map(charge).collect();
        let (mut offers, mut images) = (BTreeMap::new(), BTreeMap::new());
        let mut candidates = BTreeMap::new();
        for listed in &wanted {
            let name = &listed.class.name;
            let offer = match of_status(listed, &live, at.now) {
                Ok(class) => {
                    let types = self.offers.offer(&catalog, &class, ledger, at.now);
                    if let Some(launched) = launched.get(name) {
                        let is_launched = |known: &&InstanceType| launched.contains(&known.name);
                        let launched_types = types.iter().map(AsRef::as_ref).filter(is_launched);
                        images.insert(
                            name.clone(),
                            images_of_types(&class.images, launched_types.clone()),
                        );
                        let of_canaries = candidate_images(listed);
                        if !of_canaries.is_empty() {
                            let of_types = images_of_types(&of_canaries, launched_types);
                            candidates.insert(name.clone(), of_types);
                        }
                    }
                    ClassOffer::Ready(types)
                }
                Err(obstacles) => ClassOffer::NotReady(obstacles),
            };
            offers.insert(name.clone(), offer);
        }
        if let Some(devices) = &mut seen.facts.devices {
            let classes = wanted.iter().map(|listed| {
                let class = &listed.class;
                let launched = launched.get(&class.name).into_iter().flatten().copied();
                let offered = match offers.get(&class.name) {
                    Some(ClassOffer::Ready(types)) => types.as_slice(),
                    _ => &[],
                };
                (class, launched.chain(offered.iter().map(|offered| &offered.name)))
            });
            let pools = &seen.facts.node_pools;
            Arc::make_mut(devices).templates =
                devices::templates_of_pools(&self.settings.policies, classes, pools);
        }
        seen.facts.classes = Some(offers);
        seen.facts.class_images = images;
        seen.facts.class_candidates = candidates;
        seen.demand(self.cluster, self.settings).await
    }

    async fn supply(&self, ledger: Snapshot, at: &Invocation) -> Result<Seen, Error> {
        let (cluster, policies) = (self.cluster, self.settings.policies);
        let mut malformed = Vec::new();
        // A claim of a volume that comes after this is found at the next look.
        let (nodes, node_pools, daemon_sets, surrounded, devices) = Box::pin(try_join5(
            cluster.nodes(),
            cluster.node_pools(),
            cluster.daemon_sets(),
            cluster.surroundings(&policies),
            async {
                let is_read = policies.places_claims();
                if is_read { cluster.devices().await.map(Some) } else { Ok(None) }
            },
        ))
        .await?;
        let nodes = kept(nodes, &mut malformed);
        let mut node_pools = kept(node_pools, &mut malformed);
        node_pools.sort_by(|a, b| a.name.cmp(&b.name));
        let mut daemon_sets = kept(daemon_sets, &mut malformed);
        daemon_sets.sort_by(|a, b| a.key.cmp(&b.key));
        let nodes: BTreeMap<_, _> =
            nodes.into_iter().map(|node| (node.name.clone(), node)).collect();
        let Surrounded { surroundings, buffers, malformed: unread } = surrounded;
        malformed.extend(unread);
        let devices = devices.map(|listed| {
            let FoundDevices { slices, classes, claims, malformed: unread } = listed;
            malformed.extend(unread);
            let initialized = devices::initialized(nodes.values());
            let templates = BTreeMap::new();
            Arc::new(DeviceFacts { slices, classes, claims, initialized, templates })
        });
        let facts = Facts {
            devices,
            nodes,
            node_pools,
            daemon_sets,
            surroundings,
            policies,
            ..ledger_only(ledger, at)
        };
        Ok(Seen { facts, buffers, malformed })
    }

    async fn classes(&self, at: &Invocation) -> Result<Classes, Error> {
        let listed = async {
            let mut listing = self.cluster.node_classes().await?;
            self.settings.open_gates(listing.items.iter_mut().map(|listed| &mut listed.class));
            let ready = listing.items.iter().filter(|listed| listed.not_ready.is_none());
            let live = reservations(self.discovery, ready).await?;
            Ok((listing, live))
        };
        let settings = self.discovery.cluster_settings(&at.cluster);
        let ((listing, live), settings, catalog) =
            Box::pin(try_join3(listed, settings, self.catalog.catalog())).await?;
        Ok(Classes { listing, settings, live, catalog })
    }
}

/// All EC2NodeClasses, and what nodes of them are made of.
struct Classes {
    listing: Listing<ListedNodeClass>,
    settings: ClusterSettings,
    live: Live,
    catalog: Arc<RegionCatalog>,
}

/// What was seen.
pub(crate) struct Seen {
    /// What decisions are made of.
    pub(crate) facts: Facts,
    /// CapacityBuffers, with what their status says.
    pub(crate) buffers: Vec<ObservedBuffer>,
    /// The objects that could not be read.
    pub(crate) malformed: Vec<Malformed>,
}

impl Seen {
    async fn demand(mut self, cluster: &impl Cluster, settings: &Settings) -> Result<Self, Error> {
        let pods = cluster.pods(&PodSelection::All).await?;
        let unlocated = pods.unlocated();
        self.facts.unlocated_pod =
            unlocated.map(|Malformed { object, problem, .. }| format!("{object}: {problem}"));
        self.facts.pods = kept(pods, &mut self.malformed);
        let FoundSelectors { selectors, malformed } =
            if settings.default_spread.constraints.is_empty() {
                FoundSelectors::default()
            } else {
                cluster.pod_selectors().await?
            };
        self.malformed.extend(malformed);
        settings.apply_to(&mut self.facts, &selectors);
        Ok(self)
    }
}

/// Facts of a decision that looks at the ledger alone.
pub(crate) fn ledger_only(ledger: Snapshot, at: &Invocation) -> Facts {
    Facts::of(at.cluster.clone(), at.now, ledger)
}

fn kept<T>(listing: Listing<T>, malformed: &mut Vec<Malformed>) -> Vec<T> {
    malformed.extend(listing.malformed);
    listing.items
}

/// The instance types that claims have instances of, by EC2NodeClass.
fn launched_types(ledger: &Snapshot) -> BTreeMap<&NodeClassName, BTreeSet<&InstanceTypeName>> {
    let mut launched: BTreeMap<&NodeClassName, BTreeSet<&InstanceTypeName>> = BTreeMap::new();
    for claim in ledger.claims.values() {
        if let Some(instance) = &claim.instance {
            launched.entry(&claim.node_class).or_default().insert(&instance.instance_type);
        }
    }
    launched
}

/// The images of the class that is `listed` that only canaries start from.
pub(crate) fn candidate_images(listed: &ListedNodeClass) -> Vec<Image> {
    let images = listed.status.iter().flat_map(|status| {
        status.images.iter().filter(|image| status.candidates.contains(&image.id))
    });
    images.cloned().collect()
}

/// The static hashes of `classes`, as nodes of this cluster are launched with them.
pub(crate) fn class_hashes<'a>(
    settings: &ClusterSettings,
    classes: impl IntoIterator<Item = &'a NodeClass>,
) -> BTreeMap<NodeClassName, String> {
    let hash =
        |class: &NodeClass| Some(class.hash?.with_ca_bundle(&settings.ca_bundle).to_string());
    classes.into_iter().filter_map(|class| Some((class.name.clone(), hash(class)?))).collect()
}

/// A pool whose class is not ready launches nothing: what was told about the class last says why.
///
/// Karpenter: `pkg/controllers/provisioning/provisioner.go`, `NewScheduler`: pools that are not ready
/// are left out.
fn close_pools(pools: &mut [NodePool], classes: &[ListedNodeClass]) {
    for pool in pools {
        let name = &pool.template.node_class;
        let class = classes.iter().find(|listed| listed.class.name == *name);
        let why = class.and_then(|listed| listed.not_ready.as_ref());
        let rule = why.map(|why| Rule::ClassNotReady { class: name.clone(), why: why.clone() });
        let problem = |rule| Problem { weight: Weight::Unusable, field: String::new(), rule };
        pool.problems.extend(rule.map(problem));
    }
}

/// A pool whose launches were refused a moment ago gets no new claims for a while.
fn hold_back_refused(facts: &mut Facts, at: &Invocation) {
    for pool in &mut facts.node_pools {
        let refusals = planner::held_back(&facts.ledger, &pool.name, at.now);
        let rule = refusals
            .map(|refusals| Rule::LaunchRefused { reason: refusals.reason, until: refusals.until });
        let problem = |rule| Problem { weight: Weight::Unusable, field: String::new(), rule };
        pool.problems.extend(rule.map(problem));
    }
}

/// The classes that pools name, by name.
fn named_classes(pools: &[NodePool], classes: Vec<ListedNodeClass>) -> Vec<ListedNodeClass> {
    let named: BTreeSet<&NodeClassName> =
        pools.iter().map(|pool| &pool.template.node_class).collect();
    let by_name: BTreeMap<_, _> = classes
        .into_iter()
        .filter(|listed| named.contains(&listed.class.name))
        .map(|listed| (listed.class.name.clone(), listed))
        .collect();
    by_name.into_values().collect()
}
