//! Facts about a cluster and an account as JSON: what a launch is worked out from besides its objects.

use std::{collections::BTreeMap, fmt};

use model::{
    ClusterName, SubnetId,
    node_class::{ClusterSettings, PlacementGroup, PlacementStrategy},
};
use serde::Deserialize;

/// Facts to fill. JSON has no comments: a field whose name starts with `_` says where another comes
/// from, and is not read.
pub(crate) const TEMPLATE: &str = include_str!("cluster_facts/template.json");

/// Why a text has no such facts.
#[derive(Debug)]
pub(crate) struct BadClusterFacts(String);

impl fmt::Display for BadClusterFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What nodes are told, and what EC2 says about what classes select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterFacts {
    /// What nodes are told.
    pub(crate) settings: ClusterSettings,
    /// Addresses that are free, by subnet.
    pub(crate) free_addresses: BTreeMap<SubnetId, u32>,
    /// Placement groups of the account.
    pub(crate) placement_groups: Vec<PlacementGroup>,
    /// Instances that still fit, by capacity reservation.
    pub(crate) reservations_left: BTreeMap<String, u32>,
}

/// Reads `{"name", "endpoint", "caBundle", "serviceCIDR", "dnsIP", "kubernetesVersion", "region",
/// "subnets": [{"id", "availableIpAddressCount"}], "placementGroups": [{"id", "name", "strategy",
/// "partitionCount"}], "capacityReservations": [{"id", "availableInstanceCount"}]}`.
pub(crate) fn cluster_facts(json: &str) -> Result<ClusterFacts, BadClusterFacts> {
    let raw: RawCluster = serde_json::from_str(json).map_err(|error| {
        let cure = "`journeyman render --cluster-facts-template` prints a template";
        BadClusterFacts(format!("no cluster facts: {error}; {cure}"))
    })?;
    let name = ClusterName::new(&raw.name).map_err(|error| BadClusterFacts(error.to_string()))?;
    let present = |text: Option<String>| text.filter(|text| !text.is_empty());
    let mut free_addresses = BTreeMap::new();
    for subnet in raw.subnets {
        let id = SubnetId::new(&subnet.id).map_err(|error| BadClusterFacts(error.to_string()))?;
        free_addresses.insert(id, subnet.available_ip_address_count);
    }
    let left = raw.capacity_reservations.into_iter();
    let groups = raw.placement_groups.into_iter().map(placement_group);
    Ok(ClusterFacts {
        settings: ClusterSettings {
            name,
            endpoint: raw.endpoint,
            ca_bundle: raw.ca_bundle.unwrap_or_default(),
            service_cidr: present(raw.service_cidr),
            dns_ip: present(raw.dns_ip),
            kubernetes_version: raw.kubernetes_version,
            region: raw.region,
        },
        free_addresses,
        placement_groups: groups.collect::<Result<_, _>>()?,
        reservations_left: left
            .map(|raw_left| (raw_left.id, raw_left.available_instance_count))
            .collect(),
    })
}

fn placement_group(raw: RawPlacementGroup) -> Result<PlacementGroup, BadClusterFacts> {
    let strategy = match (raw.strategy.as_str(), raw.partition_count) {
        ("cluster", _) => PlacementStrategy::Cluster,
        ("spread", _) => PlacementStrategy::Spread,
        ("partition", Some(count)) => PlacementStrategy::Partition { count },
        ("partition", None) => {
            return Err(BadClusterFacts(format!(
                "placement group {}: partitionCount is required",
                raw.id
            )));
        }
        (other, _) => {
            let rule = "must be cluster, partition or spread";
            return Err(BadClusterFacts(format!(
                "placement group {}: strategy `{other}` {rule}",
                raw.id
            )));
        }
    };
    let id =
        raw.id.parse().map_err(|error: model::id::InvalidId| BadClusterFacts(error.to_string()))?;
    Ok(PlacementGroup { id, name: raw.name, strategy })
}

/// Instances left by reservation, from an answer of DescribeCapacityReservations:
/// `{"CapacityReservations": [{"CapacityReservationId", "AvailableInstanceCount"}]}`.
pub(crate) fn reservations_left(json: &str) -> Result<BTreeMap<String, u32>, BadClusterFacts> {
    let raw: RawReservations =
        serde_json::from_str(json).map_err(|error| BadClusterFacts(error.to_string()))?;
    let raw_reservations = raw.capacity_reservations.into_iter();
    Ok(raw_reservations
        .map(|raw_reservation| {
            (raw_reservation.capacity_reservation_id, raw_reservation.available_instance_count)
        })
        .collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCluster {
    name: String,
    endpoint: String,
    ca_bundle: Option<String>,
    #[serde(rename = "serviceCIDR")]
    service_cidr: Option<String>,
    #[serde(rename = "dnsIP")]
    dns_ip: Option<String>,
    kubernetes_version: String,
    region: String,
    #[serde(default)]
    subnets: Vec<RawSubnet>,
    #[serde(default)]
    placement_groups: Vec<RawPlacementGroup>,
    #[serde(default)]
    capacity_reservations: Vec<RawLeft>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSubnet {
    id: String,
    available_ip_address_count: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPlacementGroup {
    id: String,
    #[serde(default)]
    name: String,
    strategy: String,
    partition_count: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawLeft {
    id: String,
    available_instance_count: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawReservations {
    capacity_reservations: Vec<RawReservation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawReservation {
    capacity_reservation_id: String,
    #[serde(default)]
    available_instance_count: u32,
}

#[cfg(test)]
mod tests;
