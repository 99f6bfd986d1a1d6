//! What is known of devices before a pass begins, beside the objects about them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    InstanceTypeName, NodeName, NodePoolName, dynamic_resources::DeviceTemplates, node::Node,
    node_class::NodeClass, node_pool::NodePool, policies::Policies,
};

use crate::aws::{DeviceDrivers, InstanceDevices};

/// The devices of instance types that drivers will publish, as far as gates say that there are drivers: of each of
/// `pools`, by what its class may launch and has launched.
pub fn templates_of_pools<'c>(
    policies: &Policies,
    classes: impl Iterator<Item = (&'c NodeClass, impl Iterator<Item = &'c InstanceTypeName>)>,
    pools: &[NodePool],
) -> BTreeMap<NodePoolName, BTreeMap<InstanceTypeName, Arc<DeviceTemplates>>> {
    if !policies.dra_nvidia_gpu && !policies.dra_efa {
        return BTreeMap::new();
    }
    let of_class = |(class, types): (&'c NodeClass, _)| {
        let drivers = DeviceDrivers { sharing: class.gpu_sharing, ..DeviceDrivers::of(policies) };
        let types: BTreeSet<&InstanceTypeName> = Iterator::collect(types);
        let templates = |name: &InstanceTypeName| {
            Some((name.clone(), InstanceDevices::all().templates(name, &drivers)?))
        };
        let templates: BTreeMap<_, _> = types.into_iter().filter_map(templates).collect();
        (&class.name, templates)
    };
    let by_class: BTreeMap<_, _> = classes.map(of_class).collect();
    let of_pool = |pool: &NodePool| {
        let templates = by_class.get(&pool.template.node_class)?;
        (!templates.is_empty()).then(|| (pool.name.clone(), templates.clone()))
    };
    pools.iter().filter_map(of_pool).collect()
}

/// The nodes that are initialized: their drivers have published their devices.
pub fn initialized<'n>(nodes: impl Iterator<Item = &'n Node>) -> BTreeSet<NodeName> {
    nodes.filter(|node| node.is_initialized()).map(|node| node.name.clone()).collect()
}
