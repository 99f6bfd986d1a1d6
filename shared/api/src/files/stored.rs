//! Karpenter's objects field by field, for hashes: nothing is interpreted and nothing filled in.
//!
//! What is wrong with NodePools and EC2NodeClasses is said by the same readers as everywhere else.

use model::{Problem, problem::Weight};
use serde::de::DeserializeOwned;

use super::{Manifest, read_object};
use crate::{
    document::{Diagnostic, Found, ObjectReference, documents, found_in, older, tree::Tree},
    karpenter::{self, NodeClaim, NodePool},
};

/// What a file holds of Karpenter's kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// `karpenter.sh/v1` NodePools.
    pub node_pools: Vec<NodePool>,
    /// `karpenter.k8s.aws/v1` EC2NodeClasses.
    pub node_classes: Vec<karpenter::Ec2NodeClass>,
    /// `karpenter.sh/v1` NodeClaims.
    pub node_claims: Vec<NodeClaim>,
    /// What is wrong with them.
    pub problems: Vec<Diagnostic>,
}

/// Reads NodePools, EC2NodeClasses and NodeClaims of `text`, which came from `file`; other kinds are
/// left out.
pub fn read(text: &str, file: &str) -> Stored {
    let mut stored = Stored::default();
    let documents = documents(text, file, &mut stored.problems);
    let found = found_in(&documents, file);
    if older::is_needed(&found) {
        let settings = older::Settings::default();
        let converted = older::convert(found, file, &settings, &mut stored.problems);
        let trees: Vec<_> = converted.into_iter().map(|converted| converted.tree).collect();
        stored.take_all(found_in(&trees, file), file);
    } else {
        stored.take_all(found, file);
    }
    stored
}

impl Stored {
    fn take_all(&mut self, found: Vec<Result<Found<'_>, Diagnostic>>, file: &str) {
        for found in found {
            match found {
                Ok(found) => self.take(found, file),
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    fn take(&mut self, found: Found<'_>, file: &str) {
        let Found { tree, api_version, kind } = found;
        match (api_version, kind) {
            ("karpenter.sh/v1", "NodePool") if self.is_accepted(found, file) => {
                push(tree, kind, file, &mut self.node_pools, &mut self.problems);
            }
            ("karpenter.k8s.aws/v1", "EC2NodeClass") if self.is_accepted(found, file) => {
                push(tree, kind, file, &mut self.node_classes, &mut self.problems);
            }
            ("karpenter.sh/v1", "NodeClaim") => {
                push(tree, kind, file, &mut self.node_claims, &mut self.problems);
            }
            _ => {}
        }
    }

    /// Whether the readers of `manifest` take the object; what they say is kept. Its name does not
    /// matter: nothing is looked up by it.
    fn is_accepted(&mut self, found: Found<'_>, file: &str) -> bool {
        let mut manifest = Manifest::default();
        read_object(found.tree, found.api_version, found.kind, file, &mut manifest);
        manifest.problems.retain(|problem| problem.problem.field != "metadata.name");
        if manifest.objects.is_empty() && !manifest.problems.is_empty() {
            self.problems.append(&mut manifest.problems);
            return false;
        }
        true
    }
}

fn push<T: DeserializeOwned>(
    tree: &Tree,
    kind: &str,
    file: &str,
    objects: &mut Vec<T>,
    problems: &mut Vec<Diagnostic>,
) {
    match serde_json::from_value(tree.to_json()) {
        Ok(object) => objects.push(object),
        Err(error) => {
            problems.push(Diagnostic {
                file: file.to_owned(),
                line: (tree.line > 0).then_some(tree.line),
                object: Some(ObjectReference::of(kind, tree)),
                problem: Problem {
                    weight: Weight::Refused,
                    field: String::new(),
                    rule: error.to_string().into(),
                },
                cure: None,
            });
        }
    }
}
