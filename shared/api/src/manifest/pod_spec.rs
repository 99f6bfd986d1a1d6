//! `spec` of a pod: what it takes of a node and what it asks of one.
//!
//! What the scheduler cannot honor yet is put into words, never left out.

use std::collections::BTreeMap;

use model::{
    PodSpec, Requirement, Requirements, ResourceName, Resources, TaintEffect, Toleration, pod,
    pod::ContainerRequests, taint::TolerationOperator,
};

use super::{affinity, metadata::Metadata, requirement};
use crate::fields::{Field, Fields};

/// What is known of a pod beside its `spec`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    /// What the kubelet has allocated to containers, by name: during an in-place resize it may be
    /// more than the spec says.
    pub(crate) allocated: BTreeMap<String, Resources>,
    /// Whether a StatefulSet gives each pod volumes of its own.
    pub(crate) has_claim_templates: bool,
}

/// Members of `spec` that decide nothing about nodes.
const IGNORED: &[&str] = &[
    "activeDeadlineSeconds",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostPID",
    "hostUsers",
    "hostname",
    "hostnameOverride",
    "imagePullSecrets",
    "os",
    "preemptionPolicy",
    "readinessGates",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
    "schedulingGates",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
];

/// Members of a container that decide nothing about nodes.
const CONTAINER_IGNORED: &[&str] = &[
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "resizePolicy",
    "restartPolicyRules",
    "securityContext",
    "startupProbe",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
];

/// Reads `spec`, and the node that the pod is bound to.
pub(crate) fn read(
    field: &Field<'_>,
    metadata: &Metadata,
    shape: &Shape,
) -> Option<(PodSpec, Option<String>)> {
    let mut fields = field.fields()?;
    fields.ignore(IGNORED);
    let mut unsupported = Vec::new();
    let host_network = fields.get("hostNetwork").and_then(|f| f.boolean()).unwrap_or_default();
    let host = HostPorts { by_network: host_network };
    let init = containers(fields.get("initContainers"), shape, host, &mut unsupported);
    let main = containers(fields.require("containers"), shape, host, &mut unsupported);
    let requests = pod_requests(&mut fields, &init?, &main?);
    let node_selector =
        fields.get("nodeSelector").map(|f| selector(&f, &mut unsupported)).unwrap_or_default();
    let required_terms =
        fields.get("affinity").map(|f| affinity::read(&f, &mut unsupported)).unwrap_or_default();
    let tolerations = fields.get("tolerations").map(|f| tolerations(&f, &mut unsupported));
    for (key, what) in [
        ("topologySpreadConstraints", "topologySpreadConstraints"),
        ("resourceClaims", "resourceClaims (dynamic resource allocation)"),
    ] {
        if fields.get(key).and_then(|f| f.list()).is_some_and(|list| !list.is_empty()) {
            unsupported.push(not_yet(what));
        }
    }
    volumes(fields.get("volumes"), shape, &mut unsupported);
    let class = fields.get("priorityClassName").and_then(|f| f.text()).unwrap_or_default();
    let priority =
        fields.get("priority").and_then(|f| f.integer(i64::from(i32::MIN), i64::from(i32::MAX)));
    let grace = fields.get("terminationGracePeriodSeconds");
    let grace = grace.and_then(|f| f.integer(0, i64::from(u32::MAX))).unwrap_or(30);
    let node = fields.get("nodeName").and_then(|f| f.text()).filter(|name| !name.is_empty());
    fields.done();
    let spec = PodSpec {
        labels: metadata.labels.clone(),
        annotations: metadata.own_annotations(),
        requests: requests?,
        node_selector,
        required_terms,
        tolerations: tolerations.unwrap_or_default(),
        priority: priority.unwrap_or_else(|| built_in_priority(class)),
        priority_class: class.to_owned(),
        termination_grace_seconds: grace,
        unsupported,
        ..PodSpec::default()
    };
    Some((spec, node.map(ToOwned::to_owned)))
}

/// What is said of a pod that asks for `what`.
pub(crate) fn not_yet(what: &str) -> String {
    format!("not supported yet: {what}")
}

