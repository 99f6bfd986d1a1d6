//! Manifests: what users write, as objects and complaints.
//!
//! Reading never fails as a whole: what can be read is, and every complaint names file, line,
//! object, field, rule and, where people commonly go wrong, the cure.

use std::collections::BTreeSet;

use model::{
    Operator, Problem, Requirement, Requirements,
    api_version::{self, RESOURCE_V1},
    condition::NotReady,
    problem::Weight,
};

use crate::{
    convert::{self, ConversionSettings, Converted, FoundIn},
    document::{
        Diagnostic, Found, ObjectReference, documents,
        field::{Complaint, Complaints, Field, Unknown},
        found_in,
        tree::{Tree, TreeValue},
    },
    lists::{self, Page},
    objects::{self, ClaimManifest, Object, PodManifest, node_class, node_pool, resource_claim},
};

pub mod duplicates;
mod json_list;
pub mod lines;
pub mod older;
pub mod stored;

pub use json_list::ListReader;

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// In the order of the file, but for what a server stored of the many kinds of a list in JSON (pods,
    /// nodes and their like): they are the first.
    pub objects: Vec<Object>,
    /// Where each of `objects` stands: as many, in the same order.
    pub places: Vec<Place>,
    /// What is wrong. Objects with a problem are not among `objects`, but for ResourceClaims that a server stored: these
    /// keep their devices.
    pub problems: Vec<Diagnostic>,
    /// NodePools that are left to another provider, such as EKS Auto Mode. Nothing is wrong with them.
    pub foreign: Vec<Diagnostic>,
    /// Fields that an API server drops silently unless the client asks for warnings: they have no effect.
    pub warnings: Vec<Diagnostic>,
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
    /// Of a NodePool and an EC2NodeClass: why it is not ready, by the conditions in its status, if it has
    /// any.
    pub not_ready: Option<NotReady>,
    /// Of an object that was converted to v1: what it was written as, such as `karpenter.sh/v1beta1 NodePool`.
    pub converted_from: Option<String>,
}

/// Reads `text`, multi-document YAML or JSON, which came from `file`. `List` kinds are expanded.
///
/// An object that an API server would refuse is a problem and not among the objects. One that only
/// Karpenter's own validation finds fault with is both; its own `problems` say why it is unusable.
pub fn read(text: &str, file: &str) -> Manifest {
    if let Some(manifest) = json_list::read(text, file) {
        return manifest;
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
        let problem = |lists::MalformedObject { object, problem: rule, .. }| Diagnostic {
            file: file.to_owned(),
            line: None,
            object: Some(object),
            problem: Problem { weight: Weight::Refused, field: String::new(), rule: rule.into() },
            cure: None,
            is_stored: true,
        };
        Self {
            places: vec![place; page.items.len()],
            objects: page.items.into_iter().map(Object::Pod).collect(),
            problems: page.malformed.into_iter().map(problem).collect(),
            ..Self::default()
        }
    }

    fn add(&mut self, documents: &[Tree], file: &str) {
        let founds = found_in(documents, file);
        if convert::is_needed(&founds) {
            let settings = ConversionSettings::default();
            let founds = [FoundIn { file, founds }];
            let converted = convert::convert(founds, &settings, &mut self.problems);
            for converted in &converted {
                self.add_converted(converted);
            }
        } else {
            read_all(founds, file, self);
        }
    }
}

impl Manifest {
    /// Adds an object that was of an older version; what is wrong with it is said in that version's
    /// words.
    pub(crate) fn add_converted(&mut self, converted: &Converted) {
        let (before, place) = (self.problems.len(), self.places.len());
        let founds = found_in(std::slice::from_ref(&converted.tree), &converted.file);
        read_all(founds, &converted.file, self);
        for place in self.places.get_mut(place..).unwrap_or_default() {
            place.converted_from.clone_from(&converted.from);
        }
        converted.as_written(self.problems.get_mut(before..).unwrap_or_default());
    }
}

