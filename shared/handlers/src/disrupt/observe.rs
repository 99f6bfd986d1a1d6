//! What `disrupt` sees beside what every decision does.

use std::collections::BTreeSet;

use launch_template::selection::usable_reservations;
use model::{
    NodeClaim, ReservationId,
    claim::SyncedNodeClaim,
    facts::Facts,
    labels,
    node_class::{CapacityReservation, ReservationTerm},
};
use ports::{Discovery, Listing, Malformed, PortError};

use crate::error::story;

/// Which claims are being deleted. If this is unknown now, other claims are deleted nevertheless.
pub(super) fn deleted(
    shown: Result<Listing<SyncedNodeClaim>, PortError>,
    facts: &mut Facts,
    malformed: &mut Vec<Malformed>,
) {
    match shown {
        Ok(listing) => {
            let deleted = listing.items.into_iter().filter(|shown| shown.is_deleting);
            facts.deleted_claims = Some(deleted.map(|shown| shown.name).collect());
            malformed.extend(listing.malformed);
        }
        Err(error) => {
            let (object, problem) = ("NodeClaims".to_owned(), story(&error));
            malformed.push(Malformed::new(object, problem));
        }
    }
}

/// Which capacity blocks with nodes in them are about to end. If this is unknown now,
/// other claims are deleted nevertheless. A block that is over is not asked for: EC2 ends its instances by itself.
pub(super) async fn ending(
    discovery: &impl Discovery,
    facts: &mut Facts,
    malformed: &mut Vec<Malformed>,
) {
    let default = CapacityReservation::DEFAULT;
    let of_blocks = planner::reserved(&facts.ledger).filter(|claim| {
        claim.labels.get(labels::RESERVATION_TYPE).is_none_or(|kind| kind != default)
    });
    let id = |claim: &NodeClaim| claim.labels.get(labels::RESERVATION_ID)?.parse().ok();
    let ids: BTreeSet<ReservationId> = of_blocks.filter_map(id).collect();
    if ids.is_empty() {
        facts.ending_reservations = Some(BTreeSet::new());
        return;
    }
    let terms: Vec<ReservationTerm> = ids.into_iter().map(ReservationTerm::Id).collect();
    match discovery.reservations(&terms).await {
        Ok(capacity_reservations) => {
            let usable = usable_reservations(capacity_reservations, facts.now).into_iter();
            let ending = usable.filter(|capacity_reservation| capacity_reservation.is_expiring);
            facts.ending_reservations =
                Some(ending.map(|capacity_reservation| capacity_reservation.id).collect());
        }
        Err(error) => {
            let (object, problem) = ("capacity reservations".to_owned(), story(&error));
            malformed.push(Malformed::new(object, problem));
        }
    }
}
