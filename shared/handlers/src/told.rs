//! Events of Kubernetes that a pass tells: what is news, and how it is published.
//!
//! What is told follows from what was decided; here is only chosen how much of it is said again. A process
//! remembers what it said; what it does not know any more the event's name says (see `ports::Events`).
//! Nothing waits for an event, and one that cannot be published fails nothing.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::Timestamp;
use model::event::{EventObject, EventReason, ObjectEvent};
use ports::{Adapters, Events as _, Fault, Invocation};

use crate::{error::story, pass::each, standing::Standing};

/// Events of one pass at most. Others are told by the next one, if they are so then.
const PER_PASS_MAX: usize = 100;
/// Events that are published at the same time.
const AT_ONCE: usize = 10;
/// What a process remembers at most: more is forgotten, and perhaps said again.
const REMEMBERED_MAX: usize = 20_000;

/// What this process said, and what it has yet to say.
#[derive(Debug, Default)]
pub struct Told {
    /// Each until when it is not said again.
    said: RefCell<BTreeMap<(EventObject, EventReason), Timestamp>>,
    /// What the present pass came upon.
    noted: RefCell<Vec<ObjectEvent>>,
    /// Decisions that stand, and their records.
    pub(crate) standing: Standing,
}

impl Told {
    /// Those of `events` that are worth saying, which counts as said from now on.
    fn news(&self, events: Vec<ObjectEvent>, now: Timestamp) -> Vec<ObjectEvent> {
        let mut told = self.said.borrow_mut();
        if told.len() > REMEMBERED_MAX {
            told.retain(|_, until| now < *until);
        }
        if told.len() > REMEMBERED_MAX {
            told.clear();
        }
        let mut counts: BTreeMap<EventReason, usize> = BTreeMap::new();
        let mut news = Vec::new();
        for event in events {
            let key = (event.about.clone(), event.reason);
            let count = counts.entry(event.reason).or_default();
            let is_known = told.get(&key).is_some_and(|until| now < *until);
            if is_known || event.reason.per_pass_max() <= *count || PER_PASS_MAX <= news.len() {
                continue;
            }
            *count += 1;
            let until = now.checked_add(event.reason.said_for()).unwrap_or(Timestamp::MAX);
            told.insert(key, until);
            news.push(event);
        }
        news
    }

    /// Forgets that something was said: it could not be.
    fn unsay(&self, (about, reason): (EventObject, EventReason)) {
        self.said.borrow_mut().remove(&(about, reason));
    }
}

/// Where a function tells events.
pub struct Recorder<'a, A: Adapters> {
    /// Where they are published.
    pub events: &'a A::Events,
    /// What was told.
    pub told: &'a Told,
}

impl<A: Adapters> fmt::Debug for Recorder<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("told", self.told).finish_non_exhaustive()
    }
}

impl<A: Adapters> Recorder<'_, A> {
    /// Keeps `events` until the pass is over: what goes on does not wait for them.
    pub(crate) fn note(&self, events: Vec<ObjectEvent>) {
        self.told.noted.borrow_mut().extend(events);
    }

    /// Publishes what is news of the events that were noted.
    pub(crate) async fn publish(&self, clock: &A::Clock, at: &Invocation) {
        let noted = self.told.noted.take();
        let news = self.told.news(noted, at.now);
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
                // Its object may yet be made, and is to be told of then.
                Err(error) if error.fault == Fault::NotFound => {
                    self.told.unsay((event.about, event.reason));
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

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use model::NodeName;

    use super::*;

    fn event(node: &str, reason: EventReason) -> ObjectEvent {
        let node = NodeName::new(node).unwrap();
        ObjectEvent::new(EventObject::Node(node), reason, "why")
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH.checked_add(SignedDuration::from_secs(seconds)).unwrap()
    }

    #[test]
    fn the_same_is_told_again_after_its_time() {
        let told = Told::default();
        let failed = event("a", EventReason::FailedDraining);
        let twice = vec![failed.clone(), failed.clone()];
        assert_eq!(told.news(twice, at(0)), std::slice::from_ref(&failed));
        assert_eq!(told.news(vec![failed.clone()], at(119)), []);
        let other = event("a", EventReason::Unconsolidatable);
        assert_eq!(
            told.news(vec![failed.clone(), other.clone()], at(119)),
            std::slice::from_ref(&other)
        );
        assert_eq!(told.news(vec![failed.clone(), other], at(120)), [failed]);
    }

    #[test]
    fn what_could_not_be_said_is_news_again() {
        let told = Told::default();
        let launching = event("a", EventReason::DisruptionLaunching);
        assert_eq!(told.news(vec![launching.clone()], at(0)).len(), 1);
        assert_eq!(told.news(vec![launching.clone()], at(1)), []);
        told.unsay((launching.about.clone(), launching.reason));
        assert_eq!(told.news(vec![launching.clone()], at(2)), [launching]);
    }

    #[test]
    fn a_pass_tells_so_much_and_the_next_one_the_rest() {
        let told = Told::default();
        let names: Vec<String> = (0..130).map(|number| format!("node-{number}")).collect();
        let of = |reason: EventReason| names.iter().map(move |name| event(name, reason));
        let nominated: Vec<_> = of(EventReason::Nominated).collect();
        assert_eq!(told.news(nominated.clone(), at(0)).len(), 5);
        assert_eq!(told.news(nominated, at(1)).len(), 5);
        let reasons =
            [EventReason::FailedDraining, EventReason::DisruptionBlocked, EventReason::Evicted];
        let events: Vec<_> = reasons.into_iter().flat_map(of).collect();
        let passes: Vec<usize> =
            (0..5).map(|second| told.news(events.clone(), at(second)).len()).collect();
        // At most fifty of a reason, and a hundred in all.
        assert_eq!(passes, [100, 100, 100, 50, 40]);
    }
}
