//! Whether the functions may act on the cluster, and on which ledger.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use model::{
    LedgerId,
    lease::{KarpenterLease, KarpenterPod, LedgerLease, ObservedLeases, UnreadableLease},
    ledger::{Counters, Guard, Head},
};
use planner::lifecycle::guard::{Verdict, passed_over};

use crate::planner::support::{ago, now};

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
    ObservedLeases { karpenter: vec![lease], ..ObservedLeases::default() }
}

fn ours(ledger: &str, arrivals: u64, seconds: i64) -> ObservedLeases {
    let ledger = LedgerId::new(ledger).unwrap();
    let lease = LedgerLease { ledger, arrivals, renewed_at: ago(seconds) };
    ObservedLeases { ledger: Some(lease), ..ObservedLeases::default() }
}

fn free() -> Guard {
    Guard::Free { checked_at: ago(60) }
}

#[test]
fn a_live_karpenter_is_in_charge() {
    let open = head(Some("a"), 3, free());
    let held = verdict(&open, &karpenter("karpenter-6d9", 10), now());
    let words = "Karpenter (karpenter-6d9, by its lease karpenter-leader-election in kube-system)";
    assert_eq!(held, Verdict::Held(words.to_owned()));
    assert_eq!(verdict(&open, &karpenter("", 10), now()), Verdict::Free);
    assert_eq!(verdict(&open, &karpenter("karpenter-6d9", 80), now()), Verdict::Free);
}

#[test]
fn a_karpenter_that_runs_without_its_lease_is_in_charge() {
    let open = head(Some("a"), 3, free());
    let pod = |namespace: &str| {
        let pod =
            KarpenterPod { namespace: namespace.to_owned(), name: "karpenter-6d9".to_owned() };
        ObservedLeases { without_lease: vec![pod], ..ObservedLeases::default() }
    };
    let words = "Karpenter (karpenter-6d9 in kube-system, which runs without the lease karpenter-leader-election)";
    assert_eq!(verdict(&open, &pod("kube-system"), now()), Verdict::Held(words.to_owned()));
    assert_eq!(verdict(&open, &pod("team-x"), now()), Verdict::Free);
    let words = ["in the namespace team-x: karpenter-6d9 runs without a lease"];
    assert_eq!(passed_over(&pod("team-x"), &namespaces(), now()), words);
}

/// The verdict where only `kube-system` counts.
fn verdict(head: &Head, leases: &ObservedLeases, now: jiff::Timestamp) -> Verdict {
    planner::verdict(head, leases, &namespaces(), now)
}

fn namespaces() -> BTreeSet<String> {
    BTreeSet::from(["kube-system".to_owned()])
}

#[test]
fn a_lease_that_anybody_may_make_stops_nothing() {
    let open = head(Some("a"), 3, free());
    let elsewhere = |mut leases: ObservedLeases| {
        leases.karpenter[0].namespace = "team-x".to_owned();
        leases
    };
    let foreign = elsewhere(karpenter("pod-1", 10));
    assert_eq!(verdict(&open, &foreign, now()), Verdict::Free);
    let words = ["in the namespace team-x: pod-1 holds it"];
    assert_eq!(passed_over(&foreign, &namespaces(), now()), words);
    let ended = elsewhere(karpenter("pod-1", 80));
    assert_eq!(passed_over(&ended, &namespaces(), now()), Vec::<String>::new());
    for (seconds, duration, is_held) in [(10, 300, true), (10, 301, false), (-301, 15, false)] {
        let mut leases = karpenter("pod-1", seconds);
        leases.karpenter[0].duration = SignedDuration::from_secs(duration);
        let verdict = verdict(&open, &leases, now());
        assert_eq!(matches!(verdict, Verdict::Held(_)), is_held, "{seconds} s, {duration} s");
    }
}

#[test]
fn a_lease_that_cannot_be_read_counts_where_karpenter_may_run() {
    let open = head(Some("a"), 3, free());
    let unknown = "Lease kube-system/karpenter-leader-election: why".to_owned();
    for (namespace, expected) in
        [("kube-system", Verdict::Unknown(unknown)), ("team-x", Verdict::Free)]
    {
        let lease = UnreadableLease { namespace: namespace.to_owned(), why: "why".to_owned() };
        let leases = ObservedLeases { unreadable: vec![lease], ..ObservedLeases::default() };
        assert_eq!(verdict(&open, &leases, now()), expected);
    }
}

#[test]
fn what_another_program_did_meanwhile_is_adopted() {
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
