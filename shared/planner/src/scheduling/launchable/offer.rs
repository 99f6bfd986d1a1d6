//! What a NodePool can buy, ready for fast questions: which instance types do requirements allow,
//! at what price?

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, ClaimPhase, HourlyPrice, InstanceTypeName, NodeClaim, Offering, OfferingKey,
    Requirement, Requirements, Reservation, labels,
};

use super::type_index::{ByPrice, Market, NOT_SOLD, TypeIndex};
use crate::{
    index::{
        bits::BitSet,
        id::{ReservationNumber, SetId, TypeId, kind},
        table::Table,
    },
    scheduling::numbers::sets::Sets,
};

/// So long after a launch EC2 may still count its instance as not there. Longer would leave capacity
/// unused that is there, shorter would ask for some that is not.
const COUNT_LAG: SignedDuration = SignedDuration::from_secs(15);

/// Some of the instance types of an offer.
pub type Types = BitSet<kind::Type>;

/// The instance types of a NodeClass, or of a pool with overlays.
#[derive(Debug)]
pub struct Offer {
    pub(crate) index: Rc<TypeIndex>,
    /// By market: the reservation whose capacity is bought there.
    reservations: Vec<Option<ReservationNumber>>,
    /// Markets of whose reservation nothing is left: their types are there, and cannot be launched.
    full: Vec<usize>,
    by_set: BTreeMap<SetId, Rc<Types>>,
    reserved_by_set: BTreeMap<SetId, Rc<Reserved>>,
    prices: BTreeMap<SetId, Rc<ByPrice>>,
}

