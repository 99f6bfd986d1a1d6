//! Single claims: written under their version, found by instance, removed.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::{
    DeletionReason, NodeClaim,
    claim::{Deletion, Retry},
    ledger::{Shortage, Snapshot, WriteOutcome},
};
use ports::{Fault, Ledger};

use super::{Subject, arrived, later, launched, next, offering};
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
        Case::of("claims of a batch are withdrawn together", batch_withdrawn(subject).await),
        Case::of("one of a batch moves on, and the others stay", one_of_batch(subject).await),
        Case::of("a claim is withdrawn again without effect", withdrawn_twice(subject).await),
        Case::of("a claim under another version is not withdrawn", withdrawn_stale(subject).await),
        Case::of(
            "a claim that left its batch is written and removed by itself",
            alone(subject).await,
        ),
        Case::of("claims are found by their instances", by_instances(subject).await),
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

async fn withdraw<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    claim: &NodeClaim,
) -> Result<WriteOutcome, Failure> {
    Ok(subject.ledger.withdraw_claims(subject.one(), std::slice::from_ref(claim)).await?)
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
        instance_types: [build::id("m7g.large"), build::id("c7g.large")].into(),
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
    let commit = build::commit("full", &head, vec![claim.clone()]);
    same("the answer", &subject.commit(&commit).await?, &arrived(head.counters))?;
    let counters = next(head.counters);
    let mut next = launched(&claim, subject.instance(1));
    next.node = Some(build::id("ip-10-0-0-1.us-west-2.compute.internal"));
    next.empty_since = Some(later(1));
    next.retry = Some(Retry { failures: 3, not_before: later(1) });
    let deletion = Deletion {
        reason: DeletionReason::SpotInterrupted,
        at: later(2),
        deadline: Some(later(3)),
    };
    let last = NodeClaim {
        deletion: Some(deletion),
        retry: None,
        ..next.moved_to(model::ClaimPhase::Deleting, later(2))
    };
    for claim in [claim, next, last] {
        if 1 < claim.version {
            same("writing", &write(subject, &claim).await?, &WriteOutcome::Written)?;
        }
        subject.unchanged(counters, &claim).await?;
    }
    Ok(())
}

async fn written_twice<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let claim = subject.created("written-twice").await?;
    let counters = subject.head().await?.counters;
    let next = NodeClaim { version: 2, message: Some("next".into()), ..claim };
    same("the first write", &write(subject, &next).await?, &WriteOutcome::Written)?;
    same("the second write", &write(subject, &next).await?, &WriteOutcome::Written)?;
    // A claim's own write does not move the head.
    subject.unchanged(counters, &next).await
}

async fn wrong_version<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let claim = subject.created("wrong-version").await?;
    let counters = subject.head().await?.counters;
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
        subject.unchanged(counters, &next).await?;
    }
    same("a write under the next one", &write(subject, &other(3)).await?, &WriteOutcome::Written)?;
    subject.unchanged(counters, &other(3)).await
}

async fn written_lost<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    for version in [1, 2] {
        let lost = NodeClaim { version, ..build::claim("written-lost") };
        same("the write", &write(subject, &lost).await?, &WriteOutcome::Conflict)?;
        subject.absent(&lost).await?;
    }
    Ok(())
}

/// Creates a batch called `name` of `size` claims.
async fn batch<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    name: &str,
    claims: usize,
) -> Result<Vec<NodeClaim>, Failure> {
    let head = subject.head().await?;
    let claims = build::batch(name, claims);
    let commit = build::commit(name, &head, claims.clone());
    same("creating", &subject.commit(&commit).await?, &arrived(head.counters))?;
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
        same("the head", &snapshot.head, &head)?;
        for claim in &asked {
            same("one of them", &snapshot.claims.get(&claim.name), &Some(claim))?;
        }
    }
    let outcome = subject.ledger.write_claims(subject.one(), &claims).await?;
    same("writing under an old version", &outcome, &WriteOutcome::Conflict)?;
    let outcome = subject.ledger.write_claims(subject.one(), &[]).await?;
    same("writing nothing", &outcome, &WriteOutcome::Written)
}

