//! Commits: all or nothing, once, on the counters that were observed.

use std::collections::BTreeMap;

use model::{
    CommandId, NodeClaim,
    disruption::{Command, Method, Progress},
    ledger::{Commit, CommitOutcome, Counters, Decision, Head, WriteOutcome},
    limits::{CLAIMS_PER_BATCH_MAX, CLAIMS_PER_COMMIT_MAX, ITEMS_PER_COMMIT_MAX},
};
use ports::Ledger;

use super::{Subject, arrived, later, launched, next, offering, one_of_each};
use crate::{
    build,
    conformance::{Case, Failure, ensure, race::race, same},
};

pub(super) async fn cases<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Vec<Case> {
    vec![
        Case::of(
            "of commits on one parent, one after another, one wins",
            one_by_one(subject).await,
        ),
        Case::of("of commits on one parent, all at once, one wins", at_once(subject).await),
        Case::of("a commit whose answer was lost is recognized", repeated(subject).await),
        Case::of("a commit on a stale parent conflicts", stale_parent(subject).await),
        Case::of("a commit on a parent to come conflicts", early_parent(subject).await),
        Case::of("a change under a stale version undoes its commit", stale_change(subject).await),
        Case::of("a change of a claim that is not there conflicts", lost_change(subject).await),
        Case::of("a new claim with a name that exists conflicts", name_taken(subject).await),
        Case::of("a commit of as many items as fit is made", largest(subject).await),
        Case::of("a commit of more items is too large", too_large(subject).await),
        Case::of("a commit creates, changes, cools and explains at once", mixed(subject).await),
        Case::of("commands wait from one commit to another", commands(subject).await),
        Case::of("claims are adopted once, and count as arrivals", adopted(subject).await),
    ]
}

/// Eight commits on the present head, each with a claim of its own.
async fn rivals<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    name: &str,
) -> Result<Vec<Commit>, Failure> {
    let head = subject.head().await?;
    let rival = |index: u32| {
        let name = format!("{name}-{index}");
        build::commit(&name, &head, vec![build::claim(&name)])
    };
    Ok((0..8).map(rival).collect())
}

/// One of `rivals` won, and only its claim is there.
async fn one_won<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    rivals: &[Commit],
    outcomes: &[CommitOutcome],
) -> Result<(), Failure> {
    let won = |outcome: &CommitOutcome| matches!(outcome, CommitOutcome::Committed(_));
    one_of_each(outcomes, won, &CommitOutcome::Conflict)?;
    let snapshot = subject.ledger.snapshot(subject.one()).await?;
    for (rival, outcome) in rivals.iter().zip(outcomes) {
        for claim in &rival.created {
            let there = snapshot.claims.contains_key(&claim.name);
            same("whether a rival's claim is there", &there, &won(outcome))?;
        }
        if won(outcome) {
            same("the head", outcome, &CommitOutcome::Committed(snapshot.head.counters))?;
            same("the next counters", &snapshot.head.counters, &next(rival.parent))?;
        }
    }
    Ok(())
}

async fn one_by_one<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let rivals = rivals(subject, "queue").await?;
    let mut outcomes = Vec::new();
    for rival in &rivals {
        outcomes.push(subject.commit(rival).await?);
    }
    one_won(subject, &rivals, &outcomes).await
}

async fn at_once<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let rivals = rivals(subject, "race").await?;
    let commits = rivals.iter().map(|rival| -> std::pin::Pin<Box<dyn Future<Output = _>>> {
        Box::pin(subject.commit(rival))
    });
    let outcomes: Vec<CommitOutcome> =
        race(commits.collect()).await.into_iter().collect::<Result<_, _>>()?;
    one_won(subject, &rivals, &outcomes).await
}

async fn repeated<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let head = subject.head().await?;
    let claim = build::claim("repeated");
    let commit = build::commit("repeated", &head, vec![claim.clone()]);
    let committed = arrived(head.counters);
    same("the first answer", &subject.commit(&commit).await?, &committed)?;
    same("the second answer", &subject.commit(&commit).await?, &committed)?;
    subject.unchanged(next(head.counters), &claim).await
}

async fn stale_parent<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let stale = subject.head().await?;
    let first = subject.created("before-stale").await?;
    let late = build::claim("stale-parent");
    let commit = build::commit("stale-parent", &stale, vec![late.clone()]);
    same("the answer", &subject.commit(&commit).await?, &CommitOutcome::Conflict)?;
    subject.absent(&late).await?;
    subject.unchanged(next(stale.counters), &first).await
}

