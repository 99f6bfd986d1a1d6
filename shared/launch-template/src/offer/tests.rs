//! What a class makes of the catalog.

use expect_test::{Expect, expect};
use model::{
    Bytes,
    labels::{INSTANCE_HYPERVISOR, PLACEMENT_GROUP_ID, PLACEMENT_GROUP_PARTITION},
    node_class::{
        BlockDevice, ConnectionTracking, ImageFamily, Kubelet, NetworkInterface, PlacementGroup,
    },
};

use super::*;
use crate::testing::{catalog, class, described, kubelet, now, subnet};

/// t3.large has 35 pods by its network interfaces; the figures for it are Karpenter's.
const T3: &str = "t3.large amd64 2 7577Mi 35 0.0832 0.03";
const LOCAL: &str = "m6gd.large amd64 2 8Gi 29 0.09 0.03 karpenter.k8s.aws/instance-local-nvme=118";

#[track_caller]
fn check(types: &[&str], class: &ResolvedNodeClass, expected: &Expect) {
    let types = offer(&catalog(types), class, &BTreeMap::new(), now());
    let lines: Vec<String> = types
        .iter()
        .map(|t| format!("{}: {}\n  overhead {}\n", t.name, t.capacity, t.overhead))
        .collect();
    expected.assert_eq(&lines.concat());
}

fn with_kubelet(family: ImageFamily, kubelet: Kubelet) -> ResolvedNodeClass {
    let mut class = class(family);
    class.class.kubelet = kubelet;
    class
}

fn device(name: &str, size: Option<u64>, is_root: bool) -> BlockDevice {
    BlockDevice {
        device_name: Some(name.to_owned()),
        is_root,
        size: size.map(Bytes::from_gibibytes),
        ..BlockDevice::default()
    }
}

