//! The facts, arranged for looking things up. No judgement here.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CommandId, InstanceType, InstanceTypeName, NodeClaim, NodeClaimName, NodeClassName, NodeName,
    NodePoolName, Plan, Pod, PodKey, Requirements, Resources,
    disruption::{Command, Progress},
    facts::{Daemon, Facts, daemons},
    labels,
    node::Node,
    node_pool::NodePool,
};

use crate::{devices::DeviceClaims, overlays::Changed};

/// The facts by name, and which node belongs to which claim.
pub(crate) struct World<'a> {
    pub(crate) facts: &'a Facts,
    /// What DaemonSets put onto nodes.
    pub(crate) daemons: Vec<Daemon>,
    pub(crate) pods: BTreeMap<&'a PodKey, &'a Pod>,
    pub(crate) pods_on: BTreeMap<&'a NodeName, Vec<&'a Pod>>,
    pub(crate) pools: BTreeMap<&'a NodePoolName, &'a NodePool>,
    pub(crate) node_of: BTreeMap<&'a NodeClaimName, &'a Node>,
    pub(crate) claim_of: BTreeMap<&'a NodeName, &'a NodeClaim>,
    types: BTreeMap<(&'a NodeClassName, &'a InstanceTypeName), &'a InstanceType>,
    /// What overlays make of types, by pool.
    changed_types: &'a Changed,
    /// Claims that commands of the ledger delete once something took their place.
    replaced: BTreeSet<&'a NodeClaimName>,
    /// Claims that commands which the plan begins delete then.
    begun: BTreeSet<&'a NodeClaimName>,
    /// Claims of pods to devices.
    pub(crate) device_claims: DeviceClaims<'a>,
    /// Claims that take their places.
    replacements: BTreeSet<&'a NodeClaimName>,
}

impl<'a> World<'a> {
    pub(crate) fn new(
        facts: &'a Facts,
        plan: &'a Plan,
        virtual_pods: &'a [Pod],
        changed_types: &'a Changed,
    ) -> Self {
        let mut pods_on: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for pod in &facts.pods {
            if let Some(node) = &pod.node {
                pods_on.entry(node).or_default().push(pod);
            }
        }
        let mut by_provider_id = BTreeMap::new();
        for node in facts.nodes.values() {
            by_provider_id.extend(node.provider_id.as_ref().map(|id| (id.clone(), node)));
        }
        let mut node_of = BTreeMap::new();
        let mut claim_of = BTreeMap::new();
        for claim in facts.ledger.claims.values() {
            let by_name = claim.node.as_ref().and_then(|name| facts.nodes.get(name));
            let by_instance = || {
                let provider_id = claim.instance.as_ref()?.provider_id();
                by_provider_id.get(&provider_id).copied()
            };
            if let Some(node) = by_name.or_else(by_instance) {
                node_of.insert(&claim.name, node);
                claim_of.insert(&node.name, claim);
            }
        }
        Self {
            facts,
            daemons: daemons(facts),
            pods: facts.pods.iter().chain(virtual_pods).map(|pod| (&pod.key, pod)).collect(),
            pods_on,
            pools: facts.node_pools.iter().map(|pool| (&pool.name, pool)).collect(),
            node_of,
            claim_of,
            types: types_by_class(facts),
            changed_types,
            replaced: candidates(&facts.ledger.commands, |name| is_coming(facts, name)),
            device_claims: DeviceClaims::of(facts),
            begun: candidates(&plan.started, |_| true),
            replacements: plan.started.values().flat_map(replacements).collect(),
        }
    }

