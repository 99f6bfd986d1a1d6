//! What is known of devices in one pass.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{DeviceClass, DeviceTemplates, ResourceClaim, ResourceSlice};
use crate::{InstanceTypeName, NodeName, NodePoolName};

/// What was observed of devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceFacts {
    /// All ResourceSlices of the cluster.
    pub slices: Vec<ResourceSlice>,
    /// All DeviceClasses.
    pub classes: Vec<DeviceClass>,
    /// All ResourceClaims.
    pub claims: Vec<ResourceClaim>,
    /// Nodes of the pass that are initialized. Slices that belong to any other node do not count: until a node is
    /// initialized, the templates of its instance type stand for its devices.
    pub initialized: BTreeSet<NodeName>,
    /// Devices of instances that are not initialized.
    pub templates: BTreeMap<NodePoolName, BTreeMap<InstanceTypeName, Arc<DeviceTemplates>>>,
}
