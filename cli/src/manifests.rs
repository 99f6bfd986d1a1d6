//! Manifests from files, as objects of the simulated cluster.

mod claims;
mod dump;
mod found;
mod input_file;

use std::path::PathBuf;

use api::{
    document::Diagnostic,
    files::{
        self, Manifest, Place,
        duplicates::{self, Replaced},
    },
    objects::{self, BufferManifest, BufferReference, Referable},
};
use dispatch::Settings;
use jiff::Timestamp;
use model::{
    ObjectName, PodKey, Problem,
    limits::PODS_PER_PLAN_MAX,
    node_class::{NodeClass, ResolvedNodeClass, ResolvedTemplate},
    node_pool::NodePool,
    problem::Weight,
    words,
};
use report::{error::BadInput, output};
use simulator::{BufferReferent, ClassFindings, ClusterObject, StoryWorkload, StoryWorkloadKind};

pub use self::input_file::{Depth, InputFile, files, text};
use self::{
    claims::ClaimTemplates,
    dump::Dump,
    input_file::{Content, content, paths_in},
};
use crate::{
    admission,
    gates::{self, Gates},
    hashes::ToHash,
    workloads,
};

/// Why pods with `schedulingGates` are left out.
pub(crate) const GATED: &str = "nothing here removes their schedulingGates";

/// What the files hold.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Objects of the cluster.
    pub objects: Vec<ClusterObject>,
    /// What the account is known to have.
    pub found: Vec<ClassFindings>,
    /// What plays no part, in words.
    pub ignored: Vec<String>,
    /// When the objects of a running cluster were saved, as far as its nodes tell; `None` is that there
    /// are none.
    pub saved_at: Option<Timestamp>,
}

/// What files hold, and what of them plays no part.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// One for each file, in order.
    pub(crate) manifests: Vec<Manifest>,
    /// What is left out and why, in words: files of directories that hold something else, objects that
    /// stand there again later.
    pub(crate) notes: Vec<String>,
}

impl Read {
    /// Reads every file.
    pub(crate) fn of<'a>(files: impl IntoIterator<Item = &'a InputFile>) -> Self {
        let mut read = Self::default();
        for file in files {
            read.add(files::read(&file.text, &file.name), file.is_meant());
        }
        read.keep_last();
        read
    }

    /// Reads every file, one after the other: no text is kept. `progress` hears of each.
    pub(crate) fn of_paths(
        paths: &[PathBuf],
        depth: Depth,
        progress: impl Fn(&str),
    ) -> Result<Self, BadInput> {
        let mut read = Self::default();
        for (path, is_named) in paths_in(paths, depth)? {
            let name = path.display().to_string();
            progress(&name);
            match content(&path, &name)? {
                Content::List(manifest) => read.add(manifest, is_named),
                Content::Text(text) => {
                    let file = InputFile { name, text, is_named };
                    read.add(files::read(&file.text, &file.name), file.is_meant());
                }
            }
        }
        read.keep_last();
        Ok(read)
    }

    /// Adds a file's manifest. What is no Kubernetes object is a problem only of files that are meant.
    pub(crate) fn add(&mut self, mut manifest: Manifest, is_meant: bool) {
        if !is_meant {
            let problems = std::mem::take(&mut manifest.problems).into_iter();
            let (foreign, problems) = problems.partition(|problem| problem.object.is_none());
            manifest.problems = problems;
            let foreign: Vec<Diagnostic> = foreign;
            self.notes.extend(foreign.iter().map(ToString::to_string));
        }
        self.notes.extend(manifest.warnings.iter().map(ToString::to_string));
        self.manifests.push(manifest);
    }

    /// Of objects that stand there more than once the last counts.
    pub(crate) fn keep_last(&mut self) {
        for Replaced { object, place, by } in duplicates::keep_last(&mut self.manifests) {
            let (first, last) = (in_words(&place), in_words(&by));
            self.notes.push(format!("{first}: {object} appears again, and {last} wins"));
        }
    }

    /// Makes of the EC2NodeClasses what they are with the gates of `settings`.
    pub(crate) fn open_gates(&mut self, settings: &Settings) {
        let objects = self.manifests.iter_mut().flat_map(|manifest| &mut manifest.objects);
        settings.open_gates(objects.filter_map(|object| match object {
            objects::Object::NodeClass(read) => Some(&mut read.class),
            _ => None,
        }));
    }

    /// Everything that is wrong, also between the files.
    pub(crate) fn problems(&self) -> Vec<Diagnostic> {
        self.own_problems().chain(files::cross_check(&self.manifests)).collect()
    }

    /// Everything that is wrong, and the EC2NodeClasses that NodePools name and that must be in the cluster: where no
    /// EC2NodeClass is among the files, none is missing.
    pub(crate) fn problems_and_elsewhere(&self) -> (Vec<Diagnostic>, Vec<String>) {
        let is_class = |object: &objects::Object| matches!(object, objects::Object::NodeClass(_));
        let is_of_class = |problem: &Diagnostic| {
            let kind = problem.object.as_ref().map(|object| object.kind.as_str());
            matches!(kind, Some("EC2NodeClass" | "AWSNodeTemplate"))
        };
        let has_class = |manifest: &Manifest| {
            manifest.objects.iter().any(is_class) || manifest.problems.iter().any(is_of_class)
        };
        if self.manifests.iter().any(has_class) {
            return (self.problems(), Vec::new());
        }
        let missing = files::cross_check(&self.manifests);
        let note =
            |missing: Diagnostic| format!("{missing} among these files; the cluster must have it");
        (self.own_problems().collect(), missing.into_iter().map(note).collect())
    }

    /// The NodePools that are left to another provider.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = &Diagnostic> {
        self.manifests.iter().flat_map(|manifest| &manifest.foreign)
    }

    /// Everything that is wrong with single objects.
    fn own_problems(&self) -> impl Iterator<Item = Diagnostic> {
        self.manifests.iter().flat_map(|manifest| manifest.problems.iter().cloned())
    }
}

