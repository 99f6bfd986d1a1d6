//! The image families whose nodes can be launched, and in what they differ.
//!
//! Karpenter: `pkg/providers/amifamily/{al2023,bottlerocket}.go` of the AWS provider.

use model::{
    Bytes,
    node_class::{BlockDevice, ImageFamily},
};

/// A family that is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Amazon Linux 2023.
    Al2023,
    /// Bottlerocket.
    Bottlerocket,
}

impl Family {
    /// The family called `family` by the class; `None` when it is not supported yet.
    pub(crate) fn of(family: ImageFamily) -> Option<Self> {
        match family {
            ImageFamily::Al2023 => Some(Self::Al2023),
            ImageFamily::Bottlerocket => Some(Self::Bottlerocket),
            ImageFamily::Al2
            | ImageFamily::Windows2019
            | ImageFamily::Windows2022
            | ImageFamily::Windows2025
            | ImageFamily::Custom => None,
        }
    }

    /// The volumes of a class that names none.
    pub(crate) fn default_block_devices(self) -> Vec<BlockDevice> {
        match self {
            Self::Al2023 => vec![volume("/dev/xvda", 20)],
            Self::Bottlerocket => vec![volume("/dev/xvda", 4), volume("/dev/xvdb", 20)],
        }
    }

    /// The device on which pods' ephemeral storage lies.
    pub(crate) const fn ephemeral_device(self) -> &'static str {
        match self {
            Self::Al2023 => "/dev/xvda",
            Self::Bottlerocket => "/dev/xvdb",
        }
    }

    /// Whether kubelet's reserved memory is counted from the pods that network interfaces allow,
    /// whatever `maxPods` says.
    pub(crate) const fn reserves_for_interface_pods(self) -> bool {
        matches!(self, Self::Al2023)
    }

    /// Whether `podsPerCore` is heeded.
    pub(crate) const fn honors_pods_per_core(self) -> bool {
        matches!(self, Self::Al2023)
    }

    /// Whether its images start on instances of `instance_family`: AL2023 needs processors newer
    /// than the first Graviton.
    pub(crate) fn starts_on(self, instance_family: &str) -> bool {
        !(self == Self::Al2023 && instance_family == "a1")
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
