//! The objects that users applied to the simulated cluster, as its API server has them: what a scenario applies and
//! deletes is followed, and what functions and controllers write on them is there.

use std::collections::{BTreeMap, VecDeque};

use api::karpenter::{
    alpha_status_patch::buffer_status_patch, node_class_patch, node_pool_patch,
    status_patch::StatusPatch,
};
use jiff::Timestamp;
use model::{NodeClassName, NodePoolName, ObjectName, Pod, PodKey};
use report::error::BadInput;
use serde_json::{Value, json};
use simulator::{ObjectRecord, Sim};

use crate::{manifests::InputFile, workloads};

/// Kinds with pods. The simulated cluster has one object of a name for all of them.
const WORKLOADS: [&str; 5] = ["Deployment", "StatefulSet", "Job", "ReplicaSet", "Pod"];
/// Kinds that a dump has from the simulated cluster itself.
const OF_THE_CLUSTER: [&str; 4] = ["Node", "NodeClaim", "Pod", "ReplicaSet"];

/// What a scenario does to the objects.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Applies files.
    Apply(Vec<InputFile>),
    /// Deletes the object of this kind and name.
    Delete(String, PodKey),
}

/// The objects, in the order in which they were applied.
pub(super) struct Objects {
    applied: Vec<Applied>,
    /// What is done later, the next first.
    later: VecDeque<(Timestamp, Done)>,
    templates: Templates,
}

/// A [`Change`] with the objects of its files.
enum Done {
    Apply(Vec<Value>),
    Delete(String, PodKey),
}

/// An object, and when it was applied first.
struct Applied {
    written: Value,
    since: Timestamp,
}

/// What the pods of a workload are made from, each with the time since when; of a DaemonSet by itself.
#[derive(Default)]
pub(super) struct Templates(BTreeMap<(bool, String), Vec<(Timestamp, Value)>>);

impl Templates {
    pub(super) fn add(&mut self, object: &Value, at: Timestamp) {
        let kind = text(object, "/kind");
        let template = if kind == "Pod" { Some(object) } else { object.pointer("/spec/template") };
        if let Some(template) = template.filter(|template| template.is_object()) {
            let key = (kind == "DaemonSet", key_text(object));
            self.0.entry(key).or_default().push((at, template.clone()));
        }
    }

    /// What `pod` was made from.
    pub(super) fn of(&self, pod: &Pod) -> Option<&Value> {
        let is_daemon = pod.owner.as_ref().is_some_and(|owner| owner.kind == "DaemonSet");
        let alone = (false, pod.key.to_string());
        let templates =
            self.0.get(&(is_daemon, workloads::owner(pod))).or_else(|| self.0.get(&alone))?;
        let before = templates.iter().rev().find(|(at, _)| *at <= pod.created_at);
        before.or_else(|| templates.first()).map(|(_, template)| template)
    }
}

impl Objects {
    /// Those of `files`, which are applied at `start`, and what `changes` do to them in order.
    pub(super) fn new(
        start: Timestamp,
        files: &[InputFile],
        changes: Vec<(Timestamp, Change)>,
    ) -> Result<Self, BadInput> {
        let mut later = VecDeque::new();
        for (at, change) in changes {
            let done = match change {
                Change::Apply(files) => Done::Apply(written(&files)?),
                Change::Delete(kind, key) => Done::Delete(kind, key),
            };
            later.push_back((at, done));
        }
        later.make_contiguous().sort_by_key(|(at, _)| *at);
        let mut objects = Self { applied: Vec::new(), later, templates: Templates::default() };
        objects.apply(written(files)?, start);
        Ok(objects)
    }

    /// Lets everything happen to them that happens until `now`.
    pub(super) fn pass_until(&mut self, now: Timestamp) {
        while let Some((at, done)) = self.later.pop_front() {
            if now < at {
                self.later.push_front((at, done));
                return;
            }
            match done {
                Done::Apply(objects) => self.apply(objects, at),
                Done::Delete(kind, key) => self.applied.retain(|applied| {
                    let object = &applied.written;
                    let is_alike = |other: &str| {
                        other == kind || [other, &kind].iter().all(|kind| WORKLOADS.contains(kind))
                    };
                    !is_alike(text(object, "/kind")) || key_text(object) != key.to_string()
                }),
            }
        }
    }

