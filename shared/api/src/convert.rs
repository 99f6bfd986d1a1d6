//! Objects of Karpenter's older versions as those of v1, with a comment on every choice.
//!
//! v1beta1 (NodePool, EC2NodeClass, NodeClaim) and v1alpha5 with v1alpha1 (Provisioner, AWSNodeTemplate,
//! the provider within a Provisioner, Machine). What moves keeps its line, so that complaints about it still say
//! where it stands. Whether the result is right is for the readers of v1 to say. Nothing is guessed:
//! what an old object left to settings that are not in it becomes a problem with its cure.
//!
//! Karpenter: `pkg/apis/v1beta1/*_conversion.go` of release 1.0, and the migration guides to v1beta1
//! and v1.

use model::{Problem, problem::Weight};

use crate::document::{
    Diagnostic, Found, ObjectReference,
    field::Complaint,
    tree::{Entry, Tree, TreeValue},
    yaml::Comments,
};

mod aws;
mod claim;
mod edit;
mod kubelet;
mod paths;
mod pool;

/// What cannot be known from the objects themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversionSettings {
    /// The IAM role of nodes whose AWSNodeTemplate names no instance profile.
    pub role: Option<String>,
}

/// An object of v1.
#[derive(Clone, Debug)]
pub(crate) struct Converted {
    /// The object. A class keeps what its status says, and of which generation that is.
    pub(crate) tree: Tree,
    /// The version and kind that it was converted from, such as `karpenter.sh/v1beta1 NodePool`; `None` if it was of v1.
    pub(crate) from: Option<String>,
    /// What it was, before it was converted.
    was: ObjectReference,
    /// Where it stood.
    pub(crate) file: String,
    /// What was chosen, by JSON pointer.
    pub(crate) comments: Comments,
}

impl Converted {
    /// What is wrong with the object in the words of the version that it was written in, as far as its
    /// fields had other names there.
    pub(crate) fn as_written(&self, problems: &mut [Diagnostic]) {
        if self.from.is_none() {
            return;
        }
        for problem in problems {
            problem.object = Some(self.was.clone());
            if let Some(path) = paths::as_written(&self.was.kind, &problem.problem.field) {
                problem.problem.field = path;
            }
        }
    }

    /// The object as it is written, with its comments: what a server said of the old object says
    /// nothing about the new one, but of a claim its age and who still has to do with it.
    pub(crate) fn into_written(mut self) -> (Tree, Comments) {
        let is_class = self.tree.get("kind").and_then(Tree::as_text) == Some("EC2NodeClass");
        if self.from.is_some() && is_class {
            self.tree.take("status");
            if let Some(metadata) = self.tree.get_mut("metadata") {
                metadata.take("generation");
            }
        }
        (self.tree, self.comments)
    }
}

/// One object on its way to v1.
struct Draft {
    tree: Tree,
    comments: Comments,
    complaints: Vec<Complaint>,
    /// What it was, before it was converted.
    was: ObjectReference,
    /// The older version and kind that it was of, if so.
    from: Option<String>,
    /// Where it stood.
    file: String,
}

impl Draft {
    /// Says why something is as it is, above it.
    fn note(&mut self, pointer: &str, text: impl Into<String>) {
        self.comments.entry(pointer.to_owned()).or_default().push(text.into());
    }

    fn complain(&mut self, line: u32, field: &str, rule: &str, cure: &str) {
        let (weight, field) = (Weight::Refused, field.to_owned());
        let problem = Problem { weight, field, rule: rule.into() };
        let cure = (!cure.is_empty()).then(|| cure.to_owned());
        self.complaints.push(Complaint { problem, line, cure });
    }
}

/// Whether anything of `found` is of an older version.
pub(crate) fn is_needed(founds: &[Result<Found<'_>, Diagnostic>]) -> bool {
    founds.iter().flatten().any(|outlook| is_old(outlook.api_version, outlook.kind))
}

fn is_old(api_version: &str, kind: &str) -> bool {
    matches!(
        (api_version, kind),
        ("karpenter.sh/v1beta1", "NodePool" | "NodeClaim")
            | ("karpenter.k8s.aws/v1beta1", "EC2NodeClass")
            | ("karpenter.sh/v1alpha5", "Provisioner" | "Machine")
            | ("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate")
    )
}

/// Objects that were found in a file.
pub(crate) struct FoundIn<'a> {
    pub(crate) file: &'a str,
    pub(crate) founds: Vec<Result<Found<'a>, Diagnostic>>,
}

/// Every object of `files`, those of older versions as v1, in order. Objects of other kinds stay as
/// they are. A pool finds its class in any of the files.
pub(crate) fn convert<'a>(
    files: impl IntoIterator<Item = FoundIn<'a>>,
    settings: &ConversionSettings,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Converted> {
    let mut drafts = Vec::new();
    for FoundIn { file, founds } in files {
        for outlook in founds {
            match outlook {
                Ok(outlook) => match nameless(&outlook, file) {
                    Some(problem) => problems.push(problem),
                    None => draft(outlook, file, settings, &mut drafts),
                },
                Err(problem) => problems.push(problem),
            }
        }
    }
    kubelet::distribute(&mut drafts);
    claim::ask_pools(&mut drafts);
    for draft in &mut drafts {
        for Complaint { problem, line, cure } in draft.complaints.drain(..) {
            let (line, file) = ((line > 0).then_some(line), draft.file.clone());
            let object = Some(draft.was.clone());
            let is_stored = draft.tree.has_uid();
            problems.push(Diagnostic { file, line, object, problem, cure, is_stored });
        }
    }
    let converted = |Draft { tree, comments, from, was, file, .. }| Converted {
        tree,
        from,
        was,
        file,
        comments,
    };
    drafts.into_iter().map(converted).collect()
}

