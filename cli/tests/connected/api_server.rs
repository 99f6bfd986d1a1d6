//! An API server as far as the commands ask one: lists in pages, objects, server-side apply, patches, deletions that
//! finalizers hold up.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use crate::server::{Reply, Request, serve};

/// Changes the cluster before a request is answered.
type Hook = Box<dyn FnMut(&mut Objects, &Request) + Send>;
/// Collections by their paths, each with the name of the kind.
pub(crate) type Objects = BTreeMap<&'static str, (&'static str, Vec<Value>)>;

pub(crate) const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
pub(crate) const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
pub(crate) const CLASSES: &str = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses";
pub(crate) const NODES: &str = "/api/v1/nodes";
pub(crate) const PODS: &str = "/api/v1/pods";
pub(crate) const EVENTS: &str = "/api/v1/events";
pub(crate) const LEASES: &str = "/apis/coordination.k8s.io/v1/leases";
pub(crate) const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const CLUSTER_ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
pub(crate) const WEBHOOKS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

pub(crate) const FLOW_SCHEMAS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
pub(crate) const PRIORITY_LEVELS: &str =
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";

const COLLECTIONS: [(&str, &str); 26] = [
    (POOLS, "NodePool"),
    (CLAIMS, "NodeClaim"),
    (CLASSES, "EC2NodeClass"),
    (NODES, "Node"),
    (PODS, "Pod"),
    ("/api/v1/namespaces", "Namespace"),
    (EVENTS, "Event"),
    ("/api/v1/configmaps", "ConfigMap"),
    ("/api/v1/persistentvolumes", "PersistentVolume"),
    ("/api/v1/persistentvolumeclaims", "PersistentVolumeClaim"),
    ("/apis/apps/v1/daemonsets", "DaemonSet"),
    (DEPLOYMENTS, "Deployment"),
    ("/apis/apps/v1/statefulsets", "StatefulSet"),
    ("/apis/storage.k8s.io/v1/storageclasses", "StorageClass"),
    ("/apis/storage.k8s.io/v1/csinodes", "CSINode"),
    ("/apis/policy/v1/poddisruptionbudgets", "PodDisruptionBudget"),
    (LEASES, "Lease"),
    (CLUSTER_ROLES, "ClusterRole"),
    ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "ClusterRoleBinding"),
    ("/apis/rbac.authorization.k8s.io/v1/roles", "Role"),
    ("/apis/rbac.authorization.k8s.io/v1/rolebindings", "RoleBinding"),
    (FLOW_SCHEMAS, "FlowSchema"),
    (PRIORITY_LEVELS, "PriorityLevelConfiguration"),
    (WEBHOOKS, "ValidatingWebhookConfiguration"),
    (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
    ),
    (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
    ),
];

struct State {
    objects: Objects,
    /// Most objects of a page.
    page: usize,
    /// How many further pages of pods are still refused as expired.
    expiring: usize,
    /// An object that another client changes just before it is applied, once.
    conflicting: Option<&'static str>,
    hook: Option<Hook>,
    refusals: Vec<Refusal>,
    log: Vec<Request>,
}

struct Refusal {
    method: &'static str,
    path: &'static str,
    /// How often.
    times: usize,
    code: u16,
    reason: &'static str,
    message: &'static str,
}

/// The server, from its own side.
#[derive(Clone)]
pub(crate) struct ApiServer {
    state: Arc<Mutex<State>>,
    pub(crate) url: String,
}

