//! `spec` of a pod: what it takes of a node and what it asks of one.
//!
//! What the scheduler cannot honor yet is put into words, never left out.

use model::{
    PodSpec, Requirement, Requirements, ResourceName, TaintEffect, Toleration,
    dynamic_resources::PodClaims,
    labels,
    pod::HostPort,
    resources::PRIVATE_IPV4_ADDRESS,
    storage::PodVolume,
    taint::{self, TolerationOperator},
};

use super::{
    admission::NewPod,
    affinity,
    container::{self, Around, Container, Granted},
    metadata::Metadata,
    pod_claims, topology, volume,
};
use crate::document::field::Field;

/// A pod that was read.
pub(crate) struct ReadPodSpec {
    pub(crate) spec: PodSpec,
    /// The node that it is bound to.
    pub(crate) node: Option<String>,
    pub(crate) volumes: Vec<PodVolume>,
    /// Whether something else must let it go before it is scheduled.
    pub(crate) is_gated: bool,
    /// What admission reads if no API server has stored the pod.
    pub(crate) new: NewPod,
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
    "schedulerName",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
];

const RESTART_POLICIES: &[(&str, ())] = &[("Always", ()), ("OnFailure", ()), ("Never", ())];

/// Reads `spec` of a pod with `metadata`. `granted` is what the kubelet has given to its containers.
pub(crate) fn read(
    field: &Field<'_>,
    metadata: &Metadata,
    granted: &Granted,
) -> Option<ReadPodSpec> {
    let mut fields = field.fields()?;
    fields.ignore(IGNORED);
    let mut problems = Vec::new();
    let is_on_host_network =
        fields.get("hostNetwork").and_then(|f| f.boolean()).unwrap_or_default();
    let around = Around { granted, is_on_host_network };
    let init =
        container::read(fields.get("initContainers"), &around, |init| init.requests.is_sidecar);
    let main = container::read(fields.require("containers"), &around, |_| true);
    let (init, main) = (init?, main?);
    container::check_names(&["initContainers", "containers"].map(|list| field.at(list)));
    if let Some(policy) = fields.get("restartPolicy").filter(|field| !field.ignores_unknown()) {
        let _is_known = policy.choice(RESTART_POLICIES);
    }
    let host_ports = host_ports(&init, &main);
    let claims = PodClaims {
        references: pod_claims::references(fields.get("resourceClaims").as_ref()),
        is_asked_by_container: init.iter().chain(&main).any(|it| !it.claims.is_empty()),
    };
    for containers in [&init, &main] {
        pod_claims::check_names(field, containers, &claims.references);
    }
    let new = NewPod::read(&mut fields, init, main);
    let node_selector = fields.get("nodeSelector").map(|f| selector(&f)).unwrap_or_default();
    let affinity = fields.get("affinity");
    let affinity =
        affinity.map(|f| affinity::read(&f, &metadata.labels, &mut problems)).unwrap_or_default();
    let tolerations = fields.get("tolerations").map(|f| tolerations(&f));
    let spread = fields.get("topologySpreadConstraints");
    let volumes = volume::of_pod(fields.get("volumes"), &mut problems);
    let class = fields.get("priorityClassName").and_then(|f| f.text()).unwrap_or_default();
    let priority =
        fields.get("priority").and_then(|f| f.integer(i64::from(i32::MIN), i64::from(i32::MAX)));
    let grace = fields
        .get("terminationGracePeriodSeconds")
        .and_then(|f| f.integer(0, i64::from(u32::MAX)))
        .unwrap_or(30);
    let node = fields.get("nodeName").and_then(|f| f.text()).filter(|name| !name.is_empty());
    let gates = fields.get("schedulingGates").and_then(|f| f.list()).unwrap_or_default();
    fields.done();
    let spec = PodSpec {
        labels: metadata.labels.clone(),
        annotations: metadata.pod_annotations(),
        requests: new.as_ref()?.requests(),
        node_selector,
        required_terms: affinity.required,
        preferred_terms: affinity.preferred,
        has_match_fields: affinity.has_match_fields,
        match_fields: affinity.match_fields,
        tolerations: tolerations.unwrap_or_default(),
        spread: spread.map(|f| topology::spread(&f, &metadata.labels)).unwrap_or_default(),
        pod_affinity: affinity.pods,
        pod_anti_affinity: affinity.anti,
        host_ports,
        claims,
        priority: priority.unwrap_or_else(|| built_in_priority(class)),
        priority_class: class.to_owned(),
        termination_grace_seconds: grace,
        problems,
    };
    let node = node.map(ToOwned::to_owned);
    Some(ReadPodSpec { spec, node, volumes, is_gated: !gates.is_empty(), new: new? })
}

