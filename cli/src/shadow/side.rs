//! Either side: what dumps show that it did. Both are measured so.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, HourlyPrice, Namespace, NodeName, ObjectName, Pod, PodKey, PodUid, RegionCatalog,
    labels, node::Node,
};
use report::output::count;

use super::{Side, dumps::Dump, incidents::Incidents};
use crate::{
    list_price::{offering, sold},
    workloads::deployment_of,
};

/// Everything that the dumps show. What cannot be priced is noted and counts nothing, and neither do evictions from
/// nodes to which something happened that was not played to us.
pub(super) fn of(
    (dumps, catalog): (&[Dump], &RegionCatalog),
    incidents: &mut Incidents,
    notes: &mut Vec<String>,
) -> Side {
    let mut side = Side::default();
    let alone = incidents.theirs_alone();
    for dump in dumps {
        let instances = dump.instances();
        let mut price = HourlyPrice::default();
        for (name, offering) in instances.values() {
            match offering.as_ref().map(|key| (sold(catalog, key), key)) {
                Some((Some(hourly), _)) => price = price.saturating_add(hourly),
                Some((None, key)) => notes.push(format!("{name}: no price is known of {key}")),
                None => notes.push(format!("{name}: its labels do not say what it is")),
            }
        }
        side.price.push(price);
        side.nodes.push(many(instances.len()));
        let waits = dump.pods.iter().filter(|pod| waits(pod));
        side.waiting.push(many(waits.count()));
    }
    side.evictions.push(0);
    for pair in dumps.windows(2) {
        let [from, to] = pair else { continue };
        incidents.left_out += happened((from, to), &alone, &mut side);
        side.blurred = side.blurred.saturating_add(blurred((from, to), catalog));
    }
    side.pending = pending(dumps);
    side
}

/// The squares of what the instances that are in one of two dumps alone cost from one to the other, in nano-dollars.
fn blurred((from, to): (&Dump, &Dump), catalog: &RegionCatalog) -> u128 {
    let (before, after) = (from.instances(), to.instances());
    let came = after.iter().filter(|(id, _)| !before.contains_key(*id));
    let went = before.iter().filter(|(id, _)| !after.contains_key(*id));
    let seconds = to.at.duration_since(from.at).as_secs();
    let squares = came.chain(went).filter_map(|(_, (_, offering))| {
        let price = u128::from(sold(catalog, offering.as_ref()?)?.nanos());
        let cost = price * u128::try_from(seconds).ok()? / 3_600;
        Some(cost.saturating_mul(cost))
    });
    squares.fold(0, u128::saturating_add)
}

/// What happened between two dumps; and how many evictions, from the nodes that count `alone`, are left out.
fn happened((from, to): (&Dump, &Dump), alone: &BTreeSet<NodeName>, side: &mut Side) -> u64 {
    let (before, after) = (from.instances(), to.instances());
    let came = after.iter().filter(|(id, _)| !before.contains_key(*id));
    let went = before.iter().filter(|(id, _)| !after.contains_key(*id));
    let (evicted, left_out) = evicted(from, to, alone);
    for (kind, noun, verb, instances) in [
        ("NodesCame", "node", "appeared", came.collect::<Vec<_>>()),
        ("NodesWent", "node", "disappeared", went.collect::<Vec<_>>()),
    ] {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for (_, (_, offering)) in &instances {
            let kind = offering.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
            *kinds.entry(kind).or_default() += 1;
        }
        if !instances.is_empty() {
            let kinds: Vec<String> =
                kinds.into_iter().map(|(kind, number)| format!("{number} {kind}")).collect();
            let number = count(many(instances.len()), noun);
            side.lines.push((
                to.at,
                kind,
                format!("current: {number} {verb}: {}", kinds.join("; ")),
            ));
        }
        if kind == "NodesCame" {
            side.launched += many(instances.len());
        } else {
            side.removed += many(instances.len());
        }
    }
    if evicted > 0 {
        let pods = count(evicted, "pod");
        side.lines.push((
            to.at,
            "PodsEvicted",
            format!("current: {pods} evicted from their nodes"),
        ));
    }
    side.evictions.push(evicted);
    left_out
}

