//! Why a pod gets no devices on a node.

use std::{collections::BTreeMap, fmt};

use model::{
    InstanceTypeName,
    dynamic_resources::{DeviceCount, DeviceId, ResourceClaimKey},
    limits::{DEVICE_TRIES_PER_SEARCH_MAX, DEVICES_PER_CLAIM_MAX},
    words,
};

use crate::pools::UnusablePool;

/// Why a pod gets no devices on a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceRefusal {
    /// The pod names a claim that does not exist. The pod waits for it.
    #[error("ResourceClaim {0} does not exist")]
    ClaimNotFound(ResourceClaimKey),
    /// The claim can be satisfied on no such node.
    #[error("ResourceClaim {claim}: {fault}")]
    Claim {
        /// The claim.
        claim: ResourceClaimKey,
        /// What is wrong with it.
        fault: Box<ClaimFault>,
    },
    /// The claim has devices, and the node does not reach them.
    #[error("ResourceClaim {0} has devices that this node does not reach")]
    OutOfReach(ResourceClaimKey),
    /// The claim has devices of another node of this plan.
    #[error("ResourceClaim {0} has devices of another node")]
    OnAnotherNode(ResourceClaimKey),
    /// The node has no instance type.
    #[error("the node has no instance type")]
    NoInstanceType,
    /// Devices are missing, whichever instance type the node has.
    #[error("{0}")]
    Shortage(Box<DeviceShortage>),
    /// The search ended before it found devices; there may be some.
    #[error(
        "found no devices for the ResourceClaims in {DEVICE_TRIES_PER_SEARCH_MAX} tries: ask for fewer \
         devices or select them more closely"
    )]
    TriesSpent,
}

impl DeviceRefusal {
    /// The claim that gets no devices, if it is one.
    pub const fn claim(&self) -> Option<&ResourceClaimKey> {
        match self {
            Self::ClaimNotFound(claim)
            | Self::Claim { claim, .. }
            | Self::OutOfReach(claim)
            | Self::OnAnotherNode(claim) => Some(claim),
            Self::Shortage(shortage) => Some(&shortage.claim),
            Self::NoInstanceType | Self::TriesSpent => None,
        }
    }
}

/// What is wrong with a claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimFault {
    /// The class of a request does not exist.
    #[error("request {request}: DeviceClass {class} does not exist")]
    ClassNotFound {
        /// The request.
        request: String,
        /// The class.
        class: String,
    },
    /// A selector of a request or of its class is not of CEL.
    #[error("request {request}: only CEL selectors are supported")]
    UnsupportedSelector {
        /// The request.
        request: String,
    },
    /// A request is neither `exactly` nor `firstAvailable`.
    #[error("request {request}: only `exactly` and `firstAvailable` are supported")]
    UnsupportedRequest {
        /// The request.
        request: String,
    },
    /// A constraint other than `matchAttribute`.
    #[error("constraint {kind} is not supported: only matchAttribute is")]
    UnsupportedConstraint {
        /// The field.
        kind: String,
    },
    /// A selector is no CEL expression.
    #[error("request {request}: selector `{expression}` does not compile: {why}")]
    Compile {
        /// The request.
        request: String,
        /// The selector.
        expression: String,
        /// What the compiler says.
        why: String,
    },
    /// A selector of a request for all devices cannot be evaluated.
    #[error("request {request}: selector `{expression}` failed for device {device}: {why}")]
    Evaluation {
        /// The request.
        request: String,
        /// The selector.
        expression: String,
        /// The device.
        device: DeviceId,
        /// What the evaluation says.
        why: String,
    },
    /// A request for all devices, some of which are not known.
    #[error("request {request} is for all devices, but {pool}")]
    Pool {
        /// The request.
        request: String,
        /// A pool that the node sees.
        pool: UnusablePool,
    },
    /// More devices than Kubernetes gives to a claim.
    #[error(
        "{devices} devices are more than {DEVICES_PER_CLAIM_MAX}, the maximum of a ResourceClaim"
    )]
    TooManyDevices {
        /// The least that it asks for.
        devices: usize,
    },
}

