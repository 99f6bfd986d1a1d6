//! Instance types, indexed: what of them is the same in every plan.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc, sync::Arc};

use model::{
    CapacityType, HourlyPrice, InstanceType, InstanceTypeName, Offering, Requirement, Requirements,
    Reservation, ResourceName, Resources, Zone, ZoneId, labels, requirement::Value,
};

use super::{
    offer::Types,
    rooms::{Rooms, Steps, Taking},
};
use crate::{
    index::{
        id::{TypeId, kind},
        table::Table,
    },
    scheduling::numbers::amounts::{ResourceIndex, Whole},
};

/// Types with their cheapest price, cheapest first.
pub(crate) type ByPrice = [(HourlyPrice, TypeId)];

/// The instance types of a NodeClass, or of a pool with overlays. The numbers of types are in
/// the order of their names.
#[derive(Debug)]
pub struct TypeIndex {
    /// Whether capacity of reservations is bought.
    buys_reserved: bool,
    /// Sorted by name.
    pub(crate) types: Table<kind::Type, Arc<InstanceType>>,
    /// The name of each type as a value of the label, and as that of a type.
    pub(crate) names: Table<kind::Type, (Value, InstanceTypeName)>,
    /// What types have, with resources that no pod requests, and what is left of it for pods.
    pub(crate) capacity_whole: Whole,
    pub(crate) allocatable_whole: Whole,
    /// Each distinct place and way to buy, and the types that can be bought so now.
    pub(crate) markets: Vec<Market>,
    /// Reservations that offerings name, each once, with the least count that any of them says.
    pub(crate) reservations: Vec<Reservation>,
    worked_out: RefCell<WorkedOut>,
}

/// A place and a way to buy.
#[derive(Debug)]
pub(crate) struct Market {
    pub(crate) offering: Offering,
    pub(crate) types: Types,
    /// What cannot be bought so costs the most that there is.
    pub(crate) prices: Table<kind::Type, HourlyPrice>,
}

pub(crate) const NOT_SOLD: HourlyPrice = HourlyPrice::MAX;

/// Answers so far, by the question. They follow from the types and the question alone.
#[derive(Debug, Default)]
struct WorkedOut {
    matching: BTreeMap<Requirement, Rc<Types>>,
    prices: BTreeMap<(Requirements, Vec<usize>), Rc<ByPrice>>,
    said: BTreeMap<String, Rc<Said>>,
    rooms: BTreeMap<Taking, Rc<Rooms>>,
    capacities: BTreeMap<ResourceName, Rc<Steps>>,
}

/// What types say about a label, each distinct answer once, with the types that give it.
type Said = [(Option<Requirement>, Types)];

/// Answers that are kept at once of each kind that takes a bit for each type …
const SETS_MAX: usize = 4_096;
/// … and of each that takes words.
const LISTS_MAX: usize = 64;

/// The answer to `question`, which is worked out unless it is known.
fn answer<Q: Clone + Ord, A: ?Sized>(
    known: &mut BTreeMap<Q, Rc<A>>,
    question: &Q,
    answers_max: usize,
    work_out: impl FnOnce() -> Rc<A>,
) -> Rc<A> {
    if let Some(answer) = known.get(question) {
        return Rc::clone(answer);
    }
    if known.len() >= answers_max {
        known.clear();
    }
    let answer = work_out();
    known.insert(question.clone(), Rc::clone(&answer));
    answer
}

/// What makes a market.
fn key(offering: &Offering) -> (&Zone, Option<&ZoneId>, CapacityType, Option<&Reservation>) {
    let (id, reservation) = (offering.zone_id.as_ref(), offering.reservation.as_ref());
    (&offering.zone, id, offering.capacity_type, reservation)
}

fn is_sold(offering: &Offering, buys_reserved: bool) -> bool {
    offering.is_available && (buys_reserved || offering.capacity_type != CapacityType::Reserved)
}

