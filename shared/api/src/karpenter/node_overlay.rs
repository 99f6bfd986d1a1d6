//! NodeOverlay, `karpenter.sh/v1alpha1`.

use std::{collections::BTreeMap, sync::LazyLock};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    common::{ConditionEntry, QuantityText, RequirementSpec},
    kind::{Column, CustomKind, Names, Scope},
    pattern, pool_rules,
    rule::validations,
    schema::schema_of,
};

/// What is to be believed about instance types instead of what AWS says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = validations(pool_rules::OVERLAY)))]
#[serde(rename_all = "camelCase")]
pub struct NodeOverlaySpec {
    /// Which instance types and offerings the overlay is about.
    #[schemars(schema_with = "requirements")]
    pub requirements: Vec<RequirementSpec>,
    /// The price for an hour, in dollars, in place of the real one.
    #[schemars(regex(pattern = pattern::PRICE.expression))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
    /// What is added to the real price, such as `+0.5`, `-0.02`, `+10%` or `-30%`.
    #[schemars(regex(
        pattern = pattern::ADJUSTMENT.expression
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_adjustment: Option<String>,
    /// Resources that the instance types have besides their own.
    #[schemars(extend("x-kubernetes-validations" = validations(pool_rules::CAPACITY)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<BTreeMap<String, QuantityText>>,
    /// Of overlays that contradict each other, the one with the highest weight counts. Absent is 0.
    #[schemars(range(min = 1, max = 10_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i32>,
}

/// Requirements without `minValues`; In and NotIn need values.
fn requirements(generator: &mut SchemaGenerator) -> Schema {
    let mut items = RequirementSpec::json_schema(generator).to_value();
    if let Some(of_key) = items.pointer_mut("/properties/key/x-kubernetes-validations") {
        *of_key = validations(pool_rules::OVERLAY_KEY);
    }
    if let Some(properties) = items.pointer_mut("/properties").and_then(|p| p.as_object_mut()) {
        properties.remove("minValues");
    }
    schemars::json_schema!({
        "type": "array",
        "items": items,
        "maxItems": 100,
        "x-kubernetes-list-type": "atomic",
        "x-kubernetes-validations": validations(pool_rules::OVERLAY_REQUIREMENTS),
    })
}

/// Whether an overlay is in use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeOverlayStatus {
    /// Whether the overlay can be used, and why not.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<ConditionEntry>>,
}

impl CustomKind for NodeOverlaySpec {
    type Status = NodeOverlayStatus;

    const NAMES: Names = Names {
        group: model::api_version::KARPENTER_GROUP,
        version: "v1alpha1",
        kind: "NodeOverlay",
        plural: "nodeoverlays",
        short: &["overlays"],
        category: "karpenter",
        scope: Scope::Cluster,
        about: "A NodeOverlay changes what is believed about instance types: prices, resources.",
        requires_spec: true,
        replicas: None,
        columns: &[
            Column::text("Ready", r#".status.conditions[?(@.type=="Ready")].status"#),
            Column::AGE,
            Column::number("Weight", ".spec.weight").wide(),
        ],
    };

    fn schema() -> &'static Value {
        static SCHEMA: LazyLock<Value> = LazyLock::new(schema_of::<NodeOverlaySpec>);
        &SCHEMA
    }
}