    fn apply(&mut self, objects: Vec<Value>, at: Timestamp) {
        for object in objects {
            self.templates.add(&object, at);
            let id = |object: &Value| (text(object, "/kind").to_owned(), key_text(object));
            let new = id(&object);
            match self.applied.iter_mut().find(|applied| id(&applied.written) == new) {
                Some(known) => known.written = object,
                None => self.applied.push(Applied { written: object, since: at }),
            }
        }
    }

    /// Whether the workload `key` is a Deployment: only their controller publishes events of replicas.
    pub(super) fn has_deployment(&self, key: &PodKey) -> bool {
        let is_it = |object: &Value| {
            text(object, "/kind") == "Deployment" && key_text(object) == key.to_string()
        };
        self.applied.iter().any(|applied| is_it(&applied.written))
    }

    pub(super) fn templates(&self) -> &Templates {
        &self.templates
    }

    /// The objects as the API server of `sim` has them now. `replicas` are how many pods workloads want.
    pub(super) fn items(&self, sim: &Sim, replicas: &BTreeMap<PodKey, u32>) -> Vec<Value> {
        let objects = self.applied.iter().filter(|applied| !is_of_the_cluster(&applied.written));
        objects.filter_map(|applied| applied.item(sim, replicas)).collect()
    }
}

impl Applied {
    /// `None` of what the cluster does not have any more.
    fn item(&self, sim: &Sim, replicas: &BTreeMap<PodKey, u32>) -> Option<Value> {
        let kind = text(&self.written, "/kind");
        let name = text(&self.written, "/metadata/name");
        let mut object = self.with_metadata();
        match kind {
            "EC2NodeClass" => {
                let name = NodeClassName::new(name).ok()?;
                let record = sim.node_class_record(&name)?;
                let seen =
                    sim.classes_written().into_iter().find(|seen| seen.class.name == name)?;
                return Some(with_record(object, &record, |stored, generation| {
                    let seen = model::node_class::ObservedNodeClass { generation, ..seen };
                    node_class_patch::status_patch(stored, &seen, &sim.class_status(&name)?).ok()
                }));
            }
            "NodePool" => {
                let name = NodePoolName::new(name).ok()?;
                let record = sim.node_pool_record(&name)?;
                let seen = sim.pools_written().into_iter().find(|seen| seen.pool.name == name)?;
                return Some(with_record(object, &record, |stored, generation| {
                    let seen = model::node_pool::ObservedNodePool { generation, ..seen };
                    node_pool_patch::status_patch(stored, &seen, &sim.pool_status(&name)?).ok()
                }));
            }
            "NodeOverlay" => {
                let record = sim.overlay_record(&ObjectName::new(name).ok()?)?;
                return Some(with_record(object, &record, |_, _| None));
            }
            "CapacityBuffer" => {
                let key = key_of(&self.written)?;
                let (record, status) = sim.buffer_record(&key)?;
                let seen = sim.observed_buffers().into_iter().find(|seen| seen.key == key)?;
                return Some(with_record(object, &record, |stored, generation| {
                    let seen = model::buffer::ObservedBuffer { generation, ..seen };
                    buffer_status_patch(stored, &seen, &status, sim.now()).ok()
                }));
            }
            "PodDisruptionBudget" => {
                let key = key_of(&self.written)?;
                let budget = sim.disruption_budgets().into_iter().find(|it| it.key == key)?;
                let status = json!({"disruptionsAllowed": budget.disruptions_allowed});
                insert(&mut object, "status", status);
            }
            _ if WORKLOADS.contains(&kind) => {
                let wanted = key_of(&self.written).and_then(|key| replicas.get(&key));
                let field = if kind == "Job" { "completions" } else { "replicas" };
                if let (Some(wanted), Some(spec)) = (wanted, object.get_mut("spec")) {
                    insert(spec, field, json!(wanted));
                }
            }
            _ => {}
        }
        Some(object)
    }

    fn with_metadata(&self) -> Value {
        let mut object = self.written.clone();
        let id = uid_of(text(&object, "/kind"), &key_text(&object));
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.entry("uid").or_insert_with(|| json!(id));
            let since = || json!(self.since.to_string());
            metadata.entry("creationTimestamp").or_insert_with(since);
        }
        object
    }
}

