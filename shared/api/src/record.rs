//! What is stored: claims and decisions as versioned JSON.

use model::{NodeClaim, ledger::Decision};

/// Why a stored text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {problem}")]
pub struct Error {
    /// What it should have been.
    pub what: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

/// `claim` as JSON with `"v":1`.
pub fn encode_claim(_claim: &NodeClaim) -> String {
    String::new()
}

/// The claim in `text`.
pub fn decode_claim(_text: &str) -> Result<NodeClaim, Error> {
    Err(Error { what: "claim record", problem: String::new() })
}

/// `decision` as JSON with `"v":1`.
pub fn encode_decision(_decision: &Decision) -> String {
    String::new()
}

/// The decision in `text`.
pub fn decode_decision(_text: &str) -> Result<Decision, Error> {
    Err(Error { what: "decision record", problem: String::new() })
}
