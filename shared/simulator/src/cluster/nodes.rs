//! Nodes in the API server: patches, deletion, and the controllers that notice dead ones.

use jiff::{SignedDuration, Timestamp};
use model::{
    InstanceId, NodeName, NodePoolName, Pod, PodKey, Taint, TaintEffect,
    duration::later,
    id::{is_label_value, is_qualified_name},
    labels,
    node::{Node, NodePatch},
};
use ports::{Fault, PortError};

use super::kubelet::taint;
use crate::{
    account::InstanceRecord,
    chance::Span,
    sim::Sim,
    timeline::Happening,
    world::{Event, World},
};

/// Taint of a node whose kubelet is not heard of.
pub(super) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// How long pods tolerate an unreachable node unless they say otherwise.
/// <https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions>
const UNREACHABLE_TOLERATED_FOR: SignedDuration = SignedDuration::from_mins(5);
/// From a node's removal to the garbage collection of its pods: a pass each 20 s after a quarantine
/// of 40 s. Kubernetes: `pkg/controller/podgc/gc_controller.go`.
const COLLECTED_AFTER: Span = Span::from_secs(40, 60);

const PATCH_NODE: &str = "PatchNode";

/// Whether a startup taint has an owner outside of Karpenter, which takes it away once its node is ready. Karpenter's
/// own keys have none: registration takes `karpenter.sh/unregistered:NoExecute` alone away.
fn has_owner(taint: &Taint) -> bool {
    taint.key.split_once('/').is_none_or(|(domain, _)| domain != "karpenter.sh")
}

/// Why the API server takes no part of `patch`, if it does not.
///
/// Kubernetes: `ValidateObjectMetaUpdate` of `k8s.io/apimachinery/pkg/api/validation/objectmeta.go`,
/// `ValidateNodeUpdate` of `pkg/apis/core/validation/validation.go`.
fn invalid(node: &Node, patch: &NodePatch) -> Option<String> {
    let new_finalizer = patch.add_finalizers.difference(&node.finalizers).next();
    if let Some(finalizer) = new_finalizer.filter(|_| node.is_deleting) {
        return Some(format!("no finalizer {finalizer} for what is being deleted"));
    }
    let taints = || patch.add_taints.iter();
    let mut keys = patch
        .labels
        .keys()
        .chain(patch.annotations.keys())
        .chain(&patch.add_finalizers)
        .chain(taints().map(|taint| &taint.key));
    if let Some(key) = keys.find(|key| !is_qualified_name(key)) {
        return Some(format!("`{key}` is no qualified name"));
    }
    let mut values = patch.labels.values().chain(taints().map(|taint| &taint.value));
    let value = values.find(|value| !is_label_value(value))?;
    Some(format!("`{value}` is no label value"))
}

impl Sim {
    /// Has the pods of the node of `instance` collected at `time`, or as soon as the node is gone if that is later,
    /// instead of by chance.
    pub fn collect_pods_at(&self, time: Timestamp, instance: InstanceId) {
        self.with(|world| world.cluster.collected_at.insert(instance, time));
    }
}

impl World {
    /// Changes a node, as a whole or not at all.
    pub(crate) fn patch_node(
        &mut self,
        name: &NodeName,
        patch: &NodePatch,
    ) -> Result<(), PortError> {
        let refused = |fault, why: String| Err(PortError::because(PATCH_NODE, fault, why));
        let Some(entry) = self.cluster.nodes.get_mut(name) else {
            return refused(Fault::NotFound, format!("there is no node {name}"));
        };
        let node = &mut entry.node;
        if patch.is_satisfied_by(node) {
            return Ok(());
        }
        if let Some(why) = invalid(node, patch) {
            return refused(Fault::Permanent, why);
        }
        node.labels.retain(|key, _| !patch.remove_labels.contains(key));
        node.labels.extend(patch.labels.clone());
        node.annotations.extend(patch.annotations.clone());
        for added in &patch.add_taints {
            let same = |t: &&mut Taint| t.key == added.key && t.effect == added.effect;
            match node.taints.iter_mut().find(same) {
                Some(known) => known.value.clone_from(&added.value),
                None => node.taints.push(added.clone()),
            }
        }
        let is_removed = |taint: &Taint| {
            patch.remove_taints.iter().any(|r| r.key == taint.key && r.effect == taint.effect)
        };
        node.taints.retain(|taint| !is_removed(taint));
        node.finalizers.extend(patch.add_finalizers.clone());
        node.finalizers.retain(|finalizer| !patch.remove_finalizers.contains(finalizer));
        if node.is_deleting && node.finalizers.is_empty() {
            self.remove_node(name);
            return Ok(());
        }
        self.plan_startup_taints(name);
        self.touch();
        Ok(())
    }

