//! What is asked of an API server, and what its answers mean.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use api::lists::{Page, PodReader};
use api::objects::PodManifest;
use api::probe;
use model::{
    PodSpec,
    labels::MANAGER,
    limits::{ANNOTATED_OBJECTS_READ_MAX, PAGES_PER_LISTING_MAX},
    protection::{self, Ineffective},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{ApiCall, ApiCallError, ApiConnection, LiveAnswer, ObjectKind, kinds, one_line};
use crate::installation::ClusterArgs;

/// client-go's page size: the pods of a large cluster are hundreds of megabytes of text.
const PAGE_SIZE: usize = 500;
/// The first call of a function that is not warm may take longer than the second that the API server waits.
const PROBES: u32 = 3;

/// What does not stand in a query as it is (RFC 3986).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";
/// JSON is YAML, too.
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// Which objects of a kind are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectFilter {
    /// A selector of labels, as it stands in a query.
    pub labels: Option<&'static str>,
}

impl ObjectFilter {
    /// What belongs to Karpenter's chart: [`model::lease::KARPENTER_LABEL`].
    pub const OF_KARPENTER: Self = Self { labels: Some("app.kubernetes.io%2Fname%3Dkarpenter") };
}

/// A cluster, at the other end of a connection.
#[derive(Debug)]
pub struct ClusterClient {
    connection: ApiConnection,
}

/// Why a list was not read to its end.
enum PagesError {
    /// The server has forgotten the state that the pages are of.
    Expired(ApiCallError),
    /// Anything else.
    Other(ApiCallError),
    /// An answer cannot be read.
    Unreadable(String),
}

impl PagesError {
    fn in_words(&self, kind: &ObjectKind) -> String {
        match self {
            Self::Expired(error) | Self::Other(error) => {
                failure_in_words("list", &kind.to_string(), error)
            }
            Self::Unreadable(why) => format!("list {kind}: {why}"),
        }
    }
}

impl ClusterClient {
    /// The cluster of a kubeconfig. Nothing is asked yet.
    pub fn open(place: &ClusterArgs) -> LiveAnswer<Self> {
        ApiConnection::open(place).map(|connection| Self { connection })
    }

    /// The URL of its API server.
    pub fn server(&self) -> &str {
        self.connection.server()
    }

    /// The kubeconfig's context; `None` in a pod without a kubeconfig.
    pub fn context(&self) -> Option<&str> {
        self.connection.context()
    }

    /// What the API server says of itself.
    pub fn version(&self) -> LiveAnswer<Value> {
        let call = ApiCall { method: "GET", path: "/version".to_owned(), content: None };
        let body = self
            .connection
            .call(&call)
            .map_err(|error| failure_in_words("get", "/version", &error))?;
        serde_json::from_str(&body).map_err(|error| format!("get /version: {error}"))
    }

    /// All objects of `kind` in all namespaces. A cluster that does not know a custom kind has none of it.
    pub fn objects(&self, kind: &ObjectKind) -> LiveAnswer<Vec<Value>> {
        Ok(self.selected(kind, ObjectFilter::default())?.unwrap_or_default())
    }

    /// All objects of `kind`, which every cluster knows, in all namespaces; or in words that the user of the kubeconfig
    /// must not list them.
    pub fn objects_if_allowed(&self, kind: &ObjectKind) -> LiveAnswer<Result<Vec<Value>, String>> {
        match self.pages(&kind.path_in(kind.version), ObjectFilter::default(), add_values) {
            Ok(objects) => Ok(Ok(objects)),
            Err(PagesError::Other(error @ ApiCallError::Refused { code: 403, .. })) => {
                Ok(Err(failure_in_words("list", &kind.to_string(), &error)))
            }
            Err(error) => Err(error.in_words(kind)),
        }
    }

    /// Objects of `kind` in all namespaces; nothing where the cluster does not know a custom kind.
    pub fn selected(
        &self,
        kind: &ObjectKind,
        selected: ObjectFilter,
    ) -> LiveAnswer<Option<Vec<Value>>> {
        self.listed(kind, selected, add_values)
    }

    /// How many pods there are, and which of the first have annotations that protect nothing.
    pub fn protected_pods(&self) -> LiveAnswer<Protected> {
        let read = self.listed(&kinds::PODS, ObjectFilter::default(), add_protected_pods)?;
        Ok(read.unwrap_or_default())
    }

