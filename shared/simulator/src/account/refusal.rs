//! What AWS says when it does not do what it is asked: its own code and a text.

use ports::{Fault, PortError, Refusal};

/// An answer of AWS that is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsError {
    /// AWS's code, such as `InvalidInstanceID.NotFound`.
    pub code: &'static str,
    /// For people.
    pub message: String,
}

impl std::fmt::Display for AwsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for AwsError {}

impl From<AwsError> for Refusal {
    fn from(error: AwsError) -> Self {
        Self { code: error.code.to_owned(), message: error.message }
    }
}

impl AwsError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// As the failure of `operation`, with what it means for the caller.
    ///
    /// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html>
    pub(crate) fn of(self, operation: &'static str) -> PortError {
        let fault = match self.code {
            "IdempotentParameterMismatch"
            | "EntityAlreadyExists"
            | "InvalidLaunchTemplateName.AlreadyExistsException" => Fault::Conflict,
            "NoSuchEntity" | "ParameterNotFound" | "ResourceNotFoundException" => Fault::NotFound,
            "RequestLimitExceeded" => Fault::Transient,
            code if code.contains("NotFound") => Fault::NotFound,
            _ => Fault::Permanent,
        };
        PortError::because(operation, fault, Refusal::from(self))
    }
}

/// Whether `refusal` is about an instance profile that EC2 does not see.
pub(crate) fn is_about_profile(refusal: &Refusal) -> bool {
    refusal.code == "InvalidParameterValue" && refusal.message.contains("IAM Instance Profile")
}
