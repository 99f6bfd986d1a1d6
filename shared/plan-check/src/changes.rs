//! Claims that are deleted or observed: allowed changes, and the reason that is given.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ClaimPhase, DeletionReason, NodeClaim, NodeClaimName, NodePoolName, Plan,
    claim::{ClaimConditions, Deletion},
    disruption::DisruptionReason,
    interruption::{REBALANCE_RECOMMENDATION, SPOT_NOTICE},
    labels::{DO_NOT_DISRUPT, DO_NOT_REPAIR, NODE_POOL},
    node::Node,
    node_pool::{BudgetNodes, ConsolidationPolicy, NodePool},
    repair,
};

use crate::{Violation, commands, static_pools, world::World};

pub(crate) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    let mut names: BTreeSet<&NodeClaimName> = BTreeSet::new();
    let mut disrupted: BTreeMap<(&NodePoolName, DisruptionReason), usize> = BTreeMap::new();
    commands::check(world, plan, &mut disrupted, violations);
    for change in &plan.changes {
        if !names.insert(&change.name) {
            violations.push(Violation::ChangeTwice(change.name.clone()));
        }
        let Some(stored) = world.facts.ledger.claims.get(&change.name) else {
            violations.push(Violation::ChangeUnknown(change.name.clone()));
            continue;
        };
        if change.version != stored.version.saturating_add(1) {
            violations.push(Violation::ChangeVersion {
                claim: change.name.clone(),
                version: change.version,
                stored: stored.version,
            });
        }
        if let Some(why) = forbidden(world, stored, change) {
            violations.push(Violation::ChangeForbidden { claim: change.name.clone(), why });
        }
        let Some(deletion) = change.deletion.as_ref().filter(|_| !stored.is_deleting()) else {
            continue;
        };
        let speaks_against = match deletion.reason {
            DeletionReason::Expired => not_expired(world, stored),
            DeletionReason::NodeDeleted => not_deleted(world, stored),
            DeletionReason::NodeClaimDeleted => not_asked_to_go(world, stored),
            DeletionReason::Overprovisioned => static_pools::not_too_many(world, stored),
            DeletionReason::Disrupted(_) if world.is_being_replaced(&stored.name) => {
                commands::not_replaced(world, plan, &stored.name)
            }
            DeletionReason::Disrupted(reason) => {
                let takes = usize::from(takes_of_budget(world, stored, reason));
                *disrupted.entry((&stored.node_pool, reason)).or_default() += takes;
                not_disruptable(world, stored, reason)
            }
            DeletionReason::SpotInterrupted
            | DeletionReason::ReservationEnding
            | DeletionReason::InstanceUnhealthy
            | DeletionReason::InstanceEnded
            | DeletionReason::NotRegistered
            | DeletionReason::NotUnderstood => None,
        };
        if let Some(why) = speaks_against {
            let (claim, reason) = (change.name.clone(), deletion.reason);
            violations.push(Violation::Deleted { claim, reason, why });
        }
    }
    for ((pool, reason), disrupted) in disrupted {
        check_budgets(world, (pool, reason), disrupted, violations);
    }
    for (offering, until) in &plan.unavailable_offerings {
        if *until <= world.facts.now {
            let instance_type = offering.instance_type.clone();
            violations
                .push(Violation::Cooling { capacity_type: offering.capacity_type, instance_type });
        }
    }
}

/// What speaks against disrupting the claim for `reason`.
pub(crate) fn not_disruptable(
    world: &World<'_>,
    claim: &NodeClaim,
    reason: DisruptionReason,
) -> Option<String> {
    match reason {
        DisruptionReason::Empty => not_empty(world, claim),
        DisruptionReason::Drifted => {
            not_movable(world, claim, claim.termination_grace_period.is_some())
        }
        DisruptionReason::Underutilized => not_underutilized(world, claim),
        // How long its pods may stay is bounded by what it is ill with.
        DisruptionReason::Unhealthy => not_ill(world, claim),
    }
}

