//! Why something was not chosen, as a word that machines compare.

macro_rules! rejection_reasons {
    ($($(#[doc = $doc:literal])+ $name:ident,)*) => {
        /// Why a decision did not choose something. Records keep the word, and beside it the reason in words.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub enum RejectionReason {
            $($(#[doc = $doc])+ $name,)*
            /// Only the words are known: another release wrote the record.
            #[default]
            Other,
        }

        impl RejectionReason {
            /// Every one that is written.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The word in records, such as `BudgetSpent`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                    Self::Other => "Other",
                }
            }

            /// The reason called `text`; [`Self::Other`] if it is unknown.
            pub fn parse(text: &str) -> Self {
                // Earlier releases wrote another word.
                if text == "NotPromised" {
                    return Self::NotCreated;
                }
                let known = Self::ALL.iter().find(|reason| reason.as_str() == text);
                known.copied().unwrap_or_default()
            }
        }
    };
}

rejection_reasons! {
    // Of NodePools that launch nothing for pods.
    /// The pod does not tolerate a taint of the NodePool.
    TaintNotTolerated,
    /// The pod and the NodePool require different values of a label.
    IncompatibleRequirements,
    /// The pod's volumes are where the NodePool launches nothing.
    VolumesElsewhere,
    /// No instance type meets the requirements of pod and NodePool.
    NoInstanceType,
    /// The matching instance types are unavailable now.
    NotSold,
    /// Every usable capacity reservation is full.
    ReservationsFull,
    /// The pod requests more of a resource than any instance type has.
    TooLarge,
    /// A DaemonSet uses a host port that the pod needs.
    HostPortTaken,
    /// Every fitting instance type exceeds the limits of the NodePool.
    LimitsExceeded,
    /// Every fitting instance type exceeds a price cap, of the NodePool or the cluster.
    DollarCapReached,
    /// Too few instance types remain for a `minValues`.
    MinValues,
    /// The pod's ResourceClaims get no devices on this node.
    NoDevices,
    /// Topology spread, affinity or anti-affinity leaves no domain.
    TopologyRules,
    /// Each requirement can be met, but not all together.
    NothingTogether,
    /// The NodePool or EC2NodeClass is not ready, or EC2 refused launches.
    NodePoolClosed,
    /// The EC2NodeClass of the NodePool was not resolved yet: nothing is wrong with it so far.
    ClassUnresolved,
    /// There is no NodePool.
    NoNodePool,
    /// The pod is unreadable or requests something unsupported.
    PodRefused,
    /// The plan is full; the next plan continues.
    LeftForNextPlan,
    /// The NodeClaim could not be created after all.
    NotCreated,
    /// A static NodePool cannot reach its replicas.
    ReplicasMissing,

    // Of launches.
    /// EC2 has no capacity for any permitted offering.
    InsufficientCapacity,
    /// EC2 refused the launch, or no request was possible.
    LaunchRefused,
    /// The EC2NodeClass was not ready in time.
    NodeClassNotReady,

    // Of nodes that are not disrupted.
    /// A NodeClaim has no instance yet, so nothing is decided.
    Incomplete,
    /// The node is not managed.
    Unmanaged,
    /// The node has not joined yet.
    NotJoined,
    /// The node is not initialized.
    NotInitialized,
    /// The node is already being disrupted.
    AlreadyGoing,
    /// Pending pods are nominated to the node.
    Nominated,
    /// An annotation on the node or a pod blocks disruption.
    DoNotDisrupt,
    /// The node lacks its NodePool or a required label.
    NotOfNodePool,
    /// A pod that may be on the node is unreadable.
    UnreadablePod,
    /// A PodDisruptionBudget blocks a pod on the node.
    PodDisruptionBudget,
    /// The method is for other NodePools: only static, or only others.
    OtherMethod,
    /// The node has not drifted.
    NotDrifted,
    /// The node does not fail, or not for long enough.
    NotIll,
    /// `consolidationPolicy` or `consolidateAfter` excludes the node.
    ConsolidationDisabled,
    /// Pods on the node need another node.
    Used,
    /// Waiting for `consolidateAfter` since the last pod change.
    NotConsolidatable,
    /// The price of the node is unknown.
    UnknownPrice,
    /// The node is empty; removed by emptiness.
    Empty,
    /// `WorkloadRest`, `ReplacementSaving`, `MoveSaving` or `MovesPerHour` holds it back.
    Calm,
    /// Too many nodes of the NodePool fail.
    TooManyIll,
    /// The search ended before this node.
    NotReached,
    /// The disruption budgets of the NodePool are used up.
    BudgetSpent,
    /// The remaining budget or limit is used by other nodes.
    NoRoom,
    /// The rollout of the EC2NodeClass waits for canaries, is halted or frozen, or its annotations are invalid.
    Rollout,
    /// The node cannot be disrupted together with other nodes, or there is no other.
    NotTogether,
    /// A pod of the node, or of the cluster, could not be scheduled.
    NoPlaceForPods,
    /// The pods of the node would need several new nodes.
    ManyNodes,
    /// The replacement is not cheaper, or not by enough.
    NotCheaper,
    /// Spot-to-spot consolidation is off or not allowed here.
    SpotToSpot,
    /// The replacement could be the same as the node.
    SameType,
    /// The node, NodeClaim or replacement has changed since.
    Changed,

    // Of commands that are rolled back.
    /// A replacement is gone.
    ReplacementGone,
    /// A replacement was not ready in time.
    ReplacementLate,
    /// EC2 refused the reboot, or the node did not return.
    RebootFailed,
}