#[test]
fn al2023_with_defaults_is_what_the_catalog_has() {
    check(
        &[T3],
        &class(ImageFamily::Al2023),
        &expect![[r"
        t3.large: cpu 2, memory 7577Mi, ephemeral-storage 20Gi, pods 35
          overhead cpu 70m, memory 740Mi, ephemeral-storage 3Gi
    "]],
    );
}

#[test]
fn al2023_reserves_memory_for_the_pods_that_interfaces_allow() {
    let kubelet = kubelet(10);
    check(
        &[T3],
        &with_kubelet(ImageFamily::Al2023, kubelet),
        &expect![[r"
        t3.large: cpu 2, memory 7577Mi, ephemeral-storage 20Gi, pods 10
          overhead cpu 70m, memory 740Mi, ephemeral-storage 3Gi
    "]],
    );
}

#[test]
fn bottlerocket_reserves_memory_for_the_pods_it_has() {
    let kubelet = Kubelet { pods_per_core: Some(1), ..kubelet(10) };
    check(
        &[T3],
        &with_kubelet(ImageFamily::Bottlerocket, kubelet),
        &expect![[r"
        t3.large: cpu 2, memory 7577Mi, ephemeral-storage 20Gi, pods 10
          overhead cpu 70m, memory 465Mi, ephemeral-storage 3Gi
    "]],
    );
}

#[test]
fn pods_per_core_limits_max_pods() {
    let kubelet = Kubelet { pods_per_core: Some(10), ..kubelet(58) };
    check(
        &[T3],
        &with_kubelet(ImageFamily::Al2023, kubelet),
        &expect![[r"
        t3.large: cpu 2, memory 7577Mi, ephemeral-storage 20Gi, pods 20
          overhead cpu 70m, memory 740Mi, ephemeral-storage 3Gi
    "]],
    );
    let kubelet = Kubelet { pods_per_core: Some(0), ..Kubelet::default() };
    check(
        &[T3],
        &with_kubelet(ImageFamily::Al2023, kubelet),
        &expect![[r"
        t3.large: cpu 2, memory 7577Mi, ephemeral-storage 20Gi, pods 35
          overhead cpu 70m, memory 740Mi, ephemeral-storage 3Gi
    "]],
    );
}

#[test]
fn given_reservations_replace_the_defaults_one_by_one() {
    let name = |text: &str| model::ResourceName::new(text).unwrap();
    let kubelet = Kubelet {
        kube_reserved: [(name("cpu"), "250m".to_owned())].into(),
        system_reserved: [(name("memory"), "200Mi".to_owned()), (name("pid"), "1000".to_owned())]
            .into(),
        ..Kubelet::default()
    };
    check(
        &[T3],
        &with_kubelet(ImageFamily::Al2023, kubelet),
        &expect![[r"
        t3.large: cpu 2, memory 7577Mi, ephemeral-storage 20Gi, pods 35
          overhead cpu 250m, memory 940Mi, ephemeral-storage 3Gi, pid 1000
    "]],
    );
}

#[test]
fn eviction_thresholds_are_quantities_or_percentages() {
    let hard = |memory: &str, disk: &str| {
        let signals = [("memory.available", memory), ("nodefs.available", disk)];
        let eviction_hard = signals.map(|(key, text)| (key.to_owned(), text.to_owned())).into();
        with_kubelet(ImageFamily::Al2023, Kubelet { eviction_hard, ..Kubelet::default() })
    };
    check(
        &[T3],
        &hard("500Mi", "3Gi"),
        &expect![[r"
        t3.large: cpu 2, memory 7577Mi, ephemeral-storage 20Gi, pods 35
          overhead cpu 70m, memory 1140Mi, ephemeral-storage 4Gi
    "]],
    );
    check(
        &[T3],
        &hard("7.5%", "100%"),
        &expect![[r"
        t3.large: cpu 2, memory 7577Mi, ephemeral-storage 20Gi, pods 35
          overhead cpu 70m, memory 1266968167, ephemeral-storage 1Gi
    "]],
    );
}

#[test]
fn raid0_counts_local_disks() {
    let mut class = class(ImageFamily::Al2023);
    class.class.is_raid0 = true;
    check(
        &[T3, LOCAL],
        &class,
        &expect![[r"
        m6gd.large: cpu 2, memory 8Gi, ephemeral-storage 115234375Ki, pods 29
          overhead cpu 70m, memory 674Mi, ephemeral-storage 12873741824
        t3.large: cpu 2, memory 7577Mi, ephemeral-storage 20Gi, pods 35
          overhead cpu 70m, memory 740Mi, ephemeral-storage 3Gi
    "]],
    );
}

#[test]
fn pods_live_on_the_root_volume_or_the_familys_device() {
    let storage = |family: ImageFamily, devices: Vec<BlockDevice>| {
        let mut class = class(family);
        class.class.block_devices = devices;
        let types = offer(&catalog(&[T3]), &class, &BTreeMap::new(), now());
        types[0].capacity.ephemeral_storage.to_string()
    };
    let (al2023, bottlerocket) = (ImageFamily::Al2023, ImageFamily::Bottlerocket);
    for (family, devices, expected) in [
        (al2023, vec![], "20Gi"),
        (al2023, vec![device("/dev/xvda", Some(100), false)], "100Gi"),
        (al2023, vec![device("/dev/sda1", Some(100), false)], "20Gi"),
        (al2023, vec![device("/dev/sda1", Some(100), true)], "100Gi"),
        (al2023, vec![device("/dev/xvda", None, true)], "20Gi"),
        (bottlerocket, vec![device("/dev/xvda", Some(100), false)], "20Gi"),
        (bottlerocket, vec![device("/dev/xvdb", Some(50), false)], "50Gi"),
    ] {
        assert_eq!(storage(family, devices.clone()), expected, "{family:?} {devices:?}");
    }
}

#[track_caller]
fn available(
    types: &[&str],
    class: &ResolvedNodeClass,
    unavailable_offerings: &BTreeMap<OfferingKey, Timestamp>,
) -> String {
    let types = offer(&catalog(types), class, unavailable_offerings, now());
    let keys = types.iter().flat_map(|t| {
        let open = t.offerings.iter().filter(|offering| offering.is_available);
        open.map(|offering| t.key_of(offering).to_string())
    });
    keys.collect::<Vec<_>>().join(", ")
}

#[test]
fn types_without_an_image_are_left_out() {
    let mut class = class(ImageFamily::Al2023);
    class.images.retain(|image| image.id.as_str() == "ami-0a02");
    assert_eq!(available(&[T3], &class, &BTreeMap::new()), "");
    assert!(offer(&catalog(&[T3]), &class, &BTreeMap::new(), now()).is_empty());
}

#[test]
fn offerings_need_a_subnet_in_their_zone() {
    let mut class = class(ImageFamily::Al2023);
    class.subnets = vec![subnet("subnet-0b", "us-west-2b", "usw2-az2", 1)];
    assert_eq!(
        available(&[T3], &class, &BTreeMap::new()),
        "on-demand t3.large us-west-2b, spot t3.large us-west-2b"
    );
    let types = offer(&catalog(&[T3]), &class, &BTreeMap::new(), now());
    assert_eq!(types[0].label(labels::ZONE).map(|zone| &**zone), Some("us-west-2b"));
    assert_eq!(types[0].label(labels::ZONE_ID).map(|id| &**id), Some("usw2-az2"));
}

#[test]
fn a_type_sold_in_no_zone_of_the_class_has_no_zone() {
    let mut class = class(ImageFamily::Al2023);
    class.subnets = vec![subnet("subnet-0d", "us-west-2d", "usw2-az4", 1)];
    let types = offer(&catalog(&[T3]), &class, &BTreeMap::new(), now());
    assert!(types[0].requirements.get(labels::ZONE).unwrap().values().is_empty());
    assert!(!types[0].requirements.contains(labels::ZONE_ID));
}

#[test]
fn an_unavailable_offering_comes_back_at_its_time() {
    let key = OfferingKey {
        capacity_type: CapacityType::Spot,
        instance_type: model::InstanceTypeName::new("t3.large").unwrap(),
        zone: Zone::new("us-west-2a").unwrap(),
    };
    let class = class(ImageFamily::Al2023);
    let later: Timestamp = "2026-08-01T12:00:01Z".parse().unwrap();
    assert_eq!(
        available(&[T3], &class, &BTreeMap::from([(key.clone(), later)])),
        "on-demand t3.large us-west-2a, on-demand t3.large us-west-2b, spot t3.large us-west-2b"
    );
    let ended = available(&[T3], &class, &BTreeMap::from([(key, now())]));
    assert_eq!(ended, available(&[T3], &class, &BTreeMap::new()));
}

#[test]
fn the_first_graviton_starts_bottlerocket_only() {
    let a1 = "a1.large arm64 2 3729Mi 29 0.051 -";
    assert_eq!(available(&[a1], &class(ImageFamily::Al2023), &BTreeMap::new()), "");
    assert_eq!(
        available(&[a1], &class(ImageFamily::Bottlerocket), &BTreeMap::new()),
        "on-demand a1.large us-west-2a, on-demand a1.large us-west-2b"
    );
}

#[test]
fn windows_has_its_own_number_of_pods_and_addresses_and_no_arm() {
    let c7g = "c7g.large arm64 2 3729Mi 29 0.0725 0.03";
    let mut class = class(ImageFamily::Windows2022);
    let mut catalog = described(&[T3, c7g]);
    let arm = catalog.descriptions.values_mut().next().map(Arc::make_mut).unwrap();
    arm.processor.architectures = vec!["arm64".to_owned()];
    arm.memory_mib = 4_096;
    class.class.network_interfaces.clear();
    let offered_types = all_types(&catalog, &class, &NodeSettings::default()).unwrap();
    let shown: Vec<String> = offered_types
        .iter()
        .map(|offered| {
            let instance_type = &offered.instance_type;
            let system = instance_type.requirements.get(labels::OS).unwrap();
            let build = instance_type.requirements.get(labels::WINDOWS_BUILD).unwrap();
            format!("{}: {}; {system}; {build}\n", instance_type.name, instance_type.capacity)
        })
        .collect();
    expect![[r"
        c7g.large: cpu 2, memory 3729Mi, ephemeral-storage 50Gi, pods 110; kubernetes.io/os DoesNotExist; node.kubernetes.io/windows-build In [10.0.20348]
        t3.large: cpu 2, memory 7577Mi, ephemeral-storage 50Gi, pods 110, vpc.amazonaws.com/PrivateIPv4Address 9; kubernetes.io/os In [windows]; node.kubernetes.io/windows-build In [10.0.20348]
    "]].assert_eq(&shown.concat());
}

#[test]
fn a_custom_image_keeps_pods_on_its_last_volume() {
    let storage = |devices: Vec<BlockDevice>| {
        let mut class = class(ImageFamily::Custom);
        class.class.block_devices = devices;
        let types = offer(&catalog(&[T3]), &class, &BTreeMap::new(), now());
        types[0].capacity.ephemeral_storage.to_string()
    };
    assert_eq!(storage(Vec::new()), "20Gi");
    let (small, large) = (device("/dev/a", Some(5), false), device("/dev/b", Some(50), false));
    assert_eq!(storage(vec![small.clone(), large.clone()]), "50Gi");
    assert_eq!(storage(vec![large.clone(), small.clone()]), "5Gi");
    assert_eq!(storage(vec![large.clone(), device("/dev/c", None, false)]), "20Gi");
    assert_eq!(storage(vec![BlockDevice { is_root: true, ..large }, small]), "50Gi");
}

/// Pods and reserved memory of a type with three interfaces of ten addresses.
fn pods(class: &ResolvedNodeClass, reserved_enis: u32) -> String {
    let settings = NodeSettings { reserved_enis, ..NodeSettings::default() };
    let offered_types = all_types(&described(&[T3]), class, &settings).unwrap();
    let overhead = &offered_types[0].overhead.kube_reserved;
    format!("{} pods, {}", offered_types[0].instance_type.capacity.pods, overhead.memory)
}

#[test]
fn reserved_interfaces_cost_pods_and_only_some_families_memory() {
    let shown = |family: ImageFamily| {
        let class = class(family);
        [0, 1, 99].map(|reserved| pods(&class, reserved)).join("; ")
    };
    assert_eq!(shown(ImageFamily::Al2), "29 pods, 574Mi; 20 pods, 574Mi; 0 pods, 574Mi");
    assert_eq!(shown(ImageFamily::Bottlerocket), "29 pods, 574Mi; 20 pods, 475Mi; 0 pods, 255Mi");
    assert_eq!(
        shown(ImageFamily::Windows2019),
        "110 pods, 1465Mi; 110 pods, 1465Mi; 110 pods, 1465Mi"
    );
}

fn interface(card: u32, device: u32, is_efa_only: bool) -> NetworkInterface {
    NetworkInterface { card, device, is_efa_only }
}

#[test]
fn adapters_on_the_first_card_cost_pods() {
    let mut class = class(ImageFamily::Al2023);
    class.class.network_interfaces = vec![interface(0, 0, false), interface(0, 1, true)];
    assert_eq!(pods(&class, 0), "20 pods, 475Mi");
    class.class.network_interfaces = vec![interface(0, 0, false), interface(1, 0, true)];
    assert_eq!(pods(&class, 0), "29 pods, 574Mi");
}

/// Whether a type with cards of three and one interfaces, two adapters, and the strategies cluster
/// and partition can be bought.
fn can_be_bought(change: impl Fn(&mut ResolvedNodeClass)) -> bool {
    let mut class = class(ImageFamily::Al2023);
    change(&mut class);
    let hypervisor = format!("{T3} {INSTANCE_HYPERVISOR}=nitro");
    let types = offer(&described(&[&hypervisor]), &class, &BTreeMap::new(), now());
    types[0].offerings.iter().any(|offering| offering.is_available)
}

#[test]
fn interfaces_must_fit_on_the_cards() {
    let with = |interfaces: &[NetworkInterface]| {
        can_be_bought(|class| class.class.network_interfaces = interfaces.to_vec())
    };
    let first = interface(0, 0, false);
    assert!(with(&[first, interface(0, 2, false), interface(1, 0, true)]));
    assert!(!with(&[first, interface(0, 3, false)]));
    assert!(!with(&[first, interface(1, 1, false)]));
    assert!(!with(&[first, interface(2, 0, true)]));
    assert!(!with(&[first, interface(0, 1, true), interface(0, 2, true), interface(1, 0, true)]));
}

#[test]
fn what_the_type_cannot_do_makes_it_unavailable() {
    let group = |strategy| PlacementGroup {
        id: "pg-1".parse().unwrap(),
        name: "group".to_owned(),
        strategy,
    };
    assert!(can_be_bought(|class| class.placement_group = Some(group(PlacementStrategy::Cluster))));
    assert!(!can_be_bought(|class| class.placement_group = Some(group(PlacementStrategy::Spread))));
    assert!(can_be_bought(|class| class.class.nested_virtualization = Some(false)));
    assert!(!can_be_bought(|class| class.class.nested_virtualization = Some(true)));
    assert!(can_be_bought(|class| {
        class.class.connection_tracking = Some(ConnectionTracking::default());
    }));
    let mut class = class(ImageFamily::Al2023);
    class.class.connection_tracking = Some(ConnectionTracking::default());
    for hypervisor in ["xen", ""] {
        let text = format!("{T3} {INSTANCE_HYPERVISOR}={hypervisor}");
        assert_eq!(available(&[&text], &class, &BTreeMap::new()), "", "{hypervisor}");
    }
}

#[test]
fn partitions_of_a_placement_group_are_a_label() {
    let mut class = class(ImageFamily::Al2023);
    let strategy = PlacementStrategy::Partition { count: 3 };
    class.placement_group =
        Some(PlacementGroup { id: "pg-1".parse().unwrap(), name: "group".to_owned(), strategy });
    let types = offer(&described(&[T3]), &class, &BTreeMap::new(), now());
    let label = |key: &str| types[0].requirements.get(key).unwrap().to_string();
    assert_eq!(label(PLACEMENT_GROUP_ID), format!("{PLACEMENT_GROUP_ID} In [pg-1]"));
    assert_eq!(label(PLACEMENT_GROUP_PARTITION), format!("{PLACEMENT_GROUP_PARTITION} In [1 2 3]"));
}

fn reservation(id: &str, zone: &str, available_count: u32) -> CapacityReservation {
    CapacityReservation {
        id: id.parse().unwrap(),
        instance_type: model::InstanceTypeName::new("t3.large").unwrap(),
        zone: Zone::new(zone).unwrap(),
        owner: "111122223333".to_owned(),
        match_criteria: model::node_class::MatchCriteria::Targeted,
        is_capacity_block: false,
        is_interruptible: false,
        is_expiring: false,
        ends_at: None,
        available_count,
    }
}

#[test]
fn a_reservation_is_available_while_it_has_time_also_when_it_is_full() {
    let mut class = class(ImageFamily::Al2023);
    class.reservations = vec![
        reservation("cr-a", "us-west-2a", 3),
        reservation("cr-b", "us-west-2b", 0),
        reservation("cr-c", "us-west-2c", 1),
        CapacityReservation {
            is_expiring: true,
            is_capacity_block: true,
            ..reservation("cr-d", "us-west-2a", 1)
        },
    ];
    let shown = |settings: &NodeSettings| {
        let offered_types = all_types(&catalog(&[T3]), &class, settings).unwrap();
        let instance_type = offered_types[0].instance_type.clone();
        let offerings: Vec<String> = instance_type
            .offerings
            .iter()
            .filter_map(|offering| {
                let id = &offering.reservation.as_ref()?.id;
                Some(format!("{id} {} {}", offering.is_available, offering.price))
            })
            .collect();
        let kinds = instance_type.requirements.get(labels::CAPACITY_TYPE).unwrap();
        let id = instance_type.requirements.get(labels::RESERVATION_ID).unwrap();
        format!("{kinds}; {id}; {}", offerings.join(", "))
    };
    expect!["karpenter.sh/capacity-type In [on-demand reserved spot]; karpenter.k8s.aws/capacity-reservation-id In [cr-a cr-b cr-c cr-d]; cr-a true 0.00000000832, cr-b true 0.00000000832, cr-c false 0.00000000832, cr-d false 0.00000000832"].assert_eq(&shown(&NodeSettings::default()));
    let off = NodeSettings { reserved_capacity: false, ..NodeSettings::default() };
    expect!["karpenter.sh/capacity-type In [on-demand spot]; karpenter.k8s.aws/capacity-reservation-id DoesNotExist; "].assert_eq(&shown(&off));
}

#[test]
fn a_reservation_that_gave_nothing_is_left_alone_for_a_while() {
    let mut class = class(ImageFamily::Al2023);
    class.reservations =
        vec![reservation("cr-a", "us-west-2a", 3), reservation("cr-b", "us-west-2b", 1)];
    let key = OfferingKey {
        capacity_type: CapacityType::Reserved,
        instance_type: model::InstanceTypeName::new("t3.large").unwrap(),
        zone: Zone::new("us-west-2a").unwrap(),
    };
    let later: Timestamp = "2026-08-01T12:00:01Z".parse().unwrap();
    let reserved = |unavailable_offerings: &BTreeMap<OfferingKey, Timestamp>| {
        let shown = available(&[T3], &class, unavailable_offerings);
        let reserved = shown.split(", ").filter(|offering| offering.starts_with("reserved"));
        (reserved.collect::<Vec<_>>().join(", "), shown.matches("on-demand").count())
    };
    let both = "reserved t3.large us-west-2a, reserved t3.large us-west-2b".to_owned();
    assert_eq!(reserved(&BTreeMap::new()), (both.clone(), 2));
    let left = "reserved t3.large us-west-2b".to_owned();
    assert_eq!(reserved(&BTreeMap::from([(key.clone(), later)])), (left, 2), "only reserved");
    assert_eq!(reserved(&BTreeMap::from([(key, now())])), (both, 2));
}

#[test]
fn a_local_zone_is_a_zone_like_any_other() {
    let mut sold = catalog(&[T3]);
    let zone = Zone::new("us-west-2-lax-1a").unwrap();
    let id = ZoneId::new("usw2-lax1-az1").unwrap();
    let instance_type = Arc::make_mut(&mut sold.instance_types[0]);
    let zones = "zone=us-west-2a,us-west-2-lax-1a";
    instance_type.requirements.replace(crate::testing::requirement(zones));
    let there = Offering {
        zone: zone.clone(),
        zone_id: Some(id.clone()),
        ..instance_type.offerings[0].clone()
    };
    instance_type.offerings.push(there);
    sold.zones.insert(zone, id);
    let mut class = class(ImageFamily::Al2023);
    class.subnets = vec![subnet("subnet-0e", "us-west-2-lax-1a", "usw2-lax1-az1", 10)];
    let types = offer(&sold, &class, &BTreeMap::new(), now());
    let claim = crate::testing::claim(&["paid=on-demand"], &[T3]);
    let (settings, profile) = (crate::testing::settings(), crate::testing::PROFILE);
    let launch = crate::requests(&[claim], &class, &types, &settings, profile).unwrap();
    let choices = launch.request.templates.iter().flat_map(|template| &template.overrides);
    let subnets: Vec<&str> = choices.map(|choice| choice.subnet.as_str()).collect();
    assert_eq!(subnets, ["subnet-0e"]);
}

#[test]
fn enclaves_are_on_only_where_the_class_says_so() {
    let mut class = class(ImageFamily::Al2023);
    let base = catalog(&[T3]);
    let can_be_bought = |class: &ResolvedNodeClass| {
        let types = all_types(&base, class, &NodeSettings::default()).unwrap();
        types[0].instance_type.offerings.iter().any(|offering| offering.is_available)
    };
    assert!(can_be_bought(&class));
    class.class.enclaves = Some(false);
    assert!(can_be_bought(&class));
    class.class.enclaves = Some(true);
    assert!(!can_be_bought(&class), "it is not known that the type has them");
}
