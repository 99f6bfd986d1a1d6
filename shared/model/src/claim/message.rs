//! Why a claim is not further, in words and as the reason of a condition.

use std::fmt;

use crate::ConditionReason;

/// Why a claim is not further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimMessage {
    /// The reason of the condition that it waits for; `None` where it waits for none.
    pub reason: Option<ConditionReason>,
    /// What people read.
    pub text: String,
}

impl ClaimMessage {
    /// What a claim can wait for once its instance runs.
    ///
    /// Karpenter: `pkg/controllers/nodeclaim/lifecycle/{registration,initialization}.go`.
    const REASONS: [ConditionReason; 6] = [
        ConditionReason::KnownEphemeralTaintsExist,
        ConditionReason::MultipleNodesFound,
        ConditionReason::NodeNotFound,
        ConditionReason::NodeNotReady,
        ConditionReason::ResourceNotRegistered,
        ConditionReason::StartupTaintsExist,
    ];

    /// Reads what [`ClaimMessage`]'s `Display` wrote, which is how it is stored.
    pub fn parse(stored: &str) -> Self {
        let told = stored.split_once(": ").and_then(|(reason, text)| {
            let reason = Self::REASONS.into_iter().find(|known| known.as_str() == reason)?;
            Some(Self { reason: Some(reason), text: text.to_owned() })
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
