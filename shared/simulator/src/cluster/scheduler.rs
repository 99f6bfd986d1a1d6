//! A stand-in for kube-scheduler: puts waiting pods onto ready nodes, or says that it cannot.
//!
//! It shares no code with the planner but the search for devices, on purpose: labels are compared strictly, with what
//! nodes really carry. It does not preempt, and it never places a pod that asks for what is not supported.

use std::{collections::BTreeMap, sync::Arc};

use devices::{CelSelectors, Devices};
use jiff::Timestamp;
use model::{
    NodeName, Pod, PodKey, PodSpec, PodUid, Requirement, Resources, dynamic_resources::DeviceFacts,
    node::Node, taint::untolerated, wake::AdmissionOperation,
};

use super::{NodeEntry, allocation::devices_on, controllers::is_hard, waiting::QueuedPod};
use crate::{
    settings::ScoringStrategy,
    timeline::Happening,
    world::{Event, World},
};

/// What one pass over the pods that wait has found out.
struct Pass {
    /// Room only shrinks within a pass: what did not fit once does not fit again.
    refused: Vec<Arc<PodSpec>>,
    /// The same for those that look at other pods, as long as no pod is placed.
    stuck: Vec<Arc<PodSpec>>,
    /// The nodes for the pods that came last.
    ranking: Option<Ranking>,
    /// Whether some pod on a node keeps others away.
    has_guards: bool,
}

/// The nodes that pods of one spec may go to and that have room for another, by what the settings prefer.
struct Ranking {
    spec: Arc<PodSpec>,
    nodes: Vec<NodeName>,
    /// Places in `nodes`, in order.
    by_score: BTreeMap<u64, Vec<usize>>,
}

impl World {
    /// One pass over the pods that wait: higher priority first, then older, then by name.
    pub(super) fn schedule_pods(&mut self) {
        let mut queue = self.cluster.waiting.take_queue();
        let has_guards = self.cluster.has_guards();
        let mut pass = Pass { refused: Vec::new(), stuck: Vec::new(), ranking: None, has_guards };
        queue.retain(|(_, _, key), pod| {
            let is_placed = self.place(key, pod, &mut pass);
            if is_placed {
                pass.stuck.clear();
            }
            if !is_placed && let Some(operation) = pod.events.next(self.now) {
                self.report_unschedulable(key, operation);
            }
            !is_placed
        });
        self.cluster.waiting.give_back(queue);
    }

    /// Puts a pod onto a node, if there is one for it.
    fn place(&mut self, key: &PodKey, pod: &QueuedPod, pass: &mut Pass) -> bool {
        let spec = &pod.spec;
        if let Some(node) = &pod.pinned {
            pass.ranking = None;
            return self.place_daemon(key, spec, node);
        }
        if pod.is_choosy || pass.has_guards {
            pass.ranking = None;
            pass.has_guards |= !spec.pod_anti_affinity.required.is_empty();
            return self.place_choosy(key, spec, &mut pass.stuck);
        }
        if pass.refused.iter().any(|other| Arc::ptr_eq(other, spec)) {
            return false;
        }
        let known = pass.ranking.take().filter(|known| Arc::ptr_eq(&known.spec, spec));
        let mut ranking = known.unwrap_or_else(|| self.ranking(spec, self.candidates(spec)));
        let best = ranking.by_score.last_key_value().map_or(0, |(_, places)| places.len());
        let chosen = self.chances.cluster.index(best);
        let chosen = ranking.take_best(chosen);
        if let Some((place, node)) = &chosen {
            self.bind(key, node);
            let score = self.score(node, &spec.requests);
            ranking.put(*place, score);
            pass.ranking = Some(ranking);
        } else {
            pass.refused.push(Arc::clone(spec));
        }
        chosen.is_some()
    }

    /// Places a pod that looks at other pods, at volumes or devices, or is kept away by others. Whether it has a node now.
    fn place_choosy(
        &mut self,
        key: &PodKey,
        spec: &Arc<PodSpec>,
        stuck: &mut Vec<Arc<PodSpec>>,
    ) -> bool {
        if stuck.iter().any(|other| Arc::ptr_eq(other, spec)) {
            return false;
        }
        let Some(pod) = self.cluster.pods.get(key).map(|entry| entry.pod.clone()) else {
            return false;
        };
        let pod = Pod { spec: Arc::clone(spec), ..pod };
        let mut candidates = self.candidates(spec);
        // What follows looks at every pod.
        candidates.retain(|node| self.score(node, &spec.requests).is_some());
        if candidates.is_empty() {
            stuck.push(Arc::clone(spec));
            return false;
        }
        let facts = self.cluster.device_facts(&pod);
        let devices = facts.as_ref().map(|facts| Devices::new(facts, CelSelectors::default()));
        let has_devices = |node: &Node| {
            devices.as_ref().is_none_or(|devices| devices_on(devices, &pod, node).is_some())
        };
        let neighbours = self.cluster.neighbours();
        let around = neighbours.of(&pod);
        let fitting = candidates.into_iter().filter_map(|name| {
            let node = &self.cluster.nodes.get(&name)?.node;
            let allowed =
                self.cluster.can_mount(&pod, node) && around.allow(node) && has_devices(node);
            allowed.then(|| (around.liking(node), name))
        });
        let mut by_liking: BTreeMap<i64, Vec<NodeName>> = BTreeMap::new();
        for (liking, name) in fitting {
            by_liking.entry(liking).or_default().push(name);
        }
        let rankings = by_liking.into_values().rev().map(|nodes| self.ranking(spec, nodes));
        let Some(mut best) = rankings.into_iter().find(|ranking| !ranking.by_score.is_empty())
        else {
            // Volumes and claims are each pod's own.
            let is_like_others = pod.volumes.is_empty() && devices.is_none();
            stuck.extend(is_like_others.then(|| Arc::clone(spec)));
            return false;
        };
        let most = best.by_score.last_key_value().map_or(0, |(_, places)| places.len());
        let chosen = self.chances.cluster.index(most);
        let chosen = best.take_best(chosen);
        if let Some((_, node)) = &chosen {
            self.allocate_devices(&pod, node);
            self.bind(key, node);
        }
        chosen.is_some()
    }

