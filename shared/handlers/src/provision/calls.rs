//! Whether `provision` can rely on the API server's calls of `wake`: the condition `WakeHealthy` of NodePools.

use model::{
    Function, PodKey,
    node_pool::{NodePool, ObservedNodePool},
    wake::WakeFinding,
};
use ports::{Adapters, Cluster as _, Invocation, Ledger as _, NodePools as _};

use super::ProvisionPorts;
use crate::{
    error::{Error, story},
    job::Tally,
    pass::each,
    pulse::Start,
};

/// Conditions that are written at the same time.
const AT_ONCE: usize = 10;

/// What a beat sees of NodePools.
pub(super) struct Pools {
    /// Those that may be static; none if static ones are not kept.
    pub(super) static_pools: Vec<NodePool>,
    /// All of them with their condition; none in a stack without `wake`, or if they cannot be listed.
    pub(super) observed: Vec<ObservedNodePool>,
}

/// The NodePools of a stack without `wake`, if static ones are kept.
pub(super) async fn static_pools<A: Adapters>(
    ports: &ProvisionPorts<'_, A>,
) -> Result<Pools, Error> {
    let keeps_static = ports.settings.policies.static_capacity;
    let static_pools =
        if keeps_static { ports.cluster.node_pools().await?.items } else { Vec::new() };
    Ok(Pools { static_pools, observed: Vec::new() })
}

/// The NodePools of a stack with `wake`. If they cannot be listed, pending pods are polled for.
pub(super) async fn pools<A: Adapters>(ports: &ProvisionPorts<'_, A>) -> Result<Pools, Error> {
    let keeps_static = ports.settings.policies.static_capacity;
    let observed = match ports.node_pools.observed_pools().await {
        Ok(listing) => listing.items,
        Err(error) if keeps_static => return Err(error.into()),
        Err(error) => {
            tracing::warn!(story = story(&error), "whether calls of wake come is not known");
            Vec::new()
        }
    };
    let static_pools = observed.iter().filter(|_| keeps_static);
    let static_pools = static_pools.map(|observed| observed.pool.clone()).collect();
    Ok(Pools { static_pools, observed })
}

/// Has the NodePools say that no call came for the pod, unless a pass beside this one may have been called for it.
/// Nothing fails if that cannot be written: the look has served the pod.
pub(super) async fn note_not_pushed<A: Adapters>(
    ports: &ProvisionPorts<'_, A>,
    start: &Start,
    (observed, pod): (Vec<ObservedNodePool>, PodKey),
    at: &Invocation,
) {
    match ports.ledger.pulse(&at.cluster, Function::Provision).await {
        Ok(pulse) if pulse.sequence == start.pulse.sequence => {}
        Ok(_) => return,
        Err(error) => {
            tracing::warn!(story = story(&error), "whether a call came is not known");
            return;
        }
    }
    tracing::warn!(%pod, "wake was not called for a pending pod");
    let finding = &WakeFinding::PodNotPushed(pod);
    let (written, _) = each(observed, AT_ONCE, ports.clock, at, async |observed| {
        let written = ports.node_pools.update_wake_condition(&observed, finding, at.now).await;
        (observed.pool.name, written)
    })
    .await;
    let mut tally = Tally::default();
    for (name, result) in written {
        tally.note_update(format_args!("condition of NodePool {name}"), result);
    }
}
