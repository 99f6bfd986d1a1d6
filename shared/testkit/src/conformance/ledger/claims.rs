//! Single claims: written under their version, found by instance, removed.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::{
    DeletionReason, NodeClaim,
    claim::Deletion,
    ledger::{CommitOutcome, WriteOutcome},
};
use ports::{Fault, Ledger};

use super::{Subject, later, launched, offering};
use crate::{
    build,
    conformance::{ATTEMPTS_MAX, Case, Failure, same},
};

pub(super) async fn cases<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Vec<Case> {
    vec![
        Case::of("everything in a claim reads back", reads_back(subject).await),
        Case::of("a claim is written again without effect", written_twice(subject).await),
        Case::of("a claim under another version is refused", wrong_version(subject).await),
        Case::of("a claim that is not there cannot be written", written_lost(subject).await),
        Case::of("claims of a batch are written together", batch_written(subject).await),
        Case::of("claims of a batch are removed together", batch_removed(subject).await),
        Case::of("one of a batch moves on, and the others stay", one_of_batch(subject).await),
        Case::of("a claim is removed again without effect", removed_twice(subject).await),
        Case::of("a claim under another version is not removed", removed_stale(subject).await),
        Case::of(
            "a claim that left its batch is written and removed by itself",
            alone(subject).await,
        ),
        Case::of("a claim is found by its instance", by_instance(subject).await),
        Case::of(
            "an offering cools down until the later time, for every cluster",
            is_unavailable(subject).await,
        ),
        Case::of("clusters in one table do not see each other", apart(subject).await),
    ]
}

async fn write<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    claim: &NodeClaim,
) -> Result<WriteOutcome, Failure> {
    Ok(subject.ledger.write_claims(subject.one(), std::slice::from_ref(claim)).await?)
}

async fn remove<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    claim: &NodeClaim,
) -> Result<WriteOutcome, Failure> {
    Ok(subject.ledger.remove_claims(subject.one(), std::slice::from_ref(claim)).await?)
}

/// A claim with something in every field, among it what entries of requirements cannot say.
fn full(name: &str) -> NodeClaim {
    let text = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    NodeClaim {
        labels: BTreeMap::from([text("team", "red"), text("empty", "")]),
        annotations: BTreeMap::from([text("example.com/note", "two\nlines: \"ä\"")]),
        requirements: build::requirements(
            "in In b a min 2; not NotIn a 7; exists Exists; absent DoesNotExist; \
             bounded NotIn 5 a min 3; bounded Gt 1; bounded Lte 9; below Lt 0; least Gte 0",
        ),
        instance_types: vec![build::id("m7g.large"), build::id("c7g.large")],
        requests: build::resources("cpu=1500m memory=3Gi ephemeral-storage=1Gi pods=3"),
        taints: vec![
            build::taint("dedicated=gpu:NoSchedule"),
            build::taint("soft:PreferNoSchedule"),
        ],
        startup_taints: vec![build::taint("starting:NoExecute")],
        expire_after: None,
        termination_grace_period: Some(SignedDuration::from_hours(48)),
        capacity: build::resources("cpu=2 memory=8Gi pods=29 nvidia.com/gpu=1"),
        batch_index: 2,
        batch_size: 3,
        message: Some("no capacity yet".into()),
        ..build::claim(name)
    }
}

async fn reads_back<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let claim = full("full");
    let head = subject.head().await?;
    let commit = build::commit("full", head, vec![claim.clone()]);
    same("the answer", &subject.commit(&commit).await?, &CommitOutcome::Committed(head.next()))?;
    let mut next = launched(&claim, subject.instance(1));
    next.node = Some(build::id("ip-10-0-0-1.us-west-2.compute.internal"));
    next.empty_since = Some(later(1));
    let deletion = Deletion {
        reason: DeletionReason::SpotInterrupted,
        at: later(2),
        deadline: Some(later(3)),
    };
    let last = NodeClaim {
        deletion: Some(deletion),
        ..next.moved_to(model::ClaimPhase::Deleting, later(2))
    };
    for claim in [claim, next, last] {
        if 1 < claim.version {
            same("writing", &write(subject, &claim).await?, &WriteOutcome::Written)?;
            let read = subject.ledger.claim(subject.one(), &claim.name).await?;
            same("the claim", &read.as_ref(), &Some(&claim))?;
        }
        subject.unchanged(head.next(), &claim).await?;
    }
    Ok(())
}

async fn written_twice<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let claim = subject.promised("written-twice").await?;
    let head = subject.head().await?;
    let next = NodeClaim { version: 2, message: Some("next".into()), ..claim };
    same("the first write", &write(subject, &next).await?, &WriteOutcome::Written)?;
    same("the second write", &write(subject, &next).await?, &WriteOutcome::Written)?;
    // A claim's own write does not move the head.
    subject.unchanged(head, &next).await
}

