//! What may be launched, what could be bought, and how it is decided.

use model::{
    CapacityType, DeletionReason, InstanceType, Offering, OfferingKey, Problem, Reservation,
    condition::{ConditionKind, ConditionReason, NotReady, Untrue},
    disruption::DisruptionReason,
    facts::ClassOffer,
    join::JoinReason,
    node_class::{Obstacle, TemplateProblem, TemplateSetting},
    node_pool::{
        Budget, BudgetNodes, BudgetWindow, ConsolidationPolicy, Disruption, Limits,
        NodeClaimTemplate, NodePool,
    },
    policies::{Calm, ConsolidationSearch, MinValuesPolicy, Packing, Policies, PreferencePolicy},
    problem::{Rule, Weight},
    validation::FailedCheck,
};

use super::{
    codec::{Damaged, Source, Stored, Writer},
    macros::{enumerations, structures, words},
};

words! { CapacityType ConditionKind FailedCheck JoinReason }

structures! {
    NodePool {
        1 name, 2 annotations, 3 weight, 4 replicas, 5 limits, 6 template, 7 disruption,
        8 is_deleting, 9 problems,
    }
    NodeClaimTemplate {
        1 labels, 2 annotations, 3 node_class, 4 requirements, 5 taints, 6 startup_taints,
        7 expire_after, 8 termination_grace_period,
    }
    Disruption { 1 consolidate_after, 2 policy, 3 budgets }
    Budget { 1 nodes, 2 reasons, 3 window }
    BudgetWindow { 1 schedule, 2 duration }
    InstanceType { 1 name, 2 requirements, 3 capacity, 4 overhead, 5 offerings }
    Offering { 1 zone, 2 zone_id, 3 capacity_type, 4 price, 5 is_available, 6 reservation }
    OfferingKey { 1 capacity_type, 2 instance_type, 3 zone }
    Reservation { 1 id, 2 kind, 3 interruptible, 4 count }
    Problem { 1 weight, 2 field, 3 rule }
    Untrue { 1 kind, 2 is_false, 3 reason, 4 message }
    Policies {
        1 preferences, 2 min_values, 3 reserved_capacity, 4 spot_to_spot_consolidation,
        5 node_overlay, 6 static_capacity, 7 capacity_buffer, 8 node_repair, 9 legacy_node_repair,
        10 reboot_for_repair, 11 terminate_first_drift, 12 terminate_first_repair,
        13 pod_deletion_cost_management, 14 packing, 15 node_charge, 16 dollars_per_hour_max,
        17 consolidation, 18 calm, 64 node_class_cel, 65 heeds_dra_requests, 66 dra_nvidia_gpu,
        67 dra_efa,
    }
    Calm { 1 workload_rest, 2 saving_min_millionths, 3 saving_per_move_min, 4 moves_per_hour_max }
}

