//! What a launch is worked out from besides its objects: the status of EC2NodeClasses, and facts
//! about a cluster and an account as JSON.

use std::collections::BTreeMap;

use model::{
    ClusterName, InstanceTypeName, Requirement, Requirements, SecurityGroupId, SubnetId, Zone,
    ZoneId,
    node_class::{
        CapacityReservation, ClusterSettings, Image, MatchCriteria, PlacementGroup,
        PlacementStrategy, Subnet,
    },
};
use serde::Deserialize;

use crate::{
    document::{
        field::{Complaints, Field, Unknown},
        tree::{self, Tree, Value},
    },
    objects::requirement::OPERATORS,
};

/// Why a text has no such facts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub String);

/// What a controller found for an EC2NodeClass, from its `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassStatus {
    /// In the order of the status; free addresses are not among it.
    pub subnets: Vec<Subnet>,
    /// In the order of the status.
    pub security_groups: Vec<SecurityGroupId>,
    /// In the order of the status; dates are not among it.
    pub images: Vec<Image>,
    /// The profile that instances get.
    pub instance_profile: Option<String>,
    /// In the order of the status; instances left are not among it.
    pub reservations: Vec<CapacityReservation>,
    /// Why nothing may be launched from the class, by its conditions. A class without any is ready.
    pub not_ready: Option<String>,
}

/// Reads the `status` of each EC2NodeClass and AWSNodeTemplate in `text`, multi-document YAML or JSON,
/// by the name of its class. Other objects are not looked at.
pub fn class_statuses(text: &str) -> Result<BTreeMap<String, ClassStatus>, Error> {
    let documents = tree::parse_yaml(text).map_err(|error| Error(error.rule))?;
    let mut all = BTreeMap::new();
    for document in &documents {
        let kind = document.get("kind").and_then(Tree::as_text).unwrap_or_default();
        let name = document.get("metadata").and_then(|metadata| metadata.get("name"));
        let is_class = matches!(kind, "EC2NodeClass" | "AWSNodeTemplate");
        if let (true, Some(name)) = (is_class, name.and_then(Tree::as_text)) {
            let of_class = class_status(document);
            let of_class = of_class.map_err(|Error(why)| Error(format!("{kind} {name}: {why}")));
            all.insert(name.to_owned(), of_class?);
        }
    }
    Ok(all)
}

fn class_status(document: &Tree) -> Result<ClassStatus, Error> {
    let complaints = Complaints::new(Unknown::Ignored);
    let root = Field::root(document, &complaints);
    let mut status = ClassStatus::default();
    let fields = root.fields().and_then(|mut fields| fields.get("status"));
    if let Some(mut fields) = fields.and_then(|field| field.fields()) {
        let mut items = |key: &'static str| fields.get(key).and_then(|f| f.list());
        let subnets = items("subnets").unwrap_or_default();
        status.subnets = subnets.iter().filter_map(subnet).collect();
        let groups = items("securityGroups").unwrap_or_default();
        status.security_groups = groups.iter().filter_map(security_group).collect();
        let images = items("amis").unwrap_or_default();
        status.images = images.iter().filter_map(image).collect();
        let reservations = items("capacityReservations").unwrap_or_default();
        status.reservations = reservations.iter().filter_map(reservation).collect();
        let profile = fields.get("instanceProfile").and_then(|field| field.text());
        status.instance_profile = profile.filter(|name| !name.is_empty()).map(ToOwned::to_owned);
    }
    // An AWSNodeTemplate names its profile itself; nobody writes it down once more.
    if document.get("kind").and_then(Tree::as_text) == Some("AWSNodeTemplate") {
        let profile = document.get("spec").and_then(|spec| spec.get("instanceProfile"));
        status.instance_profile = profile.and_then(Tree::as_text).map(ToOwned::to_owned);
    }
    status.not_ready = not_ready(document);
    match complaints.into_list().first() {
        Some(complaint) => Err(Error(complaint.in_words())),
        None => Ok(status),
    }
}

