//! A command of disruption as it is stored while it waits.

use jiff::Timestamp;
use model::{
    NodeClaimName,
    disruption::{Command, Method},
};
use serde::{Deserialize, Serialize};

use super::{VERSION, parts, replacement::ReplacementV1};

/// Version 1 of a stored command.
#[derive(Serialize, Deserialize)]
pub(super) struct CommandRecordV1 {
    v: u32,
    method: String,
    found_at: Timestamp,
    candidates: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replacements: Vec<ReplacementV1>,
}

impl CommandRecordV1 {
    pub(super) fn of(command: &Command) -> Self {
        let Command { method, found_at, candidates, replacements } = command;
        Self {
            v: VERSION,
            method: method.as_str().to_owned(),
            found_at: *found_at,
            candidates: parts::texts(candidates),
            replacements: replacements.iter().map(ReplacementV1::of).collect(),
        }
    }

    pub(super) fn into_command(self) -> Result<Command, String> {
        let replacements = self.replacements.into_iter().map(ReplacementV1::into_replacement);
        Ok(Command {
            method: parts::known(&self.method, "method", Method::parse)?,
            found_at: self.found_at,
            candidates: parts::ids(&self.candidates, NodeClaimName::new)?,
            replacements: replacements.collect::<Result<_, _>>()?,
        })
    }
}
