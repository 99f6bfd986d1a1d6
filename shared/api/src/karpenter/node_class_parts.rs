//! EC2NodeClass, `karpenter.k8s.aws/v1`: selector terms, volumes, interfaces, options.

use std::collections::BTreeMap;

use model::node_class::MatchCriteria;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{node_class_rules, pattern, rule::validations, word::Word};

/// Tags that a resource must have; the value `*` is any.
fn tags(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": "object",
        "additionalProperties": {"type": "string"},
        "maxProperties": 20,
        "x-kubernetes-validations":
            validations(node_class_rules::SELECTED_TAGS),
    })
}

/// Selects subnets by tags or by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubnetSelectorTerm {
    /// Tags that a subnet has; the value `*` is any.
    #[schemars(schema_with = "tags")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
    /// One subnet.
    #[schemars(regex(pattern = pattern::SUBNET.expression))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Selects security groups by tags, by id or by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecurityGroupSelectorTerm {
    /// Tags that a security group has; the value `*` is any.
    #[schemars(schema_with = "tags")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
    /// One security group.
    #[schemars(regex(pattern = pattern::SECURITY_GROUP.expression))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The group's name, not its tag `Name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Selects capacity reservations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapacityReservationSelectorTerm {
    /// Tags that a reservation has; the value `*` is any.
    #[schemars(schema_with = "tags")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
    /// One reservation.
    #[schemars(regex(pattern = pattern::RESERVATION.expression))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The account that owns it, where it is another one.
    #[schemars(regex(pattern = pattern::ACCOUNT.expression))]
    #[serde(rename = "ownerID", skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// Which instances the reservation takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_match_criteria: Option<Word<MatchCriteria>>,
}

/// A placement group by name or by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementGroupSelector {
    /// Its name.
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its id.
    #[schemars(regex(pattern = pattern::PLACEMENT_GROUP.expression))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Selects machine images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AmiSelectorTerm {
    /// Images that AWS publishes for EKS: a family and `latest` or a version, as in
    /// `al2023@v20240625`.
    #[schemars(length(max = 30), extend("x-kubernetes-validations" = validations(node_class_rules::ALIAS)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Tags that an image has; the value `*` is any.
    #[schemars(schema_with = "tags")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
    /// One image.
    #[schemars(regex(pattern = pattern::IMAGE.expression))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The image's name, not its tag `Name`; `*` stands for anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Account or alias (`amazon`, `self`) that owns the image. Absent: `self` and `amazon`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The name or ARN of an SSM parameter that holds the image's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssm_parameter: Option<String>,
}

/// One volume of the instances.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockDeviceMapping {
    /// The device's name, such as `/dev/xvda`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The volume.
    #[schemars(extend("x-kubernetes-validations" = validations(node_class_rules::VOLUME)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ebs: Option<BlockDeviceSpec>,
    /// Whether pods' ephemeral storage is on it: its size counts as the node's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_volume: Option<bool>,
}

/// An EBS volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockDeviceSpec {
    /// Whether it goes with its instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_on_termination: Option<bool>,
    /// Whether it is encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<bool>,
    /// Operations per second, of types where that is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<i64>,
    /// The key that it is encrypted with: id, alias or ARN.
    #[serde(rename = "kmsKeyID", skip_serializing_if = "Option::is_none")]
    pub kms_key_id: Option<String>,
    /// The snapshot that it starts from.
    #[serde(rename = "snapshotID", skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// MiB per second, of gp3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<i64>,
    /// MiB per second at which the snapshot is fetched.
    #[schemars(range(min = 100, max = 300))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_initialization_rate: Option<i32>,
    /// A whole number of `Gi`, `G`, `Ti` or `T`. Absent: the snapshot's.
    #[schemars(regex(
        pattern = pattern::VOLUME_SIZE.expression
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_size: Option<String>,
    /// The type of the volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_type: Option<VolumeType>,
}

/// Types of EBS volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VolumeType {
    /// Magnetic.
    Standard,
    /// Provisioned operations.
    Io1,
    /// Provisioned operations, durable.
    Io2,
    /// General purpose.
    Gp2,
    /// Cold.
    Sc1,
    /// Throughput.
    St1,
    /// General purpose, with operations and throughput of choice.
    Gp3,
}

impl VolumeType {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Io1 => "io1",
            Self::Io2 => "io2",
            Self::Gp2 => "gp2",
            Self::Sc1 => "sc1",
            Self::St1 => "st1",
            Self::Gp3 => "gp3",
        }
    }
}

/// What is done with the disks that come with an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InstanceStorePolicy {
    /// They are striped, and hold the pods' data.
    #[serde(rename = "RAID0")]
    Raid0,
}

/// A network interface of the instances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkInterfaceSpec {
    /// On which network card.
    #[schemars(range(min = 0))]
    pub network_card_index: i32,
    /// At which place of the card.
    #[schemars(range(min = 0))]
    pub device_index: i32,
    /// What it carries.
    pub interface_type: InterfaceType,
}

/// What a network interface carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceType {
    /// IP.
    Interface,
    /// EFA without IP.
    EfaOnly,
}

/// How programs on the instances reach the instance metadata service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetadataOptionsSpec {
    /// Whether it can be reached at all.
    #[schemars(extend("default" = "enabled"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_endpoint: Option<Switch>,
    /// Whether it can be reached over IPv6.
    #[schemars(extend("default" = "disabled"))]
    #[serde(rename = "httpProtocolIPv6", skip_serializing_if = "Option::is_none")]
    pub http_protocol_ipv6: Option<Switch>,
    /// How many hops an answer may go; 1 keeps pods with a network of their own away.
    #[schemars(range(min = 1, max = 64), extend("default" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_put_response_hop_limit: Option<i64>,
    /// Whether a token is needed (IMDSv2).
    #[schemars(extend("default" = "required"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_tokens: Option<HttpTokens>,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Switch {
    /// On.
    Enabled,
    /// Off.
    Disabled,
}

impl Switch {
    /// Whether it is on.
    pub fn is_on(self) -> bool {
        self == Self::Enabled
    }
}

/// Whether the instance metadata service asks for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HttpTokens {
    /// Always.
    Required,
    /// Not always.
    Optional,
}

/// After how many seconds of silence security groups forget a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionTrackingSpec {
    /// Of TCP, once established.
    #[schemars(range(min = 60, max = 432_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_established_timeout: Option<i32>,
    /// Of UDP with more than one request and answer.
    #[schemars(range(min = 60, max = 180))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp_stream_timeout: Option<i32>,
    /// Of other UDP.
    #[schemars(range(min = 30, max = 60))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp_timeout: Option<i32>,
}

/// What the processors may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CpuOptions {
    /// Whether virtual machines may run on the instances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nested_virtualization: Option<Switch>,
}

/// Whether instances may run AWS Nitro Enclaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnclaveOptions {
    /// They may: only instance types that support Nitro Enclaves are launched.
    pub enabled: bool,
}