/// The conditions of an object that somebody has looked at.
fn conditions(document: &Tree) -> Option<&[Tree]> {
    match &document.get("status")?.get("conditions")?.value {
        Value::List(conditions) => Some(conditions),
        _ => None,
    }
}

/// See [`not_ready`]. In a cluster somebody looks at every class: one without conditions is new.
pub(crate) fn not_ready_in_cluster(document: &Tree) -> Option<String> {
    match conditions(document) {
        None | Some([]) => Some("nobody has looked at it yet".to_owned()),
        Some(_) => not_ready(document),
    }
}

/// What the condition `Ready` says against a launch: false, unknown, or about an older generation.
///
/// Karpenter's AWS provider: `pkg/cloudprovider/cloudprovider.go`, `Create`.
fn not_ready(document: &Tree) -> Option<String> {
    let conditions = conditions(document)?;
    let is_ready =
        |condition: &&Tree| condition.get("type").and_then(Tree::as_text) == Some("Ready");
    let Some(ready) = conditions.iter().find(is_ready) else {
        return Some("it has no condition Ready".to_owned());
    };
    let text = |key: &str| ready.get(key).and_then(Tree::as_text).unwrap_or_default();
    if text("status") != "True" {
        return Some(format!("Ready is {}: {}", text("status"), text("message")));
    }
    let generation = document.get("metadata").and_then(|metadata| metadata.get("generation"));
    let observed = ready.get("observedGeneration");
    let is_stale = match (generation.map(|tree| &tree.value), observed.map(|tree| &tree.value)) {
        (Some(Value::Number(generation)), Some(Value::Number(observed))) => generation != observed,
        _ => false,
    };
    is_stale.then(|| "its newest generation was not looked at yet".to_owned())
}

fn subnet(item: &Field<'_>) -> Option<Subnet> {
    let mut fields = item.fields()?;
    let (id, zone) = (fields.require("id")?, fields.require("zone")?);
    // Statuses that Karpenter wrote before 1.0 have no zone id.
    let zone_id = fields.get("zoneID").unwrap_or_else(|| zone.clone());
    Some(Subnet {
        id: id.parsed(SubnetId::new)?,
        zone: zone.parsed(Zone::new)?,
        zone_id: zone_id.parsed(ZoneId::new)?,
        available_ip_address_count: 0,
    })
}

fn security_group(item: &Field<'_>) -> Option<SecurityGroupId> {
    item.fields()?.require("id")?.parsed(SecurityGroupId::new)
}

fn image(item: &Field<'_>) -> Option<Image> {
    let mut fields = item.fields()?;
    let id = fields.require("id")?.parsed(model::ImageId::new)?;
    let name = fields.get("name").and_then(|field| field.text()).unwrap_or_default();
    let requirements = fields.get("requirements").and_then(|field| field.list());
    let requirements = requirements.unwrap_or_default();
    let requirements: Option<Requirements> = requirements.iter().map(requirement).collect();
    Some(Image {
        id,
        name: name.to_owned(),
        created_at: None,
        deprecated_at: None,
        requirements: requirements?,
    })
}

fn requirement(item: &Field<'_>) -> Option<Requirement> {
    let mut fields = item.fields()?;
    let key = fields.require("key").and_then(|field| field.text_not_empty());
    let operator = fields.require("operator").and_then(|field| field.choice(OPERATORS));
    let values = fields.get("values").map_or(Some(Vec::new()), |field| field.texts());
    item.accept(Requirement::new(key?, operator?, values?.iter().copied()))
}

