//! Names, tags and labels of what is launched.

use std::collections::BTreeMap;

use model::{
    CapacityType, ClusterName, InstanceType, NodeClaim, NodeClassName, NodePoolName, Zone, ZoneId,
    node_class::{ClusterSettings, NodeClass},
};

/// The instance profile that is made for `role` of the class called `class`.
pub fn instance_profile_name(
    settings: &ClusterSettings,
    role: &str,
    class: &NodeClassName,
) -> String {
    format!("{}_{role}_{class}", settings.name)
}

/// The tags of that instance profile.
pub fn instance_profile_tags(
    settings: &ClusterSettings,
    class: &NodeClass,
) -> BTreeMap<String, String> {
    let _ = settings;
    class.tags.clone()
}

/// The tags of everything that is launched for `pool` with `class`.
pub fn resource_tags(
    class: &NodeClass,
    cluster: &ClusterName,
    pool: &NodePoolName,
) -> BTreeMap<String, String> {
    let _ = (cluster, pool);
    class.tags.clone()
}

/// The labels of `claim` once it is launched as `instance_type` in `zone`.
pub fn node_labels(
    claim: &NodeClaim,
    instance_type: &InstanceType,
    zone: &Zone,
    zone_id: Option<&ZoneId>,
    capacity_type: CapacityType,
) -> BTreeMap<String, String> {
    let _ = (instance_type, zone, zone_id, capacity_type);
    claim.labels.clone()
}