fn read_all(founds: Vec<Result<Found<'_>, Diagnostic>>, file: &str, manifest: &mut Manifest) {
    for outlook in founds {
        match outlook {
            Ok(Found { tree, api_version, kind }) => {
                read_object(tree, api_version, kind, file, manifest);
            }
            Err(problem) => manifest.problems.push(problem),
        }
    }
}

fn read_object(tree: &Tree, api_version: &str, kind: &str, file: &str, manifest: &mut Manifest) {
    let reference = ObjectReference::of(kind, tree);
    let is_stored = tree.has_uid();
    // What comes from a server may be newer than this program. A claim that has a status is from one, whatever was taken
    // out of its metadata.
    let is_from_server = is_stored || kind == "NodeClaim" && tree.get("status").is_some();
    let unknown = if is_from_server { Unknown::Ignored } else { Unknown::Refused };
    let complaints = Complaints::new(unknown);
    let root = Field::root(tree, &complaints);
    let mut place = Place {
        file: file.to_owned(),
        line: line_of(tree.line),
        node_class_line: None,
        is_stored,
        not_ready: match kind {
            "EC2NodeClass" => node_class::not_ready(tree),
            "NodePool" => node_pool::not_ready(tree),
            _ => None,
        },
        converted_from: None,
    };
    let read = objects::read(&root, &complaints, api_version, kind);
    let mut object = read.map(|read| {
        place.node_class_line = read.node_class_line.and_then(line_of);
        read.object.unwrap_or_else(|| Object::Other {
            group: api_version::group(api_version).to_owned(),
            kind: reference.kind.clone(),
            name: reference.name.clone(),
        })
    });
    if kind == "NodePool" {
        manifest.warnings.extend(pruned_kubelet(tree, file, &reference));
        manifest.warnings.extend(contradiction(tree, file, &reference));
    }
    let list = complaints.into_list();
    let is_refused = list.iter().any(|complaint| complaint.problem.weight == Weight::Refused);
    let reported =
        list.into_iter().filter(|complaint| complaint.problem.weight != Weight::Unsupported);
    let is_foreign = kind == "NodePool" && !is_refused && node_pool::is_of_another_provider(tree);
    let list = if is_foreign { &mut manifest.foreign } else { &mut manifest.problems };
    list.extend(reported.map(|Complaint { problem, line, cure }| Diagnostic {
        file: file.to_owned(),
        line: line_of(line),
        object: Some(reference.clone()),
        problem,
        cure,
        is_stored,
    }));
    if is_refused {
        let is_stored_claim = is_stored && (api_version, kind) == (RESOURCE_V1, "ResourceClaim");
        let claim = is_stored_claim.then(|| resource_claim::rest(tree)).flatten();
        let manifest = |claim| ClaimManifest { claim, is_of_pod: false };
        object = claim.map(|claim| Object::ResourceClaim(Box::new(manifest(claim))));
    }
    if let Some(object) = object {
        manifest.objects.push(object);
        manifest.places.push(place);
    }
}

/// The kubelet settings of a NodePool of v1, where they went to the class.
fn pruned_kubelet(tree: &Tree, file: &str, reference: &ObjectReference) -> Option<Diagnostic> {
    let spec = tree.get("spec")?.get("template")?.get("spec")?;
    let kubelet = spec.get("kubelet")?;
    Some(Diagnostic {
        file: file.to_owned(),
        line: line_of(kubelet.line),
        object: Some(reference.clone()),
        problem: Problem::unusable(
            "spec.template.spec.kubelet",
            "is pruned by the API server: nodes never see it",
        ),
        cure: Some("kubelet settings belong in the EC2NodeClass".to_owned()),
        is_stored: tree.has_uid(),
    })
}

