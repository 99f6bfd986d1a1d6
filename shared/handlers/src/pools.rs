//! NodePools → what their status says: whether they can be used, and what they have.
//!
//! It is for people: deciders look at the classes themselves.
//!
//! Karpenter: `pkg/controllers/nodepool/{counter,readiness,registrationhealth,validation}`.

use std::collections::BTreeMap;

use model::{
    ClaimPhase, DeletionReason, NodeClaim, NodeClassName, NodePoolName, Resources,
    ledger::Snapshot,
    node_class::NodeClassStatus,
    node_pool::{ClassReadiness, NodePoolStatus, ObservedNodePool, Registrations},
};
use ports::{Invocation, NodePools, PortError};

use crate::job::Tally;

/// What is known of an EC2NodeClass: whether it can be launched from, and of which spec that is.
pub(crate) type Classes = BTreeMap<NodeClassName, (ClassReadiness, i64)>;

/// Updates the status of every pool that is not being deleted. One that fails does not keep the others from
/// it.
pub(crate) async fn update_statuses(
    pools: &impl NodePools,
    observed: &[ObservedNodePool],
    classes: &Classes,
    all_classes_are_known: bool,
    snapshot: &Snapshot,
    at: &Invocation,
) -> Result<(), PortError> {
    let mut tally = Tally::default();
    for observed in observed.iter().filter(|observed| !observed.pool.is_deleting) {
        let name = &observed.pool.name;
        let class = classes.get(&observed.pool.template.node_class);
        let missing =
            if all_classes_are_known { ClassReadiness::NotFound } else { ClassReadiness::Unknown };
        let status = NodePoolStatus {
            node_class: class.map_or(missing, |(readiness, _)| readiness.clone()),
            node_class_generation: class.map(|(_, generation)| *generation),
            found_at: at.now,
            ..counted(name, snapshot, at)
        };
        let updated = pools.update_pool_status(observed, &status).await;
        tally.note_update(format_args!("NodePool {name}"), updated);
    }
    tally.done()
}

/// What the status that a class was just given says.
pub(crate) fn readiness(status: &NodeClassStatus) -> ClassReadiness {
    match status.ready().map(|ready| (ready.status, ready)) {
        Some((Some(true), _)) => ClassReadiness::Ready,
        Some((Some(false), ready)) => {
            let (reason, message) = (ready.reason.clone(), ready.message.clone());
            ClassReadiness::NotReady { reason, message }
        }
        Some((None, _)) | None => ClassReadiness::Unknown,
    }
}

/// What the pool called `name` has: whatever was launched counts until it is gone.
fn counted(name: &NodePoolName, snapshot: &Snapshot, at: &Invocation) -> NodePoolStatus {
    let claims_of_pool = || snapshot.claims.values().filter(|claim| claim.node_pool == *name);
    let launched = claims_of_pool().filter(|claim| claim.instance.is_some());
    let count = |claims: &dyn Fn(&NodeClaim) -> bool| {
        u32::try_from(claims_of_pool().filter(|claim| claims(claim)).count()).unwrap_or(u32::MAX)
    };
    let has_failed = |claim: &NodeClaim| {
        claim
            .deletion
            .as_ref()
            .is_some_and(|deletion| deletion.reason == DeletionReason::NotRegistered)
    };
    NodePoolStatus {
        node_class: ClassReadiness::Unknown,
        node_class_generation: None,
        nodes: u64::try_from(launched.clone().count()).unwrap_or(u64::MAX),
        resources: launched
            .fold(Resources::default(), |sum, claim| sum.saturating_add(&claim.capacity)),
        registrations: Registrations {
            joined: count(&|claim| {
                matches!(claim.phase, ClaimPhase::Registered | ClaimPhase::Initialized)
            }),
            failed: count(&has_failed),
        },
        found_at: at.now,
    }
}