impl ApiServer {
    pub(crate) fn start() -> Self {
        let mut objects: Objects =
            COLLECTIONS.into_iter().map(|(path, kind)| (path, (kind, Vec::new()))).collect();
        objects.insert(DEFINITIONS, ("CustomResourceDefinition", Vec::new()));
        let state = State {
            objects,
            page: 500,
            expiring: 0,
            conflicting: None,
            hook: None,
            refusals: Vec::new(),
            log: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let url = serve(move |request| shared.lock().expect("no thread panics").answer(request));
        Self { state, url }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics")
    }

    /// Has these objects, too.
    pub(crate) fn with(&self, collection: &str, objects: impl IntoIterator<Item = Value>) -> &Self {
        let mut state = self.state();
        let (_, all) = state.objects.get_mut(collection).expect("a known collection");
        all.extend(objects);
        drop(state);
        self
    }

    /// Does not know the kind.
    pub(crate) fn without(&self, collection: &str) -> &Self {
        drop(self.state().objects.remove(collection).expect("a known collection"));
        self
    }

    /// Gives at most this number of objects on a page.
    pub(crate) fn paged(&self, page: usize) -> &Self {
        self.state().page = page;
        self
    }

    /// Forgets the continue token of pods this number of times.
    pub(crate) fn expiring(&self, times: usize) -> &Self {
        self.state().expiring = times;
        self
    }

    /// Has another client change the object called `name` just before it is applied, once.
    pub(crate) fn conflicting(&self, name: &'static str) -> &Self {
        self.state().conflicting = Some(name);
        self
    }

    /// Refuses requests whose path begins with `path`, this number of times.
    pub(crate) fn refusing(
        &self,
        (method, path): (&'static str, &'static str),
        times: usize,
        (code, reason, message): (u16, &'static str, &'static str),
    ) -> &Self {
        self.state().refusals.push(Refusal { method, path, times, code, reason, message });
        self
    }

    /// Lets the cluster change before each request.
    pub(crate) fn changing(
        &self,
        hook: impl FnMut(&mut Objects, &Request) + Send + 'static,
    ) -> &Self {
        self.state().hook = Some(Box::new(hook));
        self
    }

    pub(crate) fn objects(&self, collection: &str) -> Vec<Value> {
        self.state().objects[collection].1.clone()
    }

    /// What was asked for since the last time.
    pub(crate) fn log(&self) -> Vec<Request> {
        std::mem::take(&mut self.state().log)
    }

    /// `METHOD path` of everything that was asked for but not only read.
    pub(crate) fn writes(&self) -> Vec<String> {
        let log = self.log().into_iter();
        let writes = log.filter(|request| request.method != "GET" && request.method != "CONNECT");
        writes.map(|request| format!("{} {}", request.method, request.path)).collect()
    }
}

/// The collection of a path, and of its object namespace, name and part.
fn place(path: &str) -> (String, Option<(String, String)>) {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let root = if parts[0] == "api" { 2 } else { 3 };
    let (root, mut rest) = parts.split_at(root.min(parts.len()));
    if rest.len() > 2 && rest[0] == "namespaces" {
        rest = &rest[2..];
    }
    let collection = format!("/{}/{}", root.join("/"), rest.first().unwrap_or(&""));
    let name = rest.get(1).map(|name| {
        let part = rest.get(2).map(|part| (*part).to_owned());
        ((*name).to_owned(), part.unwrap_or_default())
    });
    (collection, name)
}

fn status(code: u16, reason: &str, message: &str) -> Reply {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message,
    });
    Reply { status: code, ..Reply::ok(body) }
}

