//! What changes from one dump to the next that nodes are for: pods and what they may run on.

use std::collections::{BTreeMap, BTreeSet};

use api::objects::EventSubject;
use jiff::Timestamp;
use model::{PodKey, eviction::PodDisruptionBudget};
use simulator::{Action, ClusterObject, StoryWorkload};

use super::dumps::Dump;

/// What the deployment controller says when it makes a ReplicaSet larger or smaller.
pub(super) const SCALED: &str = "ScalingReplicaSet";

/// What happens to the demand between two dumps, and when: when an event says that a Deployment was scaled, or as soon
/// as a pod of it was made, else in the middle between them, which is as often too early as too late.
pub(super) fn between(from: &Dump, to: &Dump) -> Vec<(Timestamp, Action)> {
    let (before, after) = (workloads(from), workloads(to));
    let mut actions = Vec::new();
    let (made, scaled) = (made(from, to), scaled(from, to));
    let middle = middle(from, to);
    for (key, workload) in &after {
        let at = made.get(key).copied().unwrap_or(middle);
        match before.get(key) {
            None => {
                let workload = StoryWorkload { started: Vec::new(), ..(*workload).clone() };
                actions.push((at, Action::Add(vec![ClusterObject::Workload(workload)])));
            }
            // Pods that are there stay as they are.
            Some(known) if known.spec != workload.spec => {
                let workload = StoryWorkload { started: Vec::new(), ..(*workload).clone() };
                let at = scaled.get(key).copied().unwrap_or(at);
                actions.push((at, Action::Add(vec![ClusterObject::Workload(workload)])));
            }
            Some(known) if known.replicas != workload.replicas => {
                let grows = known.replicas < workload.replicas;
                let action = Action::Scale { workload: key.clone(), replicas: workload.replicas };
                let unsaid = if grows { at } else { middle };
                actions.push((scaled.get(key).copied().unwrap_or(unsaid), action));
            }
            Some(_) => {}
        }
    }
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    actions.extend(gone.map(|key| (middle, Action::DeleteWorkload(key.clone()))));
    actions.extend(around(from, to).into_iter().map(|action| (middle, action)));
    actions
}

fn middle(from: &Dump, to: &Dump) -> Timestamp {
    let half = to.at.duration_since(from.at).checked_div(2);
    half.and_then(|half| from.at.checked_add(half).ok()).unwrap_or(to.at)
}

fn workloads(dump: &Dump) -> BTreeMap<PodKey, &StoryWorkload> {
    let workloads = dump.objects.iter().filter_map(|object| match object {
        ClusterObject::Workload(workload) => Some((workload.key(), workload)),
        _ => None,
    });
    workloads.collect()
}

/// When the first pod of each workload was made that is in the second dump only.
fn made(from: &Dump, to: &Dump) -> BTreeMap<PodKey, Timestamp> {
    let mut made: BTreeMap<PodKey, Timestamp> = BTreeMap::new();
    for pod in to.pods.iter().filter(|pod| from.at < pod.created_at && pod.created_at <= to.at) {
        let workload = super::side::workload(pod);
        let at = made.entry(workload).or_insert(pod.created_at);
        *at = pod.created_at.min(*at);
    }
    made
}

/// When each Deployment was scaled last between the dumps, as far as events say.
fn scaled(from: &Dump, to: &Dump) -> BTreeMap<PodKey, Timestamp> {
    let mut scaled: BTreeMap<PodKey, Timestamp> = BTreeMap::new();
    for event in to.events.iter().filter(|event| event.reason == SCALED) {
        if let EventSubject::Deployment(key) = &event.about
            && from.at < event.at
            && event.at <= to.at
        {
            let at = scaled.entry(key.clone()).or_insert(event.at);
            *at = event.at.max(*at);
        }
    }
    scaled
}

/// NodePools, classes and everything else that pods are not: what is new or different is applied, and what is gone is
/// deleted.
fn around(from: &Dump, to: &Dump) -> Vec<Action> {
    let is_around = |object: &&ClusterObject| {
        let is_of_run = matches!(object, ClusterObject::Node(_) | ClusterObject::NodeClaim(_));
        !is_of_run && !matches!(object, ClusterObject::Workload(_))
    };
    let news = to.objects.iter().filter(is_around);
    let news: Vec<ClusterObject> =
        news.filter(|new| !from.objects.iter().any(|known| is_same(known, new))).cloned().collect();
    let kept: BTreeSet<String> = to.objects.iter().map(ToString::to_string).collect();
    let gone = from.objects.iter().filter(|object| !kept.contains(&object.to_string()));
    let mut actions: Vec<Action> = gone.filter_map(deleted).collect();
    if !news.is_empty() {
        actions.push(Action::Add(news));
    }
    actions
}

/// Whether both are the same but for what a budget allows at the moment.
fn is_same(known: &ClusterObject, new: &ClusterObject) -> bool {
    match (known, new) {
        (ClusterObject::DisruptionBudget(known), ClusterObject::DisruptionBudget(new)) => {
            let disruptions_allowed = known.disruptions_allowed;
            *known == PodDisruptionBudget { disruptions_allowed, ..new.clone() }
        }
        _ => known == new,
    }
}

/// What deletes `object`; `None` of a kind whose objects are not deleted in a simulated cluster.
fn deleted(object: &ClusterObject) -> Option<Action> {
    Some(match object {
        ClusterObject::NodePool(pool) => Action::DeleteNodePool(pool.name.clone()),
        ClusterObject::NodeClass(class) => Action::DeleteNodeClass(class.name.clone()),
        ClusterObject::NodeOverlay(overlay) => Action::DeleteNodeOverlay(overlay.name.clone()),
        ClusterObject::DaemonSet(set, _) => Action::DeleteDaemonSet(set.key.clone()),
        ClusterObject::DisruptionBudget(budget) => {
            Action::DeleteDisruptionBudget(budget.key.clone())
        }
        ClusterObject::CapacityBuffer { buffer, .. } => {
            let (namespace, name) = (buffer.namespace.clone(), buffer.name.clone());
            Action::DeleteCapacityBuffer(PodKey { namespace, name })
        }
        _ => return None,
    })
}
