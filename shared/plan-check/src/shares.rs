//! How much of a NodePool one new node may hold: the annotation `journeyman/max-node-share`.
//!
//! A node with one pod may hold any part of it. Pods of nodes that go count as if they stayed as well: only what is
//! certainly too much is a violation.

use std::collections::BTreeSet;

use model::{NodePoolName, Plan, PodKey, labels, plan::Target};

use crate::{Violation, world::World};

const NAMES: [&str; 2] = ["cpu", "memory"];

pub(crate) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    for pool in &world.facts.node_pools {
        let Some(text) = pool.annotations.get(labels::MAX_NODE_SHARE) else { continue };
        // One that cannot be read is a problem of the pool, which launches nothing then.
        let Some(share) = text.strip_suffix('%').and_then(|text| text.parse::<u128>().ok()) else {
            continue;
        };
        let held = pods_of(world, plan, &pool.name);
        for new in plan.new_claims.iter().filter(|new| new.claim.node_pool == pool.name) {
            let claim = &new.claim;
            let too_much = NAMES.into_iter().find(|name| {
                let asked = sum(world, claim.pods.iter(), name);
                sum(world, held.iter().copied(), name).saturating_mul(share)
                    < asked.saturating_mul(100)
            });
            if let Some(resource) = too_much.filter(|_| 1 < claim.pods.len()) {
                violations.push(Violation::NodeShare {
                    claim: claim.name.clone(),
                    node_pool: pool.name.clone(),
                    resource: resource.to_owned(),
                    share: text.clone(),
                });
            }
        }
    }
}

/// The pods that are on nodes of the pool, or would be.
fn pods_of<'a>(world: &World<'a>, plan: &'a Plan, pool: &NodePoolName) -> BTreeSet<&'a PodKey> {
    let mut pods = BTreeSet::new();
    for (node, on_node) in &world.pods_on {
        if is_of(world, node, pool) {
            let counts = on_node.iter().filter(|p| !p.is_terminal() && !p.is_owned_by_daemon_set());
            pods.extend(counts.map(|pod| &pod.key));
        }
    }
    for placement in &plan.placements {
        let is_there = match &placement.target {
            Target::Node(node) => is_of(world, node, pool),
            Target::Claim(name) => {
                world.facts.ledger.claims.get(name).is_some_and(|claim| claim.node_pool == *pool)
            }
        };
        if is_there {
            pods.extend(&placement.pods);
        }
    }
    let created = plan.new_claims.iter().filter(|new| new.claim.node_pool == *pool);
    pods.extend(created.flat_map(|new| &new.claim.pods));
    pods
}

fn is_of(world: &World<'_>, node: &model::NodeName, pool: &NodePoolName) -> bool {
    let labels = world.facts.nodes.get(node).map(|node| &node.labels);
    let name = labels.and_then(|labels| labels.get(labels::NODE_POOL));
    name.is_some_and(|name| name == pool.as_str())
}

fn sum<'a>(world: &World<'_>, pods: impl Iterator<Item = &'a PodKey>, name: &str) -> u128 {
    let known = pods.filter_map(|key| world.pods.get(key));
    known.map(|pod| u128::from(pod.spec.requests.get(name))).sum()
}