/// The merge patch of RFC 7396.
fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        into.clone_from(patch);
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (name, value) in patch {
        let fields = into.as_object_mut().expect("it was made one");
        if value.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> Reply {
        self.log.push(request.clone());
        if let Some(mut hook) = self.hook.take() {
            hook(&mut self.objects, request);
            self.hook = Some(hook);
        }
        let is_refused = |refusal: &&mut Refusal| {
            refusal.times > 0
                && refusal.method == request.method
                && request.path.starts_with(refusal.path)
        };
        if let Some(refusal) = self.refusals.iter_mut().find(is_refused) {
            refusal.times -= 1;
            return status(refusal.code, refusal.reason, refusal.message);
        }
        if self.expiring > 0 && request.path == PODS && !request.parameter("continue").is_empty() {
            self.expiring -= 1;
            return status(410, "Expired", "The provided continue parameter is too old");
        }
        let is_applied = request.method == "PATCH" && request.parameter("dryRun").is_empty();
        if is_applied && self.conflicting.is_some_and(|name| request.path.ends_with(name)) {
            self.conflicting = None;
            return status(409, "Conflict", "the object has been modified");
        }
        if request.path == "/version" {
            return Reply::ok(json!({"gitVersion": "v1.34.0"}));
        }
        let (collection, object) = place(&request.path);
        let page = self.page;
        let Some((kind, all)) = self.objects.get_mut(collection.as_str()) else {
            // What is not a resource is not refused by a Status.
            return Reply { status: 404, ..Reply::ok("404 page not found") };
        };
        match (request.method.as_str(), object) {
            ("GET", None) => list(&collection, kind, all, page, request),
            ("GET", Some((name, _))) => match position(all, &name) {
                Some(at) => Reply::ok(&all[at]),
                None => status(404, "NotFound", &format!("{name} not found")),
            },
            ("PATCH", Some((name, part))) => patch(all, &name, &part, request),
            ("DELETE", Some((name, _))) => {
                let Some(at) = position(all, &name) else {
                    return status(404, "NotFound", &format!("{name} not found"));
                };
                let finalizers = all[at]["metadata"]["finalizers"].as_array();
                if finalizers.is_some_and(|finalizers| !finalizers.is_empty()) {
                    all[at]["metadata"]["deletionTimestamp"] = json!("2026-08-01T12:00:00Z");
                } else {
                    all.remove(at);
                }
                Reply::ok(json!({"kind": "Status", "status": "Success"}))
            }
            _ => status(405, "MethodNotAllowed", "no"),
        }
    }
}

fn position(all: &[Value], name: &str) -> Option<usize> {
    all.iter().position(|object| object["metadata"]["name"] == name)
}

fn list(path: &str, kind: &str, all: &[Value], page: usize, request: &Request) -> Reply {
    let version = path.trim_start_matches("/apis/").trim_start_matches("/api/");
    let version = version.rsplit_once('/').expect("a version and a kind").0;
    let selected: Vec<&Value> = match request.parameter("labelSelector") {
        "" => all.iter().collect(),
        selector => {
            let (label, value) =
                selector.split_once('=').map_or((selector, None), |(l, v)| (l, Some(v)));
            let has = |object: &&Value| {
                let label = &object["metadata"]["labels"][label];
                value.map_or_else(|| !label.is_null(), |value| label == value)
            };
            all.iter().filter(has).collect()
        }
    };
    let limit = request.parameter("limit").parse().unwrap_or(usize::MAX).min(page);
    let from: usize = request.parameter("continue").trim_start_matches("t+").parse().unwrap_or(0);
    let items: Vec<Value> = selected
        .iter()
        .skip(from)
        .take(limit)
        .map(|object| {
            // Items of lists do not say what they are.
            let mut object = (*object).clone();
            let fields = object.as_object_mut().expect("an object");
            drop((fields.remove("kind"), fields.remove("apiVersion")));
            object
        })
        .collect();
    let next = from + items.len();
    let token = if next < selected.len() { format!("t+{next}") } else { String::new() };
    Reply::ok(json!({
        "kind": format!("{kind}List"), "apiVersion": version,
        "metadata": {"resourceVersion": "7", "continue": token}, "items": items,
    }))
}

fn patch(all: &mut Vec<Value>, name: &str, part: &str, request: &Request) -> Reply {
    let change: Value = serde_json::from_str(&request.body).expect("JSON");
    let at = position(all, name);
    let is_apply = request.header("content-type").starts_with("application/apply-patch");
    let mut object = match (at, is_apply) {
        (Some(at), _) => all[at].clone(),
        (None, true) => json!({"metadata": {"uid": format!("uid-of-{name}")}}),
        (None, false) => return status(404, "NotFound", &format!("{name} not found")),
    };
    assert!(part.is_empty() || part == "scale", "{part}");
    merge(&mut object, &change);
    if request.parameter("dryRun").is_empty() {
        match at {
            Some(at) => all[at] = object.clone(),
            None => all.push(object.clone()),
        }
    }
    Reply::ok(object)
}
