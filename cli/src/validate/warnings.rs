//! What an API server and Karpenter take, and what does not do what its writer meant.

use std::collections::{BTreeMap, BTreeSet};

use api::{
    files::Manifest,
    objects::{NodeClassManifest, Object},
};
use jiff::Timestamp;
use model::{
    ClusterName, NodeClassName, PodSpec, RegionCatalog, Requirement, Taint,
    facts::{ClassOffer, Facts},
    labels,
    ledger::Snapshot,
    node_class::{ResolvedNodeClass, ResolvedTemplate},
    node_pool::NodePool,
};
use planner::Rejection;
use report::error::BadInput;

use crate::{assumed, manifests};

/// Startup taints that Karpenter, AWS or common network plug-ins take away.
const REMOVED_BY_OTHERS: [&str; 7] = [
    labels::UNREGISTERED_TAINT,
    "ebs.csi.aws.com/agent-not-ready",
    "efs.csi.aws.com/agent-not-ready",
    "fsx.csi.aws.com/agent-not-ready",
    "s3.csi.aws.com/agent-not-ready",
    "node.cilium.io/agent-not-ready",
    "node.cloudprovider.kubernetes.io/uninitialized",
];

/// Labels whose values depend on the account, the region or the cluster, which are not looked at.
const OF_THE_ACCOUNT: [&str; 10] = [
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

/// What the objects of `manifests` do not do although nothing is wrong with them, each with its place.
pub(super) fn warnings(manifests: &[Manifest]) -> Result<Vec<String>, BadInput> {
    let catalog = instance_catalog::builtin().map_err(|error| BadInput::one(error.to_string()))?;
    let known = KnownValues::of(&catalog);
    let together = Together::of(manifests, &catalog)?;
    let mut warnings = manifests::user_data_warnings(manifests);
    for (object, place) in manifests.iter().flat_map(|m| m.objects.iter().zip(&m.places)) {
        let texts = match object {
            Object::NodePool(pool) => together.of_pool(pool, &known),
            Object::NodeOverlay(overlay) => {
                let mut texts = known.complaints("spec.requirements", overlay.requirements.iter());
                texts.extend(together.overlays.get(overlay.name.as_str()).cloned());
                texts
            }
            object => pod_spec(object).map(|spec| of_pods(spec, &known)).unwrap_or_default(),
        };
        let place = manifests::in_words(place);
        let name = manifests::named(object);
        warnings.extend(texts.into_iter().map(|text| format!("{place}: {name}: {text}")));
    }
    Ok(warnings)
}

/// What each pod of `object` is like, if it is or makes pods.
fn pod_spec(object: &Object) -> Option<&PodSpec> {
    match object {
        Object::Pod(read) => Some(&read.pod.spec),
        Object::Workload(workload) => Some(&workload.spec),
        Object::DaemonSet(daemon_set) => Some(&daemon_set.spec),
        Object::PodTemplate(_, spec) => Some(spec),
        _ => None,
    }
}

fn of_pods(spec: &PodSpec, known: &KnownValues) -> Vec<String> {
    let required = spec.node_selector.iter().chain(spec.required_terms.iter().flatten());
    let mut texts = known.complaints("its node selector or affinity", required);
    texts.extend(spec.ineffective_do_not_disrupt());
    texts
}

/// The values of each label that some instance type has.
struct KnownValues {
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
    fn complaints<'r>(
        &self,
        field: &str,
        requirements: impl Iterator<Item = &'r Requirement>,
    ) -> Vec<String> {
        let mut texts = Vec::new();
        for requirement in requirements {
            let key = requirement.key().as_str();
            let Some(known) = self.by_label.get(key) else { continue };
            let unknown = requirement.values().iter().filter(|value| !known.contains(&***value));
            for value in unknown {
                let meant = labels::meant(value, known.iter().map(String::as_str));
                if requirement.is_complement() && meant.is_none() {
                    continue;
                }
                let (of_region, cure) = meant.map_or_else(
                    || (format!(" of {}", self.region), String::new()),
                    |meant| (String::new(), format!(": write `{meant}`")),
                );
                texts.push(format!(
                    "{field}: no instance type{of_region} has {key} `{value}`{cure}"
                ));
            }
        }
        texts
    }
}

/// What only the objects together tell.
struct Together<'m> {
    /// Why a NodePool launches nothing, by its name.
    pools: BTreeMap<String, String>,
    /// Why a NodeOverlay changes nothing, by its name.
    overlays: BTreeMap<String, String>,
    /// What the pods of all workloads are like.
    workloads: Vec<&'m PodSpec>,
}

