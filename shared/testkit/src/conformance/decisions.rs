//! The contract of decisions: kept by the ledger, read back for people.

use model::{
    NodeClaim,
    ledger::{Commit, Decision, DecisionQuery},
    recorded::RecordedFacts,
};
use ports::{Decisions, Ledger};

use super::{Case, Clusters, Failure, ledger::later, same};
use crate::build;

/// Runs every case on `ledger`, whose table does not know the clusters yet.
pub async fn decisions<L: Ledger + Decisions>(ledger: &L, clusters: &Clusters) -> Vec<Case> {
    let subject = &Subject { ledger, clusters };
    vec![
        Case::of("decisions come newest first, page by page", in_pages(subject).await),
        Case::of("a decision that is kept again is the same one", again(subject).await),
        Case::of(
            "the decisions of a commit are kept with it, and only with it",
            of_commit(subject).await,
        ),
        Case::of("decisions of another cluster are not read", apart(subject).await),
        Case::of("facts are read as they were kept last", facts(subject).await),
    ]
}

struct Subject<'a, L> {
    ledger: &'a L,
    clusters: &'a Clusters,
}

const ALL: DecisionQuery = DecisionQuery { before: None, since: None, limit: 1_000 };

impl<L: Ledger + Decisions> Subject<'_, L> {
    async fn put(&self, decisions: &[Decision]) -> Result<(), Failure> {
        Ok(self.ledger.put_decisions(&self.clusters.one, decisions).await?)
    }

    /// Those whose summary starts with `prefix`.
    async fn read(&self, prefix: &str) -> Result<Vec<Decision>, Failure> {
        let page = self.ledger.decisions(&self.clusters.one, &ALL).await?;
        same("a cursor behind the last", &page.next, &None)?;
        same("what cannot be read", &page.unreadable.len(), &0)?;
        let its = page.decisions.into_iter();
        Ok(its.filter(|decision| decision.summary.starts_with(prefix)).collect())
    }
}

async fn in_pages<L: Ledger + Decisions>(subject: &Subject<'_, L>) -> Result<(), Failure> {
    let of = |minute: i64| build::decision(&format!("paged {minute}"), later(100 + minute));
    let stored: Vec<Decision> = [3, 1, 5, 2, 4].map(of).into();
    subject.put(&stored).await?;
    let newest: Vec<Decision> = [5, 4, 3, 2, 1].map(of).into();
    same("all of them", &subject.read("paged").await?, &newest)?;
    let mut query = DecisionQuery { since: Some(later(102)), limit: 3, ..ALL };
    let page = subject.ledger.decisions(&subject.clusters.one, &query).await?;
    same("the first page", &page.decisions.as_slice(), &newest.get(..3).unwrap_or_default())?;
    query.before = page.next;
    same("its cursor", &query.before, &Some(of(3).id()))?;
    let page = subject.ledger.decisions(&subject.clusters.one, &query).await?;
    same("the second page", &page.decisions, &vec![of(2)])?;
    same("its end", &page.next, &None)
}

async fn again<L: Ledger + Decisions>(subject: &Subject<'_, L>) -> Result<(), Failure> {
    let once = build::decision("again", later(200));
    let twice = Decision { count: 2, last_at: later(210), ..once.clone() };
    for decision in [&once, &once, &twice] {
        subject.put(std::slice::from_ref(decision)).await?;
        same("it", &subject.read("again").await?, &vec![decision.clone()])?;
    }
    // A read of the claims does not take it for one.
    let claims = subject.ledger.snapshot(&subject.clusters.one).await?.claims;
    same("claims", &claims.len(), &0)
}

async fn of_commit<L: Ledger + Decisions>(subject: &Subject<'_, L>) -> Result<(), Failure> {
    let head = subject.ledger.head(&subject.clusters.one).await?;
    let decision = build::decision("committed", later(300));
    let commit = Commit {
        decisions: vec![decision.clone()],
        ..build::commit("with-decision", &head, vec![build::claim("with-decision")])
    };
    for _ in 0..2 {
        subject.ledger.commit(&subject.clusters.one, &commit).await?;
        same("it", &subject.read("committed").await?, &vec![decision.clone()])?;
    }
    let refused = Commit {
        decisions: vec![build::decision("refused", later(301))],
        changed: vec![NodeClaim { version: 7, ..build::claim("unknown") }],
        ..build::commit("refused-with-decision", &head, Vec::new())
    };
    subject.ledger.commit(&subject.clusters.one, &refused).await?;
    same("that of a commit that was refused", &subject.read("refused").await?, &Vec::new())
}

async fn apart<L: Ledger + Decisions>(subject: &Subject<'_, L>) -> Result<(), Failure> {
    let page = subject.ledger.decisions(&subject.clusters.other, &ALL).await?;
    same("theirs", &page.decisions.len(), &0)
}

async fn facts<L: Ledger + Decisions>(subject: &Subject<'_, L>) -> Result<(), Failure> {
    let Subject { ledger, clusters } = *subject;
    let before = ledger.snapshot(&clusters.one).await?;
    same("facts that were not kept", &ledger.facts(&clusters.one, 7).await?, &None)?;
    let [first, second] = ["first", "second"].map(|pod| build::recorded_facts(pod, later(400)));
    // Too many pods for one item, however well they are packed.
    let mut large = second.clone();
    large.facts.pods = (0..30_000).map(build::pod_with_uid).collect();
    for recorded in [&first, &first, &second, &large] {
        let RecordedFacts { question, facts, plan } = recorded;
        ledger.put_facts(&clusters.one, 7, question, facts, plan).await?;
        same("they", &ledger.facts(&clusters.one, 7).await?, &Some(recorded.clone()))?;
    }
    same("those of another number", &ledger.facts(&clusters.one, 8).await?, &None)?;
    same("those of another cluster", &ledger.facts(&clusters.other, 7).await?, &None)?;
    // A read of the ledger does not take them for anything of it.
    same("the ledger", &ledger.snapshot(&clusters.one).await?, &before)
}
