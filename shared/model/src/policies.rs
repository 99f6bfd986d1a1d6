//! How decisions are made, where the user may choose.
//!
//! Karpenter: `pkg/operator/options/options.go`.

/// What becomes of a pod's preferences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PreferencePolicy {
    /// They hold until nothing can be launched with them.
    #[default]
    Respect,
    /// They are not looked at.
    Ignore,
}

/// What becomes of `minValues`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MinValuesPolicy {
    /// They hold.
    #[default]
    Strict,
    /// They are lowered to what there is, and the claim says so.
    BestEffort,
}

/// Karpenter's settings and feature gates that decide something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a feature gate of its own")]
pub struct Policies {
    /// `--preference-policy`.
    pub preferences: PreferencePolicy,
    /// `--min-values-policy`.
    pub min_values: MinValuesPolicy,
    /// Gate `ReservedCapacity`, on by default.
    pub reserved_capacity: bool,
    /// Gate `SpotToSpotConsolidation`.
    pub spot_to_spot_consolidation: bool,
    /// Gate `NodeOverlay`.
    pub node_overlay: bool,
    /// Gate `StaticCapacity`.
    pub static_capacity: bool,
    /// Gate `CapacityBuffer`.
    pub capacity_buffer: bool,
    /// Gate `NodeRepair`.
    pub node_repair: bool,
    /// `--legacy-node-repair`: nodes are repaired as by Karpenter 1.14, by no method of disruption.
    pub legacy_node_repair: bool,
    /// Gate `TerminateFirstDrift`.
    pub terminate_first_drift: bool,
    /// Gate `TerminateFirstRepair`.
    pub terminate_first_repair: bool,
    /// Gate `PodDeletionCostManagement`: deletion costs of pods are written by Karpenter, and say
    /// nothing about what moving them costs.
    pub pod_deletion_cost_management: bool,
}

impl Policies {
    /// Whether ill nodes are given up by a method of disruption.
    pub const fn repairs_nodes(&self) -> bool {
        self.node_repair && !self.legacy_node_repair
    }
}

impl Default for Policies {
    /// Karpenter 1.15's defaults.
    fn default() -> Self {
        Self {
            preferences: PreferencePolicy::default(),
            min_values: MinValuesPolicy::default(),
            reserved_capacity: true,
            spot_to_spot_consolidation: false,
            node_overlay: false,
            static_capacity: false,
            capacity_buffer: false,
            node_repair: false,
            legacy_node_repair: false,
            terminate_first_drift: false,
            terminate_first_repair: false,
            pod_deletion_cost_management: false,
        }
    }
}
