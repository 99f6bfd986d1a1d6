//! Writes what deleting pods costs, behind the gate `PodDeletionCostManagement`. Nothing waits for it, and what cannot be
//! written is written by a later look, if it still holds then.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use model::{duration::later, facts::Facts};
use planner::disruption::{Options, deletion_costs};
use ports::{Adapters, Fault, Invocation, Nodes as _};

use super::DisruptPorts;
use crate::{error::story, metrics, pass::each};

/// Pods are written once in this time at most.
///
/// Karpenter 1.15: `pkg/controllers/pod/deletioncost/controller.go`.
const EVERY: SignedDuration = SignedDuration::from_mins(1);
/// Pods that are written at the same time.
const AT_ONCE: usize = 16;

/// Writes what the pods of `facts` do not say yet.
pub(super) async fn write<A: Adapters>(
    ports: &DisruptPorts<'_, A>,
    facts: &Facts,
    at: &Invocation,
) {
    let last = &ports.memory.deletion_costs_at;
    let is_open = ports.settings.policies.pod_deletion_cost_management;
    if !is_open || last.get().is_some_and(|last| at.now < later(last, EVERY)) {
        return;
    }
    last.set(Some(at.now));
    let types = ports.memory.planner.types.clone();
    let costs = deletion_costs(facts, &Options { types, ..Options::deployed() });
    metrics::note_pending_costs(ports.metrics, &facts.node_pools, &costs.pending);
    let (answers, _) = each(costs.writes, AT_ONCE, ports.clock, at, async |cost| {
        ports.nodes.set_deletion_cost(&cost).await
    })
    .await;
    let mut failed = BTreeSet::new();
    for answer in answers {
        metrics::count_deletion_cost(ports.metrics, answer.as_ref().err().map(|error| error.fault));
        match answer {
            Err(error) if !matches!(error.fault, Fault::NotFound | Fault::Conflict) => {
                failed.insert(story(&error));
            }
            _ => {}
        }
    }
    if let Some(story) = failed.first() {
        tracing::warn!(
            story,
            "deletion costs of pods not written: does the function have the role of deploy/pod-deletion-costs.yaml?"
        );
    }
}
