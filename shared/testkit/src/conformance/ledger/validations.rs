//! What trying EC2NodeClasses out came to: the last word of each class stands.

use model::{
    NodeClassName,
    validation::{FailedCheck, Validation},
};
use ports::Ledger;

use super::{Subject, later};
use crate::{
    build,
    conformance::{Case, Failure, same},
};

pub(super) async fn cases<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Vec<Case> {
    vec![
        Case::of("the last verdict of a class stands", last_stands(subject).await),
        Case::of("classes and clusters have verdicts of their own", apart(subject).await),
    ]
}

fn validation(key: &str, minutes: i64) -> Validation {
    let failure = Some((FailedCheck::RunInstances, "no policy allows it".to_owned()));
    Validation::found(key, failure, later(minutes))
}

async fn last_stands<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let class: NodeClassName = build::id("tried");
    same("no verdict", &subject.ledger.validation(subject.one(), &class).await?, &None)?;
    let passed = Validation::found("b", None, later(3));
    for known in [validation("a", 1), validation("a", 1), passed.clone()] {
        subject.ledger.put_validation(subject.one(), &class, &known).await?;
        same("it", &subject.ledger.validation(subject.one(), &class).await?, &Some(known))?;
    }
    // Whatever else is read of the cluster does not take it for its own.
    let snapshot = subject.ledger.snapshot(subject.one()).await?;
    same("claims of its name", &snapshot.claims.keys().any(|name| name.as_str() == "tried"), &false)
}

async fn apart<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let (one, other) = (build::id("apart"), build::id("apart-too"));
    subject.ledger.put_validation(subject.one(), &one, &validation("a", 1)).await?;
    same("another class", &subject.ledger.validation(subject.one(), &other).await?, &None)?;
    same("theirs", &subject.ledger.validation(&subject.clusters.other, &one).await?, &None)
}