    /// Deletes a node: at once, or when its last finalizer goes.
    pub(crate) fn delete_node(&mut self, name: &NodeName) {
        let Some(entry) = self.cluster.nodes.get_mut(name) else { return };
        entry.node.is_deleting = true;
        if entry.node.finalizers.is_empty() {
            self.remove_node(name);
        }
    }

    fn remove_node(&mut self, name: &NodeName) {
        let Some(entry) = self.cluster.nodes.remove(name) else { return };
        // The instance of a node that was deleted by mistake still exists; its kubelet does not
        // register again, as in reality until it restarts.
        self.cluster.node_of_instance.remove(&entry.instance);
        self.cluster.devices.slices.retain(|_, slice| slice.owner.as_ref() != Some(name));
        self.happened(Happening::NodeRemoved { node: name.clone() });
        let after = self.chances.cluster.within(COLLECTED_AFTER);
        let planned = self.cluster.collected_at.remove(&entry.instance);
        let at = planned.unwrap_or_else(|| later(self.now, after)).max(self.now);
        self.at(at, Event::PodsCollected(name.clone()));
        self.touch();
    }

    /// Removes the pods of a node that is gone.
    pub(crate) fn pods_collected(&mut self, name: &NodeName) {
        let pods = self.cluster.pods.values().map(|entry| &entry.pod);
        let orphans: Vec<(PodKey, bool)> = pods
            .filter(|pod| pod.node.as_ref() == Some(name))
            .map(|pod| (pod.key.clone(), pod.is_reschedulable()))
            .collect();
        for (pod, is_lost) in orphans {
            if is_lost {
                self.cluster.lost += 1;
                self.happened(Happening::PodLost { pod: pod.clone(), node: name.clone() });
            }
            self.remove_pod(&pod);
        }
    }

    /// The node controller misses a kubelet.
    pub(crate) fn node_unreachable(&mut self, name: &NodeName) {
        if self.is_kubelet_alive(name) {
            return;
        }
        let Some(entry) = self.cluster.nodes.get_mut(name) else { return };
        entry.node.is_ready = false;
        for effect in [TaintEffect::NoSchedule, TaintEffect::NoExecute] {
            let unreachable = taint(UNREACHABLE, effect);
            if !entry.node.taints.contains(&unreachable) {
                entry.node.taints.push(unreachable);
            }
        }
        self.after(UNREACHABLE_TOLERATED_FOR, Event::TolerationEnds(name.clone()));
        self.touch();
    }

    /// The toleration of an unreachable node ends: its pods are deleted, and replaced elsewhere,
    /// although their end is not confirmed.
    pub(crate) fn toleration_ends(&mut self, name: &NodeName) {
        let Some(entry) = self.cluster.nodes.get(name) else { return };
        let pods = self.cluster.pods_called(&entry.pods);
        let stranded: Vec<PodKey> =
            pods.filter(|pod| pod.is_reschedulable()).map(|pod| pod.key.clone()).collect();
        for pod in stranded {
            self.cluster.lost += 1;
            self.happened(Happening::PodLost { pod: pod.clone(), node: name.clone() });
            self.delete_pod(&pod, None);
        }
    }

