//! The ledger's table in memory, with the answers that `model::ledger` and `ports::Ledger` specify.
//!
//! The index by instance lags behind writes, as a global secondary index of DynamoDB does.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use jiff::Timestamp;
use model::{
    BatchId, Bytes, ClusterName, CommandId, CommitId, Function, InstanceId, LedgerId, NodeClaim,
    NodeClaimName, NodeClassName, NodePoolName, OfferingKey, Zone,
    disruption::Command,
    duration::later,
    ledger::{
        Commit, CommitOutcome, Decision, DecisionPage, DecisionQuery, Guard, Head, LaunchRefusals,
        MeasuredKey, Shortage, Snapshot, UnreadableItem, WriteOutcome,
    },
    limits::ITEMS_PER_COMMIT_MAX,
    node_pool::Registrations,
    pulse::Pulse,
    recorded::RecordedFacts,
    validation::Validation,
};

use crate::{made_up, timeline::Happening, world::World};

/// What was stored about an instance's claim, and when: the newest that is old enough is visible.
type IndexVersions = Vec<(Timestamp, Option<Rc<NodeClaim>>)>;

/// One cluster's items.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterLedger {
    pub(crate) head: Head,
    last_commit: Option<CommitId>,
    pub(crate) claims: BTreeMap<NodeClaimName, Rc<NodeClaim>>,
    measured: BTreeMap<MeasuredKey, (Bytes, Timestamp)>,
    pulses: BTreeMap<Function, Pulse>,
    commands: BTreeMap<CommandId, Command>,
    pub(crate) refusals: BTreeMap<NodePoolName, LaunchRefusals>,
    pub(crate) registrations: BTreeMap<NodePoolName, Registrations>,
    pub(crate) validations: BTreeMap<NodeClassName, Validation>,
    batches: BTreeMap<BatchId, BTreeSet<NodeClaimName>>,
    /// By their ids, which sort by time.
    pub(crate) decisions: BTreeMap<String, Rc<Decision>>,
    /// What decisions were made on, by number.
    pub(crate) facts: BTreeMap<u64, Rc<RecordedFacts>>,
    instances: BTreeMap<InstanceId, IndexVersions>,
}

/// Every cluster's items.
#[derive(Debug, Default)]
pub(crate) struct LedgerState {
    pub(crate) clusters: BTreeMap<ClusterName, ClusterLedger>,
    /// What was backed up.
    backup: BTreeMap<ClusterName, ClusterLedger>,
    /// When it was lost or became an old one.
    pub(crate) disturbed_at: Option<Timestamp>,
    /// Claims whose items cannot be read.
    unreadable: BTreeSet<NodeClaimName>,
    /// How many ledgers were opened so far, in all clusters.
    opened: u32,
    /// Of the region: every cluster's.
    unavailable_offerings: BTreeMap<OfferingKey, Timestamp>,
    /// Of the region; of a cluster what is about its classes.
    shortages: BTreeMap<(Option<ClusterName>, Shortage), Timestamp>,
}

impl LedgerState {
    pub(crate) fn cluster(&mut self, name: &ClusterName) -> &mut ClusterLedger {
        if !self.clusters.contains_key(name) {
            self.clusters.insert(name.clone(), ClusterLedger::default());
        }
        self.clusters.entry(name.clone()).or_default()
    }

