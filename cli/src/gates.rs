//! What becomes of objects that have no effect without a feature gate.

use std::fmt;

use model::{
    ObjectName, buffer::CapacityBuffer, node_pool::NodePool, overlay::NodeOverlay,
    policies::Policies,
};

/// A line for each of `pools` that has replicas while the feature gate for them is off.
pub(crate) fn unkept<'a>(
    pools: impl IntoIterator<Item = &'a NodePool>,
    policies: &Policies,
) -> Vec<String> {
    let pools = pools.into_iter().filter(|_| !policies.static_capacity);
    let pools = pools.filter(|pool| pool.replicas.is_some());
    pools
        .map(|pool| closed(&format!("NodePool {}: spec.replicas", pool.name), "StaticCapacity"))
        .collect()
}

/// A line for each of `overlays` and `buffers` whose feature gate is off.
pub(crate) fn without_effect<'a>(
    overlays: impl IntoIterator<Item = &'a NodeOverlay>,
    buffers: impl IntoIterator<Item = &'a CapacityBuffer>,
    policies: &Policies,
) -> Vec<String> {
    let overlays = overlays.into_iter().filter(|_| !policies.node_overlay);
    let overlays =
        overlays.map(|overlay| closed(&format!("NodeOverlay {}", overlay.name), "NodeOverlay"));
    let buffers = buffers.into_iter().filter(|_| !policies.capacity_buffer);
    let buffers = buffers.map(|buffer| {
        let object = format!("CapacityBuffer {}/{}", buffer.namespace, buffer.name);
        closed(&object, "CapacityBuffer")
    });
    overlays.chain(buffers).collect()
}

/// The line about the NodeOverlay `name`, which is not applied.
pub(crate) fn rejected(name: &ObjectName, why: impl fmt::Display) -> String {
    format!("NodeOverlay {name} changes nothing: {why}")
}

/// A line for each of `overlays` that changes prices, while its feature gate is on: which prices are whose.
pub(crate) fn priced<'a>(
    overlays: impl IntoIterator<Item = &'a NodeOverlay>,
    policies: &Policies,
) -> Vec<String> {
    let overlays = overlays.into_iter().filter(|_| policies.node_overlay);
    let overlays = overlays.filter(|overlay| overlay.price.is_some());
    overlays
        .map(|overlay| {
            format!(
                "NodeOverlay {}: plans and decisions have the prices that it sets; launched instances and costs \
                 have EC2's own",
                overlay.name
            )
        })
        .collect()
}

fn closed(object: &str, gate: &str) -> String {
    format!("{object} has no effect: the feature gate {gate} is off (--feature-gates {gate}=true)")
}
