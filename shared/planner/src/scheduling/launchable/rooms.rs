//! The room of instance types: what daemons leave of each, and which types have at least so much.

use std::cmp::Reverse;

use model::ResourceName;

use super::offer::Types;
use crate::{
    index::{
        bits::BitRows,
        id::{TypeId, kind},
    },
    scheduling::numbers::amounts::{self, Amounts, ResourceIndex, Whole},
};

/// What daemons take, of which resources: the question that [`Rooms`] answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Taking {
    pub(crate) names: Vec<ResourceName>,
    /// What each daemon requests, and the types on which it lands.
    pub(crate) landing: Vec<(Amounts, Types)>,
}

/// What daemons take of each type, and what they leave.
#[derive(Debug)]
pub(crate) struct Rooms {
    /// What they take together, with the types of which they take that.
    overheads: Vec<(Amounts, Types)>,
    /// What is left of each type for pods, type after type. Negative where the daemons do not fit.
    left: Vec<i64>,
    /// By resource: the types that have at least so much left.
    steps: Vec<Steps>,
}

/// For one resource, the types that have at least so much room, or at most so much capacity: one
/// set for each amount that occurs.
#[derive(Debug)]
pub(crate) struct Steps {
    /// In the order of the sets, of which each has all types of those before it.
    amounts: Vec<i64>,
    types: BitRows<kind::Type>,
}

impl Steps {
    /// The types with at most so much, by the amount that each of them has, the least first.
    pub(crate) fn ascending(sorted: &[(i64, TypeId)]) -> Self {
        Self::cumulated(sorted)
    }

    /// The types with at least so much, by the amount that each of them has, roughly the most first.
    fn descending(by_type: impl Iterator<Item = (i64, TypeId)>) -> Self {
        let mut sorted: Vec<(i64, TypeId)> = by_type.collect();
        sorted.sort_by_key(|(amount, _)| Reverse(*amount));
        Self::cumulated(&sorted)
    }

    /// To each amount its types and those of the amounts before it.
    fn cumulated(sorted: &[(i64, TypeId)]) -> Self {
        let distinct = || sorted.chunk_by(|(amount, _), (next, _)| amount == next);
        let rows = distinct().count();
        let mut amounts = Vec::with_capacity(rows);
        let mut types = BitRows::with_capacity(sorted.len(), rows);
        for alike in distinct() {
            amounts.extend(alike.first().map(|(amount, _)| *amount));
            types.push_with(alike.iter().map(|(_, id)| *id));
        }
        Self { amounts, types }
    }

    /// Takes the types out of `types` that do not have at least `need`; the steps are descending.
    fn keep_at_least(&self, types: &mut Types, need: i64) {
        match self.amounts.partition_point(|amount| *amount >= need) {
            0 => types.clear(),
            // Every type has that much.
            enough if enough == self.amounts.len() => {}
            enough => self.types.keep(enough - 1, types),
        }
    }

    /// Takes the types out of `types` that have more than `most`; the steps are ascending.
    pub(crate) fn keep_at_most(&self, types: &mut Types, most: i64) {
        match self.amounts.partition_point(|amount| *amount <= most) {
            0 => types.clear(),
            within if within == self.amounts.len() => {}
            within => self.types.keep(within - 1, types),
        }
    }

    /// The most that any of `types` has; the steps are ascending.
    pub(crate) fn largest(&self, types: &Types) -> i64 {
        let (mut from, mut to) = (0, self.amounts.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            if self.types.has_all(middle, types) {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
        self.amounts.get(from).copied().unwrap_or_default()
    }
}

impl Rooms {
    /// What daemons that take `landing` leave of `types` types that have so much `allocatable`.
    pub(crate) fn of(
        (allocatable, types): (&Whole, usize),
        resources: &ResourceIndex,
        landing: &[(Amounts, Types)],
    ) -> Self {
        let places = resources.len();
        let overheads = overheads(landing, types, places);
        let mut left: Vec<i64> = vec![0; types * places];
        let by_amount =
            || resources.names().iter().map(|name| allocatable.by_amount(name.as_str()));
        for (place, by_amount) in by_amount().enumerate() {
            for (amount, id) in by_amount.into_iter().flatten() {
                if let Some(left) = left.get_mut(id.place() * places + place) {
                    *left = i64::try_from(*amount).unwrap_or(i64::MAX);
                }
            }
        }
        for (overhead, types) in &overheads {
            for id in types.iter() {
                let from = id.place() * places;
                let room = left.get_mut(from..from + places).unwrap_or_default();
                amounts::subtract(room, overhead);
            }
        }
        let left_at = |id: TypeId, place: usize| {
            let left = left.get(id.place() * places + place).copied().unwrap_or_default();
            (left, id)
        };
        let steps = by_amount().enumerate().map(|(place, by_amount)| match by_amount {
            Some(sorted) => {
                Steps::descending(sorted.iter().rev().map(|(_, id)| left_at(*id, place)))
            }
            None => Steps::descending((0..types).map(|id| left_at(TypeId::nth(id), place))),
        });
        Self { steps: steps.collect(), overheads, left }
    }

    /// What is left of `id` at the `place` of a resource.
    pub(crate) fn left(&self, id: TypeId, place: usize) -> Option<i64> {
        self.left.get(id.place() * self.steps.len() + place).copied()
    }

    /// What daemons take of `id` at the `place` of a resource.
    pub(crate) fn overhead(&self, id: TypeId, place: usize) -> Option<i64> {
        let taken = self.overheads.iter().find(|(_, types)| types.contains(id));
        taken.and_then(|(overhead, _)| overhead.get(place).copied())
    }

    /// The least that the daemons of any of `types` request.
    pub(crate) fn least_overhead(&self, types: &Types) -> Amounts {
        let filter = self.overheads.iter().filter(|(_, ids)| ids.meets(types));
        let least = filter.map(|(overhead, _)| overhead.clone()).reduce(|mut least, other| {
            amounts::lower(&mut least, &other);
            least
        });
        least.unwrap_or_default()
    }

    /// Takes the types out of `types` that have no room for `need`.
    pub(crate) fn keep_roomy(&self, types: &mut Types, need: &[i64]) {
        for (steps, need) in self.steps.iter().zip(need) {
            steps.keep_at_least(types, *need);
        }
    }
}

/// What daemons take together, with the types of which they take that. Every type is in one of them.
fn overheads(
    landing: &[(Amounts, Types)],
    types: usize,
    resources: usize,
) -> Vec<(Amounts, Types)> {
    let mut overheads: Vec<(Amounts, Types)> =
        vec![(vec![0; resources].into(), Types::full(types))];
    for (requests, landed) in landing {
        let mut split = Vec::with_capacity(overheads.len());
        for (overhead, mut types) in overheads {
            let mut with = types.clone();
            with.keep(landed);
            types.subtract(landed);
            let mut more = overhead.clone();
            amounts::add(&mut more, requests);
            split.extend(
                [(more, with), (overhead, types)]
                    .into_iter()
                    .filter(|(_, types)| !types.is_empty()),
            );
        }
        overheads = split;
    }
    overheads
}