/// The name of a type as a value of its label. Types say it themselves, and share the text.
fn name(instance_type: &Arc<InstanceType>) -> (Value, InstanceTypeName) {
    let label = instance_type.requirements.get(labels::INSTANCE_TYPE);
    let said = label
        .and_then(Requirement::single_value)
        .filter(|value| ***value == *instance_type.name.as_str());
    let value = said.map_or_else(|| Value::from(instance_type.name.as_str()), Arc::clone);
    (value, instance_type.name.clone())
}

impl TypeIndex {
    pub(crate) fn of(types: &[Arc<InstanceType>], buys_reserved: bool) -> Self {
        let types: Table<kind::Type, Arc<InstanceType>> = types.iter().map(Arc::clone).collect();
        let allocatable: Vec<Resources> = types.iter().map(|t| t.allocatable()).collect();
        let capacity_whole: Whole = types.iter().map(|t| &t.capacity).collect();
        // Who has more mostly leaves more.
        let by_cpu = capacity_whole.by_cpu().collect();
        Self {
            buys_reserved,
            names: types.map(name),
            capacity_whole,
            allocatable_whole: Whole::of(&allocatable.iter().collect(), by_cpu),
            markets: markets(&types, buys_reserved),
            reservations: if buys_reserved { reservations(&types) } else { Vec::new() },
            types,
            worked_out: RefCell::default(),
        }
    }

    /// Whether it is of the very same `types`.
    pub(crate) fn is_of(&self, types: &[Arc<InstanceType>], buys_reserved: bool) -> bool {
        let known = self.types.as_slice();
        self.buys_reserved == buys_reserved
            && known.len() == types.len()
            && known.iter().zip(types).all(|(known, other)| Arc::ptr_eq(known, other))
    }

    /// What the types say about the label `key`.
    pub(crate) fn said(&self, key: &str) -> Rc<Said> {
        let known = &mut self.worked_out.borrow_mut().said;
        answer(known, &key.to_owned(), LISTS_MAX, || {
            let mut places: BTreeMap<Option<&Requirement>, usize> = BTreeMap::new();
            let mut said: Vec<(Option<Requirement>, Types)> = Vec::new();
            // Most types say what the one before them said.
            let mut last = 0;
            for (id, instance_type) in self.types.entries() {
                let requirement = instance_type.requirements.get(key);
                if said.get(last).is_none_or(|(other, _)| other.as_ref() != requirement) {
                    last = *places.entry(requirement).or_insert(said.len());
                }
                if last == said.len() {
                    said.push((requirement.cloned(), Types::empty(self.types.len())));
                }
                said.get_mut(last).into_iter().for_each(|(_, types)| types.insert(id));
            }
            said.into()
        })
    }

    /// The types whose own label goes together with `requirement`, whether they can be bought or not.
    pub(crate) fn matching_one(&self, requirement: &Requirement) -> Rc<Types> {
        if let Some(known) = self.worked_out.borrow().matching.get(requirement) {
            return Rc::clone(known);
        }
        let said = self.said(requirement.key().as_str());
        let known = &mut self.worked_out.borrow_mut().matching;
        answer(known, requirement, SETS_MAX, || {
            let goes = |offered: &Option<Requirement>| {
                offered.as_ref().is_none_or(|offered| {
                    offered.allows_absence() && requirement.allows_absence()
                        || offered.has_intersection(requirement)
                })
            };
            let mut types = Types::empty(self.types.len());
            said.iter().filter(|(offered, _)| goes(offered)).for_each(|(_, ids)| types.add(ids));
            Rc::new(types)
        })
    }

