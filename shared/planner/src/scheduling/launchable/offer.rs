//! What a NodePool can buy, ready for fast questions: which instance types do requirements allow,
//! at what price?

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, ClaimPhase, HourlyPrice, InstanceType, InstanceTypeName, NodeClaim, Offering,
    OfferingKey, Requirement, Requirements, Reservation, Resources, Zone, ZoneId, labels,
    requirement::Value,
};

use crate::{
    index::{
        bits::BitSet,
        id::{RequirementId, ReservationNumber, SetId, TypeId, kind},
        table::Table,
    },
    scheduling::numbers::{
        amounts::{Amounts, ResourceIndex, Whole},
        sets::Sets,
    },
};

/// So long after a launch EC2 may still count its instance as not there. Longer would leave capacity
/// unused that is there, shorter would ask for some that is not.
const COUNT_LAG: SignedDuration = SignedDuration::from_secs(15);

/// Some of the instance types of an offer.
pub(crate) type Types = BitSet<kind::Type>;

/// The instance types of a NodeClass, or of a pool with overlays. The numbers of types are in
/// the order of their names.
#[derive(Debug)]
pub(crate) struct Offer {
    /// Sorted by name.
    pub(crate) types: Table<kind::Type, Arc<InstanceType>>,
    pub(crate) allocatable: Table<kind::Type, Amounts>,
    /// What types have, with what nobody requests, and what is left of it for pods.
    pub(crate) capacity_whole: Whole,
    pub(crate) allocatable_whole: Whole,
    /// The name of each type as a value of the label, and as that of a type.
    pub(crate) names: Table<kind::Type, (Value, InstanceTypeName)>,
    /// Each distinct place and way to buy, and the types that can be bought so now.
    markets: Vec<Market>,
    by_requirement: BTreeMap<RequirementId, Types>,
    by_set: BTreeMap<SetId, Rc<Types>>,
    reserved_by_set: BTreeMap<SetId, Rc<Reserved>>,
    prices: BTreeMap<SetId, Rc<[(HourlyPrice, TypeId)]>>,
}

/// Reservations, each with the types that can be bought from it.
pub(crate) type Reserved = [(ReservationNumber, Types)];

/// A place and a way to buy.
#[derive(Debug)]
struct Market {
    offering: Offering,
    types: Types,
    /// What cannot be bought so costs the most that there is.
    prices: Table<kind::Type, HourlyPrice>,
    reservation: Option<ReservationNumber>,
    /// Whether nothing is left of its reservation: its types are there, and cannot be launched.
    is_full: bool,
}

const NOT_SOLD: HourlyPrice = HourlyPrice::MAX;

/// Capacity reservations, and how many instances each has left.
#[derive(Debug, Default)]
pub(crate) struct Reservations {
    numbers: BTreeMap<model::ReservationId, ReservationNumber>,
    /// What EC2 calls them.
    pub(crate) names: Table<kind::Reservation, model::ReservationId>,
    pub(crate) left: Table<kind::Reservation, u32>,
}

impl Reservations {
    /// The least that any offering says is left counts.
    fn number(&mut self, reservation: &Reservation) -> ReservationNumber {
        if let Some(known) = self.numbers.get(&reservation.id) {
            let left = &mut self.left[*known];
            *left = reservation.count.min(*left);
            return *known;
        }
        let number = self.names.push(reservation.id.clone());
        self.left.push(reservation.count);
        self.numbers.insert(reservation.id.clone(), number);
        number
    }

    /// Counts what claims hold that EC2 may know nothing of yet: those without an instance, of which
    /// it is open which of their reservations they will use, and those that were just launched.
    pub(crate) fn hold<'c>(&mut self, claims: impl Iterator<Item = &'c NodeClaim>, now: Timestamp) {
        for claim in claims {
            if just_launched(claim, now) {
                let text = claim.labels.get(labels::RESERVATION_ID);
                let number = text.and_then(|id| self.numbers.get(id.as_str()));
                if let Some(number) = number {
                    let left = &mut self.left[*number];
                    *left = left.saturating_sub(1);
                }
            }
            if claim.phase != ClaimPhase::Promised || !claim.is_held_to_reservations() {
                continue;
            }
            let claim = &claim.requirements;
            for (id, left) in self.names.iter().zip(self.left.iter_mut()) {
                if claim.get(labels::RESERVATION_ID).is_none_or(|named| named.has(id.as_str())) {
                    *left = left.saturating_sub(1);
                }
            }
        }
    }
}

/// Whether EC2's count may not show the instance of `claim` yet, though it was read later.
fn just_launched(claim: &NodeClaim, now: Timestamp) -> bool {
    let instance = claim.instance.as_ref().filter(|_| claim.is_reserved());
    instance.is_some_and(|instance| now.duration_since(instance.launched_at) < COUNT_LAG)
}

