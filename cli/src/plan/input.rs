//! What `plan` reads: files or a live cluster, as objects by kind.

use std::collections::{BTreeMap, BTreeSet};

use api::{
    document::Diagnostic,
    files::Place,
    objects::{
        BufferManifest, NodeClassManifest, Object, PodManifest, Referable, StorageClassManifest,
        Workload,
    },
};
use model::{
    NodeClaim, Problem,
    api_version::{AWS_GROUP, KARPENTER_GROUP},
    condition::NotReady,
    default_spread::PodSelectors,
    facts::{DaemonSet, Surroundings},
    node::Node,
    node_pool::NodePool,
    plan::Reason,
    problem::{Rule, Weight},
};
use report::{
    error::BadInput,
    output::{count, named},
    progress::ProgressLine,
};

use super::{devices::DeviceObjects, expand, live};
use crate::{admission, manifests::Read, plan::args::PlanArgs};

/// Objects by kind, in the order of the input.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) node_pools: Vec<NodePool>,
    /// Each with why it is not ready, if so.
    pub(super) node_classes: Vec<(NodeClassManifest, Option<NotReady>)>,
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
    /// Of Services and controllers; of a Deployment as of its ReplicaSet, which is called as it is.
    pub(super) selectors: PodSelectors,
    pub(super) storage_classes: Vec<StorageClassManifest>,
    pub(super) devices: DeviceObjects,
    /// PodDisruptionBudgets whose status does not say how many disruptions they allow.
    pub(super) uncounted_budgets: Vec<String>,
    /// How many objects there are of API groups that neither Kubernetes nor Karpenter has, by the group.
    others: BTreeMap<String, u64>,
    /// What is wrong with objects. Those that are wrong themselves are left out.
    pub(super) problems: Vec<Diagnostic>,
    /// The NodePools that are left to another provider.
    pub(super) foreign: Vec<Diagnostic>,
    /// Of a running cluster the URL of its API server.
    pub(super) server: Option<String>,
    /// What else is left out, and why; what of several counts.
    pub(super) notes: Vec<String>,
}

/// Reads everything.
pub(super) fn load(args: &PlanArgs, progress: &ProgressLine) -> Result<Loaded, BadInput> {
    let settings = args.settings()?;
    let mut loaded = read(args, progress)?;
    settings.open_gates(loaded.node_classes.iter_mut().map(|(read, _)| &mut read.class));
    Ok(loaded)
}

fn read(args: &PlanArgs, progress: &ProgressLine) -> Result<Loaded, BadInput> {
    if args.live {
        let mut read = Read::default();
        let live::Read { manifests, server } = live::read(args, progress)?;
        for manifest in manifests {
            read.add(manifest, true);
        }
        let mut loaded = of(read)?;
        loaded.server = Some(server);
        // Their controllers are at work: pods that are not there yet will come.
        loaded.workloads.clear();
        return Ok(loaded);
    }
    let says = |name: &str| progress.says(format!("reading {name}"));
    let paths = args.more.after(&args.manifests);
    of(Read::of_paths(&paths, args.more.depth(), says)?)
}

/// What manifests hold. A text that is none as a whole is bad input; an object that is malformed is
/// reported and does not keep the others from being planned with.
pub(super) fn of(mut read: Read) -> Result<Loaded, BadInput> {
    let problems = read.problems();
    let fatal: Vec<String> = problems
        .iter()
        .filter(|problem| problem.object.is_none())
        .map(ToString::to_string)
        .collect();
    if !fatal.is_empty() {
        return Err(BadInput(fatal));
    }
    let foreign = read.foreign().cloned().collect();
    let mut loaded = Loaded { problems, foreign, notes: read.notes, ..Loaded::default() };
    loaded.notes.extend(admission::applied(&mut read.manifests));
    for manifest in read.manifests {
        for (object, place) in manifest.objects.into_iter().zip(manifest.places) {
            loaded.take(object, place);
        }
    }
    let others = std::mem::take(&mut loaded.others).into_iter();
    let others: Vec<String> =
        others.map(|(group, number)| format!("{} of {group}", count(number, "object"))).collect();
    if !others.is_empty() {
        loaded.notes.push(format!("{}: other API groups are not read", others.join(", ")));
    }
    let budgets = std::mem::take(&mut loaded.uncounted_budgets);
    let names: Vec<&str> = budgets.iter().map(String::as_str).collect();
    if !names.is_empty() && !loaded.nodes.is_empty() {
        loaded.notes.push(format!(
            "PodDisruptionBudget {} counts as allowing no disruption: without a status nothing says \
             how many pods may go",
            named(&names, BUDGETS_NAMED)
        ));
    }
    Ok(loaded)
}

/// How many PodDisruptionBudgets a note names.
const BUDGETS_NAMED: usize = 3;

/// Whether neither Kubernetes nor Karpenter has the API group: Kubernetes' own are without a domain or in `k8s.io`.
fn is_foreign(group: &str) -> bool {
    let is_of_kubernetes = !group.contains('.') || group.ends_with(".k8s.io");
    !is_of_kubernetes && ![KARPENTER_GROUP, AWS_GROUP].contains(&group)
}