async fn wrong_version<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let claim = subject.promised("wrong-version").await?;
    let head = subject.head().await?;
    let next = NodeClaim { version: 2, message: Some("next".into()), ..claim.clone() };
    same("the write", &write(subject, &next).await?, &WriteOutcome::Written)?;
    let other = |version| NodeClaim {
        version,
        message: Some(format!("other {version}").as_str().into()),
        ..claim.clone()
    };
    for version in [1, 2, 4] {
        let outcome = write(subject, &other(version)).await?;
        same("a write under another version", &outcome, &WriteOutcome::Conflict)?;
        subject.unchanged(head, &next).await?;
    }
    same("a write under the next one", &write(subject, &other(3)).await?, &WriteOutcome::Written)?;
    subject.unchanged(head, &other(3)).await
}

async fn written_lost<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    for version in [1, 2] {
        let lost = NodeClaim { version, ..build::claim("written-lost") };
        same("the write", &write(subject, &lost).await?, &WriteOutcome::Conflict)?;
        subject.absent(&lost).await?;
    }
    Ok(())
}

/// Promises a batch called `name` of so many claims.
async fn batch<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    name: &str,
    claims: usize,
) -> Result<Vec<NodeClaim>, Failure> {
    let head = subject.head().await?;
    let claims = build::batch(name, claims);
    let commit = build::commit(name, head, claims.clone());
    same("promising", &subject.commit(&commit).await?, &CommitOutcome::Committed(head.next()))?;
    Ok(claims)
}

fn asked_for(claim: &NodeClaim) -> NodeClaim {
    NodeClaim { version: claim.version + 1, requested_at: Some(later(0)), ..claim.clone() }
}

/// More than what a transaction takes.
async fn batch_written<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let claims = batch(subject, "batch-written", 230).await?;
    let head = subject.head().await?;
    let asked: Vec<NodeClaim> = claims.iter().map(asked_for).collect();
    for _ in 0..2 {
        let outcome = subject.ledger.write_claims(subject.one(), &asked).await?;
        same("writing", &outcome, &WriteOutcome::Written)?;
        let snapshot = subject.ledger.snapshot(subject.one()).await?;
        same("the head", &snapshot.generation, &head)?;
        for claim in &asked {
            same("one of them", &snapshot.claims.get(&claim.name), &Some(claim))?;
        }
    }
    if let Some(last) = asked.last() {
        let read = subject.ledger.claim(subject.one(), &last.name).await?;
        same("the last", &read.as_ref(), &Some(last))?;
    }
    let outcome = subject.ledger.write_claims(subject.one(), &claims).await?;
    same("writing under an old version", &outcome, &WriteOutcome::Conflict)?;
    let outcome = subject.ledger.write_claims(subject.one(), &[]).await?;
    same("writing nothing", &outcome, &WriteOutcome::Written)
}

/// Some are still only promised, one was asked for, and one was moved on meanwhile.
async fn batch_removed<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let mut claims = batch(subject, "batch-removed", 120).await?;
    let last = claims.len() - 1;
    let head = subject.head().await?;
    for claim in claims.iter_mut().take(1) {
        *claim = asked_for(claim);
        same("the write", &write(subject, claim).await?, &WriteOutcome::Written)?;
    }
    let (removed, kept) = claims.split_at(last);
    for _ in 0..2 {
        let outcome = subject.ledger.remove_claims(subject.one(), removed).await?;
        same("removing", &outcome, &WriteOutcome::Written)?;
        let snapshot = subject.ledger.snapshot(subject.one()).await?;
        let left = removed.iter().find(|claim| snapshot.claims.contains_key(&claim.name));
        same("what is left of them", &left, &None)?;
    }
    for claim in kept {
        subject.unchanged(head, claim).await?;
        let next = asked_for(claim);
        same("the write", &write(subject, &next).await?, &WriteOutcome::Written)?;
        let outcome = subject.ledger.remove_claims(subject.one(), kept).await?;
        same("removing under an old version", &outcome, &WriteOutcome::Conflict)?;
        subject.unchanged(head, &next).await?;
    }
    Ok(())
}

async fn one_of_batch<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let claims = batch(subject, "one-of-batch", 3).await?;
    let head = subject.head().await?;
    let [first, second, third] = claims.as_slice() else {
        return Err(Failure("three claims were asked for".to_owned()));
    };
    let next = asked_for(second);
    same("writing one", &write(subject, &next).await?, &WriteOutcome::Written)?;
    let outcome = remove(subject, first).await?;
    same("removing another", &outcome, &WriteOutcome::Written)?;
    subject.absent(first).await?;
    subject.unchanged(head, &next).await?;
    subject.unchanged(head, third).await?;
    let launched_claims: Vec<NodeClaim> = claims.iter().map(asked_for).collect();
    let outcome = subject.ledger.write_claims(subject.one(), &launched_claims).await?;
    same("writing one that is gone", &outcome, &WriteOutcome::Conflict)?;
    subject.absent(first).await?;
    subject.unchanged(head, &asked_for(third)).await
}

async fn removed_twice<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let claim = subject.promised("removed-twice").await?;
    for _ in 0..2 {
        let outcome = remove(subject, &claim).await?;
        same("removing", &outcome, &WriteOutcome::Written)?;
        subject.absent(&claim).await?;
    }
    let next = NodeClaim { version: 2, ..claim };
    same("a write after it", &write(subject, &next).await?, &WriteOutcome::Conflict)?;
    subject.absent(&next).await
}

