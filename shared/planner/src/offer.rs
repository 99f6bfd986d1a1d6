//! What one NodeClass offers, ready for fast questions: which instance types do requirements
//! allow, at what price?
//!
//! Reserved offerings are left out: choosing and counting them is not supported yet.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use model::{CapacityType, HourlyPrice, InstanceType, Offering, Requirement, Requirements, labels};

use crate::{
    amounts::{Amounts, ResourceIndex},
    bits::BitSet,
    sets::{RequirementId, SetId, Sets},
};

/// The instance types of a NodeClass. A type is its place in `types`, which is the order of names.
#[derive(Debug)]
pub(crate) struct Offer {
    /// Sorted by name.
    pub(crate) types: Vec<Arc<InstanceType>>,
    /// By type.
    pub(crate) allocatable: Vec<Amounts>,
    /// Each distinct place and way to buy, and the types that can be bought so now.
    markets: Vec<(Offering, BitSet)>,
    by_requirement: BTreeMap<RequirementId, BitSet>,
    by_set: BTreeMap<SetId, Rc<BitSet>>,
    prices: BTreeMap<SetId, Rc<[(HourlyPrice, usize)]>>,
}

/// The labels that `Offering::is_compatible` looks at.
const MARKET_LABELS: [&str; 6] = [
    labels::ZONE,
    labels::ZONE_ID,
    labels::CAPACITY_TYPE,
    "karpenter.k8s.aws/capacity-reservation-id",
    "karpenter.k8s.aws/capacity-reservation-type",
    "karpenter.k8s.aws/capacity-reservation-interruptible",
];

fn is_sold(offering: &Offering) -> bool {
    offering.is_available && offering.capacity_type != CapacityType::Reserved
}

impl Offer {
    pub(crate) fn new(types: &[Arc<InstanceType>], resources: &ResourceIndex) -> Self {
        let mut markets: BTreeMap<_, (Offering, BitSet)> = BTreeMap::new();
        for (index, instance_type) in types.iter().enumerate() {
            for offering in instance_type.offerings.iter().filter(|offering| is_sold(offering)) {
                let key = (&offering.zone, &offering.zone_id, offering.capacity_type);
                let market = markets.entry(key);
                let (_, sold) =
                    market.or_insert_with(|| (offering.clone(), BitSet::empty(types.len())));
                sold.insert(index);
            }
        }
        let markets = markets.into_values().collect();
        Self {
            types: types.to_vec(),
            allocatable: types.iter().map(|t| resources.amounts(&t.allocatable())).collect(),
            markets,
            by_requirement: BTreeMap::new(),
            by_set: BTreeMap::new(),
            prices: BTreeMap::new(),
        }
    }

    /// The types whose own labels go together with `set`, whether they can be bought or not.
    pub(crate) fn matching(&self, set: &Requirements) -> BitSet {
        let mut all = BitSet::of(self.types.len(), |_| true);
        for requirement in set.iter() {
            all.keep(&self.matching_one(requirement));
        }
        all
    }

    fn matching_one(&self, requirement: &Requirement) -> BitSet {
        let key = requirement.key().as_str();
        BitSet::of(self.types.len(), |index| {
            let own = self.types.get(index).and_then(|t| t.requirements.get(key));
            own.is_none_or(|own| {
                own.allows_absence() && requirement.allows_absence()
                    || own.has_intersection(requirement)
            })
        })
    }

    /// The types that can be bought now somewhere that `set` allows.
    pub(crate) fn sold(&self, set: &Requirements) -> BitSet {
        let mut all = BitSet::empty(self.types.len());
        for (offering, types) in &self.markets {
            if offering.is_compatible(set) {
                all.add(types);
            }
        }
        all
    }

    /// How any of `types` can be bought now as `set` allows.
    pub(crate) fn capacity_types(
        &self,
        set: &Requirements,
        types: &BitSet,
    ) -> BTreeSet<CapacityType> {
        let markets = self.markets.iter();
        let open =
            markets.filter(|(offering, sold)| offering.is_compatible(set) && sold.meets(types));
        open.map(|(offering, _)| offering.capacity_type).collect()
    }

    /// The types that the set allows and that can be bought now as it allows.
    pub(crate) fn allowed(&mut self, sets: &Sets, id: SetId) -> Rc<BitSet> {
        if let Some(known) = self.by_set.get(&id) {
            return Rc::clone(known);
        }
        let mut bits = BitSet::of(self.types.len(), |_| true);
        // Of a set, only what markets are about decides which of them are open.
        let mut about_markets = Requirements::default();
        for (number, requirement) in
            sets.members(id).filter_map(|number| Some((number, sets.requirement(number)?)))
        {
            if let Some(known) = self.by_requirement.get(&number) {
                bits.keep(known);
            } else {
                let matching = self.matching_one(requirement);
                bits.keep(&matching);
                self.by_requirement.insert(number, matching);
            }
            if MARKET_LABELS.contains(&requirement.key().as_str()) {
                about_markets.add(Requirement::clone(requirement));
            }
        }
        bits.keep(&self.sold(&about_markets));
        let bits = Rc::new(bits);
        self.by_set.insert(id, Rc::clone(&bits));
        bits
    }

    /// The types that `set` allows, each with its cheapest price, cheapest first. Ties go to the
    /// name that sorts first.
    pub(crate) fn by_price(&mut self, sets: &Sets, id: SetId) -> Rc<[(HourlyPrice, usize)]> {
        if let Some(known) = self.prices.get(&id) {
            return Rc::clone(known);
        }
        let (allowed, set) = (self.allowed(sets, id), sets.get(id));
        let priced = |index: usize| Some((self.cheapest(index, &set)?.price, index));
        let mut prices: Vec<(HourlyPrice, usize)> = allowed.iter().filter_map(priced).collect();
        prices.sort_unstable();
        let prices: Rc<[(HourlyPrice, usize)]> = prices.into();
        self.prices.insert(id, Rc::clone(&prices));
        prices
    }

    /// The cheapest offering of a type that `set` allows. Ties go to the zone, then to the capacity
    /// type, that sorts first.
    pub(crate) fn cheapest(&self, index: usize, set: &Requirements) -> Option<&Offering> {
        let offerings = self.types.get(index)?.offerings.iter();
        let allowed = offerings.filter(|offering| is_sold(offering) && offering.is_compatible(set));
        allowed.min_by_key(|offering| (offering.price, &offering.zone, offering.capacity_type))
    }

    /// The types called by `names` that are there.
    pub(crate) fn named(&self, names: &[model::InstanceTypeName]) -> Vec<usize> {
        let find = |name| self.types.binary_search_by(|t| t.name.cmp(name)).ok();
        names.iter().filter_map(find).collect()
    }
}
