//! The ports of the Kubernetes cluster. What it lists is never lagging: the API server's lists are
//! consistent.

use jiff::Timestamp;
use model::{
    Condition, NodeClaim, NodeClaimName, NodeName, Pod, Problem,
    buffer::{BufferStatus, ObservedBuffer},
    claim::SyncedNodeClaim,
    dynamic_resources::ResourceSlice,
    event::{EventObject, ObjectEvent},
    facts::DaemonSet,
    lease::{LedgerLease, ObservedLeases},
    node::{Eviction, EvictionRequest, Node, NodePatch},
    node_class::{ListedNodeClass, NodeClassStatus, ObservedNodeClass},
    node_pool::{NodePool, NodePoolStatus, ObservedNodePool},
    overlay::{NodeOverlay, ObservedOverlay},
    pod::DeletionCost,
    policies::Policies,
    problem::Weight,
    storage::{VolumeAttachment, VolumeClaim, VolumeClaimKey},
    wake::{ProbeAnswer, WakeFinding, WakeWebhooks},
};
use ports::{
    AlphaStatuses, Cluster, Events, Fault, FoundDevices, FoundSelectors, Leases, Listing,
    NodeClaims, NodeClasses, NodePools, Nodes, PodSelection, PortError, Surrounded, Webhooks,
};

use crate::{
    Sim,
    cluster::{NODE_CLASS, NODE_POOL},
    fault::Access::{Read, Write},
    limits::Load,
    loads,
    world::World,
};

impl Cluster for Sim {
    async fn nodes(&self) -> Result<Listing<Node>, PortError> {
        self.step(("Cluster.nodes", Read), "", |world| Ok(world.listed_nodes())).await
    }

    async fn node_pools(&self) -> Result<Listing<NodePool>, PortError> {
        self.step(("Cluster.node_pools", Read), "", |world| {
            let pools = world.cluster.node_pools.iter().map(|(name, pool)| (name, pool.clone()));
            let mut listing = world.list_of_custom(NODE_POOL, pools);
            if world.settings.sabotage.close_pool_for_budget {
                for pool in &mut listing.items {
                    close_for_budget(pool);
                }
            }
            Ok(listing)
        })
        .await
    }

    async fn node_classes(&self) -> Result<Listing<ListedNodeClass>, PortError> {
        self.step(("Cluster.node_classes", Read), "", |world| {
            let cluster = &world.cluster;
            let classes = cluster.node_classes.iter();
            let classes = classes.map(|(name, class)| (name, cluster.listed(class)));
            Ok(world.list_of_custom(NODE_CLASS, classes))
        })
        .await
    }

    async fn node_overlays(&self) -> Result<Listing<NodeOverlay>, PortError> {
        self.step(("Cluster.node_overlays", Read), "", |world| Ok(world.listed_overlays())).await
    }

    async fn daemon_sets(&self) -> Result<Listing<DaemonSet>, PortError> {
        self.step(("Cluster.daemon_sets", Read), "", |world| {
            let daemon_sets = world.cluster.daemon_sets.iter();
            Ok(world.list_of("DaemonSet", daemon_sets.map(|(key, set)| (key, set.clone()))))
        })
        .await
    }

    async fn surroundings(&self, policies: &Policies) -> Result<Surrounded, PortError> {
        self.step(("Cluster.surroundings", Read), "", |world| Ok(world.surroundings(*policies)))
            .await
    }

    async fn devices(&self) -> Result<FoundDevices, PortError> {
        self.step(("Cluster.devices", Read), "", |world| Ok(world.found_devices())).await
    }

    async fn pod_selectors(&self) -> Result<FoundSelectors, PortError> {
        self.step(("Cluster.pod_selectors", Read), "", |world| Ok(world.found_selectors())).await
    }

    async fn pods(&self, selection: &PodSelection) -> Result<Listing<Pod>, PortError> {
        let load = |world: &mut World| loads::pods(world, selection);
        self.step_of(("Cluster.pods", Read), "", load, |world| Ok(world.listed_pods(selection)))
            .await
    }

    async fn volume_attachments(&self) -> Result<Listing<VolumeAttachment>, PortError> {
        self.step(("Cluster.volume_attachments", Read), "", |world| Ok(world.listed_attachments()))
            .await
    }

    async fn volume_claim(&self, key: &VolumeClaimKey) -> Result<Option<VolumeClaim>, PortError> {
        let VolumeClaimKey { namespace, name } = key;
        let subject = format!("{namespace}/{name}");
        self.step(("Cluster.volume_claim", Read), &subject, |world| {
            world
                .unreadable_object("get a claim", "PersistentVolumeClaim", &subject)
                .unwrap_or_else(|| Ok(world.cluster.storage.claims.get(key).cloned()))
        })
        .await
    }
}

/// Makes `pool` unusable where a budget of it cannot be read.
fn close_for_budget(pool: &mut NodePool) {
    let unreadable = pool.unreadable_budgets().next();
    pool.problems.extend(unreadable.map(|p| Problem { weight: Weight::Unusable, ..p }));
}

