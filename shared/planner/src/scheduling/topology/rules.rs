//! What a pod's rules about other pods allow now.
//!
//! A rule on the hostname allows or forbids single hosts, and its answer is a bit for each. A rule
//! on another label allows domains; which of them a new node goes to depends on what the node's own
//! requirements leave.
//!
//! Karpenter: `topologygroup.go`, `nextDomain…`.

use crate::{
    index::{
        bits::BitSet,
        id::{GroupId, KeyId, Numbered, RequirementId},
    },
    scheduling::{
        numbers::domains::Domains,
        topology::{
            groups::{Groups, Purpose},
            tally::{Hosts, Tally},
        },
    },
};

/// A rule that a class of pods follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) group: GroupId,
    /// Whether the group counts the pod itself.
    pub(crate) is_own: bool,
    /// What the pod itself asks of the label.
    pub(crate) asked: Option<RequirementId>,
}

/// The domains that a rule allows now.
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    pub(crate) key: KeyId,
    pub(crate) group: GroupId,
    pub(crate) domains: Domains,
    pub(crate) choice: Choice,
}

/// What becomes of a node to which several domains are still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// All that are allowed stay open.
    All,
    /// It is one of those with the fewest pods.
    Fewest,
    /// It is any one of them.
    Any,
    /// Nothing has the label: what lacks it keeps every distance.
    Apart,
}

/// What `rule` allows of the domains of its label. `asked` are those that the pod itself allows. The first pod of an
/// affinity `heeds_others` if it goes only where those can follow that still wait.
pub(crate) fn allowed(
    rule: &Rule,
    key: KeyId,
    groups: &Groups,
    tally: &Tally,
    asked: Option<&Domains>,
    heeds_others: bool,
) -> Allowed {
    let mut supported = tally.known.clone();
    if let Some(asked) = asked {
        supported.keep(asked);
    }
    let (domains, choice) = match groups.all[rule.group].purpose {
        Purpose::Spread { max_skew, min_domains } => {
            // `nodeAffinityPolicy: Ignore`: kube-scheduler looks for the least also where the pod may not go.
            if asked.is_some() && groups.all[rule.group].filter.ignores_labels() {
                supported.add(&tally.there);
            }
            let fewest = fewest(tally, &supported, min_domains);
            let most = u64::from(fewest) + u64::from(max_skew);
            let number = u64::from(rule.is_own);
            let mut fitting = tally.known.clone();
            for domain in tally.known.iter() {
                if most < u64::from(tally.count(domain)) + number {
                    fitting.remove(domain);
                }
            }
            (fitting, Choice::Fewest)
        }
        Purpose::Affinity => {
            let mut with_pods = supported.clone();
            for domain in supported.iter().filter(|domain| tally.count(*domain) == 0) {
                with_pods.remove(domain);
            }
            match (with_pods.is_empty(), rule.is_own) {
                (false, _) | (true, false) => (with_pods, Choice::All),
                // The first of its kind goes anywhere, and the others after it.
                (true, true) => {
                    let first = groups.all[rule.group].first.as_ref().filter(|_| heeds_others);
                    if let Some(first) = first.filter(|first| first.meets(&supported)) {
                        supported.keep(first);
                    }
                    (supported, Choice::Any)
                }
            }
        }
        Purpose::AntiAffinity | Purpose::Inverse if tally.known.is_empty() => {
            (supported, Choice::Apart)
        }
        Purpose::AntiAffinity | Purpose::Inverse => {
            let mut empty = supported.clone();
            for domain in supported.iter().filter(|domain| tally.count(*domain) != 0) {
                empty.remove(domain);
            }
            (empty, Choice::All)
        }
    };
    Allowed { key, group: rule.group, domains, choice }
}

fn fewest(tally: &Tally, supported: &Domains, min_domains: Option<u32>) -> u32 {
    let wanted = usize::try_from(min_domains.unwrap_or_default()).unwrap_or(usize::MAX);
    if supported.count() < wanted {
        return 0;
    }
    supported.iter().map(|domain| tally.count(domain)).min().unwrap_or(u32::MAX)
}

/// Takes the hosts out of `hosts` that a rule on the hostname forbids.
pub(crate) fn keep_hosts<K: Numbered>(
    rule: &Rule,
    groups: &Groups,
    tally: &Tally,
    counted: impl Fn(&Tally) -> &Hosts<K>,
    hosts: &mut BitSet<K>,
) {
    let counts = counted(tally);
    match groups.all[rule.group].purpose {
        Purpose::Spread { .. } if rule.is_own => hosts.subtract(&counts.full_for_own),
        Purpose::Spread { .. } => hosts.subtract(&counts.full_for_others),
        Purpose::Affinity => {
            if tally.on_hosts != 0 || !rule.is_own {
                hosts.keep(&counts.occupied);
            }
        }
        Purpose::AntiAffinity | Purpose::Inverse => hosts.subtract(&counts.occupied),
    }
}

/// Whether a rule on the hostname allows a host without pods.
pub(crate) fn allows_new_host(rule: &Rule, groups: &Groups, tally: &Tally) -> bool {
    match groups.all[rule.group].purpose {
        Purpose::Spread { max_skew, .. } => u32::from(rule.is_own) <= max_skew,
        Purpose::Affinity => rule.is_own && tally.on_hosts == 0,
        Purpose::AntiAffinity | Purpose::Inverse => true,
    }
}
