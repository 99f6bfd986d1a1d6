//! CustomResourceDefinitions from the types.
//!
//! Nothing here is on the way of a decision.

use serde_json::{Value, json};

use super::{
    capacity_buffer::CapacityBufferSpec,
    kind::{CustomKind, Scope},
    node_claim::NodeClaimSpec,
    node_class::Ec2NodeClassSpec,
    node_overlay::NodeOverlaySpec,
    node_pool::NodePoolSpec,
    schema::schema_of,
};

/// Every definition with its file's name, as in Karpenter's charts: `karpenter.sh_nodepools.yaml`.
pub fn all() -> Vec<(String, Value)> {
    [
        named::<NodePoolSpec>(),
        named::<NodeClaimSpec>(),
        named::<NodeOverlaySpec>(),
        named::<Ec2NodeClassSpec>(),
        named::<CapacityBufferSpec>(),
    ]
    .into()
}

fn named<S: CustomKind>() -> (String, Value) {
    (format!("{}_{}.yaml", S::NAMES.group, S::NAMES.plural), definition::<S>())
}

/// The definition of one kind.
pub fn definition<S: CustomKind>() -> Value {
    let names = S::NAMES;
    let mut called = json!({
        "kind": names.kind,
        "listKind": format!("{}List", names.kind),
        "plural": names.plural,
        "singular": names.kind.to_lowercase(),
        "categories": [names.category],
    });
    if let (false, Value::Object(map)) = (names.short.is_empty(), &mut called) {
        map.insert("shortNames".to_owned(), json!(names.short));
    }
    let mut subresources = json!({"status": {}});
    if let (Some(replicas), Value::Object(map)) = (names.replicas, &mut subresources) {
        let scale =
            json!({"specReplicasPath": replicas.spec, "statusReplicasPath": replicas.status});
        map.insert("scale".to_owned(), scale);
    }
    let columns: Vec<_> = names.columns.iter().map(|column| column.to_value()).collect();
    let metadata = json!({"name": format!("{}.{}", names.plural, names.group)});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": names.group,
            "names": called,
            "scope": match names.scope {
                Scope::Cluster => "Cluster",
                Scope::Namespaced => "Namespaced",
            },
            "versions": [{
                "name": names.version,
                "served": true,
                "storage": true,
                "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": whole::<S>()},
                "subresources": subresources,
            }],
        },
    })
}

fn whole<S: CustomKind>() -> Value {
    let mut schema = json!({
        "type": "object",
        "description": S::NAMES.about,
        "properties": {
            "apiVersion": {
                "type": "string",
                "description": "Group and version of the object's form.",
            },
            "kind": {"type": "string", "description": "What the object is."},
            "metadata": {"type": "object"},
            "spec": S::schema(),
            "status": schema_of::<S::Status>(),
        },
    });
    if let (true, Value::Object(map)) = (S::NAMES.requires_spec, &mut schema) {
        map.insert("required".to_owned(), json!(["spec"]));
    }
    schema
}
