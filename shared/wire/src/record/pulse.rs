//! A pulse as it is stored.

use jiff::Timestamp;
use model::pulse::{Pulse, PulseNote};
use serde::{Deserialize, Serialize};

use super::VERSION;
use crate::message::CountersV1;

/// Version 1 of a stored pulse. It says what the last pass left and is written whole: what another release
/// said of an earlier pass is over.
#[derive(Serialize, Deserialize)]
pub(super) struct PulseRecordV1 {
    v: u32,
    sequence: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due_at: Option<Timestamp>,
    served: CountersV1,
    #[serde(default)]
    failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<NoteV1>,
}

#[derive(Serialize, Deserialize)]
struct NoteV1 {
    digest: u64,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
}

impl NoteV1 {
    fn of(note: PulseNote) -> Self {
        let PulseNote { digest, at, since } = note;
        Self { digest, at, since: (since != at).then_some(since) }
    }

    fn into_note(self) -> PulseNote {
        let Self { digest, at, since } = self;
        PulseNote { digest, at, since: since.unwrap_or(at) }
    }
}

impl PulseRecordV1 {
    pub(super) fn of(pulse: &Pulse) -> Self {
        let Pulse { sequence, due_at, served, failures, note } = *pulse;
        Self {
            v: VERSION,
            sequence,
            due_at,
            served: CountersV1::of(served),
            failures,
            note: note.map(NoteV1::of),
        }
    }

    pub(super) fn into_pulse(self) -> Pulse {
        Pulse {
            sequence: self.sequence,
            due_at: self.due_at,
            served: self.served.into_counters(),
            failures: self.failures,
            note: self.note.map(NoteV1::into_note),
        }
    }
}