async fn removed_stale<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let claim = subject.promised("removed-stale").await?;
    let head = subject.head().await?;
    let next = NodeClaim { version: 2, ..claim.clone() };
    same("the write", &write(subject, &next).await?, &WriteOutcome::Written)?;
    let outcome = remove(subject, &claim).await?;
    same("removing under an old version", &outcome, &WriteOutcome::Conflict)?;
    subject.unchanged(head, &next).await
}

async fn alone<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let promised = subject.promised("alone").await?;
    let head = subject.head().await?;
    let asked = asked_for(&promised);
    let (ledger, cluster_name) = (subject.ledger, subject.one());
    same("a write", &ledger.write_claim(cluster_name, &asked).await?, &WriteOutcome::Conflict)?;
    let refused = ledger.remove_claim(cluster_name, &promised).await.map_err(|error| error.fault);
    same("a removal", &refused, &Err(Fault::Permanent))?;
    subject.unchanged(head, &promised).await?;
    same("leaving the batch", &write(subject, &asked).await?, &WriteOutcome::Written)?;
    let next = NodeClaim { version: 3, message: Some("next".into()), ..asked.clone() };
    for _ in 0..2 {
        same("the write", &ledger.write_claim(cluster_name, &next).await?, &WriteOutcome::Written)?;
        subject.unchanged(head, &next).await?;
    }
    same(
        "an old write",
        &ledger.write_claim(cluster_name, &asked).await?,
        &WriteOutcome::Conflict,
    )?;
    same(
        "an old removal",
        &ledger.remove_claim(cluster_name, &asked).await?,
        &WriteOutcome::Conflict,
    )?;
    for _ in 0..2 {
        same(
            "the removal",
            &ledger.remove_claim(cluster_name, &next).await?,
            &WriteOutcome::Written,
        )?;
        subject.absent(&next).await?;
    }
    same(
        "a write after it",
        &ledger.write_claim(cluster_name, &next).await?,
        &WriteOutcome::Conflict,
    )
}

async fn by_instance<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let (instance, nobody) = (subject.instance(2), subject.instance(99));
    same("nobody's claim", &subject.ledger.claim_of_instance(&nobody).await?, &None)?;
    let claim = launched(&subject.promised("by-instance").await?, instance.clone());
    same("the write", &write(subject, &claim).await?, &WriteOutcome::Written)?;
    let wanted = (subject.one().clone(), claim.clone());
    eventually(subject, &instance, Some(&wanted)).await?;
    let outcome = remove(subject, &claim).await?;
    same("removing", &outcome, &WriteOutcome::Written)?;
    eventually(subject, &instance, None).await
}

async fn eventually<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    instance: &model::InstanceId,
    wanted: Option<&(model::ClusterName, NodeClaim)>,
) -> Result<(), Failure> {
    for _ in 0..ATTEMPTS_MAX {
        if subject.ledger.claim_of_instance(instance).await?.as_ref() == wanted {
            return Ok(());
        }
        (subject.wait)().await;
    }
    let entry = subject.ledger.claim_of_instance(instance).await?;
    same("in the end its claim", &entry.as_ref(), &wanted)
}

async fn is_unavailable<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let (one, other) = (offering("m7g.large"), offering("m7g.xlarge"));
    for (given, stands) in [(5, 5), (9, 9), (7, 9), (9, 9)] {
        let offerings = [(one.clone(), later(given)), (other.clone(), later(1))];
        subject.ledger.mark_unavailable(&offerings).await?;
        for cluster in [subject.one(), &subject.clusters.other] {
            let unavailable_offerings =
                subject.ledger.snapshot(cluster).await?.unavailable_offerings;
            same("what cools down", &unavailable_offerings.get(&one), &Some(&later(stands)))?;
            same("the other", &unavailable_offerings.get(&other), &Some(&later(1)))?;
        }
    }
    Ok(subject.ledger.mark_unavailable(&[]).await?)
}

async fn apart<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let ours = subject.promised("apart").await?;
    let head = subject.head().await?;
    let other = &subject.clusters.other;
    let before = subject.ledger.snapshot(other).await?;
    same("the other's head", &before.generation.0, &0)?;
    same("the number of the other's claims", &before.claims.len(), &0)?;
    same("our claim over there", &subject.ledger.claim(other, &ours.name).await?, &None)?;
    // The same commit id and the same claim name are others over there.
    let theirs = NodeClaim { message: Some("theirs".into()), ..ours.clone() };
    let commit = build::commit("promise-apart", before.generation, vec![theirs.clone()]);
    let outcome = subject.ledger.commit(other, &commit).await?;
    same("their commit", &outcome, &CommitOutcome::Committed(before.generation.next()))?;
    let after = subject.ledger.snapshot(other).await?;
    same("their claim", &after.claims.get(&theirs.name), &Some(&theirs))?;
    subject.unchanged(head, &ours).await
}
