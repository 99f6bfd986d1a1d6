//! Which capacity reservations a claim is launched into.
//!
//! Karpenter: `pkg/providers/instance/filter/filter.go` of the AWS provider, the filters
//! `capacity-reservation-type`, `capacity-block` and `reserved-offering`.

use std::{cmp::Reverse, collections::BTreeMap};

use model::{CapacityType, Offering, Zone, launch::ReservationMarket};

use super::Candidate;

/// Kinds of reservations are not mixed in one request. Among those that cost the same, the first is
/// taken.
const MARKETS: [ReservationMarket; 3] = [
    ReservationMarket::OnDemand,
    ReservationMarket::CapacityBlock,
    ReservationMarket::Interruptible,
];

/// How the reservation behind `offering` is bought, if there is one.
pub(crate) fn market(offering: &Offering) -> Option<ReservationMarket> {
    let reservation = offering
        .reservation
        .as_ref()
        .filter(|_| offering.capacity_type == CapacityType::Reserved)?;
    Some(match (reservation.kind.as_str(), reservation.interruptible) {
        ("capacity-block", _) => ReservationMarket::CapacityBlock,
        (_, true) => ReservationMarket::Interruptible,
        (_, false) => ReservationMarket::OnDemand,
    })
}

/// `candidates` with only the reserved offerings that are worth sending, if they have any: those of
/// the cheapest kind; of capacity blocks the cheapest one; of each type and zone the one with the
/// most room.
pub(super) fn best(candidates: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    let cheapest = |wanted: &ReservationMarket| {
        let flat_map = candidates.iter().flat_map(|candidate| {
            let offerings = candidate.offerings.iter().filter(|o| market(o) == Some(*wanted));
            offerings.map(|offering| offering.price)
        });
        flat_map.min()
    };
    let priced = MARKETS.iter().filter_map(|wanted| Some((cheapest(wanted)?, *wanted)));
    // The first of the cheapest: `min_by_key` keeps it.
    let Some((_, chosen)) = priced.min_by_key(|(price, _)| *price) else {
        return candidates;
    };
    let of_kind: Vec<Candidate<'_>> = candidates
        .into_iter()
        .filter_map(|candidate| candidate.filtered(|o| market(o) == Some(chosen)))
        .collect();
    if chosen == ReservationMarket::CapacityBlock {
        return cheapest_one(of_kind);
    }
    of_kind.iter().map(roomiest).collect()
}

/// One type with one offering. Ties go to the name, then to the reservation, that sorts first.
fn cheapest_one(candidates: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    let key = |candidate: &Candidate<'_>, offering: &Offering| {
        let id = offering.reservation.as_ref().map(|reservation| reservation.id.clone());
        (offering.price, candidate.instance_type.name.clone(), id)
    };
    let single = candidates.into_iter().filter_map(|candidate| {
        let mut offerings = candidate.offerings.clone();
        offerings.sort_by_cached_key(|offering| key(&candidate, offering));
        offerings.truncate(1);
        let best = offerings.first().map(|offering| key(&candidate, offering))?;
        Some((best, Candidate { offerings, ..candidate }))
    });
    single.min_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, candidate)| candidate).into_iter().collect()
}

/// For each zone the offering with the most instances left; ties go to the reservation that sorts
/// first.
fn roomiest<'a>(candidate: &Candidate<'a>) -> Candidate<'a> {
    let room = |offering: &Offering| {
        let reservation = offering.reservation.as_ref();
        (Reverse(reservation.map_or(0, |r| r.count)), reservation.map(|r| r.id.clone()))
    };
    let mut best: BTreeMap<&Zone, &'a Offering> = BTreeMap::new();
    for offering in &candidate.offerings {
        match best.get(&offering.zone) {
            Some(kept) if room(kept) <= room(offering) => {}
            _ => {
                best.insert(&offering.zone, offering);
            }
        }
    }
    Candidate { offerings: best.into_values().collect(), ..*candidate }
}
