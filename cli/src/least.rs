//! What the pods of a simulated cluster cost at the least: the certified lower bound, over time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use launch_template::{Live, Offers, of_status};
use model::{
    CapacityType, ClusterName, HourlyPrice, NodeClassName, NodeName, Pod, PodSpec,
    facts::{ClassOffer, Facts},
    ledger::Snapshot,
};
use planner::LowerBound;
use simulator::{RunningInstance, Sim, Supply};

/// What pages say about the line.
pub(crate) const ABOUT: &str = "The lower bound is proved: no fleet that the NodePools allow, bought anew at these \
    prices, has the same pods on its nodes for less. Pods without a node, and those on reserved capacity, \
    are left out of it.";

/// And where there is none.
pub(crate) const UNKNOWN: &str =
    "No lower bound is known: no EC2NodeClass of the NodePools was ever ready.";

/// Works bounds out, and only anew where something changed.
#[derive(Debug, Default)]
pub(crate) struct Least {
    offers: Offers,
    latest: Option<(Asked, HourlyPrice)>,
}

/// What a bound was worked out of.
#[derive(Debug, PartialEq)]
struct Asked {
    /// How many pods there are of each kind.
    pods: BTreeMap<Arc<PodSpec>, u32>,
    /// Without pods and nodes.
    market: Facts,
}

impl Least {
    /// The price of an hour below which `sim` could not have `pods` on nodes, where the market is known; pods
    /// of DaemonSets come with the nodes and are not asked for.
    ///
    /// It is as near as a tenth of the work of `plan --compare` brings it.
    pub(crate) fn price<'p>(
        &mut self,
        sim: &Sim,
        pods: impl IntoIterator<Item = &'p Pod>,
    ) -> Option<HourlyPrice> {
        let counts = counted(pods);
        let market = self.market(sim)?;
        if let Some((known, price)) = &mut self.latest {
            known.market.now = market.now;
            if known.pods == counts && known.market == market {
                return Some(*price);
            }
        }
        let LowerBound { price, .. } = planner::lower_bound(&market, &counts, true);
        self.latest = Some((Asked { pods: counts, market }, price));
        Some(price)
    }

    /// What is sold to the pools of `sim`, and nothing else; `None` until every class of a pool is ready.
    fn market(&self, sim: &Sim) -> Option<Facts> {
        let Supply { catalog, node_pools, node_classes, daemon_sets } = sim.supply();
        let now = sim.now();
        let ledger = Snapshot { measured: sim.ledger().measured, ..Snapshot::default() };
        let named: BTreeSet<NodeClassName> =
            node_pools.iter().map(|pool| pool.template.node_class.clone()).collect();
        let mut classes = BTreeMap::new();
        for listed in node_classes.iter().filter(|listed| named.contains(&listed.class.name)) {
            let class = of_status(listed, &Live::default(), now).ok()?;
            let types = self.offers.offer(&catalog, &class, &ledger, now);
            classes.insert(listed.class.name.clone(), ClassOffer::Ready(types));
        }
        let cluster = ClusterName::new("least").ok()?;
        Some(Facts {
            node_pools,
            classes: Some(classes),
            daemon_sets,
            ..Facts::of(cluster, now, ledger)
        })
    }
}

/// How many there are of each kind of `pods` that nodes are bought for: those of DaemonSets come with the nodes.
pub(crate) fn counted<'p>(pods: impl IntoIterator<Item = &'p Pod>) -> BTreeMap<Arc<PodSpec>, u32> {
    let mut counts: BTreeMap<Arc<PodSpec>, u32> = BTreeMap::new();
    for pod in pods.into_iter().filter(|pod| !pod.is_owned_by_daemon_set() && !pod.is_mirror()) {
        match counts.get_mut(&pod.spec) {
            Some(count) => *count += 1,
            None => {
                counts.insert(Arc::clone(&pod.spec), 1);
            }
        }
    }
    counts
}

/// The pods that have a node among the instances that `running` lists and that are paid for by the hour.
pub(crate) fn paid_for(sim: &Sim, running: &[RunningInstance]) -> Vec<Pod> {
    let paid: BTreeSet<_> = running
        .iter()
        .filter(|instance| instance.offering.capacity_type != CapacityType::Reserved)
        .map(|instance| &instance.id)
        .collect();
    let nodes: BTreeSet<NodeName> = sim
        .nodes()
        .into_iter()
        .filter(|node| {
            let instance = node.provider_id.as_ref().and_then(model::ProviderId::instance);
            instance.is_some_and(|id| paid.contains(&id))
        })
        .map(|node| node.name)
        .collect();
    let mut pods = sim.pods();
    pods.retain(|pod| {
        !pod.is_terminal() && pod.node.as_ref().is_some_and(|node| nodes.contains(node))
    });
    pods
}
