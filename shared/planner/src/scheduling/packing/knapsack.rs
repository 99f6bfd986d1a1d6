//! One node filled with what is worth most.

#![expect(
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a search by approximate numbers: what it finds is checked in whole numbers"
)]

use super::{
    market::{Market, fitting},
    simplex::{self, Choice, Parts},
};

/// How many pods of which items are on one node, by item.
pub type Counts = Vec<(usize, u32)>;

/// A market in numbers between 0 and 1.
#[derive(Debug)]
pub struct Scaled {
    pub(crate) resources: usize,
    /// Item after item.
    needs: Vec<f64>,
    /// By resource: the most that any offer has.
    largest: Vec<f64>,
    /// In dollars.
    pub prices: Vec<f64>,
    /// By offer: the items that it takes.
    takes: Vec<Vec<usize>>,
}

/// A node that is worth as much.
#[derive(Clone, Debug, Default)]
pub struct Filled {
    /// How many of each item are taken.
    pub counts: Counts,
    /// Their value in sum.
    pub value: f64,
    /// About how many steps it took to find.
    pub(crate) steps: usize,
}

/// How room can be filled with some items.
#[derive(Debug, Default)]
pub struct Filling {
    /// With parts of pods: how many of each, and what a unit of each resource is worth then.
    pub parts: Vec<f64>,
    /// Dual price of each resource.
    pub prices: Vec<f64>,
    /// With whole pods: how many of each.
    pub counts: Vec<u32>,
}

/// About how many steps it takes to find how many of an item go into some room: a division for each resource.
const STEPS_OF_FITTING: usize = 12;
/// What every filling takes beside that.
const STEPS_OF_FILLING: usize = 400;
/// Swaps of pods after which a filling is taken as it is.
const SWAPS_MAX: usize = 20;

impl Scaled {
    /// Scales the demands of `market` to floating-point numbers around one.
    pub fn of(market: &Market) -> Self {
        let resources = market.items.first().map_or(0, |item| item.need.len());
        let largest: Vec<f64> = (0..resources).map(|at| largest(market, at)).collect();
        let takes = market.offers.iter().map(|offer| {
            let items = market.items.iter().enumerate();
            items.filter(|(_, item)| offer.takes(item)).map(|(at, _)| at).collect()
        });
        Self {
            resources,
            needs: market.items.iter().flat_map(|item| scaled(&item.need, &largest)).collect(),
            prices: market.offers.iter().map(|offer| offer.price as f64 / 1e12).collect(),
            takes: takes.collect(),
            largest,
        }
    }

    fn need(&self, item: usize) -> &[f64] {
        &self.needs[item * self.resources..(item + 1) * self.resources]
    }

    /// Fills `offer` with what is worth most by `values`, of which these numbers are `left`.
    pub fn fill(&self, market: &Market, offer: usize, (values, left): (&[f64], &[u32])) -> Filled {
        let asked =
            self.takes[offer].iter().copied().filter(|item| 0 < left[*item] && 0.0 < values[*item]);
        let most = |item: usize| left[item].min(market.items[item].most);
        let asked: Vec<(usize, u32)> = asked.map(|item| (item, most(item))).collect();
        let mut whole = Whole::new(market, values, &asked, &market.offers[offer].room);
        let looking = asked.len() * STEPS_OF_FITTING;
        let (parts, mut steps) = self.parts(&whole);
        whole.take_whole(&parts.amounts);
        steps += STEPS_OF_FILLING + looking;
        // What is left is filled anew with what still fits, as long as anything does.
        while whole.has_choice() {
            let (parts, more) = self.parts(&whole);
            steps += more + 2 * looking;
            if !whole.take_whole(&parts.amounts) {
                whole.take_most(&parts.amounts);
            }
        }
        steps += whole.swap();
        let counted = asked.iter().zip(&whole.counts).filter(|(_, count)| 0 < **count);
        let counts: Counts = counted.map(|((item, _), count)| (*item, *count)).collect();
        let value = counts.iter().map(|(item, count)| values[*item] * f64::from(*count)).sum();
        Filled { counts, value, steps }
    }

