//! What has to be sent so that an object says what was found about it: JSON merge patches of its
//! annotations and of its subresource `status`, under the version that was read. What it says already
//! is not sent again.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{common::ConditionEntry, conditions::About};

/// What there is to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusPatch {
    /// The object says so already.
    Nothing,
    /// The object is not as it was seen any more.
    Moved,
    /// A JSON merge patch, of the subresource `status` or of the object.
    Merge(Value),
}

/// An object as the API server sends it.
#[derive(Deserialize)]
pub(super) struct Stored {
    metadata: StoredMetadata,
    #[serde(default)]
    status: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredMetadata {
    uid: String,
    generation: i64,
    resource_version: String,
    creation_timestamp: Timestamp,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// The patch that gives the object `stored`, as the API server sends it, `annotations`, and takes those
/// from it that are `None`, if it still is the one that was looked at.
pub fn annotations_patch(
    stored: &[u8],
    uid: &str,
    generation: i64,
    annotations: impl IntoIterator<Item = (String, Option<String>)>,
) -> Result<StatusPatch, serde_json::Error> {
    let stored = Stored::read(stored)?;
    if !stored.is(uid, generation) {
        return Ok(StatusPatch::Moved);
    }
    let StoredMetadata { uid, resource_version, annotations: known, .. } = stored.metadata;
    let new: BTreeMap<String, Option<String>> =
        annotations.into_iter().filter(|(key, value)| known.get(key) != value.as_ref()).collect();
    if new.is_empty() {
        return Ok(StatusPatch::Nothing);
    }
    let metadata = json!({ "uid": uid, "resourceVersion": resource_version, "annotations": new });
    Ok(StatusPatch::Merge(json!({ "metadata": metadata })))
}

impl Stored {
    pub(super) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }

    /// Whether it is the object and the spec that was looked at.
    pub(super) fn is(&self, uid: &str, generation: i64) -> bool {
        self.metadata.uid == uid && self.metadata.generation == generation
    }

    /// What its conditions are about.
    pub(super) fn about(&self, is_deleting: bool) -> About {
        About {
            generation: self.metadata.generation,
            created_at: self.metadata.creation_timestamp,
            is_deleting,
        }
    }

    /// Its status.
    pub(super) fn status(&self) -> &Map<String, Value> {
        &self.status
    }

    /// A member of its status.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.status.get(key)
    }

    /// Its conditions. Unreadable conditions are written anew.
    pub(super) fn conditions(&self) -> Vec<ConditionEntry> {
        let conditions = self.get("conditions").cloned().unwrap_or_default();
        serde_json::from_value(conditions).unwrap_or_default()
    }

    /// What makes its status `wanted`, and nothing else.
    pub(super) fn patch(self, wanted: &Value) -> StatusPatch {
        let wanted = wanted.as_object().cloned().unwrap_or_default();
        let Self { metadata, status } = self;
        // What a merge patch does not name stays, and what it says is null goes.
        let gone = status.keys().filter(|key| !wanted.contains_key(*key));
        let mut changed: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
        for (key, value) in wanted {
            match (status.get(&key), value) {
                (Some(known), value) if *known == value => {}
                // In a map of its own, too, what is not named stays.
                (Some(Value::Object(known)), Value::Object(mut inner)) => {
                    for old in known.keys() {
                        inner.entry(old.clone()).or_insert(Value::Null);
                    }
                    changed.insert(key, Value::Object(inner));
                }
                (_, value) => {
                    changed.insert(key, value);
                }
            }
        }
        if changed.is_empty() {
            return StatusPatch::Nothing;
        }
        let StoredMetadata { uid, resource_version, .. } = metadata;
        let metadata = json!({ "uid": uid, "resourceVersion": resource_version });
        StatusPatch::Merge(json!({ "metadata": metadata, "status": changed }))
    }
}
