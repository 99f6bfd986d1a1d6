//! The cluster as disruption sees it: nodes with their claims, NodePools and pods.
//!
//! Karpenter: `pkg/controllers/state/{cluster,statenode}.go`.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use super::{Options, calm::History, conditions::Drift};
use crate::{
    eviction::DisruptionBudgets,
    index::{id::kind, table::Table},
    scheduling::{
        facts::overlay::{self, Overlays},
        launchable::known::KnownTypes,
        provision::{is_idle, placements_with},
    },
    world::World,
};
use jiff::{SignedDuration, Timestamp};
use model::{
    InstanceType, NodeClaim, NodeName, Pod, PodKey,
    facts::Facts,
    labels,
    node::Node,
    node_pool::NodePool,
    plan::{Placement, Target},
};

/// How long a node is spared for pods that fit onto it.
const NOMINATION: SignedDuration = SignedDuration::from_secs(20);

/// A node, a claim, or both joined.
#[derive(Debug)]
pub struct StateNode<'a> {
    pub(crate) node: Option<&'a Node>,
    pub(crate) claim: Option<&'a NodeClaim>,
    /// Every pod that is bound to it, in the order of the facts.
    pub(crate) pods: Vec<&'a Pod>,
    /// Whether a command disrupts it once its replacement is there.
    is_being_replaced: bool,
    /// Whether its claim has drifted, once that was asked.
    pub(super) drift: OnceCell<Drift>,
}

impl<'a> StateNode<'a> {
    /// The node's name; the claim's, while there is no node.
    pub(crate) fn name(&self) -> &'a str {
        let claim = self.claim.map(|claim| claim.name.as_str());
        self.node.map(|node| node.name.as_str()).or(claim).unwrap_or_default()
    }

    /// The node's labels once it is registered, its claim's before.
    fn labels(&self) -> Option<&'a BTreeMap<String, String>> {
        match (self.node, self.claim) {
            (Some(node), Some(claim)) if !node.is_registered() => Some(&claim.labels),
            (Some(node), _) => Some(&node.labels),
            (None, claim) => claim.map(|claim| &claim.labels),
        }
    }

    pub(crate) fn label(&self, key: &str) -> Option<&'a str> {
        self.labels()?.get(key).map(String::as_str)
    }

    /// All of the labels.
    pub(crate) fn all_labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let flatten = self.labels().into_iter().flatten();
        flatten.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&'a str> {
        let annotations = match (self.node, self.claim) {
            (Some(node), Some(claim)) if !node.is_registered() => Some(&claim.annotations),
            (Some(node), _) => Some(&node.annotations),
            (None, claim) => claim.map(|claim| &claim.annotations),
        };
        annotations?.get(key).map(String::as_str)
    }

    pub(crate) fn is_initialized(&self) -> bool {
        self.node.is_some_and(Node::is_initialized)
    }

    /// Whether it is on its way out, whatever the reason.
    pub(crate) fn is_marked_for_deletion(&self) -> bool {
        match self.claim {
            Some(claim) => {
                claim.is_deleting() || claim.is_instance_terminating() || self.is_being_replaced
            }
            None => self.node.is_some_and(|node| node.is_deleting),
        }
    }

    /// The pool that its label names.
    pub(crate) fn pool_name(&self) -> Option<&'a str> {
        self.label(labels::NODE_POOL)
    }
}

/// The cluster.
#[derive(Clone, Debug)]
pub struct State<'a> {
    pub(crate) facts: &'a Facts,
    /// The present, or a moment after it in which only the clock has moved.
    pub(crate) now: Timestamp,
    /// By name.
    pub nodes: Rc<Table<kind::Node, StateNode<'a>>>,
    pub(crate) budgets: Rc<DisruptionBudgets<'a>>,
    /// Pods that are protected, if not for good.
    pub(crate) guarded: Rc<[&'a Pod]>,
    overlays: Rc<Overlays>,
    /// What was moved lately.
    pub history: Rc<History>,
    /// Nodes that pods were nominated to, and until when.
    pub(crate) nominated: BTreeMap<&'a NodeName, Timestamp>,
    /// Nodes that keep room for a CapacityBuffer.
    pub(crate) hosts_buffers: BTreeSet<NodeName>,
    /// See [`Options`].
    pub(crate) is_watched: bool,
    /// See [`Options`].
    pub(crate) is_catalog_whole: bool,
    /// See [`Options`].
    types: KnownTypes,
    pools: BTreeMap<&'a str, &'a NodePool>,
}

