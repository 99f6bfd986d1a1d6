//! The head: opened once, with a guard that only its own ledger changes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    LedgerId, Zone,
    ledger::{CommitOutcome, Counters, Guard, Head, WriteOutcome},
};
use ports::Ledger;

use super::{Subject, later};
use crate::{
    build,
    conformance::{Case, Failure, ensure, race::race, same},
};

/// They come first: the cluster of all others is opened here.
pub(super) async fn cases<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Vec<Case> {
    vec![
        Case::of("a cluster that was never written to has an empty ledger", fresh(subject).await),
        Case::of("a ledger is opened once, under an id of its own", opened_once(subject).await),
        Case::of("the guard is changed by its own ledger only", guarded(subject).await),
        Case::of("zones that are left are kept by their own ledger only", shifted(subject).await),
        Case::of("a ledger is replaced once, and its claims stay", replaced(subject).await),
    ]
}

async fn fresh<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let snapshot = subject.ledger.snapshot(subject.one()).await?;
    same("the head", &snapshot.head, &Head::default())?;
    same("the head by itself", &subject.head().await?, &Head::default())?;
    same("the number of claims", &snapshot.claims.len(), &0)?;
    same("what cannot be read", &snapshot.unreadable, &Vec::new())
}

async fn opened_once<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let openings = (0..4).map(|_| -> std::pin::Pin<Box<dyn Future<Output = _>>> {
        Box::pin(subject.ledger.open(subject.one(), None))
    });
    let heads: Vec<Head> = race(openings.collect()).await.into_iter().collect::<Result<_, _>>()?;
    let opened = subject.head().await?;
    ensure(heads.iter().all(|head| *head == opened), || format!("{heads:?}, then {opened:?}"))?;
    ensure(opened.ledger.is_some(), || "it has no id".to_owned())?;
    let rest = Head { ledger: None, ..opened.clone() };
    same("the rest of the head", &rest, &Head::default())?;
    let other = subject.ledger.open(&subject.clusters.other, None).await?;
    ensure(other.ledger != opened.ledger, || format!("both are {:?}", opened.ledger))?;
    let snapshot = subject.ledger.snapshot(subject.one()).await?;
    same("the snapshot's head", &snapshot.head, &opened)?;
    same("the counters", &opened.counters, &Counters::default())
}

async fn guarded<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let opened = subject.ledger.open(subject.one(), None).await?;
    let Some(ours) = opened.ledger.clone() else {
        return Err(Failure("the ledger is not open".to_owned()));
    };
    let stranger: LedgerId = build::id("stranger");
    let held = Guard::Held { by: "karpenter-7d9".to_owned(), checked_at: later(0) };
    let free = Guard::Free { checked_at: later(1) };
    for guard in [free.clone(), held.clone(), held, Guard::Unchecked, free] {
        let written = subject.ledger.put_guard(subject.one(), &ours, &guard).await?;
        same("the write", &written, &WriteOutcome::Written)?;
        let refused = subject.ledger.put_guard(subject.one(), &stranger, &Guard::Unchecked).await?;
        same("a stranger's write", &refused, &WriteOutcome::Conflict)?;
        same("the guard", &subject.head().await?, &Head { guard, ..opened.clone() })?;
    }
    Ok(())
}

async fn shifted<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let opened = subject.ledger.open(subject.one(), None).await?;
    let Some(ours) = opened.ledger.clone() else {
        return Err(Failure("the ledger is not open".to_owned()));
    };
    let stranger: LedgerId = build::id("stranger");
    let first: BTreeMap<Zone, Timestamp> = [(build::id("us-west-2a"), later(60))].into();
    let both = [(build::id("us-west-2a"), later(30)), (build::id("us-west-2b"), later(90))].into();
    for zones in [first.clone(), first, both, BTreeMap::new()] {
        let written = subject.ledger.put_shifted_zones(subject.one(), &ours, &zones).await?;
        same("the write", &written, &WriteOutcome::Written)?;
        let none = BTreeMap::new();
        let refused = subject.ledger.put_shifted_zones(subject.one(), &stranger, &none).await?;
        same("a stranger's write", &refused, &WriteOutcome::Conflict)?;
        let head = Head { shifted_zones: zones, ..opened.clone() };
        same("the head", &subject.head().await?, &head)?;
        same("the snapshot's", &subject.ledger.snapshot(subject.one()).await?.head, &head)?;
    }
    Ok(())
}

async fn replaced<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let claim = subject.created("outlives-its-ledger").await?;
    let before = subject.head().await?;
    let stranger: LedgerId = build::id("stranger");
    let kept = subject.ledger.open(subject.one(), Some(&stranger)).await?;
    same("the head that a stranger would replace", &kept, &before)?;
    let after = subject.ledger.open(subject.one(), before.ledger.as_ref()).await?;
    ensure(after.ledger.is_some() && after.ledger != before.ledger, || format!("it is {after:?}"))?;
    let guard = Guard::Unchecked;
    let ledger = after.ledger.clone();
    same("its head", &after, &Head { ledger, guard, ..before.clone() })?;
    let again = subject.ledger.open(subject.one(), before.ledger.as_ref()).await?;
    same("the head after a repetition", &again, &after)?;
    same("the claim", &subject.stored(&claim).await?, &Some(claim))?;
    let late = build::commit("for-the-ledger-before", &before, vec![build::claim("late")]);
    same("a commit for the one before", &subject.commit(&late).await?, &CommitOutcome::Conflict)
}
