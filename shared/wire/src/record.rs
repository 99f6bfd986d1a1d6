//! What is stored: claims, decisions and validations as versioned JSON.
//!
//! A record says its version in `v`. A field that is added is optional for one release, so that
//! two releases can share a table; an unknown field is an error rather than a silent loss.

use model::{NodeClaim, ledger::Decision, validation::Validation};
use serde::{Serialize, de::DeserializeOwned};

mod claim;
mod claims;
mod decision;
pub(crate) mod parts;
mod validation;

/// Why a stored text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {problem}")]
pub struct Error {
    /// What it should have been.
    pub what: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

/// The version that is written.
const VERSION: u32 = 1;

/// `claim` as JSON with `"v":1`. Equal claims have equal texts.
pub fn encode_claim(claim: &NodeClaim) -> String {
    encode(&claim::ClaimRecordV1::of(claim))
}

/// The claim in `text`.
pub fn decode_claim(text: &str) -> Result<NodeClaim, Error> {
    let what = "claim record";
    decode::<claim::ClaimRecordV1>(what, text)?
        .into_claim()
        .map_err(|problem| Error { what, problem })
}

/// `claims` as one JSON with `"v":1`: the first claim's record, and of each other one only the
/// members that differ from the first's; `null` is a member that it lacks. Claims of a batch are
/// alike but for a few.
pub fn encode_claims(claims: &[&NodeClaim]) -> String {
    encode(&claims::ClaimsRecordV1::of(claims))
}

/// The claims in `text`.
pub fn decode_claims(text: &str) -> Result<Vec<NodeClaim>, Error> {
    let what = "claims record";
    decode::<claims::ClaimsRecordV1>(what, text)?
        .into_claims()
        .map_err(|problem| Error { what, problem })
}

/// `decision` as JSON with `"v":1`.
pub fn encode_decision(decision: &Decision) -> String {
    encode(&decision::DecisionRecordV1::of(decision))
}

/// The decision in `text`.
pub fn decode_decision(text: &str) -> Result<Decision, Error> {
    let what = "decision record";
    decode::<decision::DecisionRecordV1>(what, text)?
        .into_decision()
        .map_err(|problem| Error { what, problem })
}

/// `validation` as JSON with `"v":1`.
pub fn encode_validation(validation: &Validation) -> String {
    encode(&validation::ValidationRecordV1::of(validation))
}

/// The validation in `text`.
pub fn decode_validation(text: &str) -> Result<Validation, Error> {
    let what = "verdict record";
    decode::<validation::ValidationRecordV1>(what, text)?
        .into_validation()
        .map_err(|problem| Error { what, problem })
}

/// Records have texts as keys and no floats: writing them cannot fail.
fn encode(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

fn decode<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, Error> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        v: u32,
    }
    let refuse = |problem: String| Error { what, problem };
    // The version first: a record of another version would only confuse with its other fields.
    let versioned: Versioned =
        serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
    if versioned.v != VERSION {
        return Err(refuse(format!("version {} is not supported, only {VERSION} is", versioned.v)));
    }
    serde_json::from_str(text).map_err(|error| refuse(error.to_string()))
}

#[cfg(test)]
mod tests;
