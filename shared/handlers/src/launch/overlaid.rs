//! What NodeOverlays make of the instance types of claims that were planned with them: an annotation says so, and
//! others ask for no overlay.
//!
//! Karpenter: `pkg/cloudprovider/overlay` of the core, through which the AWS provider's `Create` sees instance types.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::try_join;
use launch_template::of_status;
use model::{
    InstanceType, NodeClaim, NodeClassName, NodePoolName, RegionCatalog, labels, ledger::Snapshot,
};
use planner::Overlaid;
use ports::{Adapters, Cluster as _, Invocation, PortError};

use super::{Batch, LaunchPorts, prepare::Classes};

/// By NodePool, the EC2NodeClass that it refers to, and what overlays make of the types of that class; or why they
/// could not be read.
pub(super) struct Overlays(Result<BTreeMap<NodePoolName, (NodeClassName, Overlaid)>, PortError>);

impl Overlays {
    /// Asks for overlays, if any of `batches` was planned with one. `classes` are what NodePools may refer to.
    pub(super) async fn look<A: Adapters>(
        ports: &LaunchPorts<'_, A>,
        batches: &[Batch],
        (snapshot, catalog, classes): (&Snapshot, &Arc<RegionCatalog>, &Classes),
        at: &Invocation,
    ) -> Self {
        if !batches.iter().flat_map(|batch| &batch.claims).any(is_overlaid) {
            return Self(Ok(BTreeMap::new()));
        }
        let LaunchPorts { cluster, memory, .. } = *ports;
        let read = Box::pin(try_join(cluster.node_pools(), cluster.node_overlays())).await;
        Self(read.map(|(pools, overlays)| {
            let listed = classes.listed.iter();
            let ready = listed.filter_map(|listed| of_status(listed, &classes.live, at.now).ok());
            let offered = ready.map(|class| {
                let types = memory.offers.offer(catalog, &class, snapshot, at.now);
                (class.class.name, types)
            });
            let offered: BTreeMap<NodeClassName, Vec<Arc<InstanceType>>> = offered.collect();
            let types = |class: &NodeClassName| offered.get(class).map(Vec::as_slice);
            let mut overlaid = planner::overlays_on(&pools.items, &overlays.items, types).pools;
            let pools = pools.items.into_iter();
            let entries = pools.filter_map(|pool| {
                let of_pool = overlaid.remove(&pool.name)?;
                Some((pool.name, (pool.template.node_class, of_pool)))
            });
            entries.collect()
        }))
    }

    /// What `claim` may become, of the types that its class sells: at the prices of the overlays, with what they add.
    pub(super) fn types<'t>(
        &'t self,
        claim: &NodeClaim,
        sold: &'t [Arc<InstanceType>],
    ) -> Result<&'t [Arc<InstanceType>], PortError> {
        if !is_overlaid(claim) {
            return Ok(sold);
        }
        if let Err(error) = &self.0 {
            return Err(error.clone());
        }
        Ok(self.of(claim).map_or(sold, |overlaid| &overlaid.types))
    }

    /// `known`, of which `claim` got an instance, with the capacity that overlays add. Its prices are the bill's.
    pub(super) fn extended(
        &self,
        claim: &NodeClaim,
        known: &Arc<InstanceType>,
    ) -> Arc<InstanceType> {
        let overlaid = self.of(claim).filter(|overlaid| overlaid.extended.contains(&known.name));
        let of_name = |wanted: &&Arc<InstanceType>| wanted.name == known.name;
        let Some(more) = overlaid.and_then(|overlaid| overlaid.types.iter().find(of_name)) else {
            return Arc::clone(known);
        };
        let mut extended = InstanceType::clone(known);
        for (name, amount) in &more.capacity.extended {
            extended.capacity.set(name, *amount);
        }
        Arc::new(extended)
    }

    fn of(&self, claim: &NodeClaim) -> Option<&Overlaid> {
        let (class, overlaid) = self.0.as_ref().ok()?.get(&claim.node_pool)?;
        (is_overlaid(claim) && *class == claim.node_class).then_some(overlaid)
    }
}

/// Whether overlays changed the price or the capacity of a type that `claim` may become, when it was planned.
fn is_overlaid(claim: &NodeClaim) -> bool {
    let names = [labels::PRICE_OVERLAY_APPLIED, labels::CAPACITY_OVERLAY_APPLIED];
    names.iter().any(|name| claim.is_marked(name))
}
