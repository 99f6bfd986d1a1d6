//! What is allocated in the cluster already.
//!
//! Karpenter: `pkg/controllers/dynamicresources/deviceallocation/controller.go`,
//! `pkg/controllers/provisioning/dra.go`.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    PodUid,
    dynamic_resources::{ClaimConsumer, DeviceId, ResourceClaim},
};

use crate::consume::Amounts;

/// Devices and shares of devices by the claims that have them. Claims and devices by number.
#[derive(Debug, Default)]
pub(crate) struct Allocated<'a> {
    /// By device: the claims that have it, with their shares of its capacity.
    holders: BTreeMap<usize, BTreeMap<usize, Amounts>>,
    /// By claim: its devices.
    held: BTreeMap<usize, BTreeSet<usize>>,
    /// By pod: claims.
    reserved: BTreeMap<&'a PodUid, BTreeSet<usize>>,
}

impl<'a> Allocated<'a> {
    /// Devices that no slice has are not known, and not missed.
    pub(crate) fn add(
        &mut self,
        number: usize,
        claim: &'a ResourceClaim,
        devices: &BTreeMap<DeviceId, usize>,
    ) {
        let Some(allocation) = &claim.allocation else { return };
        for consumer in &claim.reserved_for {
            if let ClaimConsumer::Pod(uid) = consumer {
                self.reserved.entry(uid).or_default().insert(number);
            }
        }
        for (id, consumed) in &allocation.devices {
            let Some(device) = devices.get(id) else { continue };
            self.held.entry(number).or_default().insert(*device);
            let shares = self.holders.entry(*device).or_default().entry(number).or_default();
            for (name, amount) in consumed.iter().flatten() {
                let share = shares.entry(name.clone()).or_default();
                *share = share.saturating_add(amount.nanos());
            }
        }
    }

    /// The claims that only pods of `leaving` have reserved: they are allocated anew.
    pub(crate) fn freed(
        &self,
        leaving: &BTreeSet<PodUid>,
        claim: impl Fn(usize) -> Option<&'a ResourceClaim>,
    ) -> BTreeSet<usize> {
        let leaves = |consumer: &ClaimConsumer| match consumer {
            ClaimConsumer::Pod(uid) => leaving.contains(uid),
            ClaimConsumer::Other => false,
        };
        let claims = leaving.iter().filter_map(|uid| self.reserved.get(uid)).flatten().copied();
        claims
            .filter(|number| {
                claim(*number).is_some_and(|claim| claim.reserved_for.iter().all(leaves))
            })
            .collect()
    }

    /// The devices of a claim.
    pub(crate) fn devices(&self, claim: usize) -> impl Iterator<Item = usize> {
        self.held.get(&claim).into_iter().flatten().copied()
    }

    /// Whether claims other than `freed` have the device.
    pub(crate) fn is_taken(&self, device: usize, freed: &BTreeSet<usize>) -> bool {
        let claims = self.holders.get(&device);
        claims.is_some_and(|claims| claims.keys().any(|claim| !freed.contains(claim)))
    }

    /// What claims other than `freed` have of a capacity of the device.
    pub(crate) fn taken(&self, device: usize, name: &str, freed: &BTreeSet<usize>) -> i128 {
        let claims = self.holders.get(&device).into_iter().flatten();
        let shares = claims.filter(|(claim, _)| !freed.contains(claim));
        shares.filter_map(|(_, shares)| shares.get(name)).fold(0, |a, b| a.saturating_add(*b))
    }
}
