//! Pods coming and going: what the API server does with them.

use std::{collections::BTreeMap, sync::Arc};

use jiff::SignedDuration;
use model::{
    NodeName, Pod, PodKey, PodSpec, PodUid,
    duration::later,
    labels,
    node::{Eviction, EvictionRequest},
    pod::{DeletionCost, Owner, PodPhase},
};
use ports::{Fault, PortError};

use super::PodEntry;
use crate::{
    made_up,
    timeline::Happening,
    world::{Event, World},
};

impl World {
    pub(super) fn new_pod(&mut self, key: PodKey, owner: Option<Owner>, spec: Arc<PodSpec>) -> Pod {
        self.cluster.uids += 1;
        Pod {
            key,
            uid: made_up(PodUid::new(&format!("uid-{}", self.cluster.uids))),
            created_at: self.now,
            deleted_at: None,
            phase: PodPhase::Pending,
            started_at: None,
            unschedulable_at: None,
            node: None,
            nominated_node: None,
            is_ready: false,
            volumes: Vec::new(),
            made_claims: BTreeMap::new(),
            owner: owner.map(Arc::new),
            spec,
        }
    }

    pub(super) fn create_pod(&mut self, entry: PodEntry) {
        let spec = self.cluster.scheduled_spec(&entry.pod, &self.settings.default_spread);
        self.cluster.waiting.insert(&entry, spec);
        self.admit(entry);
        self.touch();
    }

    /// Has a pod say what deleting it costs.
    pub(crate) fn set_deletion_cost(&mut self, cost: &DeletionCost) -> Result<(), PortError> {
        let entry = self.cluster.pods.get_mut(&cost.pod);
        let entry = entry.ok_or_else(|| PortError::new("patch a pod", Fault::NotFound))?;
        let annotations = &mut Arc::make_mut(&mut entry.pod.spec).annotations;
        match cost.cost {
            Some(cost) => {
                annotations.insert(labels::POD_DELETION_COST.to_owned(), cost.to_string())
            }
            None => annotations.remove(labels::POD_DELETION_COST),
        };
        self.touch();
        Ok(())
    }

    /// A pod is there.
    pub(super) fn admit(&mut self, entry: PodEntry) {
        self.adopt(&entry);
        let key = entry.pod.key.clone();
        if !entry.pod.spec.pod_anti_affinity.required.is_empty() {
            self.cluster.guards.insert(key.clone());
        }
        self.cluster.pods.insert(key, entry);
    }

    /// Puts a pod onto a node.
    pub(super) fn bind(&mut self, key: &PodKey, node: &NodeName) {
        let now = self.now;
        let Some(entry) = self.cluster.pods.get_mut(key) else { return };
        let Some(target) = self.cluster.nodes.get_mut(node) else { return };
        entry.pod.node = Some(node.clone());
        entry.pod.unschedulable_at = None;
        target.take(&entry.pod);
        self.cluster.waiting.remove(entry);
        let uid = entry.pod.uid.clone();
        if !entry.pod.volumes.is_empty() {
            let pod = entry.pod.clone();
            self.cluster.provision_volumes(&pod, node);
            self.attach_volumes(&pod, node);
        }
        let Some(entry) = self.cluster.pods.get(key) else { return };
        if entry.pinned.is_none() {
            let waited = now.duration_since(entry.pod.created_at);
            self.cluster.pending_times.push(waited);
            self.happened(Happening::PodBound { pod: key.clone(), node: node.clone() });
        }
        let starts_after = self.chances.cluster.within(self.settings.pod_starts_after);
        self.after(starts_after, Event::PodRuns(key.clone(), uid));
    }

    /// The API server's answer to an eviction.
    pub(crate) fn evict(&mut self, request: &EvictionRequest) -> Eviction {
        let Some(entry) = self.cluster.pods.get(&request.pod) else { return Eviction::Gone };
        // Whose uid it is, is the deletion's business: budgets are asked before.
        let is_forced = request.grace_seconds.is_some();
        if !is_forced && !self.cluster.is_eviction_allowed(&entry.pod) {
            return Eviction::Blocked;
        }
        if entry.pod.uid != request.uid {
            return Eviction::Gone;
        }
        if is_forced {
            return self.force(request);
        }
        if entry.pod.is_terminating() {
            return Eviction::Accepted;
        }
        let violation = self.protected_eviction(&entry.pod);
        let node = entry.pod.node.clone();
        self.violations.extend(violation);
        self.cluster.evictions += 1;
        if let Some(node) = node {
            self.happened(Happening::PodEvicted { pod: request.pod.clone(), node });
        }
        self.delete_pod(&request.pod, request.grace_seconds);
        Eviction::Accepted
    }

