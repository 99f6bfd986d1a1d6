//! The ledger's table in memory, with the answers that `model::ledger` and `ports::Ledger` promise.
//!
//! The index by instance lags behind writes, as a global secondary index of DynamoDB does.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use jiff::Timestamp;
use model::{
    BatchId, Bytes, ClaimPhase, ClusterName, CommitId, Function, InstanceId, NodeClaim,
    NodeClaimName, NodeClassName, OfferingKey,
    ledger::{Commit, CommitOutcome, Generation, MeasuredKey, Snapshot, WriteOutcome, batch_items},
    limits::ITEMS_PER_COMMIT_MAX,
    validation::Validation,
};

use crate::{later, timeline::Happening, world::World};

/// What was stored about an instance's claim, and when: the newest that is old enough is visible.
type IndexVersions = Vec<(Timestamp, Option<Rc<NodeClaim>>)>;

/// One cluster's items.
#[derive(Debug, Default)]
pub(crate) struct ClusterLedger {
    pub(crate) head: Generation,
    last_commit: Option<CommitId>,
    pub(crate) claims: BTreeMap<NodeClaimName, Rc<NodeClaim>>,
    measured: BTreeMap<MeasuredKey, (Bytes, Timestamp)>,
    ticks: BTreeMap<String, (u64, Timestamp)>,
    pub(crate) validations: BTreeMap<NodeClassName, Validation>,
    batches: BTreeMap<BatchId, BTreeSet<NodeClaimName>>,
    instances: BTreeMap<InstanceId, IndexVersions>,
}

/// Every cluster's items.
#[derive(Debug, Default)]
pub(crate) struct LedgerState {
    pub(crate) clusters: BTreeMap<ClusterName, ClusterLedger>,
    /// Of the region: every cluster's.
    unavailable_offerings: BTreeMap<OfferingKey, Timestamp>,
}

impl LedgerState {
    pub(crate) fn cluster(&mut self, name: &ClusterName) -> &mut ClusterLedger {
        if !self.clusters.contains_key(name) {
            self.clusters.insert(name.clone(), ClusterLedger::default());
        }
        self.clusters.entry(name.clone()).or_default()
    }

    /// Claims and cooling offerings, under a generation that was read before.
    pub(crate) fn snapshot(
        &mut self,
        cluster: &ClusterName,
        generation: Generation,
        now: Timestamp,
    ) -> Snapshot {
        let unavailable_offerings =
            self.unavailable_offerings.iter().filter(|(_, until)| now < **until);
        let unavailable_offerings =
            unavailable_offerings.map(|(offering, until)| (offering.clone(), *until)).collect();
        let cluster_ledger = self.cluster(cluster);
        let claims = cluster_ledger.claims.iter();
        let claims = claims.map(|(name, claim)| (name.clone(), NodeClaim::clone(claim))).collect();
        let measured = cluster_ledger.measured.iter().filter(|(_, (_, until))| now < *until);
        let measured = measured.map(|(key, (memory, _))| (key.clone(), *memory)).collect();
        Snapshot { generation, claims, unavailable_offerings, measured }
    }

    /// How many offerings were ever unavailable.
    pub(crate) fn unavailable_count(&self) -> usize {
        self.unavailable_offerings.len()
    }

    pub(crate) fn mark_unavailable(&mut self, offering: &OfferingKey, until: Timestamp) {
        let stored = self.unavailable_offerings.entry(offering.clone()).or_insert(until);
        *stored = until.max(*stored);
    }

    /// The claim that names `instance`, without any lag.
    pub(crate) fn claim_of(&self, instance: &InstanceId) -> Option<&Rc<NodeClaim>> {
        self.clusters.values().find_map(|ledger| ledger.claim_of(instance))
    }

    /// Whether a claim of `batch` has no instance yet.
    pub(crate) fn is_batch_open(&self, batch: &BatchId) -> bool {
        self.clusters.values().any(|ledger| {
            let names = ledger.batches.get(batch).into_iter().flatten();
            names
                .filter_map(|name| ledger.claims.get(name))
                .any(|claim| claim.instance.is_none() && claim.batch == *batch)
        })
    }

