//! EC2NodeClass, `karpenter.k8s.aws/v1`: its `status`.

use model::node_class::MatchCriteria;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{common::Condition, word::Word};

/// What the terms of an EC2NodeClass select.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ec2NodeClassStatus {
    /// The subnets, those with the most free addresses first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subnets: Option<Vec<Subnet>>,
    /// The security groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) security_groups: Option<Vec<SecurityGroup>>,
    /// The capacity reservations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capacity_reservations: Option<Vec<CapacityReservation>>,
    /// The machine images, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) amis: Option<Vec<Ami>>,
    /// The instance profile in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance_profile: Option<String>,
    /// Whether nodes can be launched, and why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conditions: Option<Vec<Condition>>,
}

/// A subnet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Subnet {
    /// Its id.
    pub(crate) id: String,
    /// Its zone, such as `us-west-2a`.
    pub(crate) zone: String,
    /// Its zone's id, such as `usw2-az1`.
    #[serde(rename = "zoneID", skip_serializing_if = "Option::is_none")]
    pub(crate) zone_id: Option<String>,
}

/// A security group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SecurityGroup {
    /// Its id.
    pub(crate) id: String,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
}

/// A machine image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Ami {
    /// Its id.
    pub(crate) id: String,
    /// Whether its owner says that it should not be used any more. It is used nevertheless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deprecated: Option<bool>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Which instance types can run it.
    pub(crate) requirements: Vec<AmiRequirement>,
}

/// What an image asks of instance types.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AmiRequirement {
    /// The label.
    pub(crate) key: String,
    /// How the label's value relates to `values`.
    pub(crate) operator: String,
    /// Values of the label.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<Vec<String>>,
}

/// A capacity reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CapacityReservation {
    /// Its zone.
    pub(crate) availability_zone: String,
    /// When it ends, if it does.
    #[schemars(extend("format" = "date-time"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end_time: Option<String>,
    /// Its id.
    #[schemars(regex(pattern = "^cr-[0-9a-z]+$"))]
    pub(crate) id: String,
    /// Which instances it takes.
    pub(crate) instance_match_criteria: Word<MatchCriteria>,
    /// The instance type that it is for.
    pub(crate) instance_type: String,
    /// Whether its owner may take it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) interruptible: Option<bool>,
    /// The account that owns it.
    #[schemars(regex(pattern = "^[0-9]{12}$"))]
    #[serde(rename = "ownerID")]
    pub(crate) owner_id: String,
    /// What kind it is.
    #[schemars(extend("default" = "default"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reservation_type: Option<ReservationType>,
    /// Whether it is about to end.
    #[schemars(extend("default" = "active"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<ReservationState>,
}

/// Kinds of capacity reservations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReservationType {
    /// An ordinary one.
    Default,
    /// A capacity block: it ends at a time.
    CapacityBlock,
}

/// Whether a capacity reservation is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReservationState {
    /// It is not.
    Active,
    /// It is: nothing new is launched into it.
    Expiring,
}
