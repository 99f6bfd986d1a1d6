//! A command of disruption as it is stored until it is done.

use jiff::{SignedDuration, Timestamp};
use model::{
    NodeClaimName,
    disruption::{Command, Method, Progress},
};
use serde::{Deserialize, Serialize};

use super::{VERSION, parts, replacement::ReplacementV1};

/// The version of a command that is being carried out. Functions that know none of these would take it
/// for one that waits.
pub(super) const CARRIED_OUT: u32 = 2;

/// A stored command: version 1 while it waits, 2 from then on.
#[derive(Serialize, Deserialize)]
pub(super) struct CommandRecord {
    v: u32,
    method: String,
    found_at: Timestamp,
    candidates: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replacements: Vec<ReplacementV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drain_seconds: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    launching: Option<LaunchingV2>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rolled_back: Option<String>,
}

/// That replacements were promised.
#[derive(Serialize, Deserialize)]
struct LaunchingV2 {
    since: Timestamp,
    claims: Vec<String>,
}

impl CommandRecord {
    pub(super) fn of(command: &Command) -> Self {
        let Command { method, found_at, candidates, replacements, drain, progress } = command;
        let (launching, rolled_back) = match progress {
            Progress::Found => (None, None),
            Progress::Launching { since, claims } => {
                (Some(LaunchingV2 { since: *since, claims: parts::texts(claims) }), None)
            }
            Progress::RolledBack { why } => (None, Some(why.clone())),
        };
        Self {
            v: if *progress == Progress::Found { VERSION } else { CARRIED_OUT },
            method: method.as_str().to_owned(),
            found_at: *found_at,
            candidates: parts::texts(candidates),
            replacements: replacements.iter().map(ReplacementV1::of).collect(),
            drain_seconds: drain.map(|drain| drain.as_secs()),
            launching,
            rolled_back,
        }
    }

    pub(super) fn into_command(self) -> Result<Command, String> {
        let replacements = self.replacements.into_iter().map(ReplacementV1::into_replacement);
        let progress = match (self.launching, self.rolled_back) {
            (_, Some(why)) => Progress::RolledBack { why },
            (Some(LaunchingV2 { since, claims }), None) => {
                Progress::Launching { since, claims: parts::ids(&claims, NodeClaimName::new)? }
            }
            (None, None) if self.v == VERSION => Progress::Found,
            (None, None) => return Err("it does not say how far it is".to_owned()),
        };
        Ok(Command {
            method: parts::known(&self.method, "method", Method::parse)?,
            found_at: self.found_at,
            candidates: parts::ids(&self.candidates, NodeClaimName::new)?,
            replacements: replacements.collect::<Result<_, _>>()?,
            drain: self.drain_seconds.map(SignedDuration::from_secs),
            progress,
        })
    }
}
