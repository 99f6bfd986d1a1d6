//! Instances as EC2 describes them.

use std::collections::BTreeSet;

use aws_sdk_ec2::types::{
    self, CapacityReservationPreference, InstanceLifecycleType, InstanceStateName,
};
use jiff::Timestamp;
use model::{
    BatchId, CapacityType, ImageId, InstanceId, InstanceTypeName, LedgerId, NodeClaimName,
    NodeClassName, NodePoolName, ReservationId, SecurityGroupId, SubnetId, Zone, labels,
    launch::{Instance, InstanceState},
};

/// The instance that EC2 describes, or what its description lacks.
pub(super) fn from_instance(instance: &types::Instance) -> Result<Instance, String> {
    let id = instance.instance_id().unwrap_or_default();
    let missing = |what: &str| format!("instance `{id}` has no usable {what}");
    let placement = instance.placement().and_then(types::Placement::availability_zone);
    let tag = |wanted: &str| {
        let tag = instance.tags().iter().find(|tag| tag.key() == Some(wanted));
        tag.and_then(types::Tag::value)
    };
    let launched_at = instance.launch_time().and_then(|at| {
        Timestamp::new(at.secs(), i32::try_from(at.subsec_nanos()).unwrap_or_default()).ok()
    });
    let state = instance.state().and_then(types::InstanceState::name).and_then(state);
    Ok(Instance {
        id: InstanceId::new(id).map_err(|_| missing("id"))?,
        state: state.ok_or_else(|| missing("state"))?,
        state_reason: instance.state_reason().and_then(state_reason),
        instance_type: instance
            .instance_type()
            .and_then(|name| InstanceTypeName::new(name.as_str()).ok())
            .ok_or_else(|| missing("type"))?,
        zone: placement.and_then(|zone| Zone::new(zone).ok()).ok_or_else(|| missing("zone"))?,
        capacity_type: capacity_type(instance),
        image: instance
            .image_id()
            .and_then(|image| ImageId::new(image).ok())
            .ok_or_else(|| missing("image"))?,
        subnet: instance.subnet_id().and_then(|id| SubnetId::new(id).ok()),
        security_groups: security_groups(instance).ok_or_else(|| missing("security group"))?,
        launched_at: launched_at.ok_or_else(|| missing("launch time"))?,
        reservation: reservation(instance).and_then(|id| ReservationId::new(id).ok()),
        is_named: tag(labels::NAME_TAG).is_some(),
        node_pool: tag(labels::NODE_POOL).and_then(|name| NodePoolName::new(name).ok()),
        node_class: tag(labels::NODE_CLASS).and_then(|name| NodeClassName::new(name).ok()),
        ledger: tag(labels::LEDGER_TAG).and_then(|id| LedgerId::new(id).ok()),
        node_claim: tag(labels::NODE_CLAIM_TAG).and_then(|name| NodeClaimName::new(name).ok()),
        batch: tag(labels::BATCH_TAG).and_then(|batch| BatchId::new(batch).ok()),
    })
}