async fn early_parent<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let head = subject.head().await?;
    let early = build::claim("early-parent");
    let ahead = Head { counters: next(head.counters), ..head.clone() };
    let commit = build::commit("early-parent", &ahead, vec![early.clone()]);
    same("the answer", &subject.commit(&commit).await?, &CommitOutcome::Conflict)?;
    same("the head", &subject.head().await?, &head)?;
    subject.absent(&early).await
}

/// `commit` conflicts, and neither the head nor `stored` nor a claim called `beside` shows it.
async fn refused<L: Ledger, W: AsyncFn()>(
    subject: &Subject<'_, L, W>,
    commit: Commit,
    stored: &NodeClaim,
) -> Result<(), Failure> {
    let beside = build::claim(&format!("beside-{}", commit.id));
    let unavailable = offering("m7g.metal");
    let commit = Commit {
        created: [vec![beside.clone()], commit.created].concat(),
        unavailable_offerings: BTreeMap::from([(unavailable.clone(), later(0))]),
        ..commit
    };
    same("the answer", &subject.commit(&commit).await?, &CommitOutcome::Conflict)?;
    subject.absent(&beside).await?;
    let snapshot = subject.ledger.snapshot(subject.one()).await?;
    same("what cools down", &snapshot.unavailable_offerings.get(&unavailable), &None)?;
    subject.unchanged(commit.parent, stored).await
}

async fn stale_change<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let stored = subject.created("stale-change").await?;
    for (id, version) in [("version-same", 1), ("version-skipped", 3)] {
        let changed = NodeClaim { version, empty_since: Some(later(0)), ..stored.clone() };
        let commit = build::commit(id, &subject.head().await?, Vec::new());
        refused(subject, Commit { changed: vec![changed], ..commit }, &stored).await?;
    }
    Ok(())
}

async fn lost_change<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let stored = subject.created("beside-lost").await?;
    let lost = NodeClaim { version: 2, ..build::claim("lost-change") };
    let commit = build::commit("lost-change", &subject.head().await?, Vec::new());
    refused(subject, Commit { changed: vec![lost.clone()], ..commit }, &stored).await?;
    subject.absent(&lost).await
}

async fn name_taken<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let stored = subject.created("name-taken").await?;
    let namesake = NodeClaim { message: Some("another".into()), ..stored.clone() };
    let commit = build::commit("name-taken", &subject.head().await?, vec![namesake]);
    refused(subject, commit, &stored).await
}

fn decision(number: usize) -> Decision {
    build::decision(&format!("decision {number}"), later(0))
}

async fn largest<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let head = subject.head().await?;
    let per_batch = CLAIMS_PER_BATCH_MAX;
    let batches = (0..CLAIMS_PER_COMMIT_MAX / per_batch)
        .flat_map(|batch| build::batch(&format!("largest-{batch}"), per_batch));
    let mut commit = build::commit("largest", &head, batches.collect());
    commit.decisions = (commit.items()..ITEMS_PER_COMMIT_MAX).map(decision).collect();
    same("its items", &commit.items(), &ITEMS_PER_COMMIT_MAX)?;
    same("the answer", &subject.commit(&commit).await?, &arrived(head.counters))?;
    let snapshot = subject.ledger.snapshot(subject.one()).await?;
    for claim in &commit.created {
        same("a claim", &snapshot.claims.get(&claim.name), &Some(claim))?;
    }
    Ok(())
}

async fn too_large<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let head = subject.head().await?;
    let claims = (0..ITEMS_PER_COMMIT_MAX).map(|index| build::claim(&format!("too-large-{index}")));
    let commit = build::commit("too-large", &head, claims.collect());
    let (items, items_max) = (ITEMS_PER_COMMIT_MAX + 1, ITEMS_PER_COMMIT_MAX);
    let refused = CommitOutcome::TooLarge { items, items_max };
    same("the answer", &subject.commit(&commit).await?, &refused)?;
    let snapshot = subject.ledger.snapshot(subject.one()).await?;
    same("the head", &snapshot.head, &head)?;
    let there = commit.created.iter().any(|claim| snapshot.claims.contains_key(&claim.name));
    ensure(!there, || "a claim of it is there".to_owned())
}

