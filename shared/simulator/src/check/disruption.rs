//! Budgets of disruption: of NodePools when nodes are disrupted, and of pods when they are evicted.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{
    ClusterName, DeletionReason, NodeClaimName, NodePoolName, Pod,
    disruption::DisruptionReason,
    duration::later,
    ledger::Commit,
    node_pool::{BudgetNodes, NodePool},
};

use crate::{timeline::Happening, world::World};

/// A decision may have seen nodes that are gone by now.
const SEEN_WITHIN: SignedDuration = SignedDuration::from_mins(1);

impl World {
    /// How many nodes `commit` begins to disrupt, by NodePool and reason; before it is made.
    pub(crate) fn disrupted_by(
        &mut self,
        cluster: &ClusterName,
        commit: &Commit,
    ) -> BTreeMap<(NodePoolName, DisruptionReason), usize> {
        let ledger = self.ledger.cluster(cluster);
        let going = ledger.commands().filter(|command| command.is_under_way());
        let known: BTreeSet<&NodeClaimName> =
            going.flat_map(|command| &command.candidates).collect();
        let is_new = |name: &NodeClaimName| {
            let stored = ledger.claims.get(name);
            stored.is_some_and(|claim| !claim.is_deleting()) && !known.contains(name)
        };
        let deleted = commit.changed.iter().filter_map(|claim| {
            let DeletionReason::Disrupted(reason) = claim.deletion.as_ref()?.reason else {
                return None;
            };
            Some((&claim.name, reason))
        });
        let replaced =
            commit.started.values().filter(|command| command.is_under_way()).flat_map(|command| {
                command.candidates.iter().map(|name| (name, command.method.reason()))
            });
        let mut disrupted = BTreeMap::new();
        for (name, reason) in deleted.chain(replaced).filter(|(name, _)| is_new(name)) {
            let Some(claim) = ledger.claims.get(name) else { continue };
            *disrupted.entry((claim.node_pool.clone(), reason)).or_default() += 1;
        }
        disrupted
    }

    /// Which budgets are overspent by what was disrupted just now. Budgets with a schedule are left to
    /// others.
    pub(crate) fn overspent_budgets(
        &mut self,
        cluster: &ClusterName,
        disrupted: &BTreeMap<(NodePoolName, DisruptionReason), usize>,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        for ((pool, reason), new) in disrupted {
            let (total, going) = self.going(cluster, pool);
            let seen = total + self.removed_just_now();
            let listed = self.cluster.node_pools.get(pool);
            let Some(allowed) = listed.and_then(|listed| allowed(listed, *reason, seen)) else {
                continue;
            };
            if allowed < going {
                let reason = reason.as_str();
                problems.push(format!(
                    "{new} more nodes of NodePool {pool} are {reason}: {going} of {total} go, and \
                     {allowed} may"
                ));
            }
        }
        problems
    }

    /// How many initialized nodes a pool has, and how many of them go or are being replaced. One whose
    /// instance is being terminated is none of them.
    fn going(&mut self, cluster: &ClusterName, pool: &NodePoolName) -> (usize, usize) {
        let nodes = &self.cluster.nodes;
        let is_up = |name| nodes.get(name).is_some_and(|entry| entry.node.is_initialized());
        let ledger = self.ledger.cluster(cluster);
        let replaced = ledger.commands().filter(|command| command.is_under_way());
        let replaced: BTreeSet<&NodeClaimName> =
            replaced.flat_map(|command| &command.candidates).collect();
        let claims = ledger
            .claims
            .values()
            .filter(|claim| claim.node_pool == *pool)
            .filter(|claim| !claim.is_instance_terminating());
        let initialized = claims.filter(|claim| claim.node.as_ref().is_some_and(is_up));
        initialized.fold((0, 0), |(total, going), claim| {
            let goes = claim.is_deleting() || replaced.contains(&claim.name);
            (total + 1, going + usize::from(goes))
        })
    }

    fn removed_just_now(&self) -> usize {
        let events = self.timeline.iter().rev();
        let recent = events.take_while(|event| self.now <= later(event.at, SEEN_WITHIN));
        let removed = |happening: &Happening| {
            matches!(happening, Happening::NodeRemoved { .. } | Happening::ClaimRemoved { .. })
        };
        recent.filter(|event| removed(&event.happening)).count()
    }

    /// Why forcing `pod` to go breaks its PodDisruptionBudget, if it does: only the end of its node's
    /// grace period may.
    pub(crate) fn forced_past_budget(&self, pod: &Pod) -> Option<String> {
        let entry = self.cluster.nodes.get(pod.node.as_ref()?)?;
        let claim = self.ledger.claim_of(&entry.instance);
        let is_bounded = claim.is_some_and(|claim| {
            claim.deletion.as_ref().is_some_and(|deletion| deletion.deadline.is_some())
        });
        (!is_bounded && !self.cluster.is_eviction_allowed(pod))
            .then(|| format!("pod {} was forced to go against its budget", pod.key))
    }
}

/// How many of `total` nodes of `pool` its budgets let go at once; `None` is any number.
fn allowed(pool: &NodePool, reason: DisruptionReason, total: usize) -> Option<usize> {
    let always = pool.disruption.budgets.iter().filter(|budget| budget.window.is_none());
    let applying =
        always.filter(|budget| budget.reasons.is_empty() || budget.reasons.contains(&reason));
    let counts = applying.filter_map(|budget| match budget.nodes {
        BudgetNodes::Count(count) => usize::try_from(count).ok(),
        BudgetNodes::Percent(percent) => {
            Some((total * usize::try_from(percent).ok()?).div_ceil(100))
        }
    });
    counts.min()
}
