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

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use model::{
        LedgerId,
        lease::{KarpenterLease, LedgerLease},
        ledger::Counters,
    };

    use super::*;
    use crate::testing::{ago, now};

    fn head(ledger: Option<&str>, arrivals: u64, guard: Guard) -> Head {
        let ledger = ledger.map(|id| LedgerId::new(id).unwrap());
        let counters = Counters { arrivals, departures: 0 };
        Head { ledger, counters, guard, ..Head::default() }
    }

    fn karpenter(holder: &str, seconds: i64) -> ObservedLeases {
        let lease = KarpenterLease {
            namespace: "kube-system".to_owned(),
            holder: holder.to_owned(),
            renewed_at: ago(seconds),
            duration: SignedDuration::from_secs(15),
        };
        ObservedLeases { karpenter: vec![lease], ledger: None }
    }

    fn ours(ledger: &str, arrivals: u64, seconds: i64) -> ObservedLeases {
        let ledger = LedgerId::new(ledger).unwrap();
        let lease = LedgerLease { ledger, arrivals, renewed_at: ago(seconds) };
        ObservedLeases { karpenter: Vec::new(), ledger: Some(lease) }
    }

    fn free() -> Guard {
        Guard::Free { checked_at: ago(60) }
    }

    #[test]
    fn a_live_karpenter_is_in_charge() {
        let open = head(Some("a"), 3, free());
        let held = verdict(&open, &karpenter("karpenter-6d9", 10), now());
        let words =
            "Karpenter (karpenter-6d9, by its lease karpenter-leader-election in kube-system)";
        assert_eq!(held, Verdict::Held(words.to_owned()));
        assert_eq!(verdict(&open, &karpenter("", 10), now()), Verdict::Free);
        assert_eq!(verdict(&open, &karpenter("karpenter-6d9", 80), now()), Verdict::Free);
    }

    #[test]
    fn what_somebody_else_did_meanwhile_is_adopted() {
        let held = Guard::Held { by: "Karpenter".to_owned(), checked_at: ago(60) };
        let adopt = verdict(&head(Some("a"), 3, held), &ObservedLeases::default(), now());
        assert_eq!(adopt, Verdict::Adopt);
    }

    #[test]
    fn one_ledger_at_a_time_and_never_an_old_one() {
        for (ledger, arrivals, guard, leases, expected) in [
            (None, 0, Guard::Unchecked, ObservedLeases::default(), Verdict::Open),
            (Some("a"), 0, Guard::Unchecked, ObservedLeases::default(), Verdict::Adopt),
            (Some("a"), 3, free(), ours("a", 3, 60), Verdict::Free),
            (Some("a"), 9, free(), ours("a", 3, 60), Verdict::Free),
            (Some("a"), 2, free(), ours("a", 3, 60), Verdict::Open),
            (Some("a"), 3, free(), ours("b", 9, 180), Verdict::Free),
            (None, 0, Guard::Unchecked, ours("b", 9, 180), Verdict::Open),
        ] {
            assert_eq!(verdict(&head(ledger, arrivals, guard), &leases, now()), expected);
        }
        let other = verdict(&head(Some("a"), 3, free()), &ours("b", 9, 179), now());
        assert_eq!(other, Verdict::Held("another Journeyman (with the ledger b)".to_owned()));
    }
}
