//! Where a plan puts pods that claim devices.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    InstanceTypeName, NodeClaim, NodeName, NodePoolName, Plan, PodKey, Requirement, Requirements,
    dynamic_resources::{
        DeviceTemplates, NodeSelector, NodeSelectorTerm, ResourceClaim, ResourceClaimKey,
        SliceAccess,
    },
    labels,
    node::Node,
    requirements::Undefined,
};

use super::{names, stock::Stock};
use crate::{
    Violation,
    room::place::{Labels, Place, place, seat},
    world::{World, labels_of},
};

/// A node, or what becomes one.
pub(super) struct Seat<'a> {
    pub(super) text: String,
    pub(super) pods: Vec<&'a PodKey>,
    /// Those of its pods that have no devices, by name.
    pub(super) claims: BTreeMap<&'a ResourceClaimKey, &'a ResourceClaim>,
    /// Those that have devices, and stay with them.
    pub(super) allocated: Vec<&'a ResourceClaim>,
    pub(super) node: Option<&'a NodeName>,
    /// Labels of a node; of a claim what they will be.
    requirements: Requirements,
    /// Whether it may still become several things: what is not certain of its labels is not relied on.
    pub(super) is_open: bool,
    /// Whether templates stand for its devices.
    pub(super) has_templates: bool,
    pub(super) node_pool: Option<NodePoolName>,
    /// All of them must do.
    pub(super) types: Vec<Option<InstanceTypeName>>,
}

/// The seats of `plan` whose pods have claims.
pub(super) fn seats<'a>(world: &'a World<'a>, plan: &'a Plan) -> Vec<Seat<'a>> {
    let mut pods_at: BTreeMap<Place<'a>, Vec<&'a PodKey>> = BTreeMap::new();
    for placement in &plan.placements {
        if let Ok(place) = place(world, &placement.target) {
            pods_at.entry(place).or_default().extend(&placement.pods);
        }
    }
    let created = plan.new_claims.iter().map(|new| (of_claim(&new.claim), &new.claim.pods));
    let created = created.map(|(seat, pods)| (Some(seat), pods.iter().collect()));
    let there = pods_at.into_iter().map(|(place, pods)| (of_place(world, place), pods));
    let seats = created.chain(there).filter_map(|(seat, pods): (Option<Seat<'a>>, Vec<_>)| {
        let (allocated, open): (Vec<_>, Vec<_>) = claims_of(world, &pods)
            .partition(|claim| claim.allocation.is_some() && super::is_kept(world, claim));
        let claims: BTreeMap<_, _> = open.into_iter().map(|claim| (&claim.key, claim)).collect();
        let has_any = !claims.is_empty() || !allocated.is_empty();
        has_any.then_some(Seat { pods, claims, allocated, ..seat? })
    });
    seats.collect()
}

fn claims_of<'a>(
    world: &'a World<'a>,
    pods: &[&PodKey],
) -> impl Iterator<Item = &'a ResourceClaim> {
    let pods = pods.iter().filter_map(|key| world.pods.get(key));
    let keys: BTreeSet<ResourceClaimKey> = pods.flat_map(|pod| names(pod)).collect();
    keys.into_iter().filter_map(|key| world.device_claims.by_key.get(&key).copied())
}

fn of_claim<'a>(claim: &NodeClaim) -> Seat<'a> {
    Seat {
        text: format!("claim {}", claim.name),
        pods: Vec::new(),
        claims: BTreeMap::new(),
        allocated: Vec::new(),
        node: None,
        requirements: labels_of(claim),
        is_open: true,
        has_templates: true,
        node_pool: Some(claim.node_pool.clone()),
        types: claim.instance_types.iter().cloned().map(Some).collect(),
    }
}

fn of_place<'a>(world: &'a World<'a>, place: Place<'a>) -> Option<Seat<'a>> {
    let there = seat(world, place)?;
    let claim = match place {
        Place::Claim(name) => world.facts.ledger.claims.get(name),
        Place::Node(name) => world.claim_of.get(name).copied(),
    };
    let mut requirements = match there.labels {
        Labels::Open(claim) => return Some(of_claim(claim)),
        Labels::Known(requirements) => requirements,
    };
    let node: Option<&'a Node> = there.node;
    if let Some(node) = node.filter(|_| !requirements.contains(labels::HOSTNAME)) {
        requirements.add_all(&Requirements::of_labels([(labels::HOSTNAME, node.name.as_str())]));
    }
    let label = |key: &str| Some(requirements.get(key)?.single_value()?.to_string());
    let node_pool = claim.map(|claim| claim.node_pool.clone());
    let of_label = || NodePoolName::new(&label(labels::NODE_POOL)?).ok();
    let instance_type =
        label(labels::INSTANCE_TYPE).and_then(|name| InstanceTypeName::new(&name).ok());
    let initialized = world.facts.devices.as_ref().map(|devices| &devices.initialized);
    Some(Seat {
        text: there.shown,
        pods: Vec::new(),
        claims: BTreeMap::new(),
        allocated: Vec::new(),
        node: node.map(|node| &node.name),
        is_open: false,
        has_templates: node
            .is_none_or(|node| !initialized.is_some_and(|names| names.contains(&node.name))),
        node_pool: node_pool.or_else(of_label),
        types: vec![instance_type],
        requirements,
    })
}

impl<'a> Seat<'a> {
    /// Whether devices with this access are in reach.
    pub(super) fn reaches(&self, access: &SliceAccess) -> bool {
        match access {
            SliceAccess::AllNodes => true,
            SliceAccess::Node(name) => self.node == Some(name),
            SliceAccess::Selector(selector) => self.is_selected(selector),
            SliceAccess::Unsupported => false,
        }
    }

    fn is_selected(&self, selector: &NodeSelector) -> bool {
        let mut terms = selector.terms.iter();
        terms.any(|term| self.is_named(term) && self.is_certain_of(&term.requirements))
    }

    /// Whether it is a node that the selector allows by name.
    pub(super) fn is_among(&self, selector: &NodeSelector) -> bool {
        selector.terms.iter().all(|term| self.is_named(term))
    }

    fn is_named(&self, term: &NodeSelectorTerm) -> bool {
        let names = term.nodes.as_ref();
        names.is_none_or(|names| self.node.is_some_and(|node| names.contains(node)))
    }

    /// Whether the node has such labels, whatever a claim becomes.
    fn is_certain_of(&self, wanted: &Requirements) -> bool {
        if !self.is_open {
            return self.requirements.compatible(wanted, Undefined::WellKnown).is_ok();
        }
        wanted.iter().all(|wanted| {
            let label = self.requirements.get(wanted.key().as_str());
            let is_within = |label: &Requirement| label.intersection(wanted) == *label;
            label.map_or_else(|| wanted.allows_absence(), is_within)
        })
    }

    pub(super) fn violation(&self, place: &str, why: String) -> Violation {
        let pods = self.pods.iter().map(|pod| (*pod).clone()).collect();
        Violation::Devices { place: place.to_owned(), pods, why }
    }

    /// What is known before of the devices of its type of this number.
    pub(super) fn templates(
        &self,
        stock: &Stock<'a>,
        number: usize,
    ) -> Option<&'a DeviceTemplates> {
        let name = self.types.get(number)?.as_ref()?;
        let types = stock.facts.templates.get(self.node_pool.as_ref()?)?;
        types.get(name).map(|templates| &**templates)
    }
}
