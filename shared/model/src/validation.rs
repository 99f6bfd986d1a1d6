//! the dry run of a class: what EC2 says to requests that it only checks.
//!
//! Karpenter: `pkg/controllers/nodeclass/validation.go` of the AWS provider.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::duration::later;

/// For so long EC2 is not asked again about the same.
const VALID: SignedDuration = SignedDuration::from_mins(30);

/// What EC2 says to a request that it is only to check.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html>, `DryRun`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DryRunAnswer {
    /// It would have worked.
    Works,
    /// The caller is not allowed to do it; EC2's words.
    Forbidden(String),
    /// The instance profile is not there, or not yet; EC2's words.
    NoProfile(String),
}

/// Which check failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailedCheck {
    /// EC2 does not allow CreateLaunchTemplate.
    CreateLaunchTemplate,
    /// EC2 does not allow CreateFleet.
    CreateFleet,
    /// EC2 does not allow RunInstances.
    RunInstances,
    /// The user data is too long.
    UserDataSize,
    /// The instance profile that the EC2NodeClass names does not exist.
    InstanceProfile,
}

impl FailedCheck {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::CreateLaunchTemplate,
        Self::CreateFleet,
        Self::RunInstances,
        Self::UserDataSize,
        Self::InstanceProfile,
    ];

    /// The reason of the condition `ValidationSucceeded`, by which it is stored as well.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CreateLaunchTemplate => "CreateLaunchTemplateAuthCheckFailed",
            Self::CreateFleet => "CreateFleetAuthCheckFailed",
            Self::RunInstances => "RunInstancesAuthCheckFailed",
            Self::UserDataSize => "UserDataSizeLimitExceeded",
            Self::InstanceProfile => "InstanceProfileNotFound",
        }
    }

    /// The check whose reason is `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.as_str() == text)
    }
}

impl fmt::Display for FailedCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the dry run of a class came to, kept for those who tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    /// A digest of what was tried: another one for another class, or for other things selected.
    pub key: String,
    /// When it is to be tried again.
    pub due_at: Timestamp,
    /// What does not work and why; nothing when all of it would.
    pub failure: Option<(FailedCheck, String)>,
}

impl Validation {
    /// What was found at `now`, good for half an hour.
    pub fn found(key: &str, failure: Option<(FailedCheck, String)>, now: Timestamp) -> Self {
        let due_at = later(now, VALID);
        Self { key: key.to_owned(), due_at, failure }
    }

    /// A failure that may end soon: it is reported, and the next look tries again.
    pub fn passing(key: &str, failure: (FailedCheck, String), now: Timestamp) -> Self {
        Self { key: key.to_owned(), due_at: now, failure: Some(failure) }
    }

    /// Until when it is worth keeping: as long again as it is good, so that the last word stands
    /// while the next one is waited for.
    pub fn kept_until(&self) -> Timestamp {
        later(self.due_at, VALID)
    }
}
