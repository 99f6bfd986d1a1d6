//! Dumps of the simulated cluster in time order, as `kubectl get … -A -o json` prints a real one: what
//! `journeyman shadow` compares with.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use api::karpenter::node_claim_patch::{self, StoredNodeClaim};
use jiff::{SignedDuration, Timestamp};
use model::{
    NodeClaim, Pod, PodKey, Resources,
    api_version::KARPENTER_V1,
    duration::later,
    event::{EventObject, ObjectEvent},
    facts::Facts,
    node::Node,
    pod::PodPhase,
    resources,
};
use report::error::BadInput;
use serde_json::{Value, json};
use simulator::{Happening, Sim, TimelineEvent};

use crate::{manifests::InputFile, workloads::workload_of};

/// What a dump of `at` is called: every file system takes it, and names sort by time.
pub(crate) fn file_name(at: Timestamp) -> String {
    format!("{}.json", at.strftime("%Y-%m-%dT%H-%M-%SZ"))
}

/// Writes a dump each time it is due.
pub(super) struct Dumps {
    folder: PathBuf,
    every: SignedDuration,
    due: Timestamp,
    /// What was applied, as it was written; of a workload how many pods it wants is filled in.
    written: Vec<Value>,
    /// How many pods workloads want.
    replicas: BTreeMap<PodKey, u32>,
    /// Events that say so.
    scaled: Vec<Value>,
}

impl Dumps {
    /// Into `folder`, from `start` on, of a cluster that `files` were applied to.
    pub(super) fn new(
        folder: &Path,
        every: SignedDuration,
        start: Timestamp,
        files: &[InputFile],
    ) -> Result<Self, BadInput> {
        fs::create_dir_all(folder).map_err(|error| bad(folder, &error))?;
        let written = written(files)?;
        Ok(Self {
            folder: folder.to_owned(),
            every,
            due: start,
            written,
            replicas: BTreeMap::new(),
            scaled: Vec::new(),
        })
    }

    /// Looks at `sim` after `events`, and writes what is due.
    pub(super) fn look(&mut self, sim: &Sim, events: &[TimelineEvent]) -> Result<(), BadInput> {
        for TimelineEvent { at, happening } in events {
            if let Happening::WorkloadScaled { workload, replicas } = happening {
                self.replicas.insert(workload.clone(), *replicas);
                let said = format!("Scaled replica set {} to {replicas}", workload.name);
                let about = ("apps/v1", "Deployment", Some(workload.namespace.as_str()));
                let about = (about, workload.name.as_str());
                self.scaled.push(event(*at, about, ("ScalingReplicaSet", &said)));
            }
        }
        if sim.now() < self.due {
            return Ok(());
        }
        self.due = later(self.due, self.every);
        let path = self.folder.join(file_name(sim.now()));
        let list = json!({"apiVersion": "v1", "kind": "List", "items": self.items(sim)});
        fs::write(&path, list.to_string()).map_err(|error| bad(&path, &error))
    }

    fn items(&self, sim: &Sim) -> Vec<Value> {
        let pods = sim.pods();
        let claims = sim.claims();
        let mut items = Vec::new();
        for object in &self.written {
            let mut object = object.clone();
            if let Some(key) = key_of(&object)
                && let Some(replicas) = self.replicas.get(&key)
                && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
            {
                let field =
                    if spec.contains_key("completions") { "completions" } else { "replicas" };
                spec.insert(field.to_owned(), json!(replicas));
            }
            items.push(object);
        }
        items.extend(claims.iter().map(claim));
        items.extend(sim.nodes().iter().map(node));
        items.extend(sim.told().iter().filter_map(|(at, said)| of_node(*at, said)));
        items.extend(self.scaled.iter().cloned());
        let templates: BTreeMap<String, &Value> =
            self.written.iter().filter_map(template).collect();
        items.extend(
            pods.iter().filter(|pod| !pod.is_terminal()).map(|listed| pod(listed, &templates)),
        );
        items
    }
}

