//! How a call of the Kubernetes API can fail, and what that means to callers of a port.
//!
//! Every failure becomes a [`Fault`] here and nowhere else.

use std::{error::Error, fmt};

use kube::{api::PatchParams, core::Status};
use model::labels::MANAGER;
use ports::{Fault, PortError};

use crate::token::TokenError;

/// Whether a call changes anything: what is lost on the way back matters only then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It looks.
    Reads,
    /// It changes something.
    Writes,
}

/// Why a call brought nothing.
#[derive(Debug)]
pub(crate) enum CallError {
    /// There was no token to send it with.
    Token(TokenError),
    /// The API server refused it.
    Refused(Box<Status>),
    /// It could not be built, sent, or its answer not be received.
    Failed(kube::Error),
    /// The answer is not what the API specifies.
    Unreadable(Box<dyn Error + Send + Sync>),
}

/// A patch of ours, by its name in `metadata.managedFields`.
pub(crate) fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(_) => f.write_str("no token for the API server"),
            Self::Refused(status) => {
                write!(f, "the API server answered {} {}", status.code, status.reason)?;
                if status.message.is_empty() { Ok(()) } else { write!(f, ": {}", status.message) }
            }
            Self::Failed(_) => f.write_str("no answer from the API server"),
            Self::Unreadable(_) => f.write_str("the API server's answer cannot be read"),
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Token(error) => Some(error),
            Self::Refused(_) => None,
            Self::Failed(error) => Some(error),
            Self::Unreadable(error) => Some(error.as_ref()),
        }
    }
}

impl From<kube::Error> for CallError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused(status),
            other => Self::Failed(other),
        }
    }
}

impl CallError {
    /// The HTTP status that the API server refused it with.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused(status) => Some(status.code),
            Self::Token(_) | Self::Failed(_) | Self::Unreadable(_) => None,
        }
    }

    /// What it means to the caller of a port.
    pub(crate) fn fault(&self, effect: Effect) -> Fault {
        let lost = match effect {
            Effect::Reads => Fault::Transient,
            Effect::Writes => Fault::Unknown,
        };
        match self {
            Self::Token(error) => error.fault(),
            Self::Refused(status) => refusal(status, lost),
            Self::Failed(error) => failure(error, lost),
            Self::Unreadable(_) => match effect {
                Effect::Reads => Fault::Permanent,
                Effect::Writes => Fault::Unknown,
            },
        }
    }

    /// As a port's error.
    pub(crate) fn into_port_error(self, operation: &'static str, effect: Effect) -> PortError {
        let fault = self.fault(effect);
        PortError::because(operation, fault, self)
    }
}

/// What the API server means by a status.
///
/// 500 and 504 say by their definition that the outcome is unknown, and a proxy's 502 says nothing.
/// 429 and 503 are sent instead of an attempt.
/// <https://github.com/kubernetes/apimachinery/blob/v0.35.4/pkg/apis/meta/v1/types.go> (StatusReason)
fn refusal(status: &Status, lost: Fault) -> Fault {
    match status.code {
        404 => Fault::NotFound,
        409 => Fault::Conflict,
        // An expired page: the list can be begun again.
        410 | 429 | 503 => Fault::Transient,
        // Nothing is created in a namespace that is being deleted: what is there goes with it.
        403 if has_cause(status, "NamespaceTerminating") => Fault::Transient,
        408 | 500..=599 => lost,
        // The object was replaced by a namesake after it was read: the other writer was first.
        422 if has_cause_at(status, "metadata.uid") => Fault::Conflict,
        _ => Fault::Permanent,
    }
}

/// Whether the API server gave `reason` as a cause.
pub(crate) fn has_cause(status: &Status, reason: &str) -> bool {
    status.details.iter().flat_map(|details| &details.causes).any(|cause| cause.reason == reason)
}

/// Whether the API server blames the field at `path`.
fn has_cause_at(status: &Status, path: &str) -> bool {
    status.details.iter().flat_map(|details| &details.causes).any(|cause| cause.field == path)
}

/// What a failure without an answer means: a connection that never stood carried nothing.
fn failure(error: &kube::Error, lost: Fault) -> Fault {
    match error {
        kube::Error::Service(error) => {
            let never_connected = error
                .downcast_ref::<hyper_util::client::legacy::Error>()
                .is_some_and(hyper_util::client::legacy::Error::is_connect);
            if never_connected { Fault::Transient } else { lost }
        }
        kube::Error::HyperError(_) => lost,
        // A kubeconfig's credential plug-in failed: nothing was sent.
        kube::Error::Auth(_) => Fault::Transient,
        kube::Error::FromUtf8(_) | kube::Error::SerdeError(_) if lost == Fault::Unknown => lost,
        _ => Fault::Permanent,
    }
}

#[cfg(test)]
mod tests {
    use kube::core::response::{StatusCause, StatusDetails};

    use super::*;

    #[track_caller]
    fn check(code: u16, of_a_read: Fault, of_a_write: Fault) {
        let error = CallError::Refused(Status::failure("why", "Reason").with_code(code).boxed());
        assert_eq!(error.fault(Effect::Reads), of_a_read, "{code} of a read");
        assert_eq!(error.fault(Effect::Writes), of_a_write, "{code} of a write");
    }

    #[test]
    fn every_status_has_its_meaning() {
        for code in [400, 401, 403, 405, 413, 415, 422] {
            check(code, Fault::Permanent, Fault::Permanent);
        }
        check(404, Fault::NotFound, Fault::NotFound);
        check(409, Fault::Conflict, Fault::Conflict);
        for code in [410, 429, 503] {
            check(code, Fault::Transient, Fault::Transient);
        }
        for code in [408, 500, 502, 504] {
            check(code, Fault::Transient, Fault::Unknown);
        }
    }

    #[track_caller]
    fn check_cause(code: u16, reason: &str, field: &str, expected: Fault) {
        let (reason, field) = (reason.to_owned(), field.to_owned());
        let details = StatusDetails {
            name: String::new(),
            group: String::new(),
            kind: String::new(),
            uid: String::new(),
            causes: vec![StatusCause { reason, message: String::new(), field }],
            retry_after_seconds: 0,
        };
        let status = Status::failure("why", "Reason").with_code(code).with_details(details);
        assert_eq!(CallError::Refused(status.boxed()).fault(Effect::Writes), expected);
    }

    #[test]
    fn a_cause_can_change_the_meaning() {
        check_cause(403, "NamespaceTerminating", "", Fault::Transient);
        check_cause(403, "Other", "", Fault::Permanent);
        check_cause(422, "FieldValueInvalid", "metadata.uid", Fault::Conflict);
        check_cause(422, "FieldValueInvalid", "spec.taints", Fault::Permanent);
    }

    #[test]
    fn the_api_servers_own_words_are_kept() {
        let status = Status::failure("nodes is forbidden: User \"x\"", "Forbidden").with_code(403);
        let error = CallError::Refused(status.boxed()).into_port_error("list nodes", Effect::Reads);
        assert_eq!(error.to_string(), "list nodes failed: it never works as asked");
        assert_eq!(
            error.source.unwrap().to_string(),
            "the API server answered 403 Forbidden: nodes is forbidden: User \"x\""
        );
    }
}
