//! The ledger: where claims, commands and decisions are kept.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    Bytes, ClusterName, Function, InstanceId, LedgerId, NodeClaim, NodeClassName, NodePoolName,
    Plan, Zone,
    facts::Facts,
    ledger::{
        Commit, CommitOutcome, Decision, DecisionPage, DecisionQuery, Guard, Head, LaunchRefusals,
        MeasuredKey, Snapshot, WriteOutcome,
    },
    node_pool::Registrations,
    pulse::Pulse,
    recorded::{Question, RecordedFacts},
    validation::Validation,
};

use crate::{PortError, port::ports};

ports! {
    /// The table of claims. Reads are consistent; each names its cluster. Offerings without capacity are
    /// a region's: what one cluster meets, every cluster in the table knows.
    pub trait Ledger in account layered by LedgerLayer {
        /// The head of `cluster`'s ledger, that of one that is not open where there is none.
        async fn head(&self, cluster: &ClusterName) -> Result<Head, PortError>;

        /// Opens the ledger of `cluster` under an id that no ledger had before, with an unchecked guard. One that
        /// is open stays as it is, unless it is the one called `replaced`, whose claims stay: its head is the
        /// answer then. Counters never go back, because pulses say which of them they served.
        async fn open(
            &self,
            cluster: &ClusterName,
            replaced: Option<&LedgerId>,
        ) -> Result<Head, PortError>;

        /// Replaces what the guard says, if the ledger is the one called `ledger`; else `Conflict`. Repeating
        /// it changes nothing.
        async fn put_guard(
            &self,
            cluster: &ClusterName,
            ledger: &LedgerId,
            guard: &Guard,
        ) -> Result<WriteOutcome, PortError>;

        /// Replaces the zones that traffic is shifted away from, if the ledger is the one called `ledger`; else
        /// `Conflict`. Repeating it changes nothing.
        async fn put_shifted_zones(
            &self,
            cluster: &ClusterName,
            ledger: &LedgerId,
            zones: &BTreeMap<Zone, Timestamp>,
        ) -> Result<WriteOutcome, PortError>;

        /// The head, then every claim that is not gone, every offering that is unavailable, all memory that
        /// was measured, commands and refusals. What cannot be read is listed as such.
        ///
        /// The head is read first: a commit on its counters conflicts with whatever was missed.
        async fn snapshot(&self, cluster: &ClusterName) -> Result<Snapshot, PortError>;

        /// Makes a plan real, all of it or nothing. Idempotent by the commit's id; see [`Commit`].
        async fn commit(
            &self,
            cluster: &ClusterName,
            commit: &Commit,
        ) -> Result<CommitOutcome, PortError>;

        /// The claims of `cluster` whose instances are among `instances`, by name; instances without a claim and
        /// those of another cluster have none. May lag a write by seconds.
        async fn claims_of_instances(
            &self,
            cluster: &ClusterName,
            instances: &[InstanceId],
        ) -> Result<Vec<NodeClaim>, PortError>;

        /// Stores a claim whose stored version is one below its own, and that was written to before.
        /// `Conflict` too when it was not written to since it was created: it leaves its batch by
        /// [`Ledger::write_claims`]. Idempotent by version and content.
        async fn write_claim(
            &self,
            cluster: &ClusterName,
            claim: &NodeClaim,
        ) -> Result<WriteOutcome, PortError>;

        /// Stores claims of one batch, each as [`Ledger::write_claim`] does, and those that were not written to since
        /// they were created, too. `Conflict` when any of them was refused; the others may be stored.
        async fn write_claims(
            &self,
            cluster: &ClusterName,
            claims: &[NodeClaim],
        ) -> Result<WriteOutcome, PortError>;

        /// Removes a claim whose stored version is the claim's, and that was written to since it was
        /// created; one that was not is refused as `Permanent`. A claim that is gone was removed.
        async fn remove_claim(
            &self,
            cluster: &ClusterName,
            claim: &NodeClaim,
        ) -> Result<WriteOutcome, PortError>;

        /// Withdraws claims of one batch that got no instance: each is removed as [`Ledger::remove_claim`]
        /// does, also those that were not written to since they were created; then a departure is counted. `Conflict`
        /// when any of them was refused; the others may be gone.
        async fn withdraw_claims(
            &self,
            cluster: &ClusterName,
            claims: &[NodeClaim],
        ) -> Result<WriteOutcome, PortError>;

        /// Marks offerings unavailable for every cluster of the region, and keeps what is short for some launches
        /// only. A later time that stands already is kept, so that repeating and
        /// reordering do no harm.
        async fn mark_unavailable(
            &self,
            cluster: &ClusterName,
            offerings: &[(model::OfferingKey, Timestamp)],
            shortages: &[(model::ledger::Shortage, Timestamp)],
        ) -> Result<(), PortError>;

        /// Keeps until `until` that a node had so much memory. A smaller amount that stands already is
        /// kept as it is, so that repeating and reordering do no harm.
        async fn measure(
            &self,
            cluster: &ClusterName,
            key: &MeasuredKey,
            memory: Bytes,
            until: Timestamp,
        ) -> Result<(), PortError>;

        /// Keeps that launches for `pool` were refused, or with `None` that they are not any more. Repeating
        /// it changes nothing.
        async fn put_refusals(
            &self,
            cluster: &ClusterName,
            pool: &NodePoolName,
            refusals: Option<&LaunchRefusals>,
        ) -> Result<(), PortError>;

        /// How the latest launches of NodePools ended, of each that anything is known of. A record that cannot be
        /// read is left out.
        async fn registrations(
            &self,
            cluster: &ClusterName,
        ) -> Result<BTreeMap<NodePoolName, Registrations>, PortError>;

        /// Replaces how the latest launches of `pool` ended if the stored version is one below; else `Conflict`. It
        /// is `Written` too when an earlier call with the same content did it.
        async fn put_registrations(
            &self,
            cluster: &ClusterName,
            pool: &NodePoolName,
            registrations: &Registrations,
        ) -> Result<WriteOutcome, PortError>;

        /// The pulse of `function`, that of a function that never ran where there is none.
        async fn pulse(&self, cluster: &ClusterName, function: Function) -> Result<Pulse, PortError>;

        /// Replaces the pulse of `function` if the stored one has the sequence `from`; else `Conflict`. It is
        /// `Written` too when an earlier call with the same pulse did it.
        async fn write_pulse(
            &self,
            cluster: &ClusterName,
            function: Function,
            from: u64,
            pulse: &Pulse,
        ) -> Result<WriteOutcome, PortError>;

        /// What trying `class` out came to the last time, if that is worth knowing still.
        async fn validation(
            &self,
            cluster: &ClusterName,
            class: &NodeClassName,
        ) -> Result<Option<Validation>, PortError>;

        /// Replaces what is known of trying `class` out. Repeating it changes nothing; of two, the last
        /// one stands.
        async fn put_validation(
            &self,
            cluster: &ClusterName,
            class: &NodeClassName,
            validation: &Validation,
        ) -> Result<(), PortError>;

        /// Keeps decisions that no commit makes real: that pods get no node, that nodes stay, that claims got no
        /// instance. Idempotent by [`Decision::id`]: of two with the same, the last one stands.
        async fn put_decisions(
            &self,
            cluster: &ClusterName,
            decisions: &[Decision],
        ) -> Result<(), PortError>;

        /// Keeps the facts that decisions were made on under `number`, for as long as decisions are kept, with what
        /// was asked and the plan that it came to. Idempotent: of two under the same number, the last ones stand.
        async fn put_facts(
            &self,
            cluster: &ClusterName,
            number: u64,
            question: &Question,
            facts: &Facts,
            plan: &Plan,
        ) -> Result<(), PortError>;
    }

    /// Decisions and what they were made on, read back. No function does: they are for people.
    pub trait Decisions in account {
        /// Decisions of `cluster`, the newest first, as many as `query` wants at most. One that cannot be read is
        /// listed as such. What was kept a moment ago may be missing.
        async fn decisions(
            &self,
            cluster: &ClusterName,
            query: &DecisionQuery,
        ) -> Result<DecisionPage, PortError>;

        /// The facts that are kept under `number`; `None` where there are none, or not any more.
        async fn facts(
            &self,
            cluster: &ClusterName,
            number: u64,
        ) -> Result<Option<RecordedFacts>, PortError>;
    }
}
