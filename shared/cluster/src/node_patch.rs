//! What has to be sent so that a node becomes as a [`NodePatch`] wants it. Pure.
//!
//! Labels and annotations are merged key by key, so no change of another key is lost.
//! Taints and finalizers are lists, which a merge patch replaces whole: such a patch names the
//! version that it was made of, and is refused when another writer was first.

use std::collections::BTreeMap;

use model::{ProviderId, Taint, node::NodePatch};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The part of a Node that is written here, as it is stored.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct NodeDocument {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: String,
    resource_version: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    finalizers: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Spec {
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
    #[serde(default)]
    taints: Vec<StoredTaint>,
}

impl NodeDocument {
    /// Its uid if it is the node of `machine`.
    pub(crate) fn uid_if_of(&self, machine: Option<&ProviderId>) -> Option<&str> {
        let provider_id = self.spec.provider_id.as_deref().filter(|id| !id.is_empty());
        (provider_id == machine.map(ProviderId::as_str)).then_some(&self.metadata.uid)
    }
}

/// A taint with everything that the API server keeps of it: `timeAdded` of a taint that stays must
/// survive.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct StoredTaint {
    key: String,
    effect: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl StoredTaint {
    fn new(taint: &Taint) -> Self {
        let mut rest = Map::new();
        if !taint.value.is_empty() {
            rest.insert("value".to_owned(), taint.value.clone().into());
        }
        Self { key: taint.key.clone(), effect: taint.effect.as_str().to_owned(), rest }
    }

    fn value(&self) -> &str {
        self.rest.get("value").and_then(Value::as_str).unwrap_or_default()
    }

    /// The API server takes one taint of a key and an effect.
    fn has_place_of(&self, taint: &Taint) -> bool {
        self.key == taint.key && self.effect == taint.effect.as_str()
    }

    fn is(&self, taint: &Taint) -> bool {
        self.has_place_of(taint) && self.value() == taint.value
    }
}

/// The JSON merge patch that makes `node` satisfy `patch`; `None` when it does already.
pub(crate) fn merge_patch(node: &NodeDocument, patch: &NodePatch) -> Option<Value> {
    let mut metadata = Map::new();
    let mut spec = Map::new();
    let labels = missing(&node.metadata.labels, &patch.labels);
    let mut labels: Map<String, Value> =
        labels.into_iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    // `null` takes a key away.
    let gone = patch.remove_labels.iter().filter(|key| node.metadata.labels.contains_key(*key));
    labels.extend(gone.map(|key| (key.clone(), Value::Null)));
    if !labels.is_empty() {
        metadata.insert("labels".to_owned(), labels.into());
    }
    let annotations = missing(&node.metadata.annotations, &patch.annotations);
    if !annotations.is_empty() {
        metadata.insert("annotations".to_owned(), json!(annotations));
    }
    let mut has_list = false;
    let finalizers = finalizers(&node.metadata.finalizers, patch);
    if finalizers != node.metadata.finalizers {
        metadata.insert("finalizers".to_owned(), json!(finalizers));
        has_list = true;
    }
    let taints = taints(&node.spec.taints, patch);
    if taints != node.spec.taints {
        spec.insert("taints".to_owned(), json!(taints));
        has_list = true;
    }
    if metadata.is_empty() && spec.is_empty() {
        return None;
    }
    // A namesake that took its place in between is another node.
    metadata.insert("uid".to_owned(), node.metadata.uid.clone().into());
    if has_list {
        let version = node.metadata.resource_version.clone();
        metadata.insert("resourceVersion".to_owned(), version.into());
    }
    let mut body = Map::new();
    body.insert("metadata".to_owned(), metadata.into());
    if !spec.is_empty() {
        body.insert("spec".to_owned(), spec.into());
    }
    Some(body.into())
}

fn missing<'a>(
    present: &BTreeMap<String, String>,
    wanted: &'a BTreeMap<String, String>,
) -> BTreeMap<&'a String, &'a String> {
    wanted.iter().filter(|(key, value)| present.get(*key) != Some(value)).collect()
}

fn finalizers(present: &[String], patch: &NodePatch) -> Vec<String> {
    let kept = present.iter().filter(|name| !patch.remove_finalizers.contains(*name));
    let added = patch.add_finalizers.iter().filter(|name| !present.contains(name));
    kept.chain(added).cloned().collect()
}

