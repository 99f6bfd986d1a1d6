//! EC2NodeClass, `karpenter.k8s.aws/v1`: its `status`.

use model::node_class::MatchCriteria;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{common::ConditionEntry, word::Word};

/// What the terms of an EC2NodeClass select.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ec2NodeClassStatus {
    /// The subnets, those with the most free addresses first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnets: Option<Vec<StoredSubnet>>,
    /// The security groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_groups: Option<Vec<StoredSecurityGroup>>,
    /// The capacity reservations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_reservations: Option<Vec<StoredReservation>>,
    /// The machine images, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amis: Option<Vec<Ami>>,
    /// The instance profile in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_profile: Option<String>,
    /// Whether nodes can be launched, and why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<ConditionEntry>>,
}

/// A subnet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredSubnet {
    /// Its id.
    pub id: String,
    /// Its zone, such as `us-west-2a`.
    pub zone: String,
    /// Its zone's id, such as `usw2-az1`.
    #[serde(rename = "zoneID", skip_serializing_if = "Option::is_none")]
    pub zone_id: Option<String>,
}

/// A security group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredSecurityGroup {
    /// Its id.
    pub id: String,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A machine image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ami {
    /// Its id.
    pub id: String,
    /// Whether its owner says that it should not be used any more. It is used nevertheless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<bool>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Which instance types can run it.
    pub requirements: Vec<AmiRequirement>,
}

/// What an image asks of instance types.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmiRequirement {
    /// The label.
    pub key: String,
    /// How the label's value relates to `values`.
    pub operator: String,
    /// Values of the label.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// A capacity reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredReservation {
    /// Its zone.
    pub availability_zone: String,
    /// When it ends, if it does.
    #[schemars(extend("format" = "date-time"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<String>,
    /// Its id.
    #[schemars(regex(pattern = "^cr-[0-9a-z]+$"))]
    pub id: String,
    /// Which instances it takes.
    pub instance_match_criteria: Word<MatchCriteria>,
    /// The instance type that it is for.
    pub instance_type: String,
    /// Whether its owner may take it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interruptible: Option<bool>,
    /// The account that owns it.
    #[schemars(regex(pattern = "^[0-9]{12}$"))]
    #[serde(rename = "ownerID")]
    pub owner_id: String,
    /// What kind it is.
    #[schemars(extend("default" = "default"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation_type: Option<ReservationType>,
    /// Whether it is about to end.
    #[schemars(extend("default" = "active"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<ReservationState>,
}

/// Kinds of capacity reservations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReservationType {
    /// An ordinary one.
    Default,
    /// A capacity block: it ends at a time.
    CapacityBlock,
}

/// Whether a capacity reservation is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReservationState {
    /// It is not.
    Active,
    /// It is: nothing new is launched into it.
    Expiring,
}
