//! What only the objects together tell, or requirements together: what launches nothing, whatever comes.

use std::{cmp::Ordering, collections::BTreeMap};

use api::{
    files::{self, Manifest},
    objects::{NodeClassManifest, Object},
};
use jiff::Timestamp;
use model::{
    ClusterName, NodeClassName, NodePoolName, PodSpec, RegionCatalog, Requirement, Requirements,
    Taint,
    facts::{ClassOffer, Facts},
    labels,
    ledger::Snapshot,
    node_class::{ResolvedNodeClass, ResolvedTemplate},
    node_pool::NodePool,
    protection::{self, Ineffective},
    resources::format_amount,
};
use planner::Rejection;
use report::error::BadInput;

use super::{
    warnings::{self, KnownValues, OF_THE_ACCOUNT, Spot, Warning, alternatives, warning},
    windows,
};
use crate::assumed;

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

/// Memory in bytes that every instance type has.
const SMALLEST_MEMORY: u64 = 1 << 28;

/// What only the objects together tell.
#[derive(Debug)]
pub(super) struct Together<'m> {
    /// Why a NodePool launches nothing, by its name.
    pools: BTreeMap<String, String>,
    /// Why a NodeOverlay changes nothing, by its name.
    overlays: BTreeMap<String, String>,
    /// Why no instance type has what a pod asks for, by that.
    pods: BTreeMap<Vec<Requirement>, String>,
    /// What the pods of all workloads are like.
    workloads: Vec<&'m PodSpec>,
}

/// That the limit of memory is smaller than any node, if so: usually a missing unit.
fn small_memory_limit(pool: &NodePool) -> Option<Warning> {
    let (name, limit) = pool.limits.0.iter().find(|(name, _)| name.as_str() == "memory")?;
    let amount = format_amount(name.as_str(), *limit);
    let text = format!(
        "spec.limits.memory: {amount} is less than any node has, so nothing is launched: write a unit, \
         such as `100Gi`"
    );
    let is_small = *limit > 0 && *limit < SMALLEST_MEMORY;
    is_small.then(|| warning(Spot::Field("spec.limits"), text))
}

/// That a static NodePool has no room for the replacement of a node, if so.
fn full_static_pool(pool: &NodePool) -> Option<Warning> {
    let replicas = pool.replicas.filter(|replicas| 0 < *replicas)?;
    let (_, limit) = pool.limits.0.iter().find(|(name, _)| name.as_str() == "nodes")?;
    let text = match limit.cmp(&replicas) {
        Ordering::Less => format!(
            "spec.limits.nodes: {limit} is less than spec.replicas, so {} of {replicas} nodes {} never launched",
            replicas - limit,
            if replicas - limit == 1 { "is" } else { "are" },
        ),
        Ordering::Equal => format!(
            "spec.limits.nodes: {limit} has no room for a replacement, so drifted nodes remain: raise it above \
             spec.replicas, or set FeatureGates=TerminateFirstDrift=true"
        ),
        Ordering::Greater => return None,
    };
    Some(warning(Spot::Field("spec.limits"), text))
}

/// That an annotation protects nothing.
pub(super) fn unprotected(annotation: Ineffective) -> Warning {
    warning(Spot::Value(annotation.key.to_owned(), None), annotation.text)
}