    /// Fills `room` with parts of the items that are `asked` for, at most these numbers of each, and quickly with whole
    /// pods.
    pub fn fill_room(
        &self,
        market: &Market,
        room: &[i64],
        (asked, values): (&[(usize, u32)], &[f64]),
    ) -> Filling {
        let mut whole = Whole::new(market, values, asked, room);
        let (Parts { amounts, prices }, _) = self.parts(&whole);
        whole.take_whole(&amounts);
        let density =
            |at: usize| values[asked[at].0] / weighed(self.need(asked[at].0), &prices).max(1e-15);
        let mut order: Vec<(f64, usize)> =
            (0..asked.len()).filter(|at| 0 < whole.more(*at)).map(|at| (density(at), at)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, at) in order {
            whole.take(at, whole.more(at));
        }
        Filling { parts: amounts, prices, counts: whole.counts }
    }

    /// What is left in `whole`, filled with parts of what still fits; and about how many steps that took.
    fn parts(&self, whole: &Whole<'_>) -> (Parts, usize) {
        let places: Vec<usize> = (0..whole.asked.len()).filter(|at| 0 < whole.more(*at)).collect();
        let choice = |at: &usize| Choice {
            need: self.need(whole.asked[*at].0),
            value: whole.value(*at),
            most: f64::from(whole.more(*at)),
        };
        let choices: Vec<Choice<'_>> = places.iter().map(choice).collect();
        let room = scaled(&whole.room, &self.largest);
        let Parts { amounts, prices } = simplex::fill(&room, &choices);
        let mut by_place = vec![0.0; whole.asked.len()];
        for (at, amount) in places.iter().zip(amounts) {
            by_place[*at] = amount;
        }
        (Parts { amounts: by_place, prices }, self.steps_of_parts(places.len()))
    }

    /// About how many steps it takes to fill room with parts of this number of items.
    pub(crate) fn steps_of_parts(&self, items: usize) -> usize {
        3 * items * (self.resources + 8)
    }

    /// `values` in whole pico-dollars.
    pub(crate) fn whole_values(values: &[f64]) -> Vec<i64> {
        values.iter().map(|value| (value * 1e12).clamp(0.0, 4e18) as i64).collect()
    }

    /// Prices of resources for [`Filling::prices`] in pico-dollars for one unit of each, times 2^`shift`.
    pub(crate) fn whole_prices(&self, prices: &[f64], shift: u32) -> Vec<i64> {
        let factor = 1e12 * f64::from(shift).exp2();
        let each = prices.iter().zip(&self.largest);
        each.map(|(price, largest)| (price * factor / largest).clamp(0.0, 9e18) as i64).collect()
    }
}

/// Room that is filled with whole pods.
#[derive(Debug)]
struct Whole<'w> {
    market: &'w Market,
    values: &'w [f64],
    /// Items, each with its maximum number of pods.
    asked: &'w [(usize, u32)],
    /// How many of each there are,
    pub counts: Vec<u32>,
    /// and what they leave.
    room: Vec<i64>,
}

impl<'w> Whole<'w> {
    fn new(market: &'w Market, values: &'w [f64], asked: &'w [(usize, u32)], room: &[i64]) -> Self {
        Self { market, values, asked, counts: vec![0; asked.len()], room: room.to_vec() }
    }

