//! Small markets, and the cheapest fleet of each by looking at all of them.

use planner::{
    index::id::{TemplateId, TypeId},
    scheduling::packing::market::{Item, Market, Offer, Pico},
};

/// A dollar.
pub(crate) const DOLLAR: Pico = 1_000_000_000_000;

/// Pods with their requests and number, and offers with their price in dollars and their room. Everything
/// takes everything.
pub(crate) fn market(items: &[(&[i64], u32)], offers: &[(i64, &[i64])]) -> Market {
    let item = |(need, count): &(&[i64], u32)| Item {
        need: (*need).into(),
        count: *count,
        most: u32::MAX,
        demands: 1,
    };
    let offer = |(dollars, room): &(i64, &[i64])| Offer {
        price: dollars * DOLLAR,
        room: (*room).into(),
        takes: 1,
        template: TemplateId::default(),
        instance_type: TypeId::default(),
        market: 0,
    };
    let resources = items.first().map_or(0, |(need, _)| need.len());
    let (items, offers) = (items.iter().map(item).collect(), offers.iter().map(offer).collect());
    Market { resources, items, offers }
}

/// The same from numbers with two resources: pods with how many, and dollars with room.
pub(crate) fn market_of(pods: &[(i64, i64, u32)], sold: &[(i64, i64, i64)]) -> Market {
    let needs: Vec<[i64; 2]> = pods.iter().map(|(cpu, memory, _)| [*cpu, *memory]).collect();
    let counted = needs.iter().zip(pods);
    let items: Vec<(&[i64], u32)> = counted.map(|(need, pod)| (&need[..], pod.2)).collect();
    let rooms: Vec<[i64; 2]> = sold.iter().map(|(_, cpu, memory)| [*cpu, *memory]).collect();
    let priced = rooms.iter().zip(sold);
    let offers: Vec<(i64, &[i64])> = priced.map(|(room, offer)| (offer.0, &room[..])).collect();
    market(&items, &offers)
}

/// What the cheapest fleet for all pods of a small `market` costs; `None` if there is none.
pub(crate) fn best_of_all(market: &Market) -> Option<i128> {
    let mut pods = Vec::new();
    for item in &market.items {
        pods.extend((0..item.count).map(|_| &*item.need));
    }
    let mut best = None;
    go(market, &pods, &mut Vec::new(), &mut best);
    best
}

fn go(market: &Market, pods: &[&[i64]], nodes: &mut Vec<Vec<i64>>, best: &mut Option<i128>) {
    let Some((pod, rest)) = pods.split_first() else {
        let prices: Option<Vec<i128>> = nodes.iter().map(|node| cheapest(market, node)).collect();
        let price = prices.map(|prices| prices.iter().sum::<i128>());
        *best = best.iter().copied().chain(price).min();
        return;
    };
    for place in 0..=nodes.len() {
        if place == nodes.len() {
            nodes.push(vec![0; pod.len()]);
        }
        let before = nodes[place].clone();
        nodes[place].iter_mut().zip(*pod).for_each(|(sum, need)| *sum += need);
        if cheapest(market, &nodes[place]).is_some() {
            go(market, rest, nodes, best);
        }
        nodes[place] = before;
        nodes.retain(|node| node.iter().any(|amount| 0 < *amount));
    }
}

fn cheapest(market: &Market, need: &[i64]) -> Option<i128> {
    let fits = |offer: &&Offer| offer.room.iter().zip(need).all(|(room, need)| need <= room);
    market.offers.iter().filter(fits).map(|offer| i128::from(offer.price)).min()
}
