//! Stand-ins for the controllers that make pods: Deployments, StatefulSets, Jobs, DaemonSets.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    NodeName, ObjectName, Pod, PodKey, PodSpec, Taint, TaintEffect, Toleration, labels,
    pod::{Owner, PodPhase},
    taint::{TolerationOperator, untolerated},
};

use super::{Controller, PodEntry, WorkloadEntry, kubelet::NOT_READY, nodes::UNREACHABLE};
use crate::{
    made_up,
    story::{StoryWorkload, StoryWorkloadKind},
    timeline::Happening,
    world::World,
};

/// Taints that every pod of a DaemonSet tolerates.
/// <https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations>
const DAEMON_TOLERATIONS: [(&str, Option<TaintEffect>); 6] = [
    (NOT_READY, Some(TaintEffect::NoExecute)),
    (UNREACHABLE, Some(TaintEffect::NoExecute)),
    ("node.kubernetes.io/disk-pressure", Some(TaintEffect::NoSchedule)),
    ("node.kubernetes.io/memory-pressure", Some(TaintEffect::NoSchedule)),
    ("node.kubernetes.io/pid-pressure", Some(TaintEffect::NoSchedule)),
    ("node.kubernetes.io/unschedulable", Some(TaintEffect::NoSchedule)),
];

/// Characters that are made up at the end of a generated name, and that it may have before them.
const SUFFIX: usize = 5;
const BEGINNING_MAX: usize = 63 - SUFFIX;

impl World {
    pub(super) fn add_workload(&mut self, workload: StoryWorkload) {
        let key = workload.key();
        self.scaled(key.clone(), workload.replicas);
        if let Some(entry) = self.cluster.workloads.get_mut(&key) {
            entry.workload = workload;
            entry.is_changed = true;
            return;
        }
        let hash = self.chances.cluster.template_hash();
        let started = workload.clone();
        let entry =
            WorkloadEntry { workload, pods: BTreeSet::new(), done: 0, is_changed: true, hash };
        self.cluster.workloads.insert(key, entry);
        self.run_before(&started);
    }

    pub(super) fn scale(&mut self, key: PodKey, replicas: u32) {
        if let Some(entry) = self.cluster.workloads.get_mut(&key) {
            entry.workload.replicas = replicas;
            entry.is_changed = true;
            self.scaled(key, replicas);
        }
    }

    pub(super) fn delete_workload(&mut self, key: &PodKey) {
        let Some(entry) = self.cluster.workloads.remove(key) else { return };
        self.scaled(key.clone(), 0);
        for pod in entry.pods {
            self.delete_pod(&pod, None);
        }
    }

    /// Makes missing pods and deletes surplus ones.
    pub(super) fn reconcile_workloads(&mut self) {
        let keys: Vec<PodKey> = self.cluster.workloads.keys().cloned().collect();
        for key in keys {
            let Some(entry) = self.cluster.workloads.get(&key) else { continue };
            match entry.workload.kind {
                StoryWorkloadKind::Deployment | StoryWorkloadKind::Job => {
                    self.reconcile_replicas(&key);
                }
                StoryWorkloadKind::StatefulSet | StoryWorkloadKind::Pod => {
                    self.reconcile_ordinals(&key);
                }
            }
        }
    }

    fn reconcile_replicas(&mut self, key: &PodKey) {
        let Some(entry) = self.cluster.workloads.get_mut(key) else { return };
        if !std::mem::take(&mut entry.is_changed) {
            return;
        }
        let Some(entry) = self.cluster.workloads.get(key) else { return };
        let pods = entry.pods.iter().filter_map(|pod| self.cluster.pods.get(pod));
        let active: Vec<&Pod> = pods
            .map(|entry| &entry.pod)
            .filter(|pod| !pod.is_terminal() && !pod.is_terminating())
            .collect();
        let wanted = entry.workload.replicas.saturating_sub(entry.done);
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        if active.len() > wanted {
            let surplus = active.len() - wanted;
            for pod in surplus_of(active, surplus) {
                self.delete_pod(&pod, None);
            }
            return;
        }
        for _ in active.len()..wanted {
            let Some(entry) = self.cluster.workloads.get(key) else { return };
            let name = &entry.workload.name;
            let prefix = match entry.workload.kind {
                StoryWorkloadKind::Job => name.to_string(),
                _ => format!("{name}-{}", entry.hash),
            };
            let pod = self.generated(key, &prefix);
            self.create_workload_pod(key, pod);
        }
    }

