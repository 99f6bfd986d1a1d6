//! What is there or coming: nodes, and claims whose node did not join yet.
//!
//! Karpenter: `pkg/controllers/state/statenode.go` and `scheduling/existingnode.go`. Karpenter
//! plans nothing while a claim has no instance; here an unlaunched claim counts as capacity at once.
//! It may become any of its types in any of its zones, so it takes a pod only if every one of them
//! would do.

mod coming;
pub(crate) mod devices;
pub(crate) mod hosts;
mod kind;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use jiff::Timestamp;
use model::{
    ClaimPhase, NodeClaim, NodeName, NodePoolName, Pod, Resources, Taint,
    facts::{Daemon, Facts},
    labels,
    node::Node,
    plan::Target,
    taint,
};

use coming::of_claim;
pub(crate) use kind::{Kind, Whereabouts};
use kind::{Kinds, exact};

use crate::{
    index::{
        id::{self, KindId, PlaceId},
        table::Table,
    },
    pod_events,
    scheduling::{
        launchable::offer::Offer,
        numbers::amounts::{self, Amounts, ResourceIndex},
    },
    world::World,
};

/// Capacity that is there or coming.
#[derive(Debug)]
pub(crate) struct Existing {
    pub(crate) target: Target,
    pub(crate) kind: KindId,
    pub(crate) room: Amounts,
    /// What it counts as against the limits of which pool.
    pub(crate) counts: Option<(NodePoolName, Resources)>,
    /// Whether Karpenter or we manage it and it is not initialized.
    pub(crate) is_starting: bool,
    is_initialized: bool,
    name: String,
}

/// All of it, in the order in which it is tried: what is initialized first, then by name.
#[derive(Debug, Default)]
pub(crate) struct Supply {
    by_node: BTreeMap<NodeName, PlaceId>,
    pub(crate) existing: Table<id::kind::Place, Existing>,
    /// Nodes that settle: until when pods that run elsewhere are not moved there. None, unless what-ifs are asked.
    pub(crate) settling: Vec<(PlaceId, Timestamp)>,
    /// What nodes that are being replaced count as against the limits of which pool. They take nothing.
    pub(crate) replaced: Vec<(NodePoolName, Resources)>,
    pub(crate) kinds: Table<id::kind::Kind, Kind>,
}

/// What was found out about all nodes before looking at one.
pub(crate) struct Surroundings<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) world: &'a World<'a>,
    pub(crate) resources: &'a ResourceIndex,
    /// The offer of each pool, by the pool's name.
    pub(crate) offers: BTreeMap<&'a str, &'a Offer>,
    /// The labels that anybody asks for.
    pub(crate) keys: &'a BTreeSet<&'a str>,
    pub(crate) daemons: &'a [Daemon],
    /// What runs on each node.
    pub(crate) load: &'a BTreeMap<&'a str, Load<'a>>,
}

/// What runs on a node.
#[derive(Debug, Default)]
pub(crate) struct Load<'a> {
    pub(crate) pods: Vec<&'a Pod>,
    all: Resources,
    daemons: Resources,
}

impl Load<'_> {
    /// Whether there is a pod with unknown needs. What DaemonSets put onto their nodes is
    /// known without.
    fn has_unreadable(&self) -> bool {
        self.pods.iter().any(|pod| pod.is_unreadable() && pod.is_reschedulable())
    }
}

/// What runs on each node.
pub(crate) fn load(facts: &Facts) -> BTreeMap<&str, Load<'_>> {
    let mut by_node: BTreeMap<&str, Load<'_>> = BTreeMap::new();
    let bound = facts.pods.iter().filter(|pod| !pod.is_terminal());
    for (node, pod) in bound.filter_map(|pod| Some((pod.node.as_ref()?, pod))) {
        let load = by_node.entry(node.as_str()).or_default();
        load.all = load.all.saturating_add(&pod.spec.requests);
        if pod.is_owned_by_daemon_set() {
            load.daemons = load.daemons.saturating_add(&pod.spec.requests);
        }
        load.pods.push(pod);
    }
    by_node
}

