//! Metrics with Karpenter's names: what the ledger took, and what is there.
//!
//! A controller counts in its memory for as long as it lives. A function lives for a call, so it hands over what
//! each call added, and the metrics store adds it up. What moves a claim is counted where the ledger takes it
//! ([`Metered`]), so that what is refused, or was done before, is not.

mod metered;
mod registry;
mod samples;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    HourlyPrice, NodeClaim, NodePoolName,
    interruption::{Interruption, InterruptionKind},
    ledger::Snapshot,
    node_pool::{NodePool, NodePoolStatus, ObservedNodePool},
    wake::WakeFinding,
};
use ports::Fault;

use crate::{Report, pools};

pub use metered::Metered;
pub use registry::{METRICS, Metric, MetricKind};
pub use samples::{Metrics, Micros, Reading, Sample};

/// Counts messages about instances, by what they say.
///
/// Karpenter: `pkg/controllers/interruption/metrics.go` of the AWS provider.
pub fn count_messages(metrics: &Metrics, interruptions: &[Interruption]) {
    for interruption in interruptions {
        metrics.count(&registry::MESSAGES_RECEIVED, &[message_type(interruption.kind)]);
    }
}

fn message_type(kind: InterruptionKind) -> &'static str {
    match kind {
        InterruptionKind::SpotInterruption => "spot_interrupted",
        InterruptionKind::ReservationInterruption => "capacity_reservation_interrupted",
        InterruptionKind::ScheduledChange => "scheduled_change",
        InterruptionKind::RebalanceRecommendation => "rebalance_recommendation",
        InterruptionKind::CheckFailed => "instance_status",
        InterruptionKind::InstanceEnding => "instance_terminated",
    }
}

/// Notes how many pods a look at the whole cluster left without a place.
///
/// Karpenter: `pkg/controllers/provisioning/scheduling/metrics.go`.
pub fn note_report(metrics: &Metrics, report: &Report) {
    if let Some(plan) = &report.plan {
        let unplaced = Micros::whole(count(plan.unplaced.len()));
        metrics.set(&registry::UNSCHEDULABLE_PODS, &["provisioner"], unplaced);
    }
}

/// Counts a write of a deletion cost, which came to `fault` if it failed.
///
/// Karpenter: `pkg/controllers/pod/deletioncost/metrics.go`.
pub(crate) fn count_deletion_cost(metrics: &Metrics, fault: Option<Fault>) {
    let result = match fault {
        None => "updated",
        Some(Fault::NotFound) => "skipped_notfound",
        Some(Fault::Conflict) => "skipped_conflict",
        Some(Fault::Transient | Fault::Unknown | Fault::Permanent) => "error",
    };
    metrics.count(&registry::DELETION_COST_WRITES, &[result]);
}

/// Notes how many nodes of each NodePool of `known` have their deletion costs in a later pass.
pub(crate) fn note_pending_costs(
    metrics: &Metrics,
    known: &[NodePool],
    pending: &BTreeMap<NodePoolName, u64>,
) {
    for NodePool { name, .. } in known {
        let nodes = Micros::whole(pending.get(name).copied().unwrap_or_default());
        metrics.set(&registry::DELETION_COST_PENDING, &[name.as_str()], nodes);
    }
}

/// Notes what a NodePool has and may have.
///
/// Karpenter: `pkg/controllers/metrics/nodepool/controller.go`.
pub(crate) fn note_pool(metrics: &Metrics, observed: &ObservedNodePool, status: &NodePoolStatus) {
    let pool = observed.pool.name.as_str();
    let label = |resource: &str| resource.to_lowercase().replace('-', "_");
    for (resource, limit) in &observed.pool.limits.0 {
        let amount = of_resource(resource.as_str(), *limit);
        metrics.set(&registry::NODEPOOLS_LIMIT, &[&label(resource.as_str()), pool], amount);
    }
    // An empty pool uses none of these, which is not the same as unknown.
    let always = ["cpu", "memory", "ephemeral-storage", "pods"].map(|resource| (resource, 0));
    for (resource, used) in always.into_iter().chain(status.resources.iter()) {
        let amount = of_resource(resource, used);
        metrics.set(&registry::NODEPOOLS_USAGE, &[&label(resource), pool], amount);
    }
    metrics.set(&registry::NODEPOOLS_USAGE, &["nodes", pool], Micros::whole(status.nodes));
}

/// Notes whether the API server calls `wake`, if the stack has it and NodePools have the condition that says it.
pub(crate) fn note_wake(
    metrics: &Metrics,
    pools: &[ObservedNodePool],
    finding: &WakeFinding,
    now: Timestamp,
) {
    if !pools.is_empty() && *finding != WakeFinding::Absent {
        let is_healthy =
            pools.iter().all(|observed| finding.leaves_healthy(observed.wake.as_ref(), now));
        metrics.set(&registry::WAKE_HEALTHY, &[], Micros::whole(u64::from(is_healthy)));
    }
}

/// Notes what the nodes of each NodePool of `known` cost in an hour, how many nodes there are, and what each has.
///
/// Karpenter: `pkg/state/cost/cost.go`, `pkg/controllers/state/metrics.go`, `pkg/controllers/metrics/node`.
pub(crate) fn note_claims(metrics: &Metrics, known: &[ObservedNodePool], snapshot: &Snapshot) {
    for observed in known {
        let pool = &observed.pool.name;
        let its = pools::launched(pool, snapshot);
        let prices = its.filter_map(|claim| Some(claim.instance.as_ref()?.price));
        let sum = prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add);
        let micros = Micros(i128::from(sum.nanos()) / 1_000);
        metrics.set(&registry::NODEPOOLS_COST, &[pool.as_str()], micros);
    }
    let joined = |claim: &&NodeClaim| claim.instance.is_some() && claim.node.is_some();
    let nodes = snapshot.claims.values().filter(joined);
    metrics.set(&registry::NODE_COUNT, &[], Micros::whole(count(nodes.clone().count())));
    nodes.for_each(|claim| note_node(metrics, claim));
}

/// Notes what pods may have of the node of `claim`: of the two resources that dashboards ask for, as there may be
/// thousands of nodes.
fn note_node(metrics: &Metrics, claim: &NodeClaim) {
    let (Some(node), Some(instance)) = (&claim.node, &claim.instance) else { return };
    let arch = claim.labels.get(model::labels::ARCH).map_or("", String::as_str);
    for resource in ["cpu", "memory"] {
        let labels = [
            resource,
            node.as_str(),
            claim.node_pool.as_str(),
            arch,
            instance.capacity_type.as_str(),
            instance.instance_type.as_str(),
            instance.zone.as_str(),
        ];
        let amount = of_resource(resource, claim.allocatable.get(resource));
        metrics.set(&registry::NODES_ALLOCATABLE, &labels, amount);
    }
}

/// An amount of a resource in its base unit: cores, bytes, pieces.
fn of_resource(resource: &str, amount: u64) -> Micros {
    if resource == "cpu" { Micros(i128::from(amount) * 1_000) } else { Micros::whole(amount) }
}

fn count(of: usize) -> u64 {
    u64::try_from(of).unwrap_or(u64::MAX)
}