impl<'m> Together<'m> {
    fn of(manifests: &'m [Manifest], catalog: &RegionCatalog) -> Result<Self, BadInput> {
        let cluster = ClusterName::new("validate");
        let cluster = cluster.map_err(|error| BadInput::one(error.to_string()))?;
        let mut facts = Facts::of(cluster, Timestamp::UNIX_EPOCH, Snapshot::default());
        facts.policies.node_overlay = true;
        let (mut classes, mut workloads) = (BTreeMap::new(), Vec::new());
        for object in manifests.iter().flat_map(|manifest| &manifest.objects) {
            match object {
                Object::NodePool(pool) => {
                    let mut pool = pool.clone();
                    for label in OF_THE_ACCOUNT {
                        let _not_looked_at = pool.template.requirements.remove(label);
                    }
                    facts.node_pools.push(pool);
                }
                Object::NodeOverlay(overlay) => {
                    facts.surroundings.node_overlays.push(overlay.clone());
                }
                Object::NodeClass(read) => classes.extend(offer(read, catalog)?),
                Object::Pod(_) => {}
                object => workloads.extend(pod_spec(object)),
            }
        }
        facts.classes = Some(classes);
        let pools = planner::pools_without_types(&facts).into_iter();
        // What breaks a rule is a problem already.
        let conflict = |(name, why): (model::ObjectName, Rejection)| match why {
            Rejection::RuntimeValidation(_) => None,
            why @ Rejection::Conflict(_) => {
                Some((name.to_string(), format!("it changes nothing: {why}")))
            }
        };
        Ok(Self {
            pools: pools.map(|(name, why)| (name.to_string(), why)).collect(),
            overlays: planner::overlays(&facts).rejected.into_iter().filter_map(conflict).collect(),
            workloads,
        })
    }

    fn of_pool(&self, pool: &NodePool, known: &KnownValues) -> Vec<String> {
        let template = &pool.template;
        let field = "spec.template.spec.requirements";
        let mut texts = known.complaints(field, template.requirements.iter());
        if texts.is_empty() {
            let why = self.pools.get(pool.name.as_str());
            texts.extend(why.map(|why| format!("it launches nothing: {why}")));
        }
        let annotation = template.annotations.get(labels::DO_NOT_DISRUPT);
        if let Some(text) = annotation.filter(|text| !["true", "false"].contains(&text.as_str())) {
            texts.push(format!(
                "spec.template.metadata.annotations: {} is `{text}`, which protects nothing: of nodes only \
                 `true` counts",
                labels::DO_NOT_DISRUPT
            ));
        }
        let startup_taints = template.startup_taints.iter();
        texts.extend(startup_taints.filter(|taint| self.is_lasting(taint)).map(|taint| {
            format!(
                "spec.template.spec.startupTaints: none of the workloads here tolerates {taint}: if nothing else \
                 takes it away, nodes are never initialized"
            )
        }));
        texts
    }

    /// Whether nothing is seen that would take `taint` away. Without workloads nothing is known.
    fn is_lasting(&self, taint: &Taint) -> bool {
        let is_tolerated = |spec: &&PodSpec| spec.tolerations.iter().any(|t| t.tolerates(taint));
        !REMOVED_BY_OTHERS.contains(&taint.key.as_str())
            && !self.workloads.is_empty()
            && !self.workloads.iter().any(is_tolerated)
    }
}

/// What can be launched with the class if its selectors find something everywhere; `None` if nothing can, whatever
/// they find.
fn offer(
    read: &NodeClassManifest,
    catalog: &RegionCatalog,
) -> Result<Option<(NodeClassName, ClassOffer)>, BadInput> {
    let class = &read.class;
    if !class.problems.is_empty() {
        return Ok(None);
    }
    let resolved = ResolvedNodeClass {
        class: class.clone(),
        subnets: assumed::subnets(catalog)?,
        security_groups: Vec::new(),
        images: assumed::images(class)?.0,
        reservations: Vec::new(),
        placement_group: None,
        launch_template: ResolvedTemplate::Made,
    };
    let types = launch_template::offer(catalog, &resolved, &BTreeMap::new(), Timestamp::UNIX_EPOCH);
    Ok(Some((class.name.clone(), ClassOffer::Ready(types))))
}