/// The objects of `files`, as they are written, but those that the cluster has its own of.
fn written(files: &[InputFile]) -> Result<Vec<Value>, BadInput> {
    let mut written = Vec::new();
    for file in files {
        let documents = serde_saphyr::from_multiple::<Value>(&file.text)
            .map_err(|error| BadInput::one(format!("{}: {error}", file.name)))?;
        for document in documents {
            flatten(document, &mut written);
        }
    }
    written.retain(|object| {
        !["Node", "NodeClaim", "Pod", "ReplicaSet"].contains(&text(object, "/kind"))
    });
    Ok(written)
}

/// What `kubectl get … -A -o json` would print of the cluster that `facts` were observed of, to which `files` were
/// applied. The pods of their Deployments and StatefulSets are there, the workloads themselves are not.
pub fn of_facts(facts: &Facts, files: &[InputFile]) -> Result<Value, BadInput> {
    let mut items = written(files)?;
    let templates: Vec<Value> = items.clone();
    let templates: BTreeMap<String, &Value> = templates.iter().filter_map(template).collect();
    items.retain(|object| !["Deployment", "StatefulSet", "Job"].contains(&text(object, "/kind")));
    items.extend(facts.ledger.claims.values().map(claim));
    items.extend(facts.nodes.values().map(node));
    items.extend(facts.pods.iter().map(|listed| pod(listed, &templates)));
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": items}))
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

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn namespace(object: &Value) -> &str {
    match text(object, "/metadata/namespace") {
        "" => "default",
        namespace => namespace,
    }
}

fn key_of(object: &Value) -> Option<PodKey> {
    Some(PodKey {
        namespace: model::Namespace::new(namespace(object)).ok()?,
        name: model::ObjectName::new(text(object, "/metadata/name")).ok()?,
    })
}

/// What the pods of a workload are made from, by the workload's name.
fn template(object: &Value) -> Option<(String, &Value)> {
    let template = object.pointer("/spec/template").filter(|template| template.is_object())?;
    Some((format!("{}/{}", namespace(object), text(object, "/metadata/name")), template))
}

fn amounts(amounts: &Resources) -> Value {
    let shown =
        amounts.iter().map(|(name, n)| (name.to_owned(), json!(resources::format_amount(name, n))));
    Value::Object(shown.collect())
}

/// A claim, as the functions write its NodeClaim.
fn claim(claim: &NodeClaim) -> Value {
    let mut object = node_claim_patch::created(claim, None);
    let said = [
        ("creationTimestamp", json!(claim.created_at.to_string())),
        ("uid", json!(uid(claim.name.as_str()))),
    ];
    let deleted = claim.deletion.as_ref().map(|_| claim.phase_since.to_string());
    let deleted = deleted.map(|at| ("deletionTimestamp", json!(at)));
    for (key, value) in said.into_iter().chain(deleted) {
        if let Some(metadata) = object.get_mut("metadata") {
            insert(metadata, key, value);
        }
    }
    let stored = StoredNodeClaim::read(object.to_string().as_bytes());
    let status = stored.ok().and_then(|stored| node_claim_patch::changes(&stored, claim).status);
    if let Some(status) = status.and_then(|mut applied| Some(applied.get_mut("status")?.take())) {
        insert(&mut object, "status", status);
    }
    object
}

/// An event about a node; `None` of another.
fn of_node(at: Timestamp, said: &ObjectEvent) -> Option<Value> {
    let about = match &said.about {
        EventObject::Node(name) => (("v1", "Node", None), name.as_str()),
        EventObject::NodeClaim(name) => ((KARPENTER_V1, "NodeClaim", None), name.as_str()),
        EventObject::NodePool(_) | EventObject::Pod(..) => return None,
    };
    Some(event(at, about, (said.reason.as_str(), &said.message)))
}

/// The type of an object and its namespace, and its name.
type About<'a> = ((&'a str, &'a str, Option<&'a str>), &'a str);

/// An event as an API server has it, with its reason and its message.
fn event(
    at: Timestamp,
    ((api_version, kind, namespace), name): About<'_>,
    (reason, message): (&str, &str),
) -> Value {
    let id = uid(&format!("{kind} {name} {reason} {at}"));
    let mut about = json!({"apiVersion": api_version, "kind": kind, "name": name});
    if let Some(namespace) = namespace {
        insert(&mut about, "namespace", json!(namespace));
    }
    json!({"apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{name}.{id}"), "namespace": namespace.unwrap_or("default"), "uid": id},
        "involvedObject": about, "reason": reason, "message": message,
        "firstTimestamp": at.to_string(), "lastTimestamp": at.to_string()})
}

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

