//! Labels and sizes of types as EC2 describes them.

use model::instance_type_info::{LocalDisks, TableFacts};

use super::*;
use crate::testing::instance_type_info;

fn market() -> RegionMarket {
    let zone = |text: &str| Zone::new(text).unwrap();
    let name: model::InstanceTypeName = "m5.large".parse().unwrap();
    RegionMarket {
        region: "us-west-2".to_owned(),
        zones: [(zone("us-west-2a"), "usw2-az1".parse().unwrap())].into(),
        offered: [
            (name.clone(), [zone("us-west-2a"), zone("us-west-2b")].into()),
            ("x.large".parse().unwrap(), [zone("us-west-2c")].into()),
        ]
        .into(),
        on_demand: [(name.clone(), HourlyPrice::from_nanos(96))].into(),
        spot: [((name, zone("us-west-2b")), HourlyPrice::from_nanos(40))].into(),
    }
}

fn described(info: InstanceTypeInfo) -> Arc<InstanceType> {
    Arc::clone(&catalog(&market(), vec![info], &NodeSettings::default()).instance_types[0])
}

#[test]
fn every_zone_has_an_offering_that_is_available_where_it_is_sold_and_priced() {
    let instance_type = described(instance_type_info("m5.large", 2));
    let shown: Vec<String> = instance_type
        .offerings
        .iter()
        .map(|offering| {
            let id = offering.zone_id.as_ref().map_or("?", model::ZoneId::as_str);
            format!("{} {} {id} {}", offering.capacity_type, offering.zone, offering.is_available)
        })
        .collect();
    expect_test::expect![[r"
        on-demand us-west-2a usw2-az1 true
        on-demand us-west-2b ? true
        on-demand us-west-2c ? false
        spot us-west-2a usw2-az1 false
        spot us-west-2b ? true
        spot us-west-2c ? false"]]
    .assert_eq(&shown.join("\n"));
    assert!(
        described(instance_type_info("c5.large", 2))
            .offerings
            .iter()
            .all(|offering| !offering.is_available)
    );
}

#[test]
fn category_and_generation_are_parts_of_the_name() {
    for (name, expected) in [
        ("m5.large", Some(("m", "5"))),
        ("m7i-flex.large", Some(("m", "7"))),
        ("u-6tb1.112xlarge", Some(("u", "1"))),
        ("u7i-12tb.224xlarge", Some(("u", "7"))),
        ("p6-b200.48xlarge", Some(("p", "6"))),
        ("is4gen.medium", Some(("is", "4"))),
        ("nodot5", None),
        ("x.large", None),
    ] {
        assert_eq!(name_parts(name), expected, "{name}");
    }
}

#[test]
fn devices_are_labels_only_when_they_are_of_one_kind() {
    let gpu = |name: &str, count: u32| Device {
        name: name.to_owned(),
        manufacturer: "NVIDIA".to_owned(),
        count,
        memory_mib: 16_384,
        cores: 0,
    };
    let with = |gpus: Vec<Device>| {
        described(InstanceTypeInfo { gpus, ..instance_type_info("m5.large", 2) })
    };
    let label = |instance_type: &InstanceType, key: &str| {
        instance_type.label(&format!("karpenter.k8s.aws/instance-{key}")).map(ToString::to_string)
    };
    let instance_type = with(vec![gpu("T4 Tensor", 1)]);
    assert_eq!(label(&instance_type, "gpu-name").as_deref(), Some("t4-tensor"));
    assert_eq!(label(&instance_type, "gpu-memory").as_deref(), Some("16384"));
    let two = with(vec![gpu("T4", 1), gpu("L4", 2)]);
    assert_eq!(label(&two, "gpu-name"), None);
    assert_eq!(two.capacity.get("nvidia.com/gpu"), 3);
    let neuron = Device { cores: 2, ..gpu("Inferentia2", 6) };
    let inf2 = described(InstanceTypeInfo {
        accelerators: vec![gpu("Inferentia", 6)],
        neuron_devices: vec![neuron],
        ..instance_type_info("inf2.24xlarge", 96)
    });
    assert_eq!(label(&inf2, "accelerator-name").as_deref(), Some("inferentia2"));
    assert_eq!(label(&inf2, "accelerator-manufacturer").as_deref(), Some("aws"));
    assert_eq!(inf2.capacity.get("aws.amazon.com/neuron"), 6);
    assert_eq!(inf2.capacity.get("aws.amazon.com/neuroncore"), 12);
}

#[test]
fn what_a_type_has_not_is_a_label_that_does_not_exist() {
    let plain = described(InstanceTypeInfo {
        local_disks: Some(LocalDisks { gigabytes: 80, is_nvme: false }),
        table: TableFacts::default(),
        ..instance_type_info("m5.large", 2)
    });
    for key in ["local-nvme", "gpu-count", "accelerator-count", "network-bandwidth"] {
        let key = format!("karpenter.k8s.aws/instance-{key}");
        assert!(plain.requirements.get(&key).unwrap().values().is_empty(), "{key}");
    }
    assert_eq!(plain.capacity.get("vpc.amazonaws.com/pod-eni"), 0);
}

#[test]
fn memory_is_what_is_left_of_it_and_an_arm_keeps_some_for_itself() {
    let memory = |architecture: &str| {
        let mut info = instance_type_info("m5.large", 2);
        info.processor.architectures = vec![architecture.to_owned()];
        described(info).capacity.memory.to_string()
    };
    // 8192 - 615 and 8128 - 610.
    assert_eq!((memory("x86_64"), memory("arm64")), ("7577Mi".to_owned(), "7518Mi".to_owned()));
}