    /// The cloud controller deletes a node whose instance does not exist any more.
    pub(crate) fn node_orphaned(&mut self, name: &NodeName) {
        if !self.is_kubelet_alive(name) {
            self.node_unreachable(name);
            if let Some(node) = self.cluster.nodes.get(name).map(|entry| entry.node.clone()) {
                self.node_deleted_by_others(&node);
            }
            self.delete_node(name);
        }
    }

    /// Pods that do not tolerate a NoExecute taint leave; nodes that are not reachable have their
    /// own patience, and daemons stay.
    pub(super) fn evict_by_taints(&mut self) {
        let mut leaving: Vec<PodKey> = Vec::new();
        for entry in self.cluster.nodes.values() {
            let taints = || {
                entry.node.taints.iter().filter(|taint| {
                    taint.effect == TaintEffect::NoExecute
                        && taint.key != UNREACHABLE
                        && taint.key != super::kubelet::NOT_READY
                })
            };
            if taints().next().is_none() {
                continue;
            }
            let pods = self.cluster.pods_called(&entry.pods).filter(|pod| {
                !pod.is_terminating()
                    && !pod.is_terminal()
                    && !model::taint::untolerated(taints(), &pod.spec.tolerations).is_empty()
            });
            leaving.extend(pods.map(|pod: &Pod| pod.key.clone()));
        }
        for pod in leaving {
            self.delete_pod(&pod, None);
        }
    }

    /// The owner of a pool's startup taints takes them away some time after they are seen on a
    /// ready node.
    pub(super) fn plan_startup_taints(&mut self, name: &NodeName) {
        let Some(entry) = self.cluster.nodes.get(name) else { return };
        if entry.node.is_ready && self.has_startup_taints(name) {
            let after = self.chances.cluster.within(self.settings.startup_taints_gone_after);
            self.after(after, Event::StartupTaintsGo(name.clone()));
        }
    }

    pub(crate) fn startup_taints_go(&mut self, name: &NodeName) {
        let startup_taints = self.startup_taints(name);
        if let Some(entry) = self.cluster.nodes.get_mut(name) {
            entry.node.taints.retain(|taint| {
                !startup_taints.iter().any(|s| s.key == taint.key && s.effect == taint.effect)
            });
            self.touch();
        }
    }

    /// What becomes of the startup taints of NodePools, in words.
    pub(super) fn startup_taint_notes(&self) -> impl Iterator<Item = String> {
        self.cluster.node_pools.values().flat_map(|pool| {
            pool.template.startup_taints.iter().map(|taint| {
                let end = if has_owner(taint) {
                    "its owner removes it from each node that is ready"
                } else if taint.key == labels::UNREGISTERED_TAINT
                    && taint.effect == TaintEffect::NoExecute
                {
                    "registration removes it from each node"
                } else {
                    "it stays on every node: nothing removes it"
                };
                format!("startup taint {taint} of NodePool {}: {end}", pool.name)
            })
        })
    }

    fn has_startup_taints(&self, name: &NodeName) -> bool {
        let Some(entry) = self.cluster.nodes.get(name) else { return false };
        let startup_taints = self.startup_taints(name);
        entry.node.taints.iter().any(|taint| startup_taints.contains(taint))
    }

    /// The startup taints of a node whose owners take them away.
    fn startup_taints(&self, name: &NodeName) -> Vec<Taint> {
        let mut taints = self.all_startup_taints(name);
        taints.retain(has_owner);
        taints
    }

    /// The startup taints of a node: its claim's, or its pool's.
    fn all_startup_taints(&self, name: &NodeName) -> Vec<Taint> {
        let Some(entry) = self.cluster.nodes.get(name) else { return Vec::new() };
        if let Some(claim) = self.ledger.claim_of(&entry.instance) {
            return claim.startup_taints.clone();
        }
        let record = self.account.instances.get(&entry.instance);
        let label = entry.node.labels.get(labels::NODE_POOL);
        let pool = label
            .and_then(|label| NodePoolName::new(label).ok())
            .or_else(|| record.and_then(InstanceRecord::node_pool));
        let pool = pool.and_then(|pool| self.cluster.node_pools.get(&pool));
        pool.map(|pool| pool.template.startup_taints.clone()).unwrap_or_default()
    }
}