/// Kinds that make pods which are not known here, and where they come from.
const UNREAD: [(&str, &str); 4] = [
    ("Rollout", "Argo CD's controller makes its pods"),
    ("CronJob", "it makes a Job at a time of its own"),
    ("ReplicationController", "a Deployment does the same"),
    ("ScaledJob", "KEDA makes its Jobs"),
];

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
            Object::NodeClass(read) => self.node_classes.push((*read, place.not_ready)),
            Object::NodeClaim(claim) => self.claims.push(*claim),
            // Pods are planned onto its Node, like onto any other.
            Object::StandaloneClaim(claim) if claim.node.is_some() || claim.is_deleting() => {}
            Object::StandaloneClaim(claim) => self.notes.push(format!(
                "NodeClaim {} belongs to no NodePool: the function `sweep` has its instance launched, and no pod is \
                 planned onto it before its Node is there",
                claim.name
            )),
            Object::NodeOverlay(overlay) => around.node_overlays.push(overlay),
            Object::CapacityBuffer(buffer) => self.buffers.push(buffer),
            Object::Node(node) => self.nodes.push(node),
            Object::Pod(pod) => self.pods.push((pod, place.is_stored)),
            Object::Workload(workload) => {
                self.referable.add(&workload);
                if let Some(selector) = &workload.selector {
                    let owner = expand::owner(&workload);
                    let namespace = workload.key.namespace.clone();
                    self.selectors.add_controller(namespace, owner, selector.clone());
                }
                self.workloads.push(*workload);
            }
            Object::DaemonSet(daemon_set, _) => self.daemon_sets.push(daemon_set),
            Object::PodTemplate(key, spec) => {
                self.referable.templates.insert(key, spec);
            }
            Object::Volume(read) => {
                around.storage.volumes.insert(read.name, read.volume);
            }
            Object::VolumeClaim(key, claim) => {
                around.storage.claims.insert(key, claim);
            }
            Object::StorageClass(class) => self.storage_classes.push(class),
            Object::ResourceSlice(slice) => self.devices.slices.push(*slice),
            Object::DeviceClass(class) => self.devices.classes.push(class),
            Object::ResourceClaim(read) => self.devices.claims.push(read.claim),
            Object::ClaimTemplate(template) => {
                self.devices.templates.insert(template.key.clone(), *template);
            }
            Object::CsiNode(node, limits) => {
                around.storage.attach_limits.insert(node, limits);
            }
            Object::Namespace(name, labels) => {
                around.namespaces.insert(name, labels);
            }
            Object::DisruptionBudget(budget, is_counted) => {
                if !is_counted {
                    self.uncounted_budgets.push(budget.key.to_string());
                }
                around.disruption_budgets.push(budget);
            }
            Object::Service((key, labels)) => self.selectors.add_service(key.namespace, labels),
            Object::ReplicationController((key, labels)) => {
                let name = key.name.as_str();
                let _is_unread = self.unread("ReplicationController", name);
                self.selectors.add_replication_controller(key.namespace, name, labels);
            }
            // Pods are admitted already.
            Object::PriorityClass(_)
            | Object::RuntimeClass(_)
            | Object::LimitRange(_)
            | Object::Admitter(_)
            | Object::Event(_) => {}
            Object::Other { group, kind, name } => {
                if !self.unread(&kind, &name) && is_foreign(&group) {
                    *self.others.entry(group).or_default() += 1;
                }
            }
        }
    }

    /// Notes that the pods of an object are left out, and says so, if it makes any.
    fn unread(&mut self, kind: &str, name: &str) -> bool {
        let unread = UNREAD.iter().find(|(unread, _)| *unread == kind);
        if let Some((_, why)) = unread {
            self.notes.push(format!("{kind} {name}: its pods are left out: {why}"));
        }
        unread.is_some()
    }

    /// How many objects from files an API server would refuse. Objects that it has stored are not counted: the user
    /// cannot correct them before the next plan.
    pub(super) fn mistakes(&self) -> usize {
        let mistakes = self
            .problems
            .iter()
            .filter(|problem| problem.problem.weight == Weight::Refused && !problem.is_stored);
        mistakes.filter_map(|problem| problem.object.as_ref()).collect::<BTreeSet<_>>().len()
    }

    /// Objects that are there, but could not be read.
    pub(super) fn refused(&self) -> Refused {
        let refused =
            self.problems.iter().filter(|problem| problem.problem.weight == Weight::Refused);
        let objects = refused.filter_map(|problem| problem.object.as_ref());
        Refused(objects.map(|object| (object.kind.clone(), object.name.clone())).collect())
    }
}

/// Objects that are there, but could not be read: kind and name.
pub(super) struct Refused(BTreeSet<(String, String)>);

impl Refused {
    /// Sets right what a decision says that knows nothing of these objects.
    pub(super) fn correct(&self, reasons: &mut [Reason]) {
        for reason in reasons {
            for (kind, name) in &self.0 {
                let is_missing = format!("{kind} {name}: it does not exist");
                if reason.text == is_missing {
                    reason.text = format!("{kind} {name}: it could not be read");
                } else if kind == "ResourceClaim"
                    && reason.text.ends_with(&format!("/{name} does not exist"))
                {
                    reason.text = reason.text.replace("does not exist", "could not be read");
                } else if kind == "NodePool" && reason.text == "there is no NodePool" {
                    "there is no NodePool that could be read".clone_into(&mut reason.text);
                }
            }
        }
    }
}
