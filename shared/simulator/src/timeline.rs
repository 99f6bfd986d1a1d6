//! What happened, for people: a typed timeline and a summary.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    DeletionReason, Function, HourlyPrice, InstanceId, InstanceTypeName, NodeClaimName, NodeName,
    NodePoolName, OfferingKey, PodKey,
};

/// Something that happened, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEvent {
    /// When.
    pub at: Timestamp,
    /// What.
    pub happening: Happening,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Happening {
    /// A pod was created and waits for a node.
    PodPending {
        /// Which.
        pod: PodKey,
    },
    /// kube-scheduler found no node for a pod.
    PodUnschedulable {
        /// Which.
        pod: PodKey,
    },
    /// kube-scheduler put a pod onto a node.
    PodBound {
        /// Which.
        pod: PodKey,
        /// Where.
        node: NodeName,
    },
    /// A pod runs.
    PodRunning {
        /// Which.
        pod: PodKey,
        /// Where.
        node: NodeName,
    },
    /// A pod was asked to leave its node.
    PodEvicted {
        /// Which.
        pod: PodKey,
        /// From where.
        node: NodeName,
    },
    /// A pod went down with its node.
    PodLost {
        /// Which.
        pod: PodKey,
        /// Where it was.
        node: NodeName,
    },
    /// A workload was added or scaled.
    WorkloadScaled {
        /// Namespace and name.
        workload: PodKey,
        /// How many pods it wants now.
        replicas: u32,
    },
    /// Something happened that was planned for this time and that no other happening tells of.
    Planned {
        /// What, such as `delete NodePool general`.
        what: String,
        /// Whether nothing that it is about is there, so that nothing changed.
        is_in_vain: bool,
    },
    /// A claim was committed.
    ClaimCreated {
        /// Which.
        claim: NodeClaimName,
        /// Its pool.
        node_pool: NodePoolName,
    },
    /// A claim is being deleted.
    ClaimDeleted {
        /// Which.
        claim: NodeClaimName,
        /// Why.
        reason: DeletionReason,
    },
    /// A claim is gone.
    ClaimRemoved {
        /// Which.
        claim: NodeClaimName,
    },
    /// EC2 launched an instance.
    InstanceLaunched {
        /// Which.
        instance: InstanceId,
        /// As what.
        offering: OfferingKey,
        /// For an hour.
        price: HourlyPrice,
    },
    /// EC2 had no capacity for an offering that was asked for.
    OfferingUnavailable {
        /// Which.
        offering: OfferingKey,
    },
    /// A node joined the cluster.
    NodeJoined {
        /// Which.
        node: NodeName,
        /// Its instance.
        instance: InstanceId,
    },
    /// A node is ready for pods that tolerate its taints.
    NodeReady {
        /// Which.
        node: NodeName,
    },
    /// The machine of a node boots again.
    NodeReboots {
        /// Which.
        node: NodeName,
    },
    /// A node has no pods left that would need another one, and its instance is being terminated.
    NodeDrained {
        /// Which.
        node: NodeName,
    },
    /// A node is gone from the cluster.
    NodeRemoved {
        /// Which.
        node: NodeName,
    },
    /// EC2 gave notice that it takes a spot instance back.
    SpotNotice {
        /// Which.
        instance: InstanceId,
        /// Its node, if it joined.
        node: Option<NodeName>,
        /// When it ends.
        ends_at: Timestamp,
    },
    /// An instance is shutting down.
    InstanceEnding {
        /// Which.
        instance: InstanceId,
    },
    /// A call of a function ended with an error, or did not end in its time.
    CallFailed {
        /// Which.
        function: Function,
        /// Why.
        error: String,
    },
    /// An instance is gone.
    InstanceTerminated {
        /// Which.
        instance: InstanceId,
        /// Its node, if it joined.
        node: Option<NodeName>,
    },
}

/// An instance that is pending or running, as its owner pays for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningInstance {
    /// Its id.
    pub id: InstanceId,
    /// What it is and where, and how it is paid for now.
    pub offering: OfferingKey,
    /// What it costs for an hour now.
    pub price: HourlyPrice,
}

/// A run in figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Pods that found a node at some time. Daemons are not counted.
    pub pods_placed: u64,
    /// Pods that wait for a node now.
    pub pods_waiting: u64,
    /// How long each placed pod waited from its creation to its node, shortest first.
    pub pending_times: Vec<SignedDuration>,
    /// Instances that are pending or running now, by type.
    pub nodes_by_type: BTreeMap<InstanceTypeName, u32>,
    /// Instances that were ever launched, by offering.
    pub launched: BTreeMap<OfferingKey, u32>,
    /// What instances that are pending or running now cost for an hour.
    pub price_now: HourlyPrice,
    /// What all instances cost from launch to end or until now, in nano-dollars, rounded down.
    pub spent_nanos: u128,
    /// Evictions that the API server accepted.
    pub evictions: u64,
    /// Pods that went down with their node.
    pub pods_lost: u64,
    /// Messages and batches that failed too often.
    pub dead_letters: u64,
    /// What the account was assumed to own, in words.
    pub assumptions: Vec<String>,
}

impl Summary {
    /// The waiting time that `percent` of a hundred placed pods did not exceed, by nearest rank;
    /// `None` when no pod was placed.
    pub fn pending_percentile(&self, percent: u32) -> Option<SignedDuration> {
        let count = u64::try_from(self.pending_times.len()).ok()?;
        let rank = (count * u64::from(percent.min(100))).div_ceil(100).max(1);
        self.pending_times.get(usize::try_from(rank - 1).ok()?).copied()
    }
}
