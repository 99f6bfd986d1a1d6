//! What an API server and Karpenter take, and what does not do what its writer meant.

use std::collections::{BTreeMap, BTreeSet};

use api::{
    files::{Manifest, Place, lines::Lines},
    objects::Object,
};
use dispatch::Settings;
use launch_template::NodeSettings;
use model::{
    Operator, PodSpec, Problem, RegionCatalog, Requirement, Requirements, labels,
    node_class::NodeClass, problem::Rule, protection, quantity::Quantity,
};
use report::error::BadInput;

use super::{
    devices::ClaimCheck,
    together::{Together, unprotected},
    zones::Zones,
};
use crate::manifests::{self, InputFile};

/// Labels whose values depend on the account, the region or the cluster, which are not looked at.
pub(super) const OF_THE_ACCOUNT: [&str; 10] = [
    labels::NODE_POOL,
    labels::CAPACITY_TYPE,
    labels::ZONE,
    labels::ZONE_ID,
    labels::REGION,
    labels::RESERVATION_ID,
    labels::RESERVATION_TYPE,
    labels::RESERVATION_INTERRUPTIBLE,
    labels::PLACEMENT_GROUP_ID,
    labels::PLACEMENT_GROUP_PARTITION,
];

/// Fields of EC2NodeClasses that may be or hold expressions.
const EXPRESSIONS: [&str; 3] =
    ["spec.kubelet.maxPods", "spec.kubelet.kubeReserved", "spec.kubelet.systemReserved"];

/// Where in its object stands what a warning is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// A field by its path.
    Field(&'static str),
    /// A label, an annotation or a taint by its key, with one of its values if one is meant.
    Value(String, Option<String>),
}

/// What one object does not do, and where that stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Warning {
    pub(super) spot: Spot,
    pub(super) text: String,
    /// Whether every launch is refused for it.
    pub(super) is_refusal: bool,
}

/// What objects do not do although nothing is wrong with them, each in words with its place.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) warnings: Vec<String>,
    /// Why nothing is launched: files, and words.
    pub(super) refusals: Vec<(String, String)>,
    /// What could not be looked at.
    pub(super) unchecked: Vec<String>,
}

/// Looks at the objects of `manifests`, which stand in `files`.
pub(super) fn findings(
    manifests: &[Manifest],
    files: &[InputFile],
    settings: &Settings,
) -> Result<Findings, BadInput> {
    let catalog = instance_catalog::builtin().map_err(|error| BadInput::one(error.to_string()))?;
    let known = KnownValues::of(&catalog);
    let together = Together::of(manifests, &known, &catalog)?;
    let claims = ClaimCheck::of(manifests, settings);
    let mut findings = Findings::default();
    let mut lines: BTreeMap<&str, Lines> = BTreeMap::new();
    for (object, place) in manifests.iter().flat_map(|m| m.objects.iter().zip(&m.places)) {
        let (mut warnings, elsewhere) = of_object(object, &together, &known, &catalog);
        if let Object::NodeClass(read) = object {
            warnings.extend(of_expressions(&read.class, &catalog, &settings.nodes));
        }
        let (of_claims, of_cluster) = claims.of_object(object);
        warnings.extend(of_claims);
        warnings.extend(place.converted_from.as_deref().map(converted));
        // What is said of a class names it.
        let is_class = matches!(object, Object::NodeClass(_));
        let name = (!is_class).then(|| manifests::named(object));
        for Warning { spot, text, is_refusal } in warnings {
            let lines = lines.entry(&place.file).or_insert_with(|| {
                let file = files.iter().find(|file| file.name == place.file);
                file.map(|file| Lines::of(&file.text)).unwrap_or_default()
            });
            let line = place.line.and_then(|line| match &spot {
                Spot::Field(field) => lines.of_field(line, field),
                Spot::Value(key, value) => lines.of_value(line, key, value.as_deref()),
            });
            let words = manifests::in_words(&Place { line: line.or(place.line), ..place.clone() });
            let name = name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
            let said = format!("{words}: {name}{text}");
            if is_refusal {
                findings.refusals.push((place.file.clone(), said));
            } else {
                findings.warnings.push(said);
            }
        }
        findings.unchecked.extend(of_cluster.into_iter().map(|text| {
            let (place, name) = (manifests::in_words(place), manifests::named(object));
            format!("{place}: {name}: {text}")
        }));
        if !elsewhere.is_empty() {
            let values: Vec<String> = elsewhere.into_iter().collect();
            let (place, name) = (manifests::in_words(place), manifests::named(object));
            let (values, here) = (values.join(", "), &catalog.region);
            findings.unchecked.push(format!(
                "{place}: {name}: {values}: only instance types and zones of {here} are built in"
            ));
        }
    }
    Ok(findings)
}

