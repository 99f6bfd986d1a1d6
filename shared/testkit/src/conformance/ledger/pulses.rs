//! Pulses: one beat after another, from any writer and however often.

use model::{
    Function,
    ledger::{Counters, WriteOutcome},
    pulse::{Pulse, PulseNote},
};
use ports::Ledger;

use super::{Subject, later, one_of_each};
use crate::conformance::{Case, Failure, race::race, same};

pub(super) async fn cases<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Vec<Case> {
    vec![
        Case::of("a pulse reads back as it was written", reads_back(subject).await),
        Case::of("a pulse cannot fork", cannot_fork(subject).await),
        Case::of("functions and clusters have pulses of their own", apart(subject).await),
    ]
}

fn beat(sequence: u64, minutes: i64) -> Pulse {
    Pulse { sequence, due_at: Some(later(minutes)), ..Pulse::default() }
}

async fn write<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    function: Function,
    from: u64,
    pulse: &Pulse,
) -> Result<WriteOutcome, Failure> {
    Ok(subject.ledger.write_pulse(subject.one(), function, from, pulse).await?)
}

async fn read<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    function: Function,
) -> Result<Pulse, Failure> {
    Ok(subject.ledger.pulse(subject.one(), function).await?)
}

async fn reads_back<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let function = Function::Settle;
    same("a pulse that never beat", &read(subject, function).await?, &Pulse::default())?;
    let full = Pulse {
        served: Counters { arrivals: 7, departures: u64::MAX },
        failures: 3,
        note: Some(PulseNote { digest: u64::MAX, at: later(2), since: later(1) }),
        ..beat(1, 1)
    };
    let resting = Pulse { sequence: 2, ..Pulse::default() };
    for (from, pulse) in [(0, full), (1, resting), (2, beat(3, 4))] {
        for _ in 0..2 {
            same(
                "the write",
                &write(subject, function, from, &pulse).await?,
                &WriteOutcome::Written,
            )?;
            same("the pulse", &read(subject, function).await?, &pulse)?;
        }
    }
    for from in [0, 1, 2, 4] {
        let outcome = write(subject, function, from, &beat(from + 1, 9)).await?;
        same("a write from elsewhere", &outcome, &WriteOutcome::Conflict)?;
    }
    same("the pulse", &read(subject, function).await?, &beat(3, 4))
}

async fn cannot_fork<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let function = Function::Drain;
    for sequence in 0..3_u64 {
        let rivals = (0..2).map(|minutes| -> std::pin::Pin<Box<dyn Future<Output = _>>> {
            Box::pin(async move {
                write(subject, function, sequence, &beat(sequence + 1, minutes)).await
            })
        });
        let outcomes: Vec<_> =
            race(rivals.collect()).await.into_iter().collect::<Result<_, _>>()?;
        let won = |outcome: &WriteOutcome| *outcome == WriteOutcome::Written;
        one_of_each(&outcomes, won, &WriteOutcome::Conflict)?;
        let winner = outcomes.iter().position(won).unwrap_or_default();
        let minutes = i64::try_from(winner).unwrap_or_default();
        same("the newest", &read(subject, function).await?, &beat(sequence + 1, minutes))?;
    }
    Ok(())
}

async fn apart<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let other = &subject.clusters.other;
    let function = Function::Launch;
    same("ours", &write(subject, function, 0, &beat(1, 0)).await?, &WriteOutcome::Written)?;
    same("another function's", &read(subject, Function::Disrupt).await?, &Pulse::default())?;
    same("theirs", &subject.ledger.pulse(other, function).await?, &Pulse::default())?;
    let outcome = subject.ledger.write_pulse(other, function, 0, &beat(1, 5)).await?;
    same("their write", &outcome, &WriteOutcome::Written)?;
    same("ours", &read(subject, function).await?, &beat(1, 0))
}
