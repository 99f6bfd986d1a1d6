//! Launch templates, requests for fleets, and what comes of them.

use std::collections::BTreeMap;

use model::{
    CapacityType, ClusterName,
    claim::LaunchedInstance,
    labels::{BATCH_TAG, CLUSTER_NAME_TAG, NODE_CLASS, NODE_POOL},
    launch::{
        FleetOverride, FleetRequest, FleetTemplate, Interface, LaunchTemplate, LaunchTemplateData,
        ReservationMarket, TemplateVersion,
    },
    node_class::{CapacityReservation, MatchCriteria, MetadataOptions},
};

use super::{
    id,
    text::{at, price},
};

/// The launch template that [`fleet_request`] names.
pub const TEMPLATE: &str = "karpenter.k8s.aws/1";

/// What a class without options asks for: on-demand, image `ami-1`, security group `sg-1`.
pub fn template_data() -> LaunchTemplateData {
    LaunchTemplateData {
        image: id("ami-1"),
        user_data: "[settings]".to_owned(),
        instance_profile: "profile".to_owned(),
        block_devices: Vec::new(),
        metadata_options: MetadataOptions::default(),
        sends_http_protocol_ipv6: true,
        detailed_monitoring: false,
        interfaces: vec![Interface::ONLY],
        security_groups: vec![id("sg-1")],
        associate_public_ip_address: None,
        ip_prefix_count: None,
        is_ipv6: false,
        connection_tracking: None,
        nested_virtualization: None,
        runs_enclaves: false,
        tenancy: "default".to_owned(),
        placement_group: None,
        reservation: None,
        tags: BTreeMap::new(),
        is_spot: false,
    }
}

/// A capacity reservation for two `m7g.large` in `us-west-2a`, without end.
pub fn reservation(reservation_id: &str, match_criteria: MatchCriteria) -> CapacityReservation {
    CapacityReservation {
        id: id(reservation_id),
        instance_type: id("m7g.large"),
        zone: id("us-west-2a"),
        owner: "123456789012".to_owned(),
        match_criteria,
        is_capacity_block: false,
        is_interruptible: false,
        is_expiring: false,
        ends_at: None,
        available_count: 2,
    }
}

/// A launch template without tags, called `name`.
pub fn template(name: &str) -> LaunchTemplate {
    LaunchTemplate { name: id(name), data: template_data(), tags: BTreeMap::new() }
}

/// One `m7g.large` in us-west-2a, in the subnet `subnet-a`, with the image of [`template_data`].
pub fn fleet_override() -> FleetOverride {
    FleetOverride {
        instance_type: id("m7g.large"),
        zone: id("us-west-2a"),
        subnet: id("subnet-a"),
        image: id("ami-1"),
        price: price("0.04"),
    }
}

/// A request of `cluster` for one on-demand instance for the NodePool `general` and its EC2NodeClass
/// `default`, with [`fleet_override`] from the launch template [`TEMPLATE`]. `token` names its batch.
///
/// # Panics
///
/// When `token` is no batch.
#[track_caller]
pub fn fleet_request(cluster: &ClusterName, token: &str) -> FleetRequest {
    let tags = [
        (CLUSTER_NAME_TAG, cluster.as_str()),
        (NODE_POOL, "general"),
        (NODE_CLASS, "default"),
        (BATCH_TAG, token),
    ];
    FleetRequest {
        token: id(token),
        count: 1,
        capacity_type: CapacityType::OnDemand,
        market: ReservationMarket::OnDemand,
        is_prioritized: false,
        context: None,
        templates: vec![FleetTemplate {
            template: id(TEMPLATE),
            version: TemplateVersion::Latest,
            overrides: vec![fleet_override()],
        }],
        tags: tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
    }
}

/// An on-demand `m7g.large` in us-west-2a, launched from `ami-1` an hour before noon of the first of
/// August 2026.
///
/// # Panics
///
/// When `instance` is no instance id.
#[track_caller]
pub fn launched_instance(instance: &str) -> LaunchedInstance {
    LaunchedInstance {
        id: id(instance),
        instance_type: id("m7g.large"),
        zone: id("us-west-2a"),
        capacity_type: CapacityType::OnDemand,
        price: price("0.0816"),
        image: Some(id("ami-1")),
        launched_at: at("2026-08-01T11:00:00Z"),
    }
}
