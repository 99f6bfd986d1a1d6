//! What no cluster satisfies of DeviceClasses and ResourceClaims, and what pods with claims lack.

use std::collections::{BTreeMap, BTreeSet};

use api::{
    files::Manifest,
    objects::{NewPod, Object},
};
use devices::{CelSelectors, ClaimFault, Devices, Selects as _};
use dispatch::Settings;
use model::{
    Namespace, ObjectName, PodSpec, Problem,
    dynamic_resources::{
        DeviceClass, DeviceFacts, DeviceSelector, ResourceClaim, ResourceClaimKey,
    },
    node_class::NodeClass,
    problem::Rule,
};

use super::warnings::{Spot, Warning, pod_spec, warning};
use crate::near;

/// What all objects tell together.
#[derive(Debug, Default)]
pub(super) struct ClaimCheck {
    /// Names of DeviceClasses.
    classes: BTreeSet<String>,
    claims: BTreeSet<ResourceClaimKey>,
    templates: BTreeSet<ResourceClaimKey>,
    /// Objects that were refused, by kind and name: these are not missing.
    refused: BTreeSet<(String, String)>,
    /// Why no node satisfies a claim, by whether it is a ResourceClaimTemplate.
    faults: BTreeMap<(bool, ResourceClaimKey), String>,
    /// The DeviceClasses that a claim names and that are not among the files.
    unknown: BTreeMap<(bool, ResourceClaimKey), BTreeSet<String>>,
    /// Pods with claims wait.
    is_ignored: bool,
}

impl ClaimCheck {
    pub(super) fn of(manifests: &[Manifest], settings: &Settings) -> Self {
        let is_ignored = !settings.policies.places_claims();
        let mut check = Self { is_ignored, ..Self::default() };
        let (mut classes, mut claims) = (Vec::new(), Vec::new());
        for object in manifests.iter().flat_map(|manifest| &manifest.objects) {
            match object {
                Object::DeviceClass(class) => classes.push(class.clone()),
                Object::ResourceClaim(read) => {
                    check.claims.insert(read.claim.key.clone());
                    claims.push((false, read.claim.clone()));
                }
                Object::ClaimTemplate(template) => {
                    check.templates.insert(template.key.clone());
                    claims.push((true, template.claim(template.key.clone())));
                }
                _ => {}
            }
        }
        let problems = manifests.iter().flat_map(|manifest| &manifest.problems);
        let refused = problems.filter_map(|problem| problem.object.clone());
        check.refused = refused.map(|object| (object.kind, object.name)).collect();
        check.classes = classes.iter().map(|class| class.name.clone()).collect();
        for is_template in [false, true] {
            let of_kind = claims.iter().filter(|(kind, _)| *kind == is_template);
            check.look(is_template, of_kind.map(|(_, claim)| claim.clone()).collect(), &classes);
        }
        check
    }

    /// Notes what is wrong with `claims`. Of DeviceClasses that are not among the files nothing is known.
    fn look(&mut self, is_template: bool, claims: Vec<ResourceClaim>, classes: &[DeviceClass]) {
        let mut both = classes.to_vec();
        for claim in &claims {
            let names = claim.asks().map(|ask| &ask.class);
            let missing: BTreeSet<String> =
                names.filter(|name| !self.classes.contains(*name)).cloned().collect();
            for name in &missing {
                both.push(DeviceClass { name: name.clone(), selectors: Vec::new() });
            }
            if !missing.is_empty() {
                self.unknown.insert((is_template, claim.key.clone()), missing);
            }
        }
        let facts = DeviceFacts { classes: both, claims, ..DeviceFacts::default() };
        let devices = Devices::new(&facts, CelSelectors::default());
        let is_of_class = |fault: &ClaimFault| match fault {
            ClaimFault::Compile { expression, .. } => {
                let selector = DeviceSelector::Cel(expression.clone());
                classes.iter().any(|class| class.selectors.contains(&selector))
            }
            _ => false,
        };
        // What is wrong with a class is said of the class.
        let faults = devices.faults().filter(|(_, fault)| !is_of_class(fault));
        let faults = faults.map(|(key, fault)| ((is_template, key.clone()), fault.to_string()));
        self.faults.extend(faults.collect::<Vec<_>>());
    }

    /// What is wrong with `object`, and what the cluster must have for it.
    pub(super) fn of_object(&self, object: &Object) -> (Vec<Warning>, Vec<String>) {
        match object {
            Object::DeviceClass(class) => (of_class(class), Vec::new()),
            Object::ResourceClaim(read) => self.of_claim((false, &read.claim.key), "spec.devices"),
            Object::ClaimTemplate(template) => {
                self.of_claim((true, &template.key), "spec.spec.devices")
            }
            Object::NodeClass(read) => (of_sharing(&read.class), Vec::new()),
            object => match pod_spec(object) {
                Some(spec) if !spec.claims.is_empty() => self.of_pods(spec, object),
                _ => (Vec::new(), Vec::new()),
            },
        }
    }

