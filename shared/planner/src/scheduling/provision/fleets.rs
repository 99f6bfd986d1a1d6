//! What fleets cost: as Karpenter would buy, as cheap as it is found, and at the least.

use model::{HourlyPrice, Plan, facts::Facts, plan::Promise, policies::Packing};

use super::PreparedFacts;

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

/// A price for one hour below which nothing can be bought that gives the pods of `facts` a place to which
/// Karpenter would give one. It is proved in whole numbers. Rules about other pods are left out of account, and
/// room that is there already counts as free.
///
/// With `is_quick` it is found with a tenth of the work, and is rougher.
#[must_use]
pub fn lower_bound(facts: &Facts, is_quick: bool) -> HourlyPrice {
    let mut prepared = PreparedFacts::of(facts);
    let usual = prepared.solve_packed(Packing::Karpenter);
    if is_quick { prepared.quick_bound_of(&usual) } else { prepared.bound_of(&usual) }
}

/// What the promises of `plan` cost for one hour: each claim by its cheapest offering, with its volumes and
/// with what every node counts as.
#[must_use]
pub fn fleet_price(facts: &Facts, plan: &Plan) -> HourlyPrice {
    let price = |promise: &Promise| {
        promise.price.saturating_add(facts.node_charge(&promise.claim.node_class))
    };
    let prices = plan.promises.iter().map(price);
    prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add)
}
