//! What becomes of objects that have no effect without a feature gate.

use std::fmt;

use model::{
    ObjectName, buffer::CapacityBuffer, node_pool::NodePool, overlay::NodeOverlay,
    policies::Policies,
};

/// Where a command has its feature gates from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gates<'a> {
    /// `--feature-gates` changes these.
    OfOption(&'a Policies),
    /// No option changes these: the command is called so.
    Fixed(&'static str, &'a Policies),
}

impl<'a> Gates<'a> {
    const fn policies(self) -> &'a Policies {
        match self {
            Self::OfOption(policies) | Self::Fixed(_, policies) => policies,
        }
    }

    /// That `object` has no effect, because `gate` is off.
    fn closed(self, object: &str, gate: &str) -> String {
        let hint = match self {
            Self::OfOption(_) => format!("--feature-gates {gate}=true"),
            Self::Fixed(command, _) => format!("`{command}` uses the default feature gates"),
        };
        format!("{object} has no effect: the feature gate {gate} is off ({hint})")
    }
}

/// A line for each of `pools` that has replicas while the feature gate for them is off.
pub(crate) fn unkept<'a>(
    pools: impl IntoIterator<Item = &'a NodePool>,
    gates: Gates<'_>,
) -> Vec<String> {
    let pools = pools.into_iter().filter(|_| !gates.policies().static_capacity);
    let pools = pools.filter(|pool| pool.replicas.is_some());
    let object = |pool: &NodePool| format!("NodePool {}: spec.replicas", pool.name);
    pools.map(|pool| gates.closed(&object(pool), "StaticCapacity")).collect()
}

/// A line for each of `overlays` and `buffers` whose feature gate is off.
pub(crate) fn without_effect<'a>(
    overlays: impl IntoIterator<Item = &'a NodeOverlay>,
    buffers: impl IntoIterator<Item = &'a CapacityBuffer>,
    gates: Gates<'_>,
) -> Vec<String> {
    let overlays = overlays.into_iter().filter(|_| !gates.policies().node_overlay);
    let overlays = overlays
        .map(|overlay| gates.closed(&format!("NodeOverlay {}", overlay.name), "NodeOverlay"));
    let buffers = buffers.into_iter().filter(|_| !gates.policies().capacity_buffer);
    let buffers = buffers.map(|buffer| {
        let object = format!("CapacityBuffer {}/{}", buffer.namespace, buffer.name);
        gates.closed(&object, "CapacityBuffer")
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
