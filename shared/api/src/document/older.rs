//! Objects of Karpenter's older versions as those of v1, with a comment on every choice.
//!
//! v1beta1 (NodePool, EC2NodeClass, NodeClaim) and v1alpha5 with v1alpha1 (Provisioner, AWSNodeTemplate,
//! the provider within a Provisioner, Machine). What moves keeps its line, so that complaints about it still say
//! where it stands. Whether the result is right is for the readers of v1 to say. Nothing is guessed:
//! what an old object left to settings that are not in it becomes a problem with its cure.
//!
//! Karpenter: `pkg/apis/v1beta1/*_conversion.go` of release 1.0, and the migration guides to v1beta1
//! and v1.

use super::{
    Found, Problem,
    tree::{Entry, Tree, Value},
    yaml::Comments,
};

mod aws;
mod claim;
mod edit;
mod kubelet;
mod pool;

pub(crate) use aws::LAUNCH_TEMPLATE;

/// What cannot be known from the objects themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The IAM role of nodes whose AWSNodeTemplate names no instance profile.
    pub role: Option<String>,
}

/// An object of v1.
#[derive(Clone, Debug)]
pub(crate) struct Converted {
    /// The object.
    pub(crate) tree: Tree,
    /// What was chosen, by JSON pointer.
    pub(crate) comments: Comments,
}

/// One object on its way to v1.
struct Draft {
    tree: Tree,
    comments: Comments,
    complaints: Vec<Complaint>,
    /// What it was, such as `NodePool general`, and of which version.
    was: String,
}

struct Complaint {
    line: u32,
    field: String,
    rule: String,
    cure: Option<String>,
}

impl Draft {
    /// Says why something is as it is, above it.
    fn note(&mut self, pointer: &str, text: impl Into<String>) {
        self.comments.entry(pointer.to_owned()).or_default().push(text.into());
    }

    fn complain(&mut self, line: u32, field: &str, rule: &str, cure: &str) {
        self.complaints.push(Complaint {
            line,
            field: field.to_owned(),
            rule: rule.to_owned(),
            cure: (!cure.is_empty()).then(|| cure.to_owned()),
        });
    }
}

/// Whether anything of `found` is of an older version.
pub(crate) fn is_needed(found: &[Result<Found<'_>, Problem>]) -> bool {
    found.iter().flatten().any(|found| is_old(found.api_version, found.kind))
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

/// Every object of `found`, those of older versions as v1, in order. Objects of other kinds stay as
/// they are.
pub(crate) fn convert(
    found: Vec<Result<Found<'_>, Problem>>,
    file: &str,
    settings: &Settings,
    problems: &mut Vec<Problem>,
) -> Vec<Converted> {
    let mut drafts = Vec::new();
    for found in found {
        match found {
            Ok(found) => draft(found, settings, &mut drafts),
            Err(problem) => problems.push(problem),
        }
    }
    kubelet::distribute(&mut drafts);
    claim::ask_pools(&mut drafts);
    for draft in &mut drafts {
        for complaint in draft.complaints.drain(..) {
            problems.push(Problem {
                file: file.to_owned(),
                line: (complaint.line > 0).then_some(complaint.line),
                object: draft.was.clone(),
                field: complaint.field,
                rule: complaint.rule,
                cure: complaint.cure,
            });
        }
    }
    drafts.into_iter().map(|Draft { tree, comments, .. }| Converted { tree, comments }).collect()
}

fn draft(found: Found<'_>, settings: &Settings, drafts: &mut Vec<Draft>) {
    let Found { tree, api_version, kind } = found;
    let name = tree.get("metadata").and_then(|metadata| metadata.get("name"));
    let name = name.and_then(Tree::as_text).unwrap_or("(without a name)");
    let mut draft = Draft {
        tree: typed(tree, api_version, kind),
        comments: Comments::new(),
        complaints: Vec::new(),
        was: format!("{kind} {name}"),
    };
    if !is_old(api_version, kind) {
        drafts.push(draft);
        return;
    }
    draft.note("", format!("Converted from {api_version} {kind}."));
    let is_claim = matches!(kind, "NodeClaim" | "Machine");
    clean_metadata(&mut draft, is_claim);
    if !is_claim {
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
            let provider = pool::from_provisioner(&mut draft, name);
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
fn clean_metadata(draft: &mut Draft, is_claim: bool) {
    let Some(metadata) = draft.tree.get_mut("metadata") else { return };
    for own in ["resourceVersion", "uid", "generation", "managedFields"] {
        metadata.take(own);
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
    let Value::Map(entries) = &mut annotations.value else { return };
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