    /// How many claims the batch had when it was promised, if any of them is left.
    pub(crate) fn batch_size(&self, batch: &BatchId) -> Option<u32> {
        self.clusters.values().find_map(|ledger| {
            let name = ledger.batches.get(batch)?.first()?;
            ledger.claims.get(name).map(|claim| claim.batch_size)
        })
    }

    /// The claim of `instance` as an index shows it that knows what was written until `until`.
    pub(crate) fn indexed(
        &self,
        instance: &InstanceId,
        until: Timestamp,
    ) -> Option<(ClusterName, NodeClaim)> {
        self.clusters.iter().find_map(|(cluster, ledger)| {
            let versions = ledger.instances.get(instance)?;
            let (_, claim) = versions.iter().rev().find(|(at, _)| *at <= until)?;
            claim.as_ref().map(|claim| (cluster.clone(), NodeClaim::clone(claim)))
        })
    }
}

impl ClusterLedger {
    pub(crate) fn measure(&mut self, key: &MeasuredKey, memory: Bytes, until: Timestamp) {
        let stored = self.measured.entry(key.clone()).or_insert((memory, until));
        if memory <= stored.0 {
            *stored = (memory, until);
        }
    }

    pub(crate) fn tick(&self, chain: &str) -> Option<(u64, Timestamp)> {
        self.ticks.get(chain).copied()
    }

    pub(crate) fn advance_tick(
        &mut self,
        chain: &str,
        from: Option<u64>,
        now: Timestamp,
    ) -> WriteOutcome {
        if self.tick(chain).map(|(tick, _)| tick) != from {
            return WriteOutcome::Conflict;
        }
        let next = from.map_or(0, |tick| tick.saturating_add(1));
        self.ticks.insert(chain.to_owned(), (next, now));
        WriteOutcome::Written
    }

    fn claim_of(&self, instance: &InstanceId) -> Option<&Rc<NodeClaim>> {
        self.instances.get(instance)?.last()?.1.as_ref()
    }

    /// Whether the conditions of `commit` hold.
    fn allows(&self, commit: &Commit) -> bool {
        let is_next = |claim: &NodeClaim| {
            self.claims.get(&claim.name).is_some_and(|stored| stored.version + 1 == claim.version)
        };
        commit.parent == self.head
            && commit.promised.iter().all(|claim| !self.claims.contains_key(&claim.name))
            && commit.changed.iter().all(is_next)
    }

    fn index(&mut self, instance: &InstanceId, claim: Option<Rc<NodeClaim>>, now: Timestamp) {
        let versions = self.instances.entry(instance.clone()).or_default();
        versions.push((now, claim));
        // What was superseded long ago is of no use to any lag.
        if let Some(superseded) = versions.len().checked_sub(16) {
            versions.drain(..superseded);
        }
    }
}

impl World {
    /// Somebody deletes the table, and it is made anew: empty.
    pub(crate) fn lose_ledger(&mut self) {
        self.ledger = LedgerState::default();
    }

    pub(crate) fn commit(&mut self, cluster: &ClusterName, commit: &Commit) -> CommitOutcome {
        let (items, items_max) = (commit.items(), ITEMS_PER_COMMIT_MAX);
        if items > items_max {
            return CommitOutcome::TooLarge { items, items_max };
        }
        let ignores_conditions = self.settings.sabotage.ignore_compare_and_set;
        let ledger = self.ledger.cluster(cluster);
        if ledger.last_commit.as_ref() == Some(&commit.id) {
            return CommitOutcome::Committed(ledger.head);
        }
        if !ledger.allows(commit) && !ignores_conditions {
            return CommitOutcome::Conflict;
        }
        ledger.head = ledger.head.next();
        ledger.last_commit = Some(commit.id.clone());
        let head = ledger.head;
        for (offering, until) in &commit.unavailable_offerings {
            self.ledger.mark_unavailable(offering, *until);
        }
        for claim in &commit.promised {
            let (claim, node_pool) = (claim.name.clone(), claim.node_pool.clone());
            self.happened(Happening::ClaimPromised { claim, node_pool });
        }
        for claim in commit.promised.iter().chain(&commit.changed) {
            self.store_claim(cluster, claim);
        }
        for claim in batch_items(&commit.promised).iter().filter_map(|item| item.first()) {
            self.stream(cluster, Function::Launch, claim);
        }
        CommitOutcome::Committed(head)
    }

