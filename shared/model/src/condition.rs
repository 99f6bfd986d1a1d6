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
    /// EC2NodeClass: images match its terms.
    AmisReady,
    /// EC2NodeClass: capacity reservations were read.
    CapacityReservationsReady,
    /// NodeClaim: the node may be consolidated.
    Consolidatable,
    /// NodeClaim: the node has the expected resources.
    ConsistentStateFound,
    /// NodeClaim: why it is disrupted.
    DisruptionReason,
    /// NodeClaim being terminated: its pods are evicted.
    Drained,
    /// NodeClaim: differs from its NodePool or EC2NodeClass.
    Drifted,
    /// NodeClaim: no pod on the node needs another node; otherwise absent.
    Empty,
    /// NodeClaim: the node is ready, without startup taints and with all resources.
    Initialized,
    /// EC2NodeClass: the instance profile exists.
    InstanceProfileReady,
    /// NodeClaim: the instance is terminating.
    InstanceTerminating,
    /// NodeClaim: has an instance.
    Launched,
    /// NodePool: no instance type meets its requirements; otherwise absent.
    NoCompatibleInstanceTypes,
    /// NodePool: its EC2NodeClass is ready.
    NodeClassReady,
    /// NodePool: its latest nodes joined the cluster.
    NodeRegistrationHealthy,
    /// EC2NodeClass: the placement group exists, if one is selected.
    PlacementGroupReady,
    /// Pod: an in-place resize is waiting or impossible.
    PodResizePending,
    /// Pod: has a node.
    PodScheduled,
    /// CapacityBuffer: its room is there; false while nodes for it are missing.
    Provisioning,
    /// NodePool: an EC2 quota blocks its launches; otherwise absent.
    QuotaExceeded,
    /// All other conditions of the object hold.
    Ready,
    /// CapacityBuffer: its pods are known.
    ReadyForProvisioning,
    /// NodeClaim: the instance is being rebooted.
    Rebooting,
    /// NodeClaim: the node joined the cluster.
    Registered,
    /// EC2NodeClass: its drifted nodes are not replaced; otherwise absent.
    RolloutHalted,
    /// EC2NodeClass: security groups match its terms.
    SecurityGroupsReady,
    /// EC2NodeClass: subnets match its terms.
    SubnetsReady,
    /// The object is valid, also by rules that the API server does not check.
    ValidationSucceeded,
    /// NodeClaim being terminated: volumes are detached.
    VolumesDetached,
    /// NodePool: the API server calls `wake`; absent in a stack without `wake`.
    WakeHealthy,
}

