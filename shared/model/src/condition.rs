//! Status conditions: what controllers say about an object, with Karpenter's words.
//!
//! Karpenter: `pkg/apis/v1/{nodeclaim,nodepool}_status.go`; the AWS provider's
//! `pkg/apis/v1/ec2nodeclass_status.go` and `pkg/controllers/nodeclass`; the roll-up is that of
//! `github.com/awslabs/operatorpkg/status`.

use std::fmt;

use crate::{DeletionReason, join::JoinReason, validation::FailedCheck};

/// The type of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionKind {
    /// Of an EC2NodeClass: its terms select images.
    AmisReady,
    /// Of an EC2NodeClass: its capacity reservations were looked up.
    CapacityReservationsReady,
    /// Of a NodeClaim: its node may be given up for cost.
    Consolidatable,
    /// Of a NodeClaim: its node is as large as was expected.
    ConsistentStateFound,
    /// Of a NodeClaim: why it is being given up.
    DisruptionReason,
    /// Of a NodeClaim that is given up: nothing on its node has to be waited for any more.
    Drained,
    /// Of a NodeClaim: it no longer looks like its NodePool or its EC2NodeClass.
    Drifted,
    /// Of a NodeClaim: its node is ready, without startup taints and with all its resources.
    Initialized,
    /// Of an EC2NodeClass: there is an instance profile for its nodes.
    InstanceProfileReady,
    /// Of a NodeClaim: its instance is ending.
    InstanceTerminating,
    /// Of a NodeClaim: it has an instance.
    Launched,
    /// Of a NodePool: its EC2NodeClass is ready.
    NodeClassReady,
    /// Of a NodePool: its latest nodes joined the cluster.
    NodeRegistrationHealthy,
    /// Of an EC2NodeClass: its placement group was found, if it selects one.
    PlacementGroupReady,
    /// Of a Pod: the kubelet has not yet done, or cannot do, an in-place resize.
    PodResizePending,
    /// Of a Pod: it has a node.
    PodScheduled,
    /// Of a NodePool: EC2 refuses its launches because a quota of the account is used up. Absent otherwise.
    QuotaExceeded,
    /// The roll-up of the others.
    Ready,
    /// Of a NodeClaim: its instance is rebooted.
    Rebooting,
    /// Of a NodeClaim: its node joined the cluster.
    Registered,
    /// Of an EC2NodeClass: its terms select security groups.
    SecurityGroupsReady,
    /// Of an EC2NodeClass: its terms select subnets.
    SubnetsReady,
    /// The object breaks no rule that only its controller checks.
    ValidationSucceeded,
    /// Of a NodeClaim that is given up: no volume is attached to its node that has to be waited for.
    VolumesDetached,
}

impl ConditionKind {
    /// Every one of them.
    pub const ALL: [Self; 24] = [
        Self::AmisReady,
        Self::CapacityReservationsReady,
        Self::Consolidatable,
        Self::ConsistentStateFound,
        Self::DisruptionReason,
        Self::Drained,
        Self::Drifted,
        Self::Initialized,
        Self::InstanceProfileReady,
        Self::InstanceTerminating,
        Self::Launched,
        Self::NodeClassReady,
        Self::NodeRegistrationHealthy,
        Self::PlacementGroupReady,
        Self::PodResizePending,
        Self::PodScheduled,
        Self::QuotaExceeded,
        Self::Ready,
        Self::Rebooting,
        Self::Registered,
        Self::SecurityGroupsReady,
        Self::SubnetsReady,
        Self::ValidationSucceeded,
        Self::VolumesDetached,
    ];

