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
    node_class::{ListedNodeClass, ReservationTerm},
};
use ports::{Discovery, PortError};

/// How long free addresses count that were asked for.
///
/// Karpenter: `DefaultTTL` of `pkg/cache/cache.go` of the AWS provider, which `pkg/providers/subnet/subnet.go`
/// keeps subnets for.
const KEPT_FOR: SignedDuration = SignedDuration::from_mins(1);

/// Asks how many instances the capacity reservations of `classes` still take, by the ids that their status
/// names. Where addresses are free only a launch has to know.
pub(crate) async fn reservations<'a>(
    discovery: &impl Discovery,
    classes: impl IntoIterator<Item = &'a ListedNodeClass>,
) -> Result<Live, PortError> {
    let mut terms = BTreeSet::new();
    for status in classes.into_iter().filter_map(|listed| listed.status.as_ref()) {
        let named = status.reservations.iter();
        terms.extend(named.map(|named| ReservationTerm::Id(named.id.clone())));
    }
    let terms: Vec<ReservationTerm> = terms.into_iter().collect();
    let reservations = discovery.reservations(&terms).await?;
    let left = |listed: model::node_class::CapacityReservation| (listed.id, listed.available_count);
    let reservations_left: BTreeMap<ReservationId, u32> =
        reservations.into_iter().map(left).collect();
    Ok(Live { free_addresses: None, reservations_left })
}

/// Free addresses that this process asked for a while ago, less those that its launches took since.
///
/// Karpenter: `pkg/providers/subnet/subnet.go` of the AWS provider, in-flight addresses.
#[derive(Debug, Default)]
pub(crate) struct KnownAddresses(RefCell<Option<Known>>);

#[derive(Debug)]
struct Known {
    subnets: BTreeSet<SubnetId>,
    asked_at: Timestamp,
    free: BTreeMap<SubnetId, u32>,
}

impl KnownAddresses {
    /// Everything about `classes` that changes with every launch, at `now`.
    pub(crate) async fn live(
        &self,
        discovery: &impl Discovery,
        classes: &[ListedNodeClass],
        now: Timestamp,
    ) -> Result<Live, PortError> {
        let statuses = classes.iter().filter_map(|listed| listed.status.as_ref());
        let subnets = statuses.flat_map(|status| &status.subnets).map(|subnet| subnet.id.clone());
        let subnets: BTreeSet<SubnetId> = subnets.collect();
        let asked = Box::pin(try_join(
            self.free(discovery, subnets, now),
            reservations(discovery, classes),
        ));
        let (free, live) = asked.await?;
        Ok(Live { free_addresses: Some(free), ..live })
    }

    async fn free(
        &self,
        discovery: &impl Discovery,
        subnets: BTreeSet<SubnetId>,
        now: Timestamp,
    ) -> Result<BTreeMap<SubnetId, u32>, PortError> {
        if let Some(free) = self.known(&subnets, now) {
            return Ok(free);
        }
        let free = discovery.free_addresses(&subnets).await?;
        *self.0.borrow_mut() = Some(Known { subnets, asked_at: now, free: free.clone() });
        Ok(free)
    }

    /// What is known of `subnets`, if that still counts.
    fn known(
        &self,
        subnets: &BTreeSet<SubnetId>,
        now: Timestamp,
    ) -> Option<BTreeMap<SubnetId, u32>> {
        let known = self.0.borrow();
        let known = known.as_ref()?;
        let is_fresh = now.duration_since(known.asked_at) < KEPT_FOR;
        (is_fresh && known.subnets == *subnets).then(|| known.free.clone())
    }

    /// An instance in `subnet` took `addresses`, for itself and its pods.
    pub(crate) fn took(&self, subnet: &SubnetId, addresses: u32) {
        if let Some(known) = self.0.borrow_mut().as_mut()
            && let Some(free) = known.free.get_mut(subnet)
        {
            *free = free.saturating_sub(addresses);
        }
    }

    /// EC2 said that something is not as it was thought to be: the next launch asks.
    pub(crate) fn forget(&self) {
        *self.0.borrow_mut() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_launches_took_are_not_free_any_more() {
        let subnet: SubnetId = SubnetId::new("subnet-0a").unwrap();
        let subnets = BTreeSet::from([subnet.clone()]);
        let asked_at = Timestamp::UNIX_EPOCH;
        let free = BTreeMap::from([(subnet.clone(), 100)]);
        let known = Known { subnets: subnets.clone(), asked_at, free };
        let addresses = KnownAddresses(RefCell::new(Some(known)));
        addresses.took(&subnet, 29);
        addresses.took(&SubnetId::new("subnet-0b").unwrap(), 29);
        let kept = |seconds| {
            let now = asked_at + SignedDuration::from_secs(seconds);
            addresses.known(&subnets, now)
        };
        assert_eq!(kept(59), Some(BTreeMap::from([(subnet.clone(), 71)])));
        assert_eq!(kept(60), None);
        let others = BTreeSet::from([subnet.clone(), SubnetId::new("subnet-0b").unwrap()]);
        assert_eq!(addresses.known(&others, asked_at), None);
        addresses.took(&subnet, 100);
        assert_eq!(kept(0), Some(BTreeMap::from([(subnet.clone(), 0)])));
        addresses.forget();
        assert_eq!(kept(0), None);
    }
}
