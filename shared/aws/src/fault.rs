//! What a failure of AWS means for the caller: the one place that knows AWS's error codes.
//!
//! Codes: <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html> and the
//! error pages of the other services.

use aws_smithy_runtime_api::{client::result::SdkError, http::Response};
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use ports::{BoxError, Fault, PortError, Refusal};

/// An answer that lacks what the service's reference says is always there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is not usable: {0}")]
pub(crate) struct BadAnswer(pub(crate) String);

impl BadAnswer {
    /// The failure of `operation` that this is. The call itself was carried out.
    pub(crate) fn of(operation: &'static str, problem: impl Into<String>) -> PortError {
        PortError::because(operation, Fault::Permanent, Self(problem.into()))
    }
}

/// A request that breaks a rule of the service, found before it was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadRequest(pub(crate) String);

impl BadRequest {
    /// The failure of `operation` that this is.
    pub(crate) fn of(operation: &'static str, problem: impl Into<String>) -> PortError {
        PortError::because(operation, Fault::Permanent, Self(problem.into()))
    }
}

/// What the failure of `operation` means.
pub(crate) fn port_error<E, B>(
    operation: &'static str,
    error: SdkError<E, Response<B>>,
) -> PortError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    B: std::fmt::Debug + Send + Sync + 'static,
{
    if let SdkError::ServiceError(context) = &error {
        let code = context.err().code().unwrap_or_default();
        let status = context.raw().status().as_u16();
        let message = context.err().message().unwrap_or_default();
        return refused(operation, code, status, message);
    }
    let fault = match &error {
        // Nothing was sent.
        SdkError::ConstructionFailure(_) => Fault::Permanent,
        SdkError::DispatchFailure(failure) if failure.is_user() => Fault::Permanent,
        // The connection broke, at an unknown moment, or the answer was cut off.
        _ => Fault::Unknown,
    };
    PortError::because(operation, fault, BoxError::from(error))
}

/// The failure of `operation` that an answer with `code` and HTTP `status` is.
pub(crate) fn refused(
    operation: &'static str,
    code: &str,
    status: u16,
    message: &str,
) -> PortError {
    let code = if code.is_empty() { format!("HTTP status {status}") } else { code.to_owned() };
    let fault = fault_of(&code, status);
    PortError::because(operation, fault, Refusal { code, message: message.to_owned() })
}

/// What `code` means; an unknown one is judged by its HTTP status.
pub(crate) fn fault_of(code: &str, status: u16) -> Fault {
    match code {
        "BandwidthLimitExceeded"
        | "EC2ThrottledException"
        | "ExpiredToken"
        | "ExpiredTokenException"
        | "KmsThrottled"
        | "OverLimit"
        | "PriorRequestNotComplete"
        | "ProvisionedThroughputExceededException"
        | "RequestLimitExceeded"
        | "RequestThrottled"
        | "RequestThrottledException"
        | "ResourceNotReady"
        | "ServiceUnavailable"
        | "ServiceUnavailableException"
        | "SlowDown"
        | "ThrottledException"
        | "Throttling"
        | "ThrottlingException"
        | "TooManyRequestsException"
        | "Unavailable" => Fault::Transient,
        // An earlier copy of the same transaction is under way.
        "TransactionInProgressException" => Fault::Unknown,
        "ConcurrentModification"
        | "ConcurrentModificationException"
        | "ConditionalCheckFailedException"
        | "EntityAlreadyExists"
        | "IdempotentParameterMismatch"
        | "IdempotentParameterMismatchException"
        | "InvalidLaunchTemplateName.AlreadyExistsException"
        | "TransactionCanceledException"
        | "TransactionConflictException" => Fault::Conflict,
        "AWS.SimpleQueueService.NonExistentQueue"
        | "InvalidCapacityReservationId.NotFound"
        | "InvalidInstanceID.NotFound"
        | "InvalidLaunchTemplateId.NotFound"
        | "InvalidLaunchTemplateId.VersionNotFound"
        | "InvalidLaunchTemplateName.NotFoundException"
        | "InvalidPlacementGroup.Unknown"
        | "InvalidPlacementGroupId.Unknown"
        | "NoSuchEntity"
        | "NoSuchEntityException"
        | "NoSuchKey"
        | "ParameterNotFound"
        | "QueueDoesNotExist"
        | "ResourceNotFoundException" => Fault::NotFound,
        _ => match status {
            429 | 503 => Fault::Transient,
            500..=599 => Fault::Unknown,
            _ => Fault::Permanent,
        },
    }
}

/// Whether `error` is a refusal with `code`.
pub(crate) fn has_code(error: &PortError, code: &str) -> bool {
    error.refusal().is_some_and(|refusal| refusal.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_mean_what_the_caller_can_do_about_them() {
        for (code, status, fault) in [
            ("RequestLimitExceeded", 503, Fault::Transient),
            ("ProvisionedThroughputExceededException", 400, Fault::Transient),
            ("ThrottlingException", 400, Fault::Transient),
            ("TransactionInProgressException", 400, Fault::Unknown),
            ("InternalError", 500, Fault::Unknown),
            ("InternalServerError", 500, Fault::Unknown),
            ("", 504, Fault::Unknown),
            ("", 503, Fault::Transient),
            ("ConditionalCheckFailedException", 400, Fault::Conflict),
            ("IdempotentParameterMismatch", 400, Fault::Conflict),
            ("InvalidInstanceID.NotFound", 400, Fault::NotFound),
            ("InvalidLaunchTemplateName.NotFoundException", 400, Fault::NotFound),
            ("NoSuchEntity", 404, Fault::NotFound),
            ("ParameterNotFound", 400, Fault::NotFound),
            ("UnauthorizedOperation", 403, Fault::Permanent),
            ("ValidationException", 400, Fault::Permanent),
            ("", 400, Fault::Permanent),
        ] {
            assert_eq!(fault_of(code, status), fault, "{code} {status}");
        }
    }

    #[test]
    fn a_refusal_keeps_the_services_words() {
        let error = refused("CreateFleet", "InvalidLaunchTemplateName.NotFoundException", 400, "x");
        assert_eq!(error.to_string(), "CreateFleet failed: it is not there");
        let source = error.source.as_ref().map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("InvalidLaunchTemplateName.NotFoundException: x"));
        assert!(has_code(&error, "InvalidLaunchTemplateName.NotFoundException"));
        assert_eq!(refused("X", "", 418, "teapot").refusal().unwrap().code, "HTTP status 418");
    }
}
