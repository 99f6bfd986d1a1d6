//! NodeOverlays: what the types of each pool cost, and what more they have, by the cluster's own
//! corrections.
//!
//! An overlay that clashes with another is applied nowhere, and so is one that breaks a rule. Types
//! that no overlay touches are the very ones of the EC2NodeClass, not copies.
//!
//! Karpenter: `pkg/controllers/nodeoverlay/{controller,store}.go`.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    HourlyPrice, InstanceType, InstanceTypeName, NodeClassName, NodePoolName, ObjectName, Problem,
    Requirements, ResourceName, Resources,
    facts::Facts,
    labels,
    node_pool::NodePool,
    overlay::{NodeOverlay, PriceChange},
    requirements::Undefined,
};

use crate::index::id::{OfferingId, TypeId};

/// What overlays make of the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlays {
    /// By pool, what changed for it. A pool that is missing has what its EC2NodeClass offers.
    pub pools: BTreeMap<NodePoolName, Overlaid>,
    /// Overlays that are applied nowhere, and why.
    pub rejected: BTreeMap<ObjectName, Rejection>,
}

/// The instance types of a pool with overlays on some of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlaid {
    /// All of them, in the order of the EC2NodeClass.
    pub types: Vec<Arc<InstanceType>>,
    /// Those of which a price is another: a claim that may become one is annotated with
    /// `karpenter.sh/price-overlay-applied`.
    pub priced: BTreeSet<InstanceTypeName>,
    /// Those that have more than EC2 says: `karpenter.sh/capacity-overlay-applied`.
    pub extended: BTreeSet<InstanceTypeName>,
}

/// Why an overlay is not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// It breaks the rules of the object: reason `RuntimeValidation`.
    #[error("{}", Problem::in_words(.0))]
    RuntimeValidation(Vec<Problem>),
    /// Another one of its weight changes the same: reason `Conflict`.
    #[error("it conflicts with NodeOverlay {other} of the same weight: {what}")]
    Conflict {
        /// The overlay that is applied.
        other: ObjectName,
        /// What both change, in words.
        what: String,
    },
}

/// What overlays make of the instance types of each pool, behind the gate `NodeOverlay`.
pub fn overlays(facts: &Facts) -> Overlays {
    if !facts.policies.node_overlay {
        return Overlays::default();
    }
    let types = |class: &NodeClassName| facts.ready_types(class);
    overlays_on(&facts.node_pools, &facts.surroundings.node_overlays, types)
}

/// What `overlays` make of the instance types of each of `pools`. `types` are those of an EC2NodeClass, sorted by
/// name; `None` of one that is not ready, whose pools no overlay changes.
///
/// Heavier overlays are worked in first, of equal ones the name that sorts last. The first price
/// that an offering gets stays, and so does the first amount of each resource. With V overlays, P
/// pools and T types with O offerings each that is V·P·T·O.
pub fn overlays_on<'a>(
    pools: &'a [NodePool],
    overlays: &[NodeOverlay],
    types: impl Fn(&NodeClassName) -> Option<&'a [Arc<InstanceType>]>,
) -> Overlays {
    let view = |pool: &'a NodePool| Some(View::of(pool, types(&pool.template.node_class)?));
    let mut pools: Vec<View<'_>> = pools.iter().filter_map(view).collect();
    let mut overlays: Vec<&NodeOverlay> = overlays.iter().collect();
    overlays.sort_by_key(|overlay| (Reverse(overlay.weight), Reverse(&overlay.name)));
    let mut rejected = BTreeMap::new();
    for overlay in overlays {
        if !overlay.problems.is_empty() {
            let why = Rejection::RuntimeValidation(overlay.problems.clone());
            rejected.insert(overlay.name.clone(), why);
            continue;
        }
        let hits: Vec<Vec<Hit>> = pools.iter().map(|pool| pool.hits(overlay)).collect();
        let conflict =
            pools.iter().zip(&hits).find_map(|(pool, hits)| pool.conflict(overlay, hits));
        if let Some((other, what)) = conflict {
            rejected.insert(overlay.name.clone(), Rejection::Conflict { other, what });
            continue;
        }
        for (pool, hits) in pools.iter_mut().zip(&hits) {
            pool.apply(overlay, hits);
        }
    }
    let pools = pools.into_iter().filter_map(View::overlaid).collect();
    Overlays { pools, rejected }
}

/// A pool whose EC2NodeClass is ready, and what overlays say about its types so far.
struct View<'a> {
    pool: &'a NodePool,
    /// What its nodes carry whatever they are.
    labels: Requirements,
    types: &'a [Arc<InstanceType>],
    /// By the place of the type and of the offering.
    prices: BTreeMap<(TypeId, OfferingId), Price>,
    /// By the place of the type.
    capacities: BTreeMap<TypeId, Capacity>,
}

/// A type, and the offerings of it that an overlay is about.
struct Hit {
    place: TypeId,
    offerings: Vec<OfferingId>,
}

/// The price of an offering by overlays.
struct Price {
    price: HourlyPrice,
    /// Weight and name of the last overlay that was about it.
    last: (u32, ObjectName),
}

/// What a type has more by overlays.
#[derive(Default)]
struct Capacity {
    all: Resources,
    names: BTreeSet<ResourceName>,
    /// Weight, resources and name of the last overlay that was about it, as in Karpenter: an earlier one of the same
    /// weight about other resources hides the one before it.
    last: Option<(u32, BTreeSet<ResourceName>, ObjectName)>,
}

