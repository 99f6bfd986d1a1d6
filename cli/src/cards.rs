//! Nodes of facts and plans as cards of a page.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    HourlyPrice, InstanceType, NodeClaim, NodeClassName, NodeName, NodePoolName, OfferingKey, Plan,
    Pod, PodKey, Resources,
    facts::Facts,
    node::Node,
    plan::{NewClaim, Target},
    words::counted,
};
use report::{
    contents::{Mark, PackedNode, PackedPod, micros},
    packing::Packer,
};

use crate::workloads::owner;

/// What cards are made of.
pub(crate) struct Cards<'f> {
    facts: &'f Facts,
    pods: BTreeMap<&'f PodKey, &'f Pod>,
    on: BTreeMap<&'f NodeName, Vec<&'f Pod>>,
    claims: BTreeMap<&'f NodeName, &'f NodeClaim>,
}

impl<'f> Cards<'f> {
    /// Of the nodes and pods in `facts`.
    pub(crate) fn of(facts: &'f Facts) -> Self {
        let mut on: BTreeMap<&NodeName, Vec<&Pod>> = BTreeMap::new();
        for pod in facts.pods.iter().filter(|pod| !pod.is_terminal()) {
            pod.node.iter().for_each(|node| on.entry(node).or_default().push(pod));
        }
        let claims = facts.ledger.claims.values();
        let claims = claims.filter_map(|claim| Some((claim.node.as_ref()?, claim))).collect();
        let pods = facts.pods.iter().map(|pod| (&pod.key, pod)).collect();
        Self { facts, pods, on, claims }
    }

    /// The claim of a node.
    pub(crate) fn claim(&self, node: &NodeName) -> Option<&'f NodeClaim> {
        self.claims.get(node).copied()
    }

    /// The pods that run on `node`.
    pub(crate) fn on(&self, node: &NodeName) -> impl Iterator<Item = &'f Pod> {
        self.on.get(node).into_iter().flatten().copied()
    }

    /// The pods called `keys`, as far as they are in the facts.
    fn called<'a>(&'a self, keys: &'a [PodKey]) -> impl Iterator<Item = &'f Pod> + 'a {
        keys.iter().filter_map(|key| self.pods.get(key).copied())
    }

    /// `pods` on a card, each of them there for the reason `why`.
    pub(crate) fn packed<'p>(
        pods: impl Iterator<Item = &'p Pod>,
        why: &str,
        packer: &mut Packer,
    ) -> Vec<PackedPod> {
        pods.map(|pod| packer.pod(pod, owner(pod), why.to_owned())).collect()
    }

    /// The pods called `keys` on a card.
    pub(crate) fn packed_keys(
        &self,
        keys: &[PodKey],
        why: &str,
        packer: &mut Packer,
    ) -> Vec<PackedPod> {
        Self::packed(self.called(keys), why, packer)
    }

    /// A node that is there, with these pods, and what would become of it.
    pub(crate) fn standing(
        &self,
        node: &Node,
        pods: Vec<PackedPod>,
        (mark, why): (Option<Mark>, Vec<usize>),
    ) -> PackedNode {
        let claim = self.claim(&node.name);
        let instance = claim.and_then(|claim| claim.instance.as_ref());
        PackedNode {
            name: node.name.to_string(),
            kind: instance.map(|instance| instance.offering().to_string()).unwrap_or_default(),
            pool: claim.map(|claim| claim.node_pool.to_string()).unwrap_or_default(),
            // A price that is not known is none.
            price: instance
                .map(|instance| micros(instance.price.nanos().into()))
                .filter(|micros| 0 < *micros),
            cpu: node.allocatable.cpu.0,
            memory: node.allocatable.memory.0,
            mark,
            why,
            pods,
        }
    }

    /// The instance type of `offering`, as nodes of `class` have it; `None` where that is not known.
    pub(crate) fn sold(
        &self,
        class: &NodeClassName,
        offering: &OfferingKey,
    ) -> Option<&'f InstanceType> {
        let mut types = self.facts.ready_types(class)?.iter();
        types.find(|sold| sold.name == offering.instance_type).map(Arc::as_ref)
    }

    /// A node that would be launched for `pool`, without name and pods.
    pub(crate) fn fresh(
        pool: &NodePoolName,
        (offering, price): (&OfferingKey, HourlyPrice),
        allocatable: &Resources,
    ) -> PackedNode {
        PackedNode {
            name: String::new(),
            kind: offering.to_string(),
            pool: pool.to_string(),
            price: Some(micros(price.nanos().into())),
            cpu: allocatable.cpu.0,
            memory: allocatable.memory.0,
            mark: Some(Mark::Comes),
            why: Vec::new(),
            pods: Vec::new(),
        }
    }

    /// A node that would be launched, as its cheapest offering.
    pub(crate) fn launched(&self, new: &NewClaim, packer: &mut Packer) -> PackedNode {
        let claim = &new.claim;
        let sold = self.sold(&claim.node_class, &new.cheapest);
        let allocatable = sold.map_or_else(|| claim.allocatable.clone(), InstanceType::allocatable);
        let why = format!(
            "It would be launched for {} of NodePool {}, and can be any of {}, of which {} is the cheapest",
            counted(claim.pods.len(), "pod"),
            claim.node_pool,
            counted(new.possible.len(), "instance type"),
            new.cheapest,
        );
        let offering = (&new.cheapest, new.price);
        PackedNode {
            name: format!("new: {}", claim.name),
            why: vec![packer.text(why)],
            pods: self.packed_keys(&claim.pods, "no node that is there has room for it", packer),
            ..Self::fresh(&claim.node_pool, offering, &allocatable)
        }
    }

    /// Nodes as `plan` would have them: what it launches, and what is there with what runs and what would come.
    pub(crate) fn planned<'p>(
        &self,
        new_claims: impl Iterator<Item = &'p NewClaim>,
        plan: &Plan,
        packer: &mut Packer,
    ) -> Vec<PackedNode> {
        let mut nodes: Vec<PackedNode> = new_claims.map(|new| self.launched(new, packer)).collect();
        let mut coming: BTreeMap<&NodeName, Vec<PackedPod>> = BTreeMap::new();
        for placement in &plan.placements {
            let Target::Node(node) = &placement.target else { continue };
            let why = "it would come here: the node has room for it";
            let pods = self.packed_keys(&placement.pods, why, packer);
            coming.entry(node).or_default().extend(pods);
        }
        for node in self.facts.nodes.values() {
            let mut pods = Self::packed(self.on(&node.name), "it runs here", packer);
            pods.extend(coming.remove(&node.name).unwrap_or_default());
            let claim = self.claim(&node.name).map(|claim| &claim.name);
            let changed = plan.changes.iter().find(|changed| Some(&changed.name) == claim);
            let deletion = changed.and_then(|changed| changed.deletion.as_ref());
            let why = deletion
                .map(|deletion| packer.text(format!("It is disrupted: {}", deletion.reason)));
            let fate = (deletion.map(|_| Mark::Goes), why.into_iter().collect());
            nodes.push(self.standing(node, pods, fate));
        }
        nodes
    }
}