impl<'m> Together<'m> {
    pub(super) fn of(
        manifests: &'m [Manifest],
        known: &KnownValues,
        catalog: &RegionCatalog,
    ) -> Result<Self, BadInput> {
        let cluster = ClusterName::new("validate");
        let cluster = cluster.map_err(|error| BadInput::one(error.to_string()))?;
        let mut facts = Facts::of(cluster, Timestamp::UNIX_EPOCH, Snapshot::default());
        facts.policies.node_overlay = true;
        let stand_ins = StandIns::new()?;
        let (mut classes, mut workloads) = (stand_ins.offers(catalog)?, Vec::new());
        let mut asked: BTreeMap<Vec<Requirement>, NodePoolName> = BTreeMap::new();
        for object in manifests.iter().flat_map(|manifest| &manifest.objects) {
            match object {
                Object::NodePool(pool) => facts.node_pools.push(known.comparable(pool)),
                Object::NodeOverlay(overlay) => {
                    facts.surroundings.node_overlays.push(overlay.clone());
                }
                Object::NodeClass(read) => {
                    // Of one that cannot be used its NodePools know nothing.
                    let types = offer(read, catalog)?;
                    classes.insert(read.class.name.clone(), types);
                }
                object => {
                    let Some(spec) = warnings::pod_spec(object) else { continue };
                    workloads.extend((!matches!(object, Object::Pod(_))).then_some(spec));
                    for pool in stand_ins.pools(spec, known, &mut asked)? {
                        facts.node_pools.push(pool);
                    }
                }
            }
        }
        for pool in &mut facts.node_pools {
            let template = &mut pool.template;
            if !classes.contains_key(&template.node_class) {
                template.node_class = stand_ins.class_for(&template.requirements).clone();
            }
        }
        let offered = classes.into_iter().filter_map(|(name, offer)| Some((name, offer?)));
        facts.classes = Some(offered.collect());
        let mut pools = planner::pools_without_types(&facts, &planner::KnownTypes::default());
        let pods =
            asked.into_iter().filter_map(|(asked, name)| Some((asked, pools.remove(&name)?)));
        let pods = pods.collect();
        // What breaks a rule is a problem already.
        let conflict = |(name, why): (model::ObjectName, Rejection)| match why {
            Rejection::RuntimeValidation(_) => None,
            why @ Rejection::Conflict { .. } => {
                Some((name.to_string(), format!("it changes nothing: {why}")))
            }
        };
        Ok(Self {
            pools: pools.into_iter().map(|(name, why)| (name.to_string(), why)).collect(),
            overlays: planner::overlays(&facts).rejected.into_iter().filter_map(conflict).collect(),
            pods,
            workloads,
        })
    }

    /// Why the NodeOverlay called `name` changes nothing, if so.
    pub(super) fn of_overlay(&self, name: &str) -> Option<Warning> {
        self.overlays.get(name).map(|text| warning(Spot::Field("spec.weight"), text.clone()))
    }

    pub(super) fn of_pods(&self, spec: &PodSpec, known: &KnownValues) -> Vec<Warning> {
        let field = "its node selector or affinity";
        let required = spec.node_selector.iter().chain(spec.required_terms.iter().flatten());
        let mut warnings = known.complaints(field, required);
        let why = |asked: Vec<&Requirement>| {
            let asked = known.narrowed(asked.into_iter());
            self.pods.get(&key(&asked)).map(|why| at_fault(field, why, &asked))
        };
        let whys: Option<Vec<Warning>> = alternatives(spec).into_iter().map(why).collect();
        warnings.extend(whys.into_iter().flatten().next());
        warnings.extend(protection::ineffective_of_pod(spec).map(unprotected));
        warnings
    }

    pub(super) fn of_pool(&self, pool: &NodePool, known: &KnownValues) -> Vec<Warning> {
        let template = &pool.template;
        let field = "spec.template.spec.requirements";
        let mut warnings = known.complaints(field, template.requirements.iter());
        let why = self.pools.get(pool.name.as_str());
        warnings.extend(why.map(|why| {
            at_fault("it launches nothing", why, &known.comparable(pool).template.requirements)
        }));
        let annotation = protection::ineffective_of_node(&template.annotations);
        warnings.extend(annotation.map(unprotected));
        warnings.extend(windows::warnings(pool));
        warnings.extend(small_memory_limit(pool));
        warnings.extend(full_static_pool(pool));
        let startup_taints = template.startup_taints.iter();
        warnings.extend(startup_taints.filter(|taint| self.is_lasting(taint)).map(|taint| {
            let text = format!(
                "spec.template.spec.startupTaints: none of the workloads here tolerates {taint}: if nothing else \
                 takes it away, nodes are never initialized"
            );
            warning(Spot::Value(taint.key.clone(), None), text)
        }));
        warnings
    }

    /// Whether nothing is seen that would take `taint` away. Without workloads nothing is known.
    fn is_lasting(&self, taint: &Taint) -> bool {
        let is_tolerated = |spec: &&PodSpec| spec.tolerations.iter().any(|t| t.tolerates(taint));
        !REMOVED_BY_OTHERS.contains(&taint.key.as_str())
            && !self.workloads.is_empty()
            && !self.workloads.iter().any(is_tolerated)
    }
}

