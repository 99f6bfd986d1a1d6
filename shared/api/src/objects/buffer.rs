//! CapacityBuffers of `autoscaling.x-k8s.io`, and looking up what they refer to.
//!
//! Karpenter: `pkg/apis/autoscaling/v1beta1/capacitybuffer.go` and
//! `pkg/controllers/capacitybuffer`.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    ObjectName, PodKey, PodSpec, PodUid,
    buffer::{BufferStatus, BufferTarget, CapacityBuffer, ObservedBuffer, Reference},
    problem::Weight,
};

use super::{
    amounts,
    conditions::{Conditions, whole_number},
    metadata::Metadata,
    workload::{Workload, WorkloadKind},
};
use crate::{
    document::{field::Field, tree::Tree},
    karpenter::{
        capacity_buffer::{CapacityBufferSpec, ScalableReference},
        kind::CustomKind,
        walk::{self, Hints},
    },
};

/// A CapacityBuffer as written: what it refers to is not looked up yet.
pub type BufferManifest = CapacityBuffer<BufferReference>;

/// What a CapacityBuffer refers to, in its own namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BufferReference {
    /// `podTemplateRef`: a PodTemplate.
    Template(ObjectName),
    /// `scalableRef`: a workload.
    Workload {
        /// Such as `Deployment`.
        kind: String,
        /// Its name.
        name: ObjectName,
    },
    /// Nothing that can be used, in words.
    Unusable(String),
}

/// Where buffers look up what they refer to.
#[derive(Clone, Debug, Default)]
pub struct Referable {
    /// PodTemplates.
    pub templates: BTreeMap<PodKey, Arc<PodSpec>>,
    /// `metadata.generation` of PodTemplates, where a server counts it.
    pub generations: BTreeMap<PodKey, i64>,
    /// Deployments, StatefulSets and ReplicaSets: their pods, and how many.
    pub workloads: BTreeMap<(WorkloadKind, PodKey), (Arc<PodSpec>, u32)>,
}

impl Referable {
    /// Takes a workload in.
    pub fn add(&mut self, workload: &Workload) {
        let key = (workload.kind, workload.key.clone());
        self.workloads.insert(key, (Arc::clone(&workload.spec), workload.replicas));
    }

    /// `observed` with the generation of the PodTemplate that it refers to.
    pub fn with_generation(&self, observed: ObservedBuffer) -> ObservedBuffer {
        let ObservedBuffer { key, refers_to, .. } = &observed;
        let refers_to = match refers_to {
            Reference::Template(name, _) => {
                let key = PodKey { namespace: key.namespace.clone(), name: name.clone() };
                let is_there = self.templates.contains_key(&key);
                let generation = self.generations.get(&key).copied();
                Reference::Template(name.clone(), generation.filter(|_| is_there))
            }
            other => other.clone(),
        };
        ObservedBuffer { refers_to, ..observed }
    }

    /// The buffer with what it refers to.
    pub fn resolved(&self, buffer: BufferManifest) -> CapacityBuffer {
        let key =
            |name: &ObjectName| PodKey { namespace: buffer.namespace.clone(), name: name.clone() };
        let target = match &buffer.target {
            BufferReference::Template(name) => match self.templates.get(&key(name)) {
                Some(spec) => BufferTarget::Template(Arc::clone(spec)),
                None => BufferTarget::Missing(format!("there is no PodTemplate `{name}`")),
            },
            BufferReference::Workload { kind, name } => {
                let entry = BUFFERED.iter().find(|(known, _)| known == kind);
                let template = entry.and_then(|(_, kind)| self.workloads.get(&(*kind, key(name))));
                match template {
                    Some((spec, replicas)) => BufferTarget::Workload(Arc::clone(spec), *replicas),
                    None => BufferTarget::Missing(format!("there is no {kind} `{name}`")),
                }
            }
            BufferReference::Unusable(rule) => BufferTarget::Missing(rule.clone()),
        };
        let CapacityBuffer { namespace, name, uid, replicas, percentage, limits, .. } = buffer;
        CapacityBuffer { namespace, name, uid, replicas, percentage, limits, target }
    }
}