/// What the change does beyond deleting the claim, saying why, or saying since when it is empty.
fn forbidden(world: &World<'_>, stored: &NodeClaim, change: &NodeClaim) -> Option<String> {
    if stored.is_deleting() {
        let is_only_sooner = ends_sooner(stored, change);
        return (!is_only_sooner).then(|| "it is being deleted already".to_owned());
    }
    if is_recommended(stored, change) {
        return None;
    }
    let rest = NodeClaim {
        version: stored.version,
        phase: stored.phase,
        phase_since: stored.phase_since,
        deletion: stored.deletion.clone(),
        empty_since: stored.empty_since,
        message: stored.message.clone(),
        retry: stored.retry,
        conditions: ClaimConditions {
            last_pod_event_at: stored.conditions.last_pod_event_at,
            consolidatable_since: stored.conditions.consolidatable_since,
            inconsistent: stored.conditions.inconsistent.clone(),
            drifted: stored.conditions.drifted.clone(),
            drifted_since: stored.conditions.drifted_since,
            ..change.conditions.clone()
        },
        ..change.clone()
    };
    if rest != *stored {
        return Some("more than its deletion, its emptiness and its message changes".to_owned());
    }
    let is_noted = change.conditions != stored.conditions;
    let now = world.facts.now;
    match &change.deletion {
        None if change.phase != stored.phase || change.phase_since != stored.phase_since => {
            Some("its phase changes without a reason".to_owned())
        }
        None if change.empty_since == stored.empty_since && !is_noted => {
            Some("nothing changes".to_owned())
        }
        None if change.empty_since.is_some_and(|since| now < since) => {
            Some("it is empty since a time to come".to_owned())
        }
        Some(_) if change.phase != ClaimPhase::Deleting => {
            Some(format!("it has a reason to be deleted and is {}", change.phase))
        }
        Some(deletion) if deletion.at != now || change.phase_since != now => {
            Some("it is deleted at another time than now".to_owned())
        }
        Some(deletion) if is_deadline_wrong(deletion, stored) => {
            Some("its deadline does not follow its terminationGracePeriod".to_owned())
        }
        None | Some(_) => None,
    }
}

/// Whether `change` is `stored` but for EC2's recommendation to leave its instance.
fn is_recommended(stored: &NodeClaim, change: &NodeClaim) -> bool {
    let of_change = change.conditions.drifted.as_deref();
    let before = stored.conditions.drifted.as_deref();
    let is_new = before != of_change && of_change == Some(REBALANCE_RECOMMENDATION);
    let rest = NodeClaim {
        version: stored.version,
        conditions: stored.conditions.clone(),
        ..change.clone()
    };
    let mut conditions = change.conditions.clone();
    conditions.drifted.clone_from(&stored.conditions.drifted);
    conditions.drifted_since = stored.conditions.drifted_since;
    is_new && rest == *stored && conditions == stored.conditions
}

/// Whether `change` is `stored` but for an instance that ends sooner.
fn ends_sooner(stored: &NodeClaim, change: &NodeClaim) -> bool {
    let (Some(before), Some(after)) = (&stored.deletion, &change.deletion) else { return false };
    let rest = Deletion { deadline: before.deadline, ..after.clone() };
    let is_sooner = match (before.deadline, after.deadline) {
        (Some(before), Some(after)) => after < before,
        (None, after) => after.is_some(),
        (Some(_), None) => false,
    };
    let rest = NodeClaim { version: stored.version, deletion: Some(rest), ..change.clone() };
    is_sooner && rest == *stored
}

/// Who deletes a claim for its own reasons keeps to its terminationGracePeriod; EC2 takes a spot instance
/// two minutes after its notice at the latest.
fn is_deadline_wrong(deletion: &Deletion, stored: &NodeClaim) -> bool {
    match (deletion.reason, deletion.deadline) {
        (DeletionReason::SpotInterrupted, Some(deadline)) => {
            SPOT_NOTICE < deadline.duration_since(deletion.at)
        }
        // Where its checks fail, nothing on it is waited for.
        (DeletionReason::InstanceUnhealthy, Some(deadline)) if deadline == deletion.at => false,
        (DeletionReason::Disrupted(DisruptionReason::Unhealthy), deadline) => {
            let grace = stored.termination_grace_period;
            let most = repair::POLICIES
                .iter()
                .map(|policy| policy.drain)
                .max()
                .into_iter()
                .chain(grace)
                .min();
            let ends = deadline.map(|deadline| deadline.duration_since(deletion.at));
            ends.zip(most).is_none_or(|(ends, most)| most < ends)
        }
        (_, deadline) => deadline.is_some() != stored.termination_grace_period.is_some(),
    }
}

/// Specification of disruption §5.1.
fn not_expired(world: &World<'_>, claim: &NodeClaim) -> Option<String> {
    let Some(after) = claim.expire_after else { return Some("it never expires".to_owned()) };
    let Ok(expires_at) = claim.created_at.checked_add(after) else {
        return Some("it expires in no time that can be told".to_owned());
    };
    (world.facts.now < expires_at).then(|| format!("it expires at {expires_at} only"))
}

