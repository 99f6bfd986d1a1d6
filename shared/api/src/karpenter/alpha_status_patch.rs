//! What has to be sent so that the status of a NodeOverlay or a CapacityBuffer says what was found. Pure: what is
//! stored and what was found give a JSON merge patch, under the version that was read.

use jiff::Timestamp;
use model::{
    Condition,
    buffer::{BufferStatus, ObservedBuffer},
    overlay::ObservedOverlay,
};

use super::{
    capacity_buffer::{CapacityBufferStatus, LocalObjectReference},
    conditions::{NODE_OVERLAY, replaced, updated},
    node_overlay::NodeOverlayStatus,
    status_patch::{StatusPatch, Stored},
};

/// The patch that makes `stored`, a NodeOverlay as the API server sends it, say whether the overlay as it was `seen`
/// is in use: `validation` is its condition `ValidationSucceeded`, found at `now`.
pub fn overlay_status_patch(
    stored: &[u8],
    seen: &ObservedOverlay,
    validation: &Condition,
    now: Timestamp,
) -> Result<StatusPatch, serde_json::Error> {
    let stored = Stored::read(stored)?;
    if !stored.is(&seen.uid, seen.generation) {
        return Ok(StatusPatch::Moved);
    }
    let validation = std::slice::from_ref(validation);
    let conditions =
        updated(&stored.conditions(), validation, NODE_OVERLAY, stored.about(false), now);
    let wanted = NodeOverlayStatus { conditions: Some(conditions) };
    Ok(stored.patch(&serde_json::to_value(wanted)?))
}

/// The patch that makes `stored`, a CapacityBuffer as the API server sends it, say `status` of the buffer as it was
/// `seen`. Stored conditions of other types stay.
pub fn buffer_status_patch(
    stored: &[u8],
    seen: &ObservedBuffer,
    status: &BufferStatus,
    now: Timestamp,
) -> Result<StatusPatch, serde_json::Error> {
    let stored = Stored::read(stored)?;
    if !stored.is(&seen.uid, seen.generation) {
        return Ok(StatusPatch::Moved);
    }
    let BufferStatus { replicas, template, strategy, conditions } = status.clone();
    let conditions = replaced(&stored.conditions(), &conditions, stored.about(false), now);
    let (name, generation) = template.unzip();
    let wanted = CapacityBufferStatus {
        pod_template_ref: name.map(|name| LocalObjectReference { name: name.to_string() }),
        replicas: replicas.map(|count| i32::try_from(count).unwrap_or(i32::MAX)),
        pod_template_generation: generation,
        conditions: Some(conditions),
        provisioning_strategy: strategy,
    };
    Ok(stored.patch(&serde_json::to_value(wanted)?))
}
