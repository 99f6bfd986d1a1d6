//! What an API server writes into a new pod, or refuses it for: RuntimeClasses, LimitRanges, and tolerations of the taints
//! that keep nodes for those that ask for their devices.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Namespace, ObjectName, PodSpec, Problem, Requirements, ResourceName, Resources, TaintEffect,
    Toleration,
    pod::{self, ContainerRequests},
    resources::format_amount,
    taint::TolerationOperator,
};

use super::{
    container::{self, Amounts, Container},
    metadata::Metadata,
    pod_claims, pod_spec,
};
use crate::document::field::{Field, Fields};

/// A RuntimeClass: what it adds to its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeClass {
    /// Its name.
    pub name: String,
    overhead: Option<Resources>,
    node_selector: Requirements,
    tolerations: Vec<Toleration>,
}

/// A LimitRange: what it adds to the containers of its namespace, and allows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitRange {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name.
    pub name: String,
    default_requests: Amounts,
    container: Bounds,
    pod: Bounds,
}

/// Requests that are allowed, by resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Bounds {
    least: Amounts,
    most: Amounts,
}

/// What admission reads of a pod that no API server has stored yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPod {
    init: Vec<Container>,
    main: Vec<Container>,
    /// Requests for the pod as a whole, then limits.
    pod_level: Option<(Amounts, Amounts)>,
    overhead: Option<Resources>,
    runtime_class: Option<String>,
    claim_templates: BTreeMap<String, ObjectName>,
}

fn requests_of(containers: &[Container]) -> Vec<ContainerRequests> {
    containers.iter().map(|container| container.requests.clone()).collect()
}

impl NewPod {
    /// The pod with these containers; `fields` are its `spec`'s.
    pub(crate) fn read(
        fields: &mut Fields<'_>,
        init: Vec<Container>,
        main: Vec<Container>,
    ) -> Option<Self> {
        let overhead = fields.get("overhead").map(|field| container::amounts(&field));
        let resources = fields.get("resources");
        let pod_level = resources.as_ref().map(container::requests_and_limits);
        let runtime_class = fields.get("runtimeClassName").and_then(|field| field.text());
        let new = Self {
            init,
            main,
            pod_level: match pod_level {
                Some(read) => Some(read?),
                None => None,
            },
            overhead: match overhead {
                Some(read) => Some(container::resources_of(&read?)),
                None => None,
            },
            runtime_class: runtime_class.filter(|name| !name.is_empty()).map(ToOwned::to_owned),
            claim_templates: pod_claims::templates(fields.get("resourceClaims").as_ref()),
        };
        new.check_pod_level(resources.as_ref());
        Some(new)
    }

    /// Complains of what is wrong with `resources` of the pod as a whole.
    ///
    /// Kubernetes: `validatePodResourceConsistency` in `pkg/apis/core/validation/validation.go`.
    fn check_pod_level(&self, resources: Option<&Field<'_>>) {
        let (Some(field), Some((requests, limits))) = (resources, &self.pod_level) else { return };
        container::check(field, requests, limits);
        let of_containers = self.of_containers();
        for (name, request) in requests {
            let needed = of_containers.get(name.as_str());
            if *request < needed {
                let needed = format_amount(name.as_str(), needed);
                field.at("requests").at(name.as_str()).complain_if_written_with(
                    format!("is less than the {needed} that the containers request together"),
                    format!("request at least {needed}"),
                );
            }
        }
    }

    /// What the containers request together.
    fn of_containers(&self) -> Resources {
        let [init, main] = [&self.init, &self.main].map(|containers| requests_of(containers));
        pod::effective_requests(&init, &main, None, &Resources::default())
    }

    /// The name of its RuntimeClass, if it has one.
    pub fn runtime_class(&self) -> Option<&str> {
        self.runtime_class.as_deref()
    }

    /// The names of `spec.resourceClaims` whose claims are made from templates, each with its ResourceClaimTemplate.
    pub const fn claim_templates(&self) -> &BTreeMap<String, ObjectName> {
        &self.claim_templates
    }

