//! How many pods each domain of a group has.

use crate::{
    index::{
        bits::BitSet,
        id::{ClaimId, DomainId, Id, Numbered, PlaceId, kind},
        table::Table,
    },
    scheduling::{
        numbers::domains::Domains,
        topology::groups::{Group, Purpose},
    },
};

/// A node that is there, or one that this plan opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// Of the supply.
    Existing(PlaceId),
    /// Of the claims of the plan.
    Opened(ClaimId),
}

/// One kind of hosts: their counts, and what the counts mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts<K> {
    counts: Table<K, u32>,
    /// With a pod at all.
    pub(crate) occupied: BitSet<K>,
    /// Of a spread: where another pod that is counted is too many.
    pub(crate) full_for_own: BitSet<K>,
    /// Of a spread: where too many are already.
    pub(crate) full_for_others: BitSet<K>,
}

/// Counts of one group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Of a label: the domains that there are.
    pub(crate) known: Domains,
    /// Of a spread that counts nodes whatever pods ask of them: the domains of the nodes that are there.
    pub(crate) there: Domains,
    /// Of a label: pods by domain.
    pub(crate) counts: Table<kind::Domain, u32>,
    /// Of the hostname: what is there or coming.
    pub(crate) existing: Hosts<kind::Place>,
    /// Of the hostname: claims of the plan.
    pub(crate) in_flight: Hosts<kind::Claim>,
    /// Pods on all hosts.
    pub(crate) on_hosts: u64,
}

impl<K: Numbered> Hosts<K> {
    fn set(&mut self, group: &Group, host: Id<K>, change: impl Fn(u32) -> u32) {
        self.counts.grow(host, u32::default);
        let count = &mut self.counts[host];
        *count = change(*count);
        let mark =
            |set: &mut BitSet<K>, is_in| if is_in { set.insert(host) } else { set.remove(host) };
        mark(&mut self.occupied, 0 < *count);
        if let Purpose::Spread { max_skew, .. } = group.purpose {
            mark(&mut self.full_for_own, max_skew <= *count);
            mark(&mut self.full_for_others, max_skew < *count);
        }
    }
}

impl Tally {
    pub(crate) fn count(&self, domain: DomainId) -> u32 {
        self.counts.known(domain).copied().unwrap_or_default()
    }

    /// One more pod in `domain`.
    pub(crate) fn add(&mut self, domain: DomainId) {
        self.know(domain);
        let count = &mut self.counts[domain];
        *count = count.saturating_add(1);
    }

    /// One pod less in `domain`.
    pub(crate) fn take(&mut self, domain: DomainId) {
        if let Some(count) = self.counts.known_mut(domain) {
            *count = count.saturating_sub(1);
        }
    }

    /// The domain is there, even if no pod is.
    pub(crate) fn know(&mut self, domain: DomainId) {
        self.known.insert(domain);
        self.counts.grow(domain, u32::default);
    }

    /// One more pod on `host`.
    pub(crate) fn add_host(&mut self, group: &Group, host: Host) {
        self.on_hosts += 1;
        self.set(group, host, |count| count.saturating_add(1));
    }

    /// One pod less on `host`.
    pub(crate) fn take_host(&mut self, group: &Group, host: Host) {
        self.on_hosts = self.on_hosts.saturating_sub(1);
        self.set(group, host, |count| count.saturating_sub(1));
    }

    fn set(&mut self, group: &Group, host: Host, change: impl Fn(u32) -> u32) {
        match host {
            Host::Existing(place) => self.existing.set(group, place, change),
            Host::Opened(claim) => self.in_flight.set(group, claim, change),
        }
    }
}
