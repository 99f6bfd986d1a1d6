//! Why a claim is not further, in words and as the reason of a condition.

use std::fmt;

use crate::{ConditionReason, join::JoinReason};

/// Why a claim is not further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimMessage {
    /// The reason of the condition that it waits for; `None` where it waits for none.
    pub reason: Option<ConditionReason>,
    /// What people read.
    pub text: String,
}

impl ClaimMessage {
    /// What a claim can wait for: its class, or once its instance runs its node.
    ///
    /// Karpenter: `pkg/controllers/nodeclaim/lifecycle/{launch,registration,initialization}.go`.
    const REASONS: [ConditionReason; 9] = [
        ConditionReason::DraDriverPoolsNotPublished,
        ConditionReason::KnownEphemeralTaintsExist,
        ConditionReason::MultipleNodesFound,
        ConditionReason::NodeClassNotReady,
        ConditionReason::NodeClassReadinessUnknown,
        ConditionReason::NodeNotFound,
        ConditionReason::NodeNotReady,
        ConditionReason::ResourceNotRegistered,
        ConditionReason::StartupTaintsExist,
    ];

    /// Karpenter's words for what EC2 says to a launch that is tried again.
    ///
    /// Karpenter: `pkg/errors/errors.go` of the AWS provider, `ToReasonMessage`.
    const LAUNCH_REASONS: [&str; 18] = [
        "AMIAuthorizationFailure",
        "AMINotFound",
        "AccountPendingVerification",
        "FleetQuotaExceeded",
        "FreeTierIneligible",
        "InstanceProfileNameInvalid",
        "InsufficientFreeAddressesInSubnet",
        "InternalError",
        "InvalidAMIID",
        "LaunchFailed",
        "LaunchTemplateNotFound",
        "RequestLimitExceeded",
        "SecurityGroupSubnetVPCMismatch",
        "SpotQuotaExceeded",
        "SpotSLRCreationFailed",
        "Unauthorized",
        "UserDataSizeLimitExceeded",
        "VCPULimitExceeded",
    ];

    /// Reads what [`ClaimMessage`]'s `Display` wrote, which is how it is stored.
    pub fn parse(stored: &str) -> Self {
        let told = stored.split_once(": ").and_then(|(reason, text)| {
            let of_launch = || {
                let known = Self::LAUNCH_REASONS.into_iter().find(|known| *known == reason)?;
                Some(ConditionReason::Other(known.to_owned()))
            };
            let of_join = || JoinReason::parse(reason).map(ConditionReason::NotJoined);
            let known = Self::REASONS
                .into_iter()
                .find(|known| known.as_str() == reason)
                .or_else(of_join)
                .or_else(of_launch);
            Some(Self { reason: Some(known?), text: text.to_owned() })
        });
        told.unwrap_or_else(|| stored.into())
    }
}

impl From<&str> for ClaimMessage {
    fn from(text: &str) -> Self {
        Self { reason: None, text: text.to_owned() }
    }
}

impl fmt::Display for ClaimMessage {
    /// `NodeNotReady: its node is not ready`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, "{reason}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}
