//! A stand-in for kube-scheduler: puts waiting pods onto ready nodes, or says that it cannot.
//!
//! It shares no code with the planner, on purpose: labels are compared strictly, with what nodes
//! really carry. It does not preempt, and it never places a pod that asks for what is not supported.

use std::{collections::BTreeMap, sync::Arc};

use model::{NodeName, PodKey, PodSpec, Requirement, Resources, node::Node, taint::untolerated};

use super::{NodeEntry, controllers::is_hard, neighbours::is_choosy};
use crate::{settings::ScoringStrategy, timeline::Happening, world::World};

impl World {
    /// One pass over the pods that wait: higher priority first, then older, then by name.
    pub(super) fn schedule_pods(&mut self) {
        let waiting = self.cluster.waiting.iter().filter_map(|key| self.cluster.pods.get(key));
        let mut queue: Vec<_> = waiting
            .map(|entry| {
                let pod = &entry.pod;
                let order = (std::cmp::Reverse(pod.spec.priority), pod.created_at, pod.key.clone());
                (order, Arc::clone(&pod.spec), entry.pinned.clone())
            })
            .collect();
        queue.sort_by(|a, b| a.0.cmp(&b.0));
        // Room only shrinks within a pass: what did not fit once does not fit again.
        let mut refused: Vec<Arc<PodSpec>> = Vec::new();
        let mut candidates: Option<(Arc<PodSpec>, Vec<NodeName>)> = None;
        let mut has_guards = self.cluster.has_guards();
        for ((_, _, key), spec, pinned) in queue {
            if let Some(node) = pinned {
                self.place_daemon(&key, &spec, &node);
                continue;
            }
            if self.place_choosy(&key, &spec, has_guards) {
                has_guards |= !spec.pod_anti_affinity.required.is_empty();
                continue;
            }
            if refused.iter().any(|other| Arc::ptr_eq(other, &spec)) {
                self.mark_unschedulable(&key);
                continue;
            }
            let is_known = candidates.as_ref().is_some_and(|(other, _)| Arc::ptr_eq(other, &spec));
            if !is_known {
                candidates = Some((Arc::clone(&spec), self.candidates(&spec)));
            }
            let nodes = candidates.as_ref().map_or(&[][..], |(_, nodes)| nodes.as_slice());
            let best = self.best_of(nodes, &spec.requests);
            let chosen = self.chances.cluster.index(best.len());
            if let Some(node) = best.into_iter().nth(chosen) {
                self.bind(&key, &node);
            } else {
                refused.push(spec);
                self.mark_unschedulable(&key);
            }
        }
    }

    /// Places a pod that looks at other pods, at volumes, or is kept away by others. Whether it is
    /// one; what was found out about it holds for no other.
    fn place_choosy(&mut self, key: &PodKey, spec: &PodSpec, has_guards: bool) -> bool {
        let Some(pod) = self.cluster.pods.get(key).map(|entry| entry.pod.clone()) else {
            return true;
        };
        if !(is_choosy(spec) || !pod.volumes.is_empty() || has_guards) {
            return false;
        }
        let candidates = self.candidates(spec);
        let neighbours = self.cluster.neighbours();
        let fitting = candidates.into_iter().filter_map(|name| {
            let node = &self.cluster.nodes.get(&name)?.node;
            let allowed = self.cluster.can_mount(&pod, node) && neighbours.allow(&pod, node);
            allowed.then(|| (neighbours.liking(&pod, node), name))
        });
        let mut by_liking: BTreeMap<i64, Vec<NodeName>> = BTreeMap::new();
        for (liking, name) in fitting {
            by_liking.entry(liking).or_default().push(name);
        }
        let best = by_liking
            .values()
            .rev()
            .map(|nodes| self.best_of(nodes, &spec.requests))
            .find(|best| !best.is_empty())
            .unwrap_or_default();
        let chosen = self.chances.cluster.index(best.len());
        match best.into_iter().nth(chosen) {
            Some(node) => self.bind(key, &node),
            None => self.mark_unschedulable(key),
        }
        true
    }

    fn place_daemon(&mut self, key: &PodKey, spec: &PodSpec, node: &NodeName) {
        let entry = self.cluster.nodes.get(node);
        if entry.is_some_and(|entry| entry.has_room_for(&spec.requests)) {
            self.bind(key, node);
        } else {
            self.mark_unschedulable(key);
        }
    }

    /// The nodes that a pod may go to, room aside.
    fn candidates(&self, spec: &PodSpec) -> Vec<NodeName> {
        if !spec.problems.is_empty() {
            return Vec::new();
        }
        let nodes = self.cluster.nodes.values().map(|entry| &entry.node);
        let fitting = nodes.filter(|node| {
            let taints = node.taints.iter().filter(|taint| is_hard(taint));
            node.is_ready
                && untolerated(taints, &spec.tolerations).is_empty()
                && selects(spec, node)
        });
        fitting.map(|node| node.name.clone()).collect()
    }

    /// Those of `nodes` with room that the settings prefer, all of the same worth.
    fn best_of(&self, nodes: &[NodeName], requests: &Resources) -> Vec<NodeName> {
        let mut best: Vec<&NodeName> = Vec::new();
        let mut best_score = 0;
        for name in nodes {
            let Some(entry) = self.cluster.nodes.get(name) else { continue };
            if !entry.has_room_for(requests) {
                continue;
            }
            let used = entry.used_per_mille(requests);
            let score = match self.settings.scoring {
                ScoringStrategy::LeastAllocated => 2_000_u64.saturating_sub(used),
                ScoringStrategy::MostAllocated => used,
            };
            if best.is_empty() || score > best_score {
                best.clear();
                best_score = score;
            }
            if score == best_score {
                best.push(name);
            }
        }
        best.into_iter().cloned().collect()
    }

    fn mark_unschedulable(&mut self, key: &PodKey) {
        let now = self.now;
        let Some(entry) = self.cluster.pods.get_mut(key) else { return };
        if entry.pod.unschedulable_at.is_none() {
            entry.pod.unschedulable_at = Some(now);
            self.happened(Happening::PodUnschedulable { pod: key.clone() });
        }
    }
}

impl NodeEntry {
    fn has_room_for(&self, requests: &Resources) -> bool {
        let room = self.node.allocatable.checked_sub(&self.used);
        room.is_some_and(|room| requests.fits_in(&room))
    }

    /// How much of CPU and memory is taken with `requests` on it: both shares, in thousandths,
    /// added up.
    fn used_per_mille(&self, requests: &Resources) -> u64 {
        let share = |used: u64, more: u64, number: u64| {
            let taken = u128::from(used.saturating_add(more)) * 1_000;
            let share = taken.checked_div(u128::from(number)).unwrap_or(1_000);
            u64::try_from(share.min(1_000)).unwrap_or(1_000)
        };
        let resources = &self.node.allocatable;
        share(self.used.cpu.0, requests.cpu.0, resources.cpu.0)
            + share(self.used.memory.0, requests.memory.0, resources.memory.0)
    }
}

/// Whether a pod's node selector and required affinity choose a node by the labels that it carries.
///
/// <https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/>
pub(super) fn selects(spec: &PodSpec, node: &Node) -> bool {
    let holds = |requirement: &Requirement| match node.labels.get(requirement.key().as_str()) {
        Some(value) => requirement.has(value),
        None => requirement.allows_absence(),
    };
    spec.node_selector.iter().all(holds)
        && (spec.required_terms.is_empty()
            || spec.required_terms.iter().any(|term| term.iter().all(holds)))
}