/// The labels that `Offering::is_compatible` looks at.
const MARKET_LABELS: [&str; 6] = [
    labels::ZONE,
    labels::ZONE_ID,
    labels::CAPACITY_TYPE,
    labels::RESERVATION_ID,
    labels::RESERVATION_TYPE,
    labels::RESERVATION_INTERRUPTIBLE,
];

/// What makes a market.
fn key(offering: &Offering) -> (&Zone, Option<&ZoneId>, CapacityType, Option<&Reservation>) {
    let (id, reservation) = (offering.zone_id.as_ref(), offering.reservation.as_ref());
    (&offering.zone, id, offering.capacity_type, reservation)
}

fn is_sold(offering: &Offering, buys_reserved: bool) -> bool {
    offering.is_available && (buys_reserved || offering.capacity_type != CapacityType::Reserved)
}

impl Offer {
    pub(crate) fn new(
        types: &[Arc<InstanceType>],
        resources: &ResourceIndex,
        buys_reserved: bool,
        reservations: &mut Reservations,
    ) -> Self {
        let mut markets: Vec<Market> = Vec::new();
        // Most types list the same offerings in the same order: where the last type had its market is
        // asked first.
        let mut places: Vec<usize> = Vec::new();
        let types: Table<kind::Type, Arc<InstanceType>> = types.iter().map(Arc::clone).collect();
        for (id, instance_type) in types.entries() {
            for (position, offering) in instance_type.offerings.iter().enumerate() {
                let reservation = offering.reservation.as_ref().filter(|_| buys_reserved);
                let reservation = reservation.map(|held| reservations.number(held));
                if !is_sold(offering, buys_reserved) {
                    continue;
                }
                let is_its = |place: &usize| {
                    markets.get(*place).is_some_and(|market| key(&market.offering) == key(offering))
                };
                let likely = places.get(position).copied().filter(is_its);
                let place = likely.or_else(|| (0..markets.len()).find(is_its));
                let place = place.unwrap_or(markets.len());
                if place == markets.len() {
                    markets.push(Market {
                        offering: offering.clone(),
                        types: Types::empty(types.len()),
                        prices: types.map(|_| NOT_SOLD),
                        reservation,
                        is_full: false,
                    });
                }
                places.resize(places.len().max(position + 1), place);
                places.get_mut(position).into_iter().for_each(|known| *known = place);
                let Some(market) = markets.get_mut(place) else { continue };
                market.types.insert(id);
                let price = &mut market.prices[id];
                *price = offering.price.min(*price);
            }
        }
        markets.sort_by(|market, other| key(&market.offering).cmp(&key(&other.offering)));
        let allocatable: Vec<Resources> = types.iter().map(|t| t.allocatable()).collect();
        Self {
            allocatable: allocatable
                .iter()
                .map(|amounts_of| resources.amounts(amounts_of))
                .collect(),
            capacity_whole: types.iter().map(|t| &t.capacity).collect(),
            allocatable_whole: allocatable.iter().collect(),
            names: types.map(|instance_type| {
                (Value::from(instance_type.name.as_str()), instance_type.name.clone())
            }),
            types,
            markets,
            by_requirement: BTreeMap::new(),
            by_set: BTreeMap::new(),
            reserved_by_set: BTreeMap::new(),
            prices: BTreeMap::new(),
        }
    }

    /// Knows of which reservations nothing is `left`. Must be called before any price is asked for.
    pub(crate) fn know_full(&mut self, left: &Table<kind::Reservation, u32>) {
        for market in &mut self.markets {
            market.is_full = market.reservation.is_some_and(|number| left[number] == 0);
        }
    }

    /// The markets in which something can be launched now as `set` allows.
    fn launchable(&self, set: &Requirements) -> impl Iterator<Item = &Market> {
        let markets = self.markets.iter().filter(|market| !market.is_full);
        markets.filter(|market| market.offering.is_compatible(set))
    }

    /// Whether any of `types` can be launched now as `set` allows.
    pub(crate) fn is_launchable(&self, set: &Requirements, types: &Types) -> bool {
        self.launchable(set).any(|market| market.types.meets(types))
    }

    /// Whether any of `types` can be bought as `set` allows without a reservation.
    pub(crate) fn is_sold_unreserved(&self, set: &Requirements, types: &Types) -> bool {
        let mut markets = self.markets.iter().filter(|market| market.reservation.is_none());
        markets.any(|market| market.types.meets(types) && market.offering.is_compatible(set))
    }

    /// What the types say about the label `key`, each distinct answer once.
    pub(crate) fn distinct(&self, key: &str) -> BTreeSet<Option<&Requirement>> {
        self.types.iter().map(|instance_type| instance_type.requirements.get(key)).collect()
    }

