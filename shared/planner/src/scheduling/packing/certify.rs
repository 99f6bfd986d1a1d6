//! A price below which no fleet can be, proved in whole numbers.
//!
//! Let every pod have a value. If no node that can be bought holds pods worth more than it costs, all
//! pods together cost at least what they are worth: each is on some node. (That is weak duality of the
//! configuration program.) The values come from floats, and may be anything; this module finds for each
//! offer the most that its pods can be worth, and scales all values down until none exceeds its price
//! (Farley, "A note on bounding a class of linear programming problems", 1990).
//!
//! The most that pods on a node can be worth is bounded by prices of resources: `Σ room · price`, plus for
//! each pod what it is worth beyond its own resources. Where that is more than the node costs, which it is
//! where few pods fit, all fillings are gone through that could be worth more.

use std::{cmp::Reverse, rc::Rc};

use super::{
    knapsack::Counts,
    market::{Market, Offer, Pico},
};

/// Bits behind the point of a price of a resource.
pub(crate) const SHIFT: u32 = 16;

/// What a node of an offer can be worth at most.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worth {
    /// In pico-dollars.
    pub(crate) most: i128,
    /// A filling that is worth more than the node costs.
    pub(crate) excess: Option<Counts>,
}

/// Pods that may go onto a node, in the order in which fillings are gone through.
struct Choice<'m> {
    item: usize,
    need: &'m [i64],
    value: i128,
    most: i64,
}

/// Prices of resources (with [`SHIFT`] bits behind the point), and what all choices from one on are worth
/// beyond their resources.
struct Beyond {
    prices: Rc<[i64]>,
    spare: i128,
}

struct Search<'q> {
    choices: &'q [Choice<'q>],
    /// From each choice on.
    beyond: Vec<Vec<Beyond>>,
    enough: i128,
    best: i128,
    filling: Vec<u32>,
    best_filling: Option<Counts>,
    steps: u64,
}

/// A node of an offer and pods with values, of which is asked what the node can be worth.
pub(crate) struct Question<'m> {
    offer: &'m Offer,
    choices: Vec<Choice<'m>>,
}

impl<'m> Question<'m> {
    /// Of what can be worth something on a node of `offer` by `values`; larger pods come first, so that few
    /// fillings are left when it comes to small ones, which fill what is left.
    pub(crate) fn of(market: &'m Market, offer: &'m Offer, values: &[Pico]) -> Self {
        let mut choices: Vec<Choice<'_>> = Vec::new();
        for (at, (item, value)) in market.items.iter().zip(values).enumerate() {
            if 0 < *value && 0 < item.count && offer.takes(item) {
                let most =
                    fitting(&offer.room, &item.need).min(i64::from(item.count.min(item.most)));
                let value = i128::from(*value) << SHIFT;
                choices.push(Choice { item: at, need: &item.need, value, most });
            }
        }
        let size = |choice: &Choice<'_>| {
            let parts = offer.room.iter().zip(choice.need).filter(|(_, need)| 0 < **need);
            parts.map(|(room, need)| i128::from(*need) * 1_000_000 / i128::from(*room).max(1)).max()
        };
        choices.sort_by_cached_key(|choice| (Reverse(size(choice)), choice.item));
        Self { offer, choices }
    }

    /// The items that are asked about, in order.
    pub(crate) fn items(&self) -> impl Iterator<Item = usize> {
        self.choices.iter().map(|choice| choice.item)
    }

    /// More than this no filling is worth, by prices of resources alone.
    pub(crate) fn most(&self, prices: &[i64]) -> i128 {
        rounded_up(self.spare(prices, 0).saturating_add(cost(&self.offer.room, prices)))
    }

    fn spare(&self, prices: &[i64], from: usize) -> i128 {
        let spare = self.choices.iter().skip(from).map(|choice| {
            let surplus = (choice.value - cost(choice.need, prices)).max(0);
            surplus.saturating_mul(i128::from(choice.most))
        });
        spare.fold(0, i128::saturating_add)
    }

    /// Goes through all fillings that could be worth more than `enough`, with the prices of resources that
    /// are good from each choice on; `None` if that takes more than `steps`.
    pub(crate) fn search(
        &self,
        enough: i128,
        prices: &[Vec<Rc<[i64]>>],
        steps: &mut u64,
    ) -> Option<Worth> {
        let beyond = prices.iter().enumerate().map(|(at, prices)| {
            let of = |prices: &Rc<[i64]>| Beyond {
                spare: self.spare(prices, at),
                prices: Rc::clone(prices),
            };
            prices.iter().map(of).collect()
        });
        let beyond = beyond.collect();
        let scaled = enough << SHIFT;
        let mut search = Search {
            beyond,
            enough: scaled,
            best: scaled,
            filling: vec![0; self.choices.len()],
            best_filling: None,
            steps: *steps,
            choices: &self.choices,
        };
        search.go(0, &self.offer.room, 0);
        let is_complete = 0 < search.steps;
        *steps = search.steps;
        let most = if search.best == scaled { enough } else { rounded_up(search.best) };
        is_complete.then_some(Worth { most, excess: search.best_filling })
    }
}

