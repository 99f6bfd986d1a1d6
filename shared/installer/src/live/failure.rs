//! What a call of AWS failed for, in words that say what is to be done.

use std::error::Error;

use aws_smithy_runtime_api::client::{orchestrator::HttpResponse, result::SdkError};
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use ports::{PortError, Refusal};

use super::one_line;

/// An error with all that it stands on, in one line; what a text says already is not said again.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    one_line(&text)
}

/// A refusal of an AWS service.
#[derive(Debug)]
pub struct AwsRefusal<'a> {
    /// Such as `AccessDenied`.
    pub code: &'a str,
    /// In the service's words.
    pub message: &'a str,
}

impl AwsRefusal<'_> {
    /// Whether what was asked for is not there.
    pub fn is_absence(&self) -> bool {
        match self.code {
            "ResourceNotFoundException"
            | "NoSuchEntity"
            | "NoSuchEntityException"
            | "InvalidLaunchTemplateId.NotFound" => true,
            // CloudFormation has no code of its own for a stack that is not there.
            "ValidationError" => self.message.contains("does not exist"),
            _ => false,
        }
    }

    /// Why `action` on `what` failed.
    pub fn in_words(&self, action: &str, what: &str) -> String {
        let Self { code, message } = self;
        let message = one_line(message);
        let cure = match *code {
            "AccessDenied" | "AccessDeniedException" | "UnauthorizedOperation" => {
                format!(" (needed: the right {action})")
            }
            "Throttling"
            | "ThrottlingException"
            | "RequestLimitExceeded"
            | "TooManyRequestsException"
            | "ProvisionedThroughputExceededException" => {
                " (also when it was asked again: try again later)".to_owned()
            }
            "ExpiredToken" | "ExpiredTokenException" => " (sign in again)".to_owned(),
            _ => String::new(),
        };
        format!("{}: {code}: {message}{cure}", call_name(action, what))
    }
}

/// `eks:DescribeCluster demo`
fn call_name(action: &str, what: &str) -> String {
    if what.is_empty() { action.to_owned() } else { format!("{action} {what}") }
}

/// An answer, which is nothing where what was asked for is not there; or why `action` on `what` failed.
pub fn present<T, E>(
    action: &str,
    what: &str,
    answer: Result<T, SdkError<E, HttpResponse>>,
) -> Result<Option<T>, String>
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let error = match answer {
        Ok(answer) => return Ok(Some(answer)),
        Err(error) => error,
    };
    if let SdkError::ServiceError(context) = &error {
        let status = format!("HTTP status {}", context.raw().status().as_u16());
        let refused = AwsRefusal {
            code: context.err().code().unwrap_or(&status),
            message: context.err().message().unwrap_or_default(),
        };
        if refused.is_absence() {
            return Ok(None);
        }
        return Err(refused.in_words(action, what));
    }
    Err(format!("{}: {}", call_name(action, what), chain(&error)))
}

/// Why a port's call of `service` failed.
pub fn of_port(service: &str, error: &PortError) -> String {
    let action = format!("{service}:{}", error.operation);
    match error.source.as_deref().and_then(|source| source.downcast_ref::<Refusal>()) {
        Some(Refusal { code, message }) => AwsRefusal { code, message }.in_words(&action, ""),
        None => match error.source.as_deref() {
            Some(source) => format!("{action}: {}", chain(source)),
            None => format!("{action}: {}", error.fault),
        },
    }
}
