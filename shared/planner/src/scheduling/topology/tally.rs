//! How many pods each domain of a group has.

use crate::{
    index::bits::BitSet,
    scheduling::topology::groups::{Group, Purpose},
};

/// A node that is there, or one that this plan opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// By its place in the supply.
    Existing(usize),
    /// By its place among the claims of the plan.
    Opened(usize),
}

/// One kind of hosts: their counts, and what the counts mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    counts: Vec<u32>,
    /// With a pod at all.
    pub(crate) occupied: BitSet,
    /// Of a spread: where another pod that is counted is too many.
    pub(crate) full_for_own: BitSet,
    /// Of a spread: where too many are already.
    pub(crate) full_for_others: BitSet,
}

/// Counts of one group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Of a label: the domains that there are.
    pub(crate) known: BitSet,
    /// Of a label: pods by domain.
    pub(crate) counts: Vec<u32>,
    /// Of the hostname.
    pub(crate) existing: Hosts,
    /// Of the hostname.
    pub(crate) opened: Hosts,
    /// Pods on all hosts.
    pub(crate) on_hosts: u64,
}

impl Hosts {
    fn set(&mut self, group: &Group, host: usize, change: impl Fn(u32) -> u32) {
        if self.counts.len() <= host {
            self.counts.resize(host + 1, 0);
        }
        let Some(count) = self.counts.get_mut(host) else { return };
        *count = change(*count);
        let mark =
            |set: &mut BitSet, is_in| if is_in { set.insert(host) } else { set.remove(host) };
        mark(&mut self.occupied, 0 < *count);
        if let Purpose::Spread { max_skew, .. } = group.purpose {
            mark(&mut self.full_for_own, max_skew <= *count);
            mark(&mut self.full_for_others, max_skew < *count);
        }
    }
}

impl Tally {
    pub(crate) fn count(&self, domain: usize) -> u32 {
        self.counts.get(domain).copied().unwrap_or_default()
    }

    /// One more pod in `domain`.
    pub(crate) fn add(&mut self, domain: usize) {
        self.know(domain);
        if let Some(count) = self.counts.get_mut(domain) {
            *count = count.saturating_add(1);
        }
    }

    /// One pod less in `domain`.
    pub(crate) fn take(&mut self, domain: usize) {
        if let Some(count) = self.counts.get_mut(domain) {
            *count = count.saturating_sub(1);
        }
    }

    /// The domain is there, even if no pod is.
    pub(crate) fn know(&mut self, domain: usize) {
        self.known.insert(domain);
        if self.counts.len() <= domain {
            self.counts.resize(domain + 1, 0);
        }
    }

    /// One more pod on `host`.
    pub(crate) fn add_host(&mut self, group: &Group, host: Host) {
        self.on_hosts += 1;
        let (hosts, number) = self.hosts(host);
        hosts.set(group, number, |count| count.saturating_add(1));
    }

    /// One pod less on `host`.
    pub(crate) fn take_host(&mut self, group: &Group, host: Host) {
        self.on_hosts = self.on_hosts.saturating_sub(1);
        let (hosts, number) = self.hosts(host);
        hosts.set(group, number, |count| count.saturating_sub(1));
    }

    fn hosts(&mut self, host: Host) -> (&mut Hosts, usize) {
        match host {
            Host::Existing(number) => (&mut self.existing, number),
            Host::Opened(number) => (&mut self.opened, number),
        }
    }
}
