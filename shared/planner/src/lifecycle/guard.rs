//! Whether the functions may act on the cluster, and on which ledger.

use std::collections::BTreeSet;

use jiff::Timestamp;
use model::{
    lease::{KARPENTER_LEASE, KarpenterPod, ObservedLeases},
    ledger::{Guard, Head},
};

/// What the leases of a cluster say about its ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Another program is in charge: nothing is done.
    Held(String),
    /// Who is in charge cannot be read, and why: what was found before holds until it is too old.
    Unknown(String),
    /// The ledger is to be opened: there is none, or it is an old backup of one that went on.
    Open,
    /// The ledger is open, and what is there is to be adopted before anything else is done.
    Adopt,
    /// The functions act.
    Free,
}

/// Leases under the name of Karpenter's that are held, and pods of Karpenter without one, that decide nothing, because
/// they are outside of `namespaces`.
#[must_use]
pub fn passed_over(
    leases: &ObservedLeases,
    namespaces: &BTreeSet<String>,
    now: Timestamp,
) -> Vec<String> {
    let held = leases.karpenter.iter().filter(|lease| lease.is_held(now));
    let held = held.map(|lease| (&lease.namespace, format!("{} holds it", lease.holder)));
    let runs = |pod: &'_ KarpenterPod| format!("{} runs without a lease", pod.name);
    let pods = leases.without_lease.iter().map(|pod| (&pod.namespace, runs(pod)));
    let elsewhere = held.chain(pods).filter(|(name, _)| !namespaces.contains(*name));
    elsewhere.map(|(namespace, why)| format!("in the namespace {namespace}: {why}")).collect()
}

/// Who is in charge of the cluster whose ledger has `head`. A Karpenter is, where it runs in one of `namespaces`: anybody
/// who may create leases in another namespace has no say.
#[must_use]
pub fn verdict(
    head: &Head,
    leases: &ObservedLeases,
    namespaces: &BTreeSet<String>,
    now: Timestamp,
) -> Verdict {
    let mut held = leases.karpenter.iter().filter(|lease| lease.is_held(now));
    if let Some(held) = held.find(|lease| namespaces.contains(&lease.namespace)) {
        let (namespace, holder) = (&held.namespace, &held.holder);
        return Verdict::Held(format!(
            "Karpenter ({holder}, by its lease karpenter-leader-election in {namespace})"
        ));
    }
    let mut pods = leases.without_lease.iter();
    if let Some(KarpenterPod { namespace, name }) =
        pods.find(|pod| namespaces.contains(&pod.namespace))
    {
        return Verdict::Held(format!(
            "Karpenter ({name} in {namespace}, which runs without the lease {KARPENTER_LEASE})"
        ));
    }
    let mut unreadable = leases.unreadable.iter();
    if let Some(lease) = unreadable.find(|lease| namespaces.contains(&lease.namespace)) {
        return Verdict::Unknown(format!("{}: {}", lease.object(), lease.why));
    }
    let of_ledger = leases.ledger.as_ref();
    let is_ours = of_ledger.is_none_or(|lease| head.ledger.as_ref() == Some(&lease.ledger));
    if let Some(other) = of_ledger.filter(|lease| !is_ours && lease.is_held(now)) {
        return Verdict::Held(format!("another Journeyman (with the ledger {})", other.ledger));
    }
    let is_behind = of_ledger.is_some_and(|lease| head.counters.arrivals < lease.arrivals);
    match (&head.ledger, &head.guard) {
        (None, _) => Verdict::Open,
        (Some(_), _) if is_ours && is_behind => Verdict::Open,
        // Not checked yet, or another program was in charge meanwhile and may have launched.
        (Some(_), Guard::Unchecked | Guard::Held { .. }) => Verdict::Adopt,
        (Some(_), Guard::Free { .. }) => Verdict::Free,
    }
}