    /// Pods with names of their own: one at a time exists for each.
    fn reconcile_ordinals(&mut self, key: &PodKey) {
        let Some(entry) = self.cluster.workloads.get(key) else { return };
        let workload = entry.workload.clone();
        let is_bare = workload.kind == StoryWorkloadKind::Pod;
        if is_bare && entry.done > 0 {
            if workload.replicas == 0 {
                for pod in entry.pods.clone() {
                    self.delete_pod(&pod, None);
                }
            }
            return;
        }
        let mut surplus = entry.pods.clone();
        for ordinal in 0..workload.replicas {
            let name = match (is_bare, workload.replicas) {
                (true, 1) => workload.name.to_string(),
                _ => format!("{}-{ordinal}", workload.name),
            };
            let pod = pod_key(&workload, &name);
            if !surplus.remove(&pod) && !self.cluster.pods.contains_key(&pod) {
                self.create_workload_pod(key, pod);
            }
        }
        for pod in surplus {
            self.delete_pod(&pod, None);
        }
        if let Some(entry) = self.cluster.workloads.get_mut(key).filter(|_| is_bare) {
            entry.done = 1;
        }
    }

    /// A name that begins so and that no pod beside `neighbor` has: the API server makes up another where one is
    /// taken.
    ///
    /// Kubernetes: `staging/src/k8s.io/apiserver/pkg/storage/names/generate.go`, which cuts the beginning.
    fn generated(&mut self, neighbor: &PodKey, prefix: &str) -> PodKey {
        let beginning: String = format!("{prefix}-").chars().take(BEGINNING_MAX).collect();
        loop {
            let name = format!("{beginning}{}", self.chances.cluster.suffix(SUFFIX));
            let name = made_up(ObjectName::new(&name));
            let pod = PodKey { namespace: neighbor.namespace.clone(), name };
            if !self.cluster.pods.contains_key(&pod) {
                return pod;
            }
        }
    }

    fn create_workload_pod(&mut self, key: &PodKey, pod: PodKey) {
        let Some(entry) = self.cluster.workloads.get(key) else { return };
        let runs_for = entry.workload.runs_for;
        let Some(created) = self.workload_pod(key, &pod) else { return };
        let controller = Controller::Workload(key.clone());
        let entry = PodEntry { pod: created, controller, pinned: None, runs_for, deletion: None };
        self.create_pod(entry);
        self.happened(Happening::PodPending { pod });
    }

    /// A pod called `pod` as the workload called `key` makes them.
    pub(super) fn workload_pod(&mut self, key: &PodKey, pod: &PodKey) -> Option<Pod> {
        let entry = self.cluster.workloads.get(key)?;
        let workload = &entry.workload;
        let owner = entry.owner();
        let spec = Arc::clone(&workload.spec);
        let workload = workload.clone();
        let mut created = self.new_pod(pod.clone(), owner, spec);
        created.volumes = self.cluster.volumes_of(&workload, &pod.name);
        created.made_claims = self.cluster.make_claims(&workload.device_claims, pod);
        Some(created)
    }

    /// A DaemonSet goes, and the garbage collector takes its pods.
    pub(super) fn delete_daemon_set(&mut self, key: &PodKey) {
        self.cluster.daemon_sets.remove(key);
        self.cluster.devices.of_daemons.remove(key);
        let controller = Controller::DaemonSet(key.clone());
        let pods = self.cluster.pods.iter().filter(|(_, entry)| entry.controller == controller);
        for pod in pods.map(|(pod, _)| pod.clone()).collect::<Vec<_>>() {
            self.delete_pod(&pod, None);
        }
    }