    /// The reservations that `set` allows, each with the types that can be bought from it.
    pub(crate) fn reserved(&mut self, set: SetId, sets: &Sets) -> Rc<Reserved> {
        if let Some(known) = self.reserved_by_set.get(&set) {
            return Rc::clone(known);
        }
        let mut by_number: BTreeMap<ReservationNumber, Types> = BTreeMap::new();
        if self.markets.iter().any(|market| market.reservation.is_some()) {
            let requirements = sets.get(set);
            for market in self.markets.iter().filter(|m| m.offering.is_compatible(&requirements)) {
                if let Some(number) = market.reservation {
                    by_number.entry(number).or_default().add(&market.types);
                }
            }
        }
        let entries: Rc<Reserved> = by_number.into_iter().collect();
        self.reserved_by_set.insert(set, Rc::clone(&entries));
        entries
    }

    /// The types whose own labels go together with `set`, whether they can be bought or not.
    pub(crate) fn matching(&self, set: &Requirements) -> Types {
        let mut ids = Types::of(self.types.len(), |_| true);
        for requirement in set.iter() {
            ids.keep(&self.matching_one(requirement));
        }
        ids
    }

    fn matching_one(&self, requirement: &Requirement) -> Types {
        let key = requirement.key().as_str();
        Types::of(self.types.len(), |id| {
            let offered = self.types[id].requirements.get(key);
            offered.is_none_or(|asked| {
                asked.allows_absence() && requirement.allows_absence()
                    || asked.has_intersection(requirement)
            })
        })
    }

    /// The types that are sold somewhere that `set` allows, those among them of which a reservation is
    /// full.
    pub(crate) fn sold(&self, set: &Requirements) -> Types {
        let mut ids = Types::empty(self.types.len());
        for market in self.markets.iter().filter(|market| market.offering.is_compatible(set)) {
            ids.add(&market.types);
        }
        ids
    }

    /// How any of `types` can be launched now as `set` allows.
    pub(crate) fn capacity_types(
        &self,
        set: &Requirements,
        types: &Types,
    ) -> BTreeSet<CapacityType> {
        let open = self.launchable(set).filter(|market| market.types.meets(types));
        open.map(|market| market.offering.capacity_type).collect()
    }

    /// The types that the set allows and that are sold as it allows.
    pub(crate) fn allowed(&mut self, sets: &Sets, id: SetId) -> Rc<Types> {
        if let Some(known) = self.by_set.get(&id) {
            return Rc::clone(known);
        }
        let mut bits = Types::of(self.types.len(), |_| true);
        // Of a set, only what markets are about decides which of them are open.
        let mut about_markets = Requirements::default();
        for number in sets.members(id) {
            let requirement = sets.requirement(number);
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

    /// The types that `set` allows and that can be launched now, each with its cheapest price,
    /// cheapest first. Ties go to the name that sorts first.
    pub(crate) fn by_price(&mut self, sets: &Sets, id: SetId) -> Rc<[(HourlyPrice, TypeId)]> {
        if let Some(known) = self.prices.get(&id) {
            return Rc::clone(known);
        }
        let (allowed, set) = (self.allowed(sets, id), sets.get(id));
        let mut cheapest = self.types.map(|_| NOT_SOLD);
        for market in self.launchable(&set) {
            for (cheapest, price) in cheapest.iter_mut().zip(market.prices.iter()) {
                *cheapest = (*cheapest).min(*price);
            }
        }
        let priced = cheapest.entries();
        let priced = priced.filter(|(id, price)| **price != NOT_SOLD && allowed.contains(*id));
        let mut prices: Vec<(HourlyPrice, TypeId)> =
            priced.map(|(id, price)| (*price, id)).collect();
        prices.sort_unstable();
        let prices: Rc<[(HourlyPrice, TypeId)]> = prices.into();
        self.prices.insert(id, Rc::clone(&prices));
        prices
    }

    /// The cheapest offering of a type that `set` allows and that can be launched now. Ties go to the zone, then to the capacity
    /// type, that sorts first.
    pub(crate) fn cheapest(
        &self,
        id: TypeId,
        set: &Requirements,
    ) -> Option<(OfferingKey, HourlyPrice)> {
        let priced = self.launchable(set).map(|market| (market.prices[id], &market.offering));
        let priced = priced.filter(|(price, _)| *price != NOT_SOLD);
        let (price, offering) =
            priced.min_by_key(|(price, one)| (*price, &one.zone, one.capacity_type))?;
        Some((self.types[id].key_of(offering), price))
    }

    /// The names of `types`, in their order.
    pub(crate) fn type_names(&self, types: &[TypeId]) -> Vec<InstanceTypeName> {
        types.iter().map(|id| self.names[*id].1.clone()).collect()
    }

    /// The types called by `names` that are there.
    pub(crate) fn named(&self, names: &[InstanceTypeName]) -> Vec<TypeId> {
        let types = self.types.as_slice();
        let find = |name| types.binary_search_by(|t| t.name.cmp(name)).ok();
        names.iter().filter_map(find).map(TypeId::nth).collect()
    }
}