fn not_deleted(world: &World<'_>, claim: &NodeClaim) -> Option<String> {
    let node = world.node_of.get(&claim.name);
    (!node.is_some_and(|node| node.is_deleting)).then(|| "its node is not being deleted".to_owned())
}

/// A claim whose launch may be under way waits for its instance.
fn not_asked_to_go(world: &World<'_>, claim: &NodeClaim) -> Option<String> {
    let Some(deleted) = &world.facts.deleted_claims else {
        return Some("it was not observed whether its NodeClaim is being deleted".to_owned());
    };
    if !deleted.contains(&claim.name) {
        return Some("its NodeClaim is not being deleted".to_owned());
    }
    (claim.phase == ClaimPhase::Created).then(|| "its launch may be under way".to_owned())
}

/// Specification of disruption §2.4, §2.9 and §3.1.
fn not_empty(world: &World<'_>, claim: &NodeClaim) -> Option<String> {
    let now = world.facts.now;
    let node = match disruptable(world, claim) {
        Ok(node) => node,
        Err(why) => return Some(why),
    };
    for pod in world.pods_on.get(&node.name).into_iter().flatten() {
        if pod.is_reschedulable() {
            return Some(format!("pod {} needs node {}", pod.key, node.name));
        }
        if pod.is_protected(now) {
            return Some(format!("pod {} must not be disrupted", pod.key));
        }
    }
    let Some(pool) = world.pools.get(&claim.node_pool) else {
        return Some(format!("its NodePool {} does not exist", claim.node_pool));
    };
    too_soon(world, claim, pool)
}

/// The node of a claim, if something may be done to it at all.
fn disruptable<'a>(world: &World<'a>, claim: &NodeClaim) -> Result<&'a Node, String> {
    let Some(node) = world.node_of.get(&claim.name).copied() else {
        return Err("it has no node".to_owned());
    };
    if !node.is_initialized() {
        return Err(format!("node {} is not initialized", node.name));
    }
    if node.annotations.get(DO_NOT_DISRUPT).is_some_and(|value| value == "true") {
        return Err(format!("node {} must not be disrupted", node.name));
    }
    Ok(node)
}

/// Specification of disruption §2.4–§2.6. Drift may wait for pods that cannot be moved yet.
fn not_movable(world: &World<'_>, claim: &NodeClaim, waits: bool) -> Option<String> {
    let node = match disruptable(world, claim) {
        Ok(node) => node,
        Err(why) => return Some(why),
    };
    let mut pods = world.pods_on.get(&node.name).into_iter().flatten().filter(|_| !waits);
    pods.find_map(|pod| {
        let is_protected = pod.is_protected(world.facts.now);
        if is_protected || !pod.is_reschedulable() || pod.is_terminating() {
            return is_protected.then(|| format!("pod {} must not be disrupted", pod.key));
        }
        let mut budgets = world.facts.surroundings.disruption_budgets.iter();
        let budget = budgets.find(|budget| {
            budget.key.namespace == pod.key.namespace
                && budget.disruptions_allowed == 0
                && (!budget.always_allows_unhealthy || pod.is_ready)
                // One that tolerates everything stays to the end.
                && pod.spec.tolerations.is_empty()
                && budget.selector.as_ref().is_some_and(|label_selector| label_selector.selects(&pod.spec.labels))
        })?;
        Some(format!("PodDisruptionBudget {} does not let pod {} go", budget.key, pod.key))
    })
}

/// An ill node that never came up takes nothing of a budget (changes after 1.14.1, 4.1).
pub(crate) fn takes_of_budget(
    world: &World<'_>,
    claim: &NodeClaim,
    reason: DisruptionReason,
) -> bool {
    let node = world.node_of.get(&claim.name);
    reason != DisruptionReason::Unhealthy || node.is_some_and(|node| node.is_initialized())
}