async fn mixed<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let stored = subject.created("mixed-changed").await?;
    let stored = NodeClaim { version: 2, ..stored };
    let stored_alone = std::slice::from_ref(&stored);
    let written = subject.ledger.write_claims(subject.one(), stored_alone).await?;
    same("the write before", &written, &WriteOutcome::Written)?;
    let (warm, hot) = (offering("c7g.large"), offering("r7g.large"));
    let marked = [(hot.clone(), later(9))];
    subject.ledger.mark_unavailable(subject.one(), &marked, &[]).await?;
    let head = subject.head().await?;
    let changed = NodeClaim { version: 3, empty_since: Some(later(0)), ..stored };
    let created = build::claim("mixed-created");
    let commit = Commit {
        changed: vec![changed.clone()],
        unavailable_offerings: BTreeMap::from([(warm.clone(), later(5)), (hot.clone(), later(5))]),
        decisions: vec![decision(0), decision(1)],
        ..build::commit("mixed", &head, vec![created.clone()])
    };
    let committed = arrived(head.counters);
    same("the answer", &subject.commit(&commit).await?, &committed)?;
    same("the answer to a repetition", &subject.commit(&commit).await?, &committed)?;
    subject.unchanged(next(head.counters), &changed).await?;
    subject.unchanged(next(head.counters), &created).await?;
    for cluster in [subject.one(), &subject.clusters.other] {
        let snapshot = subject.ledger.snapshot(cluster).await?;
        same("what cools down", &snapshot.unavailable_offerings.get(&warm), &Some(&later(5)))?;
        same(
            "what cools down longer",
            &snapshot.unavailable_offerings.get(&hot),
            &Some(&later(9)),
        )?;
    }
    Ok(())
}

async fn commands<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let command = |method| Command {
        method,
        found_at: later(0),
        candidates: vec![build::id("general-0"), build::id("general-1")],
        replacements: Vec::new(),
        drain: None,
        progress: Progress::Found,
    };
    let (first, second) = (command(Method::Emptiness), command(Method::Drift));
    let ids = [&first, &second].map(CommandId::derived);
    let head = subject.head().await?;
    let started = Commit {
        started: ids.iter().cloned().zip([first, second.clone()]).collect(),
        ..build::commit("commands-started", &head, Vec::new())
    };
    let committed = CommitOutcome::Committed(head.counters);
    for _ in 0..2 {
        same("starting them", &subject.commit(&started).await?, &committed)?;
        let commands = subject.ledger.snapshot(subject.one()).await?.commands;
        same("what waits", &commands, &started.started)?;
    }
    let elsewhere = subject.ledger.snapshot(&subject.clusters.other).await?.commands;
    same("what waits elsewhere", &elsewhere.len(), &0)?;
    let [first, last] = ids;
    // A function that looks after the candidates learns that it moved on.
    let progress = Progress::RolledBack { why: "a replacement is gone".to_owned() };
    let second = Command { progress, ..second };
    let moved = Commit {
        started: [(last.clone(), second.clone())].into(),
        ..build::commit("commands-moved", &head, Vec::new())
    };
    let departed = Counters { departures: head.counters.departures + 1, ..head.counters };
    let moved = subject.commit(&moved).await?;
    same("moving it on", &moved, &CommitOutcome::Committed(departed))?;
    let head = subject.head().await?;
    let committed = CommitOutcome::Committed(head.counters);
    let ended = Commit {
        ended: [first, build::id("never-started")].into(),
        ..build::commit("commands-ended", &head, Vec::new())
    };
    for _ in 0..2 {
        same("ending one", &subject.commit(&ended).await?, &committed)?;
        let commands = subject.ledger.snapshot(subject.one()).await?.commands;
        same("what waits still", &commands, &[(last.clone(), second.clone())].into())?;
    }
    let none = Commit { ended: [last].into(), ..build::commit("commands-none", &head, Vec::new()) };
    same("ending the other", &subject.commit(&none).await?, &committed)
}

async fn adopted<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let claim = launched(&build::claim("adopted"), subject.instance(40));
    let head = subject.head().await?;
    let adopted = vec![claim.clone()];
    let commit = Commit { adopted: adopted.clone(), ..build::commit("adopt", &head, Vec::new()) };
    for _ in 0..2 {
        same("adopting", &subject.commit(&commit).await?, &arrived(head.counters))?;
        subject.unchanged(next(head.counters), &claim).await?;
    }
    let head = subject.head().await?;
    let again = Commit { adopted, ..build::commit("adopt-again", &head, Vec::new()) };
    same("adopting it again", &subject.commit(&again).await?, &CommitOutcome::Conflict)?;
    // It is a claim like any other that left its batch.
    let moved = claim.following();
    let written = subject.ledger.write_claim(subject.one(), &moved).await?;
    same("its next write", &written, &WriteOutcome::Written)?;
    subject.unchanged(head.counters, &moved).await
}
