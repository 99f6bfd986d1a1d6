//! Poll chains: one link after another, whoever asks and however often.

use model::ledger::WriteOutcome;
use ports::Ledger;

use super::{Subject, later, one_of_each};
use crate::conformance::{Case, Failure, race::race, same};

pub(super) async fn cases<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Vec<Case> {
    vec![
        Case::of("a chain starts once, at link 0", starts(subject).await),
        Case::of("a chain cannot fork", cannot_fork(subject).await),
        Case::of("chains and clusters have links of their own", apart(subject).await),
    ]
}

async fn advance<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    chain: &str,
    from: Option<u64>,
    minutes: i64,
) -> Result<WriteOutcome, Failure> {
    Ok(subject.ledger.advance_tick(subject.one(), chain, from, later(minutes)).await?)
}

async fn starts<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let chain = "starts";
    same("no link", &subject.ledger.tick(subject.one(), chain).await?, &None)?;
    let early = advance(subject, chain, Some(0), 0).await?;
    same("a second link before the first", &early, &WriteOutcome::Conflict)?;
    let outcomes =
        [advance(subject, chain, None, 1).await?, advance(subject, chain, None, 2).await?];
    same("two starts", &outcomes, &[WriteOutcome::Written, WriteOutcome::Conflict])?;
    same("the link", &subject.ledger.tick(subject.one(), chain).await?, &Some((0, later(1))))
}

async fn cannot_fork<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let chain = "fork";
    same("the start", &advance(subject, chain, None, 0).await?, &WriteOutcome::Written)?;
    for link in 0..3_u64 {
        let minutes = i64::try_from(link).unwrap_or_default() + 1;
        let both = (0..2).map(|_| -> std::pin::Pin<Box<dyn Future<Output = _>>> {
            Box::pin(advance(subject, chain, Some(link), minutes))
        });
        let outcomes = race(both.collect()).await;
        let outcomes: Vec<_> = outcomes.into_iter().collect::<Result<_, _>>()?;
        let won = |outcome: &WriteOutcome| *outcome == WriteOutcome::Written;
        one_of_each(&outcomes, won, &WriteOutcome::Conflict)?;
        let newest = subject.ledger.tick(subject.one(), chain).await?;
        same("the newest link", &newest, &Some((link + 1, later(minutes))))?;
    }
    for from in [None, Some(0), Some(2), Some(4)] {
        let outcome = advance(subject, chain, from, 9).await?;
        same("a link from another place", &outcome, &WriteOutcome::Conflict)?;
    }
    same("the newest link", &subject.ledger.tick(subject.one(), chain).await?, &Some((3, later(3))))
}

async fn apart<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let other = &subject.clusters.other;
    same("ours", &advance(subject, "apart", None, 0).await?, &WriteOutcome::Written)?;
    same("another chain", &subject.ledger.tick(subject.one(), "apart-too").await?, &None)?;
    same("theirs", &subject.ledger.tick(other, "apart").await?, &None)?;
    let outcome = subject.ledger.advance_tick(other, "apart", None, later(5)).await?;
    same("their start", &outcome, &WriteOutcome::Written)?;
    same("ours", &subject.ledger.tick(subject.one(), "apart").await?, &Some((0, later(0))))
}