    /// How many nodes there are, and which of the first have annotations that protect nothing.
    pub fn protected_nodes(&self) -> LiveAnswer<Protected> {
        let read = self.listed(&kinds::NODES, ObjectFilter::default(), add_protected_nodes)?;
        Ok(read.unwrap_or_default())
    }

    /// All pods.
    pub fn pods(&self) -> LiveAnswer<Page<PodManifest>> {
        let read: Option<(PodReader, Option<Page<PodManifest>>)> =
            self.listed(&kinds::PODS, ObjectFilter::default(), add_pods)?;
        let page = read.and_then(|(_, page)| page);
        page.ok_or_else(|| format!("list {}: there was no page", kinds::PODS))
    }

    /// The object, if it is there.
    pub fn object(
        &self,
        kind: &ObjectKind,
        namespace: Option<&str>,
        name: &str,
    ) -> LiveAnswer<Option<Value>> {
        let call = ApiCall { method: "GET", path: kind.path_of(namespace, name), content: None };
        let what = format!("{kind} {name}");
        match self.connection.call(&call) {
            Ok(body) => {
                let mut object: Value =
                    serde_json::from_str(&body).map_err(|error| format!("get {what}: {error}"))?;
                complete(&mut object, &kind.api_version(), kind.name);
                Ok(Some(object))
            }
            Err(ApiCallError::Refused { code: 404, .. }) => Ok(None),
            Err(error) => Err(failure_in_words("get", &what, &error)),
        }
    }

    /// How long the API server took for a request that calls `wake`, if `wake` answered one of a few; nothing is
    /// stored.
    pub fn probed(&self) -> LiveAnswer<Option<Duration>> {
        for _ in 0..PROBES {
            let path = format!("{}?dryRun=All", probe::PATH);
            let content = Some((JSON, probe::event().to_string()));
            let answer = self.connection.warnings(&ApiCall { method: "POST", path, content });
            let (warnings, took) = answer.map_err(|error| {
                failure_in_words("create", "events of the API group events.k8s.io", &error)
            })?;
            if warnings.iter().any(|warning| probe::is_of_wake(warning)) {
                return Ok(Some(took));
            }
        }
        Ok(None)
    }

    /// Applies `object` on the server's side, as `journeyman`, also if other managers own fields of it; or says
    /// only what it would be then.
    pub fn apply(&self, object: &Value, is_dry: bool) -> LiveAnswer<Value> {
        let (kind, name) = named(object)?;
        let mut path = kind.path_of(namespace_of(object), name);
        let _infallible = write!(path, "?fieldManager={MANAGER}&force=true");
        path.push_str(if is_dry { "&dryRun=All" } else { "" });
        let content = Some((APPLY_PATCH, object.to_string()));
        let call = ApiCall { method: "PATCH", path, content };
        let what = format!("{kind} {name}");
        let body = self
            .connection
            .call(&call)
            .map_err(|error| failure_in_words("patch", &what, &error))?;
        serde_json::from_str(&body).map_err(|error| format!("patch {what}: {error}"))
    }

    /// Merges `change` into the object, or into its `part` such as `scale`. One that is gone needs no change.
    pub fn merge(
        &self,
        kind: &ObjectKind,
        (namespace, name): (Option<&str>, &str),
        part: Option<&str>,
        change: &Value,
    ) -> LiveAnswer<()> {
        let path = kind.path_of(namespace, name);
        let path = part.map_or_else(|| path.clone(), |part| format!("{path}/{part}"));
        let content = Some((MERGE_PATCH, change.to_string()));
        let part = part.map(|part| format!("/{part}")).unwrap_or_default();
        self.done(
            "patch",
            &format!("{kind}{part} {name}"),
            &ApiCall { method: "PATCH", path, content },
        )
    }

    /// Deletes the object, unless it is gone. It may stay for its finalizers.
    pub fn delete(&self, kind: &ObjectKind, namespace: Option<&str>, name: &str) -> LiveAnswer<()> {
        let options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        let content = Some((JSON, options.to_string()));
        let call = ApiCall { method: "DELETE", path: kind.path_of(namespace, name), content };
        self.done("delete", &format!("{kind} {name}"), &call)
    }

    fn done(&self, verb: &str, what: &str, call: &ApiCall) -> LiveAnswer<()> {
        match self.connection.call(call) {
            Ok(_) | Err(ApiCallError::Refused { code: 404, .. }) => Ok(()),
            Err(error) => Err(failure_in_words(verb, what, &error)),
        }
    }