/// What is wrong with an object of an older version that has no name. Nothing is made of it: what would be, is
/// called after it.
fn nameless(Found { tree, api_version, kind }: &Found<'_>, file: &str) -> Option<Diagnostic> {
    let metadata = tree.get("metadata");
    let is_named =
        metadata.is_some_and(|metadata| metadata.has("name") || metadata.has("generateName"));
    if is_named || !is_old(api_version, kind) {
        return None;
    }
    let line = metadata.map_or(tree.line, |metadata| metadata.line);
    let field = "metadata.name".to_owned();
    Some(Diagnostic {
        file: file.to_owned(),
        line: (line > 0).then_some(line),
        object: Some(ObjectReference::of(kind, tree)),
        problem: Problem { weight: Weight::Refused, field, rule: "is required".into() },
        cure: Some(
            "write `metadata: {name: default}`; nothing is converted without a name".to_owned(),
        ),
        is_stored: false,
    })
}

fn draft(outlook: Found<'_>, file: &str, settings: &ConversionSettings, drafts: &mut Vec<Draft>) {
    let Found { tree, api_version, kind } = outlook;
    let mut draft = Draft {
        tree: typed(tree, api_version, kind),
        comments: Comments::new(),
        complaints: Vec::new(),
        was: ObjectReference::of(kind, tree),
        from: is_old(api_version, kind).then(|| format!("{api_version} {kind}")),
        file: file.to_owned(),
    };
    let Some(from) = draft.from.clone() else {
        drafts.push(draft);
        return;
    };
    draft.note("", format!("Converted from {from}."));
    let is_claim = matches!(kind, "NodeClaim" | "Machine");
    let is_class = matches!(kind, "EC2NodeClass" | "AWSNodeTemplate");
    clean_metadata(&mut draft, is_claim, is_class);
    if !is_claim && !is_class {
        draft.tree.take("status");
    }
    match (api_version, kind) {
        (_, "NodeClaim") => {
            claim::from_v1beta1(&mut draft);
            drafts.push(draft);
        }
        (_, "Machine") => {
            claim::from_machine(&mut draft);
            drafts.push(draft);
        }
        (_, "NodePool") => {
            pool::from_v1beta1(&mut draft);
            drafts.push(draft);
        }
        (_, "EC2NodeClass") => {
            aws::from_v1beta1(&mut draft);
            drafts.push(draft);
        }
        (_, "AWSNodeTemplate") => {
            aws::from_node_template(&mut draft, settings);
            drafts.push(draft);
        }
        _ => {
            let name = draft.was.name.clone();
            let provider = pool::from_provisioner(&mut draft, &name);
            drafts.push(draft);
            if let Some(mut class) = provider {
                aws::from_node_template(&mut class, settings);
                drafts.push(class);
            }
        }
    }
}

/// The object with its type written out: items of lists may leave it to their list.
fn typed(tree: &Tree, api_version: &str, kind: &str) -> Tree {
    let mut tree = tree.clone();
    let line = tree.line;
    tree.put("apiVersion", edit::text(line, api_version));
    tree.put("kind", edit::text(line, kind));
    tree
}

/// Annotations that the old controller kept for itself say nothing about the new object, and an API
/// server refuses what is its own. Of a claim its age counts, and who still has to do with it.
fn clean_metadata(draft: &mut Draft, is_claim: bool, is_class: bool) {
    let Some(metadata) = draft.tree.get_mut("metadata") else { return };
    for text in ["resourceVersion", "uid", "managedFields"] {
        metadata.take(text);
    }
    if !is_class {
        metadata.take("generation");
    }
    let is_orphaned = is_claim && metadata.take("ownerReferences").is_some();
    if !is_claim {
        metadata.take("creationTimestamp");
        metadata.take("finalizers");
    }
    clean_annotations(metadata);
    if is_orphaned {
        draft.note(
            "/metadata",
            "`ownerReferences` was left out: it names its pool by a uid, which an API server gives anew.",
        );
    }
}

fn clean_annotations(metadata: &mut Tree) {
    let Some(annotations) = metadata.get_mut("annotations") else { return };
    let TreeValue::Map(entries) = &mut annotations.value else { return };
    let is_kept = |entry: &Entry| {
        !entry.key.ends_with("-hash")
            && !entry.key.ends_with("-hash-version")
            && entry.key != "kubectl.kubernetes.io/last-applied-configuration"
    };
    entries.retain(is_kept);
    if entries.is_empty() {
        metadata.take("annotations");
    }
}
