//! NodePool, `karpenter.sh/v1`.

use std::{collections::BTreeMap, sync::LazyLock};

use model::{Resources, disruption::DisruptionReason, node_pool::ConsolidationPolicy, resources};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    common::{ConditionEntry, NodeClassReference, QuantityText, RequirementSpec, TaintSpec},
    kind::{Column, CustomKind, Names, Replicas, Scope},
    pattern, pool_rules,
    rule::validations,
    schema::schema_of,
    word::Word,
};

/// What nodes a NodePool may have, and when it disrupts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = validations(pool_rules::POOL)))]
#[serde(rename_all = "camelCase")]
pub struct NodePoolSpec {
    /// What every node of the pool is like.
    pub template: NodePoolTemplate,
    /// When nodes may be disrupted while they still work.
    #[schemars(extend("default" = {"consolidateAfter": "0s"}))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disruption: Option<DisruptionSpec>,
    /// The most that all nodes of the pool together may have of each resource. What is not named
    /// is not limited. A static pool may only limit `nodes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<BTreeMap<String, QuantityText>>,
    /// Pools with a higher weight are tried first. Absent is 0.
    #[schemars(range(min = 1, max = 100))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i32>,
    /// Makes the pool static: it always has this many nodes, whatever the pods ask for. A pool stays
    /// static or dynamic for its whole life.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i64>,
}

/// What every node of a pool is like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodePoolTemplate {
    /// Labels and annotations of the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Everything else.
    pub spec: NodeClaimTemplateSpec,
}

/// Labels and annotations of the nodes of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateMetadata {
    /// Labels for the nodes. Each is a requirement at the same time.
    #[schemars(schema_with = "labels")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations for the nodes.
    #[schemars(extend("x-kubernetes-map-type" = "granular"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}

fn labels(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": "object",
        "additionalProperties": {"type": "string", "maxLength": 63, "pattern": pattern::LABEL_VALUE.expression},
        "maxProperties": 100,
        "x-kubernetes-map-type": "atomic",
        "x-kubernetes-validations": validations(pool_rules::LABELS),
    })
}

/// What nodes of a pool are launched with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimTemplateSpec {
    /// Taints of the nodes: pods that tolerate them may run there.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<TaintSpec>>,
    /// Taints that a DaemonSet or controller is expected to remove while a node starts. Pods need not
    /// tolerate them.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_taints: Option<Vec<TaintSpec>>,
    /// What instance types, zones and so on the nodes may have. Pods may narrow it down.
    #[schemars(schema_with = "requirements")]
    pub requirements: Vec<RequirementSpec>,
    /// How nodes are launched.
    #[schemars(extend("x-kubernetes-validations" = validations(pool_rules::REFERENCE_CHANGES)))]
    pub node_class_ref: NodeClassReference,
    /// How long a disrupted node may drain before it is terminated with the pods that still run on it.
    /// Absent: as long as it takes.
    #[schemars(regex(pattern = pattern::DURATION.expression))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period: Option<String>,
    /// How old a node may become before it is disrupted, or `Never`.
    #[schemars(regex(pattern = pattern::DURATION_OR_NEVER.expression), extend("default" = "720h"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_after: Option<String>,
}

/// Requirements of a NodePool: its own label cannot be required.
fn requirements(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = super::node_claim::requirements(generator).to_value();
    let of_key = schema.pointer_mut("/items/properties/key/x-kubernetes-validations");
    if let Some(Value::Array(of_key)) = of_key {
        of_key.extend(validations(pool_rules::POOL_KEY).as_array().into_iter().flatten().cloned());
    }
    Schema::try_from(schema).unwrap_or_default()
}

/// When nodes may be disrupted while they still work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DisruptionSpec {
    /// How long no pod may have come or gone before a node may be consolidated, or `Never`.
    // Release 1.14.1 has no default here and requires the field.
    #[schemars(regex(pattern = pattern::DURATION_OR_NEVER.expression), extend("default" = "0s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consolidate_after: Option<String>,
    /// Which nodes may be consolidated: empty ones, those whose pods fit elsewhere or on something
    /// cheaper, or of the latter those where it is worth the pods that move.
    #[schemars(extend("default" = "WhenEmptyOrUnderutilized"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consolidation_policy: Option<Word<ConsolidationPolicy>>,
    /// How many nodes may be disrupted at once. The strictest that is active counts. Absent: 10 % of
    /// the pool's nodes.
    #[schemars(schema_with = "budgets")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budgets: Option<Vec<BudgetSpec>>,
}

