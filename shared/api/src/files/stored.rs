//! The drift hashes of Karpenter's objects: objects are taken field by field, and nothing is interpreted.
//!
//! What is wrong with NodePools and EC2NodeClasses is said by the same readers as everywhere else.

use std::collections::BTreeMap;

use model::{
    Problem,
    api_version::{AWS_V1, KARPENTER_V1},
    labels,
    problem::Weight,
    static_hash::NodeClassHash,
};

use super::{Manifest, read_object};
use crate::{
    convert::{self, ConversionSettings, FoundIn},
    document::{Diagnostic, Found, ObjectReference, documents, found_in, tree::Tree},
    karpenter::{
        hash,
        kind::{CustomKind, CustomObject},
        node_claim::NodeClaimSpec,
        node_class::Ec2NodeClassSpec,
        node_pool::NodePoolSpec,
        schema::fill_in,
    },
    objects::node_class,
};

pub use crate::karpenter::hash::Error as HashError;

/// A NodePool with its drift hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashedNodePool {
    /// The NodePool's name.
    pub name: String,
    /// The hash of what is written, or why the NodePool has none.
    pub hash: Result<u64, HashError>,
    /// The same with the defaults that an API server fills in.
    pub hash_filled_in: Result<u64, HashError>,
}

/// An EC2NodeClass with its drift hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashedNodeClass {
    /// The EC2NodeClass's name.
    pub name: String,
    /// The hash of what is written, which awaits the cluster's certificate authority, or why the EC2NodeClass has none.
    pub hash: Result<NodeClassHash, HashError>,
    /// The same with the defaults that an API server fills in.
    pub hash_filled_in: Result<NodeClassHash, HashError>,
    /// Those of its annotations that are a hash and its version.
    pub annotations: BTreeMap<String, String>,
    /// Whether its status is about the present generation of its spec, which its controller has seen then.
    pub is_observed: bool,
}

/// A NodeClaim with what its hashes are compared by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashedNodeClaim {
    /// The NodeClaim's name.
    pub name: String,
    /// The NodePool of its label `karpenter.sh/nodepool`.
    pub node_pool: Option<String>,
    /// The EC2NodeClass of its `nodeClassRef`.
    pub node_class: String,
    /// `status.nodeName`, once the node has joined.
    pub node: Option<String>,
    /// Its annotations, the hashes that it was launched with among them.
    pub annotations: BTreeMap<String, String>,
}

/// What a file holds of Karpenter's kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// `karpenter.sh/v1` NodePools.
    pub node_pools: Vec<HashedNodePool>,
    /// `karpenter.k8s.aws/v1` EC2NodeClasses.
    pub node_classes: Vec<HashedNodeClass>,
    /// `karpenter.sh/v1` NodeClaims.
    pub node_claims: Vec<HashedNodeClaim>,
    /// What is wrong with them.
    pub problems: Vec<Diagnostic>,
}

/// Reads NodePools, EC2NodeClasses and NodeClaims of `text`, which came from `file`; other kinds are
/// left out.
pub fn read(text: &str, file: &str) -> Stored {
    let mut stored = Stored::default();
    let documents = documents(text, file, &mut stored.problems);
    let founds = found_in(&documents, file);
    if convert::is_needed(&founds) {
        let settings = ConversionSettings::default();
        let founds = [FoundIn { file, founds }];
        let converted = convert::convert(founds, &settings, &mut stored.problems);
        let trees: Vec<_> = converted.into_iter().map(|converted| converted.tree).collect();
        stored.take_all(found_in(&trees, file), file);
    } else {
        stored.take_all(founds, file);
    }
    stored
}

impl Stored {
    fn take_all(&mut self, founds: Vec<Result<Found<'_>, Diagnostic>>, file: &str) {
        for outlook in founds {
            match outlook {
                Ok(outlook) => self.take(outlook, file),
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    fn take(&mut self, outlook: Found<'_>, file: &str) {
        let Found { tree, api_version, kind } = outlook;
        match (api_version, kind) {
            (KARPENTER_V1, "NodePool") if self.is_accepted(outlook, file) => {
                let pool = self.deserialized(tree, kind, file);
                let pool =
                    pool.map(|[pool, filled_in]: [CustomObject<NodePoolSpec>; 2]| HashedNodePool {
                        name: pool.metadata.name,
                        hash: hash::node_pool(&pool.spec.template),
                        hash_filled_in: hash::node_pool(&filled_in.spec.template),
                    });
                self.node_pools.extend(pool);
            }
            (AWS_V1, "EC2NodeClass") if self.is_accepted(outlook, file) => {
                let annotations = node_class::hash_annotations(tree);
                let is_observed = node_class::is_observed(tree);
                let class = self.deserialized(tree, kind, file);
                let class = class.map(|[class, filled_in]: [CustomObject<Ec2NodeClassSpec>; 2]| {
                    HashedNodeClass {
                        name: class.metadata.name,
                        hash: hash::node_class(&class.spec),
                        hash_filled_in: hash::node_class(&filled_in.spec),
                        annotations,
                        is_observed,
                    }
                });
                self.node_classes.extend(class);
            }
            (KARPENTER_V1, "NodeClaim") => {
                let claim = self.deserialized(tree, kind, file);
                self.node_claims.extend(claim.map(|[claim, _]| HashedNodeClaim::of(claim)));
            }
            _ => {}
        }
    }

    /// Whether the readers of `manifest` take the object; what they say is kept. Its name does not
    /// matter: nothing is looked up by it.
    fn is_accepted(&mut self, outlook: Found<'_>, file: &str) -> bool {
        let mut manifest = Manifest::default();
        read_object(outlook.tree, outlook.api_version, outlook.kind, file, &mut manifest);
        manifest.problems.retain(|problem| problem.problem.field != "metadata.name");
        if manifest.objects.is_empty() && !manifest.problems.is_empty() {
            self.problems.append(&mut manifest.problems);
            return false;
        }
        true
    }

    /// The object as it is written, and with the defaults that an API server fills in.
    fn deserialized<S: CustomKind>(
        &mut self,
        tree: &Tree,
        kind: &str,
        file: &str,
    ) -> Option<[CustomObject<S>; 2]> {
        let refused = |error: serde_json::Error| Diagnostic {
            file: file.to_owned(),
            line: (tree.line > 0).then_some(tree.line),
            object: Some(ObjectReference::of(kind, tree)),
            problem: Problem {
                weight: Weight::Refused,
                field: String::new(),
                rule: error.to_string().into(),
            },
            cure: None,
            is_stored: tree.has_uid(),
        };
        let written = tree.to_json();
        let mut filled_in = written.clone();
        if let Some(spec) = filled_in.get_mut("spec") {
            fill_in(spec, S::schema());
        }
        let both = serde_json::from_value(written)
            .and_then(|written| Ok([written, serde_json::from_value(filled_in)?]));
        both.map_err(|error| self.problems.push(refused(error))).ok()
    }
}

impl HashedNodeClaim {
    fn of(claim: CustomObject<NodeClaimSpec>) -> Self {
        Self {
            node_pool: claim.metadata.labels.get(labels::NODE_POOL).cloned(),
            node_class: claim.spec.node_class_ref.name,
            node: claim.status.and_then(|status| status.node_name),
            annotations: claim.metadata.annotations,
            name: claim.metadata.name,
        }
    }
}
