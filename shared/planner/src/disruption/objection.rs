//! Why nodes are not disrupted: as values, which can be compared, and which have words for people.

use jiff::{SignedDuration, Timestamp};
use model::{
    HourlyPrice, NodeClassName, NodePoolName, PodKey,
    disruption::DisruptionReason,
    labels,
    ledger::{Rejected, RejectionReason},
};

use super::consolidation::SPOT_TYPES_MIN;
use crate::eviction::Immovable;

/// Less than any instance costs, and more than an instance of a capacity reservation counts for: a ten-millionth of its
/// on-demand price.
const LESS_THAN_ANY: HourlyPrice = HourlyPrice::from_nanos(100_000);

/// Why nothing is cheaper than `price`.
fn not_below(price: HourlyPrice) -> String {
    if price == HourlyPrice::default() {
        "its own price is not known, or 0".to_owned()
    } else if price < LESS_THAN_ANY {
        "its capacity reservation is paid for anyway".to_owned()
    } else {
        format!("nothing below {} an hour fits its pods", price.in_words())
    }
}

/// Why a node is not disrupted: at all, by one method, or together with others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Objection {
    /// Nothing is decided before Karpenter's view of the cluster would be complete.
    #[error("nothing is disrupted while a NodeClaim has no instance")]
    Incomplete,

    // Of nodes that are no candidates.
    /// No claim of the ledger is its.
    #[error(
        "no NodeClaim with an EC2NodeClass: neither Karpenter nor Journeyman manages this node"
    )]
    Unmanaged,
    /// Its label says that it is EKS Auto Mode's.
    #[error("EKS Auto Mode manages this node")]
    OfAutoMode,
    /// There is only its claim so far.
    #[error("its node has not registered yet")]
    NotJoined,
    /// Its node is not labeled as initialized.
    #[error("not initialized")]
    NotInitialized,
    /// Its claim is being deleted.
    #[error("already being disrupted")]
    AlreadyGoing,
    /// Pods wait for it.
    #[error("nominated for pending pods")]
    Nominated,
    /// It has the annotation `karpenter.sh/do-not-disrupt` itself.
    #[error("blocked by its annotation {}", labels::DO_NOT_DISRUPT)]
    Protected,
    /// It does not have this label.
    #[error("no label {0}")]
    NoLabel(&'static str),
    /// The NodePool that its label names does not exist.
    #[error("its NodePool {0} does not exist")]
    NoNodePool(String),
    /// Nothing can be bought for its NodePool.
    #[error("its NodePool {0} has no instance types")]
    NoInstanceTypes(NodePoolName, Option<String>),
    /// A pod on it cannot be read: its needs are unknown.
    #[error("pod {0} on it cannot be read")]
    UnreadablePod(PodKey),
    /// A pod cannot be read, nor on which node it is: this, in words.
    #[error("a pod that cannot be read may be on it: {0}")]
    UnlocatedPod(String),
    /// A pod on it may not be moved now.
    #[error(transparent)]
    Immovable(#[from] Immovable),

    // Of candidates that a method passes over.
    /// The method is for static NodePools only.
    #[error("NodePool {0} is not static")]
    NotStatic(NodePoolName),
    /// The method is not for static NodePools.
    #[error("NodePool {0} is static: only drift replaces its nodes")]
    Static(NodePoolName),
    /// It looks like its NodePool and its EC2NodeClass.
    #[error("not drifted")]
    NotDrifted,
    /// No condition of its node says that it is ill, or none for long enough.
    #[error("healthy, or not unhealthy for long enough")]
    NotIll,
    /// The NodePool is not consolidated.
    #[error("consolidateAfter of NodePool {0} is Never")]
    NeverConsolidated(NodePoolName),
    /// It hosts virtual pods of a CapacityBuffer.
    #[error("reserved for a CapacityBuffer")]
    KeepsRoom,
    /// The number of its pods that would need another node.
    #[error("not empty: {} would need another node", model::words::counted(*.0, "pod"))]
    Used(usize),
    /// It is not empty, though moving its pods costs next to nothing.
    #[error("not empty: pods run on it that are cheap to move")]
    CheaplyUsed,
    /// Its condition `Consolidatable` says so: its NodePool's `consolidateAfter`, which is this, is not over.
    #[error(
        "waiting for consolidateAfter ({}) since its last pod change: its condition Consolidatable is not true",
        model::duration::format_go(*.0)
    )]
    NotConsolidatable(SignedDuration),
    /// Pods came or went more recently than its NodePool's `consolidateAfter`, which is this.
    #[error(
        "waiting for consolidateAfter ({}) since its last pod change",
        model::duration::format_go(*.0)
    )]
    Unsettled(SignedDuration),
    /// Its NodePool does not offer its instance type.
    #[error("no known price: its NodePool does not offer its instance type")]
    UnknownInstanceType,
    /// It is for the method emptiness.
    #[error("empty; removed by emptiness")]
    Empty,
    /// `consolidationPolicy` of its NodePool is `WhenEmpty`.
    #[error("not empty, and consolidationPolicy of NodePool {0} is WhenEmpty")]
    OnlyWhenEmpty(NodePoolName),

    /// The workload of this pod rests: a pod of it was moved lately.
    #[error("the workload of pod {0} was moved recently (setting WorkloadRest)")]
    MovedLately(PodKey),
    /// The number of pods moved within an hour; with its own pods the limit would be exceeded.
    #[error(
        "{} moved within the last hour, which is the maximum (setting MovesPerHour)",
        model::words::counted(*.0, "pod")
    )]
    ManyMoves(usize),

    // Of nodes that a method looked at.
    /// Too many nodes of its NodePool are ill.
    #[error("more than 20% of the nodes of NodePool {0} are unhealthy: repair is paused")]
    ManyIll(NodePoolName),
    /// What one look may simulate was used up before it was its turn.
    #[error(
        "not reached: one look simulates a limited number of pods, and the next look continues"
    )]
    NotReached,
    /// Others of its NodePool are disrupted, or it is closed now. The text names them: it changes from look to
    /// look, so only [`Self::in_full`] has it.
    #[error("blocked by the disruption budgets of its NodePool for {}", .0.as_str())]
    BudgetSpent(DisruptionReason, String),
    /// A budget cannot be read, and closes its NodePool: which and why.
    #[error("no node of its NodePool is disrupted: {0}")]
    UnreadableBudget(String),
    /// The annotations of its EC2NodeClass cannot be read: which and why.
    #[error("no drifted node of EC2NodeClass {0} is replaced: {1}")]
    UnreadableRollout(NodeClassName, String),
    /// The EC2NodeClass is frozen: by which text.
    #[error("no drifted node of EC2NodeClass {class} is replaced {}: frozen by `{text}`", until(*.ends, "now"))]
    Frozen {
        /// The EC2NodeClass.
        class: NodeClassName,
        /// The freeze as written.
        text: String,
        /// When it ends; `None` if it goes on for a long time.
        ends: Option<Timestamp>,
    },
    /// Canaries of the rollout of the EC2NodeClass come first.
    #[error("the rollout of EC2NodeClass {class} waits for its canaries{}", baking(*.bake_ends))]
    AwaitsCanaries {
        /// The EC2NodeClass.
        class: NodeClassName,
        /// When the bake time of all canaries is over; `None` if not all of them are ready.
        bake_ends: Option<Timestamp>,
    },
    /// The rollout of the EC2NodeClass is halted: why.
    #[error("the rollout of EC2NodeClass {0} is halted: {1}")]
    RolloutHalted(NodeClassName, String),
    /// Others of its static NodePool go first.
    #[error("other nodes of its NodePool come first: the budget or the limit allows no more")]
    NoRoomInNodePool,
    /// Its static NodePool has as many nodes as it may have, and its replacement would be one more.
    #[error("its static NodePool is at limits.nodes: a replacement needs a limit above replicas")]
    AtNodeLimit,
    /// Its static NodePool is being scaled down.
    #[error("its NodePool has more nodes than replicas: the surplus is removed first")]
    ScalesDown,
    /// The method disrupts several nodes, and no other is left.
    #[error("no second node can be consolidated with it")]
    Alone,
    /// Nodes that are cheaper to disrupt go without it.
    #[error("cannot be consolidated together with the nodes that are cheaper to disrupt")]
    NotTogether,
    /// It cannot be disrupted together with this number of better nodes before it.
    #[error("together with {}: {objection}", model::words::counted(*.before, "other node"))]
    Together {
        /// How many nodes there are before it.
        before: usize,
        /// Why they cannot go all.
        objection: Box<Self>,
    },

    // Of what would become of its pods.
    /// No pool may launch or take pods: nothing can be simulated.
    #[error("no NodePool is ready, so no pod can be planned elsewhere")]
    NoReadyNodePool,
    /// A pod that runs would find no other place.
    #[error("pod {pod} cannot be scheduled elsewhere: {why}")]
    NoPlace {
        /// The pod.
        pod: PodKey,
        /// What the scheduler says, pool by pool, in words.
        why: String,
    },
    /// Without it the pods of the cluster cannot all run.
    #[error("without this node, {0}")]
    Stuck(Box<Self>),
    /// Its pods fit onto other nodes only as kube-scheduler need not place them.
    #[error("its pods fit elsewhere only in an order that kube-scheduler need not follow")]
    OneWayOnly,
    /// Its pods fit onto other nodes, on which pods came or went more recently than `consolidateAfter`.
    #[error(
        "its pods fit only onto nodes that are waiting for consolidateAfter since their last pod change"
    )]
    OthersUnsettled,
    /// The number of new nodes that would be needed; one is the maximum.
    #[error("its pods need {} new nodes, and consolidation launches at most 1", model::words::many(*.0))]
    ManyNodes(usize),
    /// What would be launched cannot be created after all: in words.
    #[error("its replacement cannot be launched: {0}")]
    NotCreated(String),
    /// Everything that could come may cost as much as this in one hour.
    #[error("no cheaper replacement: {}", not_below(*.0))]
    NotCheaper(HourlyPrice),
    /// Everything that could come saves too little beside this price for one hour.
    #[error("a replacement would save too little of {} an hour", .0.in_words())]
    SavesLittle(HourlyPrice),
    /// Too few instance types are left for a `minValues`.
    #[error("too few cheaper instance types for minValues of its NodePool")]
    MinValues,
    /// The gate for replacing spot by spot is closed.
    #[error("spot-to-spot consolidation is off (feature gate SpotToSpotConsolidation)")]
    SpotGate,
    /// The number of cheaper instance types for spot-to-spot replacement, which is too small.
    #[error(
        "spot-to-spot consolidation needs at least {SPOT_TYPES_MIN} cheaper instance types, and there \
         are {0}"
    )]
    FewSpotTypes(usize),
    /// The replacement could be one of the nodes themselves.
    #[error("its replacement could be of the instance type that it replaces")]
    SameType,
    /// It saves less in one hour than is asked for the pods that it moves.
    #[error(
        "saves {} an hour, and moving {} must save {}",
        .saved.in_words(),
        model::words::counted(*.pods, "pod"),
        .least.in_words()
    )]
    YieldsLittle {
        /// What it saves.
        saved: HourlyPrice,
        /// How many pods it moves.
        pods: usize,
        /// What that must save.
        least: HourlyPrice,
    },
    /// It saves too little for the pods that it moves.
    #[error("saves too little for the pods that would move (consolidationPolicy Balanced)")]
    Score,

    // Of a command that is looked at again.
    /// Its claim is not in the ledger any more.
    #[error("its NodeClaim is gone")]
    Gone,
    /// Its node is not in the cluster any more.
    #[error("its node is gone")]
    NodeGone,
    /// It was empty, a pod came, and it is empty again.
    #[error("a pod needed it meanwhile")]
    Needed,
    /// What would be launched now is not all that the command would launch.
    #[error("its replacement may not have all of its instance types any more")]
    FewerInstanceTypes,
    /// More or fewer nodes would be launched than the command would launch.
    #[error("its pods need {in_flight} new nodes now, not {expected}")]
    OtherCount {
        /// How many nodes would be launched now.
        in_flight: usize,
        /// How many the command would launch.
        expected: usize,
    },
}

