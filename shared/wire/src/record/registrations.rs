//! How the latest launches of a NodePool ended, as it is stored.

use jiff::Timestamp;
use model::{
    ConditionReason, NodeClaimName,
    node_pool::{LaunchedSpec, RegistrationFailure, RegistrationOutcome, Registrations},
};
use serde::{Deserialize, Serialize};

use super::{VERSION, parts};

/// Version 1 of how the latest launches of a NodePool ended.
#[derive(Serialize, Deserialize)]
pub(super) struct RegistrationsRecordV1 {
    v: u32,
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<SpecV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(default)]
    outcomes: Vec<OutcomeV1>,
}

#[derive(Serialize, Deserialize)]
struct SpecV1 {
    uid: String,
    generation: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class_generation: Option<i64>,
}

/// A launch without a `reason` brought a node.
#[derive(Serialize, Deserialize)]
struct OutcomeV1 {
    claim: String,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl RegistrationsRecordV1 {
    pub(super) fn of(registrations: &Registrations) -> Self {
        let Registrations { version, about, since, outcomes } = registrations;
        Self {
            v: VERSION,
            version: *version,
            about: about.as_ref().map(|spec| SpecV1 {
                uid: spec.uid.clone(),
                generation: spec.generation,
                class_generation: spec.class_generation,
            }),
            since: *since,
            outcomes: outcomes.iter().map(OutcomeV1::of).collect(),
        }
    }

    pub(super) fn into_registrations(self) -> Result<Registrations, String> {
        let about = self.about.map(|spec| LaunchedSpec {
            uid: spec.uid,
            generation: spec.generation,
            class_generation: spec.class_generation,
        });
        let outcomes =
            self.outcomes.into_iter().map(OutcomeV1::into_outcome).collect::<Result<_, _>>()?;
        Ok(Registrations { version: self.version, about, since: self.since, outcomes })
    }
}

impl OutcomeV1 {
    fn of(outcome: &RegistrationOutcome) -> Self {
        let failure = outcome.failure.as_ref();
        Self {
            claim: outcome.claim.to_string(),
            at: outcome.at,
            reason: failure.map(|failure| failure.reason.to_string()),
            message: failure.map(|failure| failure.message.clone()),
        }
    }

    fn into_outcome(self) -> Result<RegistrationOutcome, String> {
        let message = self.message.unwrap_or_default();
        let failure =
            self.reason.map(|reason| RegistrationFailure { reason: known(reason), message });
        let claim = parts::id(&self.claim, NodeClaimName::new)?;
        Ok(RegistrationOutcome { claim, at: self.at, failure })
    }
}

fn known(reason: String) -> ConditionReason {
    [ConditionReason::RegistrationFailed, ConditionReason::LaunchFailed]
        .into_iter()
        .find(|known| known.as_str() == reason)
        .unwrap_or(ConditionReason::Other(reason))
}