/// Changes after 1.14.1, 4.1 and 4.3: neither pods nor their budgets protect an ill node; an annotation
/// does, and so does it when more than a fifth of its pool's nodes are ill.
fn not_ill(world: &World<'_>, claim: &NodeClaim) -> Option<String> {
    if !world.facts.policies.node_repair || world.facts.policies.legacy_node_repair {
        return Some("node repair is off".to_owned());
    }
    let Some(node) = world.node_of.get(&claim.name) else {
        return Some("its node is not there".to_owned());
    };
    if node.annotations.get(DO_NOT_REPAIR).is_some_and(|value| value == "true") {
        return Some(format!("node {} must not be repaired", node.name));
    }
    let pool = claim.node_pool.as_str();
    let of_pool: Vec<&Node> = world
        .facts
        .nodes
        .values()
        .filter(|node| node.labels.get(NODE_POOL).is_some_and(|label| label == pool))
        .collect();
    let is_ill = |node: &&&Node| {
        let mut conditions = node.ill_conditions.iter();
        conditions.any(|condition| repair::is_about(&condition.kind, condition.status))
    };
    let (ill, total) = (of_pool.iter().filter(is_ill).count(), of_pool.len());
    if total.div_ceil(5) < ill {
        return Some(format!("{ill} of {total} nodes of NodePool {pool} are ill"));
    }
    let from = repair::counted_from(node.created_at, Some(claim));
    let due = repair::due(&node.ill_conditions, from, world.facts.now);
    due.is_none().then(|| format!("node {} is not ill for long enough", node.name))
}

/// Specification of disruption §2.7 and §3.4.
fn not_underutilized(world: &World<'_>, claim: &NodeClaim) -> Option<String> {
    let Some(pool) = world.pools.get(&claim.node_pool) else {
        return Some(format!("its NodePool {} does not exist", claim.node_pool));
    };
    if pool.replicas.is_some() {
        return Some(format!("NodePool {} is static", pool.name));
    }
    if pool.disruption.consolidate_after.is_none() {
        return Some(format!("consolidateAfter of NodePool {} is Never", pool.name));
    }
    if pool.disruption.policy == ConsolidationPolicy::WhenEmpty {
        return Some(format!("NodePool {} disrupts only empty nodes", pool.name));
    }
    not_movable(world, claim, false)
}

fn too_soon(world: &World<'_>, claim: &NodeClaim, pool: &NodePool) -> Option<String> {
    if pool.replicas.is_some() {
        return Some(format!("NodePool {} is static", pool.name));
    }
    let Some(after) = pool.disruption.consolidate_after else {
        return Some(format!("consolidateAfter of NodePool {} is Never", pool.name));
    };
    // Without a wait it does not matter whether anybody wrote down when it became empty.
    if after.is_zero() {
        return None;
    }
    let Some(since) = claim.empty_since else {
        return Some("it was not seen empty before".to_owned());
    };
    let is_over = since.checked_add(after).is_ok_and(|ends_at| ends_at <= world.facts.now);
    (!is_over).then(|| format!("it is empty since {since} only"))
}

/// Specification of disruption §2.8, without schedules.
fn check_budgets(
    world: &World<'_>,
    (pool, reason): (&NodePoolName, DisruptionReason),
    disrupted: usize,
    violations: &mut Vec<Violation>,
) {
    let nodes: Vec<(&NodeClaim, &Node)> = world
        .facts
        .ledger
        .claims
        .values()
        // One that is drained, and whose instance EC2 was told to terminate, is none of the pool's any more.
        .filter(|claim| claim.node_pool == *pool && !claim.is_instance_terminating())
        .filter_map(|claim| Some((claim, *world.node_of.get(&claim.name)?)))
        .filter(|(_, node)| node.is_initialized())
        .collect();
    let total = nodes.len();
    // Of ill nodes those that are not ready are no others' burden.
    let counts_ill = reason != DisruptionReason::Unhealthy;
    let is_disrupting = |claim: &NodeClaim, node: &Node| {
        let is_going = claim.is_deleting() || world.is_being_replaced(&claim.name);
        is_going || counts_ill && !node.is_ready
    };
    let disrupting = nodes.iter().filter(|(claim, node)| is_disrupting(claim, node)).count();
    let pools = &world.pools;
    let Some(allowed) = pools.get(pool).and_then(|pool| allowed(pool, reason, total)) else {
        return;
    };
    let allowed = allowed.saturating_sub(disrupting);
    if allowed < disrupted {
        violations.push(Violation::Budget { node_pool: pool.clone(), disrupted, allowed, total });
    }
}

/// The least of the budgets for `reason` that always apply; `None` is no limit.
fn allowed(pool: &NodePool, reason: DisruptionReason, total: usize) -> Option<usize> {
    let budgets = pool.disruption.budgets.iter().filter(|budget| budget.window.is_none());
    let budgets =
        budgets.filter(|budget| budget.reasons.is_empty() || budget.reasons.contains(&reason));
    let values = budgets.map(|budget| match budget.nodes {
        BudgetNodes::Count(count) => usize::try_from(count).unwrap_or(usize::MAX),
        BudgetNodes::Percent(percent) => {
            let percent = usize::try_from(percent).unwrap_or(usize::MAX);
            total.saturating_mul(percent).div_ceil(100)
        }
    });
    values.min()
}
