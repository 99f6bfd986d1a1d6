//! What definitions cannot say field by field of NodePools, NodeClaims, NodeOverlays and CapacityBuffers.

use model::{
    Operator, Requirement,
    api_version::{AWS_GROUP, KARPENTER_GROUP},
    labels,
};

use super::{node_class_rules::not_empty, rule::Rule};
use crate::document::field::Field;

/// All of them.
pub(crate) const ALL: &[&[Rule]] = &[
    POOL,
    CLAIM,
    OVERLAY,
    CAPACITY,
    REFERENCE_CHANGES,
    GROUP,
    KIND,
    NAME,
    KEY,
    POOL_KEY,
    OVERLAY_KEY,
    LABELS,
    REQUIREMENTS,
    OVERLAY_REQUIREMENTS,
    BUDGETS,
    BUFFER,
];

/// `spec` of a NodePool.
pub(crate) const POOL: &[Rule] = &[
    Rule::of_change(
        "has(self.replicas) == has(oldSelf.replicas)",
        "Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes",
    ),
    Rule::new(
        "!has(self.replicas) || (!has(self.limits) || size(self.limits) == 0 || (size(self.limits) == 1 && 'nodes' in self.limits))",
        "only 'limits.nodes' is supported on static NodePools",
        |spec| {
            let limits = spec.at("limits");
            let limits_others = spec.has("limits")
                && limits
                    .entries()
                    .is_some_and(|entries| entries.iter().any(|(key, _)| *key != "nodes"));
            if spec.has("replicas") && limits_others {
                limits.complain("a static pool (one with spec.replicas) may only limit `nodes`");
            }
        },
    ),
    Rule::new(
        "!has(self.replicas) || !has(self.weight)",
        "'weight' is not supported on static NodePools",
        |spec| {
            if spec.has("replicas") && spec.has("weight") {
                let rule = "must not be set on a static pool (one with spec.replicas)";
                spec.at("weight").complain(rule);
            }
        },
    ),
];

/// `spec` of a NodeClaim.
pub(crate) const CLAIM: &[Rule] = &[Rule::of_change("self == oldSelf", "spec is immutable")];

/// `spec` of a NodeOverlay.
pub(crate) const OVERLAY: &[Rule] = &[Rule::new(
    "!has(self.price) || !has(self.priceAdjustment)",
    "cannot set both 'price' and 'priceAdjustment'",
    |spec| {
        if spec.has("price") && spec.has("priceAdjustment") {
            spec.at("priceAdjustment").complain("must not be there together with `price`");
        }
    },
)];

/// Resources that an overlay may not change.
const NOT_EXTENDED: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "pods"];

/// `capacity` of a NodeOverlay.
pub(crate) const CAPACITY: &[Rule] = &[Rule::new(
    "self.all(x, !(x in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",
    "invalid resource restricted",
    |capacity| {
        for (key, value) in capacity.entries().unwrap_or_default() {
            if NOT_EXTENDED.contains(&key) {
                value.complain(format!("`{key}` cannot be changed by an overlay"));
            }
        }
    },
)];

/// `nodeClassRef` of a NodePool.
pub(crate) const REFERENCE_CHANGES: &[Rule] = &[
    Rule::of_change("self.group == oldSelf.group", "nodeClassRef.group is immutable"),
    Rule::of_change("self.kind == oldSelf.kind", "nodeClassRef.kind is immutable"),
];
/// `group` of a `nodeClassRef`.
pub(crate) const GROUP: &[Rule] = &[Rule::new("self != ''", "group may not be empty", not_empty)];
/// `kind` of a `nodeClassRef`.
pub(crate) const KIND: &[Rule] = &[Rule::new("self != ''", "kind may not be empty", not_empty)];
/// `name` of a `nodeClassRef`.
pub(crate) const NAME: &[Rule] = &[Rule::new("self != ''", "name may not be empty", not_empty)];

/// Whether definitions refuse the label `key`; `is_let_through` is for those in Karpenter's own domain.
fn is_restricted(key: &str, is_let_through: bool) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    key == labels::HOSTNAME
        || domain.ends_with(KARPENTER_GROUP) && !is_let_through
        || domain.ends_with(AWS_GROUP) && !labels::is_well_known(key) && key != labels::NODE_CLASS
}