    /// What it takes of a node.
    pub(crate) fn requests(&self) -> Resources {
        let (init, main) = (&requests_of(&self.init), &requests_of(&self.main));
        let overhead = self.overhead.clone().unwrap_or_default();
        let Some((requests, limits)) = &self.pod_level else {
            return pod::effective_requests(init, main, None, &overhead);
        };
        // A pod-level limit is a request only where no container requests anything of the resource.
        let of_containers = self.of_containers();
        let mut pod_level = container::resources_of(requests);
        for (name, amount) in limits {
            if !requests.contains_key(name) && of_containers.get(name.as_str()) == 0 {
                pod_level.set(name, *amount);
            }
        }
        pod::effective_requests(init, main, Some(&pod_level), &overhead)
    }

    /// The extended resources that containers request, as often as they do.
    ///
    /// Kubernetes: `IsExtendedResourceName` in `pkg/apis/core/helper/helpers.go`.
    fn devices(&self) -> impl Iterator<Item = &ResourceName> {
        let containers = self.init.iter().chain(&self.main);
        let names = containers.flat_map(|container| container.requests.requests.extended.keys());
        names
            .filter(|name| name.as_str().contains('/') && !name.as_str().contains("kubernetes.io/"))
    }

    /// Whether an API server changes the pod even where no LimitRange and no RuntimeClass is.
    pub fn requests_devices(&self) -> bool {
        self.devices().next().is_some()
    }

    /// `spec` as an API server with these objects stores it. What it refuses the pod for is a problem of the result.
    /// `ranges` are those of the pod's namespace; `class` is the pod's.
    pub fn admitted(
        mut self,
        spec: &PodSpec,
        ranges: &[&LimitRange],
        class: Option<&RuntimeClass>,
    ) -> PodSpec {
        let mut spec = spec.clone();
        if let Some(class) = class {
            self.join(class, &mut spec);
        }
        for range in ranges {
            for container in self.init.iter_mut().chain(&mut self.main) {
                for (name, amount) in &range.default_requests {
                    container.named.entry(name.clone()).or_insert_with(|| {
                        container.requests.requests.set(name, *amount);
                        *amount
                    });
                }
            }
        }
        self.tolerate_devices(&mut spec);
        spec.requests = self.requests();
        let refusals = ranges.iter().flat_map(|range| self.refusals(range, &spec.requests));
        spec.problems.extend(refusals.collect::<Vec<Problem>>());
        pod_spec::add_windows_address(&mut spec);
        spec
    }

    /// Adds a toleration for each extended resource that a container requests: the admission plugin
    /// ExtendedResourceToleration, which Amazon EKS has turned on.
    ///
    /// Kubernetes: `plugin/pkg/admission/extendedresourcetoleration/admission.go`.
    /// <https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html>
    fn tolerate_devices(&self, spec: &mut PodSpec) {
        let names: BTreeSet<&ResourceName> = self.devices().collect();
        for name in names {
            let toleration = Toleration {
                key: name.as_str().to_owned(),
                operator: TolerationOperator::Exists,
                value: String::new(),
                effect: Some(TaintEffect::NoSchedule),
            };
            if !spec.tolerations.contains(&toleration) {
                spec.tolerations.push(toleration);
            }
        }
    }

    /// Kubernetes: `plugin/pkg/admission/runtimeclass/admission.go`.
    fn join(&mut self, class: &RuntimeClass, spec: &mut PodSpec) {
        let mut refuse = |why: &str| {
            let words = format!("RuntimeClass {}: {why}", class.name);
            spec.problems.push(Problem::unusable("runtimeClassName", words));
        };
        if self.overhead.is_some() && self.overhead != class.overhead {
            refuse("its overhead is not the `overhead` of the pod");
        }
        if spec.node_selector.intersects(&class.node_selector).is_err() {
            refuse("its node selector contradicts the `nodeSelector` of the pod");
        }
        self.overhead = self.overhead.take().or_else(|| class.overhead.clone());
        spec.node_selector.add_all(&class.node_selector);
        for toleration in &class.tolerations {
            if !spec.tolerations.contains(toleration) {
                spec.tolerations.push(toleration.clone());
            }
        }
    }

