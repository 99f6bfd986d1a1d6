//! Devices and what claims them, as the API server has them, and stand-ins for the drivers that publish those of nodes.

use std::{collections::BTreeMap, sync::Arc};

use devices::{DeviceDrivers, InstanceDevices};
use model::{
    InstanceTypeName, NodeClassName, NodeName, PodKey,
    dynamic_resources::{
        AttributeValue, DeviceClass, DeviceRequest, DeviceTemplates, RequestKind, ResourceClaim,
        ResourceClaimKey, ResourcePool, ResourceSlice, SliceAccess, TemplateSlice,
    },
    labels,
};
use ports::{FoundDevices, Listing};

use super::lists::find;
use crate::{
    story::StoryClaimTemplate,
    world::{Event, World},
};

/// By name.
#[derive(Debug, Default)]
pub(crate) struct DeviceObjects {
    pub(crate) slices: BTreeMap<String, ResourceSlice>,
    pub(crate) classes: BTreeMap<String, DeviceClass>,
    pub(crate) claims: BTreeMap<ResourceClaimKey, ResourceClaim>,
    /// By DaemonSet: what the claims of each of its pods are made from.
    pub(super) of_daemons: BTreeMap<PodKey, BTreeMap<String, StoryClaimTemplate>>,
}

const CLAIM: &str = "ResourceClaim";

/// What drivers say once they run, and nothing knows before.
const DRIVER_VERSION: &str = "580.65.6";

impl World {
    /// The drivers of a node publish its devices a while after it joined.
    pub(super) fn plan_devices(&mut self, name: &NodeName) {
        if !self.slices_of(name).is_empty() {
            let after = self.chances.cluster.within(self.settings.devices_published_after);
            self.after(after, Event::DevicesPublished(name.clone()));
        }
    }

    pub(crate) fn devices_published(&mut self, name: &NodeName) {
        if !self.is_kubelet_alive(name) {
            return;
        }
        let slices = &self.cluster.devices.slices;
        let has_published = |slice: &ResourceSlice| {
            let mut slices = slices.values().filter(|known| known.driver == slice.driver);
            slices.any(|known| known.access == slice.access)
        };
        let mut missing = self.slices_of(name);
        missing.retain(|slice| !has_published(slice));
        let named = missing.into_iter().map(|slice| (slice.name.clone(), slice));
        self.cluster.devices.slices.extend(named);
        self.touch();
    }

    /// What the drivers of the world publish on the node. They let claims share GPUs as its EC2NodeClass says, unless they
    /// are set to another mode.
    fn slices_of(&self, name: &NodeName) -> Vec<ResourceSlice> {
        let entry = self.cluster.nodes.get(name);
        let instance = entry.and_then(|entry| self.account.instances.get(&entry.instance));
        let Some((entry, instance)) = entry.zip(instance) else { return Vec::new() };
        let class = entry.node.labels.get(labels::NODE_CLASS);
        let class = class.and_then(|name| NodeClassName::new(name).ok());
        let class = class.and_then(|name| self.cluster.node_classes.get(&name));
        let drivers = self.settings.device_drivers;
        let sharing = drivers.sharing.or_else(|| class?.gpu_sharing);
        let drivers = DeviceDrivers { sharing, ..drivers };
        published_slices(name, &instance.offering.instance_type, &drivers)
    }

    pub(crate) fn listed_slices(&self) -> Listing<ResourceSlice> {
        let slices = self.cluster.devices.slices.iter();
        self.list_of("ResourceSlice", slices.map(|(name, slice)| (name, slice.clone())))
    }

    /// What lists of all three kinds say.
    pub(crate) fn found_devices(&self) -> FoundDevices {
        let DeviceObjects { classes, claims, .. } = &self.cluster.devices;
        let slices = self.listed_slices();
        let classes = classes.iter().map(|(name, class)| (name, class.clone()));
        let classes = self.list_of("DeviceClass", classes);
        let unreadable = self.unreadable(CLAIM);
        let read = |claim: &ResourceClaim| {
            let mut claim = claim.clone();
            if find(&unreadable, CLAIM, &claim.key).is_some() {
                let kind = RequestKind::Unsupported;
                claim.requests = vec![DeviceRequest { name: String::new(), kind }];
                claim.constraints.clear();
                claim.reserved_for.clear();
            }
            claim
        };
        FoundDevices {
            slices: slices.items,
            classes: classes.items,
            claims: claims.values().map(read).collect(),
            malformed: [slices.malformed, classes.malformed, self.reported(CLAIM)].concat(),
        }
    }
}

/// What `drivers` publish on the node called `name`, which is an instance of this type: a pool each.
pub fn published_slices(
    name: &NodeName,
    instance_type: &InstanceTypeName,
    drivers: &DeviceDrivers,
) -> Vec<ResourceSlice> {
    let templates = InstanceDevices::all().templates(instance_type, drivers);
    templates.map_or_else(Vec::new, |templates| {
        templates.slices.iter().map(|slice| published(name, slice, &templates)).collect()
    })
}

/// What a driver publishes on the node called `name`, of which `slice` was known before.
fn published(name: &NodeName, slice: &TemplateSlice, templates: &DeviceTemplates) -> ResourceSlice {
    let mut devices = slice.devices.clone();
    for binding in &templates.bindings {
        let bound = |device: &Arc<str>| {
            binding.devices.iter().any(|id| id.driver == slice.driver && id.device == *device)
        };
        for device in devices.iter_mut().filter(|device| bound(&device.name)) {
            let version = AttributeValue::Version(DRIVER_VERSION.to_owned());
            device.attributes.insert(binding.attribute.clone(), version);
        }
    }
    ResourceSlice {
        name: format!("{name}-{}", slice.driver),
        owner: Some(name.clone()),
        driver: Arc::clone(&slice.driver),
        pool: ResourcePool { name: name.as_str().into(), generation: 1, slice_count: 1 },
        access: SliceAccess::Node(name.clone()),
        devices,
        shared_counters: slice.shared_counters.clone(),
    }
}