    /// What `add` makes of all pages.
    fn listed<T: Default>(
        &self,
        kind: &ObjectKind,
        selected: ObjectFilter,
        add: fn(&mut T, &str) -> Result<Option<String>, String>,
    ) -> LiveAnswer<Option<T>> {
        let in_words = |error: PagesError| error.in_words(kind);
        match self.pages(&kind.path_in(kind.version), selected, add) {
            Err(PagesError::Other(ApiCallError::Refused { code: 404, .. })) if kind.is_custom => {}
            other => return other.map(Some).map_err(in_words),
        }
        // Not in this version: perhaps in that one which the cluster prefers.
        let Some(version) = self.preferred_version(kind)? else { return Ok(None) };
        match self.pages(&kind.path_in(&version), selected, add) {
            Err(PagesError::Other(ApiCallError::Refused { code: 404, .. })) => Ok(None),
            other => other.map(Some).map_err(in_words),
        }
    }

    /// The version of the group of `kind` that the cluster prefers, if it has the group and that is another one.
    fn preferred_version(&self, kind: &ObjectKind) -> LiveAnswer<Option<String>> {
        let path = format!("/apis/{}", kind.group);
        let call = ApiCall { method: "GET", path, content: None };
        let body = match self.connection.call(&call) {
            Ok(body) => body,
            Err(ApiCallError::Refused { code: 404, .. }) => return Ok(None),
            Err(error) => return Err(failure_in_words("get", &call.path, &error)),
        };
        let group: Value =
            serde_json::from_str(&body).map_err(|error| format!("get {}: {error}", call.path))?;
        let version = group.pointer("/preferredVersion/version").and_then(Value::as_str);
        Ok(version.filter(|version| *version != kind.version).map(str::to_owned))
    }

    /// All pages of a list. Pages that expired while they were read are begun again once.
    fn pages<T: Default>(
        &self,
        path: &str,
        selected: ObjectFilter,
        add: fn(&mut T, &str) -> Result<Option<String>, String>,
    ) -> Result<T, PagesError> {
        match self.pages_once(path, selected, add) {
            Err(PagesError::Expired(_)) => self.pages_once(path, selected, add),
            other => other,
        }
    }

    fn pages_once<T: Default>(
        &self,
        path: &str,
        selected: ObjectFilter,
        add: fn(&mut T, &str) -> Result<Option<String>, String>,
    ) -> Result<T, PagesError> {
        let mut gathered = T::default();
        let mut next: Option<String> = None;
        for _ in 0..PAGES_PER_LISTING_MAX {
            let mut path = format!("{path}?limit={PAGE_SIZE}");
            if let Some(selector) = selected.labels {
                let _infallible = write!(path, "&labelSelector={selector}");
            }
            if let Some(token) = &next {
                let _infallible = write!(path, "&continue={}", in_query(token));
            }
            let body = self
                .connection
                .call(&ApiCall { method: "GET", path, content: None })
                .map_err(|error| match error {
                    ApiCallError::Refused { code: 410, .. } => PagesError::Expired(error),
                    _ => PagesError::Other(error),
                })?;
            next = add(&mut gathered, &body).map_err(PagesError::Unreadable)?;
            if next.is_none() {
                return Ok(gathered);
            }
        }
        Err(PagesError::Unreadable(format!("there are more than {PAGES_PER_LISTING_MAX} pages")))
    }
}

/// Adds the objects of the page `body` to `all`: each gets the API version and kind of the list, and loses
/// `managedFields`. The token of the next page; `None`: it was the last one.
pub fn add_values(all: &mut Vec<Value>, body: &str) -> Result<Option<String>, String> {
    let page = value_page(body)?;
    all.extend(page.objects);
    Ok(page.next)
}

/// A page of any kind.
struct ValuePage {
    objects: Vec<Value>,
    /// The token of the next page.
    next: Option<String>,
    /// How many objects are on the pages after it.
    remaining: usize,
}

fn value_page(body: &str) -> Result<ValuePage, String> {
    let mut list: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let text = |pointer: &str| list.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("/apiVersion").to_owned(), text("/kind").to_owned());
    let kind = kind.strip_suffix("List").ok_or_else(|| format!("it is no list, but `{kind}`"))?;
    let next = Some(text("/metadata/continue").to_owned()).filter(|token| !token.is_empty());
    let remaining = list.pointer("/metadata/remainingItemCount").and_then(Value::as_u64);
    let remaining = remaining.and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
    // An empty list is `null` in some versions.
    let mut objects = match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    for object in &mut objects {
        complete(object, &api_version, kind);
    }
    Ok(ValuePage { objects, next, remaining })
}