    /// Everything that a decision needs, under a head that was read before.
    pub(crate) fn snapshot(
        &mut self,
        cluster: &ClusterName,
        head: Head,
        now: Timestamp,
    ) -> Snapshot {
        let unavailable_offerings =
            self.unavailable_offerings.iter().filter(|(_, until)| now < **until);
        let unavailable_offerings =
            unavailable_offerings.map(|(offering, until)| (offering.clone(), *until)).collect();
        let is_its = |(of, _): &(Option<ClusterName>, Shortage)| {
            of.as_ref().is_none_or(|name| name == cluster)
        };
        let shortages = self
            .shortages
            .iter()
            .filter(|(key, until)| now < **until && is_its(key))
            .map(|((_, shortage), until)| (shortage.clone(), *until))
            .collect();
        let unreadable = self.unreadable.clone();
        let cluster_ledger = self.cluster(cluster);
        let mut claims: BTreeMap<NodeClaimName, NodeClaim> = cluster_ledger
            .claims
            .iter()
            .map(|(name, claim)| (name.clone(), NodeClaim::clone(claim)))
            .collect();
        let hidden = unreadable.iter().filter_map(|name| claims.remove(name));
        let unreadable = hidden
            .map(|claim| UnreadableItem {
                item: format!("claim#{}", claim.name),
                claim: Some(claim.name),
                instance: claim.instance.map(|instance| instance.id),
                problem: "`phase`: not known".to_owned(),
            })
            .collect();
        let measured = cluster_ledger
            .measured
            .iter()
            .filter(|(_, (_, until))| now < *until)
            .map(|(key, (memory, _))| (key.clone(), *memory))
            .collect();
        let (commands, refusals) =
            (cluster_ledger.commands.clone(), cluster_ledger.refusals.clone());
        Snapshot {
            head,
            claims,
            unavailable_offerings,
            shortages,
            measured,
            commands,
            refusals,
            unreadable,
        }
    }

    /// The claims of every cluster in the table. Of one name the last counts.
    pub(crate) fn claims_of_all(&self) -> impl Iterator<Item = (NodeClaimName, NodeClaim)> {
        let claims = self.clusters.values().flat_map(|ledger| &ledger.claims);
        claims.map(|(name, claim)| (name.clone(), NodeClaim::clone(claim)))
    }

    pub(crate) fn lose(&mut self, now: Timestamp) {
        self.disturbed_at = Some(now);
        self.clusters.clear();
        self.unavailable_offerings.clear();
        self.shortages.clear();
    }

    pub(crate) fn forget(&mut self, name: &NodeClaimName, now: Timestamp) {
        self.disturbed_at = Some(now);
        for ledger in self.clusters.values_mut() {
            let Some(claim) = ledger.claims.remove(name) else { continue };
            if let Some(instance) = &claim.instance {
                ledger.index(&instance.id, None, now);
            }
        }
    }

    pub(crate) fn set_readable(&mut self, claim: NodeClaimName, is_readable: bool) {
        if is_readable {
            self.unreadable.remove(&claim);
        } else {
            self.unreadable.insert(claim);
        }
    }

    pub(crate) fn back_up(&mut self) {
        self.backup.clone_from(&self.clusters);
    }

    pub(crate) fn restore(&mut self, now: Timestamp) {
        self.disturbed_at = Some(now);
        self.clusters.clone_from(&self.backup);
    }

    /// Opens the ledger of `cluster`, unless another than `replaced` is open: `sim1` is the first of all.
    pub(crate) fn open(&mut self, cluster: &ClusterName, replaced: Option<&LedgerId>) -> Head {
        let open = self.cluster(cluster).head.ledger.as_ref();
        if open.is_none() || open == replaced {
            self.opened += 1;
            let ledger = made_up(LedgerId::new(&format!("sim{}", self.opened)));
            // Pulses say which counters they served: those never go back.
            let counters = self.cluster(cluster).head.counters;
            self.cluster(cluster).head = Head { ledger: Some(ledger), counters, ..Head::default() };
        }
        self.cluster(cluster).head.clone()
    }

    pub(crate) fn put_guard(
        &mut self,
        cluster: &ClusterName,
        ledger: &LedgerId,
        guard: &Guard,
    ) -> WriteOutcome {
        self.write_head(cluster, ledger, |head| head.guard = guard.clone())
    }

    pub(crate) fn put_shifted_zones(
        &mut self,
        cluster: &ClusterName,
        ledger: &LedgerId,
        zones: &BTreeMap<Zone, Timestamp>,
    ) -> WriteOutcome {
        self.write_head(cluster, ledger, |head| head.shifted_zones.clone_from(zones))
    }

