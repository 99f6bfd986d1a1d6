//! Whole nodes made cheaper one by one: what consolidation would do to them before they are bought.
//!
//! Rounding fills each node by itself, and the last ones are often half empty. Here every node is asked whether its pods
//! fit into what others leave free, and whether a cheaper node holds the rest; then every two nodes with the
//! most room to spare are asked the same together. The numbers are whole, so what is found holds.

use std::cmp::Reverse;

use super::{
    dive::Node,
    knapsack::Counts,
    market::{Item, Market, Pico, fitting},
};

/// Nodes of which every two are tried together at most.
const PAIRED_MAX: usize = 48;

/// A node with what it leaves free.
#[derive(Clone, Debug)]
struct Filled {
    offer: usize,
    counts: Counts,
    room: Vec<i64>,
}

/// The nodes, and what may still be done, in steps of some nanoseconds.
struct Fleet<'m> {
    market: &'m Market,
    nodes: Vec<Filled>,
    work: u64,
}

/// `nodes` with the same pods for no more money, in at most about this number of steps; and the steps that were taken.
pub fn settle(market: &Market, nodes: &[Node], work: u64) -> (Vec<Node>, u64) {
    let filled = |node: &Node| {
        let mut room = market.offers.get(node.offer)?.room.to_vec();
        for (item, count) in &node.counts {
            take(&mut room, market.items.get(*item)?, *count);
        }
        Some(Filled { offer: node.offer, counts: node.counts.clone(), room })
    };
    let Some(filled) = nodes.iter().map(filled).collect() else { return (nodes.to_vec(), 0) };
    let mut fleet = Fleet { market, nodes: filled, work };
    while (fleet.settle_each() || fleet.settle_pairs()) && 0 < fleet.work {}
    let taken = work - fleet.work;
    let node = |filled: Filled| Node { offer: filled.offer, counts: filled.counts };
    (fleet.nodes.into_iter().map(node).collect(), taken)
}

