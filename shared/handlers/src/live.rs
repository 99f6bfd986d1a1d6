//! What of that which EC2NodeClasses select changes with every launch.
//!
//! All else is read from their status: see `launch_template::of_status`.

use std::collections::BTreeSet;

use futures_util::future::try_join;
use launch_template::Live;
use model::node_class::{ListedNodeClass, ReservationTerm, SubnetTerm};
use ports::{Discovery, PortError};

/// Asks how many addresses are free in the subnets of `classes`, and how many instances their capacity
/// reservations still take: once for all of them, by the ids that their status names.
pub(crate) async fn live<'a>(
    discovery: &impl Discovery,
    classes: impl IntoIterator<Item = &'a ListedNodeClass>,
) -> Result<Live, PortError> {
    let (mut subnets, mut reservations) = (BTreeSet::new(), BTreeSet::new());
    for status in classes.into_iter().filter_map(|listed| listed.status.as_ref()) {
        let ids = status.subnets.iter().map(|subnet| SubnetTerm::Id(subnet.id.clone()));
        subnets.extend(ids);
        let ids = status
            .reservations
            .iter()
            .map(|capacity_reservation| ReservationTerm::Id(capacity_reservation.id.clone()));
        reservations.extend(ids);
    }
    let subnets: Vec<SubnetTerm> = subnets.into_iter().collect();
    let reservations: Vec<ReservationTerm> = reservations.into_iter().collect();
    let (subnets, reservations) =
        Box::pin(try_join(discovery.subnets(&subnets), discovery.reservations(&reservations)))
            .await?;
    Ok(Live {
        free_addresses: subnets
            .into_iter()
            .map(|subnet| (subnet.id, subnet.available_ip_address_count))
            .collect(),
        reservations_left: reservations
            .into_iter()
            .map(|capacity_reservation| {
                (capacity_reservation.id, capacity_reservation.available_count)
            })
            .collect(),
    })
}
