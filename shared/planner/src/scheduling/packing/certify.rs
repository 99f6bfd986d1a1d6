//! A price below which no fleet can be, proved in whole numbers.
//!
//! Let every pod have a value. If no node that can be bought holds pods worth more than it costs, all
//! pods together cost at least what they are worth: each is on some node. (That is weak duality of the
//! configuration program.) The values come from floats, and may be anything; this module finds how many times
//! its price a node can be worth at most, and scales all values down by that (Farley, "A note on bounding a class
//! of linear programming problems", 1990).
//!
//! What pods on a node can be worth is bounded by prices of resources: `Σ room · price`, plus for each pod what it
//! is worth beyond its own resources. Where that is more than the node costs, its fillings are divided into those
//! with at most a number of pods of a kind and those with more, and each part has prices of its own (branch and
//! bound; Land and Doig, 1960). The part with the highest ratio of all offers is always divided next: that is
//! the one that decides.

#![expect(
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "floats only say where to divide: prices and what they prove are whole numbers"
)]

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    knapsack::Counts,
    market::{Item, Market, Offer, Pico, fitting},
};

/// Bits behind the point of a price of a resource.
pub const SHIFT: u32 = 16;
/// A node that is worth its price, as a ratio.
pub const ONE: i128 = 1_000_000_000_000;
/// Fillings that are told.
const FOUND_MAX: usize = 200;

/// What nodes can be worth at most.
#[derive(Debug)]
pub struct Worth {
    /// In millionths of millionths of their prices; not less than one.
    pub ratio: i128,
    /// Fillings that are worth more than their node costs.
    pub excess: Vec<(usize, Counts)>,
}

/// What filling a node with parts of pods suggests. Whatever it is, what is proved by it holds.
#[derive(Debug)]
pub struct Guess {
    /// Prices of resources, with [`SHIFT`] bits behind the point.
    pub prices: Vec<i64>,
    /// How many of each, parts of pods among them,
    pub parts: Vec<f64>,
    /// and how many whole pods of each.
    pub counts: Vec<u32>,
}

/// Fills room with items, each up to its maximum number.
pub(crate) type Guessing<'g> = dyn Fn(&[i64], &[(usize, u32)]) -> Guess + 'g;

/// Pods that may go onto a node.
struct Choice<'m> {
    item: usize,
    need: &'m [i64],
    /// With [`SHIFT`] bits behind the point.
    value: i128,
    most: u32,
}

/// A part of the fillings of an offer, ordered by what they are worth.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Branch {
    /// What they are worth at most, as a ratio.
    ratio: i128,
    offer: usize,
    /// What is there in all of them: its value,
    value: i128,
    /// by choice how many,
    counts: Vec<u32>,
    /// and the room that it leaves.
    room: Vec<i64>,
    /// How many more of each choice.
    more: Vec<u32>,
    /// Where it is divided: at this number more of a choice.
    at: Option<(usize, u32)>,
}

/// An offer and pods with values, of which is asked what a node can be worth.
struct Question<'m> {
    offer: &'m Offer,
    choices: Vec<Choice<'m>>,
}

struct Search<'g> {
    guess: &'g Guessing<'g>,
    open: BinaryHeap<Branch>,
    /// What the best filling so far is worth, as a ratio.
    best: i128,
    found: Vec<(usize, Counts)>,
}

/// How many times its price any node of `market` can be worth, where each pod is worth as `values` say. Divides
/// fillings up to this number of times, and has `guess` look for prices.
pub fn search(market: &Market, values: &[Pico], mut divisions: u64, guess: &Guessing<'_>) -> Worth {
    let questions: Vec<Question<'_>> =
        market.offers.iter().map(|offer| Question::of(market, offer, values)).collect();
    let mut search = Search { guess, open: BinaryHeap::new(), best: ONE, found: Vec::new() };
    for (offer, question) in questions.iter().enumerate() {
        search.look(question, question.all(offer));
    }
    let mut ratio = None;
    while let Some(branch) = search.open.pop() {
        if branch.ratio <= search.best {
            break;
        }
        let at = branch.at.filter(|_| 0 < divisions);
        let (Some(question), Some(at)) = (questions.get(branch.offer), at) else {
            ratio = Some(branch.ratio);
            break;
        };
        divisions -= 1;
        for part in question.divide(branch, at).into_iter().flatten() {
            search.look(question, part);
        }
    }
    Worth { ratio: ratio.unwrap_or(search.best), excess: search.found }
}