/// Some were not written to, one was asked for, and one was moved on meanwhile.
async fn batch_withdrawn<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let mut claims = batch(subject, "batch-withdrawn", 120).await?;
    let last = claims.len() - 1;
    for claim in claims.iter_mut().take(1) {
        *claim = asked_for(claim);
        same("the write", &write(subject, claim).await?, &WriteOutcome::Written)?;
    }
    let (removed, kept) = claims.split_at(last);
    for _ in 0..2 {
        let outcome = subject.ledger.withdraw_claims(subject.one(), removed).await?;
        same("removing", &outcome, &WriteOutcome::Written)?;
        let snapshot = subject.ledger.snapshot(subject.one()).await?;
        let left = removed.iter().find(|claim| snapshot.claims.contains_key(&claim.name));
        same("what is left of them", &left, &None)?;
    }
    for claim in kept {
        same("one that stays", &subject.stored(claim).await?.as_ref(), &Some(claim))?;
        let next = asked_for(claim);
        same("the write", &write(subject, &next).await?, &WriteOutcome::Written)?;
        let outcome = subject.ledger.withdraw_claims(subject.one(), kept).await?;
        same("removing under an old version", &outcome, &WriteOutcome::Conflict)?;
        same("what moved on", &subject.stored(&next).await?.as_ref(), &Some(&next))?;
    }
    Ok(())
}

async fn one_of_batch<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let claims = batch(subject, "one-of-batch", 3).await?;
    let [first, second, third] = claims.as_slice() else {
        return Err(Failure("three claims were asked for".to_owned()));
    };
    let next = asked_for(second);
    same("writing one", &write(subject, &next).await?, &WriteOutcome::Written)?;
    let outcome = withdraw(subject, first).await?;
    same("removing another", &outcome, &WriteOutcome::Written)?;
    subject.absent(first).await?;
    let counters = subject.head().await?.counters;
    subject.unchanged(counters, &next).await?;
    subject.unchanged(counters, third).await?;
    let launched_claims: Vec<NodeClaim> = claims.iter().map(asked_for).collect();
    let outcome = subject.ledger.write_claims(subject.one(), &launched_claims).await?;
    same("writing one that is gone", &outcome, &WriteOutcome::Conflict)?;
    subject.absent(first).await?;
    subject.unchanged(counters, &asked_for(third)).await
}

async fn withdrawn_twice<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let claim = subject.created("withdrawn-twice").await?;
    for _ in 0..2 {
        let outcome = withdraw(subject, &claim).await?;
        same("removing", &outcome, &WriteOutcome::Written)?;
        subject.absent(&claim).await?;
    }
    let next = NodeClaim { version: 2, ..claim };
    same("a write after it", &write(subject, &next).await?, &WriteOutcome::Conflict)?;
    subject.absent(&next).await
}

async fn withdrawn_stale<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let claim = subject.created("withdrawn-stale").await?;
    let next = NodeClaim { version: 2, ..claim.clone() };
    same("the write", &write(subject, &next).await?, &WriteOutcome::Written)?;
    let outcome = withdraw(subject, &claim).await?;
    same("removing under an old version", &outcome, &WriteOutcome::Conflict)?;
    same("the claim", &subject.stored(&next).await?.as_ref(), &Some(&next))
}

async fn alone<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let created = subject.created("alone").await?;
    let counters = subject.head().await?.counters;
    let asked = asked_for(&created);
    let (ledger, cluster_name) = (subject.ledger, subject.one());
    same("a write", &ledger.write_claim(cluster_name, &asked).await?, &WriteOutcome::Conflict)?;
    let refused = ledger.remove_claim(cluster_name, &created).await.map_err(|error| error.fault);
    same("a removal", &refused, &Err(Fault::Permanent))?;
    subject.unchanged(counters, &created).await?;
    same("leaving the batch", &write(subject, &asked).await?, &WriteOutcome::Written)?;
    let next = NodeClaim { version: 3, message: Some("next".into()), ..asked.clone() };
    for _ in 0..2 {
        same("the write", &ledger.write_claim(cluster_name, &next).await?, &WriteOutcome::Written)?;
        subject.unchanged(counters, &next).await?;
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

async fn by_instances<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let (ours, theirs, unknown) = (subject.instance(2), subject.instance(3), subject.instance(99));
    let instances = [ours.clone(), theirs.clone(), unknown.clone(), ours.clone()];
    let (cluster, other) = (subject.one(), &subject.clusters.other);
    let claims_of =
        async |instances: &[_]| subject.ledger.claims_of_instances(cluster, instances).await;
    same("claims of an unknown instance", &claims_of(&instances).await?, &Vec::new())?;
    same("no instances", &claims_of(&[]).await?, &Vec::new())?;
    let claim = launched(&subject.created("by-instances").await?, ours.clone());
    same("the write", &write(subject, &claim).await?, &WriteOutcome::Written)?;
    // A claim of the same name in another cluster is another one.
    let head = subject.ledger.head(other).await?;
    let created = build::claim("by-instances");
    let commit = build::commit("create-by-instances", &head, vec![created.clone()]);
    same("creating", &subject.ledger.commit(other, &commit).await?, &arrived(head.counters))?;
    let their_claim = launched(&created, theirs.clone());
    let written = subject.ledger.write_claims(other, std::slice::from_ref(&their_claim)).await?;
    same("their write", &written, &WriteOutcome::Written)?;
    eventually(subject, cluster, &instances, std::slice::from_ref(&claim)).await?;
    eventually(subject, other, &instances, std::slice::from_ref(&their_claim)).await?;
    eventually(subject, cluster, &[unknown, theirs], &[]).await?;
    // The index says where, the claim itself what.
    let next = NodeClaim { message: Some("next".into()), ..claim.following() };
    same("the next write", &write(subject, &next).await?, &WriteOutcome::Written)?;
    eventually(subject, cluster, std::slice::from_ref(&ours), std::slice::from_ref(&next)).await?;
    same("removing", &withdraw(subject, &next).await?, &WriteOutcome::Written)?;
    eventually(subject, cluster, &instances, &[]).await?;
    eventually(subject, other, &instances, &[their_claim]).await
}

