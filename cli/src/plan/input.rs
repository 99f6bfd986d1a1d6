//! What `plan` reads: files or a live cluster, as objects by kind.

use api::{
    document::Diagnostic,
    files::{self, Manifest, Place},
    objects::{
        BufferManifest, Object, PodManifest, PriorityClass, Referable, StorageClassManifest,
        Workload,
    },
};
use model::{
    NodeClaim, Problem,
    condition::NotReady,
    facts::{DaemonSet, Surroundings},
    node::Node,
    node_class::NodeClass,
    node_pool::NodePool,
    problem::{Rule, Weight},
};

use super::{live, progress::Progress};
use crate::{args::PlanArgs, manifests, manifests::BadInput};

/// Objects by kind, in the order of the input.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) node_pools: Vec<NodePool>,
    /// Each with why it is not ready, if so.
    pub(super) node_classes: Vec<(NodeClass, Option<NotReady>)>,
    pub(super) nodes: Vec<Node>,
    pub(super) claims: Vec<NodeClaim>,
    pub(super) daemon_sets: Vec<DaemonSet>,
    /// Each with whether an API server knows it.
    pub(super) pods: Vec<(PodManifest, bool)>,
    pub(super) workloads: Vec<Workload>,
    /// All but what has to be looked up first: buffers and default classes.
    pub(super) surroundings: Surroundings,
    pub(super) buffers: Vec<BufferManifest>,
    pub(super) referable: Referable,
    pub(super) storage_classes: Vec<StorageClassManifest>,
    pub(super) priority_classes: Vec<PriorityClass>,
    /// What is wrong with objects. Those that are wrong themselves are left out.
    pub(super) problems: Vec<Diagnostic>,
}

/// Reads everything.
pub(super) fn load(args: &PlanArgs, progress: &Progress) -> Result<Loaded, BadInput> {
    if args.live {
        let mut loaded = of(live::read(args, progress)?)?;
        // Their controllers are at work: pods that are not there yet will come.
        loaded.workloads.clear();
        return Ok(loaded);
    }
    progress.says("reading");
    let texts = manifests::texts(&args.manifests)?;
    let read = |(file, text): &(String, String)| {
        progress.says(format!("reading {file}"));
        files::read(text, file)
    };
    of(texts.iter().map(read).collect())
}

/// What manifests hold. A text that is none as a whole is bad input; an object that is malformed is
/// reported and does not keep the others from being planned with.
pub(super) fn of(manifests: Vec<Manifest>) -> Result<Loaded, BadInput> {
    let mut loaded = Loaded::default();
    let between = files::cross_check(&manifests);
    let flat_map = manifests.iter().flat_map(|manifest| &manifest.problems);
    let fatal: Vec<String> =
        flat_map.filter(|problem| problem.object.is_none()).map(ToString::to_string).collect();
    if !fatal.is_empty() {
        return Err(BadInput(fatal));
    }
    for manifest in manifests {
        loaded.problems.extend(manifest.problems);
        for (object, place) in manifest.objects.into_iter().zip(manifest.places) {
            loaded.take(object, place);
        }
    }
    loaded.problems.extend(between);
    Ok(loaded)
}

impl Loaded {
    fn take(&mut self, object: Object, place: Place) {
        let around = &mut self.surroundings;
        match object {
            Object::NodePool(mut pool) => {
                let problem = |why| Problem {
                    weight: Weight::Unusable,
                    field: String::new(),
                    rule: Rule::NotReady(why),
                };
                pool.problems.extend(place.not_ready.map(problem));
                self.node_pools.push(pool);
            }
            Object::NodeClass(read) => self.node_classes.push((read.class, place.not_ready)),
            Object::NodeClaim(claim) => self.claims.push(*claim),
            Object::NodeOverlay(overlay) => around.node_overlays.push(overlay),
            Object::CapacityBuffer(buffer) => self.buffers.push(buffer),
            Object::Node(node) => self.nodes.push(node),
            Object::Pod(pod) => self.pods.push((pod, place.is_stored)),
            Object::Workload(workload) => {
                self.referable.add(&workload);
                self.workloads.push(*workload);
            }
            Object::DaemonSet(daemon_set) => self.daemon_sets.push(daemon_set),
            Object::PodTemplate(key, spec) => {
                self.referable.templates.insert(key, spec);
            }
            Object::Volume(name, volume) => {
                around.storage.volumes.insert(name, volume);
            }
            Object::VolumeClaim(key, claim) => {
                around.storage.claims.insert(key, claim);
            }
            Object::StorageClass(class) => self.storage_classes.push(class),
            Object::CsiNode(node, limits) => {
                around.storage.attach_limits.insert(node, limits);
            }
            Object::Namespace(name, labels) => {
                around.namespaces.insert(name, labels);
            }
            Object::PriorityClass(class) => self.priority_classes.push(class),
            Object::DisruptionBudget(budget) => around.disruption_budgets.push(budget),
            Object::Other { .. } => {}
        }
    }
}