impl<'a> View<'a> {
    fn of(pool: &'a NodePool, types: &'a [Arc<InstanceType>]) -> Self {
        let map = pool.template.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let labels = Requirements::of_labels(map.chain([(labels::NODE_POOL, pool.name.as_str())]));
        let (prices, capacities) = (BTreeMap::new(), BTreeMap::new());
        Self { pool, labels, types, prices, capacities }
    }

    /// What `overlay` is about. The labels of the pool help to choose and do not become the types'.
    fn hits(&self, overlay: &NodeOverlay) -> Vec<Hit> {
        let wanted = &overlay.requirements;
        let hit = |(place, instance_type): (usize, &Arc<InstanceType>)| {
            let mut requirements = instance_type.requirements.clone();
            requirements.add_all(&self.labels);
            requirements.compatible(wanted, Undefined::Refused).ok()?;
            let offerings = instance_type.offerings.iter().enumerate();
            let fitting = offerings.filter(|(_, offering)| offering.is_compatible(wanted));
            let offerings: Vec<OfferingId> = fitting.map(|(at, _)| OfferingId::nth(at)).collect();
            (!offerings.is_empty()).then_some(Hit { place: TypeId::nth(place), offerings })
        };
        self.types.iter().enumerate().filter_map(hit).collect()
    }

    /// Another overlay of the same weight, and what it changes already, in words.
    fn conflict(&self, overlay: &NodeOverlay, hits: &[Hit]) -> Option<(ObjectName, String)> {
        hits.iter().find_map(|hit| {
            let (other, what) = self.price_conflict(overlay, hit).or_else(|| {
                let capacity = self.capacities.get(&hit.place)?;
                let (weight, names, other) = capacity.last.as_ref()?;
                let resource_names = overlay.capacity.as_ref().map(names_of)?;
                let shared = names.intersection(&resource_names).next()?;
                (*weight == overlay.weight).then(|| (other.clone(), shared.to_string()))
            })?;
            let name = &self.types.get(hit.place.place())?.name;
            Some((other, format!("{what} of {name} in NodePool {}", self.pool.name)))
        })
    }

    fn price_conflict(&self, overlay: &NodeOverlay, hit: &Hit) -> Option<(ObjectName, String)> {
        overlay.price?;
        let places = hit.offerings.iter().map(|offering| (hit.place, *offering));
        let mut last = places.filter_map(|place| self.prices.get(&place)).map(|price| &price.last);
        let (_, other) = last.find(|(weight, _)| *weight == overlay.weight)?;
        Some((other.clone(), "the price".to_owned()))
    }

    fn apply(&mut self, overlay: &NodeOverlay, hits: &[Hit]) {
        for hit in hits {
            let Some(instance_type) = self.types.get(hit.place.place()) else { continue };
            for index in &hit.offerings {
                let (Some(change), Some(offering)) =
                    (overlay.price, instance_type.offerings.get(index.place()))
                else {
                    continue;
                };
                let last = (overlay.weight, overlay.name.clone());
                let price = || Price { price: changed(offering.price, change), last: last.clone() };
                self.prices.entry((hit.place, *index)).or_insert_with(price).last = last.clone();
            }
            if let Some(more) = &overlay.capacity {
                self.capacities.entry(hit.place).or_default().add(more, overlay);
            }
        }
    }

    fn overlaid(self) -> Option<(NodePoolName, Overlaid)> {
        if self.prices.is_empty() && self.capacities.is_empty() {
            return None;
        }
        let mut overlaid = Overlaid { types: self.types.to_vec(), ..Overlaid::default() };
        for ((place, index), price) in &self.prices {
            let Some(instance_type) = overlaid.types.get_mut(place.place()) else { continue };
            overlaid.priced.insert(instance_type.name.clone());
            if let Some(offering) = Arc::make_mut(instance_type).offerings.get_mut(index.place()) {
                offering.price = price.price;
            }
        }
        for (place, capacity) in &self.capacities {
            let Some(instance_type) = overlaid.types.get_mut(place.place()) else { continue };
            overlaid.extended.insert(instance_type.name.clone());
            let resources = &mut Arc::make_mut(instance_type).capacity;
            for name in &capacity.names {
                resources.set(name, capacity.all.get(name.as_str()));
            }
        }
        Some((self.pool.name.clone(), overlaid))
    }
}

impl Capacity {
    fn add(&mut self, more: &Resources, overlay: &NodeOverlay) {
        let names = names_of(more);
        for name in &names {
            if self.names.insert(name.clone()) {
                self.all.set(name, more.get(name.as_str()));
            }
        }
        self.last = Some((overlay.weight, names, overlay.name.clone()));
    }
}

/// The resources that an overlay names, zeros among them. What a type always has may not be named.
fn names_of(capacity: &Resources) -> BTreeSet<ResourceName> {
    capacity.extended.keys().cloned().collect()
}

/// What `price` becomes: never below nothing, and rounded half up.
fn changed(price: HourlyPrice, change: PriceChange) -> HourlyPrice {
    const WHOLE: i128 = 1_000_000_000;
    /// Of a nano-dollar.
    const PARTS: i128 = 10_000_000;
    let now = i128::try_from(price.parts()).unwrap_or(i128::MAX);
    let parts = match change {
        PriceChange::Absolute(price) => return price,
        PriceChange::Added(more) => now + i128::from(more) * PARTS,
        PriceChange::Scaled(more) => (now * (WHOLE + i128::from(more)) + WHOLE / 2) / WHOLE,
    };
    HourlyPrice::from_parts(u128::try_from(parts.max(0)).unwrap_or_default())
}
