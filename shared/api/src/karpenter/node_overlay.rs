//! NodeOverlay, `karpenter.sh/v1alpha1`.

use std::{collections::BTreeMap, sync::LazyLock};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    common::{
        AWS_DOMAIN_MESSAGE, ConditionEntry, QuantityText, RequirementSpec, aws_domain_rule, rules,
    },
    kind::{Column, CustomKind, Names, Scope},
    schema::schema_of,
};

/// What is to be believed about instance types instead of what AWS says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = rules(&[(
    "!has(self.price) || !has(self.priceAdjustment)",
    "cannot set both 'price' and 'priceAdjustment'",
)])))]
#[serde(rename_all = "camelCase")]
pub struct NodeOverlaySpec {
    /// Which instance types and offerings the overlay is about.
    #[schemars(schema_with = "requirements")]
    pub requirements: Vec<RequirementSpec>,
    /// The price for an hour, in dollars, in place of the real one.
    #[schemars(regex(pattern = r"^\d+(\.\d+)?$"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
    /// What is added to the real price, such as `+0.5`, `-0.02`, `+10%` or `-30%`.
    #[schemars(regex(
        pattern = r"^(([+-]{1}(\d*\.?\d+))|(\+{1}\d*\.?\d+%)|(^(-\d{1,2}(\.\d+)?%)$)|(-100%))$"
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_adjustment: Option<String>,
    /// Resources that the instance types have besides their own.
    #[schemars(extend("x-kubernetes-validations" = rules(&[(
        "self.all(x, !(x in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",
        "invalid resource restricted",
    )])))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<BTreeMap<String, QuantityText>>,
    /// Of overlays that contradict each other, the one with the highest weight counts. Absent is 0.
    #[schemars(range(min = 1, max = 10_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i32>,
}

/// Labels that Karpenter's overlays do not know.
const UNKNOWN: [&str; 3] = [
    model::labels::RESERVATION_PREFIX,
    model::labels::INSTANCE_TENANCY,
    "karpenter.k8s.aws/placement-group-",
];

/// Requirements without `minValues`; In and NotIn need values.
fn requirements(generator: &mut SchemaGenerator) -> Schema {
    let mut items = RequirementSpec::json_schema(generator).to_value();
    let of_key = items.pointer_mut("/properties/key/x-kubernetes-validations");
    if let Some(Value::Array(of_key)) = of_key {
        let aws =
            aws_domain_rule("self", |label| !UNKNOWN.iter().any(|start| label.starts_with(start)));
        of_key.retain(|rule| rule.get("message") != Some(&AWS_DOMAIN_MESSAGE.into()));
        of_key.push(json!({"message": AWS_DOMAIN_MESSAGE, "rule": aws}));
    }
    if let Some(properties) = items.pointer_mut("/properties").and_then(|p| p.as_object_mut()) {
        properties.remove("minValues");
    }
    schemars::json_schema!({
        "type": "array",
        "items": items,
        "maxItems": 100,
        "x-kubernetes-list-type": "atomic",
        "x-kubernetes-validations": rules(&[
            (
                "self.all(x, x.operator == 'NotIn' ? x.values.size() != 0 : true)",
                "requirements with operator 'NotIn' must have a value defined",
            ),
            (
                "self.all(x, x.operator == 'In' ? x.values.size() != 0 : true)",
                "requirements with operator 'In' must have a value defined",
            ),
            (
                "self.all(x, (x.operator == 'Gt' || x.operator == 'Lt' || x.operator == 'Gte' || x.operator == 'Lte') ? (x.values.size() == 1 && int(x.values[0]) >= 0) : true)",
                "requirements operator 'Gt', 'Lt', 'Gte' or 'Lte' must have a single positive integer value",
            ),
        ]),
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
