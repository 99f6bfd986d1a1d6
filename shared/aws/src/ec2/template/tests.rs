//! What is sent to CreateLaunchTemplate.

use std::collections::BTreeMap;

use super::*;

fn data() -> LaunchTemplateData {
    LaunchTemplateData {
        user_data: "MIME-Version: 1.0".to_owned(),
        instance_profile: "demo_17".to_owned(),
        tags: BTreeMap::from([("team".to_owned(), "a".to_owned())]),
        ..testkit::build::template_data()
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
fn instances_fall_into_no_open_reservation_and_run_enclaves_only_if_asked() {
    let sent = to_data(&data()).unwrap();
    let reservation = sent.capacity_reservation_specification().unwrap();
    let preference = reservation.capacity_reservation_preference();
    assert_eq!(preference, Some(&CapacityReservationPreference::None));
    assert_eq!(sent.enclave_options().unwrap().enabled(), Some(false));
    let sent = to_data(&LaunchTemplateData { runs_enclaves: true, ..data() }).unwrap();
    assert_eq!(sent.enclave_options().unwrap().enabled(), Some(true));
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

#[test]
fn interfaces_of_ones_own_are_sent_as_they_are_and_adapters_have_no_addresses() {
    let interface = |card, device, kind| Interface { card: Some(card), device, kind: Some(kind) };
    let tracking =
        ConnectionTracking { tcp_established_seconds: Some(300), ..ConnectionTracking::default() };
    let launch_template_data = LaunchTemplateData {
        interfaces: vec![
            interface(0, 0, InterfaceKind::Interface),
            interface(1, 1, InterfaceKind::EfaOnly),
        ],
        associate_public_ip_address: Some(true),
        ip_prefix_count: Some(1),
        connection_tracking: Some(tracking),
        ..data()
    };
    let sent = to_data(&launch_template_data).unwrap();
    let [first, second] = sent.network_interfaces() else { panic!("two") };
    assert_eq!((first.network_card_index(), first.device_index()), (Some(0), Some(0)));
    assert_eq!((first.interface_type(), first.ipv4_prefix_count()), (Some("interface"), Some(1)));
    let timeouts = first.connection_tracking_specification().unwrap();
    assert_eq!(timeouts.tcp_established_timeout(), Some(300));
    assert_eq!(timeouts.udp_timeout(), None);
    assert_eq!((second.network_card_index(), second.device_index()), (Some(1), Some(1)));
    assert_eq!((second.interface_type(), second.ipv4_prefix_count()), (Some("efa-only"), None));
    assert_eq!(second.connection_tracking_specification(), None);
    assert_eq!(second.associate_public_ip_address(), None);
    assert_eq!(second.groups(), ["sg-1"]);
}

#[test]
fn a_reservation_is_the_only_place_to_launch_into() {
    for (market, expected) in [
        (ReservationMarket::OnDemand, None),
        (ReservationMarket::CapacityBlock, Some(MarketType::CapacityBlock)),
        (ReservationMarket::Interruptible, Some(MarketType::InterruptibleCapacityReservation)),
    ] {
        let reservation = Some(ReservationTarget { id: "cr-1".parse().unwrap(), market });
        let sent = to_data(&LaunchTemplateData { reservation, ..data() }).unwrap();
        let specification = sent.capacity_reservation_specification().unwrap();
        let only = CapacityReservationPreference::CapacityReservationsOnly;
        assert_eq!(specification.capacity_reservation_preference(), Some(&only));
        let target = specification.capacity_reservation_target().unwrap();
        assert_eq!(target.capacity_reservation_id(), Some("cr-1"));
        let options = sent.instance_market_options();
        assert_eq!(options.and_then(|options| options.market_type()), expected.as_ref());
    }
}

#[test]
fn processor_and_placement_group_are_sent_where_they_are_given() {
    let sent = to_data(&data()).unwrap();
    assert_eq!(sent.cpu_options(), None);
    assert_eq!(sent.placement().unwrap().group_id(), None);
    let placement = model::launch::PlacementGroupPlacement {
        group: "pg-1".parse().unwrap(),
        partition: Some(3),
    };
    let wanted = LaunchTemplateData {
        nested_virtualization: Some(true),
        placement_group: Some(placement),
        ..data()
    };
    let sent = to_data(&wanted).unwrap();
    let nested = sent.cpu_options().unwrap().nested_virtualization().unwrap();
    assert_eq!(nested.as_str(), "enabled");
    let placement = sent.placement().unwrap();
    assert_eq!((placement.group_id(), placement.partition_number()), (Some("pg-1"), Some(3)));
}
