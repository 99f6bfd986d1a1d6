//! What of that which EC2NodeClasses select changes with every launch.
//!
//! All else is read from their status: see `launch_template::of_status`.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use futures_util::future::try_join;
use jiff::{SignedDuration, Timestamp};
use launch_template::Live;
use model::{
    ReservationId, SubnetId,
    node_class::{ListedNodeClass, ReservationTerm, SubnetTerm},
};
use ports::{Discovery, PortError};

/// How long what a decision knows of free addresses may be old.
///
/// Karpenter: `DefaultTTL` of `pkg/cache/cache.go` of the AWS provider, which `pkg/providers/subnet/subnet.go`
/// keeps subnets for.
const ADDRESSES_KEPT: SignedDuration = SignedDuration::from_mins(1);

/// Asks how many addresses are free in the subnets of `classes`, and how many instances their capacity
/// reservations still take: once for all of them, by the ids that their status names.
pub(crate) async fn live<'a>(
    discovery: &impl Discovery,
    classes: impl IntoIterator<Item = &'a ListedNodeClass>,
) -> Result<Live, PortError> {
    let named = Named::of(classes);
    let asked =
        Box::pin(try_join(free_addresses(discovery, &named), reservations_left(discovery, &named)));
    let (free_addresses, reservations_left) = asked.await?;
    Ok(Live { free_addresses, reservations_left })
}

/// Free addresses that were asked for a while ago. How many instances reservations take is always asked for:
/// they are counted one by one.
#[derive(Debug, Default)]
pub(crate) struct KnownLive(RefCell<Option<Known>>);

#[derive(Debug)]
struct Known {
    subnets: Vec<SubnetTerm>,
    asked_at: Timestamp,
    free_addresses: BTreeMap<SubnetId, u32>,
}

impl KnownLive {
    /// [`live`], with addresses that may have been free a minute before `now`: what launches asks itself.
    pub(crate) async fn look<'a>(
        &self,
        discovery: &impl Discovery,
        classes: impl IntoIterator<Item = &'a ListedNodeClass>,
        now: Timestamp,
    ) -> Result<Live, PortError> {
        let named = Named::of(classes);
        let known = self.0.borrow().as_ref().and_then(|known| {
            let is_fresh = now.duration_since(known.asked_at) < ADDRESSES_KEPT;
            (is_fresh && known.subnets == named.subnets).then(|| known.free_addresses.clone())
        });
        let free_addresses = async {
            let Some(known) = known else {
                let free_addresses = free_addresses(discovery, &named).await?;
                let subnets = named.subnets.clone();
                let kept = Known { subnets, asked_at: now, free_addresses: free_addresses.clone() };
                *self.0.borrow_mut() = Some(kept);
                return Ok(free_addresses);
            };
            Ok(known)
        };
        let asked = Box::pin(try_join(free_addresses, reservations_left(discovery, &named)));
        let (free_addresses, reservations_left) = asked.await?;
        Ok(Live { free_addresses, reservations_left })
    }
}

/// What classes name in their status.
struct Named {
    subnets: Vec<SubnetTerm>,
    reservations: Vec<ReservationTerm>,
}

impl Named {
    fn of<'a>(classes: impl IntoIterator<Item = &'a ListedNodeClass>) -> Self {
        let (mut subnets, mut reservations) = (BTreeSet::new(), BTreeSet::new());
        for status in classes.into_iter().filter_map(|listed| listed.status.as_ref()) {
            subnets.extend(status.subnets.iter().map(|subnet| SubnetTerm::Id(subnet.id.clone())));
            let named = status.reservations.iter();
            reservations.extend(named.map(|named| ReservationTerm::Id(named.id.clone())));
        }
        Self {
            subnets: subnets.into_iter().collect(),
            reservations: reservations.into_iter().collect(),
        }
    }
}

async fn free_addresses(
    discovery: &impl Discovery,
    named: &Named,
) -> Result<BTreeMap<SubnetId, u32>, PortError> {
    let subnets = discovery.subnets(&named.subnets).await?;
    Ok(subnets.into_iter().map(|subnet| (subnet.id, subnet.available_ip_address_count)).collect())
}

async fn reservations_left(
    discovery: &impl Discovery,
    named: &Named,
) -> Result<BTreeMap<ReservationId, u32>, PortError> {
    let reservations = discovery.reservations(&named.reservations).await?;
    Ok(reservations.into_iter().map(|listed| (listed.id, listed.available_count)).collect())
}
