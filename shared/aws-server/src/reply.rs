//! What goes back over the wire, and what failures of the account are there.

use ports::{Fault, PortError};

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// An answer.
    Answer {
        /// The HTTP status.
        status: u16,
        /// The content type.
        content_type: &'static str,
        /// The content.
        body: String,
    },
    /// The connection ends without an answer: the caller cannot know what was done.
    HangUp,
}

impl Reply {
    pub(crate) fn xml(status: u16, body: String) -> Self {
        Self::Answer { status, content_type: "text/xml;charset=UTF-8", body }
    }

    pub(crate) fn json(status: u16, content_type: &'static str, body: &serde_json::Value) -> Self {
        Self::Answer { status, content_type, body: body.to_string() }
    }
}

/// Status, code and message of a failure; `None` when there is to be no answer at all.
///
/// What rules of the simulator inject has no code of its own: it is what AWS says most often.
pub(crate) fn failure_of(error: &PortError) -> Option<(u16, String, String)> {
    if let Some(refusal) = error.refusal() {
        return Some((status_of(&refusal.code), refusal.code.clone(), refusal.message.clone()));
    }
    let (status, code) = match error.fault {
        Fault::Unknown => return None,
        Fault::Transient => (503, "RequestLimitExceeded"),
        Fault::Conflict => (409, "ConcurrentModification"),
        Fault::NotFound => (404, "ResourceNotFoundException"),
        Fault::Permanent => (403, "UnauthorizedOperation"),
    };
    Some((status, code.to_owned(), error.to_string()))
}

fn status_of(code: &str) -> u16 {
    match code {
        "DryRunOperation" => 412,
        "NoSuchEntity" | "ResourceNotFoundException" => 404,
        "DeleteConflict" | "EntityAlreadyExists" | "LimitExceeded" | "ResourceInUseException" => {
            409
        }
        _ => 400,
    }
}
