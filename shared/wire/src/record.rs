//! What is stored: claims, pulses, commands, decisions and the like as versioned JSON.
//!
//! A record says its version in `v`. Two releases share a table while functions are rolled forward or
//! back: a member that is added is optional, and one that is not known is passed over; of a claim, whose
//! record is written again and again, it is kept.

use std::sync::Arc;

use model::{
    NodeClaim,
    claim::Retry,
    disruption::Command,
    ledger::{Decision, LaunchRefusals},
    node_pool::Registrations,
    pulse::Pulse,
    validation::Validation,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

mod claim;
mod claims;
mod command;
mod decision;
mod kept;
pub(crate) mod parts;
mod pulse;
mod refusals;
mod registrations;
mod replacement;
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

/// `claim` as JSON with `"v":1`. Equal claims have equal texts. Of the record that it was read from, all
/// stays that was not understood.
pub fn encode_claim(claim: &NodeClaim) -> String {
    match claim.not_understood {
        None => encode(&claim::ClaimRecordV1::of(claim)),
        Some(_) => claim_value(claim).to_string(),
    }
}

/// The claim in `text`, with `text` itself where that says more than is understood here.
pub fn decode_claim(text: &str) -> Result<NodeClaim, Error> {
    let claim = decode_understood(text)?;
    let says_no_more = encode_claim(&claim) == text
        || serde_json::from_str(text).is_ok_and(|whole: Value| value(&claim) == whole);
    let not_understood = (!says_no_more).then(|| Arc::from(text));
    Ok(NodeClaim { not_understood, ..claim })
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

/// `pulse` as JSON with `"v":1`.
pub fn encode_pulse(pulse: &Pulse) -> String {
    encode(&pulse::PulseRecordV1::of(pulse))
}

/// The pulse in `text`.
pub fn decode_pulse(text: &str) -> Result<Pulse, Error> {
    Ok(decode::<pulse::PulseRecordV1>("pulse record", text)?.into_pulse())
}

/// `command` as JSON with `"v":1` while it waits, and `"v":2` once it is carried out.
pub fn encode_command(command: &Command) -> String {
    encode(&command::CommandRecord::of(command))
}

/// The command in `text`.
pub fn decode_command(text: &str) -> Result<Command, Error> {
    let what = "command record";
    decode_of::<command::CommandRecord>(&[VERSION, command::CARRIED_OUT], what, text)?
        .into_command()
        .map_err(|problem| Error { what, problem })
}

/// `refusals` as JSON with `"v":1`.
pub fn encode_refusals(refusals: &LaunchRefusals) -> String {
    encode(&refusals::RefusalsRecordV1::of(refusals))
}

/// The refusals in `text`.
pub fn decode_refusals(text: &str) -> Result<LaunchRefusals, Error> {
    Ok(decode::<refusals::RefusalsRecordV1>("refusals record", text)?.into_refusals())
}

/// `registrations` as JSON with `"v":1`.
pub fn encode_registrations(registrations: &Registrations) -> String {
    encode(&registrations::RegistrationsRecordV1::of(registrations))
}

/// The registrations in `text`.
pub fn decode_registrations(text: &str) -> Result<Registrations, Error> {
    let what = "registrations record";
    decode::<registrations::RegistrationsRecordV1>(what, text)?
        .into_registrations()
        .map_err(|problem| Error { what, problem })
}

/// `retry` as JSON with `"v":1`. It stands beside the claim's record and not in it: functions of the
/// release of commit 405e221 refuse a record with a member that they do not know.
pub fn encode_retry(retry: Retry) -> String {
    encode(&refusals::RetryRecordV1::of(retry))
}

/// What is said in `text` of failed visits.
pub fn decode_retry(text: &str) -> Result<Retry, Error> {
    Ok(decode::<refusals::RetryRecordV1>("retry record", text)?.into_retry())
}

/// The record of `claim`, with what was not understood of the one that it was read from.
fn claim_value(claim: &NodeClaim) -> Value {
    let written = value(claim);
    let Some(stored) = &claim.not_understood else { return written };
    let read = decode_understood(stored).map(|read| value(&read));
    match (serde_json::from_str::<Value>(stored), read) {
        (Ok(mut stored), Ok(read)) => {
            kept::rewrite(&mut stored, &read, &written);
            stored
        }
        // It was read, so it can be read.
        _ => written,
    }
}

fn value(claim: &NodeClaim) -> Value {
    serde_json::to_value(claim::ClaimRecordV1::of(claim)).unwrap_or_default()
}

fn decode_understood(text: &str) -> Result<NodeClaim, Error> {
    let what = "claim record";
    decode::<claim::ClaimRecordV1>(what, text)?
        .into_claim()
        .map_err(|problem| Error { what, problem })
}

/// Records have texts as keys and no floats: writing them cannot fail.
fn encode(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

fn decode<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, Error> {
    decode_of(&[VERSION], what, text)
}

/// The record in `text`, if it is of one of the `known` versions.
fn decode_of<T: DeserializeOwned>(
    known: &[u32],
    what: &'static str,
    text: &str,
) -> Result<T, Error> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        v: u32,
    }
    let refuse = |problem: String| Error { what, problem };
    // The version first: a record of another version would only confuse with its other fields.
    let versioned: Versioned =
        serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
    if !known.contains(&versioned.v) {
        let texts: Vec<String> = known.iter().map(ToString::to_string).collect();
        let supported = texts.join(" and ");
        let verb = if known.len() == 1 { "is" } else { "are" };
        let version = versioned.v;
        return Err(refuse(format!("version {version} is not supported, only {supported} {verb}")));
    }
    serde_json::from_str(text).map_err(|error| refuse(error.to_string()))
}

#[cfg(test)]
mod tests;
