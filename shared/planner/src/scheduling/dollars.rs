//! What nodes may cost at most for one hour: of one NodePool, and of the whole cluster.
//!
//! Karpenter has no such cap. It is reckoned as limits are: a claim without an instance counts as the
//! dearest of all that it may become, one with an instance as what that costs, and claims that are being
//! deleted do not count. Prices are those of the catalog: what NodeOverlays make of them is not on a bill. What
//! cannot be priced costs more than any cap allows.

use std::{collections::BTreeMap, rc::Rc};

use model::{
    CapacityType, HourlyPrice, InstanceType, InstanceTypeName, NodeClaim, NodeClassName, NodeName,
    NodePoolName, Offering, Requirements, facts::Facts, labels, node::Node,
};

use super::{
    launchable::{offer::Types, rooms::Steps, template},
    output,
    problem::Problem,
    solver::{InFlightClaim, Solution},
};
use crate::{
    index::{
        id::{TemplateId, kind},
        table::Table,
    },
    world::{World, is_being_deleted},
};

/// What may be spent still, in nano-dollars for one hour. `None` is as much as anybody likes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dollars {
    pools: Table<kind::Template, Option<i64>>,
    cluster: Option<i64>,
}

/// What a cap leaves.
#[derive(Clone, Copy, Debug)]
pub struct Cap {
    /// Whether it is that of the whole cluster.
    pub(crate) is_of_cluster: bool,
    most: i64,
    left: i64,
}

/// What a node costs, and whose it is.
pub(crate) type Standing = (NodePoolName, i64);

impl Dollars {
    /// The least that any cap leaves a new claim of `template`.
    pub(crate) fn left(&self, template: TemplateId) -> Option<i64> {
        let of_pool = self.pools.known(template).copied().flatten();
        [of_pool, self.cluster].into_iter().flatten().min()
    }

    /// Whether there is a cap.
    fn is_capped(&self) -> bool {
        self.cluster.is_some() || self.pools.iter().any(Option::is_some)
    }

    fn take(&mut self, template: TemplateId, nanos: i64) {
        let pool = self.pools.known_mut(template).and_then(Option::as_mut);
        for left in pool.into_iter().chain(self.cluster.as_mut()) {
            *left = left.saturating_sub(nanos);
        }
    }
}

impl Cap {
    /// What it is called in a decision.
    pub(crate) const fn name(&self) -> &'static str {
        if self.is_of_cluster { "MaxDollarsPerHour" } else { labels::MAX_DOLLARS_PER_HOUR }
    }

    /// How much of how much is left, in words.
    pub(crate) fn in_words(&self) -> String {
        let dollars = |nanos: i64| {
            HourlyPrice::from_nanos(u64::try_from(nanos).unwrap_or_default()).to_string()
        };
        format!("${} of ${} an hour", dollars(self.left), dollars(self.most))
    }
}