const DOMAIN: Rule = Rule::new(
    r#"self in ["karpenter.sh/capacity-type", "karpenter.sh/nodepool"] || !self.find("^([^/]+)").endsWith("karpenter.sh")"#,
    r#"label domain "karpenter.sh" is restricted"#,
    |field| {
        let key = field.text().unwrap_or_default();
        if is_restricted(key, [labels::CAPACITY_TYPE, labels::NODE_POOL].contains(&key)) {
            field.complain(format!("label `{key}` is restricted"));
        }
    },
);
const HOSTNAME: Rule = Rule::and(
    r#"self != "kubernetes.io/hostname""#,
    r#"label "kubernetes.io/hostname" is restricted"#,
);

/// `key` of a requirement.
pub(crate) const KEY: &[Rule] =
    &[DOMAIN, HOSTNAME, Rule::made(|| vec![aws_domain("self", |_| true)], |_| {})];

/// `key` of a requirement of a NodePool, after [`KEY`].
pub(crate) const POOL_KEY: &[Rule] = &[Rule::new(
    r#"self != "karpenter.sh/nodepool""#,
    r#"label "karpenter.sh/nodepool" is restricted"#,
    |field| {
        let key = field.text().unwrap_or_default();
        if key == labels::NODE_POOL {
            field.complain(format!("`{key}` cannot be required of a NodePool: it is set by it"));
        }
    },
)];

/// Labels that Karpenter's overlays do not know.
const UNKNOWN_TO_OVERLAYS: [&str; 3] =
    [labels::RESERVATION_PREFIX, labels::INSTANCE_TENANCY, "karpenter.k8s.aws/placement-group-"];

fn is_known_to_overlays(label: &str) -> bool {
    !UNKNOWN_TO_OVERLAYS.iter().any(|start| label.starts_with(start))
}

/// `key` of a requirement of a NodeOverlay.
pub(crate) const OVERLAY_KEY: &[Rule] = &[
    DOMAIN,
    HOSTNAME,
    Rule::made(
        || vec![aws_domain("self", is_known_to_overlays)],
        |field| {
            let key = field.text().unwrap_or_default();
            if !is_known_to_overlays(key) {
                field.complain(format!("label `{key}` is restricted"));
            }
        },
    ),
];

