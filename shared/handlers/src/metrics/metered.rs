//! A ledger that counts what it takes.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, ClaimPhase, ClusterName, CommandId, DeletionReason, InstanceId, NodeClaim,
    NodeClaimName, OfferingKey,
    claim::ClaimConditions,
    disruption::{Command, DisruptionReason, Method, Progress},
    ledger::{Commit, CommitOutcome, Shortage, Snapshot, WriteOutcome},
};
use ports::{Clock, Ledger, LedgerLayer, PortError};

use super::{
    Metrics,
    registry::{
        CLAIM_TERMINATION, CREATED, DECISIONS, DISRUPTED, FAILED_VALIDATIONS, LAUNCH_FAILURES,
        LIFETIME, NODES_CREATED, NODES_DRAINED, NODES_TERMINATED, QUEUE_FAILURES, REBOOT_DURATION,
        REBOOT_RECOVERY, REBOOTS, ROLLOUTS_HALTED, TERMINATED,
    },
};

/// The ledger `L`, with what becomes of claims and commands counted.
///
/// A change counts where the claim was read before it, by this process and in this ledger, and where the
/// ledger took it: what a repeated call finds done is not counted twice.
#[derive(Debug)]
pub struct Metered<L, C> {
    ledger: L,
    clock: C,
    metrics: Metrics,
    known: RefCell<Known>,
}

/// What was read last.
#[derive(Debug, Default)]
struct Known {
    claims: BTreeMap<NodeClaimName, Stage>,
    commands: BTreeMap<CommandId, Command>,
}

impl Known {
    /// Whether the claim was read, and was not being deleted then.
    fn is_standing(&self, claim: &NodeClaimName) -> bool {
        self.claims.get(claim).is_some_and(|stage| stage.phase != ClaimPhase::Deleting)
    }
}

/// How far a claim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stage {
    phase: ClaimPhase,
    is_drained: bool,
    /// When its latest reboot was over, if it is.
    rebooted_at: Option<Timestamp>,
}

impl Stage {
    fn of(claim: &NodeClaim) -> Self {
        let ClaimConditions { drained_since, reboots, .. } = &claim.conditions;
        Self {
            phase: claim.phase,
            is_drained: drained_since.is_some(),
            rebooted_at: reboots.last().and_then(|reboot| reboot.ended_at),
        }
    }
}

impl<L, C: Clock> Metered<L, C> {
    /// Counts what `ledger` takes, with `clock` for how long things took.
    pub fn new(ledger: L, clock: C, metrics: Metrics) -> Self {
        Self { ledger, clock, metrics, known: RefCell::default() }
    }

    fn know(&self, snapshot: &Snapshot) {
        let claims = snapshot.claims.values().map(|claim| (claim.name.clone(), Stage::of(claim)));
        *self.known.borrow_mut() =
            Known { claims: claims.collect(), commands: snapshot.commands.clone() };
    }

    /// Counts what became real with `commit`.
    fn committed(&self, commit: &Commit) {
        let replaces = commit.started.values().find(|command| command.is_under_way());
        for claim in &commit.created {
            let reason = replaces.map_or("provisioned", |command| reason(command.method));
            let relaxed = claim
                .annotations
                .get(model::labels::MIN_VALUES_RELAXED)
                .is_some_and(|text| text == "true")
                .to_string();
            self.metrics.count(&CREATED, &[reason, claim.node_pool.as_str(), &relaxed]);
            self.known.borrow_mut().claims.insert(claim.name.clone(), Stage::of(claim));
        }
        self.commands(commit);
        for claim in &commit.changed {
            self.moved(claim);
        }
    }