    /// The type called `name` as nodes of the claim's pool would have it, if its class is ready and
    /// offers it.
    pub(crate) fn instance_type(
        &self,
        claim: &'a NodeClaim,
        name: &'a InstanceTypeName,
    ) -> Option<&'a InstanceType> {
        self.type_of((&claim.node_pool, &claim.node_class), name)
    }

    /// The type called `name` as the catalog sells it, whatever overlays make of it.
    pub(crate) fn sold(
        &self,
        class: &NodeClassName,
        name: &InstanceTypeName,
    ) -> Option<&'a InstanceType> {
        let types = self.facts.ready_types(class)?;
        types.iter().find(|sold| sold.name == *name).map(|sold| &**sold)
    }

    fn type_of(
        &self,
        (pool, class): (&'a NodePoolName, &'a NodeClassName),
        name: &'a InstanceTypeName,
    ) -> Option<&'a InstanceType> {
        let offered = self.types.get(&(class, name)).copied()?;
        if self.changed_types.is_empty() {
            return Some(offered);
        }
        Some(self.changed_types.get(&(pool.clone(), name.clone())).unwrap_or(offered))
    }

    /// Everything that the class of a pool offers, as nodes of the pool would have it.
    pub(crate) fn types_of_pool(&self, pool: &'a NodePool) -> Vec<&'a InstanceType> {
        let class = &pool.template.node_class;
        let types = self.facts.ready_types(class).unwrap_or_default();
        types
            .iter()
            .filter_map(|instance_type| self.type_of((&pool.name, class), &instance_type.name))
            .collect()
    }

    /// Those of the claim's instance types that its class offers, in the claim's order.
    pub(crate) fn types_of(&self, claim: &'a NodeClaim) -> Vec<&'a InstanceType> {
        let named = claim.instance_types.iter();
        named.filter_map(|name| self.instance_type(claim, name)).collect()
    }

    /// Whether the pool has `replicas`, and its nodes are kept.
    pub(crate) fn is_static(&self, pool: &NodePoolName) -> bool {
        let pool = self.pools.get(pool);
        self.facts.policies.static_capacity && pool.is_some_and(|pool| pool.replicas.is_some())
    }

    /// Whether the claim takes the place of another of a pool with `replicas`, whose number it does not change.
    pub(crate) fn is_static_replacement(&self, claim: &NodeClaim) -> bool {
        let pool = self.pools.get(&claim.node_pool);
        self.replacements.contains(&claim.name) && pool.is_some_and(|pool| pool.replicas.is_some())
    }

    /// Whether the claim goes, now or once something took its place.
    pub(crate) fn is_ending(&self, claim: &NodeClaim) -> bool {
        claim.is_deleting()
            || self.is_being_replaced(&claim.name)
            || self.begun.contains(&claim.name)
    }

    /// Whether a command of the ledger deletes the claim once something took its place.
    pub(crate) fn is_being_replaced(&self, claim: &NodeClaimName) -> bool {
        self.replaced.contains(claim)
    }

    /// Whether what is on the node has to go elsewhere.
    pub(crate) fn is_node_ending(&self, node: &NodeName) -> bool {
        match (self.claim_of.get(node), self.facts.nodes.get(node)) {
            (Some(claim), _) => self.is_ending(claim),
            (None, Some(node)) => node.is_deleting,
            (None, None) => true,
        }
    }
}

/// The candidates of those `commands` whose replacements are all still to come or there.
fn candidates(
    commands: &BTreeMap<CommandId, Command>,
    is_coming: impl Fn(&NodeClaimName) -> bool,
) -> BTreeSet<&NodeClaimName> {
    let launching = commands.values().filter(|command| match &command.progress {
        Progress::Launching { claims, .. } => claims.iter().all(&is_coming),
        Progress::Rebooting { .. } => true,
        Progress::Found
        | Progress::RolledBack { .. }
        | Progress::Moved { .. }
        | Progress::Halted(_)
        | Progress::Accepted(_) => false,
    });
    launching.flat_map(|command| &command.candidates).collect()
}

/// The claims that take the places of the candidates of `command`.
fn replacements(command: &Command) -> &[NodeClaimName] {
    match &command.progress {
        Progress::Launching { claims, .. } => claims,
        _ => &[],
    }
}

/// Whether a claim is there and stays, or cannot be read.
fn is_coming(facts: &Facts, name: &NodeClaimName) -> bool {
    let mut unreadable = facts.ledger.unreadable.iter();
    match facts.ledger.claims.get(name) {
        Some(claim) => !claim.is_deleting(),
        None => unreadable.any(|item| item.claim.as_ref() == Some(name)),
    }
}

fn types_by_class(facts: &Facts) -> BTreeMap<(&NodeClassName, &InstanceTypeName), &InstanceType> {
    let mut instance_types = BTreeMap::new();
    for (class, types) in facts.ready_classes() {
        instance_types.extend(types.iter().map(|t| ((class, &t.name), &**t)));
    }
    instance_types
}

/// What is known about the labels of a claim's node before there is one: its requirements, its own
/// labels, and those of its pool and class.
pub(crate) fn labels_of(claim: &NodeClaim) -> Requirements {
    let mut requirements = claim.requirements.clone();
    let map = claim.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    requirements.add_all(&Requirements::of_labels(map));
    let class = [(labels::NODE_CLASS, claim.node_class.as_str())];
    let known = class.into_iter().chain(claim.pool_label());
    requirements.add_all(&Requirements::of_labels(known));
    requirements
}

/// Capacity less overhead, and memory less every huge page (specification §4.1).
pub(crate) fn allocatable(instance_type: &InstanceType) -> Resources {
    let mut left = instance_type.capacity.saturating_sub(&instance_type.overhead);
    for (name, amount) in instance_type.capacity.iter() {
        if name.starts_with("hugepages-") {
            left.memory.0 = left.memory.0.saturating_sub(amount);
        }
    }
    left
}