/// That `what` for the reason `why`, at the requirement that is `asked` for, or at all of them.
fn at_fault(what: &str, why: &str, asked: &Requirements) -> Warning {
    let mut keys = asked.iter().map(|requirement| requirement.key().as_str());
    let spot = match (keys.next(), keys.next()) {
        (Some(only), None) => Spot::Value(only.to_owned(), None),
        _ => Spot::Field("spec.template.spec.requirements"),
    };
    warning(spot, format!("{what}: {why}"))
}

fn key(asked: &Requirements) -> Vec<Requirement> {
    asked.iter().cloned().collect()
}

impl KnownValues {
    /// `pool` as every account and cluster has it, without what [`Self::complaints`] has something to say of.
    fn comparable(&self, pool: &NodePool) -> NodePool {
        let mut pool = pool.clone();
        let template = &mut pool.template;
        let is_left = |requirement: &&Requirement| {
            !OF_THE_ACCOUNT.contains(&requirement.key().as_str())
                && self.complaints("", std::iter::once(*requirement)).is_empty()
        };
        template.requirements = template.requirements.iter().filter(is_left).cloned().collect();
        template.labels.retain(|label, _| !OF_THE_ACCOUNT.contains(&label.as_str()));
        pool
    }
}

/// A NodePool and EC2NodeClasses in place of those that are not among the files: they allow everything.
struct StandIns {
    pool: NodePool,
    linux: NodeClassManifest,
    windows: NodeClassManifest,
}

const STAND_INS: &str = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: any}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: journeyman.linux}
      requirements: []
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: journeyman.linux}
spec:
  role: any
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {any: any}}]
  securityGroupSelectorTerms: [{tags: {any: any}}]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: journeyman.windows}
spec:
  role: any
  amiSelectorTerms: [{alias: windows2022@latest}]
  subnetSelectorTerms: [{tags: {any: any}}]
  securityGroupSelectorTerms: [{tags: {any: any}}]
";

impl StandIns {
    fn new() -> Result<Self, BadInput> {
        let read = files::read(STAND_INS, "stand-ins");
        let objects: Result<[Object; 3], _> = read.objects.try_into();
        if let Ok([Object::NodePool(pool), Object::NodeClass(linux), Object::NodeClass(windows)]) =
            objects
        {
            return Ok(Self { pool, linux: *linux, windows: *windows });
        }
        Err(BadInput(read.problems.iter().map(ToString::to_string).collect()))
    }

    fn offers(
        &self,
        catalog: &RegionCatalog,
    ) -> Result<BTreeMap<NodeClassName, Option<ClassOffer>>, BadInput> {
        let classes = [&self.linux, &self.windows].into_iter();
        classes.map(|read| Ok((read.class.name.clone(), offer(read, catalog)?))).collect()
    }

    fn class_for(&self, asked: &Requirements) -> &NodeClassName {
        let is_windows = |os: &Requirement| os.has("windows") && !os.has("linux");
        let is_windows = asked.get(labels::OS).is_some_and(is_windows);
        if is_windows { &self.windows.class.name } else { &self.linux.class.name }
    }

    /// NodePools that launch what pods of `spec` ask for and nothing else, for what is not in `asked` yet.
    fn pools(
        &self,
        spec: &PodSpec,
        known: &KnownValues,
        asked: &mut BTreeMap<Vec<Requirement>, NodePoolName>,
    ) -> Result<Vec<NodePool>, BadInput> {
        let mut pools = Vec::new();
        for alternative in alternatives(spec) {
            let requirements = known.narrowed(alternative.into_iter());
            let key = key(&requirements);
            if key.is_empty() || asked.contains_key(&key) {
                continue;
            }
            let name = NodePoolName::new(&format!("journeyman.pods.{}", asked.len()))
                .map_err(|error| BadInput::one(error.to_string()))?;
            let mut pool = NodePool { name: name.clone(), ..self.pool.clone() };
            pool.template.node_class = self.class_for(&requirements).clone();
            pool.template.requirements = requirements;
            asked.insert(key, name);
            pools.push(pool);
        }
        Ok(pools)
    }
}

/// What can be launched with the class if its selectors find something everywhere; `None` if nothing can, whatever
/// they find.
fn offer(
    read: &NodeClassManifest,
    catalog: &RegionCatalog,
) -> Result<Option<ClassOffer>, BadInput> {
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
    Ok(Some(ClassOffer::Ready(types)))
}
