//! The metrics, with Karpenter's names and labels.
//!
//! Karpenter: `pkg/metrics/metrics.go` and the `metrics.go` of each controller.

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Karpenter's name, its prefix included.
    pub name: &'static str,
    /// What kind it is.
    pub kind: MetricKind,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// What it says, as a sentence.
    pub meaning: &'static str,
    /// Whether it is a metric of CloudWatch by default: those are paid for one by one.
    pub is_declared: bool,
}

impl Metric {
    /// Whether each node has values of its own: too many to pay for one by one.
    pub fn is_of_nodes(&self) -> bool {
        self.labels.contains(&"node_name")
    }
}

/// What kind a metric is, as Prometheus has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows: a reading is what was added.
    Counter,
    /// A reading is what is at present.
    Gauge,
    /// Observations in buckets with these bounds, in seconds.
    Histogram(&'static [u64]),
}

impl MetricKind {
    /// Its name in Prometheus.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

/// Bounds of how long the end of a node takes.
///
/// Karpenter: `pkg/controllers/nodeclaim/lifecycle/metrics.go`.
const OF_TERMINATION: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048];

/// Bounds of the age of a node: a quarter of an hour to thirty days.
///
/// Karpenter: `pkg/controllers/node/termination/metrics.go`.
const OF_LIFETIME: &[u64] = &[
    900, 1_800, 2_700, 3_600, 7_200, 14_400, 21_600, 28_800, 43_200, 64_800, 86_400, 172_800,
    259_200, 432_000, 604_800, 864_000, 1_209_600, 1_728_000, 2_592_000,
];

/// Bounds of how long a reboot takes.
///
/// Karpenter: `pkg/controllers/nodeclaim/reboot/metrics.go`.
const OF_REBOOT: &[u64] = &[10, 20, 40, 80, 160, 320, 640, 1_280];

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> Metric {
    Metric { name, kind: MetricKind::Counter, labels, meaning, is_declared: false }
}

const fn gauge(
    name: &'static str,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> Metric {
    Metric { name, kind: MetricKind::Gauge, labels, meaning, is_declared: false }
}

const fn declared(metric: Metric) -> Metric {
    Metric { is_declared: true, ..metric }
}

pub(super) static CREATED: Metric = declared(counter(
    "karpenter_nodeclaims_created_total",
    &["reason", "nodepool", "min_values_relaxed"],
    "NodeClaims created; `reason` is `provisioned`, or why the nodes that they replace are disrupted.",
));

pub(super) static DISRUPTED: Metric = declared(counter(
    "karpenter_nodeclaims_disrupted_total",
    &["reason", "nodepool", "capacity_type", "termination_mode"],
    "NodeClaims disrupted, interrupted or not launched.",
));

pub(super) static TERMINATED: Metric = declared(counter(
    "karpenter_nodeclaims_terminated_total",
    &["nodepool", "capacity_type", "zone"],
    "NodeClaims terminated.",
));

pub(super) static UNSCHEDULABLE_PODS: Metric = declared(gauge(
    "karpenter_scheduler_unschedulable_pods_count",
    &["controller"],
    "Pods that cannot be scheduled.",
));

pub(super) static CLAIM_TERMINATION: Metric = Metric {
    name: "karpenter_nodeclaims_termination_duration_seconds",
    kind: MetricKind::Histogram(OF_TERMINATION),
    labels: &["nodepool"],
    meaning: "From the disruption or deletion of a NodeClaim until it is gone.",
    is_declared: false,
};

pub(super) static NODES_CREATED: Metric = counter(
    "karpenter_nodes_created_total",
    &["nodepool", "zone"],
    "Nodes that joined the cluster.",
);

pub(super) static NODES_TERMINATED: Metric =
    counter("karpenter_nodes_terminated_total", &["nodepool", "zone"], "Nodes terminated.");

pub(super) static NODES_DRAINED: Metric =
    counter("karpenter_nodes_drained_total", &["nodepool"], "Nodes drained.");

pub(super) static LIFETIME: Metric = Metric {
    name: "karpenter_nodes_lifetime_duration_seconds",
    kind: MetricKind::Histogram(OF_LIFETIME),
    labels: &["nodepool"],
    meaning: "From launch until the node is gone.",
    is_declared: false,
};

pub(super) static DECISIONS: Metric = counter(
    "karpenter_voluntary_disruption_decisions_total",
    &["decision", "reason", "consolidation_type"],
    "Disruption commands begun; `decision` is `delete`, `replace` or `reboot`.",
);

pub(super) static FAILED_VALIDATIONS: Metric = counter(
    "karpenter_voluntary_disruption_failed_validations_total",
    &["consolidation_type"],
    "Disruption commands that failed their validation.",
);

