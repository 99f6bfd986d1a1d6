//! The steps of an installation as a table of checks, in the order of docs/install.md: each says from what was seen
//! whether it is done, and if not, what is to be done.

mod account;
mod cluster;
mod network;
mod objects;
mod wake;

pub(super) use account::function;
pub use account::roles_of;
pub use cluster::{granted, have_resumed, karpenters};

use super::observed::Observed;
use crate::live::LiveAnswer;

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepVerdict {
    /// It is done: how it shows.
    Done(String),
    /// Something is wrong with it.
    Wrong(StepFinding),
    /// Unknown: why it could not be seen, and how it could be.
    Unknown(StepFinding),
    /// It is not needed here: why.
    NotNeeded(String),
}

/// What is the matter, and the cure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFinding {
    /// What was found, each a sentence.
    pub found: Vec<String>,
    /// What helps: sentences, or commands.
    pub cure: String,
}

/// What a step came to; an error is what keeps anybody from knowing.
type Judged = Result<StepVerdict, StepFinding>;

/// What was seen; where it was not, why, and the `cure` of that.
fn told<'a, T>(answer: &'a LiveAnswer<T>, cure: &str) -> Result<&'a T, StepFinding> {
    answer.as_ref().map_err(|why| StepFinding::of(why.as_str(), cure))
}

impl StepFinding {
    pub(super) fn of(found: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { found: vec![found.into()], cure: cure.into() }
    }
}

impl StepVerdict {
    fn wrong(found: impl Into<String>, cure: impl Into<String>) -> Self {
        Self::Wrong(StepFinding::of(found, cure))
    }

    /// Done, unless something was `found`.
    fn of(found: Vec<String>, done: impl Into<String>, cure: impl Into<String>) -> Self {
        if found.is_empty() {
            Self::Done(done.into())
        } else {
            Self::Wrong(StepFinding { found, cure: cure.into() })
        }
    }
}

/// A step of an installation.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its name, as programs know it.
    pub id: &'static str,
    /// What is to be so, as a sentence.
    pub what: &'static str,
    check: fn(&Observed) -> Judged,
}

impl Step {
    /// What it came to.
    pub fn judged(&self, seen: &Observed) -> StepVerdict {
        (self.check)(seen).unwrap_or_else(StepVerdict::Unknown)
    }
}

/// All of them.
pub const STEPS: [Step; 24] = [
    Step {
        id: "api-server",
        what: "The API server of the cluster answers.",
        check: cluster::api_server,
    },
    Step {
        id: "eks",
        what: "EKS knows the cluster, and the functions can reach it.",
        check: account::eks,
    },
    Step {
        id: "identity",
        what: "The kubeconfig, EKS and the stack are about one cluster.",
        check: account::identity,
    },
    Step {
        id: "definitions",
        what: "The kinds of Karpenter's API are defined, as this release has them.",
        check: cluster::definitions,
    },
    Step {
        id: "rbac",
        what: "The functions' rights in the cluster are granted, as this release needs them.",
        check: cluster::rbac,
    },
    Step { id: "functions", what: "All functions are deployed.", check: account::functions },
    Step { id: "release", what: "The functions are of this release.", check: account::release },
    Step { id: "settings", what: "The functions' settings can be read.", check: account::settings },
    Step {
        id: "concurrency",
        what: "Lambda has enough concurrent executions for the functions.",
        check: account::concurrency,
    },
    Step { id: "network", what: "The functions reach the API server.", check: network::functions },
    Step {
        id: "access",
        what: "The functions' roles are admitted to the cluster.",
        check: account::access,
    },
    Step {
        id: "node-role",
        what: "The roles of nodes exist, and EC2 may assume them.",
        check: account::node_roles,
    },
    Step {
        id: "node-access",
        what: "Nodes with these roles may join the cluster.",
        check: account::node_access,
    },
    Step { id: "spot", what: "The account may launch spot instances.", check: account::spot },
    Step {
        id: "karpenter",
        what: "No Karpenter provisions the cluster.",
        check: cluster::karpenter,
    },
    Step { id: "heartbeat", what: "The functions are at work.", check: cluster::heartbeat },
    Step { id: "wake", what: "The API server calls the function wake.", check: wake::called },
    Step {
        id: "nodes",
        what: "The cluster has no more nodes than the functions can read.",
        check: cluster::nodes,
    },
    Step {
        id: "discovery",
        what: "There are subnets and security groups as EC2NodeClasses select them.",
        check: network::discovery,
    },
    Step {
        id: "classes",
        what: "Every EC2NodeClass is ready: subnets, security groups and images are found.",
        check: objects::classes,
    },
    Step { id: "pools", what: "There is a NodePool, and each can launch.", check: objects::pools },
    Step {
        id: "quotas",
        what: "No quota of the account keeps EC2 from launching for a NodePool.",
        check: objects::quotas,
    },
    Step {
        id: "annotations",
        what: "Annotations protect pods and nodes as they are meant to.",
        check: objects::annotations,
    },
    Step {
        id: "records",
        what: "Nothing is left of a former installation or release.",
        check: objects::records,
    },
];
