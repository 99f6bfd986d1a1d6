//! NodeClaim, `karpenter.sh/v1`.

use std::{collections::BTreeMap, sync::LazyLock};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    common::{NodeClassReference, OptionalReason, QuantityText, RequirementSpec, TaintSpec},
    kind::{Column, CustomKind, Names, Scope},
    pattern, pool_rules,
    rule::validations,
    schema::schema_of,
};

/// What the node has to be. It never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = validations(pool_rules::CLAIM)))]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimSpec {
    /// Taints of the node.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<TaintSpec>>,
    /// Taints that a DaemonSet or controller is expected to remove while the node starts.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_taints: Option<Vec<TaintSpec>>,
    /// What instance types, zones and so on the node may have.
    #[schemars(schema_with = "requirements")]
    pub requirements: Vec<RequirementSpec>,
    /// What the pods that the node is for ask for, daemon sets included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// How the node is launched.
    pub node_class_ref: NodeClassReference,
    /// How long the node may drain before it is ended whatever runs on it. Absent: as long as it
    /// takes.
    #[schemars(regex(pattern = pattern::DURATION.expression))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period: Option<String>,
    /// How old the node may become before it is disrupted, or `Never`.
    #[schemars(regex(pattern = pattern::DURATION_OR_NEVER.expression), extend("default" = "720h"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_after: Option<String>,
}

/// The rules that requirements of NodePools and NodeClaims share.
pub fn requirements(generator: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": "array",
        "items": RequirementSpec::json_schema(generator),
        "maxItems": 100,
        "x-kubernetes-list-type": "atomic",
        "x-kubernetes-validations": validations(pool_rules::REQUIREMENTS),
    })
}

/// What the pods of a node ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceRequirements {
    /// How much of each resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<BTreeMap<String, QuantityText>>,
}

/// What became of a NodeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimStatus {
    /// The Node, once it registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// The instance, once it was launched: `aws:///<zone>/<instance id>`.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// The machine image that the instance was launched with.
    #[serde(rename = "imageID", skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    /// What the node is expected to have, or has, of each resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<BTreeMap<String, QuantityText>>,
    /// What of it pods may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocatable: Option<BTreeMap<String, QuantityText>>,
    /// How far the node has come.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<OptionalReason>>,
    /// When a pod last came or went.
    #[schemars(extend("format" = "date-time"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_pod_event_time: Option<String>,
}

impl CustomKind for NodeClaimSpec {
    type Status = NodeClaimStatus;

    const NAMES: Names = Names {
        group: model::api_version::KARPENTER_GROUP,
        version: "v1",
        kind: "NodeClaim",
        plural: "nodeclaims",
        short: &[],
        category: "karpenter",
        scope: Scope::Cluster,
        about: "A NodeClaim stands for one node, from the decision to launch it until it is gone.",
        requires_spec: true,
        replicas: None,
        columns: &[
            Column::text("Type", r".metadata.labels.node\.kubernetes\.io/instance-type"),
            Column::text("Capacity", r".metadata.labels.karpenter\.sh/capacity-type"),
            Column::text("Zone", r".metadata.labels.topology\.kubernetes\.io/zone"),
            Column::text("Node", ".status.nodeName"),
            Column::text("Ready", r#".status.conditions[?(@.type=="Ready")].status"#),
            Column::AGE,
            Column::text("ImageID", ".status.imageID").wide(),
            Column::text("ID", ".status.providerID").wide(),
            Column::text("NodePool", r".metadata.labels.karpenter\.sh/nodepool").wide(),
            Column::text("NodeClass", ".spec.nodeClassRef.name").wide(),
            Column::text("Drifted", r#".status.conditions[?(@.type=="Drifted")].status"#).wide(),
        ],
    };

    fn schema() -> &'static Value {
        static SCHEMA: LazyLock<Value> = LazyLock::new(schema_of::<NodeClaimSpec>);
        &SCHEMA
    }
}
