//! Manifests: what users write, as objects and complaints.
//!
//! Reading never fails as a whole: what can be read is, and every complaint names file, line,
//! object, field, rule and, where people commonly go wrong, the cure.

use std::{collections::BTreeSet, fmt};

use self::conditions::Conditions;
use crate::{
    convert,
    fields::{Complaints, Field, Unknown, Weight},
    kubernetes::Page,
    tree::{self, Tree, Value},
};

mod affinity;
mod block_device;
pub(crate) mod budget;
pub(crate) mod buffer;
mod conditions;
mod container;
mod cures;
mod disruption;
mod json_list;
mod kubelet;
mod label_selector;
mod launch_template;
pub(crate) mod metadata;
mod network;
pub(crate) mod node;
mod node_claim;
pub(crate) mod node_class;
pub(crate) mod node_pool;
mod object;
pub(crate) mod overlay;
pub(crate) mod pod;
mod pod_spec;
pub(crate) mod requirement;
mod selector;
pub mod stored;
mod topology;
pub(crate) mod volume;
pub(crate) mod workload;

pub use budget::PriorityClass;
pub use buffer::{BufferManifest, BufferReference, Referable};
pub use object::{Object, StorageClassManifest, Workload, WorkloadKind};
pub use pod::PodManifest;

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// In the order of the file, but for pods in a list that a server made: they are the first.
    pub objects: Vec<Object>,
    /// Where each of `objects` stands: as many, in the same order.
    pub places: Vec<Place>,
    /// What is wrong. Objects with a problem are not among `objects`.
    pub problems: Vec<Problem>,
}

/// Where an object stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The first line of the object, where it is known.
    pub line: Option<u32>,
    /// Of a NodePool: the line of its `nodeClassRef`.
    pub node_class_line: Option<u32>,
    /// Whether an API server knows the object: it has a uid.
    pub is_stored: bool,
    /// Why the object is not ready, by the conditions in its status, if it has any. Not told of pods.
    pub not_ready: Option<String>,
}

/// One thing that is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The line, where it is known.
    pub line: Option<u32>,
    /// Kind and name, such as `NodePool general`; empty when no object could be read.
    pub object: String,
    /// The field, such as `spec.weight`; empty when it is about the whole.
    pub field: String,
    /// What is wrong with it, and the rule that it breaks.
    pub rule: String,
    /// What to write instead, where people commonly go wrong.
    pub cure: Option<String>,
}

impl fmt::Display for Problem {
    /// `pool.yaml:12: NodePool general: spec.weight: must be 1 to 100`, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        for part in [&self.object, &self.field, &self.rule] {
            if !part.is_empty() {
                // A text that is quoted may have lines of its own.
                write!(f, ": {}", part.replace('\n', "\\n"))?;
            }
        }
        self.cure.as_ref().map_or(Ok(()), |cure| write!(f, "; {cure}"))
    }
}

/// Reads `text`, multi-document YAML or JSON, which came from `file`. `List` kinds are expanded.
///
/// An object that an API server would refuse is a problem and not among the objects. One that only
/// Karpenter's own validation finds fault with is both; its own `problems` say why it is unusable.
pub fn read(text: &str, file: &str) -> Manifest {
    if let Some((mut pods, rest)) = json_list::split(text, file) {
        pods.add(&[rest], file);
        return pods;
    }
    let mut manifest = Manifest::default();
    let documents = documents(text, file, &mut manifest.problems);
    manifest.add(&documents, file);
    manifest
}

impl Manifest {
    /// The pods of a page that a server sent.
    pub fn of_pods(page: Page<PodManifest>, file: &str) -> Self {
        let place = Place { file: file.to_owned(), is_stored: true, ..Place::default() };
        let problem = |(object, rule)| Problem {
            file: file.to_owned(),
            line: None,
            object,
            field: String::new(),
            rule,
            cure: None,
        };
        Self {
            places: vec![place; page.items.len()],
            objects: page.items.into_iter().map(Object::Pod).collect(),
            problems: page.malformed.into_iter().map(problem).collect(),
        }
    }

    fn add(&mut self, documents: &[Tree], file: &str) {
        let found = found_in(documents, file);
        if convert::is_needed(&found) {
            let settings = convert::Settings::default();
            let converted = convert::convert(found, file, &settings, &mut self.problems);
            let trees: Vec<_> = converted.into_iter().map(|converted| converted.tree).collect();
            read_all(found_in(&trees, file), file, self);
        } else {
            read_all(found, file, self);
        }
    }
}

fn read_all(found: Vec<Result<Found<'_>, Problem>>, file: &str, manifest: &mut Manifest) {
    for found in found {
        match found {
            Ok(Found { tree, api_version, kind }) => {
                read_object(tree, api_version, kind, file, manifest);
            }
            Err(problem) => manifest.problems.push(problem),
        }
    }
}