impl Search<'_> {
    /// Finds out what a branch can be worth, and keeps it if that is more than the best.
    fn look(&mut self, question: &Question<'_>, mut branch: Branch) {
        let choices = &question.choices;
        for (more, choice) in branch.more.iter_mut().zip(choices) {
            *more = fitting(&branch.room, choice.need).min(*more);
        }
        let asked: Vec<(usize, u32)> =
            choices.iter().zip(&branch.more).map(|(choice, more)| (choice.item, *more)).collect();
        let Guess { prices, parts, counts } = (self.guess)(&branch.room, &asked);
        let more: i128 = choices
            .iter()
            .zip(&counts)
            .map(|(choice, count)| choice.value * i128::from(*count))
            .sum();
        let ratio = question.ratio(branch.value.saturating_add(more));
        if ONE < ratio && self.found.len() < FOUND_MAX {
            let counts = branch.counts.iter().zip(&counts).map(|(there, more)| there + more);
            let filling = choices
                .iter()
                .zip(counts)
                .filter(|(_, count)| 0 < *count)
                .map(|(choice, count)| (choice.item, count))
                .collect();
            self.found.push((branch.offer, filling));
        }
        self.best = self.best.max(ratio);
        let spare = choices.iter().zip(&branch.more).map(|(choice, more)| {
            let surplus = (choice.value - cost(choice.need, &prices)).max(0);
            surplus.saturating_mul(i128::from(*more))
        });
        let most = spare
            .fold(cost(&branch.room, &prices), i128::saturating_add)
            .saturating_add(branch.value);
        branch.ratio = question.ratio(most);
        if branch.ratio <= self.best {
            return;
        }
        // A pod that is worth less than its resources takes so much from what fillings are worth at most.
        let slack = most - question.price().saturating_mul(self.best) / ONE;
        for (more, choice) in branch.more.iter_mut().zip(choices) {
            let loss = cost(choice.need, &prices) - choice.value;
            if 0 < loss {
                *more = u32::try_from(slack / loss).unwrap_or(u32::MAX).min(*more);
            }
        }
        // The largest of what is divided.
        let divided = |part: &f64| DIVIDED < (part - part.round()).abs();
        let at = parts.iter().position(divided);
        branch.at = at.and_then(|at| Some((at, parts.get(at)?.floor() as u32)));
        self.open.push(branch);
    }
}

/// Parts of a pod that are not for want of precision.
const DIVIDED: f64 = 1e-6;

impl<'m> Question<'m> {
    /// Of what can be worth something on a node of `offer` by `values`; larger pods come first.
    fn of(market: &'m Market, offer: &'m Offer, values: &[Pico]) -> Self {
        let valued = market.items.iter().zip(values).enumerate();
        let asked =
            valued.filter(|(_, (item, value))| 0 < **value && 0 < item.count && offer.takes(item));
        let choice = |(at, (item, value)): (usize, (&'m Item, &Pico))| Choice {
            item: at,
            need: &item.need,
            value: i128::from(*value) << SHIFT,
            most: item.count.min(item.most),
        };
        let mut choices: Vec<Choice<'_>> = asked.map(choice).collect();
        let size = |choice: &Choice<'_>| {
            let parts = offer.room.iter().zip(choice.need).take(market.resources);
            let parts = parts.filter(|(_, need)| 0 < **need);
            parts.map(|(room, need)| i128::from(*need) * 1_000_000 / i128::from(*room).max(1)).max()
        };
        choices.sort_by_cached_key(|choice| (Reverse(size(choice)), choice.item));
        Self { offer, choices }
    }

