//! Events of the simulated cluster: one of a name is there once, for an hour.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    duration::later,
    event::{EventObject, EventReason, ObjectEvent},
    wake::AdmissionOperation,
};
use ports::{Fault, PortError};

use crate::world::World;

/// How long the API server keeps an event.
///
/// <https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/>, `--event-ttl`.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(1);

/// Until the second event of a series, at least: a pod that is not scheduled is tried again after a back-off.
///
/// <https://github.com/kubernetes/kubernetes/blob/master/pkg/scheduler/backend/queue/scheduling_queue.go>,
/// `DefaultPodInitialBackoffDuration`.
const SECOND_AFTER: SignedDuration = SignedDuration::from_secs(1);
/// Between events of a series after the second.
///
/// <https://github.com/kubernetes/client-go/blob/master/tools/events/event_broadcaster.go>, `refreshTime`.
const REFRESHED_AFTER: SignedDuration = SignedDuration::from_mins(30);

/// Events of kube-scheduler that say the same of one pod: the first is created, the second begins a series.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Series {
    sent: Option<(u32, Timestamp)>,
}

impl Series {
    /// What is done with the event of a pod that cannot be scheduled at `now`: `None` is nothing.
    pub(super) fn next(&mut self, now: Timestamp) -> Option<AdmissionOperation> {
        let Some((count, at)) = self.sent else {
            self.sent = Some((1, now));
            return Some(AdmissionOperation::Create);
        };
        let apart = if count == 1 { SECOND_AFTER } else { REFRESHED_AFTER };
        let is_sent = apart <= now.duration_since(at);
        if is_sent {
            self.sent = Some((count.saturating_add(1), now));
        }
        is_sent.then_some(AdmissionOperation::Update)
    }
}

/// What makes the name of an event: what it is about, why, and in which stretch of time.
type EventName = (EventObject, EventReason, i64);

/// Events, and when each is gone.
#[derive(Debug, Default)]
pub(crate) struct Events {
    known: BTreeMap<EventName, (Timestamp, ObjectEvent)>,
    gone_at: BTreeSet<(Timestamp, EventName)>,
    count: u64,
}

impl Events {
    /// Those that are there, in the order in which they were published.
    pub(crate) fn listed(&self) -> Vec<(Timestamp, ObjectEvent)> {
        let mut events: Vec<(Timestamp, ObjectEvent)> = self.known.values().cloned().collect();
        events.sort_by_key(|(at, _)| *at);
        events
    }

    /// How many were ever published.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

impl World {
    /// Publishes `event`, as it was `now` for the publisher. `NotFound` about what is not there.
    pub(crate) fn publish(&mut self, event: &ObjectEvent, now: Timestamp) -> Result<(), PortError> {
        let cluster = &self.cluster;
        let is_there = match &event.about {
            EventObject::Node(name) => cluster.nodes.contains_key(name),
            EventObject::NodeClaim(name) => cluster.node_claims.contains_key(name),
            EventObject::NodePool(name) => cluster.node_pools.contains_key(name),
            EventObject::Pod(key, None) => cluster.pods.contains_key(key),
            EventObject::Pod(_, Some(_)) => true,
        };
        if !is_there {
            return Err(PortError::new("publish an event", Fault::NotFound));
        }
        let at = self.now;
        let events = &mut self.cluster.events;
        while let Some((gone_at, _)) = events.gone_at.first()
            && *gone_at <= at
        {
            if let Some((_, name)) = events.gone_at.pop_first() {
                events.known.remove(&name);
            }
        }
        let stretch = now.as_second().div_euclid(event.reason.said_for().as_secs().max(1));
        let name = (event.about.clone(), event.reason, stretch);
        if events.known.contains_key(&name) {
            return Ok(());
        }
        events.gone_at.insert((later(at, KEPT_FOR), name.clone()));
        events.known.insert(name, (at, event.clone()));
        events.count += 1;
        Ok(())
    }
}