/// The documents of `text`; none, and a problem, if it is no YAML.
pub(crate) fn documents(text: &str, file: &str, problems: &mut Vec<Problem>) -> Vec<Tree> {
    tree::parse_yaml(text).unwrap_or_else(|error| {
        let line = error.line.and_then(|line| text.lines().nth(usize::try_from(line).ok()? - 1));
        let left_in = line.and_then(cures::placeholder);
        problems.push(Problem {
            file: file.to_owned(),
            line: error.line,
            object: String::new(),
            field: String::new(),
            rule: error.rule,
            cure: left_in.map(|name| format!("`{name}` was left in: put the value in its place")),
        });
        Vec::new()
    })
}

/// An object of a file that has not been read yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
}

/// Every object of `documents` in order; those of lists by themselves.
pub(crate) fn found_in<'a>(documents: &'a [Tree], file: &str) -> Vec<Result<Found<'a>, Problem>> {
    let mut found = Vec::new();
    for document in documents {
        find(document, None, file, &mut found);
    }
    found
}

/// Type of the items of a list, for items that do not say it themselves.
#[derive(Clone, Copy)]
struct ItemType<'a> {
    api_version: &'a str,
    kind: &'a str,
}

fn find<'a>(
    document: &'a Tree,
    item_type: Option<ItemType<'a>>,
    file: &str,
    found: &mut Vec<Result<Found<'a>, Problem>>,
) {
    let text = |key: &str| document.get(key).and_then(Tree::as_text);
    let api_version = text("apiVersion").or_else(|| item_type.map(|item| item.api_version));
    let kind = text("kind").or_else(|| item_type.map(|item| item.kind));
    let (Some(api_version), Some(kind)) = (api_version, kind) else {
        found.push(Err(Problem {
            file: file.to_owned(),
            line: Some(document.line),
            object: String::new(),
            field: String::new(),
            rule: "not a Kubernetes object: `apiVersion` and `kind` are required".to_owned(),
            cure: None,
        }));
        return;
    };
    if let (Some(item_kind), Some(Value::List(items))) =
        (kind.strip_suffix("List"), document.get("items").map(|tree| &tree.value))
    {
        let item_type = ItemType { api_version, kind: item_kind };
        let item_type = (!item_kind.is_empty()).then_some(item_type);
        for item in items {
            find(item, item_type, file, found);
        }
        return;
    }
    found.push(Ok(Found { tree: document, api_version, kind }));
}

fn read_object(tree: &Tree, api_version: &str, kind: &str, file: &str, manifest: &mut Manifest) {
    let name = tree.get("metadata").and_then(|metadata| metadata.get("name"));
    let name = name.and_then(Tree::as_text).unwrap_or("(without a name)");
    let is_stored = tree.get("metadata").and_then(|metadata| metadata.get("uid")).is_some();
    // What comes from a server may be newer than this program; nobody writes claims by hand.
    let is_from_server = is_stored || kind == "NodeClaim";
    let unknown = if is_from_server { Unknown::Ignored } else { Unknown::Refused };
    let complaints = Complaints::new(unknown);
    let root = Field::root(tree, &complaints);
    let mut place = Place {
        file: file.to_owned(),
        line: line_of(tree.line),
        node_class_line: None,
        is_stored,
        not_ready: Conditions::of(tree).not_ready().filter(|_| kind != "Pod"),
    };
    let read = object::read(&root, &complaints, api_version, kind);
    let object = read.map(|read| {
        place.node_class_line = read.node_class_line.and_then(line_of);
        read.object
            .unwrap_or_else(|| Object::Other { kind: kind.to_owned(), name: name.to_owned() })
    });
    let list = complaints.into_list();
    let is_refused = list.iter().any(|complaint| complaint.weight == Weight::Refused);
    let told = list.into_iter().filter(|complaint| complaint.weight != Weight::Unsupported);
    manifest.problems.extend(told.map(|complaint| Problem {
        file: file.to_owned(),
        line: line_of(complaint.line),
        object: format!("{kind} {name}"),
        field: complaint.path,
        rule: complaint.rule,
        cure: complaint.cure,
    }));
    if let (Some(object), false) = (object, is_refused) {
        manifest.objects.push(object);
        manifest.places.push(place);
    }
}

fn line_of(line: u32) -> Option<u32> {
    (line > 0).then_some(line)
}

/// What is wrong between objects: a NodePool that names an EC2NodeClass which no manifest has. A
/// class that was read and refused counts as there: that was said already.
pub fn cross_check(manifests: &[Manifest]) -> Vec<Problem> {
    let mut classes = BTreeSet::new();
    for manifest in manifests {
        for object in &manifest.objects {
            if let Object::NodeClass(class) = object {
                classes.insert(format!("EC2NodeClass {}", class.name));
            }
        }
        classes.extend(manifest.problems.iter().map(|problem| problem.object.clone()));
    }
    let mut problems = Vec::new();
    for manifest in manifests {
        for (object, place) in manifest.objects.iter().zip(&manifest.places) {
            let Object::NodePool(pool) = object else { continue };
            let class = &pool.template.node_class;
            if !classes.contains(&format!("EC2NodeClass {class}")) {
                problems.push(Problem {
                    file: place.file.clone(),
                    line: place.node_class_line.or(place.line),
                    object: format!("NodePool {}", pool.name),
                    field: "spec.template.spec.nodeClassRef.name".to_owned(),
                    rule: format!("there is no EC2NodeClass `{class}`"),
                    cure: None,
                });
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests;
