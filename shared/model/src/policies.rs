//! How decisions are made, where the user may choose.
//!
//! Karpenter: `pkg/operator/options/options.go`.

use jiff::SignedDuration;

use crate::HourlyPrice;

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

/// How pods are packed onto new nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// As Karpenter packs: first fit, decreasing.
    #[default]
    Karpenter,
    /// So that what is bought costs least.
    Cheapest,
}

impl Packing {
    /// The packing that is called so, if there is one.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "karpenter" => Some(Self::Karpenter),
            "cheapest" => Some(Self::Cheapest),
            _ => None,
        }
    }

    /// What it is called.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Karpenter => "karpenter",
            Self::Cheapest => "cheapest",
        }
    }
}

/// How far nodes are looked for that could go to save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConsolidationSearch {
    /// As Karpenter looks.
    #[default]
    Karpenter,
    /// Every node by itself, and many more sets of nodes.
    Thorough,
}

/// How much nodes and pods are left in peace, beyond what Karpenter does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calm {
    /// For how long consolidation leaves a workload alone of which a pod was moved; zero is as Karpenter.
    pub workload_rest: SignedDuration,
    /// What a new node must save at least of the price of those that it takes the place of, in
    /// millionths. With more than 0 it is not of the type of one of them either.
    pub saving_min_millionths: u64,
    /// What consolidation must save at least in one hour for each pod that it moves.
    pub saving_per_move_min: HourlyPrice,
    /// How many pods consolidation and drift may move within an hour; `None` is any number.
    pub moves_per_hour_max: Option<u64>,
}

impl Calm {
    /// For how long moves count against `moves_per_hour_max`.
    pub const HOUR: SignedDuration = SignedDuration::from_hours(1);

    /// For how long it has to be known what was moved; `None` if no policy needs it.
    pub fn remembers_for(&self) -> Option<SignedDuration> {
        let hour = self.moves_per_hour_max.map(|_| Self::HOUR);
        let rest = Some(self.workload_rest).filter(SignedDuration::is_positive);
        hour.max(rest)
    }
}

/// Karpenter's settings and feature gates that decide something, and ours.
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
    /// Gate `RebootForRepair` of the AWS provider: ill nodes for which that may be enough are rebooted.
    pub reboot_for_repair: bool,
    /// Gate `NodeClassCEL` of the AWS provider: expressions in `spec.kubelet` of EC2NodeClasses are evaluated.
    pub node_class_cel: bool,
    /// `IGNORE_DRA_REQUESTS=false`: pods with ResourceClaims are placed where their devices are.
    pub heeds_dra_requests: bool,
    /// Gate `DRANVIDIAGPU` of the AWS provider: NVIDIA's GPUs of instance types are known before their nodes join.
    pub dra_nvidia_gpu: bool,
    /// Gate `DRAEFA` of the AWS provider: the same for network interfaces with EFA.
    pub dra_efa: bool,
    /// Gate `TerminateFirstDrift`.
    pub terminate_first_drift: bool,
    /// Gate `TerminateFirstRepair`.
    pub terminate_first_repair: bool,
    /// Gate `PodDeletionCostManagement`: deletion costs of pods are written by Karpenter, and say
    /// nothing about what moving them costs.
    pub pod_deletion_cost_management: bool,
    /// How pods are packed, in NodePools that do not say it themselves.
    pub packing: Packing,
    /// What every node counts as beside what it costs, when fleets are compared: few large nodes or many
    /// small ones.
    pub node_charge: HourlyPrice,
    /// What all nodes of NodePools may cost together in an hour; `None` is any price.
    pub dollars_per_hour_max: Option<HourlyPrice>,
    /// How far consolidation looks.
    pub consolidation: ConsolidationSearch,
    /// How much is left in peace.
    pub calm: Calm,
}

/// Why a text does not set gates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{gate}`: {rule}")]
pub struct InvalidGate {
    /// What was written of the gate.
    pub gate: String,
    /// The rule that it breaks.
    pub rule: String,
}

/// How the field of a gate is reached.
type OfGate = fn(&mut Policies) -> &mut bool;

/// Karpenter's feature gates by name, sorted; those of its AWS provider among them.
pub const GATES: [(&str, OfGate); 13] = [
    ("CapacityBuffer", |policies| &mut policies.capacity_buffer),
    ("DRAEFA", |policies| &mut policies.dra_efa),
    ("DRANVIDIAGPU", |policies| &mut policies.dra_nvidia_gpu),
    ("NodeClassCEL", |policies| &mut policies.node_class_cel),
    ("NodeOverlay", |policies| &mut policies.node_overlay),
    ("NodeRepair", |policies| &mut policies.node_repair),
    ("PodDeletionCostManagement", |policies| &mut policies.pod_deletion_cost_management),
    ("RebootForRepair", |policies| &mut policies.reboot_for_repair),
    ("ReservedCapacity", |policies| &mut policies.reserved_capacity),
    ("SpotToSpotConsolidation", |policies| &mut policies.spot_to_spot_consolidation),
    ("StaticCapacity", |policies| &mut policies.static_capacity),
    ("TerminateFirstDrift", |policies| &mut policies.terminate_first_drift),
    ("TerminateFirstRepair", |policies| &mut policies.terminate_first_repair),
];

impl Policies {
    /// Sets gates as `--feature-gates` says: names with `=true` or `=false`, separated by commas. Later
    /// ones count.
    ///
    /// # Errors
    ///
    /// A gate that there is not, or one without a value that is a boolean. Nothing is set then.
    pub fn set_gates(&mut self, text: &str) -> Result<(), InvalidGate> {
        let mut policies = *self;
        for gate in text.split(',').map(str::trim).filter(|gate| !gate.is_empty()) {
            let bad = |rule: String| InvalidGate { gate: gate.to_owned(), rule };
            let (name, value) = gate
                .split_once('=')
                .ok_or_else(|| bad("must be a name and `=true` or `=false`".to_owned()))?;
            let is_on = match value.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "t" => true,
                "false" | "0" | "f" => false,
                _ => return Err(bad("must be `true` or `false`".to_owned())),
            };
            let known = GATES.iter().find(|(known, _)| *known == name.trim());
            let (_, of_gate) = known.ok_or_else(|| {
                bad(format!(
                    "there is no such gate; there are {}",
                    GATES.map(|(known, _)| known).join(", ")
                ))
            })?;
            *of_gate(&mut policies) = is_on;
        }
        *self = policies;
        Ok(())
    }

    /// The gates and whether each is open, sorted by name.
    pub fn gates(mut self) -> [(&'static str, bool); 13] {
        GATES.map(|(name, of_gate)| (name, *of_gate(&mut self)))
    }

    /// Whether pods with ResourceClaims are placed: either gate of devices asks for it, too.
    ///
    /// Karpenter: `charts/karpenter/templates/deployment.yaml` of the AWS provider.
    pub const fn places_claims(&self) -> bool {
        self.heeds_dra_requests || self.dra_nvidia_gpu || self.dra_efa
    }

    /// Whether ill nodes are disrupted by a method of disruption.
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
            reboot_for_repair: false,
            node_class_cel: false,
            heeds_dra_requests: false,
            dra_nvidia_gpu: false,
            dra_efa: false,
            terminate_first_drift: false,
            terminate_first_repair: false,
            pod_deletion_cost_management: false,
            packing: Packing::default(),
            node_charge: HourlyPrice::default(),
            dollars_per_hour_max: None,
            consolidation: ConsolidationSearch::default(),
            calm: Calm::default(),
        }
    }
}