/// What `buffer` says of itself for its status: with `uid` and `generation` as in the metadata of `root`.
pub(crate) fn observed(
    root: &Tree,
    buffer: &BufferManifest,
    (uid, generation): (String, i64),
) -> ObservedBuffer {
    let conditions = Conditions::of(root);
    let text = |path: &[&str]| {
        let field = path.iter().try_fold(root, |tree, key| tree.get(key));
        field.and_then(Tree::as_text).map(str::to_owned)
    };
    let status = root.get("status");
    let number = |key| status.and_then(|status| whole_number(status, key));
    let template = text(&["status", "podTemplateRef", "name"]);
    let template = template.and_then(|name| ObjectName::new(&name).ok());
    ObservedBuffer {
        key: PodKey { namespace: buffer.namespace.clone(), name: buffer.name.clone() },
        uid,
        generation,
        strategy: text(&["spec", "provisioningStrategy"]),
        refers_to: match &buffer.target {
            BufferReference::Template(name) => Reference::Template(name.clone(), None),
            BufferReference::Workload { .. } => Reference::Workload,
            BufferReference::Unusable(_) => Reference::Unusable,
        },
        status: BufferStatus {
            replicas: number("replicas").and_then(|count| u32::try_from(count).ok()),
            template: template.zip(number("podTemplateGeneration")),
            strategy: text(&["status", "provisioningStrategy"]),
            conditions: conditions.known(),
        },
        status_generation: conditions.oldest_generation(),
    }
}

/// Whether a buffer may refer to workloads of `kind`, such as `Deployment`.
pub fn is_buffered(kind: &str) -> bool {
    BUFFERED.iter().any(|(known, _)| *known == kind)
}

/// Workloads that a buffer may refer to.
const BUFFERED: &[(&str, WorkloadKind)] = &[
    ("Deployment", WorkloadKind::Deployment),
    ("StatefulSet", WorkloadKind::StatefulSet),
    ("ReplicaSet", WorkloadKind::ReplicaSet),
];

/// Reads a CapacityBuffer. Whichever strategy it names: Karpenter has one, and looks at no name.
pub(crate) fn read(object: &Field<'_>) -> Option<BufferManifest> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    fields.ignore(&["status"]);
    let field = fields.require("spec");
    fields.done();
    let field = field?;
    let spec: CapacityBufferSpec = walk::typed(&field, CapacityBufferSpec::schema(), Hints::NONE)?;
    let of_limits = field.at("limits");
    let limits = spec.limits.map(|_| amounts::read(&of_limits)).unwrap_or_default();
    let name = |key: &str, name: &str| field.at(key).at("name").accept(ObjectName::new(name));
    let target = match (spec.pod_template_ref, spec.scalable_ref) {
        _ if of_limits.has_within(Weight::Unusable) => {
            BufferReference::Unusable("its `limits` have an amount that is no quantity".to_owned())
        }
        (Some(template), _) => BufferReference::Template(name("podTemplateRef", &template.name)?),
        (None, Some(ScalableReference { api_group, kind, name: workload })) => {
            match api_group.as_deref().unwrap_or_default() {
                "" | "apps" => {
                    BufferReference::Workload { kind, name: name("scalableRef", &workload)? }
                }
                group => BufferReference::Unusable(format!(
                    "`{group}` has no workloads that are looked up"
                )),
            }
        }
        (None, None) => BufferReference::Unusable(
            "it has neither `podTemplateRef` nor `scalableRef`".to_owned(),
        ),
    };
    let metadata = metadata?;
    let key = metadata.key(object)?;
    let uid = metadata.uid.unwrap_or_else(|| key.to_string());
    let count = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok());
    Some(BufferManifest {
        uid: object.at("metadata").at("uid").accept(PodUid::new(&uid))?,
        namespace: key.namespace,
        name: key.name,
        replicas: count(spec.replicas),
        percentage: count(spec.percentage),
        limits,
        target,
    })
}
