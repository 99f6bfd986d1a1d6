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
/// their names, as many as one commit takes. An object that is being deleted is nobody's, and one with an
/// instance is adopted with it.
#[must_use]
pub fn standalone(
    cluster: &ClusterName,
    objects: &[NodeClaim],
    snapshot: &Snapshot,
    now: Timestamp,
) -> Standalone {
    let is_new = |object: &&NodeClaim| {
        object.is_standalone() && !object.is_managed_here() && object.phase == ClaimPhase::Promised
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
            outcome.claims.push(promised(object, batch, now));
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

fn promised(object: &NodeClaim, batch: BatchId, now: Timestamp) -> NodeClaim {
    let (name, pool) = (object.name.clone(), object.node_pool.clone());
    let claim = NodeClaim::promised(name, pool, object.node_class.clone(), batch, now);
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

#[cfg(test)]
mod tests {
    use model::{NodePoolName, ledger::UnreadableItem};

    use super::*;
    use crate::testing::*;

    fn object(name: &str) -> NodeClaim {
        let name = NodeClaimName::new(name).unwrap();
        let batch = BatchId::new("object").unwrap();
        let class = "default".parse().unwrap();
        NodeClaim {
            taints: vec![taint("team=x:NoSchedule")],
            startup_taints: vec![taint("cni:NoExecute")],
            labels: [("team".to_owned(), "x".to_owned())].into(),
            ..NodeClaim::promised(name, NodePoolName::none(), class, batch, ago(60))
        }
    }

    fn names(outcome: &Standalone) -> Vec<&str> {
        outcome.claims.iter().map(|claim| claim.name.as_str()).collect()
    }

    #[test]
    fn a_claim_for_each_object_of_a_user_is_promised_with_what_it_says() {
        let facts = facts(Vec::new());
        let objects = [object("mine-2"), object("mine-1")];
        let outcome = standalone(&facts.cluster, &objects, &facts.ledger, now());
        assert_eq!(names(&outcome), ["mine-1", "mine-2"]);
        assert_eq!(outcome, standalone(&facts.cluster, &objects, &facts.ledger, now()));
        let [first, second] = outcome.claims.as_slice() else { panic!("two") };
        assert_ne!(first.batch, second.batch);
        assert!(first.is_standalone());
        assert_eq!(
            (first.version, first.phase, first.created_at),
            (1, ClaimPhase::Promised, now())
        );
        assert_eq!((&first.taints, &first.labels), (&objects[1].taints, &objects[1].labels));
        assert_eq!((first.batch_size, first.instance_types.len()), (1, 0));
    }

    #[test]
    fn what_is_somebody_elses_or_known_already_is_left_alone() {
        let mut facts = facts(Vec::new());
        let known = add_managed(&mut facts, "taken");
        let held = object("own");
        facts.ledger.claims.insert(held.name.clone(), held.clone());
        facts.ledger.unreadable.push(UnreadableItem {
            item: "claim#odd".to_owned(),
            claim: Some("odd".parse().unwrap()),
            instance: None,
            problem: "`phase`: not known".to_owned(),
        });
        let deleting = NodeClaim { phase: ClaimPhase::Deleting, ..object("going") };
        let running = NodeClaim { phase: ClaimPhase::Launched, ..object("running") };
        let mut shown = object("shown");
        shown
            .labels
            .insert(model::labels::MANAGED_BY.to_owned(), model::labels::MANAGER.to_owned());
        let of_pool = NodeClaim { node_pool: known.node_pool.clone(), ..object("of-pool") };
        let taken = object(known.name.as_str());
        let objects = [held, deleting, running, shown, of_pool, taken, object("odd")];
        let outcome = standalone(&facts.cluster, &objects, &facts.ledger, now());
        assert_eq!(names(&outcome), [""; 0]);
        let left: Vec<_> = outcome.left.iter().map(|(name, why)| (name.as_str(), *why)).collect();
        let wanted = [
            ("odd", "a claim of its name cannot be read"),
            (known.name.as_str(), "another claim has its name"),
        ];
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        assert_eq!(left, wanted);
    }
}
