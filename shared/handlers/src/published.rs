//! Events of Kubernetes that one process published, and which of the next ones are news.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use jiff::Timestamp;
use model::{
    PodKey,
    duration::later,
    event::{EventObject, EventReason, ObjectEvent},
};

/// Events that one pass publishes at most. The next pass publishes the others, if they still hold then.
const PER_PASS_MAX: usize = 100;
/// Events that are remembered at most. Beyond that all are forgotten, and perhaps published again.
const REMEMBERED_MAX: usize = 20_000;

/// The events that this process published, and those that the present pass is to publish. An event that another
/// process published has a name of its own: see `ports::Events`.
#[derive(Debug, Default)]
pub(crate) struct PublishedEvents {
    /// Until when each event is not published again.
    until: RefCell<BTreeMap<(EventObject, EventReason), Timestamp>>,
    noted: RefCell<Vec<ObjectEvent>>,
}

impl PublishedEvents {
    /// Keeps `events` until the pass is over: nothing waits for them.
    pub(crate) fn note(&self, events: Vec<ObjectEvent>) {
        self.noted.borrow_mut().extend(events);
    }

    /// The pods of noted events [`EventReason::FailedScheduling`] that are news.
    pub(crate) fn news_of_pods(&self, now: Timestamp) -> BTreeSet<PodKey> {
        let (published, noted) = (self.until.borrow(), self.noted.borrow());
        let is_news = |event: &&ObjectEvent| {
            event.reason == EventReason::FailedScheduling
                && published
                    .get(&(event.about.clone(), event.reason))
                    .is_none_or(|until| *until <= now)
        };
        let news = noted.iter().filter(is_news);
        let keys = news.filter_map(|event| match &event.about {
            EventObject::Pod(key, _) => Some(key.clone()),
            _ => None,
        });
        keys.collect()
    }

    /// Adds to noted events [`EventReason::FailedScheduling`] what would let their pods be scheduled.
    pub(crate) fn name_remedies(&self, remedies: &BTreeMap<PodKey, String>) {
        for event in self.noted.borrow_mut().iter_mut() {
            if let (EventObject::Pod(key, _), EventReason::FailedScheduling) =
                (&event.about, event.reason)
                && let Some(remedy) = remedies.get(key)
            {
                event.append(&format!("; {remedy}"));
            }
        }
    }

    /// Takes the noted events that are news. They count as published from now on.
    pub(crate) fn take_news(&self, now: Timestamp) -> Vec<ObjectEvent> {
        let noted = self.noted.take();
        self.news(noted, now)
    }

    fn news(&self, events: Vec<ObjectEvent>, now: Timestamp) -> Vec<ObjectEvent> {
        let mut published = self.until.borrow_mut();
        if REMEMBERED_MAX < published.len() {
            published.retain(|_, until| now < *until);
        }
        if REMEMBERED_MAX < published.len() {
            published.clear();
        }
        let mut counts: BTreeMap<EventReason, usize> = BTreeMap::new();
        let mut news = Vec::new();
        for event in events {
            let key = (event.about.clone(), event.reason);
            let count = counts.entry(event.reason).or_default();
            let is_repeated = published.get(&key).is_some_and(|until| now < *until);
            if is_repeated || event.reason.per_pass_max() <= *count || PER_PASS_MAX <= news.len() {
                continue;
            }
            *count += 1;
            let until = later(now, event.reason.said_for());
            published.insert(key, until);
            news.push(event);
        }
        news
    }

    /// Forgets an event that could not be published: it is news again.
    pub(crate) fn forget(&self, about: EventObject, reason: EventReason) {
        self.until.borrow_mut().remove(&(about, reason));
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
    fn an_event_is_published_again_after_its_time() {
        let published = PublishedEvents::default();
        let failed = event("a", EventReason::FailedDraining);
        let twice = vec![failed.clone(), failed.clone()];
        assert_eq!(published.news(twice, at(0)), std::slice::from_ref(&failed));
        assert_eq!(published.news(vec![failed.clone()], at(119)), []);
        let other = event("a", EventReason::Unconsolidatable);
        assert_eq!(
            published.news(vec![failed.clone(), other.clone()], at(119)),
            std::slice::from_ref(&other)
        );
        assert_eq!(published.news(vec![failed.clone(), other], at(120)), [failed]);
    }

    #[test]
    fn an_event_that_could_not_be_published_is_news_again() {
        let published = PublishedEvents::default();
        let launching = event("a", EventReason::DisruptionLaunching);
        assert_eq!(published.news(vec![launching.clone()], at(0)).len(), 1);
        assert_eq!(published.news(vec![launching.clone()], at(1)), []);
        published.forget(launching.about.clone(), launching.reason);
        assert_eq!(published.news(vec![launching.clone()], at(2)), [launching]);
    }

    #[test]
    fn a_pass_publishes_a_hundred_events_and_the_next_pass_the_rest() {
        let published = PublishedEvents::default();
        let names: Vec<String> = (0..130).map(|number| format!("node-{number}")).collect();
        let of = |reason: EventReason| names.iter().map(move |name| event(name, reason));
        let nominated: Vec<_> = of(EventReason::Nominated).collect();
        assert_eq!(published.news(nominated.clone(), at(0)).len(), 5);
        assert_eq!(published.news(nominated, at(1)).len(), 5);
        let reasons =
            [EventReason::FailedDraining, EventReason::DisruptionBlocked, EventReason::Evicted];
        let events: Vec<_> = reasons.into_iter().flat_map(of).collect();
        let passes: Vec<usize> =
            (0..5).map(|second| published.news(events.clone(), at(second)).len()).collect();
        // At most fifty of a reason, and a hundred in all.
        assert_eq!(passes, [100, 100, 100, 50, 40]);
    }
}