/// `until 2026-01-05T09:00:00Z`, or `else_text` if that is not known.
fn until(time: Option<Timestamp>, else_text: &str) -> String {
    time.map_or_else(|| else_text.to_owned(), |time| format!("until {time:.0}"))
}

fn baking(ends: Option<Timestamp>) -> String {
    ends.map(|ends| format!(", which must be healthy until {ends:.0}")).unwrap_or_default()
}

impl Objection {
    /// In words for `plan`, with names and numbers that differ from look to look. Records have the shorter words of
    /// `Display`, so that the same decision is recorded once.
    pub fn in_full(&self) -> String {
        match self {
            Self::BudgetSpent(_, why) | Self::NoInstanceTypes(_, Some(why)) => {
                format!("{self}: {why}")
            }
            _ => self.to_string(),
        }
    }

    /// Whether it says no more than that the method is meant for other nodes.
    pub(super) const fn is_of_others(&self) -> bool {
        matches!(
            self,
            Self::Static(_)
                | Self::NotStatic(_)
                | Self::NotDrifted
                | Self::NotIll
                | Self::Empty
                | Self::Used(_)
                | Self::CheaplyUsed
                | Self::KeepsRoom
        )
    }

    /// The same in a record: why `what` stays.
    pub fn rejected(&self, what: Option<String>) -> Rejected {
        Rejected { what, reason: self.reason(), why: self.to_string() }
    }

