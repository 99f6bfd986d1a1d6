//! Which claim is which node's.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{NodeClaim, NodeClaimName, NodeName, ProviderId, facts::Facts, node::Node};

/// Claims and their nodes, joined by provider id, or by name once the claim knows it.
#[derive(Debug, Default)]
pub struct World<'a> {
    nodes: BTreeMap<&'a NodeClaimName, &'a Node>,
    claims: BTreeMap<&'a NodeName, &'a NodeClaim>,
    being_replaced: BTreeSet<&'a NodeClaimName>,
}

impl<'a> World<'a> {
    /// Joins the claims of `facts` with their nodes.
    pub fn of(facts: &'a Facts) -> Self {
        let by_provider_id: BTreeMap<&ProviderId, &Node> = facts
            .nodes
            .values()
            .filter_map(|node| Some((node.provider_id.as_ref()?, node)))
            .collect();
        let being_replaced = facts.ledger.being_replaced();
        let mut world = Self { being_replaced, ..Self::default() };
        for claim in facts.ledger.claims.values() {
            let provider_id =
                claim.instance.as_ref().map(model::claim::LaunchedInstance::provider_id);
            let joined = provider_id.and_then(|id| by_provider_id.get(&id).copied());
            let named = || claim.node.as_ref().and_then(|name| facts.nodes.get(name));
            if let Some(node) = joined.or_else(named) {
                world.nodes.insert(&claim.name, node);
                world.claims.insert(&node.name, claim);
            }
        }
        world
    }

    /// The node of `claim`, if it is there.
    pub(crate) fn node(&self, claim: &NodeClaim) -> Option<&'a Node> {
        self.nodes.get(&claim.name).copied()
    }

    /// The claim of `node`, if it has one.
    pub(crate) fn claim(&self, node: &NodeName) -> Option<&'a NodeClaim> {
        self.claims.get(node).copied()
    }

    /// Whether a claim is being deleted, for whatever reason, or will be as soon as its replacement is there.
    pub fn is_leaving(&self, claim: &NodeClaim) -> bool {
        is_being_deleted(claim) || self.is_being_replaced(claim)
    }

    /// Whether a command deletes the claim once its replacement is there: until then its node is in
    /// service, and takes no new pods.
    pub(crate) fn is_being_replaced(&self, claim: &NodeClaim) -> bool {
        self.being_replaced.contains(&claim.name)
    }

    /// The nodes whose claims are being deleted or replaced, and those without a claim that are being deleted:
    /// each with the time by which it is empty, if there is one.
    ///
    /// Karpenter: `pkg/controllers/state/statenode.go`, `MarkedForDeletion`.
    pub(crate) fn leaving(&self, facts: &'a Facts) -> BTreeMap<&'a NodeName, Option<Timestamp>> {
        let leaving =
            self.claims.iter().filter(|(_, claim)| self.is_leaving(claim)).map(|(node, claim)| {
                let deletion = claim.deletion.as_ref();
                (*node, deletion.and_then(|deletion| deletion.deadline))
            });
        let is_alone = |node: &&Node| !self.claims.contains_key(&node.name);
        let deleting = facts.nodes.values().filter(|node| node.is_deleting).filter(is_alone);
        leaving.chain(deleting.map(|node| (&node.name, None))).collect()
    }
}

/// Whether a claim is being deleted, for whatever reason.
pub(crate) fn is_being_deleted(claim: &NodeClaim) -> bool {
    claim.is_deleting() || claim.is_instance_terminating()
}
