//! Containers of a pod: what they request, and the ports of the node that they take.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr},
};

use model::{
    ConditionKind, ConditionReason, ResourceName, Resources,
    pod::{ContainerRequests, HostPort},
    resources::format_amount,
};

use super::conditions::Conditions;
use crate::document::field::Field;

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

/// What is known of containers beside what is written of them.
pub(crate) struct Around<'a> {
    /// What the kubelet has given to containers.
    pub(crate) granted: &'a Granted,
    /// `hostNetwork`: every port is the node's.
    pub(crate) is_on_host_network: bool,
}

/// What the kubelet has given to the containers of a pod: during an in-place resize it is not what the spec asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Granted {
    /// By container, what its status says is allocated or in force, the larger of both.
    by_container: BTreeMap<String, Resources>,
    /// Whether the node can never give what the spec asks for: then the spec does not count.
    is_resize_infeasible: bool,
}

/// A container that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Container {
    pub(crate) requests: ContainerRequests,
    /// The requests that are written, zeros included, limits standing in.
    pub(crate) named: Amounts,
    pub(crate) host_ports: Vec<HostPort>,
    /// The pod's ResourceClaims that it names.
    pub(crate) claims: Vec<String>,
}

/// Reads `containers` or `initContainers`; an absent list is empty. What the kubelet has given counts for those that
/// `may_be_resized`.
///
/// Kubernetes: `AggregateContainerRequests` in `k8s.io/component-helpers/resource/helpers.go`.
pub(crate) fn read(
    field: Option<Field<'_>>,
    around: &Around<'_>,
    may_be_resized: impl Fn(&Container) -> bool,
) -> Option<Vec<Container>> {
    let items = match field {
        Some(field) => field.list()?,
        None => return Some(Vec::new()),
    };
    let read_one = |item: &Field<'_>| {
        let (name, mut container) = container(item, around)?;
        let granted = around.granted.by_container.get(name).filter(|_| may_be_resized(&container));
        if let Some(granted) = granted {
            let requests = &mut container.requests.requests;
            *requests = if around.granted.is_resize_infeasible {
                granted.clone()
            } else {
                requests.larger(granted)
            };
        }
        Some(container)
    };
    items.iter().map(read_one).collect()
}

/// Complains of containers in `lists` that are called like another one.
pub(crate) fn check_names(lists: &[Field<'_>]) {
    let mut seen = BTreeSet::new();
    for item in lists.iter().filter_map(Field::list_if_any).flatten() {
        if let Some(name) = item.text_at("name").filter(|name| !seen.insert(*name)) {
            let rule = format!("`{name}` is the name of another container of the pod");
            item.at("name").complain_if_written_with(rule, "rename one of them");
        }
    }
}

/// The name of a container, and what is written of it.
fn container<'a>(item: &Field<'a>, around: &Around<'_>) -> Option<(&'a str, Container)> {
    let mut fields = item.fields()?;
    fields.ignore(CONTAINER_IGNORED);
    let name = fields.require("name").and_then(|field| field.text()).unwrap_or_default();
    let policy = fields.get("restartPolicy").and_then(|field| field.text());
    let (mut named, mut claims) = (Amounts::new(), Vec::new());
    if let Some(resources) = fields.get("resources") {
        let (requests, limits) = requests_and_limits(&resources)?;
        check(&resources, &requests, &limits);
        let items = resources.at("claims").list_if_any().unwrap_or_default();
        let name = |item: &Field<'_>| item.text_at("name").unwrap_or_default().to_owned();
        claims = items.iter().map(name).collect();
        // Limits stand in for the requests that are not named, as the API server has it.
        named = limits;
        named.extend(requests);
    }
    let ports = fields.get("ports").and_then(|field| field.list()).unwrap_or_default();
    fields.done();
    let host_ports = ports.iter().filter_map(|port| host_port(port, around)).collect();
    let requests = resources_of(&named);
    let requests = ContainerRequests { requests, is_sidecar: policy == Some("Always") };
    Some((name, Container { requests, named, host_ports, claims }))
}

/// Complains of requests that do not go with the limits.
///
/// Kubernetes: `ValidateContainerResourceRequirements` in `pkg/apis/core/validation/validation.go`.
pub(crate) fn check(resources: &Field<'_>, requests: &Amounts, limits: &Amounts) {
    let requested = resources.at("requests");
    for (name, request) in requests {
        let field = requested.at(name.as_str());
        match limits.get(name) {
            Some(limit) if limit < request => {
                field.complain_if_written_with("is more than the limit", "raise the limit");
            }
            Some(limit) if limit != request && !is_overcommitted(name.as_str()) => {
                let cure = format!("request {}", format_amount(name.as_str(), *limit));
                field.complain_if_written_with("must be equal to the limit", cure);
            }
            None if !is_overcommitted(name.as_str()) => field.complain_if_written_with(
                "needs a limit of the same amount",
                format!("add the limit `{name}: {}`", format_amount(name.as_str(), *request)),
            ),
            _ => {}
        }
    }
    let has =
        |is: fn(&str) -> bool| requests.keys().chain(limits.keys()).any(|name| is(name.as_str()));
    if has(|name| name.starts_with(HUGE_PAGES)) && !has(|name| matches!(name, "cpu" | "memory")) {
        let rule = "huge pages need CPU or memory beside them";
        resources.complain_if_written_with(rule, "request `cpu` or `memory` as well");
    }
}

