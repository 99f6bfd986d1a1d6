//! DeviceClasses, ResourceClaims, and which claims a pod has.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::{DeviceId, NodeSelector};
use crate::{Namespace, ObjectName, PodUid, Quantity};

/// Devices that an administrator selected under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceClass {
    /// `metadata.name`.
    pub name: String,
    /// All must select a device.
    pub selectors: Vec<DeviceSelector>,
}

/// What selects devices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceSelector {
    /// A CEL expression.
    Cel(String),
    /// A kind of selector that this release does not know.
    Unsupported,
}

/// What names a ResourceClaim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceClaimKey {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name.
    pub name: ObjectName,
}

impl fmt::Display for ResourceClaimKey {
    /// `namespace/name`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What a pod needs of devices, and what it got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceClaim {
    /// Namespace and name.
    pub key: ResourceClaimKey,
    /// All must be satisfied.
    pub requests: Vec<DeviceRequest>,
    /// What its devices must have in common.
    pub constraints: Vec<DeviceConstraint>,
    /// `status.allocation`
    pub allocation: Option<ClaimAllocation>,
    /// `status.reservedFor`
    pub reserved_for: Vec<ClaimConsumer>,
}

/// One request of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceRequest {
    /// Its name, unique in the claim.
    pub name: String,
    /// What it asks for.
    pub kind: RequestKind,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// `exactly`
    Exactly(DeviceAsk),
    /// `firstAvailable`: names and alternatives, the best first.
    FirstAvailable(Vec<(String, DeviceAsk)>),
    /// A kind of request that this release does not know.
    Unsupported,
}

/// Devices that a request, or one alternative of it, asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceAsk {
    /// `deviceClassName`
    pub class: String,
    /// All must select a device, beside those of the class.
    pub selectors: Vec<DeviceSelector>,
    /// How many.
    pub count: DeviceCount,
    /// Shares of shared devices, by the name of the capacity.
    pub capacity: BTreeMap<String, Quantity>,
}

/// How many devices are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceCount {
    /// `ExactCount`
    Exact(usize),
    /// `All`: every device of the node that is selected, and at least one.
    All,
}

impl ResourceClaim {
    /// All that it may ask for, alternatives too, in the order in which they are written.
    pub fn asks(&self) -> impl Iterator<Item = &DeviceAsk> {
        self.requests.iter().flat_map(|request| -> Vec<&DeviceAsk> {
            match &request.kind {
                RequestKind::Exactly(ask) => vec![ask],
                RequestKind::FirstAvailable(asks) => asks.iter().map(|(_, ask)| ask).collect(),
                RequestKind::Unsupported => Vec::new(),
            }
        })
    }
}

/// What devices of a claim must have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceConstraint {
    /// `matchAttribute`: one value of the attribute.
    MatchAttribute {
        /// Its qualified name.
        attribute: String,
        /// Names of requests (`gpu`), or of their alternatives (`gpu/large`). Empty is all requests.
        requests: BTreeSet<String>,
    },
    /// A constraint that is not supported, by the name of its field.
    Unsupported(String),
}

/// The devices that kube-scheduler gave to a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimAllocation {
    /// Devices. Of a shared device with its share of each capacity.
    pub devices: Vec<(DeviceId, Option<BTreeMap<String, Quantity>>)>,
    /// Nodes that reach all of them; `None` is every node.
    pub selector: Option<NodeSelector>,
}

/// What uses a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimConsumer {
    /// A pod.
    Pod(PodUid),
    /// Any other object.
    Other,
}

/// What the spec of a pod says of claims, which are in the pod's own namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodClaims {
    /// `spec.resourceClaims`: names, and `resourceClaimName` if there is one; else the claim is made from a template.
    pub references: Vec<(String, Option<ObjectName>)>,
    /// Whether a container names one in `resources.claims`.
    pub is_asked_by_container: bool,
}

impl PodClaims {
    /// Whether the pod has nothing to do with claims.
    ///
    /// Karpenter: `HasDRARequirements` of `pkg/utils/pod/scheduling.go`.
    pub const fn is_empty(&self) -> bool {
        self.references.is_empty() && !self.is_asked_by_container
    }
}