    fn price(&self) -> i128 {
        i128::from(self.offer.price.max(1)) << SHIFT
    }

    fn ratio(&self, worth: i128) -> i128 {
        ratio(worth, self.price())
    }

    /// All fillings of the `offer`.
    fn all(&self, offer: usize) -> Branch {
        Branch {
            ratio: 0,
            offer,
            value: 0,
            counts: vec![0; self.choices.len()],
            room: self.offer.room.to_vec(),
            more: self.choices.iter().map(|choice| choice.most).collect(),
            at: None,
        }
    }

    /// The fillings of `branch` with no more than `count` of the choice `at`, and those with more.
    fn divide(&self, mut branch: Branch, (at, count): (usize, u32)) -> [Option<Branch>; 2] {
        let more = branch.more.get(at).copied().unwrap_or_default();
        let above = self.choices.get(at).filter(|_| count < more).map(|choice| {
            let least = i64::from(count) + 1;
            let room = branch.room.iter().zip(choice.need).map(|(room, need)| room - need * least);
            let mut above = Branch {
                value: branch.value + choice.value * i128::from(least),
                room: room.collect(),
                counts: branch.counts.clone(),
                more: branch.more.clone(),
                ..branch
            };
            above.counts.get_mut(at).into_iter().for_each(|there| *there += count + 1);
            above.more.get_mut(at).into_iter().for_each(|more| *more -= count + 1);
            above
        });
        branch.more.get_mut(at).into_iter().for_each(|more| *more = count.min(*more));
        [above, Some(branch)]
    }
}

/// What is `worth` as much is of a `price` with so much, rounded up.
fn ratio(worth: i128, price: i128) -> i128 {
    worth.checked_mul(ONE).map_or(i128::MAX, |worth| (worth / price).saturating_add(1))
}

/// The same of a node of `offer`, with [`SHIFT`] bits behind the point; not less than one.
pub(super) fn ratio_of(offer: &Offer, worth: i128) -> i128 {
    ratio(worth, i128::from(offer.price.max(1)) << SHIFT).max(ONE)
}

pub(super) fn rounded_up(worth: i128) -> i128 {
    (worth >> SHIFT).saturating_add(1)
}

/// What `amounts` cost.
fn cost(amounts: &[i64], prices: &[i64]) -> i128 {
    cost_of(amounts.iter().copied(), prices)
}

/// The same, one by one.
pub(super) fn cost_of(amounts: impl Iterator<Item = i64>, prices: &[i64]) -> i128 {
    amounts.zip(prices).map(|(amount, price)| i128::from(amount) * i128::from(*price)).sum()
}

/// What all pods of `market` are worth, less what goes `for_nothing`, when values are scaled so that no node
/// is worth more than it costs, where now it is as many times as `ratio` says.
pub fn bound(market: &Market, values: &[Pico], ratio: i128, for_nothing: i128) -> i128 {
    let valued = market.items.iter().zip(values);
    let sum: i128 = valued.map(|(item, value)| i128::from(item.count) * i128::from(*value)).sum();
    let sum = sum.saturating_sub(for_nothing).max(0);
    sum.saturating_mul(ONE) / ratio.max(ONE)
}

/// The most that pods in `room` are worth by `values`, by prices of resources.
pub(crate) fn free_of_charge(
    market: &Market,
    room: &[i64],
    values: &[Pico],
    prices: &[i64],
) -> i128 {
    let spare = market
        .items
        .iter()
        .zip(values)
        .map(|(item, value)| {
            let surplus = ((i128::from(*value) << SHIFT) - cost(&item.need, prices)).max(0);
            surplus.saturating_mul(i128::from(item.count.min(fitting(room, &item.need))))
        })
        .fold(0, i128::saturating_add);
    if room.iter().all(|amount| *amount <= 0) {
        return 0;
    }
    rounded_up(spare.saturating_add(cost(room, prices)))
}