/// The priority that admission gives to the two classes that every cluster has.
fn built_in_priority(class: &str) -> i32 {
    match class {
        "system-cluster-critical" => 2_000_000_000,
        "system-node-critical" => 2_000_001_000,
        _ => 0,
    }
}

/// Which ports of containers are the node's.
#[derive(Clone, Copy)]
struct HostPorts {
    /// All of them: `hostNetwork`.
    by_network: bool,
}

fn containers(
    field: Option<Field<'_>>,
    shape: &Shape,
    host: HostPorts,
    unsupported: &mut Vec<String>,
) -> Option<Vec<ContainerRequests>> {
    let items = match field {
        Some(field) => field.list()?,
        None => return Some(Vec::new()),
    };
    items.iter().map(|item| container(item, shape, host, unsupported)).collect()
}

fn container(
    item: &Field<'_>,
    shape: &Shape,
    host: HostPorts,
    unsupported: &mut Vec<String>,
) -> Option<ContainerRequests> {
    let mut fields = item.fields()?;
    fields.ignore(CONTAINER_IGNORED);
    let name = fields.require("name").and_then(|field| field.text()).unwrap_or_default();
    let policy = fields.get("restartPolicy").and_then(|field| field.text());
    let mut requests = Resources::default();
    if let Some(resources) = fields.get("resources") {
        let (own, limits) = requests_and_limits(&resources)?;
        requests = with_defaults(own, &limits);
    }
    if let Some(allocated) = shape.allocated.get(name) {
        requests = requests.larger(allocated);
    }
    for port in fields.get("ports").and_then(|field| field.list()).unwrap_or_default() {
        let number = |key: &str| port.tree().get(key).is_some_and(|tree| !is_zero(tree));
        if number("hostPort") || host.by_network && number("containerPort") {
            let text = not_yet("hostPorts");
            if !unsupported.contains(&text) {
                unsupported.push(text);
            }
        }
    }
    fields.done();
    Some(ContainerRequests { requests, is_sidecar: policy == Some("Always") })
}

fn is_zero(tree: &crate::tree::Tree) -> bool {
    matches!(&tree.value, crate::tree::Value::Number(text) if text == "0") || tree.is_null()
}

/// Amounts by resource, as written: a zero is not the same as absence here.
type Amounts = BTreeMap<ResourceName, u64>;

fn requests_and_limits(field: &Field<'_>) -> Option<(Amounts, Amounts)> {
    let mut fields = field.fields()?;
    fields.ignore(&["claims"]);
    let requests = fields.get("requests").map_or(Some(Amounts::new()), |f| amounts(&f));
    let limits = fields.get("limits").map_or(Some(Amounts::new()), |f| amounts(&f));
    fields.done();
    Some((requests?, limits?))
}

/// Quantities by resource.
pub(crate) fn amounts(field: &Field<'_>) -> Option<Amounts> {
    let mut all = Amounts::new();
    for (key, value) in field.entries()? {
        let name = value.accept(ResourceName::new(key))?;
        let text = value.quantity()?;
        let quantity = value.accept(model::quantity::Quantity::parse_unsigned(text))?;
        all.insert(name.clone(), model::resources::base_units(name.as_str(), quantity));
    }
    Some(all)
}

/// Amounts as resources.
pub(crate) fn resources_of(amounts: &Amounts) -> Resources {
    let mut resources = Resources::default();
    for (name, amount) in amounts {
        resources.set(name, *amount);
    }
    resources
}

/// Limits stand in for the requests that are not named, as the API server has it.
fn with_defaults(requests: Amounts, limits: &Amounts) -> Resources {
    let mut all = limits.clone();
    all.extend(requests);
    resources_of(&all)
}

fn pod_requests(
    fields: &mut Fields<'_>,
    init: &[ContainerRequests],
    main: &[ContainerRequests],
) -> Option<Resources> {
    let overhead = fields.get("overhead").map_or(Some(Amounts::new()), |f| amounts(&f))?;
    let overhead = resources_of(&overhead);
    let Some(field) = fields.get("resources") else {
        return Some(pod::effective_requests(init, main, None, &overhead));
    };
    let (requests, limits) = requests_and_limits(&field)?;
    // A pod-level limit is a request only where no container requests anything of the resource.
    let of_containers = pod::effective_requests(init, main, None, &Resources::default());
    let mut pod_level = resources_of(&requests);
    for (name, amount) in &limits {
        if !requests.contains_key(name) && of_containers.get(name.as_str()) == 0 {
            pod_level.set(name, *amount);
        }
    }
    Some(pod::effective_requests(init, main, Some(&pod_level), &overhead))
}

