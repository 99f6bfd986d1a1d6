//! The ledger's contract.

mod claims;
mod commits;
mod counters;
mod heads;
mod measured;
mod pulses;
mod refusals;
mod registrations;
mod validations;

use std::fmt::Debug;

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, ClusterName, InstanceId, NodeClaim, OfferingKey,
    claim::LaunchedInstance,
    ledger::{Commit, CommitOutcome, Counters, Head},
};
use ports::Ledger;

use super::{Case, Failure, same};
use crate::build;

/// Clusters of a region that the table does not know yet: the suite leaves claims behind, and
/// offerings that are unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clusters {
    /// Where most cases happen.
    pub one: ClusterName,
    /// Another in the same table.
    pub other: ClusterName,
    /// Instance ids must be new to the table as well: hexadecimal digits that theirs start with.
    pub instance_prefix: String,
}

/// A ledger under test.
struct Subject<'a, L, W> {
    ledger: &'a L,
    clusters: &'a Clusters,
    wait: &'a W,
}

/// Runs every case on `ledger`. `wait` passes some time, real or virtual, in which an index catches
/// up.
pub async fn ledger<L: Ledger, W: AsyncFn()>(
    ledger: &L,
    clusters: &Clusters,
    wait: &W,
) -> Vec<Case> {
    let subject = &Subject { ledger, clusters, wait };
    let mut cases = heads::cases(subject).await;
    cases.extend(commits::cases(subject).await);
    cases.extend(counters::cases(subject).await);
    cases.extend(claims::cases(subject).await);
    cases.extend(pulses::cases(subject).await);
    cases.extend(refusals::cases(subject).await);
    cases.extend(registrations::cases(subject).await);
    cases.extend(validations::cases(subject).await);
    cases.extend(measured::cases(subject).await);
    cases
}

impl<L: Ledger, W: AsyncFn()> Subject<'_, L, W> {
    fn one(&self) -> &ClusterName {
        &self.clusters.one
    }

    async fn head(&self) -> Result<Head, Failure> {
        Ok(self.ledger.head(self.one()).await?)
    }

    async fn commit(&self, commit: &Commit) -> Result<CommitOutcome, Failure> {
        Ok(self.ledger.commit(self.one(), commit).await?)
    }

    /// Creates a claim called `name`.
    async fn created(&self, name: &str) -> Result<NodeClaim, Failure> {
        let claim = build::claim(name);
        let head = self.head().await?;
        let commit = build::commit(&format!("create-{name}"), &head, vec![claim.clone()]);
        same("creating", &self.commit(&commit).await?, &arrived(head.counters))?;
        Ok(claim)
    }

    /// The claim called like `claim`, as it stands in the ledger.
    async fn stored(&self, claim: &NodeClaim) -> Result<Option<NodeClaim>, Failure> {
        Ok(self.ledger.snapshot(self.one()).await?.claims.remove(&claim.name))
    }

    /// That the counters and the claim are still these.
    async fn unchanged(&self, counters: Counters, claim: &NodeClaim) -> Result<(), Failure> {
        let snapshot = self.ledger.snapshot(self.one()).await?;
        same("the counters", &snapshot.head.counters, &counters)?;
        same("the claim", &snapshot.claims.get(&claim.name), &Some(claim))
    }

    /// That there is no claim called like `claim`.
    async fn absent(&self, claim: &NodeClaim) -> Result<(), Failure> {
        same("the claim", &self.stored(claim).await?, &None)
    }

    fn instance(&self, number: u32) -> InstanceId {
        build::id(&format!("i-{}{number:02}", self.clusters.instance_prefix))
    }
}

/// What a commit on `counters` answers that created claims and deleted none.
fn arrived(counters: Counters) -> CommitOutcome {
    CommitOutcome::Committed(next(counters))
}

/// The counters with one arrival more.
fn next(counters: Counters) -> Counters {
    Counters { arrivals: counters.arrivals + 1, ..counters }
}

/// `claim` launched as `instance`, one version on.
fn launched(claim: &NodeClaim, instance: InstanceId) -> NodeClaim {
    let launched_at = claim.created_at;
    let instance = LaunchedInstance {
        id: instance,
        instance_type: build::id("m7g.large"),
        zone: build::id("us-west-2a"),
        capacity_type: model::CapacityType::OnDemand,
        price: build::price("0.0816"),
        image: Some(build::id("ami-0123456789abcdef0")),
        launched_at,
    };
    NodeClaim { instance: Some(instance), ..claim.moved_to(ClaimPhase::Launched, launched_at) }
}

fn offering(instance_type: &str) -> OfferingKey {
    OfferingKey {
        capacity_type: model::CapacityType::Spot,
        instance_type: build::id(instance_type),
        zone: build::id("us-west-2a"),
    }
}

/// A number of minutes after a time that is far in the future: what is unavailable until then is still stored
/// whenever the suite runs.
pub(super) fn later(minutes: i64) -> Timestamp {
    build::at("2099-01-01T00:00:00Z")
        .saturating_add(SignedDuration::from_mins(minutes))
        .unwrap_or_default()
}

fn one_of_each<T: Debug + PartialEq>(
    outcomes: &[T],
    winner: impl Fn(&T) -> bool,
    loser: &T,
) -> Result<(), Failure> {
    let winners = outcomes.iter().filter(|outcome| winner(outcome)).count();
    let losers = outcomes.iter().filter(|outcome| *outcome == loser).count();
    if winners == 1 && losers + 1 == outcomes.len() {
        return Ok(());
    }
    Err(Failure(format!("exactly one should win, they are {outcomes:?}")))
}