    /// Those of `allowed` that can be bought as a set of requirements allows, but not in the markets at
    /// the places that are closed; each with its cheapest price, cheapest first. Ties go to the name that
    /// sorts first. `allowed` are the types that the set allows.
    pub(crate) fn by_price(
        &self,
        asked: &(Requirements, Vec<usize>),
        allowed: &Types,
    ) -> Rc<ByPrice> {
        let known = &mut self.worked_out.borrow_mut().prices;
        answer(known, asked, LISTS_MAX, || {
            let (set, closed) = asked;
            let mut cheapest = self.types.map(|_| NOT_SOLD);
            let open = self.markets.iter().enumerate().filter(|(place, market)| {
                !closed.contains(place) && market.offering.is_compatible(set)
            });
            for (_, market) in open {
                for (cheapest, price) in cheapest.iter_mut().zip(market.prices.iter()) {
                    *cheapest = (*cheapest).min(*price);
                }
            }
            // Who has more mostly costs more.
            let priced = self.capacity_whole.by_cpu().map(|id| (cheapest[id], id));
            let mut prices: Vec<(HourlyPrice, TypeId)> = Vec::with_capacity(self.types.len());
            prices.extend(priced.filter(|(price, id)| *price != NOT_SOLD && allowed.contains(*id)));
            prices.sort();
            prices.into()
        })
    }

    /// What daemons that take `landing` of types leave.
    pub(crate) fn rooms(
        &self,
        resources: &ResourceIndex,
        landing: Vec<(Box<[i64]>, Types)>,
    ) -> Rc<Rooms> {
        let known = &mut self.worked_out.borrow_mut().rooms;
        let taking = Taking { names: resources.names().to_vec(), landing };
        answer(known, &taking, LISTS_MAX, || {
            let types = (&self.allocatable_whole, self.types.len());
            Rc::new(Rooms::of(types, resources, &taking.landing))
        })
    }

    /// The types by what they have of the resource `name`, the least first. Each counts as one of `nodes`.
    pub(crate) fn capacities(&self, name: &ResourceName) -> Rc<Steps> {
        let known = &mut self.worked_out.borrow_mut().capacities;
        answer(known, name, LISTS_MAX, || {
            let is_nodes = name.as_str() == "nodes";
            let by_amount = self.capacity_whole.by_amount(name.as_str()).filter(|_| !is_nodes);
            let sorted: Vec<(i64, TypeId)> = match by_amount {
                Some(sorted) => {
                    let signed = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
                    sorted.iter().map(|(amount, id)| (signed(*amount), *id)).collect()
                }
                None => self.types.ids().map(|id| (i64::from(is_nodes), id)).collect(),
            };
            Rc::new(Steps::ascending(&sorted))
        })
    }
}

/// The markets in the order of what makes them.
fn markets(types: &Table<kind::Type, Arc<InstanceType>>, buys_reserved: bool) -> Vec<Market> {
    let mut markets: Vec<Market> = Vec::new();
    // Most types list the same offerings in the same order: where the last type had its market is
    // asked first.
    let mut places: Vec<usize> = Vec::new();
    for (id, instance_type) in types.entries() {
        for (position, offering) in instance_type.offerings.iter().enumerate() {
            if !is_sold(offering, buys_reserved) {
                continue;
            }
            let is_its = |place: &usize| {
                markets.get(*place).is_some_and(|market| key(&market.offering) == key(offering))
            };
            let likely = places.get(position).copied().filter(is_its);
            let place = likely.or_else(|| (0..markets.len()).find(is_its)).unwrap_or(markets.len());
            if place == markets.len() {
                markets.push(Market {
                    offering: offering.clone(),
                    types: Types::empty(types.len()),
                    prices: types.map(|_| NOT_SOLD),
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
    markets
}

/// In the order in which they are named first.
fn reservations(types: &Table<kind::Type, Arc<InstanceType>>) -> Vec<Reservation> {
    let mut reservations: Vec<Reservation> = Vec::new();
    let offerings = types.iter().flat_map(|instance_type| &instance_type.offerings);
    for reservation in offerings.filter_map(|offering| offering.reservation.as_ref()) {
        match reservations.iter_mut().find(|known| known.id == reservation.id) {
            Some(known) => known.count = known.count.min(reservation.count),
            None => reservations.push(reservation.clone()),
        }
    }
    reservations
}
