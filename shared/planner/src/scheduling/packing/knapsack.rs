//! One node filled with what is worth most.

#![expect(
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a search by approximate numbers: what it finds is checked in whole numbers"
)]

use std::rc::Rc;

use super::{
    market::Market,
    simplex::{self, Choice, Parts},
};

/// How many pods of which items are on one node, by item.
pub(crate) type Counts = Vec<(usize, u32)>;

/// A market in numbers between 0 and 1.
#[derive(Debug)]
pub(crate) struct Scaled {
    pub(crate) resources: usize,
    /// Item after item.
    needs: Vec<f64>,
    /// By offer.
    rooms: Vec<Vec<f64>>,
    /// In dollars.
    pub(crate) prices: Vec<f64>,
    /// By offer: the items that it takes.
    takes: Vec<Vec<usize>>,
}

/// A node that is worth as much.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filled {
    pub(crate) counts: Counts,
    pub(crate) value: f64,
    /// What a unit of each resource is worth there.
    pub(crate) prices: Vec<f64>,
}

impl Scaled {
    pub(crate) fn of(market: &Market) -> Self {
        let resources = market.items.first().map_or(0, |item| item.need.len());
        let scale: Vec<f64> = (0..resources).map(|at| largest(market, at)).collect();
        let scaled = |amounts: &[i64]| -> Vec<f64> {
            amounts.iter().zip(&scale).map(|(amount, scale)| *amount as f64 / scale).collect()
        };
        let takes = market.offers.iter().map(|offer| {
            let items = market.items.iter().enumerate();
            items.filter(|(_, item)| offer.takes(item)).map(|(at, _)| at).collect()
        });
        Self {
            resources,
            needs: market.items.iter().flat_map(|item| scaled(&item.need)).collect(),
            rooms: market.offers.iter().map(|offer| scaled(&offer.room)).collect(),
            prices: market.offers.iter().map(|offer| offer.price as f64 / 1e12).collect(),
            takes: takes.collect(),
        }
    }

    fn need(&self, item: usize) -> &[f64] {
        &self.needs[item * self.resources..(item + 1) * self.resources]
    }

    /// Fills `offer` with what is worth most by `values`, of which so many are `left`.
    pub(crate) fn fill(
        &self,
        market: &Market,
        offer: usize,
        (values, left): (&[f64], &[u32]),
    ) -> Filled {
        let room = &self.rooms[offer];
        let asked = self.takes[offer].iter().copied();
        let asked: Vec<usize> =
            asked.filter(|item| 0 < left[*item] && 0.0 < values[*item]).collect();
        let choices = self.choices(market, &asked, (values, left));
        let Parts { amounts, prices } = simplex::fill(room, &choices);
        // Whole pods first, then what still fits, what is worth most for its resources first.
        let mut counts = vec![0; asked.len()];
        let mut rest: Vec<i64> = market.offers[offer].room.to_vec();
        let mut take = |counts: &mut Vec<u32>, at: usize, wanted: u32| {
            let need = &market.items[asked[at]].need;
            let fits = rest.iter().zip(need).filter(|(_, need)| 0 < **need);
            let fits = fits.map(|(room, need)| room / need).min().unwrap_or(i64::MAX);
            let count = u32::try_from(fits).unwrap_or(u32::MAX).min(wanted);
            for (room, need) in rest.iter_mut().zip(need) {
                *room -= need * i64::from(count);
            }
            counts[at] += count;
        };
        for (at, amount) in amounts.iter().enumerate() {
            take(&mut counts, at, (amount + 1e-7).floor().min(f64::from(u32::MAX)) as u32);
        }
        let mut order: Vec<usize> = (0..asked.len()).collect();
        let density = |at: usize| {
            let need = choices[at].need;
            let weight = weighed(need, &prices) + 1e-3 * need.iter().sum::<f64>();
            choices[at].value / weight.max(1e-15)
        };
        order.sort_by(|a, b| density(*b).total_cmp(&density(*a)).then(a.cmp(b)));
        for at in order {
            let wanted = most_of(market, asked[at], left).saturating_sub(counts[at]);
            take(&mut counts, at, wanted);
        }
        let counted = asked.iter().zip(&counts).filter(|(_, count)| 0 < **count);
        let counts: Counts = counted.map(|(item, count)| (*item, *count)).collect();
        let value = counts.iter().map(|(item, count)| values[*item] * f64::from(*count)).sum();
        Filled { counts, value, prices }
    }

    /// `items` as what a node is filled with, by `values`, of which so many are `left`.
    fn choices(
        &self,
        market: &Market,
        items: &[usize],
        (values, left): (&[f64], &[u32]),
    ) -> Vec<Choice<'_>> {
        let choice = |item: &usize| Choice {
            need: self.need(*item),
            value: values[*item],
            most: f64::from(most_of(market, *item, left)),
        };
        items.iter().map(choice).collect()
    }

    /// Prices of resources that are good for filling `room` with `items`, in whole
    /// numbers.
    pub(crate) fn good_prices(
        &self,
        market: &Market,
        (room, items): (&[f64], &[usize]),
        with: (&[f64], &[u32]),
        shift: u32,
    ) -> Rc<[i64]> {
        let choices = self.choices(market, items, with);
        Self::whole_prices(market, &simplex::fill(room, &choices).prices, shift).into()
    }

    /// So much of each resource of a node of `offer`.
    pub(crate) fn part_of(&self, offer: usize, parts: &[f64]) -> Vec<f64> {
        self.rooms[offer].iter().zip(parts).map(|(room, part)| room * part).collect()
    }

    /// `room` in the numbers of the program.
    pub(crate) fn scaled(market: &Market, room: &[i64]) -> Vec<f64> {
        let places = room.iter().enumerate();
        places.map(|(at, amount)| *amount as f64 / largest(market, at)).collect()
    }

    /// `values` in whole pico-dollars.
    pub(crate) fn whole_values(values: &[f64]) -> Vec<i64> {
        values.iter().map(|value| (value * 1e12).clamp(0.0, 4e18) as i64).collect()
    }

    /// Prices of resources for [`Filled::prices`] in pico-dollars for one unit of each, times 2^`shift`.
    pub(crate) fn whole_prices(market: &Market, prices: &[f64], shift: u32) -> Vec<i64> {
        let factor = 1e12 * f64::from(shift).exp2();
        prices
            .iter()
            .enumerate()
            .map(|(at, price)| (price * factor / largest(market, at)).clamp(0.0, 9e18) as i64)
            .collect()
    }
}

/// How many pods of an item one node may have, where so many are `left`.
fn most_of(market: &Market, item: usize, left: &[u32]) -> u32 {
    left[item].min(market.items[item].most)
}

/// The most of a resource that any offer has.
fn largest(market: &Market, at: usize) -> f64 {
    market.offers.iter().map(|offer| offer.room[at]).max().unwrap_or_default().max(1) as f64
}

/// The sum of `amounts`, each times its weight.
fn weighed(amounts: &[f64], weights: &[f64]) -> f64 {
    amounts.iter().zip(weights).map(|(amount, weight)| amount * weight).sum()
}
