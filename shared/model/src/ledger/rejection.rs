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

            /// The reason called `text`; [`Self::Other`] is what nobody here knows.
            pub fn parse(text: &str) -> Self {
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
    /// The pod and the NodePool ask for different values of a label.
    IncompatibleRequirements,
    /// The volumes of the pod are where the NodePool launches nothing.
    VolumesElsewhere,
    /// No instance type has what the pod and the NodePool ask for.
    NoInstanceType,
    /// Instance types that would do cannot be bought now.
    NotSold,
    /// Every capacity reservation that could be used is full.
    ReservationsFull,
    /// The pod asks for more of a resource than any instance type has.
    TooLarge,
    /// A DaemonSet takes a host port that the pod needs.
    HostPortTaken,
    /// Every instance type that fits is more than the limits of the NodePool leave.
    LimitsExceeded,
    /// Every instance type that fits costs more than a cap in dollars leaves, of the NodePool or of the cluster.
    DollarCapReached,
    /// Too few instance types are left for a `minValues`.
    MinValues,
    /// A topology spread constraint, an affinity or an anti-affinity to other pods leaves no domain.
    TopologyRules,
    /// What the pod asks for is there, and nowhere together.
    NothingTogether,
    /// The NodePool or its EC2NodeClass is not ready, or launches were refused.
    NodePoolClosed,
    /// There is no NodePool.
    NoNodePool,
    /// The pod asks for something that is not supported, or cannot be read.
    PodRefused,
    /// One plan considers only so much: the next one goes on.
    LeftForNextPlan,
    /// What was chosen could not be promised after all.
    NotPromised,
    /// A static NodePool does not get its replicas: limits, or it is not usable.
    ReplicasMissing,

    // Of launches.
    /// EC2 had no capacity for any offering that the launch may use.
    InsufficientCapacity,
    /// EC2 refused the request, or nothing could be asked for.
    LaunchRefused,
    /// The EC2NodeClass was not ready for as long as a launch may take.
    NodeClassNotReady,

    // Of nodes that are not disrupted.
    /// A NodeClaim has no instance yet, so that nothing is decided.
    Incomplete,
    /// Nobody manages the node.
    Unmanaged,
    /// The node did not join yet.
    NotJoined,
    /// The node is not initialized.
    NotInitialized,
    /// The node is being given up already.
    AlreadyGoing,
    /// Pending pods were promised to the node.
    Nominated,
    /// An annotation protects the node, or a pod on it.
    DoNotDisrupt,
    /// The node lacks a label that is needed, or its NodePool.
    NotOfNodePool,
    /// A pod that may be on the node cannot be read.
    UnreadablePod,
    /// A PodDisruptionBudget allows no disruption of a pod on the node.
    PodDisruptionBudget,
    /// The method is for other NodePools: static ones, or those that are not.
    OtherMethod,
    /// The node has not drifted.
    NotDrifted,
    /// The node is not ill, or not for long enough.
    NotIll,
    /// `consolidationPolicy` or `consolidateAfter` of the NodePool says no.
    ConsolidationDisabled,
    /// Pods run on the node that need another one.
    Used,
    /// Nothing must have happened on the node for `consolidateAfter`.
    NotConsolidatable,
    /// The price of the node is not known.
    UnknownPrice,
    /// The node is empty: another method looks after it.
    Empty,
    /// A setting that keeps workloads calm holds it back.
    Calm,
    /// Too many nodes of the NodePool are ill.
    TooManyIll,
    /// One look simulates only so much, and the node was not reached.
    NotReached,
    /// The disruption budgets of the NodePool are spent.
    BudgetSpent,
    /// A budget or a limit leaves room for others only.
    NoRoom,
    /// The node cannot go together with others, or there is no other.
    NotTogether,
    /// A pod of the node, or of the cluster, would find no place.
    NoPlaceForPods,
    /// The pods of the node would need several new nodes.
    ManyNodes,
    /// Whatever could take the pods is not cheaper, or not by enough.
    NotCheaper,
    /// Replacing spot by spot is not allowed here.
    SpotToSpot,
    /// The replacement could be like the node.
    SameType,
    /// The node, its claim or what was to replace it is not there any more, or not as it was.
    Changed,

    // Of commands that are rolled back.
    /// A replacement is gone.
    ReplacementGone,
    /// A replacement was not ready in time.
    ReplacementLate,
    /// A reboot was refused, or the node did not come back from it.
    RebootFailed,
}