impl<'a> State<'a> {
    /// What `facts` say, at `now`.
    pub fn of(facts: &'a Facts, now: Timestamp, options: &Options) -> Self {
        let world = World::of(facts);
        let mut pods: BTreeMap<&NodeName, Vec<&Pod>> = BTreeMap::new();
        for (node, pod) in facts.pods.iter().filter_map(|pod| Some((pod.node.as_ref()?, pod))) {
            pods.entry(node).or_default().push(pod);
        }
        let is_guarded = |pod: &&Pod| pod.spec.annotations.contains_key(labels::DO_NOT_DISRUPT);
        let bound = facts.pods.iter().filter(|pod| pod.node.is_some());
        // Of a starting node of unknown type, only the claim counts.
        let is_unknown = |node: &Node| {
            !node.is_initialized() && !node.labels.contains_key(labels::INSTANCE_TYPE)
        };
        let is_joined = |node: &Node| world.claim(&node.name).is_none() || !is_unknown(node);
        let joined = facts.nodes.values().filter(|node| is_joined(node)).map(|node| StateNode {
            node: Some(node),
            claim: world.claim(&node.name),
            pods: pods.remove(&node.name).unwrap_or_default(),
            is_being_replaced: world
                .claim(&node.name)
                .is_some_and(|claim| world.is_being_replaced(claim)),
            drift: OnceCell::new(),
        });
        let mut nodes: Vec<StateNode<'_>> = joined.collect();
        let claims = facts.ledger.claims.values();
        let alone = claims.filter(|claim| !world.node(claim).is_some_and(is_joined));
        nodes.extend(alone.map(|claim| StateNode {
            node: None,
            claim: Some(claim),
            pods: Vec::new(),
            is_being_replaced: world.is_being_replaced(claim),
            drift: OnceCell::new(),
        }));
        nodes.sort_by_key(StateNode::name);
        Self {
            facts,
            now,
            nodes: Rc::new(nodes.into_iter().collect()),
            budgets: Rc::new(DisruptionBudgets::of(facts)),
            guarded: bound.filter(is_guarded).collect(),
            overlays: Rc::new(overlay::overlays(facts)),
            history: Rc::new(History::of(facts, now)),
            nominated: facts.surroundings.nominated.iter().map(|(node, at)| (node, *at)).collect(),
            hosts_buffers: hosts_of_buffers(facts, &options.types),
            is_watched: options.is_watched,
            is_catalog_whole: options.is_catalog_whole,
            types: options.types.clone(),
            pools: facts.node_pools.iter().map(|pool| (pool.name.as_str(), pool)).collect(),
        }
    }

    /// Whether every claim has an instance. Until then Karpenter decides nothing. For which pods the
    /// replacements of a command are is known before they are launched: who reads the ledger does not
    /// wait for them.
    ///
    /// Karpenter: `pkg/controllers/state/cluster.go`, `Synced`.
    pub(crate) fn is_complete(&self) -> bool {
        let ledger = &self.facts.ledger;
        let replacements = if self.is_watched { BTreeSet::new() } else { ledger.replacements() };
        let is_known =
            |claim: &NodeClaim| claim.instance.is_some() || replacements.contains(&claim.name);
        ledger.claims.values().all(is_known)
    }

    /// The NodePool called `name`; `None` if it does not exist or is static.
    pub fn pool(&self, name: &str) -> Option<&'a NodePool> {
        self.pools.get(name).copied()
    }

    /// What the class of `pool` offers, with what overlays make of it, sorted by name.
    pub(crate) fn types(&self, pool: &NodePool) -> &[Arc<InstanceType>] {
        if let Some(overlaid) = self.overlays.pools.get(&pool.name) {
            return &overlaid.types;
        }
        self.facts.ready_types(&pool.template.node_class).unwrap_or_default()
    }

    /// Why the class of `pool` offers nothing, if it is not ready.
    pub(crate) fn why_not_ready(&self, pool: &NodePool) -> Option<String> {
        let class = &pool.template.node_class;
        self.facts.classes.as_ref()?.get(class)?.why_not_ready(class)
    }

    pub(crate) fn instance_type(&self, pool: &NodePool, name: &str) -> Option<&Arc<InstanceType>> {
        let types = self.types(pool);
        let place =
            types.binary_search_by(|instance_type| instance_type.name.as_str().cmp(name)).ok()?;
        types.get(place)
    }

    /// Whether anybody looked at what can be bought. Emptiness does without.
    pub(crate) fn knows_offers(&self) -> bool {
        self.facts.classes.is_some()
    }

    /// Spares the nodes that pending pods fit onto, which are planned anew on every look. Virtual pods of CapacityBuffers
    /// spare none: their nodes would never be disrupted.
    pub(crate) fn spare_for_pending(&mut self) {
        let until = self.now.checked_add(NOMINATION).unwrap_or(self.now);
        for name in hosts_of_pending(self.facts, &self.types) {
            if let Some((name, _)) = self.facts.nodes.get_key_value(&name) {
                self.nominated.insert(name, until);
            }
        }
    }

    /// The same cluster at another moment.
    pub(crate) fn at(&self, now: Timestamp) -> Self {
        Self { now, ..self.clone() }
    }

    pub(crate) fn is_nominated(&self, node: &NodeName) -> bool {
        self.nominated.get(node).is_some_and(|until| self.now < *until)
    }
}

/// The nodes onto which the virtual pods of CapacityBuffers go.
fn hosts_of_buffers(facts: &Facts, types: &KnownTypes) -> BTreeSet<NodeName> {
    if !facts.policies.capacity_buffer || facts.surroundings.capacity_buffers.is_empty() {
        return BTreeSet::new();
    }
    hosts(facts, types, true)
}

/// The nodes that pending pods fit onto, which a plan nominates for them.
pub fn hosts_of_pending(facts: &Facts, types: &KnownTypes) -> BTreeSet<NodeName> {
    if is_idle(facts) { BTreeSet::new() } else { hosts(facts, types, false) }
}

/// The nodes that take pods which wait: virtual pods of CapacityBuffers if they `are_virtual`, otherwise real ones.
fn hosts(facts: &Facts, types: &KnownTypes, are_virtual: bool) -> BTreeSet<NodeName> {
    let real: BTreeSet<&PodKey> = facts.pods.iter().map(|pod| &pod.key).collect();
    let takes =
        |placement: &Placement| placement.pods.iter().any(|pod| real.contains(pod) != are_virtual);
    let placements = placements_with(facts, types).into_iter().filter(takes);
    let nodes = placements.filter_map(|placement| match placement.target {
        Target::Node(node) => Some(node),
        Target::Claim(_) => None,
    });
    nodes.collect()
}
