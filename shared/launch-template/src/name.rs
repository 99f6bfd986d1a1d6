//! Names, tags and labels of what is launched.
//!
//! Karpenter: `pkg/utils/utils.go` and `pkg/providers/instanceprofile` of the AWS provider.

use std::collections::BTreeMap;

use model::{
    CapacityType, ClusterName, InstanceType, NodeClaim, NodeClassName, NodePoolName, Zone, ZoneId,
    labels,
    node_class::{ClusterSettings, NodeClass},
};

use crate::{digest::Digest, template};

/// The instance profile that is made for `role` of the class called `class`: always the same one,
/// another for another role, cluster or region. A path before the role's name does not matter.
///
/// At most 121 characters, of which IAM takes 128.
pub fn instance_profile_name(
    settings: &ClusterSettings,
    role: &str,
    class: &NodeClassName,
) -> String {
    let mut digest = Digest::default();
    digest.field("region", &settings.region);
    digest.field("class", class);
    digest.field("role", role.rsplit('/').next().unwrap_or(role));
    format!("{}_{}", settings.name, digest.finish())
}

/// The path of every instance profile that is made for `class`.
///
/// Karpenter's own has the class's uid at its end: its profiles are never taken for ours.
pub fn instance_profile_path(settings: &ClusterSettings, class: &NodeClassName) -> String {
    format!("{}{class}/", instance_profile_paths(settings))
}

/// What the paths of all instance profiles of a cluster begin with.
pub fn instance_profile_paths(settings: &ClusterSettings) -> String {
    format!("/journeyman/{}/{}/", settings.region, settings.name)
}

/// The tags of that instance profile: the class's own, and whose it is.
pub fn instance_profile_tags(
    settings: &ClusterSettings,
    class: &NodeClass,
) -> BTreeMap<String, String> {
    let mut tags = class.tags.clone();
    tags.extend(owner_tags(&settings.name, &class.name));
    tags.insert(labels::REGION.to_owned(), settings.region.clone());
    tags
}

/// The tags of everything that is launched for `pool` with `class`: the class's own, and whose it
/// is, which the class cannot override.
pub(crate) fn resource_tags(
    class: &NodeClass,
    cluster: &ClusterName,
    pool: &NodePoolName,
) -> BTreeMap<String, String> {
    let mut tags = class.tags.clone();
    tags.extend(owner_tags(cluster, &class.name));
    tags.insert(labels::NODE_POOL.to_owned(), pool.to_string());
    tags
}

fn owner_tags(cluster: &ClusterName, class: &NodeClassName) -> [(String, String); 3] {
    [
        (format!("{}/{cluster}", labels::CLUSTER_TAG_PREFIX), "owned".to_owned()),
        (labels::CLUSTER_NAME_TAG.to_owned(), cluster.to_string()),
        (labels::NODE_CLASS.to_owned(), class.to_string()),
    ]
}

/// The labels of `claim` once it is launched as `instance_type` in `zone`: its own, then every one
/// that the type has a single value for, then what was chosen.
pub fn node_labels(
    claim: &NodeClaim,
    instance_type: &InstanceType,
    zone: &Zone,
    zone_id: Option<&ZoneId>,
    capacity_type: CapacityType,
) -> BTreeMap<String, String> {
    let mut node_labels = template::claim_labels(claim);
    let known = instance_type.requirements.iter().filter_map(|requirement| {
        let key = requirement.key().as_str();
        let value = requirement.single_value()?;
        (!key.starts_with(labels::RESERVATION_PREFIX)).then(|| (key.to_owned(), value.to_string()))
    });
    node_labels.extend(known);
    node_labels.insert(labels::ZONE.to_owned(), zone.to_string());
    // The type's own zone id is that of its only zone, which need not be this one.
    node_labels.remove(labels::ZONE_ID);
    node_labels.extend(zone_id.map(|id| (labels::ZONE_ID.to_owned(), id.to_string())));
    node_labels.insert(labels::CAPACITY_TYPE.to_owned(), capacity_type.to_string());
    node_labels.insert(labels::INSTANCE_TENANCY.to_owned(), template::tenancy(claim).to_owned());
    let partition = template::partition(claim, instance_type).map(ToString::to_string);
    let key = labels::PLACEMENT_GROUP_PARTITION.to_owned();
    node_labels.extend(partition.map(|number| (key, number)));
    node_labels
}

#[cfg(test)]
mod tests;
