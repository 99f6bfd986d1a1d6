//! What a class makes of the catalog.

use expect_test::{Expect, expect};
use model::{
    Bytes,
    node_class::{BlockDevice, ImageFamily, Kubelet},
};

use super::*;
use crate::testing::{catalog, class, now, subnet};

/// t3.large has 35 pods by its network interfaces; the figures for it are Karpenter's.
const T3: &str = "t3.large amd64 2 7577Mi 35 0.0832 0.03";
const LOCAL: &str = "m6gd.large amd64 2 8Gi 29 0.09 0.03 karpenter.k8s.aws/instance-local-nvme=118";
const OLD: &str = "c3.large amd64 2 3552Mi 29 0.105 0.04";

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
    let kubelet = Kubelet { max_pods: Some(10), ..Kubelet::default() };
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
    let kubelet = Kubelet { max_pods: Some(10), pods_per_core: Some(1), ..Kubelet::default() };
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
    let kubelet = Kubelet { max_pods: Some(58), pods_per_core: Some(10), ..Kubelet::default() };
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
        &[T3, LOCAL, OLD],
        &class,
        &expect![[r"
        c3.large: cpu 2, memory 3552Mi, ephemeral-storage 31250000Ki, pods 29
          overhead cpu 70m, memory 674Mi, ephemeral-storage 4173576Ki
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
    cooling: &BTreeMap<OfferingKey, Timestamp>,
) -> String {
    let types = offer(&catalog(types), class, cooling, now());
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
fn what_cools_down_is_not_available_until_its_time() {
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
fn families_that_are_not_supported_yet_have_no_types() {
    for family in [ImageFamily::Al2, ImageFamily::Windows2022, ImageFamily::Custom] {
        assert!(offer(&catalog(&[T3]), &class(family), &BTreeMap::new(), now()).is_empty());
    }
}
