//! Devices and what claims them, as the API server has them. The simulated kube-scheduler allocates none.

use std::collections::BTreeMap;

use model::dynamic_resources::{
    DeviceClass, DeviceRequest, RequestKind, ResourceClaim, ResourceClaimKey, ResourceSlice,
};
use ports::FoundDevices;

use super::lists::find;
use crate::world::World;

/// By name.
#[derive(Debug, Default)]
pub(crate) struct DeviceObjects {
    pub(crate) slices: BTreeMap<String, ResourceSlice>,
    pub(crate) classes: BTreeMap<String, DeviceClass>,
    pub(crate) claims: BTreeMap<ResourceClaimKey, ResourceClaim>,
}

const CLAIM: &str = "ResourceClaim";

impl World {
    /// What lists of all three kinds say.
    pub(crate) fn found_devices(&self) -> FoundDevices {
        let DeviceObjects { slices, classes, claims } = &self.cluster.devices;
        let slices = slices.iter().map(|(name, slice)| (name, slice.clone()));
        let slices = self.list_of("ResourceSlice", slices);
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