pub(super) static QUEUE_FAILURES: Metric = counter(
    "karpenter_voluntary_disruption_queue_failures_total",
    &["decision", "reason", "consolidation_type"],
    "Disruption commands rolled back because a replacement failed.",
);

pub(super) static REBOOTS: Metric = counter(
    "karpenter_nodes_reboots_total",
    &["result"],
    "Reboots of ill nodes that ended; `result` is `succeeded`, `provider_error` or `recovery_timeout`.",
);

pub(super) static REBOOT_DURATION: Metric = Metric {
    kind: MetricKind::Histogram(OF_REBOOT),
    ..counter(
        "karpenter_nodes_reboot_duration_seconds",
        &["result"],
        "From the decision to reboot a node until the reboot succeeded or failed.",
    )
};

pub(super) static REBOOT_RECOVERY: Metric = Metric {
    kind: MetricKind::Histogram(OF_REBOOT),
    ..counter(
        "karpenter_nodes_reboot_recovery_duration_seconds",
        &[],
        "From the request to EC2 until the node is ready after another boot.",
    )
};

pub(super) static LAUNCH_FAILURES: Metric = counter(
    "karpenter_cloudprovider_instance_launch_failures_total",
    &["zone", "capacity_type", "reason"],
    "Offerings without capacity at a launch.",
);

pub(super) static MESSAGES_RECEIVED: Metric = counter(
    "karpenter_interruption_received_messages_total",
    &["message_type"],
    "EventBridge messages about instances of the account.",
);

pub(super) static NODEPOOLS_LIMIT: Metric = gauge(
    "karpenter_nodepools_limit",
    &["resource_type", "nodepool"],
    "`spec.limits` of a NodePool, in cores, bytes or pieces.",
);

pub(super) static NODEPOOLS_USAGE: Metric = gauge(
    "karpenter_nodepools_usage",
    &["resource_type", "nodepool"],
    "Resources of all instances of a NodePool, in cores, bytes or pieces.",
);

pub(super) static NODEPOOLS_COST: Metric = gauge(
    "karpenter_nodepools_cost_total",
    &["nodepool"],
    "Price of all instances of a NodePool in dollars an hour, at the prices of their launches.",
);

pub(super) static NODE_COUNT: Metric =
    gauge("karpenter_cluster_state_node_count", &[], "Nodes of NodePools in the cluster.");

pub(super) static NODES_ALLOCATABLE: Metric = gauge(
    "karpenter_nodes_allocatable",
    &["resource_type", "node_name", "nodepool", "arch", "capacity_type", "instance_type", "zone"],
    "Allocatable resources of a node: `cpu` in cores, `memory` in bytes.",
);

pub(super) static DELETION_COST_WRITES: Metric = counter(
    "karpenter_pod_deletion_cost_pod_annotation_writes_total",
    &["result"],
    "Writes of pod deletion costs; `result` is `updated`, `skipped_notfound`, `skipped_conflict` or `error`.",
);

pub(super) static DELETION_COST_PENDING: Metric = gauge(
    "karpenter_pod_deletion_cost_nodes_with_pending_annotation_writes",
    &["nodepool"],
    "Nodes whose pods have their deletion costs in a later pass.",
);

pub(super) static ROLLOUTS_HALTED: Metric = counter(
    "journeyman_rollouts_halted_total",
    &["nodepool"],
    "Rollouts halted because canaries were not healthy. Karpenter has no such metric.",
);

pub(super) static WAKE_HEALTHY: Metric = gauge(
    "journeyman_wake_healthy",
    &[],
    "1 while the API server calls `wake`, else 0; none in a stack without `wake`. Karpenter has no such metric.",
);

/// All of them, by name.
pub static METRICS: [&Metric; 26] = [
    &ROLLOUTS_HALTED,
    &WAKE_HEALTHY,
    &LAUNCH_FAILURES,
    &NODE_COUNT,
    &MESSAGES_RECEIVED,
    &CREATED,
    &DISRUPTED,
    &TERMINATED,
    &CLAIM_TERMINATION,
    &NODEPOOLS_COST,
    &NODEPOOLS_LIMIT,
    &NODEPOOLS_USAGE,
    &NODES_ALLOCATABLE,
    &NODES_CREATED,
    &NODES_DRAINED,
    &LIFETIME,
    &REBOOT_DURATION,
    &REBOOT_RECOVERY,
    &REBOOTS,
    &NODES_TERMINATED,
    &DELETION_COST_PENDING,
    &DELETION_COST_WRITES,
    &UNSCHEDULABLE_PODS,
    &DECISIONS,
    &FAILED_VALIDATIONS,
    &QUEUE_FAILURES,
];
