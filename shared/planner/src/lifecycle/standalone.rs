//! NodeClaims that a user made, without a NodePool → claims to launch.
//!
//! Nothing is chosen here: the object says everything, and which instance types it allows is found when it is
//! launched, as Karpenter does. Such claims take no part in what NodePools rule: limits, budgets, drift,
//! consolidation.
//!
//! Karpenter: `pkg/controllers/nodeclaim/lifecycle/controller.go`; `pkg/cloudprovider/cloudprovider.go` of the AWS
//! provider, `Create`.

use jiff::Timestamp;
use model::{BatchId, ClaimPhase, ClusterName, NodeClaim, NodeClaimName, ledger::Snapshot, limits};

/// What becomes of NodeClaim objects that users made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standalone {
    /// Claims for them, each with a name that the ledger does not know.
    pub claims: Vec<NodeClaim>,
    /// Objects that nothing is launched for, each with the reason.
    pub left: Vec<(NodeClaimName, &'static str)>,
}

/// Claims for those of `objects` that users made and the ledger of `snapshot` has none for, in the order of
/// their names, as many as one commit takes. An object that is being deleted gets no claim, and one with an
/// instance is adopted with it.
#[must_use]
pub fn standalone(
    cluster: &ClusterName,
    objects: &[NodeClaim],
    snapshot: &Snapshot,
    now: Timestamp,
) -> Standalone {
    let is_new = |object: &&NodeClaim| {
        object.is_standalone() && !object.is_managed_here() && object.phase == ClaimPhase::Created
    };
    let mut new: Vec<&NodeClaim> = objects.iter().filter(is_new).collect();
    new.sort_by_key(|object| &object.name);
    let mut outcome = Standalone::default();
    let mut count = snapshot.claims.len();
    for object in new {
        if snapshot.claims.get(&object.name).is_some_and(NodeClaim::is_standalone) {
            continue;
        }
        if let Some(why) = objection(object, count, snapshot) {
            outcome.left.push((object.name.clone(), why));
        } else if outcome.claims.len() < limits::ITEMS_PER_COMMIT_MAX / 2 {
            let index = u32::try_from(outcome.claims.len()).unwrap_or(u32::MAX);
            let batch = BatchId::derived(cluster, &snapshot.head, index);
            outcome.claims.push(created(object, batch, now));
            count += 1;
        }
    }
    outcome
}

/// Why nothing is launched for `object`, if so; the cluster has `count` claims.
fn objection(object: &NodeClaim, count: usize, snapshot: &Snapshot) -> Option<&'static str> {
    let mut unreadable = snapshot.unreadable.iter();
    if snapshot.claims.contains_key(&object.name) {
        Some("another claim has its name")
    } else if unreadable.any(|item| item.claim.as_ref() == Some(&object.name)) {
        Some("a claim of its name cannot be read")
    } else if limits::NODES_PER_CLUSTER_MAX <= count {
        Some("the cluster has as many nodes as it can have")
    } else {
        None
    }
}

fn created(object: &NodeClaim, batch: BatchId, now: Timestamp) -> NodeClaim {
    let (name, pool) = (object.name.clone(), object.node_pool.clone());
    let claim = NodeClaim::created(name, pool, object.node_class.clone(), batch, now);
    NodeClaim {
        labels: object.labels.clone(),
        annotations: object.annotations.clone(),
        requirements: object.requirements.clone(),
        requests: object.requests.clone(),
        taints: object.taints.clone(),
        startup_taints: object.startup_taints.clone(),
        expire_after: object.expire_after,
        termination_grace_period: object.termination_grace_period,
        ..claim
    }
}