fn taints(present: &[StoredTaint], patch: &NodePatch) -> Vec<StoredTaint> {
    let is_removed = |stored_taint: &StoredTaint| {
        patch.remove_taints.iter().any(|t| stored_taint.has_place_of(t))
    };
    let is_replaced = |stored_taint: &StoredTaint| {
        patch.add_taints.iter().any(|t| stored_taint.has_place_of(t) && !stored_taint.is(t))
    };
    let kept = present
        .iter()
        .filter(|stored_taint| !is_removed(stored_taint) && !is_replaced(stored_taint))
        .cloned();
    let added = patch
        .add_taints
        .iter()
        .filter(|taint| !present.iter().any(|stored_taint| stored_taint.is(taint)));
    kept.chain(added.map(StoredTaint::new)).collect()
}

#[cfg(test)]
mod tests {
    use model::TaintEffect;

    use super::*;

    fn node() -> NodeDocument {
        let taints = json!([
            { "key": "karpenter.sh/unregistered", "effect": "NoExecute" },
            { "key": "team", "value": "a", "effect": "NoSchedule",
              "timeAdded": "2026-11-21T12:00:00Z" },
        ]);
        let metadata = json!({
            "name": "one", "uid": "u1", "resourceVersion": "7",
            "labels": { "a": "1" }, "finalizers": ["karpenter.sh/termination"],
        });
        serde_json::from_value(json!({ "metadata": metadata, "spec": { "taints": taints } }))
            .unwrap()
    }

    fn taint(key: &str, value: &str, effect: TaintEffect) -> Taint {
        Taint { key: key.to_owned(), value: value.to_owned(), effect }
    }

    #[track_caller]
    fn check(patch: &NodePatch, expected: Option<&Value>) {
        assert_eq!(merge_patch(&node(), patch).as_ref(), expected);
    }

    #[test]
    fn nothing_is_sent_for_what_is_so_already() {
        check(&NodePatch::default(), None);
        let satisfied = NodePatch {
            labels: [("a".to_owned(), "1".to_owned())].into(),
            add_taints: vec![
                taint("karpenter.sh/unregistered", "", TaintEffect::NoExecute),
                taint("team", "a", TaintEffect::NoSchedule),
            ],
            remove_taints: vec![taint("team", "a", TaintEffect::NoExecute)],
            add_finalizers: ["karpenter.sh/termination".to_owned()].into(),
            remove_finalizers: ["other".to_owned()].into(),
            ..NodePatch::default()
        };
        check(&satisfied, None);
    }

    #[test]
    fn only_labels_that_are_there_are_taken_away() {
        let patch = NodePatch {
            remove_labels: ["a", "b"].map(str::to_owned).into(),
            ..NodePatch::default()
        };
        let metadata = json!({ "uid": "u1", "labels": { "a": null } });
        assert_eq!(merge_patch(&node(), &patch), Some(json!({ "metadata": metadata })));
    }

    #[test]
    fn labels_are_merged_whatever_the_version() {
        let patch = NodePatch {
            labels: [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())].into(),
            annotations: [("c".to_owned(), "3".to_owned())].into(),
            ..NodePatch::default()
        };
        let metadata = json!({ "uid": "u1", "labels": { "b": "2" }, "annotations": { "c": "3" } });
        check(&patch, Some(&json!({ "metadata": metadata })));
    }

    #[test]
    fn a_taint_is_replaced_and_the_others_stay_as_they_are() {
        let patch = NodePatch {
            add_taints: vec![taint("team", "b", TaintEffect::NoSchedule)],
            ..NodePatch::default()
        };
        let taints = json!([
            { "key": "karpenter.sh/unregistered", "effect": "NoExecute" },
            { "key": "team", "value": "b", "effect": "NoSchedule" },
        ]);
        let metadata = json!({ "uid": "u1", "resourceVersion": "7" });
        check(&patch, Some(&json!({ "metadata": metadata, "spec": { "taints": taints } })));
    }

    #[test]
    fn a_taint_is_removed_by_key_and_effect() {
        let patch = NodePatch {
            remove_taints: vec![taint("karpenter.sh/unregistered", "x", TaintEffect::NoExecute)],
            ..NodePatch::default()
        };
        let taints = json!([{ "key": "team", "value": "a", "effect": "NoSchedule",
                              "timeAdded": "2026-11-21T12:00:00Z" }]);
        let metadata = json!({ "uid": "u1", "resourceVersion": "7" });
        check(&patch, Some(&json!({ "metadata": metadata, "spec": { "taints": taints } })));
    }

    #[test]
    fn finalizers_come_and_go_under_the_version() {
        let patch = NodePatch {
            add_finalizers: ["b".to_owned()].into(),
            remove_finalizers: ["karpenter.sh/termination".to_owned()].into(),
            ..NodePatch::default()
        };
        let metadata = json!({ "uid": "u1", "resourceVersion": "7", "finalizers": ["b"] });
        check(&patch, Some(&json!({ "metadata": metadata })));
    }
}