    /// The same as a word.
    pub const fn reason(&self) -> RejectionReason {
        use RejectionReason as Why;
        match self {
            Self::Incomplete => Why::Incomplete,
            Self::Unmanaged | Self::OfAutoMode => Why::Unmanaged,
            Self::NotJoined => Why::NotJoined,
            Self::NotInitialized => Why::NotInitialized,
            Self::AlreadyGoing => Why::AlreadyGoing,
            Self::Nominated => Why::Nominated,
            Self::Protected | Self::Immovable(Immovable::Protected { .. }) => Why::DoNotDisrupt,
            Self::NoLabel(_) | Self::NoNodePool(_) | Self::NoInstanceTypes(..) => {
                Why::NotOfNodePool
            }
            Self::UnreadablePod(_) | Self::UnlocatedPod(_) => Why::UnreadablePod,
            Self::Immovable(_) => Why::PodDisruptionBudget,
            Self::NotStatic(_) | Self::Static(_) => Why::OtherMethod,
            Self::NotDrifted => Why::NotDrifted,
            Self::NotIll => Why::NotIll,
            Self::NeverConsolidated(_) | Self::OnlyWhenEmpty(_) => Why::ConsolidationDisabled,
            Self::KeepsRoom | Self::Used(_) | Self::CheaplyUsed | Self::Needed => Why::Used,
            Self::NotConsolidatable(_) | Self::Unsettled(_) | Self::OthersUnsettled => {
                Why::NotConsolidatable
            }
            Self::UnknownInstanceType => Why::UnknownPrice,
            Self::Empty => Why::Empty,
            Self::MovedLately(_) | Self::ManyMoves(_) => Why::Calm,
            Self::ManyIll(_) => Why::TooManyIll,
            Self::NotReached => Why::NotReached,
            Self::BudgetSpent(..) | Self::UnreadableBudget(_) => Why::BudgetSpent,
            Self::UnreadableRollout(..)
            | Self::Frozen { .. }
            | Self::AwaitsCanaries { .. }
            | Self::RolloutHalted(..) => Why::Rollout,
            Self::NoRoomInNodePool | Self::AtNodeLimit | Self::ScalesDown => Why::NoRoom,
            Self::Alone | Self::NotTogether => Why::NotTogether,
            Self::Together { objection, .. } => objection.reason(),
            Self::NoReadyNodePool => Why::NodePoolClosed,
            Self::NoPlace { .. } | Self::Stuck(_) | Self::OneWayOnly => Why::NoPlaceForPods,
            Self::ManyNodes(_) => Why::ManyNodes,
            Self::NotCreated(_) => Why::NotCreated,
            Self::NotCheaper(_)
            | Self::SavesLittle(_)
            | Self::YieldsLittle { .. }
            | Self::Score => Why::NotCheaper,
            Self::MinValues => Why::MinValues,
            Self::SpotGate | Self::FewSpotTypes(_) => Why::SpotToSpot,
            Self::SameType => Why::SameType,
            Self::Gone | Self::NodeGone | Self::FewerInstanceTypes | Self::OtherCount { .. } => {
                Why::Changed
            }
        }
    }
}