    fn need(&self, at: usize) -> &'w [i64] {
        &self.market.items[self.asked[at].0].need
    }

    fn value(&self, at: usize) -> f64 {
        self.values[self.asked[at].0]
    }

    /// How many more of one go into `room`.
    fn more_in(&self, at: usize, room: &[i64]) -> u32 {
        let asked = self.asked[at].1 - self.counts[at];
        if asked == 0 { 0 } else { fitting(room, self.need(at)).min(asked) }
    }

    /// How many more of one there can be.
    fn more(&self, at: usize) -> u32 {
        self.more_in(at, &self.room)
    }

    fn has_choice(&self) -> bool {
        (0..self.asked.len()).any(|at| 0 < self.more(at))
    }

    fn take(&mut self, at: usize, count: u32) {
        let need = self.need(at);
        self.room.iter_mut().zip(need).for_each(|(room, need)| *room -= need * i64::from(count));
        self.counts[at] += count;
    }

    /// Takes what is whole in `parts`; whether anything is.
    fn take_whole(&mut self, parts: &[f64]) -> bool {
        let mut is_any = false;
        for (at, part) in parts.iter().enumerate().filter(|(_, part)| 0.0 < **part) {
            let wanted = (part + 1e-7).floor().min(f64::from(u32::MAX)) as u32;
            let count = self.more(at).min(wanted);
            self.take(at, count);
            is_any |= 0 < count;
        }
        is_any
    }

    /// Takes one of what is most of a pod in `parts`, or else of what is worth most.
    fn take_most(&mut self, parts: &[f64]) {
        let open = (0..self.asked.len()).filter(|at| 0 < self.more(*at));
        let best = open.max_by(|a, b| {
            let by_part = parts[*a].total_cmp(&parts[*b]);
            by_part.then(self.value(*a).total_cmp(&self.value(*b))).then(b.cmp(a))
        });
        if let Some(at) = best {
            self.take(at, 1);
        }
    }

    /// Swaps one pod for those of another item, and fills what that leaves, as long as that is worth more; about
    /// how many steps that takes.
    fn swap(&mut self) -> usize {
        let mut steps = 0;
        let mut room = self.room.clone();
        for _ in 0..SWAPS_MAX {
            let mut best: (f64, Option<(usize, usize, u32)>) = (0.0, None);
            for out in (0..self.asked.len()).filter(|at| 0 < self.counts[*at]) {
                steps += self.asked.len() * STEPS_OF_FITTING;
                let rooms = room.iter_mut().zip(&self.room).zip(self.need(out));
                rooms.for_each(|((sum, room), need)| *sum = room + need);
                for at in (0..self.asked.len()).filter(|at| *at != out) {
                    let count = self.more_in(at, &room);
                    let gain = self.value(at) * f64::from(count) - self.value(out);
                    if best.0 + 1e-9 * self.value(out) < gain {
                        best = (gain, Some((out, at, count)));
                    }
                }
            }
            let Some((out, at, count)) = best.1 else { break };
            self.counts[out] -= 1;
            let rooms = self.room.iter_mut().zip(&self.market.items[self.asked[out].0].need);
            rooms.for_each(|(room, need)| *room += need);
            self.take(at, count);
            loop {
                steps += self.asked.len() * STEPS_OF_FITTING;
                let more = (0..self.asked.len()).map(|at| (self.more(at), at));
                let worth = more
                    .filter(|(more, _)| 0 < *more)
                    .map(|(more, at)| (self.value(at) * f64::from(more), more, at));
                let best = worth.max_by(|a, b| a.0.total_cmp(&b.0).then(b.2.cmp(&a.2)));
                let Some((_, more, at)) = best else { break };
                self.take(at, more);
            }
        }
        steps
    }
}

/// `amounts` as parts of the `largest`.
fn scaled(amounts: &[i64], largest: &[f64]) -> Vec<f64> {
    amounts.iter().zip(largest).map(|(amount, largest)| *amount as f64 / largest).collect()
}

/// The most of a resource that any offer has.
fn largest(market: &Market, at: usize) -> f64 {
    market.offers.iter().map(|offer| offer.room[at]).max().unwrap_or_default().max(1) as f64
}

/// The sum of `amounts`, each times its weight.
fn weighed(amounts: &[f64], weights: &[f64]) -> f64 {
    amounts.iter().zip(weights).map(|(amount, weight)| amount * weight).sum()
}