/// `status.containerStatuses[].allocatedResources`, by container.
pub(crate) fn allocated(status: &Field<'_>) -> BTreeMap<String, Resources> {
    let mut all = BTreeMap::new();
    let Some(mut fields) = status.fields() else { return all };
    for key in ["containerStatuses", "initContainerStatuses"] {
        for item in fields.get(key).and_then(|field| field.list()).unwrap_or_default() {
            let Some(mut container) = item.fields() else { continue };
            let name = container.get("name").and_then(|field| field.text());
            let amounts = container.get("allocatedResources").and_then(|field| amounts(&field));
            if let (Some(name), Some(amounts)) = (name, amounts) {
                all.insert(name.to_owned(), resources_of(&amounts));
            }
        }
    }
    all
}

fn selector(field: &Field<'_>, unsupported: &mut Vec<String>) -> Requirements {
    let mut all = Requirements::new();
    for (key, value) in field.entries().unwrap_or_default() {
        let Some(text) = value.text() else { continue };
        if let Some(rule) = requirement::invalid_for_pod(key, model::Operator::In, &[text]) {
            unsupported.push(format!("nodeSelector {key}: {rule}"));
        }
        if let Some(requirement) = value.accept(Requirement::of_label(key, text)) {
            all.add(requirement);
        }
    }
    all
}

fn text_of<'a>(field: Option<&Field<'a>>) -> &'a str {
    field.and_then(Field::text).unwrap_or_default()
}

fn tolerations(field: &Field<'_>, unsupported: &mut Vec<String>) -> Vec<Toleration> {
    let mut all = Vec::new();
    for item in field.list().unwrap_or_default() {
        let Some(mut fields) = item.fields() else { continue };
        fields.ignore(&["tolerationSeconds"]);
        let (key, value) =
            (text_of(fields.get("key").as_ref()), text_of(fields.get("value").as_ref()));
        let operator_field = fields.get("operator");
        let effect_field = fields.get("effect");
        fields.done();
        let operator = match text_of(operator_field.as_ref()) {
            "" | "Equal" => TolerationOperator::Equal,
            "Exists" => TolerationOperator::Exists,
            other => {
                if matches!(other, "Lt" | "Gt") {
                    unsupported.push(not_yet(&format!("the toleration operator {other}")));
                } else if let Some(field) = operator_field {
                    field.complain(format!("must be `Equal` or `Exists`, not `{other}`"));
                }
                continue;
            }
        };
        let effect = text_of(effect_field.as_ref());
        let parsed = TaintEffect::parse(effect);
        if let (None, false, Some(field)) = (parsed, effect.is_empty(), effect_field) {
            field.complain(format!(
                "must be `NoSchedule`, `PreferNoSchedule` or `NoExecute`, not `{effect}`"
            ));
        }
        if key.is_empty() && operator == TolerationOperator::Equal {
            item.complain("without a `key` the operator must be `Exists`");
        }
        let (key, value) = (key.to_owned(), value.to_owned());
        all.push(Toleration { key, operator, value, effect: parsed });
    }
    all
}

/// Volumes that live in a zone or count against a node's attachment limit.
fn volumes(field: Option<Field<'_>>, shape: &Shape, unsupported: &mut Vec<String>) {
    let items = field.and_then(|field| field.list()).unwrap_or_default();
    let any = |key: &str| {
        items.iter().any(|item| item.tree().get(key).is_some_and(|tree| !tree.is_null()))
    };
    if any("persistentVolumeClaim") || shape.has_claim_templates {
        unsupported.push(not_yet("PersistentVolumeClaims"));
    }
    if any("ephemeral") {
        unsupported.push(not_yet("ephemeral volumes"));
    }
    if any("awsElasticBlockStore") {
        unsupported.push(not_yet("awsElasticBlockStore volumes"));
    }
}
