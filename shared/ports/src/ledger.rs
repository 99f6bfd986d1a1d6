//! The ledger: where promises are kept.

use model::{
    Bytes, ClusterName, InstanceId, NodeClaim, NodeClaimName, NodeClassName,
    ledger::{Commit, CommitOutcome, MeasuredKey, Snapshot, WriteOutcome},
    validation::Validation,
};

use crate::PortError;

/// The table of claims. Reads are consistent; each names its cluster. Offerings without capacity are
/// a region's: what one cluster meets, every cluster in the table knows.
pub trait Ledger {
    /// The head, then every claim that is not gone, every offering that is unavailable and all memory
    /// that was measured.
    ///
    /// The generation is read first: a commit on it conflicts with whatever was missed.
    async fn snapshot(&self, cluster: &ClusterName) -> Result<Snapshot, PortError>;

    /// Makes a plan real, all of it or nothing. Idempotent by the commit's id; see [`Commit`].
    async fn commit(
        &self,
        cluster: &ClusterName,
        commit: &Commit,
    ) -> Result<CommitOutcome, PortError>;

    /// One claim, if it is there and was written to since it was promised: until then, a claim is
    /// only in the [snapshot](Ledger::snapshot).
    async fn claim(
        &self,
        cluster: &ClusterName,
        name: &NodeClaimName,
    ) -> Result<Option<NodeClaim>, PortError>;

    /// The claim whose instance is `instance`, if there is one. May lag a write by seconds.
    async fn claim_of_instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<(ClusterName, NodeClaim)>, PortError>;

    /// Stores a claim whose stored version is one below its own, and that was written to before.
    /// `Conflict` too when it is still as it was promised: it leaves its batch by
    /// [`Ledger::write_claims`]. Idempotent by version and content.
    async fn write_claim(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError>;

    /// Stores claims of one batch, each as [`Ledger::write_claim`] does, and those that are still as
    /// they were promised too. `Conflict` when any of them was refused; the others may be stored.
    async fn write_claims(
        &self,
        cluster: &ClusterName,
        claims: &[NodeClaim],
    ) -> Result<WriteOutcome, PortError>;

    /// Removes a claim whose stored version is the claim's, and that was written to since it was
    /// promised; one that was not is refused as `Permanent`. A claim that is gone was removed.
    async fn remove_claim(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError>;

    /// Removes claims of one batch, each as [`Ledger::remove_claim`] does, and those that are still as
    /// they were promised too. `Conflict` when any of them was refused; the others may be gone.
    async fn remove_claims(
        &self,
        cluster: &ClusterName,
        claims: &[NodeClaim],
    ) -> Result<WriteOutcome, PortError>;

    /// Marks offerings unavailable. A later time that stands already is kept, so that repeating and
    /// reordering do no harm.
    async fn mark_unavailable(
        &self,
        offerings: &[(model::OfferingKey, jiff::Timestamp)],
    ) -> Result<(), PortError>;

    /// Keeps until `until` that a node had so much memory. A smaller amount that stands already is
    /// kept as it is, so that repeating and reordering do no harm.
    async fn measure(
        &self,
        cluster: &ClusterName,
        key: &MeasuredKey,
        memory: Bytes,
        until: jiff::Timestamp,
    ) -> Result<(), PortError>;

    /// Moves the poll chain called `chain` from link `from` to the next, at `now`. `Conflict` when
    /// another delivery did so already. The first link of a chain starts from `None`.
    async fn advance_tick(
        &self,
        cluster: &ClusterName,
        chain: &str,
        from: Option<u64>,
        now: jiff::Timestamp,
    ) -> Result<WriteOutcome, PortError>;

    /// The newest link of a poll chain and when it was made, if there is one.
    async fn tick(
        &self,
        cluster: &ClusterName,
        chain: &str,
    ) -> Result<Option<(u64, jiff::Timestamp)>, PortError>;

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
}
