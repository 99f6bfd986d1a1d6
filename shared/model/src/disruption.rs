//! Disrupting nodes that still work: by which method, for which reason, which of them, and what
//! is launched in their place.
//!
//! Karpenter: `pkg/controllers/disruption/types.go`, `Command`; <https://karpenter.sh/docs/concepts/disruption/>.

use std::{collections::BTreeSet, fmt};

use jiff::{SignedDuration, Timestamp};

use crate::{
    HourlyPrice, InstanceTypeName, NodeClaimName, NodeName, NodePoolName, OfferingKey, PodKey,
    Requirements,
    rollout::{AcceptedImages, Halt},
};

/// How long a command waits before it is validated and carried out, where its method waits at all.
///
/// Karpenter: `pkg/controllers/disruption/consolidation.go`, `consolidationTTL`.
pub const VALIDATION_DELAY: SignedDuration = SignedDuration::from_secs(15);

/// What a node is disrupted for: the reasons that a budget of a NodePool can name.
///
/// Karpenter: `pkg/apis/v1/nodepool.go`, `DisruptionReason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DisruptionReason {
    /// The pods of the node fit elsewhere for less.
    Underutilized,
    /// No pod needs the node.
    Empty,
    /// The node differs from its NodePool or EC2NodeClass.
    Drifted,
    /// A condition of the node says that it fails.
    Unhealthy,
}

impl DisruptionReason {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::Underutilized, Self::Empty, Self::Drifted, Self::Unhealthy];

    /// Its name in budgets, conditions and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Underutilized => "Underutilized",
            Self::Empty => "Empty",
            Self::Drifted => "Drifted",
            Self::Unhealthy => "Unhealthy",
        }
    }
}

/// A method of finding nodes to disrupt, in the order in which they are asked: the first that finds
/// something acts.
///
/// Karpenter: `pkg/controllers/disruption/controller.go`, `NewMethods`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Nodes that are ill, behind the gate `NodeRepair`.
    Repair,
    /// Nodes without pods of their own.
    Emptiness,
    /// Nodes of static NodePools that no longer look like them.
    StaticDrift,
    /// Nodes that no longer look like their NodePool.
    Drift,
    /// Several nodes whose pods fit elsewhere, or onto one new node, for less.
    MultiNode,
    /// One such node.
    SingleNode,
}

impl Method {
    /// Every method, in the order in which they are asked.
    pub const ALL: [Self; 6] = [
        Self::Repair,
        Self::Emptiness,
        Self::StaticDrift,
        Self::Drift,
        Self::MultiNode,
        Self::SingleNode,
    ];

    /// Its name: Karpenter's for consolidation types, and the method's own elsewhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Repair => "repair",
            Self::Emptiness => "emptiness",
            Self::StaticDrift => "static-drift",
            Self::Drift => "drift",
            Self::MultiNode => "multi-node-consolidation",
            Self::SingleNode => "single-node-consolidation",
        }
    }

    /// The method called `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == text)
    }

    /// What it disrupts nodes for, and so which budgets hold it back.
    pub const fn reason(self) -> DisruptionReason {
        match self {
            Self::Repair => DisruptionReason::Unhealthy,
            Self::Emptiness => DisruptionReason::Empty,
            Self::StaticDrift | Self::Drift => DisruptionReason::Drifted,
            Self::MultiNode | Self::SingleNode => DisruptionReason::Underutilized,
        }
    }

    /// Whether it disrupts a node at last, though pods forbid it: repair always, for its policies say
    /// how long a node may drain; the others where the NodeClaim has a `terminationGracePeriod`. Such a method does not wait either: what it finds is carried out at
    /// once.
    ///
    /// Karpenter: `types.go`, `EventualDisruptionClass`.
    pub const fn is_eventual(self) -> bool {
        matches!(self, Self::Repair | Self::StaticDrift | Self::Drift)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How long a command waits for its replacements before it is rolled back.
///
/// Karpenter: `pkg/controllers/disruption/queue.go`, `minRetryDuration`. It waits longer, up to an
/// hour, only while thousands of nodes are disrupted at once.
pub const REPLACEMENTS_WITHIN: SignedDuration = SignedDuration::from_mins(10);

/// Nodes to disrupt together, once their replacements are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// How they were found.
    pub method: Method,
    /// When they were found.
    pub found_at: Timestamp,
    /// The claims to delete, each once, in the order in which their pods are moved.
    pub candidates: Vec<NodeClaimName>,
    /// What is launched in their place.
    pub replacements: Vec<Replacement>,
    /// How long their nodes may drain at most; without it, as long as their claims say.
    pub drain: Option<SignedDuration>,
    /// How far it is.
    pub progress: Progress,
}

