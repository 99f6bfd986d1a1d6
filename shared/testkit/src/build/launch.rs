//! Launch templates.

use std::collections::BTreeMap;

use model::{
    launch::{Interface, LaunchTemplate, LaunchTemplateData},
    node_class::{CapacityReservation, MatchCriteria, MetadataOptions},
};

use super::id;

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
        id: reservation_id.to_owned(),
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
