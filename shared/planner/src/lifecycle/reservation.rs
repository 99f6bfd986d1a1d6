//! Claims whose capacity reservation is over while their instances go on: on demand from now on.
//!
//! Karpenter: `pkg/controllers/nodeclaim/capacityreservation/capacitytype/controller.go` of the AWS
//! provider.

use model::{
    CapacityType, ClaimPhase, NodeClaim, labels,
    launch::{Instance, InstanceState},
    ledger::Snapshot,
};

/// The claims of `snapshot` that say of themselves that they are reserved.
pub fn reserved(snapshot: &Snapshot) -> impl Iterator<Item = &NodeClaim> {
    snapshot.claims.values().filter(|claim| {
        claim.is_reserved() && !matches!(claim.phase, ClaimPhase::Created | ClaimPhase::Deleting)
    })
}

/// Those of them that have to be written, each one version on, since EC2 describes their instances
/// as on-demand.
#[must_use]
pub fn demoted(snapshot: &Snapshot, described: &[Instance]) -> Vec<NodeClaim> {
    let is_on_demand = |claim: &NodeClaim| {
        let instance_id = claim.instance.as_ref().map(|instance| &instance.id);
        described.iter().any(|instance| {
            Some(&instance.id) == instance_id
                && instance.capacity_type == CapacityType::OnDemand
                && matches!(instance.state, InstanceState::Pending | InstanceState::Running)
        })
    };
    let demoted = |claim: &NodeClaim| {
        let mut next = NodeClaim { version: claim.version + 1, ..claim.clone() };
        if let Some(instance) = &mut next.instance {
            instance.capacity_type = CapacityType::OnDemand;
        }
        let capacity_type = CapacityType::OnDemand.as_str().to_owned();
        next.labels.insert(labels::CAPACITY_TYPE.to_owned(), capacity_type);
        next.labels.retain(|key, _| !labels::OF_RESERVATIONS.contains(&key.as_str()));
        next
    };
    reserved(snapshot).filter(|claim| is_on_demand(claim)).map(demoted).collect()
}