impl NodeClasses for Sim {
    async fn observed_classes(&self) -> Result<Listing<ObservedNodeClass>, PortError> {
        self.step(("NodeClasses.observed_classes", Read), "", |world| {
            let classes = world.cluster.observed_classes();
            let classes = classes.map(|observed| (observed.class.name.clone(), observed));
            Ok(world.list_of_custom(NODE_CLASS, classes))
        })
        .await
    }

    async fn update_class_status(
        &self,
        observed: &ObservedNodeClass,
        status: &NodeClassStatus,
    ) -> Result<(), PortError> {
        let name = &observed.class.name;
        let load = |world: &mut World| loads::class_status(world, name, status);
        self.step_of(("NodeClasses.update_class_status", Write), name, load, |world| {
            world.cluster.update_class_status(observed, status)
        })
        .await
    }
}

impl NodePools for Sim {
    async fn observed_pools(&self) -> Result<Listing<ObservedNodePool>, PortError> {
        self.step(("NodePools.observed_pools", Read), "", |world| {
            let pools = world.cluster.observed_pools();
            let pools = pools.map(|observed| (observed.pool.name.clone(), observed));
            Ok(world.list_of_custom(NODE_POOL, pools))
        })
        .await
    }

    async fn update_pool_status(
        &self,
        observed: &ObservedNodePool,
        status: &NodePoolStatus,
    ) -> Result<(), PortError> {
        let name = &observed.pool.name;
        let load = |world: &mut World| loads::pool_status(world, name, status);
        self.step_of(("NodePools.update_pool_status", Write), name, load, |world| {
            world.cluster.update_pool_status(observed, status)
        })
        .await
    }

    async fn update_wake_condition(
        &self,
        observed: &ObservedNodePool,
        finding: &WakeFinding,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let name = &observed.pool.name;
        let load = |world: &mut World| loads::wake_condition(world, name, finding, now);
        self.step_of(("NodePools.update_wake_condition", Write), name, load, |world| {
            world.cluster.update_wake_condition(observed, finding, now)
        })
        .await
    }

    async fn probe_wake(&self) -> Result<ProbeAnswer, PortError> {
        self.step(("NodePools.probe_wake", Read), "", |world| Ok(world.probe_answer())).await
    }
}

impl AlphaStatuses for Sim {
    async fn observed_overlays(&self) -> Result<Listing<ObservedOverlay>, PortError> {
        let call = ("AlphaStatuses.observed_overlays", Read);
        self.step(call, "", |world| Ok(world.observed_overlays())).await
    }

    async fn update_overlay_status(
        &self,
        observed: &ObservedOverlay,
        validation: &Condition,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let name = &observed.overlay.name;
        let load = |world: &mut World| loads::overlay_status(world, name, validation);
        self.step_of(("AlphaStatuses.update_overlay_status", Write), name, load, |world| {
            world.cluster.update_overlay_status(observed, validation, now)
        })
        .await
    }

    async fn update_buffer_status(
        &self,
        observed: &ObservedBuffer,
        status: &BufferStatus,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let load = |_: &mut World| Load::items(1);
        let call = ("AlphaStatuses.update_buffer_status", Write);
        self.step_of(call, &observed.key, load, |world| {
            world.cluster.update_buffer_status(observed, status, now)
        })
        .await
    }
}

impl Leases for Sim {
    async fn leases(&self) -> Result<ObservedLeases, PortError> {
        self.step(("Leases.leases", Read), "", |world| world.observed_leases()).await
    }

    async fn hold(&self, lease: &LedgerLease) -> Result<(), PortError> {
        self.step(("Leases.hold", Write), &lease.ledger, |world| {
            world.cluster.ledger_lease = Some(lease.clone());
            Ok(())
        })
        .await
    }
}

impl Sim {
    /// Installs the webhooks of `wake`, or removes them.
    pub fn set_webhooks(&self, webhooks: Option<WakeWebhooks>) {
        self.with(|world| world.cluster.webhooks = webhooks);
    }

    /// The webhooks of `wake`, if they are installed.
    pub fn webhooks(&self) -> Option<WakeWebhooks> {
        self.with(|world| world.cluster.webhooks.clone())
    }
}

impl Webhooks for Sim {
    async fn of_wake(&self) -> Result<Option<WakeWebhooks>, PortError> {
        self.step(("Webhooks.of_wake", Read), "", |world| Ok(world.cluster.webhooks.clone())).await
    }

    async fn set_urls(&self, changed: &WakeWebhooks) -> Result<(), PortError> {
        self.step(("Webhooks.set_urls", Write), "", |world| {
            let refused = |fault| PortError::new("set the URLs of wake", fault);
            let webhooks =
                world.cluster.webhooks.as_mut().ok_or_else(|| refused(Fault::NotFound))?;
            if (&webhooks.uid, &webhooks.version) != (&changed.uid, &changed.version) {
                return Err(refused(Fault::Conflict));
            }
            for (name, url) in &mut webhooks.urls {
                if let Some((_, changed)) = changed.urls.iter().find(|(changed, _)| changed == name)
                {
                    url.clone_from(changed);
                }
            }
            // Opaque to clients, and another one after each write.
            webhooks.version.push('+');
            Ok(())
        })
        .await
    }
}