impl Command {
    /// Whether it waits for its validation, and nothing was done about it yet.
    pub const fn is_found(&self) -> bool {
        matches!(self.progress, Progress::Found)
    }

    /// Whether its candidates take no pods any more: its replacements were created and are waited for, or they
    /// are rebooted.
    pub const fn is_under_way(&self) -> bool {
        matches!(self.progress, Progress::Launching { .. } | Progress::Rebooting { .. })
    }

    /// Whether its candidates are rebooted, and nothing comes in their place.
    pub const fn reboots(&self) -> bool {
        matches!(self.progress, Progress::Rebooting { .. })
    }

    /// Whether its candidates are to be freed again.
    pub const fn is_rolled_back(&self) -> bool {
        matches!(self.progress, Progress::RolledBack { .. })
    }
}

/// How far a command is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It was found, and waits to be validated.
    Found,
    /// Its replacements were created together with this. No new pod goes onto the candidates, which
    /// are deleted once all replacements are initialized.
    Launching {
        /// Since when.
        since: Timestamp,
        /// The claims of its replacements.
        claims: Vec<NodeClaimName>,
    },
    /// Nothing comes in their place: the candidates are emptied and rebooted, and their nodes take pods again
    /// then. How far each of them is its claim says ([`crate::claim::Reboot`]).
    Rebooting {
        /// Since when.
        since: Timestamp,
    },
    /// A replacement did not come, or a reboot is over: the candidates stay, and their nodes take pods again.
    RolledBack {
        /// Why, in words.
        why: String,
    },
    /// It was begun; only what it moved is still needed, if a policy uses it
    /// ([`crate::policies::Calm`]). What becomes of it is in the ledger by another name.
    Moved {
        /// Until when.
        until: Timestamp,
        /// How many pods had to go elsewhere.
        pods: u64,
        /// Digests of their workloads ([`crate::Pod::workload`]).
        workloads: BTreeSet<u64>,
    },
    /// A rollout is halted because canaries were not healthy, which the candidates are: nothing is carried out. It is
    /// remembered until the EC2NodeClass or the NodePool is changed.
    Halted(Halt),
    /// Canaries passed: all nodes start from the images from now on. Nothing is carried out. It is remembered until the
    /// status of the EC2NodeClass says so.
    Accepted(AcceptedImages),
}

impl Progress {
    /// Why a rollout is halted, if this says so.
    pub fn halt(&self) -> Option<&Halt> {
        if let Self::Halted(halt) = self { Some(halt) } else { None }
    }

    /// The images on which canaries passed, if this says so.
    pub fn accepted(&self) -> Option<&AcceptedImages> {
        if let Self::Accepted(accepted) = self { Some(accepted) } else { None }
    }
}

/// A node to launch in place of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Its NodePool.
    pub node_pool: NodePoolName,
    /// The instance types that it may become, cheapest first; none for a static NodePool, whose
    /// claims are made from the NodePool alone.
    pub instance_types: Vec<InstanceTypeName>,
    /// What its claim asks for.
    pub requirements: Requirements,
    /// The cheapest offering that it may become, and its price.
    pub cheapest: Option<(OfferingKey, HourlyPrice)>,
    /// The pods that go onto it.
    pub pods: Vec<PodKey>,
    /// Drivers whose devices these pods claim.
    pub device_drivers: BTreeSet<String>,
}

/// Where a thorough search of consolidation stopped, and where it goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// 0: what Karpenter would choose. 1: single nodes. From 2 on: sets, one order after the other.
    pub stage: usize,
    /// The next candidate of the stage.
    pub next: usize,
    /// How many at once.
    pub step: usize,
    /// The set that is grown.
    pub set: Vec<NodeName>,
    /// What Karpenter would choose.
    pub compatible: Vec<NodeName>,
    /// The best so far.
    pub best: Vec<NodeName>,
}
