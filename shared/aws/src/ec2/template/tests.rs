//! What is sent to CreateLaunchTemplate.

use std::collections::BTreeMap;

use model::{ImageId, SecurityGroupId};

use super::*;

fn data() -> LaunchTemplateData {
    LaunchTemplateData {
        image: ImageId::new("ami-1").unwrap(),
        user_data: "MIME-Version: 1.0".to_owned(),
        instance_profile: "demo_17".to_owned(),
        block_devices: Vec::new(),
        metadata_options: MetadataOptions::default(),
        sends_http_protocol_ipv6: true,
        detailed_monitoring: false,
        interfaces: vec![Interface::ONLY],
        security_groups: vec![SecurityGroupId::new("sg-1").unwrap()],
        associate_public_ip_address: None,
        ip_prefix_count: None,
        is_ipv6: false,
        connection_tracking: None,
        nested_virtualization: None,
        tenancy: "default".to_owned(),
        placement_group: None,
        reservation: None,
        tags: BTreeMap::from([("team".to_owned(), "a".to_owned())]),
        is_spot: false,
    }
}

#[test]
fn user_data_is_sent_in_base64_and_groups_with_the_interface() {
    let sent = to_data(&data()).unwrap();
    assert_eq!(sent.user_data(), Some("TUlNRS1WZXJzaW9uOiAxLjA="));
    assert_eq!(sent.iam_instance_profile().unwrap().name(), Some("demo_17"));
    let interface = &sent.network_interfaces()[0];
    assert_eq!(interface.groups(), ["sg-1"]);
    assert_eq!(interface.device_index(), Some(0));
    assert_eq!(interface.associate_public_ip_address(), None);
    // EC2 refuses groups at both places.
    assert!(sent.security_group_ids().is_empty());
    assert_eq!(sent.placement().unwrap().tenancy(), Some(&Tenancy::Default));
}

#[test]
fn without_block_devices_the_image_decides() {
    assert_eq!(to_data(&data()).unwrap().block_device_mappings, None);
}

#[test]
fn a_volume_has_whole_gibibytes_rounded_up() {
    for (bytes, expected) in [(200_000_000_000, 187), (100 << 30, 100), (1, 1)] {
        assert_eq!(to_gibibytes(Bytes(bytes)).unwrap(), expected, "{bytes}");
    }
    assert!(to_gibibytes(Bytes(u64::MAX)).is_err());
}

#[test]
fn what_a_volume_leaves_open_is_not_sent() {
    let device = BlockDevice {
        device_name: Some("/dev/sda1".to_owned()),
        size: Some(Bytes::from_gibibytes(100)),
        volume_type: Some("gp3".to_owned()),
        encrypted: Some(true),
        iops: Some(0),
        ..BlockDevice::default()
    };
    let sent = to_device(&device).unwrap();
    assert_eq!(sent.device_name(), Some("/dev/sda1"));
    let expected = LaunchTemplateEbsBlockDeviceRequest::builder()
        .volume_size(100)
        .volume_type(VolumeType::Gp3)
        .encrypted(true)
        .build();
    assert_eq!(sent.ebs(), Some(&expected));
}

#[test]
fn the_metadata_service_wants_a_token_within_one_hop() {
    let sent = to_data(&data()).unwrap();
    let expected = LaunchTemplateInstanceMetadataOptionsRequest::builder()
        .http_endpoint(LaunchTemplateInstanceMetadataEndpointState::Enabled)
        .http_protocol_ipv6(LaunchTemplateInstanceMetadataProtocolIpv6::Disabled)
        .http_put_response_hop_limit(1)
        .http_tokens(LaunchTemplateHttpTokensState::Required)
        .instance_metadata_tags(LaunchTemplateInstanceMetadataTagsState::Disabled)
        .build();
    assert_eq!(sent.metadata_options(), Some(&expected));
    let silent = LaunchTemplateData { sends_http_protocol_ipv6: false, ..data() };
    let sent = to_data(&silent).unwrap();
    assert_eq!(sent.metadata_options().unwrap().http_protocol_ipv6(), None);
}

#[test]
fn instances_fall_into_no_open_reservation_and_no_enclave() {
    let sent = to_data(&data()).unwrap();
    let reservation = sent.capacity_reservation_specification().unwrap();
    let preference = reservation.capacity_reservation_preference();
    assert_eq!(preference, Some(&CapacityReservationPreference::None));
    assert_eq!(sent.enclave_options().unwrap().enabled(), Some(false));
}

#[test]
fn prefixes_are_of_the_clusters_family() {
    let v4 = to_data(&LaunchTemplateData { ip_prefix_count: Some(2), ..data() }).unwrap();
    let v4 = &v4.network_interfaces()[0];
    assert_eq!((v4.ipv4_prefix_count(), v4.ipv6_prefix_count()), (Some(2), None));
    assert_eq!(v4.primary_ipv6(), None);
    let v6 = LaunchTemplateData { ip_prefix_count: Some(2), is_ipv6: true, ..data() };
    let v6 = to_data(&v6).unwrap();
    let v6 = &v6.network_interfaces()[0];
    assert_eq!((v6.ipv4_prefix_count(), v6.ipv6_prefix_count()), (None, Some(2)));
    assert_eq!((v6.primary_ipv6(), v6.ipv6_address_count()), (Some(true), Some(1)));
}

#[test]
fn spot_requests_are_tagged_for_spot_only() {
    let tagged = |is_spot| {
        let sent = to_data(&LaunchTemplateData { is_spot, ..data() }).unwrap();
        let kinds = sent.tag_specifications().iter();
        kinds.map(|specification| specification.resource_type().cloned()).collect::<Vec<_>>()
    };
    assert_eq!(tagged(false), [Some(ResourceType::NetworkInterface)]);
    assert_eq!(
        tagged(true),
        [Some(ResourceType::NetworkInterface), Some(ResourceType::SpotInstancesRequest)]
    );
}
