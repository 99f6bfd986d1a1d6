//! Every pod has one place at most, and only pods that need one and that are supported have one.

use std::collections::BTreeSet;

use model::{Plan, Pod, PodKey};

use crate::{Violation, volumes, world::World};

pub(crate) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    let created = plan.new_claims.iter().flat_map(|new| &new.claim.pods);
    let placed = plan.placements.iter().flat_map(|placement| &placement.pods);
    let unplaced = plan.unplaced.iter().map(|unplaced| &unplaced.pod);
    let mut seen: BTreeSet<&PodKey> = BTreeSet::new();
    for key in created.clone().chain(placed.clone()).chain(unplaced) {
        if !seen.insert(key) {
            violations.push(Violation::PodTwice(key.clone()));
        }
        if !world.pods.contains_key(key) {
            violations.push(Violation::PodUnknown(key.clone()));
        }
    }
    for pod in created.chain(placed).filter_map(|key| world.pods.get(key)) {
        if let Some(problem) = pod.spec.problems.first() {
            let (pod, what) = (pod.key.clone(), problem.rule.to_string());
            violations.push(Violation::PodUnsupported { pod, what });
        }
        // Pods that only move are not asked again.
        let unusable = volumes::unusable(&world.facts.surroundings.storage, pod);
        if let Some(why) = unusable.filter(|_| pod.is_provisionable()) {
            violations.push(Violation::VolumeUnusable { pod: pod.key.clone(), why });
        }
        if !needs_a_node(world, pod) {
            violations.push(Violation::PodNeedsNoNode(pod.key.clone()));
        }
    }
}

/// Specification §2.1 and §2.5: kube-scheduler marked it unschedulable, or its node is going away.
fn needs_a_node(world: &World<'_>, pod: &Pod) -> bool {
    let loses_its_node = pod.node.as_ref().is_some_and(|node| world.is_node_ending(node));
    pod.is_provisionable() || loses_its_node && pod.is_reschedulable()
}