fn node(node: &Node) -> Value {
    let taints = node.taints.iter().map(|taint| {
        let mut written = json!({"key": taint.key, "effect": taint.effect.as_str()});
        // An empty one is left out, as an API server leaves it out.
        if !taint.value.is_empty() {
            insert(&mut written, "value", json!(taint.value));
        }
        written
    });
    let mut metadata = json!({"name": node.name.as_str(), "labels": node.labels,
        "annotations": node.annotations, "creationTimestamp": node.created_at.to_string(),
        "uid": uid(node.name.as_str())});
    if node.is_deleting {
        insert(&mut metadata, "deletionTimestamp", json!(node.created_at.to_string()));
        insert(&mut metadata, "finalizers", json!(node.finalizers));
    }
    let mut spec = json!({"taints": taints.collect::<Vec<_>>()});
    if let Some(provider_id) = &node.provider_id {
        insert(&mut spec, "providerID", json!(provider_id.to_string()));
    }
    let ready = if node.is_ready { "True" } else { "False" };
    json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec,
        "status": {"capacity": amounts(&node.capacity), "allocatable": amounts(&node.allocatable),
            "conditions": [{"type": "Ready", "status": ready, "reason": "KubeletReady", "message": "",
                "lastTransitionTime": node.created_at.to_string()}]}})
}

fn pod(pod: &Pod, templates: &BTreeMap<String, &Value>) -> Value {
    let workload = match &pod.owner {
        Some(owner) if owner.kind == "DaemonSet" || owner.kind == "StatefulSet" => {
            format!("{}/{}", pod.key.namespace, owner.name)
        }
        _ => workload_of(&pod.key),
    };
    let template = templates.get(&workload).copied();
    let spec = template.and_then(|template| template.get("spec")).cloned();
    let mut spec = spec.unwrap_or_else(|| requests_only(pod));
    let mut metadata = json!({"name": pod.key.name.as_str(), "uid": pod.uid.to_string(),
        "namespace": pod.key.namespace.as_str(), "labels": pod.spec.labels,
        "creationTimestamp": pod.created_at.to_string()});
    if let Some(owner) = &pod.owner {
        let owner = json!([{"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name,
            "uid": uid(&owner.name), "controller": true}]);
        insert(&mut metadata, "ownerReferences", owner);
    }
    if let Some(deleted_at) = pod.deleted_at {
        insert(&mut metadata, "deletionTimestamp", json!(deleted_at.to_string()));
    }
    let phase = if pod.phase == PodPhase::Running { "Running" } else { "Pending" };
    let mut status = json!({"phase": phase});
    if let Some(node) = &pod.node {
        insert(&mut spec, "nodeName", json!(node.as_str()));
    }
    if let Some(started_at) = pod.started_at {
        insert(&mut status, "startTime", json!(started_at.to_string()));
    }
    if let Some(at) = pod.unschedulable_at.filter(|_| pod.node.is_none()) {
        let condition = json!([{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "", "lastTransitionTime": at.to_string()}]);
        insert(&mut status, "conditions", condition);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
}

/// The spec of a pod of which nobody wrote a template: what it requests.
fn requests_only(pod: &Pod) -> Value {
    let mut requests = pod.spec.requests.clone();
    requests.pods = 0;
    json!({"containers": [{"name": "main", "resources": {"requests": amounts(&requests)}}]})
}

/// An id for what has none in the simulated cluster, made of its name.
fn uid(name: &str) -> String {
    let number = name.bytes().fold(0_u64, |number, byte| {
        number.wrapping_mul(1_099_511_628_211).wrapping_add(u64::from(byte))
    });
    let text: String = format!("{number:016x}{number:016x}");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

fn bad(path: &Path, error: &std::io::Error) -> BadInput {
    BadInput::one(format!("--dumps {}: {error}", path.display()))
}