    /// Counts commands that begin, fail, or are dropped; before the claims of `commit` count as moved.
    fn commands(&self, commit: &Commit) {
        let mut known = self.known.borrow_mut();
        let deleted: BTreeMap<&NodeClaimName, &NodeClaim> = commit
            .changed
            .iter()
            .filter(|claim| claim.is_deleting() && known.is_standing(&claim.name))
            .map(|claim| (&claim.name, claim))
            .collect();
        let mut of_commands: BTreeSet<&NodeClaimName> = BTreeSet::new();
        for id in &commit.ended {
            let Some(command) = known.commands.remove(id) else { continue };
            let candidates =
                command.candidates.iter().filter_map(|name| deleted.get_key_value(name));
            let before = of_commands.len();
            for (name, claim) in candidates {
                of_commands.insert(*name);
                if let Progress::Rebooting { since } = command.progress {
                    self.reboot_failed(claim, since);
                }
            }
            match (command.progress, before < of_commands.len()) {
                (Progress::Found, true) => self.decided("delete", command.method),
                (Progress::Found, false) => {
                    self.metrics.count(&FAILED_VALIDATIONS, &[consolidation_type(command.method)]);
                }
                _ => {}
            }
        }
        for (id, command) in &commit.started {
            let was_under_way = known.commands.get(id).is_some_and(Command::is_under_way);
            match &command.progress {
                Progress::Launching { .. } if !was_under_way => {
                    self.decided("replace", command.method);
                }
                Progress::Rebooting { .. } if !was_under_way => {
                    self.decided("reboot", command.method);
                }
                Progress::Halted(halt) if !known.commands.contains_key(id) => {
                    let pool = halt.target.node_pool.as_str();
                    self.metrics.count(&ROLLOUTS_HALTED, &[pool]);
                }
                Progress::RolledBack { .. } if was_under_way => {
                    let labels = [reason(command.method), consolidation_type(command.method)];
                    self.metrics.count(&QUEUE_FAILURES, &["replace", labels[0], labels[1]]);
                }
                _ => {}
            }
            known.commands.insert(id.clone(), command.clone());
        }
        // What is deleted at once was no command before.
        let at_once = deleted.values().filter(|claim| !of_commands.contains(&claim.name));
        let reasons = at_once.filter_map(|claim| match claim.deletion.as_ref()?.reason {
            DeletionReason::Disrupted(reason) => Some(reason_of(reason)),
            _ => None,
        });
        for reason in reasons.collect::<BTreeSet<&str>>() {
            self.metrics.count(&DECISIONS, &["delete", reason, ""]);
        }
    }

    fn decided(&self, decision: &str, method: Method) {
        self.metrics.count(&DECISIONS, &[decision, reason(method), consolidation_type(method)]);
    }

    /// Counts that the reboot of `claim`, which was decided at `since`, is not waited for any longer.
    fn reboot_failed(&self, claim: &NodeClaim, since: Timestamp) {
        let issued_at = claim.conditions.reboot(since).and_then(|reboot| reboot.issued_at);
        let result = issued_at.map_or("provider_error", |_| "recovery_timeout");
        self.rebooted(result, self.clock.now().duration_since(since));
    }

    fn rebooted(&self, result: &str, duration: SignedDuration) {
        self.metrics.count(&REBOOTS, &[result]);
        self.metrics.observe(&REBOOT_DURATION, &[result], duration);
    }

    /// Counts what `claim` came to, where it was something else before.
    fn moved(&self, claim: &NodeClaim) {
        let stage = Stage::of(claim);
        let Some(before) = self.known.borrow_mut().claims.insert(claim.name.clone(), stage) else {
            return;
        };
        let pool = claim.node_pool.as_str();
        let joined = ClaimPhase::Registered..=ClaimPhase::Initialized;
        if before.phase < ClaimPhase::Registered && joined.contains(&stage.phase) {
            self.metrics.count(&NODES_CREATED, &[pool, zone(claim)]);
        }
        if stage.is_drained && !before.is_drained {
            self.metrics.count(&NODES_DRAINED, &[pool]);
        }
        if let Some(reboot) = claim.conditions.reboots.last()
            && let Some(ended_at) =
                reboot.ended_at.filter(|_| before.rebooted_at != reboot.ended_at)
        {
            self.rebooted("succeeded", ended_at.duration_since(reboot.requested_at));
            if let Some(issued_at) = reboot.issued_at {
                self.metrics.observe(&REBOOT_RECOVERY, &[], ended_at.duration_since(issued_at));
            }
        }
        let Some(deletion) =
            claim.deletion.as_ref().filter(|_| before.phase != ClaimPhase::Deleting)
        else {
            return;
        };
        if let Some(reason) = disrupted_for(deletion.reason) {
            self.disrupted(claim, reason);
        }
    }