impl ConditionKind {
    /// Every one of them.
    pub const ALL: [Self; 30] = [
        Self::AmisReady,
        Self::CapacityReservationsReady,
        Self::Consolidatable,
        Self::ConsistentStateFound,
        Self::DisruptionReason,
        Self::Drained,
        Self::Drifted,
        Self::Empty,
        Self::Initialized,
        Self::InstanceProfileReady,
        Self::InstanceTerminating,
        Self::Launched,
        Self::NoCompatibleInstanceTypes,
        Self::NodeClassReady,
        Self::NodeRegistrationHealthy,
        Self::PlacementGroupReady,
        Self::PodResizePending,
        Self::PodScheduled,
        Self::Provisioning,
        Self::QuotaExceeded,
        Self::Ready,
        Self::ReadyForProvisioning,
        Self::Rebooting,
        Self::Registered,
        Self::RolloutHalted,
        Self::SecurityGroupsReady,
        Self::SubnetsReady,
        Self::ValidationSucceeded,
        Self::VolumesDetached,
        Self::WakeHealthy,
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
            Self::Empty => "Empty",
            Self::Initialized => "Initialized",
            Self::InstanceProfileReady => "InstanceProfileReady",
            Self::InstanceTerminating => "InstanceTerminating",
            Self::Launched => "Launched",
            Self::NoCompatibleInstanceTypes => "NoCompatibleInstanceTypes",
            Self::NodeClassReady => "NodeClassReady",
            Self::NodeRegistrationHealthy => "NodeRegistrationHealthy",
            Self::PlacementGroupReady => "PlacementGroupReady",
            Self::PodResizePending => "PodResizePending",
            Self::PodScheduled => "PodScheduled",
            Self::Provisioning => "Provisioning",
            Self::QuotaExceeded => "QuotaExceeded",
            Self::Ready => "Ready",
            Self::ReadyForProvisioning => "ReadyForProvisioning",
            Self::Rebooting => "Rebooting",
            Self::Registered => "Registered",
            Self::RolloutHalted => "RolloutHalted",
            Self::SecurityGroupsReady => "SecurityGroupsReady",
            Self::SubnetsReady => "SubnetsReady",
            Self::ValidationSucceeded => "ValidationSucceeded",
            Self::VolumesDetached => "VolumesDetached",
            Self::WakeHealthy => "WakeHealthy",
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
    /// `WakeHealthy`: `wake` answered the probe.
    Answered,
    /// Not checked yet, or the check did not finish.
    AwaitingReconciliation,
    /// `VolumesDetached`: volumes are still attached.
    AwaitingVolumeDetachment,
    /// `Provisioning`: the buffer asks for no pod.
    BufferEmpty,
    /// `RolloutHalted`: the first nodes of the rollout were not healthy.
    CanariesUnhealthy,
    /// The cluster's service CIDR is unknown.
    ClusterCidrResolutionFailed,
    /// A NodeOverlay of the same weight changes the same.
    Conflict,
    /// `ConsistentStateFound`: the node has fewer resources than expected.
    ConsistencyCheckFailed,
    /// Other conditions of the object do not hold.
    DependenciesNotReady,
    /// Of `DisruptionReason`: why the claim is deleted, or will be.
    Disrupted(DeletionReason),
    /// `Drained`: pods are still on the node.
    Draining,
    /// What EC2 said to a dry run.
    DryRun(FailedCheck),
    /// The EC2NodeClass sets how GPUs are shared, and the gate `DRANVIDIAGPU` is off.
    DraDisabled,
    /// `Initialized`: a driver has not published the devices of the node that pods claim.
    DraDriverPoolsNotPublished,
    /// Dry runs are off.
    DryRunDisabled,
    /// `Provisioning`: nodes that are there have the room.
    FitsExistingCapacity,
    /// The condition holds, and there is no more to say: the reason is the type itself.
    Holds(ConditionKind),
    /// The custom launch template sets it.
    InLaunchTemplate,
    /// `spec.kubelet` is invalid.
    InvalidKubeletConfiguration,
    /// `RolloutHalted`: an annotation of the rollout is invalid.
    InvalidRollout,
    /// An expression in `spec.kubelet` fails, or is negative, on an instance type.
    KubeletExpressionEvaluationFailed,
    /// An expression in `spec.kubelet` has an error.
    KubeletExpressionInvalid,
    /// `spec.kubelet` contains expressions, and the gate `NodeClassCEL` is off.
    KubeletExpressionsDisabled,
    /// `Initialized`: the node still has a temporary taint.
    KnownEphemeralTaintsExist,
    /// The launch failed.
    LaunchFailed,
    /// The custom launch template cannot be used.
    LaunchTemplateInvalid,
    /// The custom launch template does not exist.
    LaunchTemplateNotFound,
    /// `WakeHealthy`: `wake` did not answer the probe.
    NoAnswer,
    /// The EC2NodeClass does not exist.
    NodeClassNotFound,
    /// `Launched`: the EC2NodeClass changed and was not checked since.
    NodeClassNotReady,
    /// The readiness of the EC2NodeClass is unknown.
    NodeClassReadinessUnknown,
    /// The EC2NodeClass is being deleted.
    NodeClassTerminating,
    /// Several nodes report the same instance.
    MultipleNodesFound,
    /// The node has not joined the cluster yet.
    NodeNotFound,
    /// Of `Registered`: why it does not, as a look into its instance found.
    NotJoined(JoinReason),
    /// `Initialized`: the node is not ready.
    NodeNotReady,
    /// The NodePool is invalid.
    NodePoolValidationFailed,
    /// `Provisioning`: the pods of the buffer are not known.
    NotReadyForProvisioning,
    /// No placement group matches the selector.
    PlacementGroupNotFound,
    /// EC2 did not answer about the placement group.
    PlacementGroupResolutionFailed,
    /// The annotation `karpenter.k8s.aws/nvidia-consumable-capacity` is invalid.
    NvidiaConsumableCapacityInvalid,
    /// `ReadyForProvisioning`: there is no such PodTemplate.
    PodTemplateNotFound,
    /// `WakeHealthy`: `wake` was not called for a pending pod.
    PodsNotPushed,
    /// `WakeHealthy`: the API server refuses the probe.
    ProbeRefused,
    /// `Rebooting`: EC2 accepted the request.
    RebootIssued,
    /// `Rebooting`: the request is sent.
    RebootRequested,
    /// `Rebooting`: the node is ready after the reboot.
    RebootSucceeded,
    /// `Ready`: another condition is not known for this generation.
    ReconcilingDependents,
    /// Too many nodes did not join.
    RegistrationFailed,
    /// `Provisioning`: nodes for the buffer are missing.
    RequiresNewCapacity,
    /// `ReadyForProvisioning`: the buffer refers to nothing that can be used.
    ResolutionFailed,
    /// `ReadyForProvisioning`: the pods of the buffer are known.
    Resolved,
    /// `Initialized`: the node lacks a resource that the NodeClaim requests.
    ResourceNotRegistered,
    /// A NodeOverlay breaks a rule that the API server does not check.
    RuntimeValidation,
    /// `ReadyForProvisioning`: there is no such workload.
    ScalableRefNotFound,
    /// No security group matches the terms.
    SecurityGroupsNotFound,
    /// `Initialized`: the node still has a startup taint.
    StartupTaintsExist,
    /// No subnet matches the terms.
    SubnetsNotFound,
    /// A tag is reserved for Journeyman.
    TagValidationFailed,
    /// `VolumesDetached`: the deadline of the NodeClaim passed.
    TerminationGracePeriodElapsed,
    /// `Ready`: another condition is false.
    UnhealthyDependents,
    /// The image alias does not exist for this version of Kubernetes.
    UnsupportedAlias,
    /// The image family cannot apply `spec.kubelet`.
    UnsupportedKubeletConfiguration,
    /// Pod: no node has room for it.
    Unschedulable,
    /// `PodResizePending`: the node can never provide what the pod now requests.
    Infeasible,
    /// The EC2NodeClass is invalid.
    ValidationFailed,
    /// A reason of others, kept as it is.
    Other(String),
}

impl ConditionReason {
    /// The text in `reason`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::AmiNotFound => "AMINotFound",
            Self::Answered => "Answered",
            Self::AwaitingReconciliation => "AwaitingReconciliation",
            Self::AwaitingVolumeDetachment => "AwaitingVolumeDetachment",
            Self::BufferEmpty => "BufferEmpty",
            Self::CanariesUnhealthy => "CanariesUnhealthy",
            Self::ClusterCidrResolutionFailed => "ClusterCIDRResolutionFailed",
            Self::Conflict => "Conflict",
            Self::ConsistencyCheckFailed => "ConsistencyCheckFailed",
            Self::DependenciesNotReady => "DependenciesNotReady",
            Self::Disrupted(reason) => reason.as_str(),
            Self::Draining => "Draining",
            Self::DryRun(check) => check.as_str(),
            Self::DraDisabled => "DRADisabled",
            Self::DraDriverPoolsNotPublished => "DRADriverPoolsNotPublished",
            Self::DryRunDisabled => "DryRunDisabled",
            Self::FitsExistingCapacity => "FitsExistingCapacity",
            Self::Holds(kind) => kind.as_str(),
            Self::InLaunchTemplate => "InLaunchTemplate",
            Self::InvalidKubeletConfiguration => "InvalidKubeletConfiguration",
            Self::InvalidRollout => "InvalidRollout",
            Self::KubeletExpressionEvaluationFailed => "KubeletExpressionEvaluationFailed",
            Self::KubeletExpressionInvalid => "KubeletExpressionInvalid",
            Self::KubeletExpressionsDisabled => "KubeletExpressionsDisabled",
            Self::KnownEphemeralTaintsExist => "KnownEphemeralTaintsExist",
            Self::LaunchFailed => "LaunchFailed",
            Self::LaunchTemplateInvalid => "LaunchTemplateInvalid",
            Self::LaunchTemplateNotFound => "LaunchTemplateNotFound",
            Self::MultipleNodesFound => "MultipleNodesFound",
            Self::NoAnswer => "NoAnswer",
            Self::NodeClassNotFound => "NodeClassNotFound",
            Self::NodeClassNotReady => "NodeClassNotReady",
            Self::NodeClassReadinessUnknown => "NodeClassReadinessUnknown",
            Self::NodeClassTerminating => "NodeClassTerminating",
            Self::NodeNotFound => "NodeNotFound",
            Self::NodeNotReady => "NodeNotReady",
            Self::NotJoined(reason) => reason.as_str(),
            Self::NodePoolValidationFailed => "NodePoolValidationFailed",
            Self::NotReadyForProvisioning => "NotReadyForProvisioning",
            Self::PlacementGroupNotFound => "PlacementGroupNotFound",
            Self::PlacementGroupResolutionFailed => "PlacementGroupResolutionFailed",
            Self::NvidiaConsumableCapacityInvalid => "NVIDIAConsumableCapacityInvalid",
            Self::PodTemplateNotFound => "PodTemplateNotFound",
            Self::PodsNotPushed => "PodsNotPushed",
            Self::ProbeRefused => "ProbeRefused",
            Self::RebootIssued => "RebootIssued",
            Self::RebootRequested => "RebootRequested",
            Self::RebootSucceeded => "RebootSucceeded",
            Self::ReconcilingDependents => "ReconcilingDependents",
            Self::RegistrationFailed => "RegistrationFailed",
            Self::RequiresNewCapacity => "RequiresNewCapacity",
            Self::ResolutionFailed => "ResolutionFailed",
            Self::Resolved => "Resolved",
            Self::ResourceNotRegistered => "ResourceNotRegistered",
            Self::RuntimeValidation => "RuntimeValidation",
            Self::ScalableRefNotFound => "ScalableRefNotFound",
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

    /// A condition that was not checked.
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
            Self::Unseen => f.write_str("not checked yet"),
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
