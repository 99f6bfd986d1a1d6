//! What the dry run of a class came to, as it is stored.

use jiff::Timestamp;
use model::validation::{FailedCheck, Validation};
use serde::{Deserialize, Serialize};

use super::VERSION;

#[derive(Serialize, Deserialize)]
pub(super) struct ValidationRecordV1 {
    v: u32,
    key: String,
    due_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<FailureV1>,
}

#[derive(Serialize, Deserialize)]
struct FailureV1 {
    check: String,
    why: String,
}

impl ValidationRecordV1 {
    pub(super) fn of(validation: &Validation) -> Self {
        let failure = validation
            .failure
            .as_ref()
            .map(|(check, why)| FailureV1 { check: check.as_str().to_owned(), why: why.clone() });
        Self { v: VERSION, key: validation.key.clone(), due_at: validation.due_at, failure }
    }

    pub(super) fn into_validation(self) -> Result<Validation, String> {
        let failure = self.failure.map(|FailureV1 { check, why }| {
            let known = FailedCheck::parse(&check)
                .ok_or_else(|| format!("failure.check: `{check}` is not a check"))?;
            Ok::<_, String>((known, why))
        });
        Ok(Validation { key: self.key, due_at: self.due_at, failure: failure.transpose()? })
    }
}