/// `object` with what `record` has of it, and with the status that `patch` makes of one that is about a generation.
fn with_record(
    mut object: Value,
    record: &ObjectRecord,
    patch: impl FnOnce(&[u8], i64) -> Option<StatusPatch>,
) -> Value {
    let conditions = record.conditions.iter().map(|condition| {
        let status =
            condition.status.map_or("Unknown", |holds| if holds { "True" } else { "False" });
        json!({"type": condition.kind.as_str(), "status": status,
            "reason": condition.reason.to_string(), "message": condition.message,
            "lastTransitionTime": condition.since.to_string(),
            "observedGeneration": record.conditions_generation})
    });
    let conditions: Vec<Value> = conditions.collect();
    let status = if conditions.is_empty() { json!({}) } else { json!({"conditions": conditions}) };
    insert(&mut object, "status", status);
    let about = record.conditions_generation.unwrap_or(record.generation);
    if let Some(metadata) = object.get_mut("metadata") {
        insert(metadata, "uid", json!(record.uid));
        insert(metadata, "generation", json!(about));
        insert(metadata, "resourceVersion", json!(record.writes.to_string()));
        let mut annotations = metadata.get("annotations").cloned().unwrap_or_else(|| json!({}));
        for (key, value) in &record.annotations {
            insert(&mut annotations, key, json!(value));
        }
        insert(metadata, "annotations", annotations);
    }
    if let Some(StatusPatch::Merge(patch)) = patch(object.to_string().as_bytes(), about)
        && let Some(changed) = patch.get("status").and_then(Value::as_object)
        && let Some(status) = object.get_mut("status")
    {
        changed.iter().for_each(|(key, value)| insert(status, key, value.clone()));
    }
    if let Some(metadata) = object.get_mut("metadata") {
        insert(metadata, "generation", json!(record.generation));
    }
    object
}

/// The objects of `files`, as they are written.
pub(super) fn written(files: &[InputFile]) -> Result<Vec<Value>, BadInput> {
    let mut written = Vec::new();
    for file in files {
        let documents = serde_saphyr::from_multiple::<Value>(&file.text)
            .map_err(|error| BadInput::one(format!("{}: {error}", file.name)))?;
        for document in documents {
            flatten(document, &mut written);
        }
    }
    Ok(written)
}

/// Whether `object` is of a kind with pods.
pub(super) fn is_workload(object: &Value) -> bool {
    WORKLOADS.contains(&text(object, "/kind"))
}

/// Whether a dump has the objects of the kind of `object` from the simulated cluster itself.
pub(super) fn is_of_the_cluster(object: &Value) -> bool {
    OF_THE_CLUSTER.contains(&text(object, "/kind"))
}

/// The objects of a document, which may be a list of them.
fn flatten(document: Value, objects: &mut Vec<Value>) {
    match document {
        Value::Object(mut list) if list.contains_key("items") => {
            let items = list.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take);
            items.into_iter().flatten().for_each(|item| flatten(item, objects));
        }
        Value::Object(object) => objects.push(Value::Object(object)),
        _ => {}
    }
}

pub(super) fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Namespace and name; without a namespace it is `default`, of kinds that have none as well.
fn key_text(object: &Value) -> String {
    let namespace = match text(object, "/metadata/namespace") {
        "" => "default",
        namespace => namespace,
    };
    format!("{namespace}/{}", text(object, "/metadata/name"))
}

fn key_of(object: &Value) -> Option<PodKey> {
    let key = key_text(object);
    let (namespace, name) = key.split_once('/')?;
    Some(PodKey {
        namespace: model::Namespace::new(namespace).ok()?,
        name: ObjectName::new(name).ok()?,
    })
}

pub(super) fn insert(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

/// An id for an object of `kind` that is called `key`, with its namespace.
pub(super) fn uid_of(kind: &str, key: &str) -> String {
    uid(&format!("{kind} {key}"))
}

/// An id for what has none in the simulated cluster, made of its name.
pub(super) fn uid(name: &str) -> String {
    let number = name.bytes().fold(0_u64, |number, byte| {
        number.wrapping_mul(1_099_511_628_211).wrapping_add(u64::from(byte))
    });
    let text: String = format!("{number:016x}{number:016x}");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}