/// Everything that pods may be placed on without launching.
pub(crate) fn supply(around: &Surroundings<'_>) -> Supply {
    let (mut existings, mut replaced): (Vec<Existing>, Vec<_>) = (Vec::new(), Vec::new());
    let mut kinds = Kinds::default();
    // One whose claim lives is deleted with its claim, and serves until then.
    let is_gone = |node: &&Node| node.is_deleting && around.world.claim(&node.name).is_none();
    let nodes = around.facts.nodes.values().filter(|node| !is_gone(node));
    for node in nodes {
        let claim = around.world.claim(&node.name);
        if let Some(claim) = claim.filter(|claim| around.world.is_leaving(claim)) {
            if around.world.is_being_replaced(claim) && !claim.is_deleting() {
                let used = claim.capacity.larger(&node.capacity);
                replaced.push((claim.node_pool.clone(), used));
            }
            continue;
        }
        existings.push(of_node(around, node, claim, &mut kinds));
    }
    // Unlaunched claims of one batch are alike but for their names, pods and requests.
    let mut alike: BTreeMap<(&model::BatchId, &Resources), (Amounts, Kind)> = BTreeMap::new();
    for claim in around.facts.ledger.claims.values().filter(|claim| is_coming(around, claim)) {
        let (room, kind) = if claim.phase == ClaimPhase::Created {
            let of_claim = || of_claim(around, claim);
            alike.entry((&claim.batch, &claim.requests)).or_insert_with(of_claim).clone()
        } else {
            of_claim(around, claim)
        };
        let used = match claim.phase {
            ClaimPhase::Created => largest(around, claim),
            _ => claim.capacity.clone(),
        };
        let target = Target::Claim(claim.name.clone());
        let counts = Some((claim.node_pool.clone(), used));
        existings.push(Existing {
            counts,
            is_starting: true,
            kind: kinds.number(kind),
            ..existing(target, room, false, claim.name.as_str())
        });
    }
    existings.sort_by(|a, b| {
        (!a.is_initialized, &a.name, &a.target).cmp(&(!b.is_initialized, &b.name, &b.target))
    });
    let existing: Table<_, Existing> = existings.into_iter().collect();
    let nodes = existing.entries().filter_map(|(place, existing)| match &existing.target {
        Target::Node(name) => Some((name.clone(), place)),
        Target::Claim(_) => None,
    });
    let by_node = nodes.collect();
    Supply { by_node, settling: Vec::new(), existing, replaced, kinds: kinds.all }
}

/// Whether the node of `claim` is still to come. One that was initialized and is not there was
/// deleted.
fn is_coming(around: &Surroundings<'_>, claim: &NodeClaim) -> bool {
    matches!(claim.phase, ClaimPhase::Created | ClaimPhase::Launched | ClaimPhase::Registered)
        && around.world.node(claim).is_none()
        && !around.world.is_leaving(claim)
}

/// The largest instance that an unlaunched claim may become, so that a limit is never overrun.
fn largest(around: &Surroundings<'_>, claim: &NodeClaim) -> Resources {
    let offer = around.offers.get(claim.node_pool.as_str());
    let types = offer.iter().flat_map(|offer| {
        offer.named(&claim.instance_types).into_iter().map(|id| &offer.index.types[id])
    });
    types.fold(claim.capacity.clone(), |largest, instance_type| {
        largest.larger(&instance_type.capacity)
    })
}

impl Supply {
    /// Says which nodes settle. `is_watched`: claims say when pods came and went.
    pub(crate) fn settle(&mut self, facts: &Facts, is_watched: bool) {
        let (world, pods) = (World::of(facts), pod_events::needing(facts));
        let until = |existing: &Existing| {
            let Target::Node(node) = &existing.target else { return None };
            let claim = world.claim(node).filter(|_| !existing.is_starting)?;
            let pods = pods.get(node).map(Vec::as_slice).unwrap_or_default();
            pod_events::settles_until(facts, claim, pods, is_watched)
        };
        let settling =
            self.existing.entries().filter_map(|(place, one)| Some((place, until(one)?)));
        self.settling = settling.collect();
    }

    /// The number of the node called `name`.
    pub(crate) fn place(&self, name: &NodeName) -> Option<PlaceId> {
        self.by_node.get(name).copied()
    }
}