impl Problem<'_> {
    /// Finds out what may be spent before anything is placed, where there is a cap.
    pub(super) fn know_dollars(&mut self, world: &World<'_>) {
        let most = |price: HourlyPrice| i64::try_from(price.whole_nanos()).unwrap_or(i64::MAX);
        let cluster = self.facts.policies.dollars_per_hour_max.map(most);
        let pools = self.templates.map(|template| template.pool.dollars_per_hour_max().map(most));
        if cluster.is_none() && pools.iter().all(Option::is_none) {
            return;
        }
        for template in &mut self.templates {
            let types = &self.offers[template.offer].index.types;
            let class = &template.pool.template.node_class;
            let requirements = template::requirements(template.pool);
            let mut priced: Vec<_> = types
                .entries()
                .map(|(id, kind)| (dearest(self.facts, (class, &kind.name), &requirements), id))
                .collect();
            priced.sort();
            template.prices = Some(Rc::new(Steps::ascending(&priced)));
        }
        self.start.dollars = Dollars { pools, cluster };
        let claims = self.facts.ledger.claims.values();
        for claim in claims.filter(|claim| !is_being_deleted(claim)) {
            let standing = (claim.node_pool.clone(), of_claim(self.facts, claim));
            self.spend(&standing);
            if let Some(node) = world.node(claim) {
                self.standing.insert(node.name.clone(), standing);
            }
        }
        let unclaimed = self.facts.nodes.values().filter(|node| world.claim(&node.name).is_none());
        for node in unclaimed {
            if let Some(standing) = of_node(self.facts, node) {
                self.spend(&standing);
                self.standing.insert(node.name.clone(), standing);
            }
        }
    }

    /// Whether there is a cap.
    pub(crate) fn is_capped(&self) -> bool {
        self.start.dollars.is_capped()
    }

    /// What is left after the claims of `solution` are paid; `None` where that is too little.
    pub(crate) fn paid(&mut self, solution: &Solution) -> Option<Dollars> {
        let mut dollars = self.start.dollars.clone();
        for in_flight in &solution.in_flight {
            // What cannot be created costs nothing.
            let Some(mut types) = self.kept(in_flight) else { continue };
            let wanted = types.count();
            self.keep_affordable(&dollars, in_flight.template, &mut types);
            if types.count() < wanted {
                return None;
            }
            self.pay(&mut dollars, in_flight.template, &types);
        }
        Some(dollars)
    }

    /// `wanted` with the types that caps leave, paid; `None` where they leave too few.
    pub(crate) fn afford(
        &mut self,
        dollars: &mut Dollars,
        wanted: &InFlightClaim,
    ) -> Option<InFlightClaim> {
        let mut types = self.kept(wanted)?;
        self.keep_affordable(dollars, wanted.template, &mut types);
        let affordable = InFlightClaim { types: types.clone(), ..wanted.clone() };
        output::draft(self, &affordable).ok()?;
        self.pay(dollars, wanted.template, &types);
        Some(affordable)
    }

    /// The types that a new claim of `in_flight` keeps; `None` where it cannot be created.
    fn kept(&mut self, in_flight: &InFlightClaim) -> Option<Types> {
        let draft = output::draft(self, in_flight).ok()?;
        let mut types = Types::default();
        types.extend(draft.kept().iter().copied());
        Some(types)
    }

    fn spend(&mut self, (pool, nanos): &Standing) {
        let mut dollars = std::mem::take(&mut self.start.dollars);
        self.add(&mut dollars, pool, *nanos);
        self.start.dollars = dollars;
    }

    fn add(&self, dollars: &mut Dollars, pool: &NodePoolName, nanos: i64) {
        let pools = self.templates.iter().zip(dollars.pools.iter_mut());
        let caps = pools
            .filter(|(template, _)| template.name() == pool)
            .filter_map(|(_, left)| left.as_mut());
        for left in caps.chain(dollars.cluster.as_mut()) {
            *left = left.saturating_sub(nanos);
        }
    }

    /// No longer counts what `node` costs.
    pub(crate) fn give_back(&self, dollars: &mut Dollars, node: &NodeName) {
        if let Some((pool, nanos)) = self.standing.get(node) {
            self.add(dollars, pool, nanos.saturating_neg());
        }
    }

    /// Counts a new claim of `template` that may become any of `types`.
    pub(crate) fn pay(&self, dollars: &mut Dollars, template: TemplateId, types: &Types) {
        if let Some(prices) = &self.templates[template].prices {
            dollars.take(template, prices.largest(types));
        }
    }

    /// Takes the types out of `types` that cost more than caps leave a new claim of `template`.
    pub(crate) fn keep_affordable(
        &self,
        dollars: &Dollars,
        template: TemplateId,
        types: &mut Types,
    ) {
        if let (Some(prices), Some(left)) =
            (&self.templates[template].prices, dollars.left(template))
        {
            prices.keep_at_most(types, left);
        }
    }

    /// The caps that bind new claims of `template`.
    pub(crate) fn caps(&self, dollars: &Dollars, template: TemplateId) -> Vec<Cap> {
        let of_pool = self.templates[template].pool.dollars_per_hour_max();
        let of_cluster = self.facts.policies.dollars_per_hour_max;
        let left = dollars.pools.known(template).copied().flatten();
        let caps =
            [(false, of_pool.zip(left)), (true, of_cluster.zip(dollars.cluster))].into_iter();
        let cap = |(is_of_cluster, known): (bool, Option<(HourlyPrice, i64)>)| {
            let (most, left) = known?;
            let most = i64::try_from(most.whole_nanos()).unwrap_or(i64::MAX);
            Some(Cap { is_of_cluster, most, left })
        };
        caps.filter_map(cap).collect()
    }
}