impl Events for Sim {
    async fn publish(&self, event: &ObjectEvent, now: Timestamp) -> Result<(), PortError> {
        let subject = format!("{} {}", event.about, event.reason);
        let is_named = matches!(event.about, EventObject::Pod(_, Some(_)));
        let load = |_: &mut World| Load::items(usize::from(!is_named));
        self.step_of(("Events.publish", Write), subject, load, |world| world.publish(event, now))
            .await
    }
}

impl NodeClaims for Sim {
    async fn synced(&self) -> Result<Listing<SyncedNodeClaim>, PortError> {
        self.step(("NodeClaims.synced", Read), "", |world| {
            if !world.settings.has_definitions {
                return Err(PortError::new("list NodeClaims", Fault::NotFound));
            }
            let synced = world.synced_node_claims().into_iter();
            Ok(world.list_of("NodeClaim", synced.map(|synced| (synced.name.clone(), synced))))
        })
        .await
    }

    async fn objects(&self) -> Result<Listing<NodeClaim>, PortError> {
        self.step(("NodeClaims.objects", Read), "", |world| {
            if !world.settings.has_definitions {
                return Err(PortError::new("list NodeClaims", Fault::NotFound));
            }
            let claims = world.node_claim_objects().into_iter();
            Ok(world.list_of("NodeClaim", claims.map(|claim| (claim.name.clone(), claim))))
        })
        .await
    }

    async fn take_over(&self, claim: &NodeClaimName) -> Result<(), PortError> {
        self.step(("NodeClaims.take_over", Write), claim, |world| {
            world.take_over(claim);
            Ok(())
        })
        .await
    }

    async fn sync(&self, claim: &NodeClaim) -> Result<(), PortError> {
        let subject = format!("{} {} {}", claim.name, claim.version, claim.phase);
        let load = |world: &mut World| loads::sync(world, claim);
        self.step_of(("NodeClaims.sync", Write), subject, load, |world| {
            world.sync(claim).map_err(|fault| PortError::new("show a NodeClaim", fault))
        })
        .await
    }

    async fn remove(&self, claim: &NodeClaimName) -> Result<(), PortError> {
        let load = |world: &mut World| loads::object(world, claim);
        self.step_of(("NodeClaims.remove", Write), claim, load, |world| {
            world.remove_node_claim(claim);
            Ok(())
        })
        .await
    }
}

impl Nodes for Sim {
    async fn node(&self, name: &NodeName) -> Result<Option<Node>, PortError> {
        self.step(("Nodes.node", Read), name, |world| {
            let node = || world.cluster.nodes.get(name).map(|entry| entry.node.clone());
            world.unreadable_object("read a node", "Node", name).unwrap_or_else(|| Ok(node()))
        })
        .await
    }

    async fn uninitialized(&self) -> Result<Listing<Node>, PortError> {
        let load = |world: &mut World| loads::uninitialized(world);
        self.step_of(("Nodes.uninitialized", Read), "", load, |world| {
            Ok(world.uninitialized_nodes())
        })
        .await
    }

    async fn resource_slices(&self) -> Result<Listing<ResourceSlice>, PortError> {
        self.step(("Nodes.resource_slices", Read), "", |world| Ok(world.listed_slices())).await
    }

    async fn pods_on(&self, node: &NodeName) -> Result<Listing<Pod>, PortError> {
        let load = |world: &mut World| loads::pods(world, &PodSelection::OnNode(node.clone()));
        self.step_of(("Nodes.pods_on", Read), node, load, |world| {
            Ok(world.listed_pods(&PodSelection::OnNode(node.clone())))
        })
        .await
    }

    async fn patch(&self, node: &NodeName, patch: &NodePatch) -> Result<(), PortError> {
        let load = |world: &mut World| loads::patch(world, node, patch);
        let effect = |world: &mut World| world.patch_node(node, patch);
        self.step_of(("Nodes.patch", Write), node, load, effect).await
    }

    async fn evict(&self, eviction: &EvictionRequest) -> Result<Eviction, PortError> {
        self.step(("Nodes.evict", Write), &eviction.pod, |world| world.admit_eviction(eviction))
            .await
    }

    async fn set_deletion_cost(&self, cost: &DeletionCost) -> Result<(), PortError> {
        let call = ("Nodes.set_deletion_cost", Write);
        self.step(call, &cost.pod, |world| world.set_deletion_cost(cost)).await
    }

    async fn delete(&self, node: &Node) -> Result<(), PortError> {
        self.step(("Nodes.delete", Write), &node.name, |world| {
            let stored = world.cluster.nodes.get(&node.name).map(|entry| &entry.node);
            if stored.is_some_and(|stored| stored.provider_id == node.provider_id) {
                world.delete_node(&node.name);
            }
            Ok(())
        })
        .await
    }
}
