//! Whether the functions may act on the cluster, and on which ledger.

use jiff::Timestamp;
use model::{
    lease::ObservedLeases,
    ledger::{Guard, Head},
};

/// What the leases of a cluster say about its ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Somebody else is in charge: nothing is done.
    Held(String),
    /// The ledger is to be opened: there is none, or it is an old backup of one that went on.
    Open,
    /// The ledger is open, and what is there is to be adopted before anything else is done.
    Adopt,
    /// The functions act.
    Free,
}

/// Who is in charge of the cluster whose ledger has `head`.
#[must_use]
pub fn verdict(head: &Head, leases: &ObservedLeases, now: Timestamp) -> Verdict {
    if let Some(held) = leases.karpenter.iter().find(|lease| lease.is_held(now)) {
        let (namespace, holder) = (&held.namespace, &held.holder);
        return Verdict::Held(format!(
            "Karpenter ({holder}, by its lease karpenter-leader-election in {namespace})"
        ));
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
        // Nobody looked yet, or somebody else was in charge meanwhile and may have launched.
        (Some(_), Guard::Unchecked | Guard::Held { .. }) => Verdict::Adopt,
        (Some(_), Guard::Free { .. }) => Verdict::Free,
    }
}
