//! The lives of nodes, as a report draws them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{InstanceId, NodeClaimName, NodeName};
use report::{
    contents::{LANES_MAX, Lane, Lanes, micros},
    output::count,
};
use simulator::{Happening, TimelineEvent};

use super::{record::Record, timeline::Timeline};

/// The lanes of all nodes that were there until `end`; `None` without any.
pub(super) fn lanes(
    record: &Record,
    events: &[TimelineEvent],
    timeline: &Timeline,
    end: Timestamp,
) -> Option<Lanes> {
    let mut lives = Lives { record, lanes: BTreeMap::new(), claims: BTreeMap::new() };
    lives.begin();
    for event in events {
        lives.add(event);
    }
    let mut rows: Vec<Lane> = lives.lanes.into_values().collect();
    rows.sort_by(|a, b| a.from.cmp(&b.from).then_with(|| a.name.cmp(&b.name)));
    let left_out = rows.len().saturating_sub(LANES_MAX);
    // The newest ones are what is looked for.
    rows.drain(..left_out);
    add_moments(&mut rows, timeline);
    let nodes = count(u64::try_from(rows.len()).unwrap_or(u64::MAX), "node");
    let about = format!(
        "The life of {nodes}, from launch to end. Select a bar for why the node came, why it went, and what happened to it."
    );
    let (from, to) = (record.steps.start.as_second(), end.as_second());
    (!rows.is_empty()).then_some(Lanes { about, from, to, rows, left_out })
}

/// Adds to each of `rows` what happened to it.
fn add_moments(rows: &mut [Lane], timeline: &Timeline) {
    let names_of = |(place, lane): (usize, &Lane)| {
        lane.names.iter().map(|name| (name.clone(), place)).collect::<Vec<_>>()
    };
    let places: BTreeMap<String, usize> = rows.iter().enumerate().flat_map(names_of).collect();
    for (at, kind, mut names) in timeline.of_nodes() {
        let place = names.find_map(|name| places.get(name));
        if let Some(lane) = place.and_then(|place| rows.get_mut(*place)) {
            lane.moments.push((at.as_second() - lane.from, kind));
        }
    }
}

/// The lanes so far, by claim, and the claims of nodes.
struct Lives<'a> {
    record: &'a Record,
    lanes: BTreeMap<NodeClaimName, Lane>,
    claims: BTreeMap<NodeName, NodeClaimName>,
}

impl Lives<'_> {
    /// Takes the nodes that were there at the start.
    fn begin(&mut self) {
        let Some(first) = self.record.snapshots.first() else { return };
        for claim in &first.claims {
            let from = claim.created_at.max(self.record.steps.start);
            if from > self.record.steps.start {
                continue;
            }
            let mut lane = self.lane(&claim.name, claim.node_pool.as_str(), from);
            "It was there at the start.".clone_into(&mut lane.came);
            if let Some(instance) = &claim.instance {
                lane.names.push(instance.id.to_string());
                lane.price = Some(micros(instance.price.nanos().into()));
                lane.kind = instance.offering().to_string();
            }
            if let Some(node) = &claim.node {
                node.as_str().clone_into(&mut lane.name);
                lane.names.push(node.to_string());
                self.claims.insert(node.clone(), claim.name.clone());
            }
            self.lanes.insert(claim.name.clone(), lane);
        }
    }

    fn lane(&self, claim: &NodeClaimName, pool: &str, at: Timestamp) -> Lane {
        Lane {
            name: claim.to_string(),
            names: vec![claim.to_string()],
            pool: pool.to_owned(),
            kind: String::new(),
            price: None,
            from: at.as_second(),
            going: None,
            to: None,
            came: self.record.reasons.get(claim).cloned().unwrap_or_default(),
            went: Vec::new(),
            moments: Vec::new(),
        }
    }

    fn of_instance(&mut self, instance: &InstanceId) -> Option<&mut Lane> {
        self.lanes.get_mut(self.record.claims.get(instance)?)
    }

    fn add(&mut self, event: &TimelineEvent) {
        let at = event.at.as_second();
        match &event.happening {
            Happening::ClaimCreated { claim, node_pool } => {
                let lane = self.lane(claim, node_pool.as_str(), event.at);
                self.lanes.entry(claim.clone()).or_insert(lane);
            }
            Happening::InstanceLaunched { instance, offering, price } => {
                let Some(lane) = self.of_instance(instance) else { return };
                lane.names.push(instance.to_string());
                lane.kind = offering.to_string();
                lane.price = Some(micros(price.nanos().into()));
                lane.from = at;
            }
            Happening::NodeJoined { node, instance } => {
                let Some(claim) = self.record.claims.get(instance) else { return };
                self.claims.insert(node.clone(), claim.clone());
                let Some(lane) = self.lanes.get_mut(claim) else { return };
                node.as_str().clone_into(&mut lane.name);
                lane.names.push(node.to_string());
            }
            Happening::ClaimDeleted { claim, reason } => {
                let ending = self.record.endings.get(claim).cloned();
                let Some(lane) = self.lanes.get_mut(claim) else { return };
                lane.going = Some(at);
                lane.went = std::iter::once(reason.to_string()).chain(ending).collect();
            }
            Happening::ClaimRemoved { claim } => {
                let Some(lane) = self.lanes.get_mut(claim) else { return };
                lane.to.get_or_insert(at);
            }
            Happening::InstanceTerminated { instance, .. } => {
                let Some(lane) = self.of_instance(instance) else { return };
                lane.to = Some(at);
            }
            _ => {}
        }
    }
}