    fn disrupted(&self, claim: &NodeClaim, reason: &str) {
        let mode = match claim.termination_grace_period {
            None => "graceful",
            Some(period) if period.is_positive() => "eventual",
            Some(_) => "forceful",
        };
        let capacity_type =
            claim.instance.as_ref().map_or("", |instance| instance.capacity_type.as_str());
        self.metrics.count(&DISRUPTED, &[reason, claim.node_pool.as_str(), capacity_type, mode]);
    }

    /// Counts that `claim` is gone, where it was there before.
    fn removed(&self, claim: &NodeClaim) {
        if self.known.borrow_mut().claims.remove(&claim.name).is_none() {
            return;
        }
        let Some(instance) = &claim.instance else { return };
        let (pool, now) = (claim.node_pool.as_str(), self.clock.now());
        self.metrics
            .count(&TERMINATED, &[pool, instance.capacity_type.as_str(), instance.zone.as_str()]);
        if let Some(deletion) = &claim.deletion {
            self.metrics.observe(&CLAIM_TERMINATION, &[pool], now.duration_since(deletion.at));
        }
        if claim.node.is_some() {
            self.metrics.count(&NODES_TERMINATED, &[pool, instance.zone.as_str()]);
            self.metrics.observe(&LIFETIME, &[pool], now.duration_since(instance.launched_at));
        }
    }

    /// Counts that `claims` go without ever having had an instance.
    fn withdrawn(&self, claims: &[NodeClaim]) {
        for claim in claims {
            if self.known.borrow_mut().claims.remove(&claim.name).is_some() {
                let is_unready = claim.message.as_ref().and_then(|message| message.reason.as_ref());
                let is_unready = is_unready == Some(&model::ConditionReason::NodeClassNotReady);
                let why = if is_unready { "nodeclass_not_ready" } else { "insufficient_capacity" };
                self.disrupted(claim, why);
            }
        }
    }
}

fn zone(claim: &NodeClaim) -> &str {
    claim.instance.as_ref().map_or("", |instance| instance.zone.as_str())
}

fn reason(method: Method) -> &'static str {
    reason_of(method.reason())
}

const fn reason_of(reason: DisruptionReason) -> &'static str {
    match reason {
        DisruptionReason::Underutilized => "underutilized",
        DisruptionReason::Empty => "empty",
        DisruptionReason::Drifted => "drifted",
        DisruptionReason::Unhealthy => "unhealthy",
    }
}

/// Karpenter: `pkg/controllers/disruption/{emptiness,multinodeconsolidation,singlenodeconsolidation}.go`,
/// `ConsolidationType`.
const fn consolidation_type(method: Method) -> &'static str {
    match method {
        Method::Emptiness => "empty",
        Method::MultiNode => "multi",
        Method::SingleNode => "single",
        Method::Repair | Method::StaticDrift | Method::Drift => "",
    }
}

/// The label of a claim that is deleted for `reason`; `None` if a user or controller deleted it.
fn disrupted_for(reason: DeletionReason) -> Option<&'static str> {
    Some(match reason {
        DeletionReason::SpotInterrupted => "spot_interrupted",
        DeletionReason::InstanceEnded => "instance_terminated",
        DeletionReason::ReservationEnding => "capacity_reservation_interrupted",
        DeletionReason::InstanceUnhealthy => "instance_status",
        DeletionReason::Expired => "expired",
        DeletionReason::Overprovisioned => "overprovisioned",
        DeletionReason::NotRegistered => "registration_timeout",
        DeletionReason::Disrupted(reason) => reason_of(reason),
        DeletionReason::NodeDeleted
        | DeletionReason::NodeClaimDeleted
        | DeletionReason::NotUnderstood => return None,
    })
}

