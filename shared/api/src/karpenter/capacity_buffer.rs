//! CapacityBuffer, `autoscaling.x-k8s.io/v1beta1`.

use std::{collections::BTreeMap, sync::LazyLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    common::{ConditionEntry, QuantityText},
    kind::{Column, CustomKind, Names, Scope},
    pool_rules,
    rule::validations,
    schema::schema_of,
};

/// How much room is kept free, in pods of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = validations(pool_rules::BUFFER)))]
#[serde(rename_all = "camelCase")]
pub struct CapacityBufferSpec {
    /// How the room is kept. `buffer.x-k8s.io/active-capacity`: by nodes that are there.
    #[schemars(extend("default" = "buffer.x-k8s.io/active-capacity"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioning_strategy: Option<String>,
    /// The PodTemplate of the pods for which room is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_template_ref: Option<LocalObjectReference>,
    /// A workload: room is kept for more pods like its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalable_ref: Option<ScalableReference>,
    /// For how many pods room is kept. With a percentage, the larger of both counts.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// For how many pods room is kept, as a percentage of the workload's replicas.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage: Option<i32>,
    /// The most that the room may be, of each resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<BTreeMap<String, QuantityText>>,
}

/// Names an object of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalObjectReference {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// Names a workload of the same namespace that can be scaled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScalableReference {
    /// Its API group, such as `apps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Its kind, such as `Deployment`.
    #[schemars(length(min = 1))]
    pub kind: String,
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// What a buffer came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapacityBufferStatus {
    /// The PodTemplate that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_template_ref: Option<LocalObjectReference>,
    /// For how many pods room is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The generation of the PodTemplate that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_template_generation: Option<i64>,
    /// Whether the buffer can be kept, and why not.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<ConditionEntry>>,
    /// How the room is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioning_strategy: Option<String>,
}

impl CustomKind for CapacityBufferSpec {
    type Status = CapacityBufferStatus;

    const NAMES: Names = Names {
        group: "autoscaling.x-k8s.io",
        version: "v1beta1",
        kind: "CapacityBuffer",
        plural: "capacitybuffers",
        short: &["cb"],
        category: "autoscaling",
        scope: Scope::Namespaced,
        about: "A CapacityBuffer keeps room free, so that more pods of a kind can start at once.",
        requires_spec: true,
        replicas: None,
        columns: &[
            Column::text("Strategy", ".spec.provisioningStrategy"),
            Column::text("PodTemplate", ".status.podTemplateRef.name"),
            Column::number("Replicas", ".status.replicas"),
            Column::text("ConditionsType", ".status.conditions[*].type"),
            Column::text("ConditionsStatus", ".status.conditions[*].status"),
            Column::text("ConditionsReason", ".status.conditions[*].reason"),
            Column::AGE,
        ],
    };

    fn schema() -> &'static Value {
        static SCHEMA: LazyLock<Value> = LazyLock::new(schema_of::<CapacityBufferSpec>);
        &SCHEMA
    }
}