fn of_node(
    around: &Surroundings<'_>,
    node: &Node,
    claim: Option<&NodeClaim>,
    kinds: &mut Kinds,
) -> Existing {
    let nothing = Load::default();
    let load = around.load.get(node.name.as_str()).unwrap_or(&nothing);
    let is_initialized = claim.is_none() || node.is_initialized();
    let coming = claim.filter(|_| !node.is_registered());
    let mut all_labels = Cow::Borrowed(&node.labels);
    if let Some(claim) = coming {
        all_labels.to_mut().extend(labels_of(claim));
    }
    let taints = coming.map_or(&node.taints, |claim| &claim.taints);
    let startup: &[Taint] = claim.map_or(&[], |claim| &claim.startup_taints);
    let hides = |taint: &&Taint| {
        let is_startup = startup.iter().any(|s| s.key == taint.key && s.effect == taint.effect);
        !is_initialized && (taint::is_ephemeral(taint) || is_startup)
    };
    let taints: Vec<Taint> = taints.iter().filter(|taint| !hides(taint)).cloned().collect();
    let allocatable = match (claim, coming) {
        // What such a pod takes is not known: it may be all.
        _ if load.has_unreadable() => Resources::default(),
        (_, Some(claim)) => claim.allocatable.clone(),
        (Some(claim), None) if !is_initialized => filled_up(&node.allocatable, &claim.allocatable),
        _ => node.allocatable.clone(),
    };
    if around.keys.contains(labels::HOSTNAME) && !all_labels.contains_key(labels::HOSTNAME) {
        let name = node.name.as_str().to_owned();
        all_labels.to_mut().insert(labels::HOSTNAME.to_owned(), name);
    }
    let is_asked = |key: &str| around.keys.contains(labels::canonical(key));
    // What daemons ask for is among what anybody asks for.
    let kind = kinds.number(Kind { labels: exact(&all_labels, is_asked), taints });
    let expected = kinds.daemons(kind, is_initialized, around.daemons);
    let overhead = expected.saturating_sub(&load.daemons);
    let room = room(around.resources, &allocatable, &[&load.all, &overhead]);
    let pool = match claim {
        Some(claim) => Some(claim.node_pool.clone()),
        None => all_labels.get(labels::NODE_POOL).and_then(|name| NodePoolName::new(name).ok()),
    };
    let used = match (claim, coming) {
        (Some(claim), None) => claim.capacity.larger(&node.capacity),
        (Some(claim), Some(_)) => claim.capacity.clone(),
        (None, _) => node.capacity.clone(),
    };
    let target = Target::Node(node.name.clone());
    // Karpenter calls a node by its claim's name until it is registered.
    let name = coming.map_or(node.name.as_str(), |claim| claim.name.as_str());
    Existing {
        kind,
        counts: pool.map(|pool| (pool, used)),
        is_starting: !is_initialized,
        ..existing(target, room, is_initialized, name)
    }
}

fn existing(target: Target, room: Amounts, is_initialized: bool, name: &str) -> Existing {
    Existing {
        target,
        kind: KindId::default(),
        room,
        counts: None,
        is_starting: false,
        is_initialized,
        name: name.to_owned(),
    }
}

/// What `allocatable` leaves beside `taken`. Of a resource that `allocatable` does not name nothing is taken: a pod that
/// asks for it finds none, and any other pod is not kept away by it.
///
/// Karpenter: `pkg/utils/resources/resources.go`, `Subtract`.
fn room(resources: &ResourceIndex, allocatable: &Resources, taken: &[&Resources]) -> Amounts {
    let mut room = resources.amounts(allocatable);
    for taken in taken {
        amounts::subtract(&mut room, &resources.amounts(&taken.named_by(allocatable)));
    }
    room
}

/// What a node reports, and where it reports nothing yet what its claim says.
fn filled_up(reported: &Resources, expected: &Resources) -> Resources {
    let mut resources = reported.clone();
    for (name, amount) in expected.iter().filter(|(name, _)| reported.get(name) == 0) {
        if let Ok(name) = model::ResourceName::new(name) {
            resources.set(&name, amount);
        }
    }
    resources
}

/// The labels that a claim's node will have for certain.
fn labels_of(claim: &NodeClaim) -> BTreeMap<String, String> {
    let mut node_labels = BTreeMap::new();
    if let Some(instance) = &claim.instance {
        let entries = [
            (labels::INSTANCE_TYPE, instance.instance_type.as_str()),
            (labels::ZONE, instance.zone.as_str()),
            (labels::CAPACITY_TYPE, instance.capacity_type.as_str()),
        ];
        node_labels.extend(entries.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
    let entries =
        [(labels::NODE_CLASS, claim.node_class.as_str())].into_iter().chain(claim.pool_label());
    node_labels.extend(entries.map(|(key, value)| (key.to_owned(), value.to_owned())));
    node_labels.extend(claim.labels.clone());
    node_labels
}
