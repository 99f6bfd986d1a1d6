//! Measured memory: the least that was seen, in any order of writes.

use model::{Bytes, ClusterName, ledger::MeasuredKey};
use ports::Ledger;

use super::{Subject, later};
use crate::{
    build,
    conformance::{Case, Failure, same},
};

pub(super) async fn cases<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Vec<Case> {
    vec![
        Case::of("of measured memory the least is kept, in any order", least(subject).await),
        Case::of("types, images and clusters are measured apart", apart(subject).await),
    ]
}

fn key(instance_type: &str, image: &str) -> MeasuredKey {
    MeasuredKey { instance_type: build::id(instance_type), image: build::id(image) }
}

async fn seen<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    cluster: &ClusterName,
    key: &MeasuredKey,
) -> Result<Option<Bytes>, Failure> {
    Ok(subject.ledger.snapshot(cluster).await?.measured.get(key).copied())
}

async fn least<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let key = key("m7g.large", "ami-0a");
    same("at first", &seen(subject, subject.one(), &key).await?, &None)?;
    // Numbers, not texts: 99 is less than 100, and so are amounts of another length.
    for (memory, least) in [(100, 100), (100, 100), (99, 99), (1_000, 99), (98, 98), (99, 98)] {
        subject.ledger.measure(subject.one(), &key, Bytes(memory), later(1)).await?;
        let seen = seen(subject, subject.one(), &key).await?;
        same(&format!("after {memory}"), &seen, &Some(Bytes(least)))?;
    }
    Ok(())
}

async fn apart<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let (cluster_name, other) = (subject.one(), &subject.clusters.other);
    let keys =
        [key("m7g.large", "ami-0b"), key("m7g.xlarge", "ami-0b"), key("m7g.large", "ami-0c")];
    for (key, memory) in keys.iter().zip(1..) {
        subject.ledger.measure(cluster_name, key, Bytes(memory), later(1)).await?;
    }
    for (key, memory) in keys.iter().zip(1..) {
        same("its own", &seen(subject, cluster_name, key).await?, &Some(Bytes(memory)))?;
        same("another cluster's", &seen(subject, other, key).await?, &None)?;
    }
    Ok(())
}
