//! How the driver of NVIDIA's GPUs lets claims share them, as an EC2NodeClass says.
//!
//! Karpenter: `pkg/providers/nvidiadra/consumablecapacity.go` of the AWS provider.

use super::{DeviceCapacity, RequestPolicy, SliceDevice, ValidAmounts};
use crate::{Bytes, Quantity};

/// The capacity of a GPU that all sharing is measured in.
const MEMORY: &str = "memory";
/// The capacity that a number of shares adds.
const SHARES: &str = "shares";

/// What claims may share of a GPU: the value of the annotation `karpenter.k8s.aws/nvidia-consumable-capacity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GpuSharing {
    /// This number of shares, of which a request takes one unless it asks for more; and memory, of which it takes none
    /// unless it asks for some.
    Shares(u64),
    /// Memory, all of it unless a request asks for less.
    Memory,
    /// Memory, none of it unless a request asks for some.
    Unlimited,
}

/// Why a value of the annotation is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not one of \"disabled\", \"memory\", \"unlimited\", or a positive integer share count"
)]
pub struct InvalidGpuSharing(pub String);

impl GpuSharing {
    /// Reads the value of the annotation; `None` is a GPU for one claim alone, as it is without the annotation.
    pub fn parse(value: &str) -> Result<Option<Self>, InvalidGpuSharing> {
        match value {
            "" | "disabled" => Ok(None),
            "memory" => Ok(Some(Self::Memory)),
            "unlimited" => Ok(Some(Self::Unlimited)),
            number => match number.parse::<i64>().map(u64::try_from) {
                Ok(Ok(shares)) if 0 < shares => Ok(Some(Self::Shares(shares))),
                _ => Err(InvalidGpuSharing(value.to_owned())),
            },
        }
    }

    /// The device as the driver publishes it with this setting. One without memory stays as it is.
    #[must_use]
    pub fn of(self, device: &SliceDevice) -> SliceDevice {
        let mut device = device.clone();
        let Some(memory) = device.capacity.get_mut(MEMORY) else { return device };
        let mebibyte = Quantity::from_units(Bytes::from_mebibytes(1).0);
        let (default, min) = match self {
            Self::Memory => (memory.value, mebibyte),
            Self::Shares(_) | Self::Unlimited => (Quantity::default(), Quantity::default()),
        };
        *memory = shared(memory.value, default, min, mebibyte);
        if let Self::Shares(shares) = self {
            let single = Quantity::from_units(1);
            let shares = shared(Quantity::from_units(shares), single, single, single);
            device.capacity.insert(SHARES.to_owned(), shares);
        }
        device.allows_multiple_allocations = true;
        device
    }
}

fn shared(value: Quantity, default: Quantity, min: Quantity, step: Quantity) -> DeviceCapacity {
    let valid = ValidAmounts::Range { min, max: Some(value), step: Some(step) };
    DeviceCapacity {
        value,
        policy: Some(RequestPolicy { default: Some(default), valid: Some(valid) }),
    }
}