    fn of_claim(
        &self,
        (is_template, key): (bool, &ResourceClaimKey),
        field: &'static str,
    ) -> (Vec<Warning>, Vec<String>) {
        let key = (is_template, key.clone());
        let spot = || Spot::Field(field);
        let fault = self.faults.get(&key).map(|fault| Warning {
            is_refusal: true,
            ..warning(spot(), format!("{field}: {fault}"))
        });
        let mut warnings: Vec<Warning> = fault.into_iter().collect();
        let mut elsewhere = Vec::new();
        let unknown = self.unknown.get(&key).into_iter().flatten();
        let is_refused =
            |name: &&String| self.refused.contains(&("DeviceClass".to_owned(), (*name).clone()));
        for name in unknown.filter(|name| !is_refused(name)) {
            let near = near::did_you_mean(name, self.classes.iter().map(String::as_str));
            let missing = format!("there is no DeviceClass `{name}` among these files");
            if near.is_empty() {
                elsewhere.push(format!("{missing}; the cluster must have it"));
            } else {
                warnings.push(warning(spot(), format!("{field}: {missing}{near}")));
            }
        }
        (warnings, elsewhere)
    }

    fn of_pods(&self, spec: &PodSpec, object: &Object) -> (Vec<Warning>, Vec<String>) {
        let ignored = self.is_ignored.then(|| {
            let field = match object {
                Object::Pod(_) => "spec.resourceClaims",
                _ => "spec.template.spec.resourceClaims",
            };
            warning(Spot::Field(field), planner::CLAIMS_IGNORED.to_owned())
        });
        let Some((namespace, new)) = new_pods(object) else {
            return (ignored.into_iter().collect(), Vec::new());
        };
        let missing = |kind: &str, name: ObjectName| {
            let is_refused = self.refused.contains(&(kind.to_owned(), name.to_string()));
            let key = ResourceClaimKey { namespace: namespace.clone(), name };
            let keys = if kind == "ResourceClaim" { &self.claims } else { &self.templates };
            (!keys.contains(&key) && !is_refused).then(|| {
                format!("there is no {kind} `{key}` among these files; the cluster must have it")
            })
        };
        let named = spec.claims.references.iter().filter_map(|(_, name)| name.clone());
        let named = named.filter_map(|name| missing("ResourceClaim", name));
        let templates = new.claim_templates().values().cloned();
        let templates = templates.filter_map(|name| missing("ResourceClaimTemplate", name));
        (ignored.into_iter().collect(), named.chain(templates).collect())
    }
}

/// The namespace of the pods of `object`, and what is written of them.
fn new_pods(object: &Object) -> Option<(&Namespace, &NewPod)> {
    match object {
        Object::Pod(read) => Some((&read.pod.key.namespace, read.new.as_deref()?)),
        Object::Workload(workload) => Some((&workload.key.namespace, &workload.new)),
        Object::DaemonSet(set, new) => Some((&set.key.namespace, new)),
        _ => None,
    }
}

fn of_class(class: &DeviceClass) -> Vec<Warning> {
    let selectors = CelSelectors::default();
    let fault = |selector: &DeviceSelector| match selector {
        DeviceSelector::Unsupported => Some("only CEL selectors are supported".to_owned()),
        DeviceSelector::Cel(expression) => {
            let why = selectors.compile(expression).err()?;
            Some(format!("selector `{expression}` does not compile: {why}"))
        }
    };
    let faults = class.selectors.iter().filter_map(fault);
    let refusal = |text| warning(Spot::Field("spec.selectors"), format!("spec.selectors: {text}"));
    faults.map(|text| Warning { is_refusal: true, ..refusal(text) }).collect()
}

/// What keeps `class` from being used, of what it says about sharing GPUs.
fn of_sharing(class: &NodeClass) -> Vec<Warning> {
    let of_problem = |problem: &Problem| {
        let is_refusal = match problem.rule {
            Rule::GpuSharingDisabled => false,
            Rule::GpuSharingInvalid(_) => true,
            _ => return None,
        };
        let text = format!("EC2NodeClass `{}`: {problem}", class.name);
        let spot = Spot::Value(model::labels::NVIDIA_CONSUMABLE_CAPACITY.to_owned(), None);
        Some(Warning { is_refusal, ..warning(spot, text) })
    };
    class.problems.iter().filter_map(of_problem).collect()
}