/// The warnings of `object`, and the regions and zones in it that are not looked at.
fn of_object(
    object: &Object,
    together: &Together<'_>,
    known: &KnownValues,
    catalog: &RegionCatalog,
) -> (Vec<Warning>, BTreeSet<String>) {
    let (mut warnings, asked) = match object {
        Object::NodePool(pool) => {
            let requirements = pool.template.requirements.iter().collect();
            (together.of_pool(pool, known), vec![requirements])
        }
        Object::NodeOverlay(overlay) => {
            let mut warnings = known.complaints("spec.requirements", overlay.requirements.iter());
            warnings.extend(together.of_overlay(overlay.name.as_str()));
            (warnings, vec![overlay.requirements.iter().collect()])
        }
        Object::NodeClass(read) => (of_user_data(&read.class), Vec::new()),
        Object::Node(node) => {
            let annotation = protection::ineffective_of_node(&node.annotations);
            (annotation.into_iter().map(unprotected).collect(), Vec::new())
        }
        object => match pod_spec(object) {
            Some(spec) => (together.of_pods(spec, known), alternatives(spec)),
            None => (Vec::new(), Vec::new()),
        },
    };
    let mut elsewhere = BTreeSet::new();
    for requirements in asked {
        let zones = Zones::of(requirements.into_iter(), catalog);
        for warning in zones.impossible {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        elsewhere.extend(zones.elsewhere);
    }
    (warnings, elsewhere)
}

/// That API servers do not take an object that was written as `from`.
fn converted(from: &str) -> Warning {
    let text = format!(
        "{from}: API servers with the definitions of Journeyman, or of Karpenter 1.1 and later, do not have this \
         version. Write v1: `journeyman convert` does it"
    );
    warning(Spot::Field("apiVersion"), text)
}

pub(super) fn warning(spot: Spot, text: String) -> Warning {
    Warning { spot, text, is_refusal: false }
}

/// What is wrong with the user data of `class`.
fn of_user_data(class: &NodeClass) -> Vec<Warning> {
    let name = &class.name;
    let texts = launch_template::user_data_warnings(class).into_iter();
    let texts = texts.map(|text| format!("EC2NodeClass `{name}`: spec.userData: {text}"));
    let spot = || Spot::Field("spec.userData");
    let refusal = manifests::unlaunchable(class);
    let refusal = refusal.map(|text| Warning { is_refusal: true, ..warning(spot(), text) });
    refusal.into_iter().chain(texts.map(|text| warning(spot(), text))).collect()
}

/// What is wrong with the expressions of `class`, whether or not their gate is open.
fn of_expressions(
    class: &NodeClass,
    catalog: &RegionCatalog,
    settings: &NodeSettings,
) -> Vec<Warning> {
    let is_gate = |problem: &&Problem| problem.rule == Rule::ExpressionsDisabled;
    let closed = class.problems.iter().filter(is_gate).cloned();
    let mut refusals = launch_template::invalid_expressions(&class.kubelet);
    if refusals.is_empty() {
        let failure = launch_template::expression_failure(catalog, class, settings);
        refusals.extend(failure.map(|problem| *problem));
    }
    let of_problem = |problem: Problem, is_refusal| {
        let field = EXPRESSIONS.into_iter().find(|field| problem.is_within(field));
        let spot = Spot::Field(field.unwrap_or("spec.kubelet"));
        let text = format!("EC2NodeClass `{}`: {problem}", class.name);
        Warning { spot, text, is_refusal }
    };
    let closed = closed.map(|problem| of_problem(problem, false));
    closed.chain(refusals.into_iter().map(|problem| of_problem(problem, true))).collect()
}

/// What each pod of `object` is like, if it is or makes pods.
pub(super) fn pod_spec(object: &Object) -> Option<&PodSpec> {
    match object {
        Object::Pod(read) => Some(&read.pod.spec),
        Object::Workload(workload) => Some(&workload.spec),
        Object::DaemonSet(daemon_set, _) => Some(&daemon_set.spec),
        Object::PodTemplate(_, spec) => Some(spec),
        _ => None,
    }
}

/// What the pods ask of a node's labels: one list for each required term, or one in all.
pub(super) fn alternatives(spec: &PodSpec) -> Vec<Vec<&Requirement>> {
    if spec.required_terms.is_empty() {
        return vec![spec.node_selector.iter().collect()];
    }
    let terms = spec.required_terms.iter();
    terms.map(|term| spec.node_selector.iter().chain(term).collect()).collect()
}

/// The number of MiB that `text` stands for if it has a unit, such as `16Gi`, or else if it is in GiB.
fn mebibytes(text: &str) -> Option<String> {
    let bytes = Quantity::parse(text).ok()?.to_bytes().0;
    let bytes = if text.parse::<u64>().is_ok() { bytes.checked_mul(1 << 30)? } else { bytes };
    Some((bytes >> 20).to_string())
}

/// That `requirement` has a bound in GiB on a label whose values are in MiB, `smallest` the smallest of them, if so.
fn in_gibibytes(field: &str, requirement: &Requirement, smallest: u64) -> Option<Warning> {
    let key = requirement.key().as_str();
    let is_small =
        |value: &String| value.parse().is_ok_and(|bound: u64| 0 < bound && bound < smallest);
    let has_small = |(operator, values): &(Operator, Vec<String>)| {
        matches!(operator, Operator::Gte | Operator::Lte) && values.iter().any(is_small)
    };
    if !labels::is_in_mebibytes(key) || !requirement.entries().iter().any(has_small) {
        return None;
    }
    let text = format!(
        "{field}: {requirement}: the label is in MiB, and every instance type has at least {smallest}: multiply GiB by 1024"
    );
    Some(warning(Spot::Value(key.to_owned(), None), text))
}

/// The values of each label that some instance type has.
pub(super) struct KnownValues {
    /// Of the instance types.
    region: String,
    by_label: BTreeMap<String, BTreeSet<String>>,
}

impl KnownValues {
    fn of(catalog: &RegionCatalog) -> Self {
        let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let types = catalog.instance_types.iter();
        for requirement in types.flat_map(|instance_type| instance_type.requirements.iter()) {
            let values = requirement.values().iter().map(ToString::to_string);
            known.entry(requirement.key().to_string()).or_default().extend(values);
        }
        // Whether a type runs Windows is up to the class.
        known.entry(labels::OS.to_owned()).or_default().insert("windows".to_owned());
        known.retain(|key, values| !OF_THE_ACCOUNT.contains(&key.as_str()) && !values.is_empty());
        Self { region: catalog.region.clone(), by_label: known }
    }

    /// The values in `requirements` that no instance type has, each with the value to write where that is clear.
    /// Values that are excluded are only named where one is near: an exclusion may be meant for other regions.
    pub(super) fn complaints<'r>(
        &self,
        field: &str,
        requirements: impl Iterator<Item = &'r Requirement>,
    ) -> Vec<Warning> {
        let mut warnings: Vec<Warning> = Vec::new();
        for requirement in requirements {
            let key = requirement.key().as_str();
            let Some(known) = self.by_label.get(key) else { continue };
            let smallest = known.iter().filter_map(|value| value.parse().ok()).min();
            warnings
                .extend(smallest.and_then(|smallest| in_gibibytes(field, requirement, smallest)));
            let unknown = requirement.values().iter().filter(|value| !known.contains(&***value));
            for value in unknown {
                let meant = labels::meant(value, known.iter().map(String::as_str));
                let in_mebibytes = Some(key).filter(|key| labels::is_in_mebibytes(key));
                let in_mebibytes = in_mebibytes.and_then(|_| mebibytes(value));
                let meant = meant.or_else(|| known.get(&in_mebibytes?).map(String::as_str));
                if requirement.is_complement() && meant.is_none() {
                    continue;
                }
                let (of_region, cure) = meant.map_or_else(
                    || (format!(" of {}", self.region), String::new()),
                    |meant| (String::new(), format!(": write `{meant}`")),
                );
                let text =
                    format!("{field}: no instance type{of_region} has {key} `{value}`{cure}");
                let spot = Spot::Value(key.to_owned(), Some(value.to_string()));
                if !warnings.iter().any(|warning| warning.spot == spot) {
                    warnings.push(warning(spot, text));
                }
            }
        }
        warnings
    }

    /// `asked` by labels alone whose values are the same everywhere, without those that [`Self::complaints`] has
    /// something to say of.
    pub(super) fn narrowed<'r>(
        &self,
        asked: impl Iterator<Item = &'r Requirement>,
    ) -> Requirements {
        let is_asked = |requirement: &&Requirement| {
            self.by_label.contains_key(requirement.key().as_str())
                && self.complaints("", std::iter::once(*requirement)).is_empty()
        };
        asked.filter(is_asked).cloned().collect()
    }
}