    fn place_daemon(&mut self, key: &PodKey, spec: &Arc<PodSpec>, node: &NodeName) -> bool {
        let pod = self.cluster.pods.get(key).map(|entry| entry.pod.clone());
        let Some((pod, entry)) = pod.zip(self.cluster.nodes.get(node)) else { return false };
        let pod = Pod { spec: Arc::clone(spec), ..pod };
        let facts = self.cluster.device_facts(&pod);
        let has_devices = |facts: &DeviceFacts| {
            let devices = Devices::new(facts, CelSelectors::default());
            devices_on(&devices, &pod, &entry.node).is_some()
        };
        let is_placed =
            entry.has_room_for(&spec.requests) && facts.as_ref().is_none_or(has_devices);
        if is_placed {
            self.allocate_devices(&pod, node);
            self.bind(key, node);
        }
        is_placed
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

    /// `nodes` by what they are worth to a pod with `spec`.
    fn ranking(&self, spec: &Arc<PodSpec>, nodes: Vec<NodeName>) -> Ranking {
        let scores: Vec<Option<u64>> =
            nodes.iter().map(|node| self.score(node, &spec.requests)).collect();
        let mut ranking = Ranking { spec: Arc::clone(spec), nodes, by_score: BTreeMap::new() };
        for (place, score) in scores.into_iter().enumerate() {
            ranking.put(place, score);
        }
        ranking
    }

    /// How much the settings prefer a node for such requests; `None` where there is no room for them.
    fn score(&self, name: &NodeName, requests: &Resources) -> Option<u64> {
        let entry = self.cluster.nodes.get(name).filter(|entry| entry.has_room_for(requests))?;
        let used = entry.used_per_mille(requests);
        Some(match self.settings.scoring {
            ScoringStrategy::LeastAllocated => 2_000_u64.saturating_sub(used),
            ScoringStrategy::MostAllocated => used,
        })
    }

    /// kube-scheduler sends an event about a pod, and with the first one writes the pod's condition: both are under way
    /// at the same time. Without `wake` nothing reads the event, and the condition is stored at once.
    fn report_unschedulable(&mut self, key: &PodKey, operation: AdmissionOperation) {
        let Some(Pod { unschedulable_at: None, uid, .. }) =
            self.cluster.pods.get(key).map(|entry| &entry.pod)
        else {
            return self.send_event(operation);
        };
        let (uid, now) = (uid.clone(), self.now);
        if operation == AdmissionOperation::Create {
            self.happened(Happening::PodUnschedulable { pod: key.clone() });
            if self.settings.wake.is_some() {
                let latency = self.settings.limits.latencies.kubernetes_request;
                let after = self.chances.wake.within(latency);
                self.after(after, Event::PodMarked(key.clone(), uid, now));
            } else {
                self.mark_unschedulable(key, &uid, now);
            }
        }
        self.send_event(operation);
    }

    /// The API server stores that there was no node for a pod at `since`.
    pub(crate) fn mark_unschedulable(&mut self, key: &PodKey, uid: &PodUid, since: Timestamp) {
        let whole = Timestamp::from_second(since.as_second());
        let since = whole.ok().filter(|_| self.settings.has_whole_seconds).unwrap_or(since);
        let Some(entry) = self.cluster.pods.get_mut(key) else { return };
        if entry.pod.node.is_none() && entry.pod.uid == *uid {
            entry.pod.unschedulable_at.get_or_insert(since);
        }
    }
}

impl Ranking {
    fn put(&mut self, place: usize, score: Option<u64>) {
        let Some(score) = score else { return };
        let places = self.by_score.entry(score).or_default();
        if let Err(at) = places.binary_search(&place) {
            places.insert(at, place);
        }
    }

    /// Takes one of those that are preferred most: its place, and its name.
    fn take_best(&mut self, chosen: usize) -> Option<(usize, NodeName)> {
        let mut best = self.by_score.last_entry()?;
        let place = (chosen < best.get().len()).then(|| best.get_mut().remove(chosen))?;
        if best.get().is_empty() {
            best.remove();
        }
        Some((place, self.nodes.get(place)?.clone()))
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
    let is_known = !spec.has_match_fields || !spec.match_fields.is_empty();
    let is_named = |place: usize| {
        let mut fields = spec.match_fields.get(place).into_iter().flatten();
        fields.all(|field| field.has(node.name.as_str()))
    };
    let mut terms = spec.required_terms.iter().enumerate();
    is_known
        && spec.node_selector.iter().all(holds)
        && (spec.required_terms.is_empty()
            || terms.any(|(place, term)| term.iter().all(holds) && is_named(place)))
}
