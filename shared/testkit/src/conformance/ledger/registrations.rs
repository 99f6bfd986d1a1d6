//! How the latest launches of pools ended: of two who write at once, one is refused.

use std::collections::BTreeMap;

use model::{
    ConditionReason, NodePoolName,
    ledger::WriteOutcome,
    node_pool::{LaunchedSpec, RegistrationFailure, RegistrationOutcome, Registrations},
};
use ports::Ledger;

use super::{Subject, later};
use crate::{
    build,
    conformance::{Case, Failure, same},
};

pub(super) async fn cases<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Vec<Case> {
    let written = written_once(subject).await;
    vec![Case::of("how launches of a pool ended is written on what was read", written)]
}

async fn written_once<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let (ledger, one) = (subject.ledger, subject.one());
    let (general, batch): (NodePoolName, NodePoolName) = (build::id("general"), build::id("batch"));
    let failure = RegistrationFailure {
        reason: ConditionReason::RegistrationFailed,
        message: "its node did not join".to_owned(),
    };
    let ended = |second: u32, failure: Option<&RegistrationFailure>| RegistrationOutcome {
        claim: build::id(&format!("general-{second}")),
        at: later(i64::from(second)),
        failure: failure.cloned(),
    };
    let first = Registrations {
        version: 1,
        about: Some(LaunchedSpec { uid: "u1".to_owned(), generation: 3, class_generation: None }),
        since: Some(later(0)),
        outcomes: vec![ended(1, None), ended(2, Some(&failure))],
    };
    let next = first.after(&[ended(3, None)]).unwrap_or_default();
    let other = first.after(&[ended(4, None)]).unwrap_or_default();
    same("none yet", &ledger.registrations(one).await?, &BTreeMap::new())?;
    for (what, written, expected) in [
        ("one that was never read", &next, WriteOutcome::Conflict),
        ("the first", &first, WriteOutcome::Written),
        ("the first again", &first, WriteOutcome::Written),
        ("the next", &next, WriteOutcome::Written),
        ("another on the same", &other, WriteOutcome::Conflict),
        ("one that is over", &first, WriteOutcome::Conflict),
    ] {
        same(what, &ledger.put_registrations(one, &general, written).await?, &expected)?;
    }
    ledger.put_registrations(one, &batch, &first).await?;
    let wanted = BTreeMap::from([(general, next), (batch, first)]);
    same("all of them", &ledger.registrations(one).await?, &wanted)?;
    let elsewhere = ledger.registrations(&subject.clusters.other).await?;
    same("those of another cluster", &elsewhere, &BTreeMap::new())
}