/// More than any cap allows.
const UNKNOWN: i64 = i64::MAX;

fn nanos(price: HourlyPrice) -> i64 {
    i64::try_from(price.nanos_at_least()).unwrap_or(UNKNOWN)
}

/// The type called `name` as the catalog has it.
fn sold<'f>(
    facts: &'f Facts,
    (class, name): (&NodeClassName, &InstanceTypeName),
) -> Option<&'f InstanceType> {
    let types = facts.ready_types(class)?;
    let place = types.binary_search_by(|known| known.name.cmp(name)).ok()?;
    types.get(place).map(|known| &**known)
}

/// The most that the type may cost as `requirements` allow. An offering that cannot be bought now may be
/// there when the claim is launched.
fn dearest(
    facts: &Facts,
    of: (&NodeClassName, &InstanceTypeName),
    requirements: &Requirements,
) -> i64 {
    let is_bought = |offering: &&Offering| {
        (facts.policies.reserved_capacity || offering.capacity_type != CapacityType::Reserved)
            && offering.is_compatible(requirements)
    };
    let offerings = sold(facts, of).into_iter().flat_map(|sold| &sold.offerings);
    let prices = offerings.filter(is_bought).map(|offering| nanos(offering.price));
    prices.max().unwrap_or(UNKNOWN)
}

fn of_claim(facts: &Facts, claim: &NodeClaim) -> i64 {
    let class = &claim.node_class;
    let Some(instance) = &claim.instance else {
        let prices = claim
            .instance_types
            .iter()
            .map(|name| dearest(facts, (class, name), &claim.requirements));
        // What is not sold any more will not be launched.
        return prices.filter(|nanos| *nanos != UNKNOWN).max().unwrap_or(UNKNOWN);
    };
    let place = (instance.zone.as_str(), instance.capacity_type.as_str());
    let now = of_offering(facts, (class, &instance.instance_type), place);
    let expected = Some(instance.price).filter(|price| *price != HourlyPrice::default());
    now.or_else(|| expected.map(nanos)).unwrap_or(UNKNOWN)
}

fn of_offering(
    facts: &Facts,
    of: (&NodeClassName, &InstanceTypeName),
    (zone, capacity_type): (&str, &str),
) -> Option<i64> {
    let offerings = &sold(facts, of)?.offerings;
    let its = offerings.iter().filter(|offering| {
        offering.zone.as_str() == zone && offering.capacity_type.as_str() == capacity_type
    });
    its.map(|offering| nanos(offering.price)).max()
}

/// Of a node without a claim, if it is one of a NodePool.
fn of_node(facts: &Facts, node: &Node) -> Option<Standing> {
    let label = |key: &str| node.labels.get(key).map(String::as_str);
    let pool = NodePoolName::new(label(labels::NODE_POOL)?).ok()?;
    let known = facts.node_pools.iter().find(|known| known.name == pool);
    let price = || {
        let class = &known?.template.node_class;
        let name = InstanceTypeName::new(label(labels::INSTANCE_TYPE)?).ok()?;
        let place = (label(labels::ZONE)?, label(labels::CAPACITY_TYPE)?);
        of_offering(facts, (class, &name), place)
    };
    Some((pool, price().unwrap_or(UNKNOWN)))
}

/// What is known about nodes, by name.
pub(crate) type Standings = BTreeMap<NodeName, Standing>;