    /// Makes a pod of each DaemonSet for each node that it may run on.
    pub(super) fn reconcile_daemons(&mut self) {
        let mut missing: Vec<(PodKey, NodeName)> = Vec::new();
        for (key, daemon_set) in &self.cluster.daemon_sets {
            let tolerations = daemon_tolerations(&daemon_set.spec);
            let nodes = self.cluster.nodes.values();
            for entry in nodes.filter(|e| !e.daemons.contains(key) && !e.node.is_deleting) {
                let taints = entry.node.taints.iter().filter(|taint| is_hard(taint));
                if untolerated(taints, &tolerations).is_empty()
                    && super::scheduler::selects(&daemon_set.spec, &entry.node)
                {
                    missing.push((key.clone(), entry.node.name.clone()));
                }
            }
        }
        for (key, node) in missing {
            let pod = self.generated(&key, key.name.as_str());
            let Some(daemon_set) = self.cluster.daemon_sets.get(&key) else { continue };
            let mut spec = PodSpec::clone(&daemon_set.spec);
            spec.tolerations = daemon_tolerations(&daemon_set.spec);
            let owner = Owner {
                api_version: "apps/v1".to_owned(),
                kind: "DaemonSet".to_owned(),
                name: key.name.to_string(),
            };
            let mut created = self.new_pod(pod.clone(), Some(owner), Arc::new(spec));
            let templates = self.cluster.devices.of_daemons.get(&key).cloned().unwrap_or_default();
            created.made_claims = self.cluster.make_claims(&templates, &pod);
            let controller = Controller::DaemonSet(key.clone());
            if let Some(entry) = self.cluster.nodes.get_mut(&node) {
                entry.daemons.insert(key);
            }
            let pinned = Some(node);
            let entry =
                PodEntry { pod: created, controller, pinned, runs_for: None, deletion: None };
            self.create_pod(entry);
        }
    }

    /// A pod is gone: its controller hears of it.
    pub(super) fn forget_controlled(&mut self, entry: &PodEntry) {
        match &entry.controller {
            Controller::Workload(key) => {
                if let Some(workload) = self.cluster.workloads.get_mut(key) {
                    workload.pods.remove(&entry.pod.key);
                    workload.is_changed = true;
                }
            }
            Controller::DaemonSet(key) => {
                let node = entry.pinned.as_ref().and_then(|n| self.cluster.nodes.get_mut(n));
                if let Some(node) = node {
                    node.daemons.remove(key);
                }
            }
        }
    }

    pub(super) fn adopt(&mut self, entry: &PodEntry) {
        if let Controller::Workload(key) = &entry.controller
            && let Some(workload) = self.cluster.workloads.get_mut(key)
        {
            workload.pods.insert(entry.pod.key.clone());
            workload.is_changed = true;
        }
    }

    /// A pod of it ended, or is about to.
    pub(super) fn changed(&mut self, controller: &Controller) {
        if let Controller::Workload(key) = controller
            && let Some(entry) = self.cluster.workloads.get_mut(key)
        {
            entry.is_changed = true;
        }
    }

    /// A pod of a Job ended well.
    pub(super) fn count_done(&mut self, controller: &Controller) {
        if let Controller::Workload(key) = controller
            && let Some(entry) = self.cluster.workloads.get_mut(key)
            && entry.workload.kind == StoryWorkloadKind::Job
        {
            entry.done += 1;
        }
    }
}

fn pod_key(workload: &StoryWorkload, name: &str) -> PodKey {
    PodKey { namespace: workload.namespace.clone(), name: made_up(ObjectName::new(name)) }
}

/// Whether a taint keeps pods off a node.
pub(super) fn is_hard(taint: &Taint) -> bool {
    taint.effect != TaintEffect::PreferNoSchedule
}

fn daemon_tolerations(spec: &PodSpec) -> Vec<Toleration> {
    let added = DAEMON_TOLERATIONS.map(|(key, effect)| Toleration {
        key: key.to_owned(),
        operator: TolerationOperator::Exists,
        value: String::new(),
        effect,
    });
    spec.tolerations.iter().cloned().chain(added).collect()
}

/// The pods that a ReplicaSet deletes first: those without a node, those that do not run, those whose annotation says
/// that they cost least, those that share their node with most of their kind, the youngest.
///
/// Kubernetes: `pkg/controller/controller_utils.go`, `ActivePodsWithRanks`.
fn surplus_of(pods: Vec<&Pod>, surplus: usize) -> Vec<PodKey> {
    let mut on_node: BTreeMap<&NodeName, u64> = BTreeMap::new();
    for node in pods.iter().filter_map(|pod| pod.node.as_ref()) {
        *on_node.entry(node).or_default() += 1;
    }
    let mut ranked = pods;
    ranked.sort_by_cached_key(|pod| {
        let node = pod.node.as_ref();
        let rank = node.and_then(|node| on_node.get(node)).copied().unwrap_or_default();
        let is_running = pod.phase == PodPhase::Running;
        let cost = pod.spec.annotations.get(labels::POD_DELETION_COST);
        let cost: i32 = cost.and_then(|text| text.parse().ok()).unwrap_or_default();
        // Of nodes with as many, one is emptied before the other.
        (node.is_some(), is_running, cost, Reverse(rank), node, Reverse(pod.created_at), &pod.key)
    });
    ranked.into_iter().take(surplus).map(|pod| pod.key.clone()).collect()
}