fn budgets(generator: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": "array",
        "items": BudgetSpec::json_schema(generator),
        "default": [{"nodes": "10%"}],
        "maxItems": 50,
        "x-kubernetes-list-type": "atomic",
        "x-kubernetes-validations": validations(pool_rules::BUDGETS),
    })
}

/// How many nodes may be disrupted at once, perhaps only at certain times or for certain reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetSpec {
    /// A number of nodes, or a percentage of the pool's nodes, rounded up.
    #[schemars(regex(pattern = pattern::BUDGET_NODES.expression), extend("default" = "10%"))]
    #[serde(default = "ten_percent", skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
    /// For which reasons the budget counts. Absent: for all.
    #[schemars(length(max = 50), extend("x-kubernetes-list-type" = "set"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasons: Option<Vec<Word<DisruptionReason>>>,
    /// When the budget becomes active, as five fields of cron or a name such as `@daily`, in UTC, or five fields after `CRON_TZ=Europe/Berlin`.
    /// Absent: it always is.
    #[schemars(regex(
        pattern = pattern::SCHEDULE.expression
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// For how long the budget is active after each hit of the schedule, in hours and minutes.
    #[schemars(regex(pattern = pattern::WINDOW.expression))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
}

#[expect(clippy::unnecessary_wraps, reason = "serde asks for the field's type")]
fn ten_percent() -> Option<String> {
    Some("10%".to_owned())
}

/// What a NodePool has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredPoolStatus {
    /// What the pool's nodes have of each resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<BTreeMap<String, QuantityText>>,
    /// How many nodes the pool has.
    #[schemars(extend("default" = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<i64>,
    /// The generation of the EC2NodeClass that the conditions are about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_class_observed_generation: Option<i64>,
    /// Whether the pool can be used, and why not.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<ConditionEntry>>,
}

impl CustomKind for NodePoolSpec {
    type Status = StoredPoolStatus;

    const NAMES: Names = Names {
        group: model::api_version::KARPENTER_GROUP,
        version: "v1",
        kind: "NodePool",
        plural: "nodepools",
        short: &[],
        category: "karpenter",
        scope: Scope::Cluster,
        about: "A NodePool says which nodes may be launched for pods that find no place.",
        requires_spec: true,
        replicas: Some(Replicas { spec: ".spec.replicas", status: ".status.nodes" }),
        columns: &[
            Column::text("NodeClass", ".spec.template.spec.nodeClassRef.name"),
            Column::text("Nodes", ".status.nodes"),
            Column::text("Ready", r#".status.conditions[?(@.type=="Ready")].status"#),
            Column::AGE,
            Column::number("Weight", ".spec.weight").wide(),
            Column::text("CPU", ".status.resources.cpu").wide(),
            Column::text("Memory", ".status.resources.memory").wide(),
        ],
    };

    fn schema() -> &'static Value {
        static SCHEMA: LazyLock<Value> = LazyLock::new(schema_of::<NodePoolSpec>);
        &SCHEMA
    }
}

/// `status.resources` of a pool whose nodes have `total` together: what every pool shows, zero or
/// not, and whatever else there is.
pub fn resources_of(total: &Resources, nodes: u64) -> BTreeMap<String, QuantityText> {
    let always = ["cpu", "memory", "pods", "ephemeral-storage"].map(|name| (name, total.get(name)));
    let quantity =
        |(name, amount)| (String::from(name), QuantityText(resources::format_amount(name, amount)));
    let mut quantities: BTreeMap<_, _> = total.iter().chain(always).map(quantity).collect();
    quantities.insert("nodes".to_owned(), QuantityText(nodes.to_string()));
    quantities
}
