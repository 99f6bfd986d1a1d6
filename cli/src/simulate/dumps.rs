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

use super::objects::{self, Objects, Templates, insert, uid, uid_of};
use crate::manifests::InputFile;

/// What a dump of `at` is called: every file system takes it, and names sort by time.
pub(crate) fn file_name(at: Timestamp) -> String {
    format!("{}.json", at.strftime("%Y-%m-%dT%H-%M-%SZ"))
}

/// Writes a dump each time it is due.
pub(super) struct Dumps {
    folder: PathBuf,
    every: SignedDuration,
    due: Timestamp,
    objects: Objects,
    /// How many pods workloads want.
    replicas: BTreeMap<PodKey, u32>,
    /// Events that say so of Deployments.
    scaled: Vec<Value>,
}

impl Dumps {
    /// Into `folder`, from `start` on, of a cluster that has `objects`.
    pub(super) fn new(
        folder: &Path,
        every: SignedDuration,
        start: Timestamp,
        objects: Objects,
    ) -> Result<Self, BadInput> {
        fs::create_dir_all(folder).map_err(|error| bad(folder, &error))?;
        Ok(Self {
            folder: folder.to_owned(),
            every,
            due: start,
            objects,
            replicas: BTreeMap::new(),
            scaled: Vec::new(),
        })
    }

    /// Looks at `sim` after `events`, and writes what is due.
    pub(super) fn look(&mut self, sim: &Sim, events: &[TimelineEvent]) -> Result<(), BadInput> {
        for TimelineEvent { at, happening } in events {
            self.objects.pass_until(*at);
            if let Happening::WorkloadScaled { workload, replicas } = happening {
                self.replicas.insert(workload.clone(), *replicas);
                if !self.objects.has_deployment(workload) {
                    continue;
                }
                let said = format!("Scaled replica set {} to {replicas}", workload.name);
                let about = ("apps/v1", "Deployment", Some(workload.namespace.as_str()));
                let about = (about, workload.name.as_str());
                self.scaled.push(event(*at, about, ("ScalingReplicaSet", &said)));
            }
        }
        self.objects.pass_until(sim.now());
        if sim.now() < self.due {
            return Ok(());
        }
        self.due = later(self.due, self.every);
        let path = self.folder.join(file_name(sim.now()));
        let list = json!({"apiVersion": "v1", "kind": "List", "items": self.items(sim)});
        fs::write(&path, list.to_string()).map_err(|error| bad(&path, &error))
    }

    fn items(&self, sim: &Sim) -> Vec<Value> {
        let mut items = self.objects.items(sim, &self.replicas);
        let owner = |claim: &NodeClaim| {
            let pool = sim.node_pool_record(&claim.node_pool);
            pool.map(|record| record.uid)
        };
        items.extend(sim.claims().iter().map(|shown| claim(shown, owner(shown).as_deref())));
        items.extend(sim.nodes().iter().map(node));
        items.extend(sim.told().iter().map(|(at, said)| told(*at, said)));
        items.extend(self.scaled.iter().cloned());
        let pods = sim.pods();
        let pods = pods.iter().filter(|pod| !pod.is_terminal());
        items.extend(pods.map(|listed| pod(listed, self.objects.templates().of(listed))));
        items
    }
}

/// What `kubectl get … -A -o json` would print of the cluster that `facts` were observed of, to which `files` were
/// applied. The pods of their Deployments and StatefulSets are there, the workloads themselves are not.
pub fn of_facts(facts: &Facts, files: &[InputFile]) -> Result<Value, BadInput> {
    let mut items = objects::written(files)?;
    let mut templates = Templates::default();
    for object in &items {
        templates.add(object, Timestamp::MIN);
    }
    items.retain(|object| !objects::is_workload(object) && !objects::is_of_the_cluster(object));
    items.extend(facts.ledger.claims.values().map(|shown| claim(shown, None)));
    items.extend(facts.nodes.values().map(node));
    items.extend(facts.pods.iter().map(|listed| pod(listed, templates.of(listed))));
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": items}))
}

fn amounts(amounts: &Resources) -> Value {
    let shown =
        amounts.iter().map(|(name, n)| (name.to_owned(), json!(resources::format_amount(name, n))));
    Value::Object(shown.collect())
}

/// A claim, as the functions write its NodeClaim, which the NodePool with the uid `owner` owns.
fn claim(claim: &NodeClaim, owner: Option<&str>) -> Value {
    let mut object = node_claim_patch::created(claim, owner);
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

/// An event that a function published.
fn told(at: Timestamp, said: &ObjectEvent) -> Value {
    let about = match &said.about {
        EventObject::Node(name) => (("v1", "Node", None), name.as_str()),
        EventObject::NodeClaim(name) => ((KARPENTER_V1, "NodeClaim", None), name.as_str()),
        EventObject::NodePool(name) => ((KARPENTER_V1, "NodePool", None), name.as_str()),
        EventObject::Pod(key, _) => {
            (("v1", "Pod", Some(key.namespace.as_str())), key.name.as_str())
        }
    };
    event(at, about, (said.reason.as_str(), &said.message))
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

/// A pod that was made from `template`; without one only its requests are known.
fn pod(pod: &Pod, template: Option<&Value>) -> Value {
    let spec = template.and_then(|template| template.get("spec")).cloned();
    let mut spec = spec.unwrap_or_else(|| requests_only(pod));
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("nodeName");
    }
    let mut metadata = json!({"name": pod.key.name.as_str(), "uid": pod.uid.to_string(),
        "namespace": pod.key.namespace.as_str(), "labels": pod.spec.labels,
        "creationTimestamp": pod.created_at.to_string()});
    if let Some(annotations) = template.and_then(|it| it.pointer("/metadata/annotations")) {
        insert(&mut metadata, "annotations", annotations.clone());
    }
    if let Some(owner) = &pod.owner {
        let owner = json!([{"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name,
            "uid": uid_of(&owner.kind, &format!("{}/{}", pod.key.namespace, owner.name)), "controller": true}]);
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

/// The spec of a pod without a template: what it requests.
fn requests_only(pod: &Pod) -> Value {
    let mut requests = pod.spec.requests.clone();
    requests.pods = 0;
    json!({"containers": [{"name": "main", "resources": {"requests": amounts(&requests)}}]})
}

fn bad(path: &Path, error: &std::io::Error) -> BadInput {
    BadInput::one(format!("--dumps {}: {error}", path.display()))
}