/// That `variable` is a label of the AWS provider which `is_known`, or of another domain.
fn aws_domain(variable: &str, is_known: impl Fn(&str) -> bool) -> (String, String) {
    let domain_labels: Vec<_> = labels::well_known()
        .filter(|label| label.starts_with("karpenter.k8s.aws/"))
        .chain([labels::NODE_CLASS])
        .filter(|label| is_known(label))
        .map(|label| format!("\"{label}\""))
        .collect();
    let domain_labels = domain_labels.join(", ");
    let expression = format!(
        r#"{variable} in [{domain_labels}] || !{variable}.find("^([^/]+)").endsWith("karpenter.k8s.aws")"#
    );
    (expression, r#"label domain "karpenter.k8s.aws" is restricted"#.to_owned())
}

/// Labels of the template of a NodePool.
pub(crate) const LABELS: &[Rule] = &[
    Rule::new(
        r#"self.all(x, x in ["karpenter.sh/capacity-type", "karpenter.sh/nodepool"] || !x.find("^([^/]+)").endsWith("karpenter.sh"))"#,
        r#"label domain "karpenter.sh" is restricted"#,
        |map| {
            for (key, value) in map.entries().unwrap_or_default() {
                if is_restricted(key, key == labels::CAPACITY_TYPE) {
                    value.complain(format!("label `{key}` is restricted"));
                }
            }
        },
    ),
    Rule::and(
        r#"self.all(x, x != "karpenter.sh/nodepool")"#,
        r#"label "karpenter.sh/nodepool" is restricted"#,
    ),
    Rule::and(
        r#"self.all(x, x != "kubernetes.io/hostname")"#,
        r#"label "kubernetes.io/hostname" is restricted"#,
    ),
    Rule::made(
        || {
            let (expression, message) = aws_domain("x", |_| true);
            vec![(format!("self.all(x, {expression})"), message)]
        },
        |_| {},
    ),
];

const IN_HAS_VALUES: Rule = Rule::new(
    "self.all(x, x.operator == 'In' ? x.values.size() != 0 : true)",
    "requirements with operator 'In' must have a value defined",
    |list| list.list().iter().flatten().for_each(values),
);

/// `requirements` of NodePools and NodeClaims.
pub(crate) const REQUIREMENTS: &[Rule] = &[
    IN_HAS_VALUES,
    Rule::and(
        "self.all(x, (x.operator == 'Gt' || x.operator == 'Lt' || x.operator == 'Gte' || x.operator == 'Lte') ? (x.values.size() == 1 && int(x.values[0]) >= 0) : true)",
        "requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive integer value",
    ),
    Rule::new(
        "self.all(x, (x.operator == 'In' && has(x.minValues)) ? x.values.size() >= x.minValues : true)",
        "requirements with 'minValues' must have at least that many values specified in the 'values' field",
        |list| {
            for item in list.list().iter().flatten() {
                let count = item
                    .has("values")
                    .then(|| item.at("values").list())
                    .flatten()
                    .map_or(0, |values| values.len());
                let least = item.has("minValues").then(|| item.at("minValues"));
                if item.text_at("operator") == Some("In")
                    && let Some(least) = least
                    && least.integer::<usize>(0, i64::MAX).is_some_and(|least| count < least)
                {
                    least.complain(format!("must not be above the number of values, {count}"));
                }
            }
        },
    ),
];

/// `requirements` of NodeOverlays.
pub(crate) const OVERLAY_REQUIREMENTS: &[Rule] = &[
    Rule::new(
        "self.all(x, x.operator == 'NotIn' ? x.values.size() != 0 : true)",
        "requirements with operator 'NotIn' must have a value defined",
        |list| {
            for item in list.list().iter().flatten() {
                let is_empty = !item.has("values")
                    || item.at("values").list().is_some_and(|values| values.is_empty());
                if item.text_at("operator") == Some("NotIn") && is_empty {
                    item.at("values").complain("operator NotIn needs at least one value");
                }
            }
        },
    ),
    IN_HAS_VALUES,
    Rule::and(
        "self.all(x, (x.operator == 'Gt' || x.operator == 'Lt' || x.operator == 'Gte' || x.operator == 'Lte') ? (x.values.size() == 1 && int(x.values[0]) >= 0) : true)",
        "requirements operator 'Gt', 'Lt', 'Gte' or 'Lte' must have a single positive integer value",
    ),
];

/// Complains of the values of a requirement that do not go with its operator.
fn values(item: &Field<'_>) {
    let place = item.at("values");
    let texts = if item.has("values") { place.texts() } else { Some(Vec::new()) };
    let (key, operator) = (item.text_at("key"), item.text_at("operator"));
    if let (Some(key), Some(operator), Some(texts)) =
        (key, operator.and_then(Operator::parse), texts)
        && let Some(rule) = values_rule(key, operator, &texts)
    {
        place.complain(rule);
    }
}

/// What is wrong with the values that go with an operator, if anything.
pub(crate) fn values_rule(key: &str, operator: Operator, values: &[&str]) -> Option<String> {
    match operator {
        Operator::In if values.is_empty() => {
            Some(format!("operator In on `{key}` needs at least one value"))
        }
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => {
            Requirement::new(key, operator, values.iter().copied())
                .err()
                .map(|error| error.to_string())
                .or_else(|| (values.len() != 1).then(|| "exactly one value is needed".to_owned()))
        }
        Operator::In | Operator::NotIn | Operator::Exists | Operator::DoesNotExist => None,
    }
}

/// `budgets` of a NodePool.
pub(crate) const BUDGETS: &[Rule] = &[Rule::new(
    "self.all(x, has(x.schedule) == has(x.duration))",
    "'schedule' must be set with 'duration'",
    |budgets| {
        for budget in budgets.list().iter().flatten() {
            if budget.has("schedule") != budget.has("duration") {
                budget.complain("`schedule` and `duration` must be set together");
            }
        }
    },
)];

/// `spec` of a CapacityBuffer.
pub(crate) const BUFFER: &[Rule] = &[
    Rule::new(
        "!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",
        "If podTemplateRef is set, replicas or limits must also be set",
        |spec| {
            if spec.has("podTemplateRef") && !spec.has("replicas") && !spec.has("limits") {
                spec.complain("`podTemplateRef` needs `replicas` or `limits`");
            }
        },
    ),
    Rule::new(
        "!(has(self.podTemplateRef) && has(self.scalableRef))",
        "You must define either PodTemplateRef or ScalableRef, but not both",
        |spec| {
            if spec.has("podTemplateRef") && spec.has("scalableRef") {
                spec.complain("must have one of `podTemplateRef` and `scalableRef`, not both");
            }
        },
    ),
];
