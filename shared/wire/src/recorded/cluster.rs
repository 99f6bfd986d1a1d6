//! What the API server says: pods, nodes, volumes, and what decides where pods may go.

use model::{
    Pod, PodSpec,
    buffer::{BufferTarget, CapacityBuffer},
    eviction::{CountOrPercent, PodDisruptionBudget},
    facts::{DaemonSet, Surroundings},
    node::{IllCondition, IllStatus, Node},
    overlay::{NodeOverlay, PriceChange},
    pod::{HostPort, Owner, PodPhase},
    selector::{LabelSelector, SelectorExpression, SelectorOperator},
    storage::{PodVolume, Storage, StorageClass, Volume, VolumeClaim, VolumeClaimKey},
    topology::{
        NodeInclusionPolicy, PodAffinity, PodAffinityTerm, SpreadConstraint, Weighted,
        WhenUnsatisfiable,
    },
};

use super::{
    codec::{Damaged, Source, Stored, Writer},
    macros::{enumerations, structures},
};

structures! {
    Pod {
        1 key, 2 uid, 3 created_at, 4 deleted_at, 5 phase, 6 started_at, 7 unschedulable_at, 8 node,
        9 nominated_node, 10 owner, 11 is_ready, 12 volumes, 13 spec, 64 made_claims,
    }
    PodSpec {
        1 labels, 2 annotations, 3 requests, 4 node_selector, 5 required_terms, 6 preferred_terms,
        7 has_match_fields, 8 tolerations, 9 spread, 10 pod_affinity, 11 pod_anti_affinity,
        12 host_ports, 13 priority, 14 priority_class, 15 termination_grace_seconds, 16 problems,
        64 match_fields, 65 claims,
    }
    Owner { 1 api_version, 2 kind, 3 name }
    HostPort { 1 ip, 2 port, 3 protocol }
    Weighted<T> { 1 weight, 2 term }
    SpreadConstraint {
        1 topology_key, 2 max_skew, 3 min_domains, 4 when_unsatisfiable, 5 selector,
        6 node_affinity_policy, 7 node_taints_policy,
    }
    PodAffinity { 1 required, 2 preferred }
    PodAffinityTerm { 1 topology_key, 2 selector, 3 namespaces, 4 namespace_selector }
    LabelSelector { 1 expressions, 2 is_invalid }
    SelectorExpression { 1 key, 2 operator, 3 values }
    Node {
        1 name, 2 provider_id, 3 created_at, 4 is_deleting, 5 labels, 6 annotations, 7 finalizers,
        8 taints, 9 capacity, 10 allocatable, 11 is_ready, 12 boot_id, 13 ill_conditions,
    }
    IllCondition { 1 kind, 2 status, 3 reason, 4 since }
    DaemonSet { 1 key, 2 spec }
    Surroundings {
        1 namespaces, 2 storage, 3 node_overlays, 4 capacity_buffers, 5 disruption_budgets,
        6 nominated,
    }
    Storage { 1 claims, 2 volumes, 3 classes, 4 attach_limits }
    VolumeClaimKey { 1 namespace, 2 name }
    VolumeClaim {
        1 volume, 2 storage_class, 3 is_bind_completed, 4 is_deleting, 5 is_lost, 6 is_for_one_pod,
    }
    Volume { 1 terms, 2 is_local, 3 driver, 4 is_deleting }
    StorageClass { 1 provisioner, 2 waits_for_first_consumer, 3 allowed_topologies }
    NodeOverlay { 1 name, 2 weight, 3 requirements, 4 price, 5 capacity, 6 problems }
    CapacityBuffer { 1 namespace, 2 name, 3 uid, 4 replicas, 5 percentage, 6 limits, 7 target }
    PodDisruptionBudget {
        1 key, 2 selector, 3 min_available, 4 max_unavailable, 5 always_allows_unhealthy,
        6 disruptions_allowed,
    }
}

enumerations! {
    PodPhase { 0 Pending, 1 Running, 2 Succeeded, 3 Failed }
    WhenUnsatisfiable { 0 DoNotSchedule, 1 ScheduleAnyway }
    NodeInclusionPolicy { 0 Honor, 1 Ignore }
    SelectorOperator { 0 In, 1 NotIn, 2 Exists, 3 DoesNotExist }
    IllStatus { 0 False, 1 Unknown }
    PodVolume { 0 Claim(1 name), 1 Ephemeral { 1 volume, 2 storage_class } }
    PriceChange { 0 Absolute(1 price), 1 Added(1 nanos), 2 Scaled(1 millionths) }
    BufferTarget { 0 Template(1 spec), 1 Workload(1 spec, 2 replicas), 2 Missing(1 why) }
    CountOrPercent { 0 Count(1 count), 1 Percent(1 percent) }
}