    /// The text in `type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AmisReady => "AMIsReady",
            Self::CapacityReservationsReady => "CapacityReservationsReady",
            Self::Consolidatable => "Consolidatable",
            Self::ConsistentStateFound => "ConsistentStateFound",
            Self::DisruptionReason => "DisruptionReason",
            Self::Drained => "Drained",
            Self::Drifted => "Drifted",
            Self::Initialized => "Initialized",
            Self::InstanceProfileReady => "InstanceProfileReady",
            Self::InstanceTerminating => "InstanceTerminating",
            Self::Launched => "Launched",
            Self::NodeClassReady => "NodeClassReady",
            Self::NodeRegistrationHealthy => "NodeRegistrationHealthy",
            Self::PlacementGroupReady => "PlacementGroupReady",
            Self::PodResizePending => "PodResizePending",
            Self::PodScheduled => "PodScheduled",
            Self::QuotaExceeded => "QuotaExceeded",
            Self::Ready => "Ready",
            Self::Rebooting => "Rebooting",
            Self::Registered => "Registered",
            Self::SecurityGroupsReady => "SecurityGroupsReady",
            Self::SubnetsReady => "SubnetsReady",
            Self::ValidationSucceeded => "ValidationSucceeded",
            Self::VolumesDetached => "VolumesDetached",
        }
    }

    /// The kind whose `type` is `text`; `None` for conditions of others.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for ConditionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason of a condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionReason {
    /// No image matches the terms.
    AmiNotFound,
    /// Nobody has looked yet, or the look did not end.
    AwaitingReconciliation,
    /// Of `VolumesDetached`: volumes are attached still.
    AwaitingVolumeDetachment,
    /// The addresses of the cluster's services are not known.
    ClusterCidrResolutionFailed,
    /// Of `ConsistentStateFound`: the node has less than was expected.
    ConsistencyCheckFailed,
    /// Other conditions of the object do not hold.
    DependenciesNotReady,
    /// Of `DisruptionReason`: why the claim is given up, or will be.
    Disrupted(DeletionReason),
    /// Of `Drained`: pods are still on the node.
    Draining,
    /// What EC2 said to a dry run.
    DryRun(FailedCheck),
    /// Dry runs are turned off.
    DryRunDisabled,
    /// The condition holds, and there is no more to say: the reason is the type itself.
    Holds(ConditionKind),
    /// The launch template of the user's own says it.
    InLaunchTemplate,
    /// `spec.kubelet` breaks a rule.
    InvalidKubeletConfiguration,
    /// `spec.kubelet` has expressions.
    KubeletExpressionsDisabled,
    /// Of `Initialized`: a taint that the node gets rid of by itself is still on it.
    KnownEphemeralTaintsExist,
    /// There is no instance, and there was an error.
    LaunchFailed,
    /// The launch template of the user's own cannot be launched from.
    LaunchTemplateInvalid,
    /// The launch template of the user's own does not exist.
    LaunchTemplateNotFound,
    /// The EC2NodeClass does not exist.
    NodeClassNotFound,
    /// Of `Launched`: the EC2NodeClass changed, and nobody looked at it since.
    NodeClassNotReady,
    /// The EC2NodeClass does not say whether it is ready.
    NodeClassReadinessUnknown,
    /// The EC2NodeClass is being deleted.
    NodeClassTerminating,
    /// Several nodes report the same instance.
    MultipleNodesFound,
    /// The node did not join the cluster yet.
    NodeNotFound,
    /// Of `Registered`: why it does not, as a look into its instance found.
    NotJoined(JoinReason),
    /// Of `Initialized`: the node is not ready.
    NodeNotReady,
    /// The NodePool breaks a rule.
    NodePoolValidationFailed,
    /// No placement group matches the selector.
    PlacementGroupNotFound,
    /// EC2 could not be asked for the placement group.
    PlacementGroupResolutionFailed,
    /// Of `Rebooting`: EC2 took the request.
    RebootIssued,
    /// Of `Rebooting`: EC2 is asked.
    RebootRequested,
    /// Of `Rebooting`: the node is ready after another boot.
    RebootSucceeded,
    /// Of `Ready`: not every other condition is known for this generation.
    ReconcilingDependents,
    /// Too many nodes did not join.
    RegistrationFailed,
    /// Of `Initialized`: the node does not report a resource that the claim asks for.
    ResourceNotRegistered,
    /// No security group matches the terms.
    SecurityGroupsNotFound,
    /// Of `Initialized`: a startup taint is still on the node.
    StartupTaintsExist,
    /// No subnet matches the terms.
    SubnetsNotFound,
    /// A tag is one that every launch sets itself.
    TagValidationFailed,
    /// Of `VolumesDetached`: the claim's deadline came first.
    TerminationGracePeriodElapsed,
    /// Of `Ready`: another condition is false.
    UnhealthyDependents,
    /// The alias cannot be for this version of Kubernetes.
    UnsupportedAlias,
    /// Nodes of the image family cannot be told what `spec.kubelet` says.
    UnsupportedKubeletConfiguration,
    /// Of a Pod: no node has room for it.
    Unschedulable,
    /// Of `PodResizePending`: the node can never give what the pod asks for now.
    Infeasible,
    /// The EC2NodeClass breaks a rule.
    ValidationFailed,
    /// A reason of others, kept as it is.
    Other(String),
}