/// Reservations, each with the types that can be bought from it.
pub(crate) type Reserved = [(ReservationNumber, Types)];

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
            if claim.phase != ClaimPhase::Created || !claim.is_held_to_reservations() {
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

impl Offer {
    /// Capacity that the index has of reservations is counted in `reservations`.
    pub(crate) fn new(index: Rc<TypeIndex>, reservations: &mut Reservations) -> Self {
        for reservation in &index.reservations {
            reservations.number(reservation);
        }
        let held = index.markets.iter().map(|market| {
            let reservation = market.offering.reservation.as_ref()?;
            reservations.numbers.get(&reservation.id).copied()
        });
        Self {
            reservations: held.collect(),
            full: Vec::new(),
            index,
            by_set: BTreeMap::new(),
            reserved_by_set: BTreeMap::new(),
            prices: BTreeMap::new(),
        }
    }

    /// Knows of which reservations nothing is `left`. Must be called before any price is asked for.
    pub(crate) fn know_full(&mut self, left: &Table<kind::Reservation, u32>) {
        let is_full = |number: ReservationNumber| left[number] == 0;
        let held = self.reservations.iter().enumerate();
        let full = held.filter(|(_, number)| number.is_some_and(is_full));
        self.full = full.map(|(market, _)| market).collect();
    }

    /// The markets without a reservation in which something can be launched now, each with its place.
    pub(crate) fn unreserved(&self) -> impl Iterator<Item = (usize, &Market)> {
        let markets = self.index.markets.iter().enumerate();
        markets.filter(|(_, market)| market.offering.reservation.is_none())
    }

    /// The markets in which something can be launched now as `set` allows.
    fn launchable(&self, set: &Requirements) -> impl Iterator<Item = &Market> {
        let markets = self.index.markets.iter().enumerate();
        let left =
            markets.filter(|(place, _)| !self.full.contains(place)).map(|(_, market)| market);
        left.filter(|market| market.offering.is_compatible(set))
    }

    /// Whether any of `types` can be launched now as `set` allows.
    pub(crate) fn is_launchable(&self, set: &Requirements, types: &Types) -> bool {
        self.launchable(set).any(|market| market.types.meets(types))
    }

    /// Whether any of `types` can be bought as `set` allows without a reservation.
    pub(crate) fn is_sold_unreserved(&self, set: &Requirements, types: &Types) -> bool {
        let markets = self.index.markets.iter().zip(&self.reservations);
        let mut markets = markets.filter(|(_, held)| held.is_none()).map(|(market, _)| market);
        markets.any(|market| market.types.meets(types) && market.offering.is_compatible(set))
    }

    /// The markets of reservations: how many instances are left there, and the types that they may be.
    pub(crate) fn reserved_types(
        &self,
        left: &Table<kind::Reservation, u32>,
    ) -> impl Iterator<Item = (u32, &Types)> {
        let markets = self.index.markets.iter().zip(&self.reservations);
        markets.filter_map(|(market, held)| Some((left[(*held)?], &market.types)))
    }

    /// The reservations that `set` allows, each with the types that can be bought from it.
    pub(crate) fn reserved(&mut self, set: SetId, sets: &Sets) -> Rc<Reserved> {
        if let Some(known) = self.reserved_by_set.get(&set) {
            return Rc::clone(known);
        }
        let mut by_number: BTreeMap<ReservationNumber, Types> = BTreeMap::new();
        if self.reservations.iter().any(Option::is_some) {
            let requirements = sets.get(set);
            let markets = self.index.markets.iter().zip(&self.reservations);
            for (market, held) in markets.filter(|(m, _)| m.offering.is_compatible(&requirements)) {
                if let Some(number) = held {
                    by_number.entry(*number).or_default().add(&market.types);
                }
            }
        }
        let entries: Rc<Reserved> = by_number.into_iter().collect();
        self.reserved_by_set.insert(set, Rc::clone(&entries));
        entries
    }

    /// The types whose own labels go together with `set`, whether they can be bought or not.
    pub(crate) fn matching(&self, set: &Requirements) -> Types {
        let mut ids = Types::full(self.index.types.len());
        for requirement in set.iter() {
            ids.keep(&self.index.matching_one(requirement));
        }
        ids
    }

    /// The types that are sold somewhere that `set` allows, those among them of which a reservation is
    /// full.
    pub(crate) fn sold(&self, set: &Requirements) -> Types {
        let mut ids = Types::empty(self.index.types.len());
        for market in self.index.markets.iter().filter(|market| market.offering.is_compatible(set))
        {
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
        let mut bits = Types::full(self.index.types.len());
        // Of a set, only what markets are about decides which of them are open.
        let mut about_markets = Requirements::default();
        for number in sets.members(id) {
            let requirement = sets.requirement(number);
            bits.keep(&self.index.matching_one(requirement));
            if Offering::LABELS.contains(&requirement.key().as_str()) {
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
    pub(crate) fn by_price(&mut self, sets: &Sets, id: SetId) -> Rc<ByPrice> {
        if let Some(known) = self.prices.get(&id) {
            return Rc::clone(known);
        }
        let (allowed, set) = (self.allowed(sets, id), sets.get(id));
        let prices = self.index.by_price(&(set, self.full.clone()), &allowed);
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
        let priced = self
            .launchable(set)
            .map(|market| (market.prices[id], &market.offering))
            .filter(|(price, _)| *price != NOT_SOLD);
        let (price, offering) =
            priced.min_by_key(|(price, one)| (*price, &one.zone, one.capacity_type))?;
        Some((self.index.types[id].key_of(offering), price))
    }

    /// The names of `types`, in their order.
    pub(crate) fn names(&self, types: &Types) -> Vec<InstanceTypeName> {
        types.iter().map(|id| self.index.names[id].1.clone()).collect()
    }

    /// The types called by `names` that are there.
    pub(crate) fn named(&self, names: &[InstanceTypeName]) -> Vec<TypeId> {
        let types = self.index.types.as_slice();
        let find = |name| types.binary_search_by(|t| t.name.cmp(name)).ok();
        names.iter().filter_map(find).map(TypeId::nth).collect()
    }
}
