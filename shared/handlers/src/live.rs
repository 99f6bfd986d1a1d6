//! What EC2NodeClasses select and every launch changes: free addresses, and what is left of capacity reservations.
//!
//! All else is in their status: see `launch_template::of_status`.

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
use ports::{Discovery, Fault, PortError};

use crate::error::story;

/// How long listed addresses count.
///
/// Karpenter: `DefaultTTL` of `pkg/cache/cache.go` of the AWS provider, which `pkg/providers/subnet/subnet.go`
/// keeps subnets for.
const KEPT_FOR: SignedDuration = SignedDuration::from_mins(1);

/// How many instances the capacity reservations of `classes` still take, by the ids in their status. Free addresses
/// are left out: only a launch needs them. Without the right to list reservations, none takes any, and all else goes on.
pub(crate) async fn reservations<'a>(
    discovery: &impl Discovery,
    classes: impl IntoIterator<Item = &'a ListedNodeClass>,
) -> Result<Live, PortError> {
    let mut terms = BTreeSet::new();
    for status in classes.into_iter().filter_map(|listed| listed.status.as_ref()) {
        let ids = status.reservations.iter().map(|reservation| reservation.id.clone());
        terms.extend(ids.map(ReservationTerm::Id));
    }
    let terms: Vec<ReservationTerm> = terms.into_iter().collect();
    let reservations = match discovery.reservations(&terms).await {
        Err(refused) if refused.fault == Fault::Permanent => {
            tracing::warn!(story = story(&refused), "capacity reservations are left alone");
            Vec::new()
        }
        listed => listed?,
    };
    let reservations_left: BTreeMap<ReservationId, u32> =
        reservations.into_iter().map(|listed| (listed.id, listed.available_count)).collect();
    Ok(Live { free_addresses: None, reservations_left })
}

/// The free addresses of subnets as this process listed them last, less those that its launches took since.
///
/// Karpenter: `pkg/providers/subnet/subnet.go` of the AWS provider, in-flight addresses.
#[derive(Debug, Default)]
pub(crate) struct FreeAddresses(RefCell<Option<Listed>>);

#[derive(Debug)]
struct Listed {
    subnets: BTreeSet<SubnetId>,
    since: Timestamp,
    free: BTreeMap<SubnetId, u32>,
}

impl FreeAddresses {
    /// Everything about `classes` that changes with every launch, at `now`.
    pub(crate) async fn live(
        &self,
        discovery: &impl Discovery,
        classes: &[ListedNodeClass],
        now: Timestamp,
    ) -> Result<Live, PortError> {
        let subnets: BTreeSet<SubnetId> = classes
            .iter()
            .filter_map(|listed| listed.status.as_ref())
            .flat_map(|status| &status.subnets)
            .map(|subnet| subnet.id.clone())
            .collect();
        let free = async {
            match self.free(discovery, subnets, now).await {
                Err(refused) if refused.fault == Fault::Permanent => {
                    let story = story(&refused);
                    tracing::warn!(story, "launched without a look at the free addresses");
                    Ok(None)
                }
                listed => listed.map(Some),
            }
        };
        let (free_addresses, live) =
            Box::pin(try_join(free, reservations(discovery, classes))).await?;
        Ok(Live { free_addresses, ..live })
    }

    async fn free(
        &self,
        discovery: &impl Discovery,
        subnets: BTreeSet<SubnetId>,
        now: Timestamp,
    ) -> Result<BTreeMap<SubnetId, u32>, PortError> {
        if let Some(free) = self.listed(&subnets, now) {
            return Ok(free);
        }
        let free = discovery.free_addresses(&subnets).await?;
        *self.0.borrow_mut() = Some(Listed { subnets, since: now, free: free.clone() });
        Ok(free)
    }

    /// The free addresses of `subnets`; `None` if these are not the subnets of the list, or it is too old.
    fn listed(
        &self,
        subnets: &BTreeSet<SubnetId>,
        now: Timestamp,
    ) -> Option<BTreeMap<SubnetId, u32>> {
        let listed = self.0.borrow();
        let listed = listed.as_ref()?;
        let is_fresh = now.duration_since(listed.since) < KEPT_FOR;
        (is_fresh && listed.subnets == *subnets).then(|| listed.free.clone())
    }

    /// An instance in `subnet` took `addresses`, for itself and its pods.
    pub(crate) fn took(&self, subnet: &SubnetId, addresses: u32) {
        if let Some(listed) = self.0.borrow_mut().as_mut()
            && let Some(free) = listed.free.get_mut(subnet)
        {
            *free = free.saturating_sub(addresses);
        }
    }

    /// Forgets the list, after EC2 contradicted it: the next launch lists again.
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
        let since = Timestamp::UNIX_EPOCH;
        let free = BTreeMap::from([(subnet.clone(), 100)]);
        let listed = Listed { subnets: subnets.clone(), since, free };
        let addresses = FreeAddresses(RefCell::new(Some(listed)));
        addresses.took(&subnet, 29);
        addresses.took(&SubnetId::new("subnet-0b").unwrap(), 29);
        let after = |seconds| {
            let now = since + SignedDuration::from_secs(seconds);
            addresses.listed(&subnets, now)
        };
        assert_eq!(after(59), Some(BTreeMap::from([(subnet.clone(), 71)])));
        assert_eq!(after(60), None);
        let others = BTreeSet::from([subnet.clone(), SubnetId::new("subnet-0b").unwrap()]);
        assert_eq!(addresses.listed(&others, since), None);
        addresses.took(&subnet, 100);
        assert_eq!(after(0), Some(BTreeMap::from([(subnet.clone(), 0)])));
        addresses.forget();
        assert_eq!(after(0), None);
    }
}