impl ConditionReason {
    /// The text in `reason`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::AmiNotFound => "AMINotFound",
            Self::AwaitingReconciliation => "AwaitingReconciliation",
            Self::AwaitingVolumeDetachment => "AwaitingVolumeDetachment",
            Self::ClusterCidrResolutionFailed => "ClusterCIDRResolutionFailed",
            Self::ConsistencyCheckFailed => "ConsistencyCheckFailed",
            Self::DependenciesNotReady => "DependenciesNotReady",
            Self::Disrupted(reason) => reason.as_str(),
            Self::Draining => "Draining",
            Self::DryRun(check) => check.as_str(),
            Self::DryRunDisabled => "DryRunDisabled",
            Self::Holds(kind) => kind.as_str(),
            Self::InLaunchTemplate => "InLaunchTemplate",
            Self::InvalidKubeletConfiguration => "InvalidKubeletConfiguration",
            Self::KubeletExpressionsDisabled => "KubeletExpressionsDisabled",
            Self::KnownEphemeralTaintsExist => "KnownEphemeralTaintsExist",
            Self::LaunchFailed => "LaunchFailed",
            Self::LaunchTemplateInvalid => "LaunchTemplateInvalid",
            Self::LaunchTemplateNotFound => "LaunchTemplateNotFound",
            Self::MultipleNodesFound => "MultipleNodesFound",
            Self::NodeClassNotFound => "NodeClassNotFound",
            Self::NodeClassNotReady => "NodeClassNotReady",
            Self::NodeClassReadinessUnknown => "NodeClassReadinessUnknown",
            Self::NodeClassTerminating => "NodeClassTerminating",
            Self::NodeNotFound => "NodeNotFound",
            Self::NodeNotReady => "NodeNotReady",
            Self::NotJoined(reason) => reason.as_str(),
            Self::NodePoolValidationFailed => "NodePoolValidationFailed",
            Self::PlacementGroupNotFound => "PlacementGroupNotFound",
            Self::PlacementGroupResolutionFailed => "PlacementGroupResolutionFailed",
            Self::RebootIssued => "RebootIssued",
            Self::RebootRequested => "RebootRequested",
            Self::RebootSucceeded => "RebootSucceeded",
            Self::ReconcilingDependents => "ReconcilingDependents",
            Self::RegistrationFailed => "RegistrationFailed",
            Self::ResourceNotRegistered => "ResourceNotRegistered",
            Self::SecurityGroupsNotFound => "SecurityGroupsNotFound",
            Self::StartupTaintsExist => "StartupTaintsExist",
            Self::SubnetsNotFound => "SubnetsNotFound",
            Self::TagValidationFailed => "TagValidationFailed",
            Self::TerminationGracePeriodElapsed => "TerminationGracePeriodElapsed",
            Self::UnhealthyDependents => "UnhealthyDependents",
            Self::Unschedulable => "Unschedulable",
            Self::Infeasible => "Infeasible",
            Self::UnsupportedAlias => "UnsupportedAlias",
            Self::UnsupportedKubeletConfiguration => "UnsupportedKubeletConfiguration",
            Self::ValidationFailed => "ValidationFailed",
            Self::Other(text) => text,
        }
    }
}

