//! ResourceSlices: the devices that a driver publishes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use crate::{NodeName, Quantity, Requirements};

/// What names a device in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId {
    /// The driver, such as `gpu.nvidia.com`.
    pub driver: Arc<str>,
    /// The pool of the driver.
    pub pool: Arc<str>,
    /// The device of the pool.
    pub device: Arc<str>,
}

impl fmt::Display for DeviceId {
    /// `driver/pool/device`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.driver, self.pool, self.device)
    }
}

/// One object of a pool of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceSlice {
    /// `metadata.name`.
    pub name: String,
    /// The owner reference of kind Node, if there is one.
    pub owner: Option<NodeName>,
    /// The driver that published it.
    pub driver: Arc<str>,
    /// The pool that it is part of.
    pub pool: ResourcePool,
    /// Which nodes reach its devices.
    pub access: SliceAccess,
    /// Its devices. A slice with shared counters has none that count.
    pub devices: Vec<SliceDevice>,
    /// Budgets from which devices of the pool consume.
    pub shared_counters: Vec<CounterSet>,
}

/// `spec.pool` of a ResourceSlice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePool {
    /// The pool's name, unique for the driver.
    pub name: Arc<str>,
    /// Slices of the highest generation replace those of lower ones.
    pub generation: i64,
    /// How many slices of this generation the pool has when it is complete.
    pub slice_count: i64,
}

/// Which nodes reach the devices of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SliceAccess {
    /// `allNodes`
    AllNodes,
    /// `nodeName`
    Node(NodeName),
    /// `nodeSelector`
    Selector(NodeSelector),
    /// `perDeviceNodeSelection`, or a field that this release does not know: no node that Karpenter could name.
    Unsupported,
}

/// A `v1.NodeSelector`: one term must match. Slices and allocations have exactly one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSelector {
    /// Its terms.
    pub terms: Vec<NodeSelectorTerm>,
}

/// All of it must hold of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSelectorTerm {
    /// `matchExpressions`
    pub requirements: Requirements,
    /// `matchFields` on `metadata.name`: the names that it allows. `None` allows every node.
    pub nodes: Option<BTreeSet<NodeName>>,
}

/// A device as its driver describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceDevice {
    /// Its name, unique in the pool.
    pub name: Arc<str>,
    /// By qualified name; a name without domain is in the driver's own.
    pub attributes: BTreeMap<String, AttributeValue>,
    /// By qualified name, as for attributes.
    pub capacity: BTreeMap<String, DeviceCapacity>,
    /// Whether several claims may share it, as far as its capacity goes.
    pub allows_multiple_allocations: bool,
    /// By counter set: what its allocation takes of each counter.
    pub consumes_counters: BTreeMap<String, BTreeMap<String, Quantity>>,
}

/// The value of an attribute. Two values are equal only if they are of one type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttributeValue {
    /// `int`
    Int(i64),
    /// `bool`
    Bool(bool),
    /// `string`
    String(String),
    /// `version`: a semantic version, compared as text by constraints.
    Version(String),
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Bool(truth) => truth.fmt(f),
            Self::String(text) | Self::Version(text) => f.write_str(text),
        }
    }
}

/// How much a device has of something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceCapacity {
    /// The whole.
    pub value: Quantity,
    /// What a request for a share of a shared device may be.
    pub policy: Option<RequestPolicy>,
}

/// What requests for a share of a capacity may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestPolicy {
    /// The share of a request that leaves the capacity out; `None` is the whole.
    pub default: Option<Quantity>,
    /// What other shares there are; `None` is any.
    pub valid: Option<ValidAmounts>,
}

/// Shares of a capacity that a policy allows. A request is rounded up to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValidAmounts {
    /// `validRange`
    Range {
        /// The least share.
        min: Quantity,
        /// The largest share.
        max: Option<Quantity>,
        /// Shares are the least one and multiples of this above it.
        step: Option<Quantity>,
    },
    /// `validValues`, ascending.
    Values(Vec<Quantity>),
}

/// A budget that devices of a pool share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterSet {
    /// Its name, unique in the pool.
    pub name: String,
    /// What there is of each counter.
    pub counters: BTreeMap<String, Quantity>,
}
