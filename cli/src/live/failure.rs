//! What a call of AWS failed for, in words that say what is to be done.

use std::error::Error;

use aws_smithy_runtime_api::client::{orchestrator::HttpResponse, result::SdkError};
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use ports::{PortError, Refusal};

use super::one_line;

/// An error with all that it stands on, in one line; what a text says already is not said again.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        source = error.source();
    }
    one_line(&said)
}

/// What a service answered instead of doing what it was asked.
struct Refused<'a> {
    code: &'a str,
    message: &'a str,
}

impl Refused<'_> {
    /// Whether what was asked for is not there.
    fn is_absence(&self) -> bool {
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
    fn said(&self, action: &str, what: &str) -> String {
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
        format!("{}: {code}: {message}{cure}", asked(action, what))
    }
}

/// `eks:DescribeCluster demo`
fn asked(action: &str, what: &str) -> String {
    if what.is_empty() { action.to_owned() } else { format!("{action} {what}") }
}

/// An answer, which is nothing where what was asked for is not there; or why `action` on `what` failed.
pub(super) fn present<T, E>(
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
        let refused = Refused {
            code: context.err().code().unwrap_or(&status),
            message: context.err().message().unwrap_or_default(),
        };
        if refused.is_absence() {
            return Ok(None);
        }
        return Err(refused.said(action, what));
    }
    Err(format!("{}: {}", asked(action, what), chain(&error)))
}

/// Why a port's call of `service` failed.
pub(super) fn of_port(service: &str, error: &PortError) -> String {
    let action = format!("{service}:{}", error.operation);
    match error.source.as_deref().and_then(|source| source.downcast_ref::<Refusal>()) {
        Some(Refusal { code, message }) => Refused { code, message }.said(&action, ""),
        None => match error.source.as_deref() {
            Some(source) => format!("{action}: {}", chain(source)),
            None => format!("{action}: {}", error.fault),
        },
    }
}

#[cfg(test)]
mod tests {
    use ports::Fault;

    use super::*;

    #[test]
    fn a_refusal_names_the_call_the_object_and_the_right() {
        let refused = |code, message| Refused { code, message };
        let denied = refused("AccessDeniedException", "User: x is not\n authorized");
        assert!(!denied.is_absence());
        assert_eq!(
            denied.said("eks:DescribeCluster", "demo"),
            "eks:DescribeCluster demo: AccessDeniedException: User: x is not authorized (needed: the right \
             eks:DescribeCluster)"
        );
        assert!(refused("ValidationError", "Stack with id jm does not exist").is_absence());
        assert!(!refused("ValidationError", "Stack:jm is in a wrong state").is_absence());
        assert!(refused("NoSuchEntity", "").is_absence());
    }

    #[test]
    fn a_failure_of_a_port_is_told_with_what_it_stands_on() {
        let refusal =
            Refusal { code: "UnauthorizedOperation".to_owned(), message: "no".to_owned() };
        let error = PortError::because("DescribeInstanceTypes", Fault::Permanent, refusal);
        assert_eq!(
            of_port("ec2", &error),
            "ec2:DescribeInstanceTypes: UnauthorizedOperation: no (needed: the right \
             ec2:DescribeInstanceTypes)"
        );
        let error = PortError::because("GetProducts", Fault::Unknown, "broken");
        assert_eq!(of_port("pricing", &error), "pricing:GetProducts: broken");
    }
}