/// The ports of the node that a pod takes for as long as it runs. Other init containers give theirs back before the
/// containers start.
///
/// Kubernetes: `GetHostPorts` in `pkg/scheduler/util/utils.go`. Karpenter does not count those of sidecars.
fn host_ports(init: &[Container], main: &[Container]) -> Vec<HostPort> {
    let sidecars = init.iter().filter(|container| container.requests.is_sidecar);
    sidecars.chain(main).flat_map(|container| &container.host_ports).cloned().collect()
}

impl ReadPodSpec {
    /// The spec as the API server of EKS stores it.
    pub(crate) fn admitted(mut self) -> Self {
        add_windows_address(&mut self.spec);
        self
    }
}

/// Adds what EKS adds to a Windows pod when it is created. A node selector or a required term of the node affinity says
/// that it is one.
pub(crate) fn add_windows_address(spec: &mut PodSpec) {
    let is_missing = asks_for_windows(spec) && spec.requests.get(PRIVATE_IPV4_ADDRESS) == 0;
    if let Some(name) = ResourceName::new(PRIVATE_IPV4_ADDRESS).ok().filter(|_| is_missing) {
        spec.requests.set(&name, 1);
    }
}

fn asks_for_windows(spec: &PodSpec) -> bool {
    let selected = spec.node_selector.iter();
    let mut asked = selected.chain(spec.required_terms.iter().flatten());
    asked.any(|requirement| {
        let is_of_os = requirement.key().as_str() == labels::OS;
        is_of_os && !requirement.is_complement() && requirement.has("windows")
    })
}

/// The priority that admission gives to the two classes that every cluster has.
fn built_in_priority(class: &str) -> i32 {
    match class {
        "system-cluster-critical" => 2_000_000_000,
        "system-node-critical" => 2_000_001_000,
        _ => 0,
    }
}

pub(crate) fn selector(field: &Field<'_>) -> Requirements {
    let mut requirements = Requirements::new();
    for (key, value) in field.entries().unwrap_or_default() {
        let Some(text) = value.text() else { continue };
        if let Some(requirement) = value.accept(Requirement::of_label(key, text)) {
            requirements.add(requirement);
        }
    }
    requirements
}

fn text_of<'a>(field: Option<&Field<'a>>) -> &'a str {
    field.and_then(Field::text).unwrap_or_default()
}

pub(crate) fn tolerations(field: &Field<'_>) -> Vec<Toleration> {
    let mut tolerations = Vec::new();
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
            "Gt" => TolerationOperator::Gt,
            "Lt" => TolerationOperator::Lt,
            other => {
                if let Some(field) = operator_field {
                    field.complain(format!(
                        "must be `Equal`, `Exists`, `Gt` or `Lt`, not `{other}`"
                    ));
                }
                continue;
            }
        };
        if operator == TolerationOperator::Exists && !value.is_empty() {
            item.complain_if_written(format!("`Exists` takes no `value`, and this is `{value}`"));
        }
        let compares = matches!(operator, TolerationOperator::Gt | TolerationOperator::Lt);
        if compares && taint::number(value).is_none() {
            let operator = text_of(operator_field.as_ref());
            item.complain(format!("`{operator}` needs a whole number as `value`, not `{value}`"));
        }
        let effect = text_of(effect_field.as_ref());
        let parsed = TaintEffect::parse(effect);
        if let (None, false, Some(field)) = (parsed, effect.is_empty(), effect_field) {
            field.complain(format!(
                "must be `NoSchedule`, `PreferNoSchedule` or `NoExecute`, not `{effect}`"
            ));
        }
        if key.is_empty() && operator != TolerationOperator::Exists {
            item.complain("without a `key` the operator must be `Exists`");
        }
        let (key, value) = (key.to_owned(), value.to_owned());
        tolerations.push(Toleration { key, operator, value, effect: parsed });
    }
    tolerations
}