/// `pool.yaml:12`
pub(crate) fn in_words(place: &Place) -> String {
    place.line.map_or_else(|| place.file.clone(), |line| format!("{}:{line}", place.file))
}

/// Reads files, every `.yaml`, `.yml` and `.json` of directories, and `-` for standard input.
pub fn load(paths: &[PathBuf], depth: Depth) -> Result<Loaded, BadInput> {
    loaded(Read::of_paths(paths, depth, |_| ())?)
}

/// Objects from files.
pub fn parse(inputs: &[InputFile]) -> Result<Loaded, BadInput> {
    loaded(Read::of(inputs))
}

/// Reads files of which some objects may be missing: what they refer to is elsewhere.
pub(crate) fn load_part(paths: &[PathBuf], depth: Depth) -> Result<Loaded, BadInput> {
    part(Read::of_paths(paths, depth, |_| ())?)
}

/// Objects from files of which some may be missing.
pub(crate) fn parse_part(inputs: &[InputFile]) -> Result<Loaded, BadInput> {
    part(Read::of(inputs))
}

fn part(read: Read) -> Result<Loaded, BadInput> {
    let problems: Vec<Diagnostic> = read.own_problems().collect();
    taken(read, &problems)
}

/// Objects of what was read.
pub(crate) fn loaded(read: Read) -> Result<Loaded, BadInput> {
    let problems = read.problems();
    taken(read, &problems)
}

fn taken(read: Read, problems: &[Diagnostic]) -> Result<Loaded, BadInput> {
    let closes = |problem: &&Diagnostic| problem.problem.weight == Weight::ClosesDisruption;
    let (closing, bad): (Vec<&Diagnostic>, Vec<&Diagnostic>) = problems.iter().partition(closes);
    if !bad.is_empty() {
        return Err(BadInput(problems.iter().map(ToString::to_string).collect()));
    }
    let foreign: Vec<String> = read.foreign().map(ToString::to_string).collect();
    let mut loaded = Loaded { ignored: read.notes, ..Loaded::default() };
    loaded.ignored.extend(foreign);
    let closed =
        |problem: &Diagnostic| format!("{problem}: its NodePool's nodes are not disrupted");
    loaded.ignored.extend(closing.into_iter().map(closed));
    let mut dump = Dump { started: workloads::started(&read.manifests), ..Dump::default() };
    dump.templates = ClaimTemplates::of(&read.manifests);
    let owners = workloads::owners(&read.manifests);
    let mut manifests = workloads::without_offspring(read.manifests);
    loaded.ignored.extend(admission::applied(&mut manifests));
    let mut problems = Vec::new();
    for manifest in manifests {
        for (object, place) in manifest.objects.into_iter().zip(manifest.places) {
            problems.extend(too_many(&object, &place));
            if let objects::Object::NodeClass(read) = &object {
                loaded.found.extend(found::by_status(read, place.not_ready.as_ref()));
            }
            loaded.take(object, &mut dump);
        }
    }
    loaded.ignored.extend(dump.templates.missing());
    dump.play(&mut loaded);
    loaded.objects = workloads::with_owners(loaded.objects, &owners, &mut loaded.ignored);
    if problems.is_empty() { Ok(loaded) } else { Err(BadInput(problems)) }
}