/// What EC2 says of its state, which begins with the code.
fn state_reason(reason: &types::StateReason) -> Option<String> {
    let text = reason.message().or_else(|| reason.code())?;
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// Those of its first network interface; `None` where one of them has no usable id.
fn security_groups(instance: &types::Instance) -> Option<BTreeSet<SecurityGroupId>> {
    let ids = instance.security_groups().iter().map(types::GroupIdentifier::group_id);
    ids.map(|id| SecurityGroupId::new(id?).ok()).collect()
}

fn state(name: &InstanceStateName) -> Option<InstanceState> {
    Some(match name {
        InstanceStateName::Pending => InstanceState::Pending,
        InstanceStateName::Running => InstanceState::Running,
        InstanceStateName::Stopping | InstanceStateName::Stopped => InstanceState::Stopped,
        InstanceStateName::ShuttingDown => InstanceState::ShuttingDown,
        InstanceStateName::Terminated => InstanceState::Terminated,
        _ => return None,
    })
}

/// Karpenter: `pkg/providers/instance/types.go`, `NewInstance`.
fn capacity_type(instance: &types::Instance) -> CapacityType {
    let is_spot = instance.spot_instance_request_id().is_some_and(|id| !id.is_empty())
        || instance.instance_lifecycle() == Some(&InstanceLifecycleType::Spot);
    match reservation(instance) {
        _ if is_spot => CapacityType::Spot,
        Some(_) => CapacityType::Reserved,
        None => CapacityType::OnDemand,
    }
}

/// The reservation that it was launched into. One that an instance just fell into, because it is
/// open, may be taken by another: that instance is on-demand, and so is one whose reservation ended.
fn reservation(instance: &types::Instance) -> Option<&str> {
    let specification = instance.capacity_reservation_specification();
    let preference = specification.and_then(|capacity_reservation_specification_response| {
        capacity_reservation_specification_response.capacity_reservation_preference()
    });
    let only = Some(&CapacityReservationPreference::CapacityReservationsOnly);
    instance.capacity_reservation_id().filter(|id| !id.is_empty() && preference == only)
}

#[cfg(test)]
mod tests {
    use aws_sdk_ec2::primitives::DateTime;

    use super::*;

    fn described() -> types::builders::InstanceBuilder {
        types::Instance::builder()
            .instance_id("i-0a1b")
            .instance_type(types::InstanceType::from("m7g.large"))
            .image_id("ami-0d9f")
            .subnet_id("subnet-0a")
            .security_groups(types::GroupIdentifier::builder().group_id("sg-0b").build())
            .security_groups(types::GroupIdentifier::builder().group_id("sg-0a").build())
            .launch_time(DateTime::from_secs(1_795_262_400))
            .placement(types::Placement::builder().availability_zone("us-west-2a").build())
            .state(types::InstanceState::builder().name(InstanceStateName::Running).build())
            .tags(types::Tag::builder().key(labels::NODE_POOL).value("default").build())
            .tags(types::Tag::builder().key(labels::NODE_CLASS).value("general").build())
            .tags(types::Tag::builder().key(labels::LEDGER_TAG).value("abc12").build())
            .tags(types::Tag::builder().key(labels::NODE_CLAIM_TAG).value("default-1-0").build())
            .tags(types::Tag::builder().key(labels::BATCH_TAG).value("demo-1-0").build())
    }

    #[test]
    fn an_instance_says_what_it_is_and_whose() {
        let instance =
            from_instance(&described().spot_instance_request_id("sir-1").build()).unwrap();
        let expected = Instance {
            id: InstanceId::new("i-0a1b").unwrap(),
            state: InstanceState::Running,
            instance_type: InstanceTypeName::new("m7g.large").unwrap(),
            zone: Zone::new("us-west-2a").unwrap(),
            capacity_type: CapacityType::Spot,
            image: ImageId::new("ami-0d9f").unwrap(),
            subnet: Some(SubnetId::new("subnet-0a").unwrap()),
            security_groups: ["sg-0a", "sg-0b"].map(|id| SecurityGroupId::new(id).unwrap()).into(),
            launched_at: "2026-11-21T12:00:00Z".parse().unwrap(),
            reservation: None,
            state_reason: None,
            is_named: false,
            node_pool: Some(NodePoolName::new("default").unwrap()),
            node_class: Some(NodeClassName::new("general").unwrap()),
            ledger: Some(LedgerId::new("abc12").unwrap()),
            node_claim: Some(NodeClaimName::new("default-1-0").unwrap()),
            batch: Some(BatchId::new("demo-1-0").unwrap()),
        };
        assert_eq!(instance, expected);
    }

    #[test]
    fn without_a_spot_request_an_instance_is_on_demand() {
        let instance = from_instance(&described().build()).unwrap();
        assert_eq!(instance.capacity_type, CapacityType::OnDemand);
    }

    #[test]
    fn reserved_is_only_what_was_launched_into_a_reservation_that_lives() {
        let launched = |preference: CapacityReservationPreference| {
            let specification = types::CapacityReservationSpecificationResponse::builder()
                .capacity_reservation_preference(preference);
            described().capacity_reservation_specification(specification.build())
        };
        let only = launched(CapacityReservationPreference::CapacityReservationsOnly);
        for (instance_builder, expected) in [
            (only.clone().capacity_reservation_id("cr-1"), (CapacityType::Reserved, Some("cr-1"))),
            (only, (CapacityType::OnDemand, None)),
            (
                launched(CapacityReservationPreference::Open).capacity_reservation_id("cr-1"),
                (CapacityType::OnDemand, None),
            ),
        ] {
            let instance = from_instance(&instance_builder.build()).unwrap();
            assert_eq!(
                (instance.capacity_type, instance.reservation.as_ref().map(ReservationId::as_str)),
                expected
            );
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let instance = from_instance(&described().set_placement(None).build());
        assert_eq!(instance, Err("instance `i-0a1b` has no usable zone".to_owned()));
    }
}