/// Two requirements of a NodePool on one label that no value meets.
fn contradiction(tree: &Tree, file: &str, reference: &ObjectReference) -> Option<Diagnostic> {
    let spec = tree.get("spec")?.get("template")?.get("spec")?;
    let TreeValue::List(items) = &spec.get("requirements")?.value else { return None };
    let requirements: Vec<(&Tree, Requirement)> =
        items.iter().filter_map(|item| Some((item, requirement_of(item)?))).collect();
    let exclude = |first: &Requirement, second: &Requirement| {
        let [first, second] =
            [first, second].map(|alone| Requirements::of_distinct([alone.clone()]));
        first.intersects(&second).is_err()
    };
    let mut places = requirements.iter().enumerate();
    let (line, earlier, later) = places.find_map(|(place, (item, later))| {
        let mut before = requirements.iter().take(place).map(|(_, earlier)| earlier);
        let earlier = before.find(|earlier| exclude(earlier, later))?;
        Some((item.line, earlier, later))
    })?;
    Some(Diagnostic {
        file: file.to_owned(),
        line: line_of(line),
        object: Some(reference.clone()),
        problem: Problem::unusable(
            "spec.template.spec.requirements",
            format!("`{earlier}` and `{later}` exclude each other: no node meets both"),
        ),
        cure: None,
        is_stored: tree.has_uid(),
    })
}

fn requirement_of(item: &Tree) -> Option<Requirement> {
    let operator = Operator::parse(item.get("operator")?.as_text()?)?;
    let values = item.get("values").map(|values| &values.value);
    let values: Vec<&str> = match values {
        Some(TreeValue::List(values)) => values.iter().filter_map(Tree::as_text).collect(),
        _ => Vec::new(),
    };
    Requirement::new(item.get("key")?.as_text()?, operator, values).ok()
}

fn line_of(line: u32) -> Option<u32> {
    (line > 0).then_some(line)
}

/// What is wrong between objects: a NodePool that names an EC2NodeClass which no manifest has. A
/// class that was read and refused counts as there: that was said already. Beside a document that could not be read no
/// class is missed: it may be there.
pub fn cross_check(manifests: &[Manifest]) -> Vec<Diagnostic> {
    let mut problems = manifests.iter().flat_map(|manifest| &manifest.problems);
    if problems.any(|problem| problem.object.is_none()) {
        return Vec::new();
    }
    let class_called =
        |name: &str| ObjectReference { kind: "EC2NodeClass".to_owned(), name: name.to_owned() };
    let mut classes = BTreeSet::new();
    for manifest in manifests {
        for object in &manifest.objects {
            if let Object::NodeClass(class) = object {
                classes.insert(class_called(class.class.name.as_str()));
            }
        }
        let refused = manifest.problems.iter().filter_map(|problem| problem.object.clone());
        classes.extend(refused.map(|object| match object.kind.as_str() {
            "AWSNodeTemplate" => class_called(&object.name),
            _ => object,
        }));
    }
    let mut problems = Vec::new();
    for manifest in manifests {
        for (object, place) in manifest.objects.iter().zip(&manifest.places) {
            let Object::NodePool(pool) = object else { continue };
            let class = &pool.template.node_class;
            let of_reference = "spec.template.spec.nodeClassRef";
            if pool.problems.iter().any(|problem| problem.field == of_reference) {
                continue; // Another provider's.
            }
            if !classes.contains(&class_called(class.as_str())) {
                let (kind, name) = ("NodePool".to_owned(), pool.name.to_string());
                problems.push(Diagnostic {
                    file: place.file.clone(),
                    line: place.node_class_line.or(place.line),
                    object: Some(ObjectReference { kind, name }),
                    problem: Problem::unusable(
                        "spec.template.spec.nodeClassRef.name",
                        format!("there is no EC2NodeClass `{class}`"),
                    ),
                    cure: None,
                    is_stored: place.is_stored,
                });
            }
        }
    }
    problems
}