    /// What `range` refuses the pod for, which requests these `requests` in all.
    ///
    /// Kubernetes: `PodValidateLimitFunc` in `plugin/pkg/admission/limitranger/admission.go`.
    fn refusals(&self, range: &LimitRange, requests: &Resources) -> Vec<Problem> {
        let numbered = |list: &'static str, containers: &'_ [Container]| -> Vec<Problem> {
            let numbered = containers.iter().enumerate();
            let refused = numbered.flat_map(|(place, container)| {
                let field = format!("{list}[{place}]");
                range.container.refusals(&range.name, &field, &container.requests.requests)
            });
            refused.collect()
        };
        let of_pod = range.pod.refusals(&range.name, "pod", requests);
        [numbered("initContainers", &self.init), numbered("containers", &self.main), of_pod]
            .concat()
    }
}

impl Bounds {
    /// What is wrong with the `requests` of `field`. `range` is the name of the LimitRange.
    fn refusals(&self, range: &str, field: &str, requests: &Resources) -> Vec<Problem> {
        let refusal = |(name, bound): (&ResourceName, &u64), how: &str| {
            let in_words = |amount| format_amount(name.as_str(), amount);
            let (request, bound) = (in_words(requests.get(name.as_str())), in_words(*bound));
            let words = format!(
                "{name} {request} is {how} than the {bound} that LimitRange {range} allows"
            );
            Problem::unusable(field, words)
        };
        let too_small =
            self.least.iter().filter(|(name, least)| requests.get(name.as_str()) < **least);
        let too_large =
            self.most.iter().filter(|(name, most)| **most < requests.get(name.as_str()));
        let too_small = too_small.map(|entry| refusal(entry, "less"));
        too_small.chain(too_large.map(|entry| refusal(entry, "more"))).collect()
    }
}

/// Reads a RuntimeClass.
pub(crate) fn read_runtime_class(object: &Field<'_>) -> Option<RuntimeClass> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    fields.ignore(&["handler"]);
    let overhead = fields.get("overhead").and_then(|field| {
        let mut fields = field.fields()?;
        let amounts = fields.get("podFixed").and_then(|field| container::amounts(&field));
        fields.done();
        amounts
    });
    let mut class = RuntimeClass {
        name: metadata?.name,
        overhead: overhead.map(|amounts| container::resources_of(&amounts)),
        node_selector: Requirements::default(),
        tolerations: Vec::new(),
    };
    if let Some(mut scheduling) = fields.get("scheduling").and_then(|field| field.fields()) {
        let selector = scheduling.get("nodeSelector");
        class.node_selector = selector.map(|f| pod_spec::selector(&f)).unwrap_or_default();
        let tolerations = scheduling.get("tolerations");
        class.tolerations = tolerations.map(|f| pod_spec::tolerations(&f)).unwrap_or_default();
        scheduling.done();
    }
    fields.done();
    Some(class)
}

/// Reads a LimitRange.
pub(crate) fn read_limit_range(object: &Field<'_>) -> Option<LimitRange> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let spec = fields.require("spec").and_then(|field| field.fields());
    fields.done();
    let mut spec = spec?;
    let limits = spec.require("limits").and_then(|field| field.list());
    spec.done();
    let key = metadata?.key(object)?;
    let mut range = LimitRange {
        namespace: key.namespace,
        name: key.name.as_str().to_owned(),
        default_requests: Amounts::new(),
        container: Bounds::default(),
        pod: Bounds::default(),
    };
    for item in limits? {
        range.add(&item)?;
    }
    Some(range)
}

impl LimitRange {
    /// Adds an item of `limits`. Its defaults: `SetDefaults_LimitRangeItem` in `pkg/apis/core/v1/defaults.go`.
    fn add(&mut self, item: &Field<'_>) -> Option<()> {
        let mut fields = item.fields()?;
        fields.ignore(&["maxLimitRequestRatio"]);
        let kind = fields.require("type").and_then(|field| field.text());
        let mut read =
            |key| fields.get(key).map_or(Some(Amounts::new()), |f| container::amounts(&f));
        let (least, most) = (read("min")?, read("max")?);
        let (limits, requests) = (read("default")?, read("defaultRequest")?);
        fields.done();
        let bounds = match kind? {
            "Container" => {
                for amounts in [requests, limits, most.clone(), least.clone()] {
                    for (name, amount) in amounts {
                        self.default_requests.entry(name).or_insert(amount);
                    }
                }
                &mut self.container
            }
            "Pod" => &mut self.pod,
            // Claims of volumes: their size decides nothing about nodes.
            _ => return Some(()),
        };
        bounds.least.extend(least);
        bounds.most.extend(most);
        Some(())
    }
}