    /// A deletion that no budget holds up, and that shortens one that is under way.
    fn force(&mut self, request: &EvictionRequest) -> Eviction {
        let Some(entry) = self.cluster.pods.get(&request.pod) else { return Eviction::Gone };
        let violation = self.protected_eviction(&entry.pod);
        let against_budget = self.forced_past_budget(&entry.pod);
        self.violations.extend(violation.into_iter().chain(against_budget));
        if !entry.pod.is_terminating() {
            self.cluster.evictions += 1;
            if let Some(node) = entry.pod.node.clone() {
                self.happened(Happening::PodEvicted { pod: request.pod.clone(), node });
            }
        }
        self.delete_pod(&request.pod, request.grace_seconds);
        Eviction::Accepted
    }

    /// Asks a pod to end within `grace_seconds`, or within its own grace period. One that is being
    /// deleted may only get less time, counted from when it was asked first.
    ///
    /// Kubernetes: `BeforeDelete` of `k8s.io/apiserver/pkg/registry/rest/delete.go`.
    pub(super) fn delete_pod(&mut self, key: &PodKey, grace_seconds: Option<u32>) {
        let Some(entry) = self.cluster.pods.get(key) else { return };
        let is_over = entry.pod.node.is_none() || entry.pod.is_terminal();
        if is_over {
            self.remove_pod(key);
            return;
        }
        let now = self.now;
        let Some(entry) = self.cluster.pods.get_mut(key) else { return };
        let number = entry.pod.spec.termination_grace_seconds;
        let (asked_at, seconds) = match entry.deletion {
            None => (now, grace_seconds.unwrap_or(number)),
            Some((asked_at, before)) => (asked_at, grace_seconds.unwrap_or(before).min(before)),
        };
        let grace = SignedDuration::from_secs(i64::from(seconds));
        entry.deletion = Some((asked_at, seconds));
        entry.pod.deleted_at = Some(later(asked_at, grace));
        let (uid, controller) = (entry.pod.uid.clone(), entry.controller.clone());
        self.changed(&controller);
        let drawn = self.chances.cluster.within(self.settings.pod_ends_after);
        self.after(drawn.min(grace), Event::PodEnds(key.clone(), uid));
        self.touch();
    }

    /// A pod is gone from the API server.
    pub(super) fn remove_pod(&mut self, key: &PodKey) {
        let Some(entry) = self.cluster.pods.remove(key) else { return };
        self.cluster.waiting.remove(&entry);
        self.cluster.guards.remove(key);
        if !entry.pod.is_terminal() {
            self.release(&entry.pod);
            self.release_volumes(&entry.pod);
            self.cluster.release_devices(&entry.pod);
        }
        if let Some(node) = entry.pod.node.as_ref().and_then(|n| self.cluster.nodes.get_mut(n)) {
            node.pods.remove(key);
        }
        self.forget_controlled(&entry);
        self.touch();
    }

    /// What a pod requested is free again.
    fn release(&mut self, pod: &Pod) {
        if let Some(node) = pod.node.as_ref().and_then(|node| self.cluster.nodes.get_mut(node)) {
            node.used = node.used.saturating_sub(&pod.spec.requests);
        }
    }

    /// A pod's containers ended by themselves.
    pub(crate) fn pod_finishes(&mut self, key: &PodKey, uid: &PodUid) {
        let Some(entry) = self.cluster.pods.get_mut(key) else { return };
        if entry.pod.uid != *uid || entry.pod.is_terminal() {
            return;
        }
        entry.pod.phase = PodPhase::Succeeded;
        entry.pod.is_ready = false;
        let (pod, controller) = (entry.pod.clone(), entry.controller.clone());
        self.release(&pod);
        self.release_volumes(&pod);
        self.cluster.release_devices(&pod);
        self.count_done(&controller);
        self.changed(&controller);
        self.touch();
    }
}
