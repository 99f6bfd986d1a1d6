//! What others do to objects on a real API server while a suite runs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use testkit::{StatusWorld, StoredCondition, StoredObject};

/// Others' hands on the objects of one kind.
pub(crate) struct OtherObjects {
    pub(crate) api: Api<DynamicObject>,
    /// An object of that name that breaks no rule.
    pub(crate) object: fn(&str) -> Value,
    /// A patch of its spec that breaks none either.
    pub(crate) change: Value,
}

impl OtherObjects {
    async fn patch(&self, name: &str, patch: &Value) {
        let params = PatchParams::default();
        drop(self.api.patch(name, &params, &Patch::Merge(patch)).await.unwrap());
    }
}

fn condition(stored: &Value) -> (String, StoredCondition) {
    let text = |key: &str| stored[key].as_str().unwrap_or_default().to_owned();
    let status = match stored["status"].as_str() {
        Some("True") => Some(true),
        Some("False") => Some(false),
        _ => None,
    };
    let since: Timestamp = text("lastTransitionTime").parse().unwrap();
    let (reason, message) = (text("reason"), text("message"));
    (text("type"), StoredCondition { status, reason, message, since })
}

/// What the suite calls `subnets`, `nodes` and `replicas`.
fn said(status: &Value) -> BTreeMap<&'static str, String> {
    let mut said = BTreeMap::new();
    if let Some(subnets) = status["subnets"].as_array() {
        let ids: Vec<&str> = subnets.iter().map(|subnet| subnet["id"].as_str().unwrap()).collect();
        said.insert("subnets", ids.join(","));
    }
    for key in ["nodes", "replicas"] {
        said.extend(status[key].as_u64().map(|count| (key, count.to_string())));
    }
    said
}

impl StatusWorld for OtherObjects {
    async fn make(&self, name: &str) {
        let object = serde_json::from_value((self.object)(name)).unwrap();
        drop(self.api.create(&PostParams::default(), &object).await.unwrap());
    }

    async fn change_spec(&self, name: &str) {
        self.patch(name, &self.change).await;
    }

    async fn annotate(&self, name: &str, key: &str, value: &str) {
        self.patch(name, &json!({ "metadata": { "annotations": { key: value } } })).await;
    }

    async fn delete(&self, name: &str) {
        drop(self.api.delete(name, &DeleteParams::default()).await.unwrap());
        assert_eq!(self.api.get_opt(name).await.unwrap(), None, "nothing holds it back");
    }

    async fn stored(&self, name: &str) -> Option<StoredObject> {
        let DynamicObject { metadata, data, .. } = self.api.get_opt(name).await.unwrap()?;
        let status = &data["status"];
        let conditions = status["conditions"].as_array().into_iter().flatten().map(condition);
        Some(StoredObject {
            revision: metadata.resource_version.unwrap(),
            annotations: metadata.annotations.unwrap_or_default(),
            conditions: conditions.collect(),
            said: said(status),
        })
    }
}