enumerations! {
    ClassOffer { 0 Ready(1 types), 1 NotReady(1 obstacles) }
    Obstacle {
        0 AmiNotFound,
        1 ImageOfTemplateNotFound(1 name),
        2 LaunchTemplate(1 problem),
        3 NoInstanceType,
        4 NotReady(1 why),
        5 PlacementGroupNotFound,
        6 PlacementGroupResolutionFailed(1 why),
        7 Problem(1 problem),
        8 SecurityGroupsNotFound,
        9 ServiceCidrUnknown(1 cluster),
        10 SubnetsNotFound,
        11 Terminating,
        12 UnsupportedAlias(1 why),
    }
    TemplateProblem { 0 NotFound(1 name), 1 NoImage { 1 name, 2 version }, 2 Sets { 1 name, 2 version, 3 sets } }
    TemplateSetting {
        0 InstanceType, 1 InstanceRequirements, 2 NetworkInterfaces, 3 InstanceMarketOptions, 4 Tenancy,
    }
    Weight { 0 Refused, 1 Unusable, 2 Unsupported, 3 ClosesDisruption }
    Rule {
        0 Words(1 words),
        1 ClassNotReady { 1 class, 2 why },
        2 LaunchRefused { 1 reason, 2 until },
        3 NotReady(1 why),
        4 Unreadable(1 why),
        5 ExpressionsDisabled,
        6 GpuSharingDisabled,
        7 GpuSharingInvalid(1 mode),
    }
    NotReady { 0 Unseen, 1 Stale, 2 Unreadable(1 why), 3 Conditions { 1 ready, 2 others } }
    BudgetNodes { 0 Count(1 count), 1 Percent(1 percent) }
    ConsolidationPolicy { 0 WhenEmpty, 1 WhenEmptyOrUnderutilized, 2 Balanced }
    PreferencePolicy { 0 Respect, 1 Ignore }
    MinValuesPolicy { 0 Strict, 1 BestEffort }
    Packing { 0 Karpenter, 1 Cheapest }
    ConsolidationSearch { 0 Karpenter, 1 Thorough }
    DisruptionReason { 0 Underutilized, 1 Empty, 2 Drifted, 3 Unhealthy }
    DeletionReason {
        0 SpotInterrupted,
        1 InstanceEnded,
        2 ReservationEnding,
        3 InstanceUnhealthy,
        4 Expired,
        5 NodeDeleted,
        6 NodeClaimDeleted,
        7 Disrupted(1 reason),
        8 Overprovisioned,
        9 NotRegistered,
        10 NotUnderstood,
    }
    ConditionReason {
        0 AmiNotFound,
        1 AwaitingReconciliation,
        2 AwaitingVolumeDetachment,
        3 ClusterCidrResolutionFailed,
        4 ConsistencyCheckFailed,
        5 DependenciesNotReady,
        6 Disrupted(1 reason),
        7 Draining,
        8 DryRun(1 check),
        9 DryRunDisabled,
        10 Holds(1 kind),
        11 InLaunchTemplate,
        12 InvalidKubeletConfiguration,
        13 KubeletExpressionsDisabled,
        14 KnownEphemeralTaintsExist,
        15 LaunchFailed,
        16 LaunchTemplateInvalid,
        17 LaunchTemplateNotFound,
        18 NodeClassNotFound,
        19 NodeClassNotReady,
        20 NodeClassReadinessUnknown,
        21 NodeClassTerminating,
        22 MultipleNodesFound,
        23 NodeNotFound,
        24 NodeNotReady,
        25 NodePoolValidationFailed,
        26 PlacementGroupNotFound,
        27 PlacementGroupResolutionFailed,
        28 RebootIssued,
        29 RebootRequested,
        30 RebootSucceeded,
        31 ReconcilingDependents,
        32 RegistrationFailed,
        33 ResourceNotRegistered,
        34 SecurityGroupsNotFound,
        35 StartupTaintsExist,
        36 SubnetsNotFound,
        37 TagValidationFailed,
        38 TerminationGracePeriodElapsed,
        39 UnhealthyDependents,
        40 UnsupportedAlias,
        41 UnsupportedKubeletConfiguration,
        42 Unschedulable,
        43 ValidationFailed,
        44 Other(1 reason),
        45 NotJoined(1 reason),
        46 Infeasible,
        47 BufferEmpty,
        48 Conflict,
        49 FitsExistingCapacity,
        50 NotReadyForProvisioning,
        51 PodTemplateNotFound,
        52 RequiresNewCapacity,
        53 ResolutionFailed,
        54 Resolved,
        55 RuntimeValidation,
        56 ScalableRefNotFound,
        57 KubeletExpressionEvaluationFailed,
        58 KubeletExpressionInvalid,
        59 DraDisabled,
        60 NvidiaConsumableCapacityInvalid,
        61 DraDriverPoolsNotPublished,
        62 Answered,
        63 NoAnswer,
        64 PodsNotPushed,
        65 ProbeRefused,
        66 CanariesUnhealthy,
        67 InvalidRollout,
    }
}

impl Stored for Limits {
    fn put(&self, to: &mut Writer) {
        self.0.put(to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        Stored::take(from).map(Self)
    }
}
