//! What claims show to people and nobody decides on: condition `Consolidatable`, and whether their nodes are as
//! large as was expected. Noted on a claim when it changes, and only then.
//!
//! Karpenter: `pkg/controllers/nodeclaim/disruption/consolidation.go`, `pkg/controllers/nodeclaim/consistency`.

use std::collections::BTreeMap;

use model::{
    NodeClaim, NodeName, Pod, claim::ClaimConditions, facts::Facts, node::Node, node_pool::NodePool,
};

use super::conditions::quiet_since;
use crate::world::World;

/// A node may have so many hundredths of what was expected at least.
///
/// Karpenter: `consistency/nodeshape.go`.
const EXPECTED_PERCENT: u64 = 90;
/// Claims that one look notes something on at most: after an update all have something new to show.
const NOTED_MAX: usize = 100;

/// `changes` with what claims show now. A claim that is given up shows nothing new.
pub fn note(facts: &Facts, changes: &mut Vec<NodeClaim>) {
    if facts.unlocated_pod.is_some() {
        // Any node may be its.
        return;
    }
    let world = World::of(facts);
    let mut pods: BTreeMap<&NodeName, Vec<&Pod>> = BTreeMap::new();
    for pod in facts.pods.iter().filter(|pod| pod.is_reschedulable()) {
        if let Some(node) = &pod.node {
            pods.entry(node).or_default().push(pod);
        }
    }
    let mut more = NOTED_MAX;
    for stored in facts.ledger.claims.values().filter(|claim| !claim.is_deleting()) {
        let Some(node) = world.node(stored).filter(|node| node.is_initialized()) else { continue };
        let change = changes.iter_mut().find(|change| change.name == stored.name);
        let claim = change.as_deref().unwrap_or(stored);
        if claim.is_deleting() {
            continue;
        }
        let pods = pods.get(&node.name).map(Vec::as_slice).unwrap_or_default();
        let pool = facts.node_pools.iter().find(|pool| pool.name == claim.node_pool);
        let Some(conditions) = shown(claim, node, pool, pods, facts) else { continue };
        match change {
            Some(change) => change.conditions = conditions,
            None if more > 0 => {
                more -= 1;
                changes.push(NodeClaim { conditions, ..stored.following() });
            }
            None => {}
        }
    }
}

/// The conditions of `claim` with what it shows now, where that is news.
fn shown(
    claim: &NodeClaim,
    node: &Node,
    pool: Option<&NodePool>,
    pods: &[&Pod],
    facts: &Facts,
) -> Option<ClaimConditions> {
    let before = &claim.conditions;
    let is_consolidatable = pool.is_some_and(|pool| is_consolidatable(claim, pool, pods, facts));
    let consolidatable_since =
        is_consolidatable.then(|| before.consolidatable_since.unwrap_or(facts.now));
    let inconsistent = inconsistency(claim, node);
    let is_news = consolidatable_since != before.consolidatable_since
        || inconsistent.is_some() != before.inconsistent.is_some();
    is_news.then(|| ClaimConditions { consolidatable_since, inconsistent, ..before.clone() })
}

fn is_consolidatable(claim: &NodeClaim, pool: &NodePool, pods: &[&Pod], facts: &Facts) -> bool {
    let after = pool.disruption.consolidate_after.filter(|_| pool.replicas.is_none());
    let Some(after) = after else { return false };
    match claim.conditions.is_consolidatable {
        Some(is_consolidatable) => is_consolidatable,
        None => after <= facts.now.duration_since(quiet_since(claim, pods, facts.now, false)),
    }
}

/// What `node` lacks of what was expected of it, in words.
fn inconsistency(claim: &NodeClaim, node: &Node) -> Option<String> {
    let lacks = |(name, _): (&str, u64)| {
        let (expected, present) = (claim.capacity.get(name), node.capacity.get(name));
        let is_less =
            u128::from(present) * 100 < u128::from(expected) * u128::from(EXPECTED_PERCENT);
        is_less.then(|| format!("expected {expected} of {name}, and the node has {present}"))
    };
    let requested = claim.requests.iter().filter(|(_, amount)| 0 < *amount);
    let problems: Vec<String> = requested.filter_map(lacks).collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::testing::*;

    /// A node that was initialized an hour ago, with a pod that runs for `seconds`, whose pool waits a minute.
    fn world(seconds: i64) -> Facts {
        let mut facts = facts(Vec::new());
        let mut claim = add_managed(&mut facts, "node-1");
        claim.conditions.initialized_at = Some(ago(3_600));
        facts.ledger.claims.insert(claim.name.clone(), claim);
        let disruption = &mut facts.node_pools[0].disruption;
        disruption.consolidate_after = Some(SignedDuration::from_mins(1));
        let mut pod = running("a", "node-1", spec("cpu=1"));
        pod.started_at = Some(ago(seconds));
        facts.pods = vec![pod];
        facts
    }

    fn noted(facts: &Facts) -> Vec<NodeClaim> {
        let mut changes = Vec::new();
        note(facts, &mut changes);
        changes
    }

    fn keep(facts: &mut Facts, changes: &[NodeClaim]) {
        for claim in changes {
            facts.ledger.claims.insert(claim.name.clone(), claim.clone());
        }
    }

    #[test]
    fn consolidatable_is_noted_when_it_changes_and_only_then() {
        let mut facts = world(61);
        let first = noted(&facts);
        assert_eq!(first[0].conditions.consolidatable_since, Some(now()));
        keep(&mut facts, &first);
        assert_eq!(noted(&facts), []);
        facts.pods = world(59).pods;
        let second = noted(&facts);
        assert_eq!(second[0].conditions.consolidatable_since, None);
        assert_eq!(second[0].version, first[0].version + 1);
        keep(&mut facts, &second);
        assert_eq!(noted(&facts), []);
    }

    #[test]
    fn what_is_never_consolidated_does_not_say_so() {
        for change in [
            |facts: &mut Facts| facts.node_pools[0].disruption.consolidate_after = None,
            |facts: &mut Facts| facts.node_pools[0].replicas = Some(1),
        ] {
            let mut facts = world(61);
            change(&mut facts);
            assert_eq!(noted(&facts), []);
        }
    }

    #[test]
    fn a_node_that_is_far_smaller_than_expected_is_told_of() {
        let mut facts = world(0);
        let mut claim = facts.ledger.claims.values().next().cloned().unwrap();
        claim.requests = resources("cpu=1 memory=1Gi");
        facts.ledger.claims.insert(claim.name.clone(), claim.clone());
        assert_eq!(noted(&facts), []);
        let node = facts.nodes.values_mut().next().unwrap();
        node.capacity.memory.0 = claim.capacity.memory.0 / 2;
        let changed = noted(&facts);
        let why = changed[0].conditions.inconsistent.clone().unwrap();
        assert!(why.starts_with("expected ") && why.contains("of memory"), "{why}");
        keep(&mut facts, &changed);
        assert_eq!(noted(&facts), []);
    }

    #[test]
    fn what_changes_anyway_takes_it_along() {
        let facts = world(61);
        let claim = facts.ledger.claims.values().next().cloned().unwrap();
        let mut changes = vec![NodeClaim { empty_since: Some(now()), ..claim.following() }];
        note(&facts, &mut changes);
        assert_eq!((changes.len(), changes[0].version), (1, claim.version + 1));
        assert!(changes[0].conditions.consolidatable_since.is_some());
        let going = claim.given_up(model::DeletionReason::Expired, now());
        let mut changes = vec![going.clone()];
        note(&facts, &mut changes);
        assert_eq!(changes, [going]);
    }
}
