//! Who says in the cluster that it provisions its nodes.
//!
//! <https://kubernetes.io/docs/concepts/architecture/leases/>

use jiff::{SignedDuration, Timestamp};

use crate::LedgerId;

/// Name of the lease by which Karpenter elects its leader, in the namespace that it runs in.
///
/// Karpenter: `pkg/operator/operator.go`, `LeaderElectionID`.
pub const KARPENTER_LEASE: &str = "karpenter-leader-election";
/// Label of Karpenter's pods, and its value.
///
/// Karpenter: `charts/karpenter/templates/_helpers.tpl` of the AWS provider.
pub const KARPENTER_LABEL: (&str, &str) = ("app.kubernetes.io/name", "karpenter");
/// The longest that a lease of Karpenter is taken at its word; Karpenter's own lasts for 15 seconds.
const KARPENTER_LEASE_DURATION_MAX: SignedDuration = SignedDuration::from_mins(5);
/// Name of the lease of ours, in the namespace `kube-system`.
pub const LEDGER_LEASE: &str = "journeyman";
/// A lease of ours expires after this time without a renewal: it is renewed each minute.
pub const LEDGER_LEASE_DURATION: SignedDuration = SignedDuration::from_mins(3);

/// The leases that say who provisions the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedLeases {
    /// Karpenter's, one for each namespace that has one.
    pub karpenter: Vec<KarpenterLease>,
    /// Those under the name of Karpenter's that cannot be read.
    pub unreadable: Vec<UnreadableLease>,
    /// Pods of a Karpenter that runs without a lease of that name.
    pub without_lease: Vec<KarpenterPod>,
    /// Ours.
    pub ledger: Option<LedgerLease>,
}

/// A pod of Karpenter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KarpenterPod {
    /// The namespace that it is in.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A lease under the name of Karpenter's that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableLease {
    /// The namespace that it is in.
    pub namespace: String,
    /// What is wrong.
    pub why: String,
}

impl UnreadableLease {
    /// Its kind, namespace and name.
    pub fn object(&self) -> String {
        format!("Lease {}/{KARPENTER_LEASE}", self.namespace)
    }
}

/// A lease of Karpenter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KarpenterLease {
    /// The namespace that it is in.
    pub namespace: String,
    /// `spec.holderIdentity`; empty once its holder gave it back.
    pub holder: String,
    /// `spec.renewTime`.
    pub renewed_at: Timestamp,
    /// `spec.leaseDurationSeconds`.
    pub duration: SignedDuration,
}

impl KarpenterLease {
    /// Whether it is held at `now`. For a minute after it ran out another replica may take it. One that says
    /// that it lasts for longer than five minutes, or that it was renewed so long after `now`, is not Karpenter's.
    pub fn is_held(&self, now: Timestamp) -> bool {
        let held_for = self.duration.saturating_add(SignedDuration::from_mins(1));
        let age = now.duration_since(self.renewed_at);
        let is_believable =
            self.duration <= KARPENTER_LEASE_DURATION_MAX && -KARPENTER_LEASE_DURATION_MAX <= age;
        !self.holder.is_empty() && is_believable && age < held_for
    }
}

/// The lease of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerLease {
    /// The ledger, in `spec.holderIdentity`.
    pub ledger: LedgerId,
    /// Its arrivals when the lease was renewed, in an annotation: a table that has fewer is an old backup.
    pub arrivals: u64,
    /// `spec.renewTime`.
    pub renewed_at: Timestamp,
}

impl LedgerLease {
    /// Whether its ledger is in use at `now`.
    pub fn is_held(&self, now: Timestamp) -> bool {
        now.duration_since(self.renewed_at) < LEDGER_LEASE_DURATION
    }
}
