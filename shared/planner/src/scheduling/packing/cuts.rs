//! What pods are worth by prices of what they take of a node, where that is more than resources alone.
//!
//! A node with 3.9 CPUs has room for three pods with one CPU, and for one with two: what is left over is
//! worth nothing to them. So beside each resource there are shares of it: for some amount, a pod takes as many
//! of them as it requests whole times that amount, and a node has as many as it has room. No filling takes
//! more than there are, since whole parts of amounts are no more than the whole parts of their sum.
//! (Chvátal and Gomory's cuts of rank one; Fekete and Schepers' dual feasible functions.) And large pods
//! have resources of their own, which only nodes have that take any of them: small nodes may be cheaper.
//! Prices of all these that leave no offer worth more than it costs are a small program, and prove at once.

#![expect(
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a search by approximate numbers: what it finds is checked in whole numbers"
)]

use super::{
    certify::{self, SHIFT},
    market::{Item, Market, Offer, Pico},
    master::{Column, Master},
};

/// Amounts of one resource whose whole parts are counted.
pub const PARTS_MAX: usize = 48;
/// Sizes of pods that have resources of their own.
const SIZES_MAX: usize = 16;
/// The most of a share in the small program.
const UNITS: f64 = 1e7;

/// What pods are worth by prices of shares, and what that proves.
#[derive(Clone, Debug, Default)]
pub struct Priced {
    /// In dollars.
    pub values: Vec<f64>,
    /// In pico-dollars.
    pub bound: i128,
}

/// Something that pods take of nodes.
#[derive(Clone, Debug)]
pub struct Share {
    /// By item: how much a pod takes.
    pub needs: Vec<i64>,
    /// By offer: how much a node has.
    pub rooms: Vec<i64>,
    /// How much is there for nothing.
    pub free: i64,
}

impl Share {
    /// Whole times `part` of a resource.
    pub fn of_part(market: &Market, free: &[i64], (at, part): (usize, i64)) -> Self {
        let whole = |amounts: &[i64]| amounts.get(at).copied().unwrap_or_default().max(0) / part;
        Self {
            needs: market.items.iter().map(|item| whole(&item.need)).collect(),
            rooms: market.offers.iter().map(|offer| whole(&offer.room)).collect(),
            free: whole(free),
        }
    }

    /// A resource of nodes that take any of `large` items, which these take of it.
    pub fn of_large(market: &Market, free: &[i64], at: usize, large: &[bool]) -> Self {
        let amount = |amounts: &[i64]| amounts.get(at).copied().unwrap_or_default().max(0);
        let need =
            |(item, is_large): (&Item, &bool)| if *is_large { amount(&item.need) } else { 0 };
        let takes = |offer: &Offer| {
            let mut items = market.items.iter().zip(large);
            items.any(|(item, is_large)| *is_large && offer.takes(item))
        };
        let room = |offer: &Offer| if takes(offer) { amount(&offer.room) } else { 0 };
        Self {
            needs: market.items.iter().zip(large).map(need).collect(),
            rooms: market.offers.iter().map(room).collect(),
            free: amount(free),
        }
    }

    /// How much all pods take.
    pub fn asked(&self, market: &Market) -> i64 {
        let each = market.items.iter().zip(&self.needs);
        each.map(|(item, need)| need.saturating_mul(i64::from(item.count)))
            .fold(0, i64::saturating_add)
    }
}