pub(super) fn rounded_up(worth: i128) -> i128 {
    (worth >> SHIFT).saturating_add(1)
}

/// How many pods with `need` go into `room`.
fn fitting(room: &[i64], need: &[i64]) -> i64 {
    let fits = room.iter().zip(need).filter(|(_, need)| 0 < **need);
    fits.map(|(room, need)| room / need).min().unwrap_or(i64::MAX)
}

/// What `amounts` cost.
fn cost(amounts: &[i64], prices: &[i64]) -> i128 {
    cost_of(amounts.iter().copied(), prices)
}

/// The same, one by one.
pub(super) fn cost_of(amounts: impl Iterator<Item = i64>, prices: &[i64]) -> i128 {
    amounts.zip(prices).map(|(amount, price)| i128::from(amount) * i128::from(*price)).sum()
}

impl Search<'_> {
    /// Goes through what can be added to pods worth `value` from the choice `at` on, in `room`.
    fn go(&mut self, at: usize, room: &[i64], value: i128) {
        if self.best < value {
            self.best = value;
            let chosen = self.choices.iter().zip(&self.filling).filter(|(_, count)| 0 < **count);
            self.best_filling = Some(chosen.map(|(choice, count)| (choice.item, *count)).collect());
        }
        self.steps = self.steps.saturating_sub(1);
        let limit = self.best.max(self.enough);
        let is_less = |beyond: &Beyond| {
            value.saturating_add(cost(room, &beyond.prices)).saturating_add(beyond.spare) <= limit
        };
        if self.steps == 0 || self.beyond.get(at).is_none_or(|beyond| beyond.iter().any(is_less)) {
            return;
        }
        let Some(choice) = self.choices.get(at) else { return };
        let most = fitting(room, choice.need).min(choice.most);
        let (need, worth) = (choice.need, choice.value);
        if most == 0 {
            self.go(at + 1, room, value);
            return;
        }
        for count in (0..=most).rev() {
            let rest: Vec<i64> =
                room.iter().zip(need).map(|(room, need)| room - need * count).collect();
            let chosen = u32::try_from(count).unwrap_or(u32::MAX);
            self.filling.get_mut(at).into_iter().for_each(|entry| *entry = chosen);
            self.go(at + 1, &rest, value.saturating_add(worth.saturating_mul(i128::from(count))));
            if self.steps == 0 {
                break;
            }
        }
        self.filling.get_mut(at).into_iter().for_each(|entry| *entry = 0);
    }
}

/// What all pods of `market` are worth, less what goes `for_nothing`, when values are scaled so that no node
/// is worth more than it costs: `worths` are those of its offers.
pub(crate) fn bound(market: &Market, values: &[Pico], worths: &[Worth], for_nothing: i128) -> i128 {
    let valued = market.items.iter().zip(values);
    let sum: i128 = valued.map(|(item, value)| i128::from(item.count) * i128::from(*value)).sum();
    let sum = sum.saturating_sub(for_nothing).max(0);
    let scaled = market.offers.iter().zip(worths).map(|(offer, worth)| {
        let price = i128::from(offer.price);
        if worth.most <= price { sum } else { sum.saturating_mul(price) / worth.most }
    });
    scaled.min().unwrap_or_default()
}

/// The most that pods in `room` are worth by `values`, by prices of resources.
pub(crate) fn free_of_charge(
    market: &Market,
    room: &[i64],
    values: &[Pico],
    prices: &[i64],
) -> i128 {
    let spare = market.items.iter().zip(values).map(|(item, value)| {
        let surplus = ((i128::from(*value) << SHIFT) - cost(&item.need, prices)).max(0);
        surplus.saturating_mul(i128::from(item.count).min(i128::from(fitting(room, &item.need))))
    });
    let spare = spare.fold(0, i128::saturating_add);
    if room.iter().all(|amount| *amount <= 0) {
        return 0;
    }
    rounded_up(spare.saturating_add(cost(room, prices)))
}