/// Pods that are gone with the node that they were on, or from one that is being disrupted, without those by
/// which their workload shrank; and how many left the nodes that count `alone` besides. A pod is gone as soon as it is
/// terminating, when another one has its place in the workload, or when its instance has ended.
fn evicted(from: &Dump, to: &Dump, alone: &BTreeSet<NodeName>) -> (u64, u64) {
    let is_disrupted = |node: &&Node| {
        node.is_deleting || node.taints.iter().any(|taint| taint.key == labels::DISRUPTED_TAINT)
    };
    let stays = to.nodes.iter().filter(|node| !is_disrupted(node) && !to.has_ended(node));
    let stays: BTreeSet<&NodeName> = stays.map(|node| &node.name).collect();
    let [lost_before, lost] = [from, to].map(lost);
    let placed = staying(to).filter(|pod| !lost.contains(&pod.uid));
    let placed: BTreeSet<(&PodUid, Option<&NodeName>)> =
        placed.map(|pod| (&pod.uid, pod.node.as_ref())).collect();
    let (mut gone, mut left_out) = (BTreeMap::<PodKey, usize>::new(), 0);
    for pod in staying(from).filter(|pod| !pod.is_owned_by_daemon_set()) {
        let Some(node) = pod.node.as_ref().filter(|_| !lost_before.contains(&pod.uid)) else {
            continue;
        };
        if stays.contains(node) || placed.contains(&(&pod.uid, Some(node))) {
            continue;
        }
        if alone.contains(node) {
            left_out += 1;
        } else {
            *gone.entry(workload(pod)).or_default() += 1;
        }
    }
    let [before, after] = [from, to].map(sizes);
    let size = |sizes: &BTreeMap<PodKey, usize>, key| sizes.get(key).copied().unwrap_or_default();
    let evicted = gone.iter().map(|(key, number)| {
        number.saturating_sub(size(&before, key).saturating_sub(size(&after, key)))
    });
    (many(evicted.sum()), left_out)
}

/// Pods that are there although the instance that they ran on ended: those of its node, and of a node that is gone.
fn lost(dump: &Dump) -> BTreeSet<&PodUid> {
    let running: BTreeSet<&NodeName> =
        dump.nodes.iter().filter(|node| !dump.has_ended(node)).map(|node| &node.name).collect();
    let is_lost = |pod: &&Pod| pod.node.as_ref().is_some_and(|node| !running.contains(node));
    dump.pods.iter().filter(is_lost).map(|pod| &pod.uid).collect()
}

/// Pods that are not terminating.
fn staying(dump: &Dump) -> impl Iterator<Item = &Pod> {
    dump.pods.iter().filter(|pod| !pod.is_terminating())
}

/// How many pods that are not terminating each workload has.
fn sizes(dump: &Dump) -> BTreeMap<PodKey, usize> {
    let mut sizes = BTreeMap::new();
    for pod in staying(dump) {
        *sizes.entry(workload(pod)).or_default() += 1;
    }
    sizes
}

/// How long pods waited that were made or waited after the first dump, as kubelets tell of their start.
fn pending(dumps: &[Dump]) -> Vec<SignedDuration> {
    let Some(first) = dumps.first() else { return Vec::new() };
    let mut started: BTreeMap<&PodUid, (Timestamp, Timestamp)> = BTreeMap::new();
    for pod in dumps.iter().flat_map(|dump| &dump.pods) {
        if let Some(at) =
            pod.started_at.filter(|at| first.at < *at && !pod.is_owned_by_daemon_set())
        {
            started.insert(&pod.uid, (pod.created_at.max(first.at), at));
        }
    }
    let waited = started.values().map(|(from, to)| to.duration_since(*from));
    let mut waited: Vec<SignedDuration> = waited.collect();
    waited.sort();
    waited
}

/// Whether a pod waits for a node.
pub(super) fn waits(pod: &Pod) -> bool {
    pod.node.is_none() && !pod.is_terminating() && !pod.is_owned_by_daemon_set()
}

/// The workload that a pod is played as.
pub(super) fn workload(pod: &Pod) -> PodKey {
    let Some(owner) = &pod.owner else { return pod.key.clone() };
    let name = deployment_of(&owner.name).filter(|_| owner.kind == "ReplicaSet");
    let namespace: &Namespace = &pod.key.namespace;
    match ObjectName::new(name.unwrap_or(&owner.name)) {
        Ok(name) => PodKey { namespace: namespace.clone(), name },
        Err(_) => pod.key.clone(),
    }
}

/// The pods of `dump` on nodes whose price is known and is for them alone: not those of a reservation.
pub(super) fn paid_for<'d>(dump: &'d Dump, catalog: &RegionCatalog) -> Vec<&'d Pod> {
    let is_paid = |node: &&Node| {
        let key = offering(&node.labels);
        let key = key.filter(|key| key.capacity_type != CapacityType::Reserved);
        node.provider_id.is_some()
            && !dump.has_ended(node)
            && key.is_some_and(|key| sold(catalog, &key).is_some())
    };
    let nodes: BTreeSet<&NodeName> =
        dump.nodes.iter().filter(is_paid).map(|node| &node.name).collect();
    let pods = dump.pods.iter();
    pods.filter(|pod| pod.node.as_ref().is_some_and(|node| nodes.contains(node))).collect()
}

fn many(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