    /// Changes the head of `ledger`, and of no other one.
    fn write_head(
        &mut self,
        cluster: &ClusterName,
        ledger: &LedgerId,
        change: impl FnOnce(&mut Head),
    ) -> WriteOutcome {
        let head = &mut self.cluster(cluster).head;
        if head.ledger.as_ref() != Some(ledger) {
            return WriteOutcome::Conflict;
        }
        change(head);
        WriteOutcome::Written
    }

    /// How many offerings were ever unavailable.
    pub(crate) fn unavailable_count(&self) -> usize {
        self.unavailable_offerings.len()
    }

    pub(crate) fn mark_unavailable(&mut self, offering: &OfferingKey, until: Timestamp) {
        let stored = self.unavailable_offerings.entry(offering.clone()).or_insert(until);
        *stored = until.max(*stored);
    }

    pub(crate) fn mark_short(&mut self, cluster: &ClusterName, short: &Shortage, until: Timestamp) {
        let of = matches!(short, Shortage::Unsupported { .. } | Shortage::Quota { .. })
            .then(|| cluster.clone());
        let stored = self.shortages.entry((of, short.clone())).or_insert(until);
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

    /// How many claims the batch had when it was created, if any of them is left.
    pub(crate) fn batch_size(&self, batch: &BatchId) -> Option<u32> {
        self.clusters.values().find_map(|ledger| {
            let name = ledger.batches.get(batch)?.first()?;
            ledger.claims.get(name).map(|claim| claim.batch_size)
        })
    }

    /// The claim of `cluster` that has `instance`, if an index shows that it is its own that knows what was written until
    /// `until`. The claim itself is as it stands.
    pub(crate) fn indexed(
        &self,
        cluster: &ClusterName,
        instance: &InstanceId,
        until: Timestamp,
    ) -> Option<NodeClaim> {
        let ledger = self.clusters.get(cluster)?;
        let (_, claim) =
            ledger.instances.get(instance)?.iter().rev().find(|(at, _)| *at <= until)?;
        let claim = ledger.claims.get(&claim.as_ref()?.name)?;
        let is_its = claim.instance.as_ref().is_some_and(|its| its.id == *instance)
            && !self.unreadable.contains(&claim.name);
        is_its.then(|| NodeClaim::clone(claim))
    }
}

impl ClusterLedger {
    pub(crate) fn measure(&mut self, key: &MeasuredKey, memory: Bytes, until: Timestamp) {
        let stored = self.measured.entry(key.clone()).or_insert((memory, until));
        if memory <= stored.0 {
            *stored = (memory, until);
        }
    }

    pub(crate) fn keep(&mut self, decisions: &[Decision]) {
        let items = decisions.iter().map(|decision| (decision.id(), Rc::new(decision.clone())));
        self.decisions.extend(items);
    }

    pub(crate) fn decisions(&self, query: &DecisionQuery) -> DecisionPage {
        let is_asked = |(id, decision): &(&String, &Rc<Decision>)| {
            query.before.as_ref().is_none_or(|before| *id < before)
                && query.since.is_none_or(|since| since <= decision.at)
        };
        let asked: Vec<_> = self.decisions.iter().rev().filter(is_asked).collect();
        let page: Vec<_> = asked.iter().take(query.limit).collect();
        let next = page.last().filter(|_| page.len() < asked.len());
        DecisionPage {
            decisions: page.iter().map(|(_, decision)| Decision::clone(decision)).collect(),
            unreadable: Vec::new(),
            next: next.map(|(id, _)| (*id).clone()),
        }
    }

    pub(crate) fn pulse(&self, function: Function) -> Pulse {
        self.pulses.get(&function).copied().unwrap_or_default()
    }

