//! Launch templates.

use std::collections::BTreeMap;

use model::{
    launch::{Interface, LaunchTemplate, LaunchTemplateData},
    node_class::MetadataOptions,
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

/// A launch template without tags, called `name`.
pub fn template(name: &str) -> LaunchTemplate {
    LaunchTemplate { name: id(name), data: template_data(), tags: BTreeMap::new() }
}
