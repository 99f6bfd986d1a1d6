//! What catalogs are read from, and what the built-in one holds.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::{fmt::Write as _, sync::Arc};

use expect_test::expect;
use instance_catalog::{builtin, read, table};
use model::{InstanceType, InstanceTypeName};

/// `m7g.large` as `journeyman catalog -o json` prints it, with a reservation beside.
const M7G_LARGE: &str = r#"{"region":"us-west-2","zones":{"us-west-2a":"usw2-az1"},"instanceTypes":[{
    "name":"m7g.large",
    "requirements":[{"key":"kubernetes.io/arch","operator":"In","values":["arm64"]},
        {"key":"karpenter.k8s.aws/instance-gpu-name","operator":"DoesNotExist"}],
    "capacity":{"cpu":"2","ephemeral-storage":"20Gi","memory":"7518Mi","pods":"29"},
    "overhead":{"kubeReserved":{"cpu":"70m","ephemeral-storage":"1Gi","memory":"574Mi"},
        "systemReserved":{},"evictionThreshold":{"ephemeral-storage":"2147483648","memory":"100Mi"}},
    "offerings":[
        {"zone":"us-west-2a","capacityType":"on-demand","pricePerHour":"0.0816","available":true},
        {"zone":"us-west-2a","capacityType":"reserved","reservation":"cr-1","reservationType":"default",
         "interruptible":true,"count":3,"pricePerHour":"0.00000000816","available":false}]}]}"#;

fn shown(instance_type: &InstanceType) -> String {
    let mut text = String::new();
    let InstanceType { name, requirements, capacity, overhead, offerings } = instance_type;
    writeln!(text, "{name}\n  capacity {capacity}\n  overhead {overhead}\n  {requirements}")
        .unwrap();
    for o in offerings {
        let available = if o.is_available { "" } else { " unavailable" };
        let reservation = o.reservation.as_ref().map(|r| format!(" {r:?}")).unwrap_or_default();
        writeln!(text, "  {} {} {}{available}{reservation}", o.capacity_type, o.zone, o.price)
            .unwrap();
    }
    text
}

