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

use super::codec::{Damaged, Source, Stored, Writer, enumerations, structures, words};

words! { CapacityType ConditionKind FailedCheck JoinReason }

structures! {
    NodePool {
        name, annotations, weight, replicas, limits, template, disruption, is_deleting, problems,
    }
    NodeClaimTemplate {
        labels, annotations, node_class, requirements, taints, startup_taints, expire_after,
        termination_grace_period,
    }
    Disruption { consolidate_after, policy, budgets }
    Budget { nodes, reasons, window }
    BudgetWindow { schedule, duration }
    InstanceType { name, requirements, capacity, overhead, offerings }
    Offering { zone, zone_id, capacity_type, price, is_available, reservation }
    OfferingKey { capacity_type, instance_type, zone }
    Reservation { id, kind, interruptible, count }
    Problem { weight, field, rule }
    Untrue { kind, is_false, reason, message }
    Policies {
        preferences, min_values, reserved_capacity, spot_to_spot_consolidation, node_overlay,
        static_capacity, capacity_buffer, node_repair, legacy_node_repair, reboot_for_repair,
        terminate_first_drift, terminate_first_repair, pod_deletion_cost_management, packing, node_charge,
        dollars_per_hour_max, consolidation, calm,
    }
    Calm { workload_rest, saving_min_millionths, saving_per_move_min, moves_per_hour_max }
}

enumerations! {
    ClassOffer { 0 Ready(types), 1 NotReady(obstacles) }
    Obstacle {
        0 AmiNotFound,
        1 ImageOfTemplateNotFound(name),
        2 LaunchTemplate(problem),
        3 NoInstanceType,
        4 NotReady(why),
        5 PlacementGroupNotFound,
        6 PlacementGroupResolutionFailed(why),
        7 Problem(problem),
        8 SecurityGroupsNotFound,
        9 ServiceCidrUnknown(cluster),
        10 SubnetsNotFound,
        11 Terminating,
        12 UnsupportedAlias(why),
    }
    TemplateProblem { 0 NotFound(name), 1 NoImage { name, version }, 2 Sets { name, version, sets } }
    TemplateSetting {
        0 InstanceType, 1 InstanceRequirements, 2 NetworkInterfaces, 3 InstanceMarketOptions, 4 Tenancy,
    }
    Weight { 0 Refused, 1 Unusable, 2 Unsupported }
    Rule {
        0 Words(words),
        1 ClassNotReady { class, why },
        2 LaunchRefused { reason, until },
        3 NotReady(why),
        4 Unreadable(why),
    }
    NotReady { 0 Unseen, 1 Stale, 2 Unreadable(why), 3 Conditions { ready, others } }
    BudgetNodes { 0 Count(count), 1 Percent(percent) }
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
        7 Disrupted(reason),
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
        6 Disrupted(reason),
        7 Draining,
        8 DryRun(check),
        9 DryRunDisabled,
        10 Holds(kind),
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
        44 Other(reason),
        45 NotJoined(reason),
    }
}

impl Stored for Limits {
    fn put(&self, to: &mut Writer) {
        self.0.put(to);
    }

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
        Stored::take(from).map(Self)
    }
}