/// How annotations protect the pods or the nodes of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protected {
    /// How many objects there are.
    pub count: usize,
    /// How many of them were read.
    pub read: usize,
    /// Whether there are more: [`ANNOTATED_OBJECTS_READ_MAX`] were read.
    pub is_cut: bool,
    /// Kind and name of each that has an annotation which is meant to protect it and does not, with the annotation.
    pub unprotected: Vec<(&'static str, String, Ineffective)>,
}

/// Adds the pods of the page `body`.
pub fn add_protected_pods(all: &mut Protected, body: &str) -> Result<Option<String>, String> {
    let annotation = |annotations| {
        protection::ineffective_of_pod(&PodSpec { annotations, ..PodSpec::default() })
    };
    add_protected(all, body, "Pod", annotation)
}

/// Adds the nodes of the page `body`.
pub fn add_protected_nodes(all: &mut Protected, body: &str) -> Result<Option<String>, String> {
    add_protected(all, body, "Node", |annotations| protection::ineffective_of_node(&annotations))
}

fn add_protected(
    all: &mut Protected,
    body: &str,
    kind: &'static str,
    annotation: impl Fn(BTreeMap<String, String>) -> Option<Ineffective>,
) -> Result<Option<String>, String> {
    let ValuePage { objects, next, remaining } = value_page(body)?;
    all.read += objects.len();
    all.count = all.read + remaining;
    for object in &objects {
        let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
        let texts = annotations
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        if let Some(ineffective) = annotation(texts.collect()) {
            let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let namespace = namespace_of(object).map(|namespace| format!("{namespace}/"));
            let name = format!("{}{name}", namespace.unwrap_or_default());
            all.unprotected.push((kind, name, ineffective));
        }
    }
    all.is_cut = next.is_some() && ANNOTATED_OBJECTS_READ_MAX <= all.read;
    Ok(next.filter(|_| !all.is_cut))
}

/// Items of lists leave out what the list says, and field managers are not needed.
fn complete(object: &mut Value, api_version: &str, kind: &str) {
    let Some(fields) = object.as_object_mut() else { return };
    fields.entry("apiVersion").or_insert_with(|| api_version.into());
    fields.entry("kind").or_insert_with(|| kind.into());
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// Adds the pods of a page.
fn add_pods(
    (reader, all): &mut (PodReader, Option<Page<PodManifest>>),
    body: &str,
) -> Result<Option<String>, String> {
    let page = reader.page(body.as_bytes()).map_err(|error| error.to_string())?;
    let next = page.continue_token.clone();
    match all {
        Some(all) => {
            all.items.extend(page.items);
            all.malformed.extend(page.malformed);
            all.continue_token = page.continue_token;
        }
        None => *all = Some(page),
    }
    Ok(next)
}

/// Kind and name of an object of ours.
fn named(object: &Value) -> LiveAnswer<(&'static ObjectKind, &str)> {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    let known = ObjectKind::of(object).zip(name);
    known.ok_or_else(|| format!("an object of an unknown kind, or without a name: {object}"))
}

/// The namespace of `object`; `None` for objects of the whole cluster.
pub fn namespace_of(object: &Value) -> Option<&str> {
    object.pointer("/metadata/namespace").and_then(Value::as_str)
}

/// `text` as it stands in a query (RFC 3986).
pub fn in_query(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Why `verb` on `what` failed, in one line, with the right that is missing, if it is that.
pub fn failure_in_words(verb: &str, what: &str, error: &ApiCallError) -> String {
    match error {
        ApiCallError::Refused { code: 403, message, .. } => {
            let resource = what.split(' ').next().unwrap_or(what);
            let message = one_line(message);
            format!("{verb} {what}: Forbidden: {message} (needed: the right to {verb} {resource})")
        }
        ApiCallError::Refused { code: 401, message, .. } => {
            let message = one_line(message);
            format!(
                "{verb} {what}: {message}: the API server does not accept the kubeconfig's user"
            )
        }
        ApiCallError::Refused { code, reason, message } => {
            format!("{verb} {what}: {code} {reason}: {}", one_line(message))
        }
        ApiCallError::Failed(why) => format!("{verb} {what}: {}", one_line(why)),
    }
}
