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

use super::codec::{Damaged, Source, Stored, Writer, enumerations, structures};

structures! {
    Pod {
        key, uid, created_at, deleted_at, phase, started_at, unschedulable_at, node, nominated_node, owner,
        is_ready, volumes, spec,
    }
    PodSpec {
        labels, annotations, requests, node_selector, required_terms, preferred_terms, has_match_fields,
        tolerations, spread, pod_affinity, pod_anti_affinity, host_ports, priority, priority_class,
        termination_grace_seconds, problems,
    }
    Owner { api_version, kind, name }
    HostPort { ip, port, protocol }
    Weighted<T> { weight, term }
    SpreadConstraint {
        topology_key, max_skew, min_domains, when_unsatisfiable, selector, node_affinity_policy,
        node_taints_policy,
    }
    PodAffinity { required, preferred }
    PodAffinityTerm { topology_key, selector, namespaces, namespace_selector }
    LabelSelector { expressions, is_invalid }
    SelectorExpression { key, operator, values }
    Node {
        name, provider_id, created_at, is_deleting, labels, annotations, finalizers, taints, capacity,
        allocatable, is_ready, boot_id, ill_conditions,
    }
    IllCondition { kind, status, reason, since }
    DaemonSet { key, spec }
    Surroundings {
        namespaces, storage, node_overlays, capacity_buffers, disruption_budgets, nominated,
    }
    Storage { claims, volumes, classes, attach_limits }
    VolumeClaimKey { namespace, name }
    VolumeClaim { volume, storage_class, is_bind_completed, is_deleting, is_lost }
    Volume { terms, is_local, driver, is_deleting }
    StorageClass { provisioner, waits_for_first_consumer, allowed_topologies }
    NodeOverlay { name, weight, requirements, price, capacity, problems }
    CapacityBuffer { namespace, name, uid, replicas, percentage, limits, target }
    PodDisruptionBudget {
        key, selector, min_available, max_unavailable, always_allows_unhealthy, disruptions_allowed,
    }
}

enumerations! {
    PodPhase { 0 Pending, 1 Running, 2 Succeeded, 3 Failed }
    WhenUnsatisfiable { 0 DoNotSchedule, 1 ScheduleAnyway }
    NodeInclusionPolicy { 0 Honor, 1 Ignore }
    SelectorOperator { 0 In, 1 NotIn, 2 Exists, 3 DoesNotExist }
    IllStatus { 0 False, 1 Unknown }
    PodVolume { 0 Claim(name), 1 Ephemeral { volume, storage_class } }
    PriceChange { 0 Absolute(price), 1 Added(nanos), 2 Scaled(millionths) }
    BufferTarget { 0 Template(spec), 1 Workload(spec, replicas), 2 Missing(why) }
    CountOrPercent { 0 Count(count), 1 Percent(percent) }
}