fn reservation(item: &Field<'_>) -> Option<CapacityReservation> {
    let mut fields = item.fields()?;
    let id = fields.require("id")?.text_not_empty()?.to_owned();
    let instance_type = fields.require("instanceType")?.parsed(InstanceTypeName::new)?;
    let zone = fields.require("availabilityZone")?.parsed(Zone::new)?;
    let owner = fields.get("ownerID").and_then(|field| field.text());
    let owner = owner.unwrap_or_default().to_owned();
    let criteria = &[("open", MatchCriteria::Open), ("targeted", MatchCriteria::Targeted)];
    let match_criteria = fields.get("instanceMatchCriteria").and_then(|f| f.choice(criteria));
    let kinds = &[("default", false), ("capacity-block", true)];
    let kind = fields.get("reservationType").and_then(|field| field.choice(kinds));
    let interruptible = fields.get("interruptible").and_then(|field| field.boolean());
    let states = &[("active", false), ("expiring", true)];
    let state = fields.get("state").and_then(|field| field.choice(states));
    let ends_at = fields.get("endTime").and_then(|field| field.parsed(str::parse));
    Some(CapacityReservation {
        id,
        instance_type,
        zone,
        owner,
        match_criteria: match_criteria.unwrap_or_default(),
        is_capacity_block: kind.unwrap_or_default(),
        is_interruptible: interruptible.unwrap_or_default(),
        is_expiring: state.unwrap_or_default(),
        ends_at,
        available_count: 0,
    })
}

/// What nodes are told, and what EC2 says about what classes select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterFacts {
    /// What nodes are told.
    pub settings: ClusterSettings,
    /// Addresses that are free, by subnet.
    pub free_addresses: BTreeMap<SubnetId, u32>,
    /// Placement groups of the account.
    pub placement_groups: Vec<PlacementGroup>,
    /// Instances that still fit, by capacity reservation.
    pub reservations_left: BTreeMap<String, u32>,
}

/// Reads `{"name", "endpoint", "caBundle", "serviceCIDR", "dnsIP", "kubernetesVersion", "region",
/// "subnets": [{"id", "availableIpAddressCount"}], "placementGroups": [{"id", "name", "strategy",
/// "partitionCount"}], "capacityReservations": [{"id", "availableInstanceCount"}]}`.
pub fn cluster_facts(json: &str) -> Result<ClusterFacts, Error> {
    let raw: RawCluster = serde_json::from_str(json).map_err(|error| Error(error.to_string()))?;
    let name = ClusterName::new(&raw.name).map_err(|error| Error(error.to_string()))?;
    let present = |text: Option<String>| text.filter(|text| !text.is_empty());
    let mut free_addresses = BTreeMap::new();
    for subnet in raw.subnets {
        let id = SubnetId::new(&subnet.id).map_err(|error| Error(error.to_string()))?;
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
        reservations_left: left.map(|one| (one.id, one.available_instance_count)).collect(),
    })
}

fn placement_group(raw: RawPlacementGroup) -> Result<PlacementGroup, Error> {
    let strategy = match (raw.strategy.as_str(), raw.partition_count) {
        ("cluster", _) => PlacementStrategy::Cluster,
        ("spread", _) => PlacementStrategy::Spread,
        ("partition", Some(count)) => PlacementStrategy::Partition { count },
        ("partition", None) => {
            return Err(Error(format!("placement group {}: partitionCount is required", raw.id)));
        }
        (other, _) => {
            let rule = "must be cluster, partition or spread";
            return Err(Error(format!("placement group {}: strategy `{other}` {rule}", raw.id)));
        }
    };
    Ok(PlacementGroup { id: raw.id, name: raw.name, strategy })
}

/// Instances left by reservation, from an answer of DescribeCapacityReservations:
/// `{"CapacityReservations": [{"CapacityReservationId", "AvailableInstanceCount"}]}`.
pub fn reservations_left(json: &str) -> Result<BTreeMap<String, u32>, Error> {
    let raw: RawReservations =
        serde_json::from_str(json).map_err(|error| Error(error.to_string()))?;
    let all = raw.capacity_reservations.into_iter();
    Ok(all.map(|one| (one.capacity_reservation_id, one.available_instance_count)).collect())
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
