//! What fleets cost: as Karpenter would buy, as cheap as it is found, and at the least.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    HourlyPrice, Namespace, ObjectName, Plan, Pod, PodKey, PodSpec, PodUid,
    facts::{Facts, Surroundings},
    ledger::Snapshot,
    node_pool::{Limits, NodePool},
    plan::NewClaim,
    policies::Packing,
};

use super::{PreparedFacts, packed};
use crate::{
    index::id::ClassId,
    scheduling::{demand::Wanted, launchable::known::KnownTypes, packing::relax, problem::Problem},
};

/// Plans for the same pods, packed in both ways, and a price below which there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleets {
    /// As Karpenter would plan.
    pub karpenter: Plan,
    /// The cheapest that is found. It never places fewer pods than Karpenter's, and is dearer only where it places more.
    pub cheapest: Plan,
    /// For one hour: no plan can be below it that places the pods which Karpenter's places.
    pub bound: HourlyPrice,
}

/// The fleets that `facts` could lead to, however their pools say to pack.
///
/// With `is_quick` the bound is found with a tenth of the work, and is rougher.
#[must_use]
pub fn fleets(facts: &Facts, is_quick: bool) -> Fleets {
    let mut prepared = PreparedFacts::of(facts);
    let usual = prepared.solve_packed(Packing::Karpenter);
    let bound = if is_quick { prepared.quick_bound_of(&usual) } else { prepared.bound_of(&usual) };
    let karpenter = prepared.plan_of(&usual);
    let cheapest = prepared.solve_packed(Packing::Cheapest);
    Fleets { karpenter, cheapest: prepared.plan_of(&cheapest), bound }
}

/// What pods cost at the least, bought anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LowerBound {
    /// For one hour: no nodes that the NodePools allow can hold the pods for less. It is proved in whole numbers.
    pub price: HourlyPrice,
    /// Pods that no NodePool sells a node for. The price is for the others.
    pub unsold: u32,
}

/// The least price of `pods`, a number of each kind, on nodes that are all new, by the NodePools, classes and DaemonSets of
/// `facts`. Their own pods and nodes, limits, volumes and rules about other pods are left out of account, which can
/// only make it lower; reserved capacity counts as free.
///
/// With `is_quick` the bound is found with a tenth of the work, and is rougher.
#[must_use]
pub fn lower_bound(
    facts: &Facts,
    pods: &BTreeMap<Arc<PodSpec>, u32>,
    is_quick: bool,
) -> LowerBound {
    let mut counts: BTreeMap<PodKey, u32> = BTreeMap::new();
    let mut waiting = Vec::new();
    for (number, (spec, count)) in pods.iter().enumerate() {
        let pod = waits(number, spec, facts);
        counts.extend(pod.as_ref().map(|pod| (pod.key.clone(), *count)));
        waiting.extend(pod);
    }
    let market = market(facts, waiting);
    let mut problem = Problem::of(&market, false, &KnownTypes::default());
    let mut classes: BTreeMap<ClassId, u32> = BTreeMap::new();
    for pod in &problem.demand.now {
        let Wanted { key, class, .. } = &problem.demand.pods[*pod];
        if problem.classes[*class].refused.is_none() {
            *classes.entry(*class).or_default() += counts.get(&**key).copied().unwrap_or_default();
        }
    }
    let relaxation = relax::loosest(&mut problem, &classes);
    let sold: u32 = relaxation.market.items.iter().map(|item| item.count).sum();
    let care = if is_quick { packed::QUICK } else { packed::FULL };
    let price = packed::bound_of(&mut problem, (&relaxation, &classes), care);
    LowerBound { price, unsold: pods.values().sum::<u32>().saturating_sub(sold) }
}

/// What is sold by `facts` to pods that wait, as if nothing was bought yet and there was no end of it.
fn market(facts: &Facts, pods: Vec<Pod>) -> Facts {
    let unlimited = |pool: &NodePool| NodePool {
        limits: Limits::default(),
        replicas: None,
        is_deleting: false,
        ..pool.clone()
    };
    let ledger = Snapshot::default();
    Facts {
        node_pools: facts.node_pools.iter().map(unlimited).collect(),
        classes: facts.classes.clone(),
        node_charges: facts.node_charges.clone(),
        daemon_sets: facts.daemon_sets.clone(),
        pods,
        devices: facts.devices.clone(),
        surroundings: Surroundings {
            node_overlays: facts.surroundings.node_overlays.clone(),
            ..Surroundings::default()
        },
        policies: facts.policies,
        ..Facts::of(facts.cluster.clone(), facts.now, ledger)
    }
}

/// A pod with `spec` for which kube-scheduler just found no room.
fn waits(number: usize, spec: &Arc<PodSpec>, facts: &Facts) -> Option<Pod> {
    let name = format!("pod-{number}");
    let key =
        PodKey { namespace: Namespace::new("default").ok()?, name: ObjectName::new(&name).ok()? };
    Some(Pod::waiting(key, PodUid::new(&name).ok()?, Arc::clone(spec), facts.now))
}

/// What the new claims of `plan` cost for one hour: each claim by its cheapest offering, with its volumes and
/// with what every node counts as.
#[must_use]
pub fn fleet_price(facts: &Facts, plan: &Plan) -> HourlyPrice {
    let price = |new: &NewClaim| new.price.saturating_add(facts.node_charge(&new.claim.node_class));
    let prices = plan.new_claims.iter().map(price);
    prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add)
}
