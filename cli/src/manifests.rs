//! Manifests from files, as objects of the simulated cluster.

use std::{
    fmt, fs, io,
    io::Read as _,
    path::{Path, PathBuf},
};

use api::{
    document::Diagnostic,
    files::{self, Manifest},
    objects,
};
use simulator::{ClusterObject, StoryWorkload, StoryWorkloadKind};

/// What the files hold.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Objects of the cluster.
    pub objects: Vec<ClusterObject>,
    /// What plays no part, in words.
    pub ignored: Vec<String>,
}

/// Why manifests cannot be played. Every problem is listed, one a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadInput(pub Vec<String>);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for BadInput {}

impl BadInput {
    /// One problem.
    pub fn one(text: impl Into<String>) -> Self {
        Self(vec![text.into()])
    }
}

/// Reads files, every `.yaml`, `.yml` and `.json` of directories, and `-` for standard input.
pub fn load(paths: &[PathBuf]) -> Result<Loaded, BadInput> {
    parse(&texts(paths)?)
}

/// The texts of the same files, each with its name.
pub fn texts(paths: &[PathBuf]) -> Result<Vec<(String, String)>, BadInput> {
    let mut texts = Vec::new();
    for path in paths {
        for file in files(path)? {
            texts.push((file.display().to_string(), text(&file)?));
        }
    }
    Ok(texts)
}

/// Objects from texts, each with the name of its file.
pub fn parse(texts: &[(String, String)]) -> Result<Loaded, BadInput> {
    let manifests: Vec<Manifest> =
        texts.iter().map(|(file, text)| files::read(text, file)).collect();
    let mut problems: Vec<&Diagnostic> = manifests.iter().flat_map(|m| &m.problems).collect();
    let between = files::cross_check(&manifests);
    problems.extend(&between);
    if !problems.is_empty() {
        return Err(BadInput(problems.iter().map(ToString::to_string).collect()));
    }
    let mut loaded = Loaded::default();
    for object in manifests.into_iter().flat_map(|manifest| manifest.objects) {
        loaded.take(object);
    }
    Ok(loaded)
}

impl Loaded {
    fn take(&mut self, object: objects::Object) {
        match object {
            objects::Object::NodePool(pool) => self.objects.push(ClusterObject::NodePool(pool)),
            objects::Object::NodeClass(read) => {
                self.objects.push(ClusterObject::NodeClass(read.class));
            }
            objects::Object::DaemonSet(daemon_set) => {
                self.objects.push(ClusterObject::DaemonSet(daemon_set));
            }
            objects::Object::Workload(workload) => {
                self.objects.push(ClusterObject::Workload(StoryWorkload {
                    kind: match workload.kind {
                        objects::WorkloadKind::StatefulSet => StoryWorkloadKind::StatefulSet,
                        objects::WorkloadKind::Job => StoryWorkloadKind::Job,
                        objects::WorkloadKind::Deployment | objects::WorkloadKind::ReplicaSet => {
                            StoryWorkloadKind::Deployment
                        }
                    },
                    volumes: workload.volumes,
                    claim_templates: workload.claim_templates,
                    ..plain(workload.key, workload.replicas, workload.spec)
                }));
            }
            objects::Object::Pod(read) => {
                self.objects.push(ClusterObject::Workload(StoryWorkload {
                    volumes: read.pod.volumes,
                    ..plain(read.pod.key, 1, read.pod.spec)
                }));
            }
            objects::Object::StorageClass(read) => {
                let (name, class, is_default) = (read.name, read.class, read.is_default);
                self.objects.push(ClusterObject::StorageClass { name, class, is_default });
            }
            objects::Object::Volume(name, volume) => {
                self.objects.push(ClusterObject::Volume(name, volume));
            }
            objects::Object::VolumeClaim(key, claim) => {
                self.objects.push(ClusterObject::VolumeClaim(key, claim));
            }
            objects::Object::Namespace(name, labels) => {
                self.objects.push(ClusterObject::Namespace(name, labels));
            }
            objects::Object::Node(node) => self.ignored.push(format!(
                "Node {}: not supported yet: the simulated cluster starts without nodes",
                node.name
            )),
            objects::Object::NodeClaim(claim) => self.ignored.push(format!(
                "NodeClaim {}: not supported yet: the simulated cluster starts without claims",
                claim.name
            )),
            objects::Object::Other { kind, name } => {
                self.ignored.push(format!("{kind} {name}: decides nothing here"));
            }
            other => self.ignored.push(format!(
                "{}: not supported yet: the simulated cluster does not have it",
                in_words(&other)
            )),
        }
    }
}

/// Kind and name of what the simulated cluster does not have.
fn in_words(object: &objects::Object) -> String {
    match object {
        objects::Object::NodeOverlay(overlay) => format!("NodeOverlay {}", overlay.name),
        objects::Object::CapacityBuffer(buffer) => format!("CapacityBuffer {}", buffer.name),
        objects::Object::CsiNode(node, _) => format!("CSINode {node}"),
        objects::Object::PriorityClass(class) => format!("PriorityClass {}", class.name),
        objects::Object::DisruptionBudget(budget) => format!("PodDisruptionBudget {}", budget.key),
        objects::Object::PodTemplate(key, _) => format!("PodTemplate {key}"),
        _ => "object".to_owned(),
    }
}

fn plain(key: model::PodKey, replicas: u32, spec: std::sync::Arc<model::PodSpec>) -> StoryWorkload {
    StoryWorkload { kind: StoryWorkloadKind::Pod, ..StoryWorkload::deployment(key, replicas, spec) }
}

fn files(path: &Path) -> Result<Vec<PathBuf>, BadInput> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let is_manifest = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        path.is_file() && matches!(extension, Some("yaml" | "yml" | "json"))
    };
    let entries = fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
    let mut files = entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(|error| unreadable(path, &error)))
        .collect::<Result<Vec<_>, _>>()?;
    files.retain(is_manifest);
    files.sort();
    if files.is_empty() {
        return Err(BadInput::one(format!("{}: has no .yaml, .yml or .json file", path.display())));
    }
    Ok(files)
}

/// The text of a file, or of standard input for `-`.
pub fn text(path: &Path) -> Result<String, BadInput> {
    if path == Path::new("-") {
        let mut text = String::new();
        let read = io::stdin().read_to_string(&mut text);
        return read.map(|_| text).map_err(|error| unreadable(path, &error));
    }
    fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> BadInput {
    BadInput::one(format!("{}: {error}", path.display()))
}