/// Prices of shares that make the pods of `market` worth as much as they can be, beside `free` room that is
/// there and costs nothing.
pub fn priced(market: &Market, free: &[i64]) -> Priced {
    let mut shares = shares(market, free);
    shares.retain(|share| 0 < share.asked(market) && share.rooms.iter().any(|room| 0 < *room));
    let scale = |share: &Share| {
        let most = share.rooms.iter().copied().max().unwrap_or_default();
        (most.max(share.asked(market) / 40) as f64 / UNITS).max(1e-4)
    };
    let scales: Vec<f64> = shares.iter().map(scale).collect();
    let counted = |row: usize, amount: i64| (amount as f64 / scales[row]).clamp(0.0, 4e9) as u32;
    let asked = |(row, share): (usize, &Share)| counted(row, share.asked(market)).max(1);
    let demands: Vec<u32> = shares.iter().enumerate().map(asked).collect();
    // To begin with, each is sold by itself, far too dear.
    let dear = market.offers.iter().map(|offer| offer.price).max().unwrap_or_default() as f64 / 1e9;
    let single = |(row, share): (usize, &Share)| {
        let most = share.rooms.iter().copied().max().unwrap_or_default();
        Column { offer: 0, counts: vec![(row, counted(row, most).max(1))], price: dear }
    };
    let mut columns: Vec<Column> = shares.iter().enumerate().map(single).collect();
    for (at, offer) in market.offers.iter().enumerate() {
        let rooms =
            shares.iter().enumerate().map(|(row, share)| (row, counted(row, share.rooms[at])));
        let counts = rooms.filter(|(_, count)| 0 < *count).collect();
        columns.push(Column { offer: at, counts, price: offer.price as f64 / 1e12 });
    }
    let mut master = Master::new(&demands, &columns);
    master.solve(&columns, u64::MAX);
    let factor = 1e12 * f64::from(SHIFT).exp2();
    let prices = master.values.iter().zip(&scales);
    let prices: Vec<i64> =
        prices.map(|(value, scale)| (value.max(0.0) * factor / scale).min(9e18) as i64).collect();
    certified(market, &shares, &prices)
}

/// What `prices` prove, in whole numbers.
pub fn certified(market: &Market, shares: &[Share], prices: &[i64]) -> Priced {
    let cost = |amount: &dyn Fn(&Share) -> i64| certify::cost_of(shares.iter().map(amount), prices);
    let value =
        |at: usize| Pico::try_from(cost(&|share| share.needs[at]) >> SHIFT).unwrap_or(Pico::MAX);
    let values: Vec<Pico> = (0..market.items.len()).map(value).collect();
    let of_offer =
        |(at, offer): (usize, &Offer)| certify::ratio_of(offer, cost(&|share| share.rooms[at]));
    let ratio = market.offers.iter().enumerate().map(of_offer).max().unwrap_or_default();
    let for_nothing = match cost(&|share| share.free) {
        0 => 0,
        cost => certify::rounded_up(cost),
    };
    let bound = certify::bound(market, &values, ratio, for_nothing);
    Priced { values: values.into_iter().map(|value| value as f64 / 1e12).collect(), bound }
}

/// The shares of free room that parts of the market need; `free` is the room of each part.
pub fn shares(market: &Market, free: &[i64]) -> Vec<Share> {
    let resources = market.items.first().map_or(0, |item| item.need.len());
    let mut shares = Vec::new();
    for at in 0..resources {
        let parts = parts(market, at).into_iter();
        shares.extend(parts.map(|part| Share::of_part(market, free, (at, part))));
    }
    let sizes: Vec<f64> = market.items.iter().map(|item| size(market, item)).collect();
    let most = sizes.iter().copied().fold(0.0, f64::max);
    let mut least = most;
    for _ in 0..SIZES_MAX {
        least /= 1.3;
        let large: Vec<bool> = sizes.iter().map(|size| least < *size).collect();
        let of_resource = |at| Share::of_large(market, free, at, &large);
        if large.iter().any(|is_large| !is_large) {
            shares.extend((0..market.resources).map(of_resource));
        }
    }
    shares
}

/// The part of the largest nodes that a pod takes.
pub fn size(market: &Market, item: &Item) -> f64 {
    let part = |(at, need): (usize, &i64)| {
        let most = market.offers.iter().map(|offer| offer.room[at]).max().unwrap_or_default();
        *need as f64 / most.max(1) as f64
    };
    item.need.iter().take(market.resources).enumerate().map(part).fold(0.0, f64::max)
}

/// As much of a resource as some pods request, half of that, and one.
pub fn parts(market: &Market, resource: usize) -> Vec<i64> {
    let needs = market.items.iter().filter_map(|item| item.need.get(resource).copied());
    let mut parts: Vec<i64> =
        needs.flat_map(|need| [need, need / 2]).filter(|part| 1 < *part).collect();
    parts.sort_unstable();
    parts.dedup();
    // As many as there may be, evenly.
    let every = parts.len().div_ceil(PARTS_MAX).max(1);
    parts.into_iter().rev().step_by(every).chain([1]).collect()
}