impl fmt::Display for ConditionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A condition as it was found just now: without its times, which only the object keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its type.
    pub kind: ConditionKind,
    /// Whether it holds; `None` is unknown.
    pub status: Option<bool>,
    /// Its reason.
    pub reason: ConditionReason,
    /// What people read; empty where there is nothing to say.
    pub message: String,
}

impl Condition {
    /// A condition that holds.
    pub fn holds(kind: ConditionKind) -> Self {
        let reason = ConditionReason::Holds(kind);
        Self { kind, status: Some(true), reason, message: String::new() }
    }

    /// A condition that does not hold.
    pub fn fails(kind: ConditionKind, reason: ConditionReason, message: impl Into<String>) -> Self {
        Self { kind, status: Some(false), reason, message: message.into() }
    }

    /// A condition of which it is not known whether it holds.
    pub fn unknown(
        kind: ConditionKind,
        reason: ConditionReason,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, status: None, reason, message: message.into() }
    }

    /// A condition that nobody has looked at.
    pub fn awaits(kind: ConditionKind) -> Self {
        let message = "object is awaiting reconciliation";
        Self::unknown(kind, ConditionReason::AwaitingReconciliation, message)
    }
}

/// A condition that is not true, as it was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Untrue {
    /// Its type, which need not be one that Karpenter has.
    pub kind: String,
    /// Whether it is false rather than unknown.
    pub is_false: bool,
    /// Its reason.
    pub reason: String,
    /// Its message, which may be empty.
    pub message: String,
}

impl fmt::Display for Untrue {
    /// `condition SubnetsReady is not true: ` and its message, or else its reason.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = if self.message.is_empty() { &self.reason } else { &self.message };
        write!(f, "condition {} is not true: {why}", self.kind)
    }
}

/// Why the status of an object says that it is not ready.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotReady {
    /// The object has no conditions: no controller has looked at it.
    Unseen,
    /// `Ready` is about another generation of the object than the present one.
    Stale,
    /// What its status or its own annotations say cannot be read, for this reason.
    Unreadable(String),
    /// `Ready` is not true, or not there.
    Conditions {
        /// The condition `Ready`, if it is there.
        ready: Option<Untrue>,
        /// The others that are not true, in the order of the status.
        others: Vec<Untrue>,
    },
}

impl NotReady {
    /// `Ready` and nothing else, as a controller says it.
    pub fn ready(is_false: bool, message: impl Into<String>) -> Self {
        let kind = ConditionKind::Ready.to_string();
        let ready = Untrue { kind, is_false, reason: String::new(), message: message.into() };
        Self::Conditions { ready: Some(ready), others: Vec::new() }
    }

    /// What the roll-up is made of: each condition that is not true with its message, where there are
    /// others than `Ready`.
    pub fn in_detail(&self) -> String {
        match self {
            Self::Conditions { ready: Some(ready), others } if others.is_empty() => {
                ready.to_string()
            }
            Self::Conditions { others, .. } if !others.is_empty() => {
                others.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            }
            short => short.to_string(),
        }
    }
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unseen => f.write_str("nobody has looked at it yet"),
            Self::Stale => f.write_str("its newest generation was not looked at yet"),
            Self::Unreadable(why) => write!(f, "its status cannot be read: {why}"),
            Self::Conditions { ready: None, .. } => f.write_str("it has no condition Ready"),
            Self::Conditions { ready: Some(ready), .. } => {
                let status = if ready.is_false { "False" } else { "Unknown" };
                write!(f, "Ready is {status}: {}", ready.message)
            }
        }
    }
}
