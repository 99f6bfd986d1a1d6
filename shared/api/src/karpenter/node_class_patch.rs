//! What has to be sent so that an EC2NodeClass says what was found about it. Pure: what is stored
//! and what was found give a JSON merge patch of the status, under the version that was read.

use jiff::{Timestamp, Unit};
use model::{
    ConditionKind, Requirements,
    node_class::{CapacityReservation, Image, NodeClassStatus, ObservedNodeClass},
};

use super::{
    common::ConditionEntry,
    conditions::{NODE_CLASS, updated},
    node_class_status::{
        Ami, AmiRequirement, Ec2NodeClassStatus, ReservationState, ReservationType,
        StoredReservation, StoredSecurityGroup, StoredSubnet,
    },
    status_patch::{StatusPatch, Stored},
    word::Word,
};

/// The patch that makes the class `stored`, an object as the API server sends it, say what was
/// `found` about it as it was `seen`.
pub fn status_patch(
    stored: &[u8],
    seen: &ObservedNodeClass,
    node_class_status: &NodeClassStatus,
) -> Result<StatusPatch, serde_json::Error> {
    let stored = Stored::read(stored)?;
    if !stored.is(&seen.uid, seen.generation) {
        return Ok(StatusPatch::Moved);
    }
    let about = stored.about(seen.class.is_deleting);
    let rolled_up: Vec<_> = node_class_status
        .conditions
        .iter()
        .filter(|condition| condition.kind != ConditionKind::Ready)
        .cloned()
        .collect();
    let mut entries = stored.conditions();
    if !rolled_up.iter().any(|condition| condition.kind == ConditionKind::RolloutHalted) {
        entries.retain(|entry| !entry.is(ConditionKind::RolloutHalted));
    }
    let conditions = updated(&entries, &rolled_up, NODE_CLASS, about, node_class_status.found_at);
    Ok(stored.patch(&serde_json::to_value(written(node_class_status, conditions))?))
}

fn written(
    node_class_status: &NodeClassStatus,
    conditions: Vec<ConditionEntry>,
) -> Ec2NodeClassStatus {
    let subnets = node_class_status.subnets.iter().map(|subnet| StoredSubnet {
        id: subnet.id.to_string(),
        zone: subnet.zone.to_string(),
        zone_id: Some(subnet.zone_id.to_string()),
    });
    let groups = node_class_status.security_groups.iter().map(|group| StoredSecurityGroup {
        id: group.id.to_string(),
        name: Some(group.name.clone()).filter(|name| !name.is_empty()),
    });
    Ec2NodeClassStatus {
        subnets: unless_empty(subnets),
        security_groups: unless_empty(groups),
        capacity_reservations: unless_empty(node_class_status.reservations.iter().map(reservation)),
        amis: unless_empty(
            node_class_status.images.iter().map(|image| ami(image, node_class_status.found_at)),
        ),
        instance_profile: node_class_status.instance_profile.clone(),
        conditions: Some(conditions),
    }
}

pub(super) fn unless_empty<T>(items: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let items: Vec<T> = items.collect();
    (!items.is_empty()).then_some(items)
}

fn ami(image: &Image, now: Timestamp) -> Ami {
    let is_deprecated = image.deprecated_at.is_some_and(|at| at <= now);
    Ami {
        id: image.id.to_string(),
        deprecated: is_deprecated.then_some(true),
        name: Some(image.name.clone()).filter(|name| !name.is_empty()),
        requirements: requirements(&image.requirements),
    }
}

/// Shorter keys first, as Karpenter has them.
fn requirements(all: &Requirements) -> Vec<AmiRequirement> {
    let mut entries: Vec<AmiRequirement> = Vec::new();
    for requirement in all.iter() {
        for (operator, values) in requirement.entries() {
            entries.push(AmiRequirement {
                key: requirement.key().to_string(),
                operator: operator.as_str().to_owned(),
                values: unless_empty(values.into_iter()),
            });
        }
    }
    entries.sort_by(|ami_requirement, other| {
        ami_requirement
            .key
            .len()
            .cmp(&other.key.len())
            .then_with(|| ami_requirement.key.cmp(&other.key))
    });
    entries
}

fn reservation(capacity_reservation: &CapacityReservation) -> StoredReservation {
    let whole_seconds = |at: Timestamp| at.round(Unit::Second).unwrap_or(at).to_string();
    StoredReservation {
        availability_zone: capacity_reservation.zone.to_string(),
        end_time: capacity_reservation.ends_at.map(whole_seconds),
        id: capacity_reservation.id.to_string(),
        instance_match_criteria: Word(capacity_reservation.match_criteria),
        instance_type: capacity_reservation.instance_type.to_string(),
        interruptible: Some(capacity_reservation.is_interruptible),
        owner_id: capacity_reservation.owner.clone(),
        reservation_type: Some(if capacity_reservation.is_capacity_block {
            ReservationType::CapacityBlock
        } else {
            ReservationType::Default
        }),
        state: Some(if capacity_reservation.is_expiring {
            ReservationState::Expiring
        } else {
            ReservationState::Active
        }),
    }
}