    pub(crate) fn write_claim(&mut self, cluster: &ClusterName, claim: &NodeClaim) -> WriteOutcome {
        let stored = self.ledger.cluster(cluster).claims.get(&claim.name);
        match stored {
            Some(stored) if **stored == *claim => WriteOutcome::Written,
            Some(stored) if stored.version + 1 == claim.version => {
                self.store_claim(cluster, claim);
                WriteOutcome::Written
            }
            _ => WriteOutcome::Conflict,
        }
    }

    pub(crate) fn remove_claim(
        &mut self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> WriteOutcome {
        let now = self.now;
        let ledger = self.ledger.cluster(cluster);
        let Some(stored) = ledger.claims.get(&claim.name) else { return WriteOutcome::Written };
        if stored.version != claim.version {
            return WriteOutcome::Conflict;
        }
        let Some(removed) = ledger.claims.remove(&claim.name) else {
            return WriteOutcome::Written;
        };
        if let Some(names) = ledger.batches.get_mut(&removed.batch) {
            names.remove(&removed.name);
        }
        if let Some(instance) = &removed.instance {
            ledger.index(&instance.id, None, now);
        }
        self.unclaim(&removed.name);
        self.happened(Happening::ClaimRemoved { claim: removed.name.clone() });
        WriteOutcome::Written
    }

    fn store_claim(&mut self, cluster: &ClusterName, claim: &NodeClaim) {
        let now = self.now;
        let ledger = self.ledger.cluster(cluster);
        let stored = Rc::new(claim.clone());
        let before = ledger.claims.insert(claim.name.clone(), Rc::clone(&stored));
        if !ledger.batches.contains_key(&claim.batch) {
            ledger.batches.insert(claim.batch.clone(), BTreeSet::new());
        }
        if let Some(names) = ledger.batches.get_mut(&claim.batch) {
            names.insert(claim.name.clone());
        }
        let mut violation = None;
        if let Some(instance) = &claim.instance {
            let other = ledger.claim_of(&instance.id).filter(|other| other.name != claim.name);
            violation = other.map(|other| {
                format!(
                    "claims {} and {} both have instance {}",
                    other.name, claim.name, instance.id
                )
            });
            ledger.index(&instance.id, Some(stored), now);
        }
        if let Some(old) = before.as_ref().and_then(|before| before.instance.as_ref())
            && claim.instance.as_ref().map(|instance| &instance.id) != Some(&old.id)
        {
            violation = Some(format!("claim {} forgot its instance {}", claim.name, old.id));
            ledger.index(&old.id, None, now);
        }
        self.violations.extend(violation);
        let was_deleting = before.is_some_and(|before| before.is_deleting());
        if let Some(deletion) = claim.deletion.as_ref().filter(|_| !was_deleting) {
            let (claim, reason) = (claim.name.clone(), deletion.reason);
            self.happened(Happening::ClaimGivenUp { claim, reason });
        }
        match claim.phase {
            ClaimPhase::Launched => self.stream(cluster, Function::Settle, claim),
            ClaimPhase::Deleting => self.stream(cluster, Function::Drain, claim),
            ClaimPhase::Promised | ClaimPhase::Registered | ClaimPhase::Initialized => {}
        }
    }

    /// What an index shows now.
    pub(crate) fn index_time(&self) -> Timestamp {
        later(self.now, -self.settings.listing_lag)
    }
}