impl<L: Ledger, C: Clock> LedgerLayer for Metered<L, C> {
    fn inner(&self) -> &impl Ledger {
        &self.ledger
    }

    async fn snapshot(&self, cluster: &ClusterName) -> Result<Snapshot, PortError> {
        let snapshot = self.ledger.snapshot(cluster).await?;
        self.know(&snapshot);
        Ok(snapshot)
    }

    async fn commit(
        &self,
        cluster: &ClusterName,
        commit: &Commit,
    ) -> Result<CommitOutcome, PortError> {
        let outcome = self.ledger.commit(cluster, commit).await?;
        if matches!(outcome, CommitOutcome::Committed(_)) {
            self.committed(commit);
        }
        Ok(outcome)
    }

    async fn claims_of_instances(
        &self,
        cluster: &ClusterName,
        instances: &[InstanceId],
    ) -> Result<Vec<NodeClaim>, PortError> {
        let claims = self.ledger.claims_of_instances(cluster, instances).await?;
        let read = claims.iter().map(|claim| (claim.name.clone(), Stage::of(claim)));
        self.known.borrow_mut().claims.extend(read);
        Ok(claims)
    }

    async fn write_claim(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError> {
        let outcome = self.ledger.write_claim(cluster, claim).await?;
        if outcome == WriteOutcome::Written {
            self.moved(claim);
        }
        Ok(outcome)
    }

    async fn write_claims(
        &self,
        cluster: &ClusterName,
        claims: &[NodeClaim],
    ) -> Result<WriteOutcome, PortError> {
        let outcome = self.ledger.write_claims(cluster, claims).await?;
        if outcome == WriteOutcome::Written {
            for claim in claims {
                self.moved(claim);
            }
        }
        Ok(outcome)
    }

    async fn remove_claim(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError> {
        let outcome = self.ledger.remove_claim(cluster, claim).await?;
        if outcome == WriteOutcome::Written {
            self.removed(claim);
        }
        Ok(outcome)
    }

    async fn withdraw_claims(
        &self,
        cluster: &ClusterName,
        claims: &[NodeClaim],
    ) -> Result<WriteOutcome, PortError> {
        let outcome = self.ledger.withdraw_claims(cluster, claims).await?;
        if outcome == WriteOutcome::Written {
            self.withdrawn(claims);
        }
        Ok(outcome)
    }

    async fn mark_unavailable(
        &self,
        cluster: &ClusterName,
        offerings: &[(OfferingKey, Timestamp)],
        shortages: &[(Shortage, Timestamp)],
    ) -> Result<(), PortError> {
        self.ledger.mark_unavailable(cluster, offerings, shortages).await?;
        let marked = offerings
            .iter()
            .map(|(offering, _)| (offering.zone.as_str(), offering.capacity_type.as_str()));
        for (zone, capacity_type) in
            marked.chain(shortages.iter().filter_map(|(short, _)| place(short)))
        {
            let labels = [zone, capacity_type, "insufficient_capacity"];
            self.metrics.count(&LAUNCH_FAILURES, &labels);
        }
        Ok(())
    }
}

/// The zone and the capacity type that `shortage` is about; empty where it is about all of them. `None` for a quota,
/// whose offerings are marked, too.
fn place(shortage: &Shortage) -> Option<(&str, &str)> {
    match shortage {
        Shortage::Unsupported { offering, .. } | Shortage::Group { offering, .. } => {
            Some((offering.zone.as_str(), offering.capacity_type.as_str()))
        }
        Shortage::Spread { zone, .. } => Some((zone.as_str(), "")),
        Shortage::Addresses { .. } => Some(("", "")),
        Shortage::Spot => Some(("", CapacityType::Spot.as_str())),
        Shortage::Quota { .. } => None,
    }
}
