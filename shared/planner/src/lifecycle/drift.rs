//! Drift that only EC2 can tell: the network of an instance, its capacity reservation, its placement group.
//!
//! It is kept on the claim as the condition `Drifted`; all other drift is worked out at each look.
//!
//! Karpenter: `pkg/cloudprovider/drift.go` of the AWS provider.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{
    ClaimPhase, InstanceId, NodeClaim, NodeClassName, ReservationId, labels,
    launch::{Instance, InstanceState},
    ledger::Snapshot,
    node_class::{ListedNodeClass, TemplateSource},
};

/// Karpenter's reason: the instance has other security groups than its class selects.
pub const SECURITY_GROUPS: &str = "SecurityGroupDrift";
/// Karpenter's reason: the class does not select the subnet of the instance.
pub const SUBNET: &str = "SubnetDrift";
/// Karpenter's reason: the class does not select the capacity reservation of the instance.
pub const RESERVATION: &str = "CapacityReservationDrift";
/// Karpenter's reason: the instance is in another placement group than its class names.
pub const PLACEMENT_GROUP: &str = "PlacementGroupDrift";

/// The claims of `snapshot` whose condition `Drifted` is not what `instances` and the status of `classes` say
/// at `now`, each one version on. Of an instance that is not listed and a class whose status is not known
/// nothing is said.
#[must_use]
pub fn drifted_in_account(
    snapshot: &Snapshot,
    instances: &[Instance],
    classes: &[ListedNodeClass],
    now: Timestamp,
) -> Vec<NodeClaim> {
    let classes: BTreeMap<&NodeClassName, &ListedNodeClass> =
        classes.iter().map(|listed| (&listed.class.name, listed)).collect();
    let described: BTreeMap<&InstanceId, &Instance> =
        instances.iter().map(|instance| (&instance.id, instance)).collect();
    let next = |claim: &NodeClaim| {
        // One that a user made never drifts: it has no NodePool that would replace it.
        if matches!(claim.phase, ClaimPhase::Created | ClaimPhase::Deleting)
            || claim.is_standalone()
        {
            return None;
        }
        let instance = *described.get(&claim.instance.as_ref()?.id)?;
        let listed = classes.get(&claim.node_class)?;
        next_of(claim, drift(claim, instance, listed).ok()?, now)
    };
    snapshot.claims.values().filter_map(next).collect()
}

/// `claim` with the condition that it should have, if it has another one.
fn next_of(claim: &NodeClaim, reason: Option<&str>, now: Timestamp) -> Option<NodeClaim> {
    let is_of_account = |reason: &&String| {
        [SECURITY_GROUPS, SUBNET, RESERVATION, PLACEMENT_GROUP].contains(&reason.as_str())
    };
    let stored = claim.conditions.drifted.as_ref();
    if stored.map(String::as_str) == reason || stored.is_some_and(|stored| !is_of_account(&stored))
    {
        return None;
    }
    let mut next = NodeClaim { version: claim.version + 1, ..claim.clone() };
    next.conditions.drifted = reason.map(str::to_owned);
    let since = stored.and(claim.conditions.drifted_since).unwrap_or(now);
    next.conditions.drifted_since = reason.map(|_| since);
    Some(next)
}

/// That it cannot be told whether an instance has drifted.
struct Untold;

/// How `instance` differs from what a launch for `claim` would ask for now, if it does. The first difference hides those
/// that come after it, and so does what cannot be told.
fn drift(
    claim: &NodeClaim,
    instance: &Instance,
    listed: &ListedNodeClass,
) -> Result<Option<&'static str>, Untold> {
    // What a class with a wrong term selects is not what it asks for.
    let class =
        listed.status.as_ref().filter(|_| listed.class.problems.is_empty()).ok_or(Untold)?;
    let subnet = instance.subnet.as_ref().ok_or(Untold)?;
    if !matches!(instance.state, InstanceState::Pending | InstanceState::Running) {
        return Err(Untold);
    }
    // A launch template of the user's own has its own security groups.
    if listed.class.launch_template == TemplateSource::Made {
        let selected: BTreeSet<_> = class.security_groups.iter().collect();
        if selected.is_empty() {
            return Err(Untold);
        }
        if !selected.into_iter().eq(&instance.security_groups) {
            return Ok(Some(SECURITY_GROUPS));
        }
    }
    if class.subnets.is_empty() {
        return Err(Untold);
    }
    if class.subnets.iter().all(|selected| selected.id != *subnet) {
        return Ok(Some(SUBNET));
    }
    let is_known =
        |id: &ReservationId| class.reservations.iter().any(|reservation| reservation.id == *id);
    if instance.reservation.as_ref().is_some_and(|id| !is_known(id)) {
        return Ok(Some(RESERVATION));
    }
    let group = class.placement_group.as_ref().map(|group| group.id.as_str());
    let has_other = claim.labels.get(labels::PLACEMENT_GROUP_ID).map(String::as_str) != group;
    Ok(has_other.then_some(PLACEMENT_GROUP))
}
