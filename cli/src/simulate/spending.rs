//! Who bears what a simulation spends: looked at while it is played.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{InstanceId, NodeName, Pod, ProviderId, node::Node};
use report::cost::{Costs, NO_POOL, amounts, shares};
use simulator::Sim;

use super::html::owner;

/// What is on each instance, over time.
#[derive(Debug, Default)]
pub(super) struct Spending {
    lives: BTreeMap<InstanceId, Life>,
    looked_at: Option<Timestamp>,
}

/// An instance, until it is gone.
#[derive(Debug, Default)]
struct Life {
    node_pool: Option<String>,
    /// For how long it was seen, in seconds.
    seconds: u128,
    /// Shares, times seconds.
    borne: BTreeMap<String, u128>,
    /// Shares since the latest look; `None` where it does not run.
    now: Option<BTreeMap<String, u128>>,
}

impl Spending {
    /// Looks at `sim`; `has_changed` says whether anything happened since the look before.
    pub(super) fn look(&mut self, sim: &Sim, has_changed: bool) {
        if self.looked_at.is_some() && !has_changed {
            // What stays as it is counts when it changes.
            return;
        }
        self.count(sim.now());
        let nodes = sim.nodes();
        let pods = by_node(sim.pods());
        let on: BTreeMap<InstanceId, &Node> =
            nodes.iter().filter_map(|node| Some((instance(node)?, node))).collect();
        for life in self.lives.values_mut() {
            life.now = None;
        }
        for running in sim.running() {
            let node = on.get(&running.id);
            let now = node.map(|node| shared(node, pods.get(&node.name))).unwrap_or_default();
            self.lives.entry(running.id).or_default().now = Some(now);
        }
        self.name_pools(sim);
    }

    /// Counts what was on the instances since the latest look, which ends at `now`.
    fn count(&mut self, now: Timestamp) {
        let before = self.looked_at.replace(now).unwrap_or(now);
        let seconds = u128::try_from(now.duration_since(before).as_secs()).unwrap_or_default();
        for life in self.lives.values_mut() {
            let Some(shares) = &life.now else { continue };
            life.seconds += seconds;
            for (workload, share) in shares {
                match life.borne.get_mut(workload) {
                    Some(borne) => *borne += share * seconds,
                    None => drop(life.borne.insert(workload.clone(), share * seconds)),
                }
            }
        }
    }

    fn name_pools(&mut self, sim: &Sim) {
        if self.lives.values().all(|life| life.node_pool.is_some() || life.now.is_none()) {
            return;
        }
        for claim in sim.claims() {
            let life = claim.instance.and_then(|instance| self.lives.get_mut(&instance.id));
            if let Some(life) = life {
                life.node_pool = Some(claim.node_pool.to_string());
            }
        }
    }

    /// Who bears what `sim` spent. An instance that was never looked at bears its cost itself.
    pub(super) fn costs(&mut self, sim: &Sim) -> Costs {
        self.count(sim.now());
        let (mut costs, never) = (Costs::default(), Life::default());
        for (instance, nanos) in sim.spent() {
            let life = self.lives.get(&instance).unwrap_or(&never);
            let mean = life.borne.iter().map(|(workload, borne)| {
                (workload.clone(), borne.checked_div(life.seconds).unwrap_or_default())
            });
            let pool = life.node_pool.as_deref().unwrap_or(NO_POOL);
            costs.add(pool, nanos, &mean.collect());
        }
        costs
    }
}

/// Running pods by node.
fn by_node(pods: Vec<Pod>) -> BTreeMap<NodeName, Vec<Pod>> {
    let mut by_node: BTreeMap<NodeName, Vec<Pod>> = BTreeMap::new();
    for pod in pods.into_iter().filter(|pod| !pod.is_terminal()) {
        if let Some(node) = pod.node.clone() {
            by_node.entry(node).or_default().push(pod);
        }
    }
    by_node
}

fn instance(node: &Node) -> Option<InstanceId> {
    node.provider_id.as_ref().and_then(ProviderId::instance)
}

/// The shares of `node` that the workloads of `pods` bear.
fn shared(node: &Node, pods: Option<&Vec<Pod>>) -> BTreeMap<String, u128> {
    let pods = pods.into_iter().flatten();
    shares(amounts(&node.allocatable), pods.map(|pod| (owner(pod), amounts(&pod.spec.requests))))
}
