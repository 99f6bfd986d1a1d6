//! The devices that instances of a type will have.

use std::sync::Arc;

use super::{CounterSet, DeviceId, SliceDevice};

/// The driver of network interfaces. A NodeClaim whose pods claim its devices gets all EFA interfaces of its type.
pub const EFA_DRIVER: &str = "dra.net";

/// What a driver will publish on an instance of one type, as far as it is known before.
///
/// Karpenter: `cloudprovider.DynamicResources`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceTemplates {
    /// In the order in which their devices are tried.
    pub slices: Vec<TemplateSlice>,
    /// Attributes with one value for some devices, whatever the value will be.
    pub bindings: Vec<AttributeBinding>,
}

/// Devices of one pool of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateSlice {
    /// The driver that will publish them.
    pub driver: Arc<str>,
    /// A pool of the instance.
    pub pool: Arc<str>,
    /// In the order in which they are tried.
    pub devices: Vec<SliceDevice>,
    /// Budgets from which they consume.
    pub shared_counters: Vec<CounterSet>,
}

/// Devices that will have one value of an attribute in common. Bindings of one attribute that share a device are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeBinding {
    /// Qualified name of the attribute.
    pub attribute: String,
    /// Devices of the same instance.
    pub devices: Vec<DeviceId>,
}
