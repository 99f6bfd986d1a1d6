//! What a commit must not have missed, and what it counts.

use model::{
    DeletionReason, LedgerId, NodeClaim,
    ledger::{Basis, Commit, CommitOutcome, Counters, Head, WriteOutcome},
};
use ports::Ledger;

use super::{Subject, arrived, later, launched};
use crate::{
    build,
    conformance::{Case, Failure, same},
};

pub(super) async fn cases<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Vec<Case> {
    vec![
        Case::of("who adds capacity misses no arrival", by_arrivals(subject).await),
        Case::of("who spends a budget misses nothing", by_both(subject).await),
        Case::of(
            "a commit that deletes lost claims is refused for no other commit",
            by_claims(subject).await,
        ),
        Case::of("withdrawing counts a departure", withdrawn(subject).await),
        Case::of("a commit for another ledger conflicts", other_ledger(subject).await),
    ]
}

/// A launched claim called `name`, of instance `number`.
async fn running<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    name: &str,
    number: u32,
) -> Result<NodeClaim, Failure> {
    let claim = launched(&subject.created(name).await?, subject.instance(number));
    let written = subject.ledger.write_claims(subject.one(), std::slice::from_ref(&claim)).await?;
    same("launching", &written, &WriteOutcome::Written)?;
    Ok(claim)
}

/// A commit on `head` that deletes `claim`.
fn deleting(id: &str, head: &Head, basis: Basis, claim: &NodeClaim) -> Commit {
    let changed = vec![claim.deleted(DeletionReason::InstanceEnded, later(0))];
    Commit { basis, changed, ..build::commit(id, head, Vec::new()) }
}

fn departed(counters: Counters) -> Counters {
    Counters { departures: counters.departures + 1, ..counters }
}

async fn by_arrivals<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let gone = running(subject, "arrivals-gone", 20).await?;
    let seen = subject.head().await?;
    let lost = deleting("arrivals-lost", &seen, Basis::Claims, &gone);
    let after = departed(seen.counters);
    same("deleting", &subject.commit(&lost).await?, &CommitOutcome::Committed(after))?;
    // No capacity was added since: the departure that was missed is none of its concern.
    let new = build::commit("arrivals-made", &seen, vec![build::claim("arrivals-made")]);
    same("adding capacity", &subject.commit(&new).await?, &arrived(after))?;
    let late = build::commit("arrivals-late", &seen, vec![build::claim("arrivals-late")]);
    same("adding more", &subject.commit(&late).await?, &CommitOutcome::Conflict)
}

async fn by_both<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let first = running(subject, "both-first", 21).await?;
    let second = running(subject, "both-second", 22).await?;
    let seen = subject.head().await?;
    let spent = deleting("both-spent", &seen, Basis::Both, &first);
    let after = departed(seen.counters);
    same("deleting", &subject.commit(&spent).await?, &CommitOutcome::Committed(after))?;
    let again = deleting("both-again", &seen, Basis::Both, &second);
    same("spending again", &subject.commit(&again).await?, &CommitOutcome::Conflict)?;
    let head = subject.head().await?;
    same("the counters", &head.counters, &after)?;
    subject.created("both-arrived").await?;
    let missed = deleting("both-missed", &head, Basis::Both, &second);
    same("missing an arrival", &subject.commit(&missed).await?, &CommitOutcome::Conflict)?;
    same("the second claim", &subject.stored(&second).await?.as_ref(), &Some(&second))
}

async fn by_claims<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let first = running(subject, "claims-first", 23).await?;
    let second = running(subject, "claims-second", 24).await?;
    let long_ago = Head { counters: Counters::default(), ..subject.head().await? };
    let mut counters = subject.head().await?.counters;
    for (id, claim) in [("claims-one", &first), ("claims-two", &second)] {
        let commit = deleting(id, &long_ago, Basis::Claims, claim);
        counters = departed(counters);
        let committed = CommitOutcome::Committed(counters);
        for _ in 0..2 {
            same("deleting", &subject.commit(&commit).await?, &committed)?;
        }
        same("the counters", &subject.head().await?.counters, &counters)?;
    }
    // The claim is not as it was: that counts in any case.
    let stale = deleting("claims-stale", &long_ago, Basis::Claims, &first);
    same("deleting once more", &subject.commit(&stale).await?, &CommitOutcome::Conflict)
}

async fn withdrawn<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let claim = subject.created("departed").await?;
    let before = subject.head().await?.counters;
    let outcome =
        subject.ledger.withdraw_claims(subject.one(), std::slice::from_ref(&claim)).await?;
    same("withdrawing", &outcome, &WriteOutcome::Written)?;
    same("the counters", &subject.head().await?.counters, &departed(before))?;
    subject.absent(&claim).await
}

async fn other_ledger<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let head = subject.head().await?;
    let stranger: LedgerId = build::id("stranger");
    for (id, ledger) in [("other-stranger", Some(stranger)), ("other-none", None)] {
        for basis in [Basis::Arrivals, Basis::Both, Basis::Claims] {
            let claim = build::claim(&format!("{id}-{basis:?}").to_lowercase());
            let elsewhere = Head { ledger: ledger.clone(), ..head.clone() };
            let commit = Commit {
                basis,
                ..build::commit(claim.name.as_str(), &elsewhere, vec![claim.clone()])
            };
            same("the answer", &subject.commit(&commit).await?, &CommitOutcome::Conflict)?;
            subject.absent(&claim).await?;
        }
    }
    same("the head", &subject.head().await?, &head)
}