/// What is wrong with a workload of more pods than anything here plans for.
fn too_many(object: &objects::Object, place: &Place) -> Option<String> {
    let objects::Object::Workload(workload) = object else { return None };
    let is_played =
        usize::try_from(workload.replicas).is_ok_and(|replicas| replicas <= PODS_PER_PLAN_MAX);
    let (kind, key) = (workload.kind.as_str(), &workload.key);
    let most = u128::try_from(PODS_PER_PLAN_MAX).unwrap_or(u128::MAX);
    let [wanted, most] = [u128::from(workload.replicas), most].map(output::thousands);
    (!is_played).then(|| {
        format!(
            "{}: {kind} {key}: spec.replicas: {wanted} pods are more than a simulation plays, {most}",
            in_words(place)
        )
    })
}

impl Loaded {
    fn take(&mut self, object: objects::Object, dump: &mut Dump) {
        match object {
            objects::Object::NodePool(pool) => self.take_pool(pool),
            objects::Object::NodeClass(read) => {
                self.ignored.extend(unlaunchable(&read.class));
                dump.classes.push(ToHash::from(&*read));
                self.objects.push(ClusterObject::NodeClass(read.class));
            }
            objects::Object::DaemonSet(daemon_set, new) => {
                let claims = dump.templates.of_new(&daemon_set.key.namespace, &new);
                self.objects.push(ClusterObject::DaemonSet(daemon_set, claims));
            }
            objects::Object::Workload(workload) => self.take_workload(*workload, dump),
            objects::Object::Pod(read) => self.take_pod(read, dump),
            objects::Object::StorageClass(read) => {
                let (name, class, is_default) = (read.name, read.class, read.is_default);
                self.objects.push(ClusterObject::StorageClass { name, class, is_default });
            }
            objects::Object::Volume(read) => {
                self.objects.push(ClusterObject::Volume(read.name, read.volume));
            }
            objects::Object::VolumeClaim(key, claim) => {
                self.objects.push(ClusterObject::VolumeClaim(key, claim));
            }
            objects::Object::Namespace(name, labels) => {
                self.objects.push(ClusterObject::Namespace(name, labels));
            }
            objects::Object::Service((key, selector)) => {
                self.objects.push(ClusterObject::Service(key, selector));
            }
            objects::Object::Node(node) => dump.nodes.push(node),
            objects::Object::NodeClaim(claim) => dump.claims.push(*claim),
            objects::Object::StandaloneClaim(claim) => {
                self.ignored.push(format!("NodeClaim {}: it belongs to no NodePool", claim.name));
            }
            objects::Object::DisruptionBudget(budget, _) => {
                self.objects.push(ClusterObject::DisruptionBudget(budget));
            }
            objects::Object::NodeOverlay(overlay) => {
                self.objects.push(ClusterObject::NodeOverlay(overlay));
            }
            objects::Object::PodTemplate(key, spec) => {
                self.objects.push(ClusterObject::PodTemplate(key, spec));
            }
            objects::Object::CapacityBuffer(buffer) => self.objects.push(buffered(buffer)),
            objects::Object::ResourceSlice(slice) => {
                self.objects.push(ClusterObject::ResourceSlice(slice));
            }
            objects::Object::DeviceClass(class) => {
                self.objects.push(ClusterObject::DeviceClass(class));
            }
            // Claims of pods are made with their pods.
            objects::Object::ResourceClaim(read) if read.is_of_pod => {}
            objects::Object::ResourceClaim(read) => {
                let claim = claims::unreserved(read.claim);
                self.objects.push(ClusterObject::ResourceClaim(Box::new(claim)));
            }
            objects::Object::CsiNode(node, limits) => {
                self.objects.push(ClusterObject::AttachLimits(node, limits));
            }
            // Pods are admitted already; what happened decides nothing.
            objects::Object::PriorityClass(_)
            | objects::Object::RuntimeClass(_)
            | objects::Object::LimitRange(_)
            | objects::Object::Admitter(_)
            | objects::Object::Event(_)
            | objects::Object::ClaimTemplate(_) => {}
            objects::Object::ReplicationController((key, _)) => {
                self.ignored.push(format!("ReplicationController {}", key.name));
            }
            objects::Object::Other { kind, name, .. } => {
                self.ignored.push(format!("{kind} {name}"));
            }
        }
    }

