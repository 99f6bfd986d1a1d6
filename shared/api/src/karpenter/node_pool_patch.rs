//! What has to be sent so that a NodePool says what was found about it. Pure: what is stored and what
//! was found give a JSON merge patch of the status, under the version that was read.

use jiff::Timestamp;
use model::{
    Condition as FoundCondition, ConditionKind, ConditionReason,
    node_pool::{NodePoolStatus as Found, ObservedNodePool, TypeMatch},
    wake::{HealthChange, WakeFinding, WakeHealth},
};

use super::{
    common::ConditionEntry,
    conditions::{NODE_POOL, replaced, updated},
    node_pool::{StoredPoolStatus, resources_of},
    status_patch::{StatusPatch, Stored},
};

/// The patch that makes the pool `stored`, an object as the API server sends it, say what was `found`
/// about it as it was `seen`.
pub fn status_patch(
    stored: &[u8],
    seen: &ObservedNodePool,
    node_pool_status: &Found,
) -> Result<StatusPatch, serde_json::Error> {
    let stored = Stored::read(stored)?;
    if !stored.is(&seen.uid, seen.generation) {
        return Ok(StatusPatch::Moved);
    }
    let mut entries = stored.conditions();
    let class_generation =
        stored.get("nodeClassObservedGeneration").and_then(serde_json::Value::as_i64);
    let mut findings = vec![
        seen.pool.validation(),
        node_pool_status.node_class.condition(),
        registration(&entries, seen.generation, class_generation, node_pool_status),
    ];
    match node_pool_status.quota_condition() {
        Some(quota) => findings.push(quota),
        None => entries.retain(|entry| !entry.is(ConditionKind::QuotaExceeded)),
    }
    match (node_pool_status.types.condition(), &node_pool_status.types) {
        (Some(without_types), _) => findings.push(without_types),
        (None, TypeMatch::Unknown) => {}
        (None, _) => entries.retain(|entry| !entry.is(ConditionKind::NoCompatibleInstanceTypes)),
    }
    findings.extend(wake_found(&mut entries, &node_pool_status.wake, node_pool_status.found_at));
    let about = stored.about(seen.pool.is_deleting);
    let conditions = updated(&entries, &findings, NODE_POOL, about, node_pool_status.found_at);
    let wanted = StoredPoolStatus {
        resources: Some(resources_of(&node_pool_status.resources, node_pool_status.nodes)),
        nodes: Some(i64::try_from(node_pool_status.nodes).unwrap_or(i64::MAX)),
        node_class_observed_generation: node_pool_status.node_class_generation.or(class_generation),
        conditions: Some(conditions),
    };
    Ok(stored.patch(&serde_json::to_value(wanted)?))
}

/// The patch that changes the condition `WakeHealthy` of the pool `stored` as `finding` does, and nothing else.
pub fn wake_patch(
    stored: &[u8],
    seen: &ObservedNodePool,
    finding: &WakeFinding,
    now: Timestamp,
) -> Result<StatusPatch, serde_json::Error> {
    let stored = Stored::read(stored)?;
    if !stored.is(&seen.uid, seen.generation) {
        return Ok(StatusPatch::Moved);
    }
    let before = stored.conditions();
    let mut entries = before.clone();
    let condition = wake_found(&mut entries, finding, now);
    if condition.is_none() && entries == before {
        return Ok(StatusPatch::Nothing);
    }
    let conditions =
        replaced(&entries, condition.as_slice(), stored.about(seen.pool.is_deleting), now);
    let mut wanted = stored.status().clone();
    wanted.insert("conditions".to_owned(), serde_json::to_value(conditions)?);
    Ok(stored.patch(&serde_json::Value::Object(wanted)))
}

/// The condition `WakeHealthy` if `finding` changes it. It is taken from `entries` where the pool has it no longer.
fn wake_found(
    entries: &mut Vec<ConditionEntry>,
    finding: &WakeFinding,
    now: Timestamp,
) -> Option<FoundCondition> {
    let kind = ConditionKind::WakeHealthy;
    let stored = entries.iter().find(|entry| entry.is(kind)).and_then(|entry| {
        let since = entry.last_transition_time.parse().ok()?;
        Some(WakeHealth::of(entry.status.holds(), &entry.reason, since))
    });
    match finding.change(stored.as_ref(), now) {
        HealthChange::Is(condition) => Some(condition),
        HealthChange::Stays => None,
        HealthChange::Removed => {
            entries.retain(|entry| !entry.is(kind));
            None
        }
    }
}

/// What is known of another spec of the pool or of its class says nothing about this one.
///
/// Karpenter: `pkg/controllers/nodepool/registrationhealth/controller.go`.
fn registration(
    known: &[ConditionEntry],
    generation: i64,
    class_generation: Option<i64>,
    node_pool_status: &Found,
) -> FoundCondition {
    // It does not make the pool less ready.
    let kind = ConditionKind::NodeRegistrationHealthy;
    let stored = known.iter().find(|condition| condition.is(kind));
    let is_of_this = |condition: &&ConditionEntry| {
        condition.observed_generation == Some(generation)
            && node_pool_status
                .node_class_generation
                .is_none_or(|now| class_generation == Some(now))
    };
    let registrations = &node_pool_status.registrations;
    let stored = stored.filter(is_of_this);
    match (registrations.are_healthy(), stored) {
        (Some(true), _) => FoundCondition::holds(kind),
        // The first exceeded quota is reported for as long as it is exceeded.
        (Some(false), stored)
            if stored.is_none_or(|stored| stored.status.holds() != Some(false)) =>
        {
            let Some(failure) = registrations.failures().last() else {
                return FoundCondition::awaits(kind);
            };
            FoundCondition::fails(kind, failure.reason.clone(), failure.message.clone())
        }
        // Nothing was launched since, or nothing that changes it: it stays as it is.
        (_, Some(stored)) => FoundCondition {
            kind,
            status: stored.status.holds(),
            reason: ConditionReason::Other(stored.reason.clone()),
            message: stored.message.clone(),
        },
        (_, None) => FoundCondition::awaits(kind),
    }
}
