//! What `plan-check` refuses while a world is played. A function leaves that out of its plan, logs it and goes on: without
//! a look at the log, a story would not fail.

use std::sync::{Arc, Mutex};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::with_default,
};

/// As `handlers` log it.
const REFUSED: &str = "what breaks a rule is left out of the plan";

/// The refused parts of plans.
#[derive(Clone, Default)]
struct Refusals(Arc<Mutex<Vec<String>>>);

impl Refusals {
    fn first(&self) -> Option<String> {
        self.0.lock().expect("no other thread fails").first().cloned()
    }
}

impl Subscriber for Refusals {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() == Level::ERROR
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut texts = Texts::default();
        event.record(&mut texts);
        if texts.message == REFUSED {
            self.0.lock().expect("no other thread fails").push(texts.invalid);
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Texts {
    message: String,
    invalid: String,
}

impl Visit for Texts {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "invalid" => self.invalid = format!("{value:?}"),
            _ => {}
        }
    }
}

/// What `play` says, or else the first plan that `plan-check` refused a part of on the way.
pub(crate) fn judged(play: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let refusals = Refusals::default();
    let outcome = with_default(refusals.clone(), play);
    outcome?;
    refusals.first().map_or(Ok(()), Err)
}