    fn take_pod(&mut self, read: objects::PodManifest, dump: &mut Dump) {
        let key = &read.pod.key;
        if read.pod.is_terminal() {
            self.ignored.push(format!("Pod {key}: is left out: it has ended"));
            return;
        }
        if read.pod.owner.as_ref().is_some_and(|owner| owner.kind == "Node") {
            self.ignored.push(format!("Pod {key}: is left out: its kubelet makes it"));
            return;
        }
        let replicas = if read.is_gated { self.running(("Pod", key), 1, GATED, dump) } else { 1 };
        self.objects.push(ClusterObject::Workload(StoryWorkload {
            device_claims: dump.templates.of_pod(&read),
            volumes: read.pod.volumes,
            ..plain(read.pod.key, replicas, read.pod.spec)
        }));
    }

    fn take_pool(&mut self, pool: NodePool) {
        let is_unsupported = |problem: &&Problem| problem.weight == Weight::Unsupported;
        let problems = pool.problems.iter().filter(is_unsupported);
        let name = &pool.name;
        self.ignored.extend(problems.map(|problem| format!("NodePool {name}: {problem}")));
        self.objects.push(ClusterObject::NodePool(pool));
    }

    fn take_workload(&mut self, workload: objects::Workload, dump: &mut Dump) {
        let key = (workload.kind.as_str(), &workload.key);
        let replicas = match unscheduled(&workload) {
            Some(why) => self.running(key, workload.replicas, &why, dump),
            None => workload.replicas,
        };
        let device_claims = dump.templates.of_new(&workload.key.namespace, &workload.new);
        let plain = plain(workload.key, replicas, workload.spec);
        self.objects.push(ClusterObject::Workload(StoryWorkload {
            kind: match workload.kind {
                objects::WorkloadKind::StatefulSet => StoryWorkloadKind::StatefulSet,
                objects::WorkloadKind::Job => StoryWorkloadKind::Job,
                objects::WorkloadKind::Deployment | objects::WorkloadKind::ReplicaSet => {
                    StoryWorkloadKind::Deployment
                }
            },
            device_claims,
            volumes: workload.volumes,
            claim_templates: workload.claim_templates,
            selector: workload.selector.unwrap_or(plain.selector),
            ..plain
        }));
    }

    /// The pods with `schedulingGates` that run already, of `replicas`. The others are ignored.
    fn running(
        &mut self,
        (kind, key): (&str, &PodKey),
        replicas: u32,
        why: &str,
        dump: &Dump,
    ) -> u32 {
        let running = dump.started.get(key).map_or(0, Vec::len);
        let running = u32::try_from(running).unwrap_or(u32::MAX).min(replicas);
        self.ignored.extend(left_out(kind, key, replicas - running, why));
        running
    }
}

/// Why kube-scheduler does not look at the pods of `workload`, if so.
pub(crate) fn unscheduled(workload: &objects::Workload) -> Option<String> {
    match &workload.node {
        Some(node) => Some(format!("their `nodeName` is {node}, so kube-scheduler skips them")),
        None => workload.is_gated.then(|| GATED.to_owned()),
    }
}

