//! Events of the simulated cluster: one of a name is there once, for an hour.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    duration::later,
    event::{EventObject, EventReason, ObjectEvent},
};
use ports::{Fault, PortError};

use crate::world::World;

/// How long the API server keeps an event.
///
/// <https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/>, `--event-ttl`.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(1);

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