/// The devices that are missing where the search came furthest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceShortage {
    /// The claim.
    pub claim: ResourceClaimKey,
    /// `request`, or `request/alternative`.
    pub request: String,
    /// Its class.
    pub class: String,
    /// The instance type of the node.
    pub instance_type: InstanceTypeName,
    /// How many devices are wanted.
    pub wanted: DeviceCount,
    /// How many of them were found.
    pub found: usize,
    /// Why other devices are not among them, with the number of devices.
    pub others: BTreeMap<NoDevice, usize>,
    /// Pools that the node sees, but whose devices are not used.
    pub unusable: Vec<UnusablePool>,
}

/// Why a device is not allocated to a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoDevice {
    /// A selector of its class does not select it, or fails.
    OfOtherClass(String),
    /// A selector of the request does not select it, or fails: the first one, where it is known.
    NotSelected(Option<String>),
    /// It is allocated.
    Allocated,
    /// It lacks capacity that the request asks for.
    Capacity,
    /// The counters that it shares with other devices are spent.
    Counters,
    /// It has another value of an attribute than other devices of the claim, or none.
    Attribute(String),
    /// It is reached by other nodes only than other devices of the pod.
    OutOfReach,
    /// It would be one more than a claim may get.
    TooMany,
}

impl DeviceShortage {
    /// Whether no device of the class was found, of whichever instance type.
    pub fn is_unknown(&self) -> bool {
        self.found == 0 && of_other_classes(&self.others)
    }

    fn unknown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no device of this class is known of any instance type that fits the pod")?;
        for (at, (why, count)) in self.others.iter().enumerate() {
            if let NoDevice::OfOtherClass(selector) = why {
                let devices = words::counted(*count, "device");
                f.write_str(if at == 0 { ": " } else { ", " })?;
                write!(f, "`{selector}` does not select {devices} of {}", self.instance_type)?;
            }
        }
        Ok(())
    }
}

/// Whether no device is of the class.
pub(crate) fn of_other_classes(others: &BTreeMap<NoDevice, usize>) -> bool {
    others.keys().all(|why| matches!(why, NoDevice::OfOtherClass(_)))
}

impl fmt::Display for DeviceShortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { claim, request, class, instance_type, found, others, .. } = self;
        write!(f, "ResourceClaim {claim}: request {request} asks for ")?;
        match self.wanted {
            DeviceCount::Exact(wanted) => f.write_str(&words::counted(wanted, "device"))?,
            DeviceCount::All => f.write_str("all devices")?,
        }
        write!(f, " of DeviceClass {class}, and ")?;
        let is_not_selected = |why| matches!(why, &NoDevice::NotSelected(_));
        if self.is_unknown() {
            self.unknown(f)?;
        } else {
            write!(f, "{instance_type}, which comes closest, has ")?;
            match (self.wanted, *found) {
                (DeviceCount::All, _) if !others.keys().all(is_not_selected) => {
                    f.write_str("some that the claim cannot get")?;
                }
                (_, 0) => f.write_str("none")?,
                (_, found) => write!(f, "{found}")?,
            }
        }
        let is_of_class =
            |(why, _): &(&NoDevice, &usize)| !matches!(why, NoDevice::OfOtherClass(_));
        for (at, (why, count)) in others.iter().filter(is_of_class).enumerate() {
            write!(f, "{} {count} {why}", if at == 0 { ":" } else { "," })?;
        }
        self.unusable.iter().try_for_each(|pool| write!(f, "; {pool}"))
    }
}

impl fmt::Display for NoDevice {
    /// What follows the number of devices.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfOtherClass(_) => f.write_str("of another class"),
            Self::NotSelected(None) => f.write_str("not selected"),
            Self::NotSelected(Some(selector)) => write!(f, "not selected by `{selector}`"),
            Self::Allocated => f.write_str("allocated"),
            Self::Capacity => f.write_str("without enough capacity"),
            Self::Counters => f.write_str("without enough of shared counters"),
            Self::Attribute(name) => write!(f, "with another {name} or none"),
            Self::OutOfReach => f.write_str("out of reach"),
            Self::TooMany => {
                write!(f, "above {DEVICES_PER_CLAIM_MAX}, the maximum of a ResourceClaim")
            }
        }
    }
}