    /// Writes `pulse` in place of the one with the sequence `from`, or of any.
    pub(crate) fn write_pulse(
        &mut self,
        function: Function,
        from: Option<u64>,
        pulse: &Pulse,
    ) -> WriteOutcome {
        let stored = self.pulse(function);
        if stored == *pulse {
            return WriteOutcome::Written;
        }
        if from.is_some_and(|from| stored.sequence != from) {
            return WriteOutcome::Conflict;
        }
        self.pulses.insert(function, *pulse);
        WriteOutcome::Written
    }

    pub(crate) fn commands(&self) -> impl Iterator<Item = &Command> {
        self.commands.values()
    }

    fn claim_of(&self, instance: &InstanceId) -> Option<&Rc<NodeClaim>> {
        self.instances.get(instance)?.last()?.1.as_ref()
    }

    /// Whether the conditions of `commit` hold, which depends on all counters where there is but one.
    fn allows(&self, commit: &Commit, is_one_counter: bool) -> bool {
        let is_based_on = |head| {
            if is_one_counter { commit.parent == head } else { commit.is_based_on(head) }
        };
        let is_next = |claim: &NodeClaim| {
            self.claims.get(&claim.name).is_some_and(|stored| stored.version + 1 == claim.version)
        };
        commit.ledger == self.head.ledger
            && is_based_on(self.head.counters)
            && commit
                .created
                .iter()
                .chain(&commit.adopted)
                .all(|claim| !self.claims.contains_key(&claim.name))
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
    pub(crate) fn commit(&mut self, cluster: &ClusterName, commit: &Commit) -> CommitOutcome {
        let (items, items_max) = (commit.items(), ITEMS_PER_COMMIT_MAX);
        if items > items_max {
            return CommitOutcome::TooLarge { items, items_max };
        }
        let sabotage = self.settings.sabotage;
        let ledger = self.ledger.cluster(cluster);
        if ledger.last_commit.as_ref() == Some(&commit.id) {
            return CommitOutcome::Committed(ledger.head.counters);
        }
        if !ledger.allows(commit, sabotage.one_counter) && !sabotage.ignore_compare_and_set {
            return CommitOutcome::Conflict;
        }
        let disrupted = self.disrupted_by(cluster, commit);
        let ledger = self.ledger.cluster(cluster);
        ledger.head.counters = commit.next(ledger.head.counters);
        ledger.last_commit = Some(commit.id.clone());
        ledger.commands.extend(commit.started.clone());
        ledger.commands.retain(|id, _| !commit.ended.contains(id));
        ledger.keep(&commit.decisions);
        let counters = ledger.head.counters;
        for (offering, until) in &commit.unavailable_offerings {
            self.ledger.mark_unavailable(offering, *until);
        }
        for claim in &commit.created {
            let (claim, node_pool) = (claim.name.clone(), claim.node_pool.clone());
            self.happened(Happening::ClaimCreated { claim, node_pool });
        }
        let stored = commit.created.iter().chain(&commit.adopted).chain(&commit.changed);
        for claim in stored {
            let claim = self.recorded(claim);
            self.store_claim(cluster, &claim);
        }
        let problems = self.overspent_budgets(cluster, &disrupted);
        self.violations.extend(problems);
        CommitOutcome::Committed(counters)
    }

    /// `claim` as it stands in the table when the running function has written it.
    fn recorded(&mut self, claim: &NodeClaim) -> NodeClaim {
        let now = self.now;
        match (&mut self.records, self.current) {
            (Some(records), Some((_, function))) => records(function, now, claim),
            _ => claim.clone(),
        }
    }

    pub(crate) fn write_claim(&mut self, cluster: &ClusterName, claim: &NodeClaim) -> WriteOutcome {
        let claim = &self.recorded(claim);
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
            self.happened(Happening::ClaimDeleted { claim, reason });
        }
    }

    /// What an index shows now.
    pub(crate) fn index_time(&self) -> Timestamp {
        later(self.now, -self.settings.listing_lag)
    }
}