#[test]
fn overheads_are_summed_and_prices_exact() {
    let catalog = read(M7G_LARGE).unwrap();
    expect![[r#"
        m7g.large
          capacity cpu 2, memory 7518Mi, ephemeral-storage 20Gi, pods 29
          overhead cpu 70m, memory 674Mi, ephemeral-storage 3Gi
          karpenter.k8s.aws/instance-gpu-name DoesNotExist, kubernetes.io/arch In [arm64]
          on-demand us-west-2a 0.0816
          reserved us-west-2a 0.00000000816 unavailable Reservation { id: "cr-1", kind: "default", interruptible: true, count: 3 }
    "#]]
    .assert_eq(&shown(&catalog.instance_types[0]));
}

#[test]
fn what_is_no_catalog_names_type_and_rule() {
    for (from, to, problem) in [
        ("0.0816", "8 cents", "catalog: m7g.large: `8 cents` is not a price: "),
        ("7518Mi", "7518MB", "catalog: m7g.large: memory: `7518MB` is not a quantity: "),
        ("DoesNotExist", "Nope", "catalog: m7g.large: `Nope` is not an operator"),
        ("\"reserved\"", "\"free\"", "catalog: m7g.large: `free` is not a capacity type"),
        ("\"instanceTypes\"", "\"types\"", "catalog: missing field `instanceTypes`"),
    ] {
        let error = read(&M7G_LARGE.replace(from, to)).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
    let (start, text) = M7G_LARGE.split_once("[{").unwrap();
    let beginning = text.strip_suffix("]}").unwrap();
    let error = read(&format!("{start}[{{{beginning},{{{beginning}]}}")).unwrap_err();
    assert_eq!(error.to_string(), "catalog: m7g.large stands there twice");
}

#[test]
fn the_built_in_catalog_is_complete() {
    let catalog = builtin().unwrap();
    assert_eq!((catalog.region.as_str(), catalog.zones.len()), ("us-west-2", 4));
    assert_eq!(catalog.instance_types.len(), 1_309);
    let available =
        |instance_type: &&Arc<InstanceType>| instance_type.offerings.iter().any(|o| o.is_available);
    assert_eq!(catalog.instance_types.iter().filter(available).count(), 1_303);
    let offerings: usize =
        catalog.instance_types.iter().map(|instance_type| instance_type.offerings.len()).sum();
    assert_eq!(offerings, 9_804);
    for instance_type in &catalog.instance_types {
        assert_eq!(instance_type.requirements.len(), 33, "{}", instance_type.name);
        assert!(
            instance_type.capacity.cpu.0 > 0 && instance_type.allocatable().memory.0 > 0,
            "{}",
            instance_type.name
        );
    }
}

#[test]
fn rows_of_the_built_in_catalog_are_exact() {
    let catalog = builtin().unwrap();
    let row =
        |name: &str| shown(catalog.instance_type(&InstanceTypeName::new(name).unwrap()).unwrap());
    expect![[r#"
        m7g.large
          capacity cpu 2, memory 7518Mi, ephemeral-storage 20Gi, pods 29, vpc.amazonaws.com/pod-eni 9
          overhead cpu 70m, memory 674Mi, ephemeral-storage 3Gi
          karpenter.k8s.aws/capacity-reservation-id DoesNotExist, karpenter.k8s.aws/capacity-reservation-interruptible DoesNotExist, karpenter.k8s.aws/capacity-reservation-type DoesNotExist, karpenter.k8s.aws/instance-accelerator-count DoesNotExist, karpenter.k8s.aws/instance-accelerator-manufacturer DoesNotExist, karpenter.k8s.aws/instance-accelerator-name DoesNotExist, karpenter.k8s.aws/instance-capability-flex In [false], karpenter.k8s.aws/instance-category In [m], karpenter.k8s.aws/instance-cpu In [2], karpenter.k8s.aws/instance-cpu-manufacturer In [aws], karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz In [2600], karpenter.k8s.aws/instance-ebs-bandwidth In [10000], karpenter.k8s.aws/instance-encryption-in-transit-supported In [true], karpenter.k8s.aws/instance-family In [m7g], karpenter.k8s.aws/instance-generation In [7], karpenter.k8s.aws/instance-gpu-count DoesNotExist, karpenter.k8s.aws/instance-gpu-manufacturer DoesNotExist, karpenter.k8s.aws/instance-gpu-memory DoesNotExist, karpenter.k8s.aws/instance-gpu-name DoesNotExist, karpenter.k8s.aws/instance-hypervisor In [nitro], karpenter.k8s.aws/instance-local-nvme DoesNotExist, karpenter.k8s.aws/instance-memory In [8192], karpenter.k8s.aws/instance-network-bandwidth In [937], karpenter.k8s.aws/instance-size In [large], karpenter.k8s.aws/instance-tenancy In [dedicated default], karpenter.sh/capacity-type In [on-demand spot], kubernetes.io/arch In [arm64], kubernetes.io/os In [linux], node.kubernetes.io/instance-type In [m7g.large], node.kubernetes.io/windows-build DoesNotExist, topology.k8s.aws/zone-id In [usw2-az1 usw2-az2 usw2-az3 usw2-az4], topology.kubernetes.io/region In [us-west-2], topology.kubernetes.io/zone In [us-west-2a us-west-2b us-west-2c us-west-2d]
          on-demand us-west-2a 0.0816
          on-demand us-west-2b 0.0816
          on-demand us-west-2c 0.0816
          on-demand us-west-2d 0.0816
          spot us-west-2a 0.033747
          spot us-west-2b 0.029181
          spot us-west-2c 0.024615
          spot us-west-2d 0.034547
    "#]].assert_eq(&row("m7g.large"));
    expect![[r#"
        p5.48xlarge
          capacity cpu 192, memory 1939865Mi, ephemeral-storage 20Gi, pods 100, nvidia.com/gpu 8, vpc.amazonaws.com/efa 32, vpc.amazonaws.com/pod-eni 120
          overhead cpu 550m, memory 1455Mi, ephemeral-storage 3Gi
          karpenter.k8s.aws/capacity-reservation-id DoesNotExist, karpenter.k8s.aws/capacity-reservation-interruptible DoesNotExist, karpenter.k8s.aws/capacity-reservation-type DoesNotExist, karpenter.k8s.aws/instance-accelerator-count DoesNotExist, karpenter.k8s.aws/instance-accelerator-manufacturer DoesNotExist, karpenter.k8s.aws/instance-accelerator-name DoesNotExist, karpenter.k8s.aws/instance-capability-flex In [false], karpenter.k8s.aws/instance-category In [p], karpenter.k8s.aws/instance-cpu In [192], karpenter.k8s.aws/instance-cpu-manufacturer In [amd], karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz In [3600], karpenter.k8s.aws/instance-ebs-bandwidth In [80000], karpenter.k8s.aws/instance-encryption-in-transit-supported In [true], karpenter.k8s.aws/instance-family In [p5], karpenter.k8s.aws/instance-generation In [5], karpenter.k8s.aws/instance-gpu-count In [8], karpenter.k8s.aws/instance-gpu-manufacturer In [nvidia], karpenter.k8s.aws/instance-gpu-memory In [81920], karpenter.k8s.aws/instance-gpu-name In [h100], karpenter.k8s.aws/instance-hypervisor In [nitro], karpenter.k8s.aws/instance-local-nvme In [30400], karpenter.k8s.aws/instance-memory In [2097152], karpenter.k8s.aws/instance-network-bandwidth In [3200000], karpenter.k8s.aws/instance-size In [48xlarge], karpenter.k8s.aws/instance-tenancy In [dedicated default], karpenter.sh/capacity-type In [on-demand spot], kubernetes.io/arch In [amd64], kubernetes.io/os In [linux], node.kubernetes.io/instance-type In [p5.48xlarge], node.kubernetes.io/windows-build DoesNotExist, topology.k8s.aws/zone-id In [usw2-az1 usw2-az2 usw2-az3 usw2-az4], topology.kubernetes.io/region In [us-west-2], topology.kubernetes.io/zone In [us-west-2a us-west-2b us-west-2c us-west-2d]
          on-demand us-west-2a 55.040064
          on-demand us-west-2b 55.040064
          on-demand us-west-2c 55.040064
          on-demand us-west-2d 55.040064
          spot us-west-2a 25.968893
          spot us-west-2b 22.888796
          spot us-west-2c 19.808699
          spot us-west-2d 16.728602
    "#]].assert_eq(&row("p5.48xlarge"));
    expect![[r#"
        a1.large
          capacity cpu 2, memory 3729Mi, ephemeral-storage 20Gi, pods 29, vpc.amazonaws.com/pod-eni 9
          overhead cpu 70m, memory 674Mi, ephemeral-storage 3Gi
          karpenter.k8s.aws/capacity-reservation-id DoesNotExist, karpenter.k8s.aws/capacity-reservation-interruptible DoesNotExist, karpenter.k8s.aws/capacity-reservation-type DoesNotExist, karpenter.k8s.aws/instance-accelerator-count DoesNotExist, karpenter.k8s.aws/instance-accelerator-manufacturer DoesNotExist, karpenter.k8s.aws/instance-accelerator-name DoesNotExist, karpenter.k8s.aws/instance-capability-flex In [false], karpenter.k8s.aws/instance-category In [a], karpenter.k8s.aws/instance-cpu In [2], karpenter.k8s.aws/instance-cpu-manufacturer In [aws], karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz In [2300], karpenter.k8s.aws/instance-ebs-bandwidth In [3500], karpenter.k8s.aws/instance-encryption-in-transit-supported In [false], karpenter.k8s.aws/instance-family In [a1], karpenter.k8s.aws/instance-generation In [1], karpenter.k8s.aws/instance-gpu-count DoesNotExist, karpenter.k8s.aws/instance-gpu-manufacturer DoesNotExist, karpenter.k8s.aws/instance-gpu-memory DoesNotExist, karpenter.k8s.aws/instance-gpu-name DoesNotExist, karpenter.k8s.aws/instance-hypervisor In [nitro], karpenter.k8s.aws/instance-local-nvme DoesNotExist, karpenter.k8s.aws/instance-memory In [4096], karpenter.k8s.aws/instance-network-bandwidth In [750], karpenter.k8s.aws/instance-size In [large], karpenter.k8s.aws/instance-tenancy In [dedicated default], karpenter.sh/capacity-type In [on-demand spot], kubernetes.io/arch In [arm64], kubernetes.io/os In [linux], node.kubernetes.io/instance-type In [a1.large], node.kubernetes.io/windows-build DoesNotExist, topology.k8s.aws/zone-id In [usw2-az1 usw2-az3], topology.kubernetes.io/region In [us-west-2], topology.kubernetes.io/zone In [us-west-2a us-west-2c]
          on-demand us-west-2a 0.0510 unavailable
          on-demand us-west-2c 0.0510 unavailable
          spot us-west-2a 0.019784 unavailable
          spot us-west-2c 0.027846 unavailable
    "#]].assert_eq(&row("a1.large"));
}

#[test]
fn a_table_that_is_damaged_is_an_error() {
    assert!(table::decode(b"").is_err());
    assert!(table::decode(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0]).is_err());
}
