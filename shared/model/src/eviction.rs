//! PodDisruptionBudgets: which pods may be evicted.
//!
//! <https://kubernetes.io/docs/tasks/run-application/configure-pdb/>

use crate::{PodKey, selector::LabelSelector};

/// A PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodDisruptionBudget {
    /// Namespace and name.
    pub key: PodKey,
    /// Which pods of its namespace; `None` is none of them.
    pub selector: Option<LabelSelector>,
    /// `spec.minAvailable`.
    pub min_available: Option<CountOrPercent>,
    /// `spec.maxUnavailable`.
    pub max_unavailable: Option<CountOrPercent>,
    /// `unhealthyPodEvictionPolicy: AlwaysAllow`: pods that are not ready may go.
    pub always_allows_unhealthy: bool,
    /// `status.disruptionsAllowed`.
    pub disruptions_allowed: u32,
}

/// A count, or a share of a hundred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CountOrPercent {
    /// A number.
    Count(u32),
    /// A share in per cent.
    Percent(u32),
}