async fn eventually<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    cluster: &model::ClusterName,
    instances: &[model::InstanceId],
    wanted: &[NodeClaim],
) -> Result<(), Failure> {
    let mut last = Vec::new();
    for _ in 0..ATTEMPTS_MAX {
        last = subject.ledger.claims_of_instances(cluster, instances).await?;
        if last == wanted {
            return Ok(());
        }
        (subject.wait)().await;
    }
    same("in the end their claims", &last.as_slice(), &wanted)
}

async fn is_unavailable<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
) -> Result<(), Failure> {
    let (one, other) = (offering("m7g.large"), offering("m7g.xlarge"));
    let (class, group) = (build::id("default"), build::id::<model::PlacementGroupId>("pg-0a"));
    let of_one = [
        Shortage::Unsupported { class, offering: one.clone() },
        Shortage::Quota { node_pool: build::id("default"), word: "VCPULimitExceeded".to_owned() },
    ];
    let everywhere = [
        Shortage::Group { group: group.clone(), offering: one.clone() },
        Shortage::Addresses { subnet: build::id("subnet-0a") },
        Shortage::Spread { group, zone: one.zone.clone() },
        Shortage::Spot,
    ];
    for (given, stands) in [(5, 5), (9, 9), (7, 9), (9, 9)] {
        let offerings = [(one.clone(), later(given)), (other.clone(), later(1))];
        let short = everywhere.iter().chain(&of_one).cloned();
        let short: Vec<_> = short.map(|shortage| (shortage, later(given))).collect();
        subject.ledger.mark_unavailable(subject.one(), &offerings, &short).await?;
        for cluster in [subject.one(), &subject.clusters.other] {
            let Snapshot { unavailable_offerings, shortages, .. } =
                subject.ledger.snapshot(cluster).await?;
            same("what cools down", &unavailable_offerings.get(&one), &Some(&later(stands)))?;
            same("the other", &unavailable_offerings.get(&other), &Some(&later(1)))?;
            for shortage in &everywhere {
                same("what is short", &shortages.get(shortage), &Some(&later(stands)))?;
            }
            let stands = (cluster == subject.one()).then(|| later(stands));
            for shortage in &of_one {
                same("what one is short of", &shortages.get(shortage).copied(), &stands)?;
            }
        }
    }
    Ok(subject.ledger.mark_unavailable(subject.one(), &[], &[]).await?)
}

async fn apart<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let ours = subject.created("apart").await?;
    let counters = subject.head().await?.counters;
    let other = &subject.clusters.other;
    let before = subject.ledger.snapshot(other).await?;
    same("our claim over there", &before.claims.get(&ours.name), &None)?;
    // The same commit id and the same claim name are others over there.
    let theirs = NodeClaim { message: Some("theirs".into()), ..ours.clone() };
    let commit = build::commit("create-apart", &before.head, vec![theirs.clone()]);
    let outcome = subject.ledger.commit(other, &commit).await?;
    same("their commit", &outcome, &arrived(before.head.counters))?;
    let after = subject.ledger.snapshot(other).await?;
    same("their claim", &after.claims.get(&theirs.name), &Some(&theirs))?;
    subject.unchanged(counters, &ours).await
}