/// The note that `pods` pods of an object are left out; `None` if there are none.
pub(crate) fn left_out(kind: &str, key: &PodKey, pods: u32, why: &str) -> Option<String> {
    let count = words::counted(usize::try_from(pods).unwrap_or(usize::MAX), "pod");
    (0 < pods).then(|| format!("{kind} {key}: {count} left out: {why}"))
}

/// Why nothing can be launched from `class` whatever its selectors find, if so.
pub(crate) fn unlaunchable(class: &NodeClass) -> Option<String> {
    let resolved = ResolvedNodeClass {
        class: class.clone(),
        subnets: Vec::new(),
        security_groups: Vec::new(),
        images: Vec::new(),
        reservations: Vec::new(),
        placement_group: None,
        launch_template: ResolvedTemplate::Made,
    };
    let refusal = launch_template::check_user_data(&resolved).err()?;
    Some(format!("{refusal}: every launch from it is refused"))
}

/// The `objects` that have no effect because a feature gate is off, a line for each.
pub(crate) fn closed_gates(objects: &[ClusterObject], gates: Gates<'_>) -> Vec<String> {
    let overlays = objects.iter().filter_map(|object| match object {
        ClusterObject::NodeOverlay(overlay) => Some(overlay),
        _ => None,
    });
    let buffers = objects.iter().filter_map(|object| match object {
        ClusterObject::CapacityBuffer { buffer, .. } => Some(buffer),
        _ => None,
    });
    let pools = objects.iter().filter_map(|object| match object {
        ClusterObject::NodePool(pool) => Some(pool),
        _ => None,
    });
    let mut lines = gates::unkept(pools, gates);
    lines.extend(gates::without_effect(overlays, buffers, gates));
    lines
}

/// A CapacityBuffer that keeps room for what its reference says at each look.
fn buffered(buffer: BufferManifest) -> ClusterObject {
    let key =
        |name: &ObjectName| PodKey { namespace: buffer.namespace.clone(), name: name.clone() };
    let refers_to = match &buffer.target {
        BufferReference::Template(name) => Some(BufferReferent::Template(key(name))),
        BufferReference::Workload { kind, name } => {
            objects::is_buffered(kind).then(|| BufferReferent::Workload(key(name)))
        }
        BufferReference::Unusable(_) => None,
    };
    // While nothing of that name is there, the buffer says so.
    ClusterObject::CapacityBuffer { buffer: Referable::default().resolved(buffer), refers_to }
}

/// Kind and name of `object`; no name where no message needs it.
pub(crate) fn named(object: &objects::Object) -> String {
    match object {
        objects::Object::NodePool(pool) => format!("NodePool {}", pool.name),
        objects::Object::NodeClass(read) => format!("EC2NodeClass {}", read.class.name),
        objects::Object::NodeOverlay(overlay) => format!("NodeOverlay {}", overlay.name),
        objects::Object::CapacityBuffer(buffer) => format!("CapacityBuffer {}", buffer.name),
        objects::Object::CsiNode(node, _) => format!("CSINode {node}"),
        objects::Object::PriorityClass(class) => format!("PriorityClass {}", class.name),
        objects::Object::Node(node) => format!("Node {}", node.name),
        objects::Object::Pod(read) => format!("Pod {}", read.pod.key),
        objects::Object::Workload(workload) => {
            format!("{} {}", workload.kind.as_str(), workload.key)
        }
        objects::Object::DaemonSet(daemon_set, _) => format!("DaemonSet {}", daemon_set.key),
        objects::Object::PodTemplate(key, _) => format!("PodTemplate {key}"),
        objects::Object::DeviceClass(class) => format!("DeviceClass {}", class.name),
        objects::Object::ResourceClaim(read) => format!("ResourceClaim {}", read.claim.key),
        objects::Object::ClaimTemplate(template) => {
            format!("ResourceClaimTemplate {}", template.key)
        }
        _ => "object".to_owned(),
    }
}

fn plain(key: PodKey, replicas: u32, spec: std::sync::Arc<model::PodSpec>) -> StoryWorkload {
    StoryWorkload { kind: StoryWorkloadKind::Pod, ..StoryWorkload::deployment(key, replicas, spec) }
}
