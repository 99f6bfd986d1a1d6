//! In what the image families differ.
//!
//! Karpenter: `pkg/providers/amifamily/{al2,al2023,bottlerocket,windows,custom}.go` of the AWS
//! provider.

use model::{
    Bytes,
    node_class::{BlockDevice, ImageFamily},
};

/// The volumes of a class that names none. Of a custom image nothing is known.
pub(crate) fn default_block_devices(family: ImageFamily) -> Vec<BlockDevice> {
    match family {
        ImageFamily::Al2 | ImageFamily::Al2023 => vec![volume("/dev/xvda", 20)],
        ImageFamily::Bottlerocket => vec![volume("/dev/xvda", 6), volume("/dev/xvdb", 20)],
        ImageFamily::Windows2019 | ImageFamily::Windows2022 | ImageFamily::Windows2025 => {
            vec![volume("/dev/sda1", 50)]
        }
        ImageFamily::Custom => Vec::new(),
    }
}

/// The device on which pods' ephemeral storage lies, where it is known.
pub(crate) const fn ephemeral_device(family: ImageFamily) -> Option<&'static str> {
    match family {
        ImageFamily::Al2 | ImageFamily::Al2023 => Some("/dev/xvda"),
        ImageFamily::Bottlerocket => Some("/dev/xvdb"),
        ImageFamily::Windows2019 | ImageFamily::Windows2022 | ImageFamily::Windows2025 => {
            Some("/dev/sda1")
        }
        ImageFamily::Custom => None,
    }
}

/// Whether kubelet's reserved memory is counted from the pods that network interfaces allow,
/// whatever `maxPods` says.
pub(crate) const fn reserves_for_interface_pods(family: ImageFamily) -> bool {
    matches!(family, ImageFamily::Al2 | ImageFamily::Al2023 | ImageFamily::Custom)
}

/// Whether `podsPerCore` is heeded.
pub(crate) const fn honors_pods_per_core(family: ImageFamily) -> bool {
    !matches!(family, ImageFamily::Bottlerocket)
}

/// How many pods a node has at most when the class does not say; `None` where network interfaces
/// decide.
pub(crate) const fn default_max_pods(family: ImageFamily) -> Option<u64> {
    if family.is_windows() { Some(110) } else { None }
}

/// Whether its images start on instances of `instance_family`: AL2023 needs processors newer than
/// the first Graviton.
pub(crate) fn starts_on(family: ImageFamily, instance_family: &str) -> bool {
    !(family == ImageFamily::Al2023 && instance_family == "a1")
}

/// The value of the label `node.kubernetes.io/windows-build`.
pub(crate) const fn windows_build(family: ImageFamily) -> Option<&'static str> {
    match family {
        ImageFamily::Windows2019 => Some("10.0.17763"),
        ImageFamily::Windows2022 => Some("10.0.20348"),
        ImageFamily::Windows2025 => Some("10.0.26100"),
        ImageFamily::Al2
        | ImageFamily::Al2023
        | ImageFamily::Bottlerocket
        | ImageFamily::Custom => None,
    }
}

fn volume(device_name: &str, gibibytes: u64) -> BlockDevice {
    BlockDevice {
        device_name: Some(device_name.to_owned()),
        size: Some(Bytes::from_gibibytes(gibibytes)),
        volume_type: Some("gp3".to_owned()),
        encrypted: Some(true),
        ..BlockDevice::default()
    }
}
