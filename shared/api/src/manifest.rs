//! Manifests: what users write, as objects and complaints.
//!
//! Reading never fails as a whole: what can be read is, and every complaint names file, line,
//! object, field, rule and, where people commonly go wrong, the cure.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use model::{
    Pod, PodKey, PodSpec, facts::DaemonSet, node::Node, node_class::NodeClass, node_pool::NodePool,
};

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// In the order of the file.
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
}

/// Something that a manifest describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// `karpenter.sh/v1` NodePool.
    NodePool(NodePool),
    /// `karpenter.k8s.aws/v1` EC2NodeClass.
    NodeClass(NodeClass),
    /// `v1` Node.
    Node(Node),
    /// `v1` Pod.
    Pod(Pod),
    /// What makes pods of one kind.
    Workload(Workload),
    /// `apps/v1` DaemonSet.
    DaemonSet(DaemonSet),
    /// Anything else: it decides nothing here.
    Other {
        /// Such as `Service`.
        kind: String,
        /// Its name.
        name: String,
    },
}

/// What makes the pods of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkloadKind {
    /// `apps/v1` Deployment.
    Deployment,
    /// `apps/v1` StatefulSet.
    StatefulSet,
    /// `batch/v1` Job.
    Job,
    /// `apps/v1` ReplicaSet.
    ReplicaSet,
}

impl WorkloadKind {
    /// Its name in `kind`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::Job => "Job",
            Self::ReplicaSet => "ReplicaSet",
        }
    }
}

/// A Deployment, StatefulSet, Job or ReplicaSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Which of them.
    pub kind: WorkloadKind,
    /// Namespace and name.
    pub key: PodKey,
    /// How many pods; of a Job how many at a time.
    pub replicas: u32,
    /// What each pod is like.
    pub spec: Arc<PodSpec>,
    /// `metadata.creationTimestamp`, if it is there.
    pub created_at: Option<Timestamp>,
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
                write!(f, ": {part}")?;
            }
        }
        self.cure.as_ref().map_or(Ok(()), |cure| write!(f, "; {cure}"))
    }
}

/// Reads `text`, multi-document YAML or JSON, which came from `file`. `List` kinds are expanded.
pub fn read(text: &str, file: &str) -> Manifest {
    let _ = (text, file);
    Manifest::default()
}

/// What is wrong between objects: a NodePool that names an EC2NodeClass which no manifest has.
pub fn cross_check(manifests: &[Manifest]) -> Vec<Problem> {
    let _ = manifests;
    Vec::new()
}
