//! What is there or coming, as devices see it.

use std::collections::BTreeMap;

use devices::{Allocation, DevicePlace, DevicePlaceKey};
use model::{
    InstanceTypeName, NodeName, NodePoolName, Requirements, dynamic_resources::DeviceFacts,
    facts::Facts, labels, plan::Target,
};

use super::labels_of;
use crate::{index::id::PlaceId, world::World};

/// Existing capacity.
#[derive(Debug)]
pub(crate) struct DeviceHost {
    node: Option<NodeName>,
    node_pool: NodePoolName,
    /// What is certain of its labels.
    requirements: Requirements,
    types: Vec<InstanceTypeName>,
    has_templates: bool,
    /// Whether it may still become several things, all of which must do.
    is_open: bool,
}

impl DeviceHost {
    pub(crate) fn of(
        facts: &Facts,
        world: &World<'_>,
        (observed, target): (&DeviceFacts, &Target),
    ) -> Self {
        match target {
            Target::Node(name) => {
                let Some(node) = facts.nodes.get(name) else {
                    return Self::labeled(&BTreeMap::new(), None);
                };
                let claim = world.claim(name);
                let mut known = node.labels.clone();
                if let Some(claim) = claim.filter(|_| !node.is_registered()) {
                    known.extend(labels_of(claim));
                }
                let hostname = known.entry(labels::HOSTNAME.to_owned());
                hostname.or_insert_with(|| name.to_string());
                let node_pool = claim.map(|claim| claim.node_pool.clone());
                let has_templates = !observed.initialized.contains(name);
                let node = Some(name.clone());
                Self { node, has_templates, ..Self::labeled(&known, node_pool) }
            }
            Target::Claim(name) => {
                let Some(claim) = facts.ledger.claims.get(name) else {
                    return Self::labeled(&BTreeMap::new(), None);
                };
                let node_pool = Some(claim.node_pool.clone());
                let host =
                    Self { has_templates: true, ..Self::labeled(&labels_of(claim), node_pool) };
                if claim.instance.is_some() {
                    return host;
                }
                let mut requirements = claim.requirements.clone();
                requirements.add_all(&host.requirements);
                let types = claim.instance_types.to_vec();
                Self { requirements, types, is_open: true, ..host }
            }
        }
    }

    fn labeled(known: &BTreeMap<String, String>, node_pool: Option<NodePoolName>) -> Self {
        let label = |key: &str| known.get(key);
        let of_label = || label(labels::NODE_POOL).and_then(|name| NodePoolName::new(name).ok());
        let instance_type = label(labels::INSTANCE_TYPE);
        // A node that does not say what it is has devices all the same.
        let instance_type = instance_type.map_or("unknown", String::as_str);
        let pairs = known.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        Self {
            node: None,
            node_pool: node_pool.or_else(of_label).unwrap_or_else(NodePoolName::none),
            requirements: Requirements::of_labels(pairs),
            types: InstanceTypeName::new(instance_type).into_iter().collect(),
            has_templates: false,
            is_open: false,
        }
    }

    /// It as the place called `place`.
    pub(crate) fn place(&self, place: PlaceId) -> DevicePlace<'_> {
        DevicePlace {
            key: DevicePlaceKey::Existing(place.place()),
            node: self.node.as_ref(),
            node_pool: &self.node_pool,
            requirements: &self.requirements,
            types: &self.types,
            has_templates: self.has_templates,
        }
    }

    /// Whether it has the devices whatever it becomes: nothing narrows it any more.
    pub(crate) fn has(&self, allocation: &Allocation) -> bool {
        if !self.is_open {
            return true;
        }
        let mut narrowed = self.requirements.clone();
        narrowed.add_all(&allocation.requirements);
        narrowed == self.requirements && allocation.types.len() == self.types.len()
    }
}