const HUGE_PAGES: &str = "hugepages-";

/// Whether limits may be more than requests.
///
/// Kubernetes: `IsOvercommitAllowed` in `pkg/apis/core/v1/helper/helpers.go`.
fn is_overcommitted(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    is_native && !name.starts_with(HUGE_PAGES)
}

/// The port of the node that an entry of `ports` takes, if it takes one.
fn host_port(item: &Field<'_>, around: &Around<'_>) -> Option<HostPort> {
    let mut fields = item.fields()?;
    fields.ignore(&["name"]);
    let mut port = |key: &'static str| -> Option<u16> {
        fields.get(key)?.integer(0, i64::from(u16::MAX)).filter(|port| *port != 0)
    };
    let (host, number) = (port("hostPort"), port("containerPort"));
    let ip = fields.get("hostIP").and_then(|field| {
        let text = field.text().filter(|text| !text.is_empty())?;
        field.accept(text.parse::<IpAddr>().map_err(|_| format!("`{text}` is not an IP address")))
    });
    let protocol = fields.get("protocol").and_then(|field| field.text()).unwrap_or("TCP");
    fields.done();
    Some(HostPort {
        ip: ip.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        port: host.or_else(|| number.filter(|_| around.is_on_host_network))?,
        protocol: protocol.to_owned(),
    })
}

/// Amounts by resource, as written: a zero is not the same as absence here.
pub(crate) type Amounts = BTreeMap<ResourceName, u64>;

pub(crate) fn requests_and_limits(field: &Field<'_>) -> Option<(Amounts, Amounts)> {
    let mut fields = field.fields()?;
    fields.ignore(&["claims"]);
    let requests = fields.get("requests").map_or(Some(Amounts::new()), |f| amounts(&f));
    let limits = fields.get("limits").map_or(Some(Amounts::new()), |f| amounts(&f));
    fields.done();
    Some((requests?, limits?))
}

/// Quantities by resource.
pub(crate) fn amounts(field: &Field<'_>) -> Option<Amounts> {
    let mut resource_names = Amounts::new();
    for (key, value) in field.entries()? {
        let name = value.accept(ResourceName::new(key))?;
        let text = value.quantity()?;
        let quantity = value.accept(model::quantity::Quantity::parse_unsigned(text))?;
        resource_names.insert(name.clone(), model::resources::base_units(name.as_str(), quantity));
    }
    Some(resource_names)
}

/// Amounts as resources.
pub(crate) fn resources_of(amounts: &Amounts) -> Resources {
    let mut resources = Resources::default();
    for (name, amount) in amounts {
        resources.set(name, *amount);
    }
    resources
}

impl Granted {
    /// Reads the `status` of a pod with `conditions`.
    pub(crate) fn of(status: &Field<'_>, conditions: &Conditions) -> Self {
        let infeasible = ConditionReason::Infeasible.as_str();
        let reason = conditions.reason_if_true(ConditionKind::PodResizePending);
        let is_resize_infeasible = reason.is_some_and(|reason| reason == infeasible);
        let mut granted = Self { is_resize_infeasible, ..Self::default() };
        let Some(mut fields) = status.fields() else { return granted };
        for key in ["containerStatuses", "initContainerStatuses"] {
            for item in fields.get(key).and_then(|field| field.list()).unwrap_or_default() {
                granted.add(&item);
            }
        }
        granted
    }

    fn add(&mut self, container_status: &Field<'_>) {
        let Some(mut fields) = container_status.fields() else { return };
        let Some(name) = fields.get("name").and_then(|field| field.text()) else { return };
        let allocated = fields.get("allocatedResources").and_then(|field| amounts(&field));
        let in_force = fields
            .get("resources")
            .and_then(|field| field.fields()?.get("requests"))
            .and_then(|field| amounts(&field));
        let granted =
            [allocated, in_force].into_iter().flatten().map(|granted| resources_of(&granted));
        if let Some(granted) = granted.reduce(|most, granted| most.larger(&granted)) {
            self.by_container.insert(name.to_owned(), granted);
        }
    }
}