impl Fleet<'_> {
    /// Whether any node alone could go or be had for less: the cheapest are asked first.
    fn settle_each(&mut self) -> bool {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|at| (self.price(*at), *at));
        let mut gone = vec![false; self.nodes.len()];
        let mut is_better = false;
        for at in order {
            is_better |= self.without(&[at], &mut gone);
        }
        self.drop_gone(&gone);
        is_better
    }

    /// The same of any two of the nodes with the most to spare.
    fn settle_pairs(&mut self) -> bool {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_cached_key(|at| (Reverse(self.spare(*at)), *at));
        order.truncate(PAIRED_MAX);
        let mut gone = vec![false; self.nodes.len()];
        let mut is_better = false;
        for (place, first) in order.iter().enumerate() {
            for second in order.iter().skip(place + 1) {
                if !is_gone(&gone, *first) && !is_gone(&gone, *second) {
                    is_better |= self.without(&[*first, *second], &mut gone);
                }
            }
        }
        self.drop_gone(&gone);
        is_better
    }

    /// Has the nodes `out` go, or all but one that becomes cheaper, if the pods fit elsewhere then; whether they did.
    fn without(&mut self, out: &[usize], gone: &mut [bool]) -> bool {
        if self.work == 0 {
            return false;
        }
        let before = out.iter().fold(0, |sum: Pico, at| sum.saturating_add(self.price(*at)));
        let mut rest = self.pods(out);
        let moves = self.elsewhere(out, &mut rest, gone);
        let bought = if rest.is_empty() {
            None
        } else {
            match self.cheapest(&rest, before) {
                Some(offer) => Some(offer),
                None => return false,
            }
        };
        for (to, item, count) in moves {
            self.put(to, item, count);
        }
        let Some((kept, others)) = out.split_first() else { return false };
        let leave = |at: &usize, gone: &mut [bool]| {
            if let Some(gone) = gone.get_mut(*at) {
                *gone = true;
            }
        };
        for at in others {
            leave(at, gone);
        }
        match (bought, self.nodes.get_mut(*kept)) {
            (Some(offer), Some(node)) => {
                let mut room = self.market.offers.get(offer).map(|offer| offer.room.to_vec());
                for (item, count) in &rest {
                    if let (Some(room), Some(item)) = (&mut room, self.market.items.get(*item)) {
                        take(room, item, *count);
                    }
                }
                *node = Filled { offer, counts: rest, room: room.unwrap_or_default() };
            }
            _ => leave(kept, gone),
        }
        true
    }

    /// All pods of `out`, the largest first.
    fn pods(&self, out: &[usize]) -> Counts {
        let mut pods = Counts::new();
        for (item, count) in out.iter().filter_map(|at| self.nodes.get(*at)).flat_map(|n| &n.counts)
        {
            match pods.iter_mut().find(|(known, _)| known == item) {
                Some((_, known)) => *known += count,
                None => pods.push((*item, *count)),
            }
        }
        let size = |item: usize| self.market.items.get(item).map(|item| &item.need);
        pods.sort_by(|(a, _), (b, _)| size(*b).cmp(&size(*a)).then(a.cmp(b)));
        pods
    }

    /// Where pods of `rest` could go beside `out`: first where they leave least room. What has no place stays in `rest`.
    fn elsewhere(
        &mut self,
        out: &[usize],
        rest: &mut Counts,
        gone: &[bool],
    ) -> Vec<(usize, usize, u32)> {
        let mut moves: Vec<(usize, usize, u32)> = Vec::new();
        let mut rooms: std::collections::BTreeMap<usize, Vec<i64>> =
            std::collections::BTreeMap::new();
        for (item, left) in rest.iter_mut() {
            let Some(asked) = self.market.items.get(*item) else { continue };
            for (at, node) in self.nodes.iter().enumerate() {
                if *left == 0 {
                    break;
                }
                let room = rooms.get(&at).unwrap_or(&node.room);
                let fits = fitting(room, &asked.need);
                if fits == 0 || out.contains(&at) || is_gone(gone, at) {
                    continue;
                }
                let is_open = self.market.offers.get(node.offer).is_some_and(|o| o.takes(asked));
                let there = count_of(&node.counts, *item)
                    + moves
                        .iter()
                        .filter(|(to, of, _)| to == &at && of == item)
                        .map(|m| m.2)
                        .sum::<u32>();
                let count = fits.min(*left).min(asked.most.saturating_sub(there));
                if !is_open || count == 0 {
                    continue;
                }
                take(rooms.entry(at).or_insert_with(|| node.room.clone()), asked, count);
                moves.push((at, *item, count));
                *left -= count;
            }
            let looked = self.nodes.len().saturating_mul(asked.need.len());
            self.work = self.work.saturating_sub(u64::try_from(looked).unwrap_or(u64::MAX));
        }
        rest.retain(|(_, left)| 0 < *left);
        moves
    }

    /// The cheapest offer that holds all of `pods` for less than `most`.
    fn cheapest(&mut self, pods: &Counts, most: Pico) -> Option<usize> {
        let asked: Option<Vec<(&Item, u32)>> = pods
            .iter()
            .map(|(item, count)| Some((self.market.items.get(*item)?, *count)))
            .collect();
        let asked = asked?;
        if asked.iter().any(|(item, count)| item.most < *count) {
            return None;
        }
        let mut need = vec![0_i64; asked.first()?.0.need.len()];
        for (item, count) in &asked {
            let sums = need.iter_mut().zip(&item.need);
            sums.for_each(|(sum, one)| {
                *sum = sum.saturating_add(one.saturating_mul(i64::from(*count)));
            });
        }
        let offers = self.market.offers.iter().enumerate();
        let mut affordable = offers.take_while(|(_, offer)| offer.price < most);
        let cheapest = affordable.find(|(_, offer)| {
            fitting(&offer.room, &need) != 0 && asked.iter().all(|(item, _)| offer.takes(item))
        });
        let looked = cheapest
            .as_ref()
            .map_or(self.market.offers.len(), |(at, _)| *at)
            .saturating_mul(need.len());
        self.work = self.work.saturating_sub(u64::try_from(looked).unwrap_or(u64::MAX));
        cheapest.map(|(at, _)| at)
    }

    fn put(&mut self, to: usize, item: usize, count: u32) {
        let (Some(node), Some(asked)) = (self.nodes.get_mut(to), self.market.items.get(item))
        else {
            return;
        };
        take(&mut node.room, asked, count);
        match node.counts.iter_mut().find(|(known, _)| *known == item) {
            Some((_, known)) => *known += count,
            None => node.counts.push((item, count)),
        }
    }

    fn price(&self, at: usize) -> Pico {
        let offer = self.nodes.get(at).and_then(|node| self.market.offers.get(node.offer));
        offer.map_or(0, |offer| offer.price)
    }

    /// How much of the node's price is for room that is free of every resource.
    fn spare(&self, at: usize) -> i128 {
        let Some(node) = self.nodes.get(at) else { return 0 };
        let Some(offer) = self.market.offers.get(node.offer) else { return 0 };
        let shares = node.room.iter().zip(&offer.room).take(self.market.resources);
        let shares = shares.filter(|(_, whole)| 0 < **whole);
        let least = shares.map(|(left, whole)| i128::from(*left) * 1_000_000 / i128::from(*whole));
        least.min().unwrap_or_default() * i128::from(offer.price) / 1_000_000
    }

    fn drop_gone(&mut self, gone: &[bool]) {
        let mut at = 0;
        self.nodes.retain(|_| {
            at += 1;
            !is_gone(gone, at - 1)
        });
    }
}

fn is_gone(gone: &[bool], at: usize) -> bool {
    gone.get(at).copied().unwrap_or_default()
}

fn count_of(counts: &Counts, item: usize) -> u32 {
    counts.iter().find(|(known, _)| *known == item).map_or(0, |(_, count)| *count)
}

/// Takes what `count` pods of `item` need out of `room`.
pub fn take(room: &mut [i64], item: &Item, count: u32) {
    for (room, need) in room.iter_mut().zip(&item.need) {
        *room = room.saturating_sub(need.saturating_mul(i64::from(count)));
    }
}
