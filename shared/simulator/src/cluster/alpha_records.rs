//! What the API server keeps of NodeOverlays and CapacityBuffers beside what their specs say.

use std::sync::Arc;

use super::{
    ClusterState,
    records::{ConditionRecord, ObjectRecord},
};
use crate::{Sim, story::BufferReferent};
use jiff::Timestamp;
use model::{
    Condition, ConditionKind, ObjectName, PodKey, PodSpec,
    buffer::{BufferStatus, CapacityBuffer, ObservedBuffer, Reference},
    overlay::{NodeOverlay, ObservedOverlay},
};
use ports::PortError;

impl ClusterState {
    pub(crate) fn put_overlay(&mut self, overlay: NodeOverlay) {
        let stored = self.node_overlays.get(&overlay.name);
        let is_other = stored.is_some_and(|stored| *stored != overlay);
        self.overlay_records.put(&overlay.name, is_other);
        self.node_overlays.insert(overlay.name.clone(), overlay);
    }

    pub(crate) fn delete_overlay(&mut self, name: &ObjectName) {
        self.node_overlays.remove(name);
        self.overlay_records.remove(name);
    }

    pub(crate) fn put_buffer(&mut self, buffer: CapacityBuffer, refers_to: Option<BufferReferent>) {
        let key = PodKey { namespace: buffer.namespace.clone(), name: buffer.name.clone() };
        let written = (buffer, refers_to);
        let is_other = self.capacity_buffers.get(&key).is_some_and(|stored| *stored != written);
        self.buffer_records.put(&key, is_other);
        self.capacity_buffers.insert(key, written);
    }

    pub(crate) fn delete_buffer(&mut self, key: &PodKey) {
        self.capacity_buffers.remove(key);
        self.buffer_records.remove(key);
        self.buffer_statuses.remove(key);
    }

    pub(crate) fn put_template(&mut self, key: PodKey, spec: Arc<PodSpec>) {
        let generation = match self.pod_templates.get(&key) {
            Some((known, generation)) if *known == spec => *generation,
            Some((_, generation)) => generation + 1,
            None => 1,
        };
        self.pod_templates.insert(key, (spec, generation));
    }

    pub(crate) fn observed_overlays(&self) -> impl Iterator<Item = ObservedOverlay> {
        self.node_overlays.values().filter_map(|overlay| {
            let record = self.overlay_records.get(&overlay.name)?;
            let (uid, generation) = (record.uid.clone(), record.generation);
            Some(ObservedOverlay { overlay: overlay.clone(), uid, generation })
        })
    }

    pub(crate) fn observed_buffers(&self) -> impl Iterator<Item = ObservedBuffer> {
        self.capacity_buffers.iter().filter_map(|(key, (_, refers_to))| {
            let record = self.buffer_records.get(key)?;
            let refers_to = match refers_to {
                Some(BufferReferent::Template(key)) => {
                    let template = self.pod_templates.get(key);
                    let generation = template.map(|(_, generation)| *generation);
                    Reference::Template(key.name.clone(), generation)
                }
                Some(BufferReferent::Workload(_)) => Reference::Workload,
                None => Reference::Unusable,
            };
            let conditions = record.conditions.iter().map(ConditionRecord::condition).collect();
            let status = self.buffer_statuses.get(key).cloned().unwrap_or_default();
            Some(ObservedBuffer {
                key: key.clone(),
                uid: record.uid.clone(),
                generation: record.generation,
                strategy: None,
                refers_to,
                status: BufferStatus { conditions, ..status },
                status_generation: record.conditions_generation,
            })
        })
    }

    pub(crate) fn update_overlay_status(
        &mut self,
        seen: &ObservedOverlay,
        validation: &Condition,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let about = (&*seen.uid, seen.generation);
        let record =
            self.overlay_records.seen(&seen.overlay.name, about, "tell of a NodeOverlay")?;
        record.conditions_generation = Some(seen.generation);
        let ready = if validation.status == Some(true) {
            Condition::holds(ConditionKind::Ready)
        } else {
            Condition { kind: ConditionKind::Ready, ..validation.clone() }
        };
        let conditions = [validation, &ready].map(|condition| ConditionRecord::of(condition, now));
        let is_changed = record.put(conditions.into());
        record.writes += u64::from(is_changed);
        Ok(())
    }

    pub(crate) fn update_buffer_status(
        &mut self,
        seen: &ObservedBuffer,
        status: &BufferStatus,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let about = (&*seen.uid, seen.generation);
        let record = self.buffer_records.seen(&seen.key, about, "tell of a CapacityBuffer")?;
        let written = status.conditions.iter().map(|condition| ConditionRecord::of(condition, now));
        let mut is_changed = record.put(written.collect());
        is_changed |=
            record.conditions_generation.replace(seen.generation) != Some(seen.generation);
        let others = BufferStatus { conditions: Vec::new(), ..status.clone() };
        is_changed |= self.buffer_statuses.get(&seen.key) != Some(&others);
        record.writes += u64::from(is_changed);
        self.buffer_statuses.insert(seen.key.clone(), others);
        Ok(())
    }
}

impl Sim {
    /// What the API server keeps of the NodeOverlay called `name`, if it is there.
    pub fn overlay_record(&self, name: &ObjectName) -> Option<ObjectRecord> {
        self.with(|world| world.cluster.overlay_records.get(name).cloned())
    }

    /// What the API server keeps of the CapacityBuffer called `key`, if it is there, and what its status says.
    pub fn buffer_record(&self, key: &PodKey) -> Option<(ObjectRecord, BufferStatus)> {
        self.with(|world| {
            let cluster = &world.cluster;
            let status = cluster.buffer_statuses.get(key).cloned().unwrap_or_default();
            Some((cluster.buffer_records.get(key)?.clone(), status))
        })
    }

    /// The NodeOverlays that the API server has, by name.
    pub fn observed_overlays(&self) -> Vec<ObservedOverlay> {
        self.with(|world| world.cluster.observed_overlays().collect())
    }

    /// The CapacityBuffers that the API server has, by namespace and name.
    pub fn observed_buffers(&self) -> Vec<ObservedBuffer> {
        self.with(|world| world.cluster.observed_buffers().collect())
    }

    /// A user annotates a NodeOverlay.
    pub fn annotate_overlay(&self, name: &ObjectName, key: &str, value: &str) {
        self.with(|world| world.cluster.overlay_records.annotate(name, key, value));
    }

    /// A user annotates a CapacityBuffer.
    pub fn annotate_buffer(&self, name: &PodKey, key: &str, value: &str) {
        self.with(|world| world.cluster.buffer_records.annotate(name, key, value));
    }
}
