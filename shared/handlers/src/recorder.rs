//! Publishes the events of a pass. Nothing waits for an event, and an event that cannot be published fails nothing.

use std::{collections::BTreeSet, fmt};

use model::event::ObjectEvent;
use ports::{Adapters, Events as _, Fault, Invocation};

use crate::{error::story, memory::ProcessMemory, pass::each};

/// Events that are published at the same time.
const AT_ONCE: usize = 10;

/// Where a function publishes events.
pub struct Recorder<'a, A: Adapters> {
    /// Where they are published.
    pub events: &'a A::Events,
    /// Remembers which ones were published.
    pub memory: &'a ProcessMemory,
}

impl<A: Adapters> fmt::Debug for Recorder<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("memory", self.memory).finish_non_exhaustive()
    }
}

impl<A: Adapters> Recorder<'_, A> {
    /// Keeps `events` until the pass is over.
    pub(crate) fn note(&self, events: Vec<ObjectEvent>) {
        self.memory.published.note(events);
    }

    /// Publishes the noted events that are news.
    pub(crate) async fn publish(&self, clock: &A::Clock, at: &Invocation) {
        let published = &self.memory.published;
        let news = published.take_news(at.now);
        if news.is_empty() {
            return;
        }
        let (answers, _) = each(news, AT_ONCE, clock, at, async |event| {
            let answer = self.events.publish(&event, at.now).await;
            (answer, event)
        })
        .await;
        let mut failed = BTreeSet::new();
        for (answer, event) in answers {
            match answer {
                Ok(()) => {}
                // Its object may still be created, and then has its event.
                Err(error) if error.fault == Fault::NotFound => {
                    published.forget(event.about, event.reason);
                }
                Err(error) => {
                    failed.insert(story(&error));
                }
            }
        }
        if let Some(story) = failed.first() {
            tracing::warn!(story, "events not published");
        }
    }
}
