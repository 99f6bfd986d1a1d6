//! Steps to the cheapest fleet: which nodes cost more than their pods are worth, and what packing those anew saves.
//!
//! What a pod is worth are the dual prices of the program that gives all pods new nodes (`scheduling::packing`):
//! nodes that cost no more than their pods are worth have no part in any step that saves.

use model::{HourlyPrice, disruption::Cursor};

use super::{PACKED_SETS, Search, begin};
use crate::{
    disruption::{
        decide::PreparedCluster,
        multi::together_packed,
        packed::{whole_price, whole_price_after},
        price::Exact,
    },
    index::id::CandidateId,
};

/// Pods that are packed anew at once at most: what that takes is bounded.
const PODS_MAX: usize = 10_000;
/// Nodes next to each other that are looked at together at most.
const NEIGHBOURS: usize = 8;

impl Search<'_, '_> {
    /// One step of looking at nodes alone.
    pub(super) fn pack_one(&mut self, cursor: &mut Cursor) {
        if cursor.next == 0 {
            let best = self.best.clone();
            if !best.is_empty() {
                self.consider_packed(&best);
            }
            if self.is_cheapest() {
                cursor.stage = super::END;
                return;
            }
        }
        match self.dear().get(cursor.next).copied() {
            Some(at) => {
                self.consider_at(cursor.stage, &[at]);
                cursor.next += 1;
            }
            None => begin(cursor, PACKED_SETS),
        }
    }

    /// One step of looking at nodes that are next to each other by what they cost beside what their pods are worth, as
    /// many as budgets allow and no more than a few. Where nothing better was found, that is the last resort.
    pub(super) fn pack_neighbours(&mut self, cursor: &mut Cursor) {
        let order = self.dear();
        let mut set = Vec::new();
        for at in order.iter().skip(cursor.next).take(NEIGHBOURS) {
            set.push(*at);
            if self.above_budgets(&set).is_some() {
                set.pop();
            }
        }
        if !self.best.is_empty() || set.len() < 2 {
            cursor.stage = super::END;
            return;
        }
        self.consider_at(cursor.stage, &set);
        cursor.next += set.len().div_ceil(2);
    }

    /// What it saves if the nodes go and new nodes are packed so that they cost least. The best is kept.
    pub(super) fn consider_packed(&mut self, nodes: &[CandidateId]) -> Option<Exact> {
        if PODS_MAX < self.pods(nodes) || self.above_budgets(nodes).is_some() {
            return None;
        }
        let PreparedCluster { state, field, simulator, .. } = &mut *self.look;
        let saving = match together_packed(state, simulator, field, nodes) {
            Ok((_, saving)) => saving,
            Err(objection) => {
                self.note(nodes, objection);
                return None;
            }
        };
        if self.saving < saving {
            (self.saving, self.best, self.is_packed) = (saving, nodes.to_vec(), true);
        }
        Some(saving)
    }

    fn pods(&self, nodes: &[CandidateId]) -> usize {
        self.look.field.get(nodes).iter().map(|node| node.pods.len()).sum()
    }

    /// Whether the nodes cost no more than the cheapest ones that are found for all their pods. Of a larger fleet
    /// that is not asked.
    fn is_cheapest(&mut self) -> bool {
        if PODS_MAX < self.pods(&self.eligible) {
            return false;
        }
        let PreparedCluster { state, field, simulator, .. } = &mut *self.look;
        let nodes = field.get(&self.eligible);
        let Ok(outcome) = simulator.packed(&nodes, state.now) else { return true };
        let whole = nodes.iter().map(|node| whole_price(state, node));
        let before = whole.fold(Exact::default(), Exact::plus);
        outcome.stuck.is_none() && before <= whole_price_after(state, &outcome)
    }

    /// The nodes that cost more than their pods are worth: most for what these are worth first.
    pub(super) fn dear(&mut self) -> Vec<CandidateId> {
        if let Some(known) = &self.dear {
            return known.clone();
        }
        let PreparedCluster { state, field, simulator, .. } = &mut *self.look;
        let nodes = field.get(&self.eligible);
        let values = simulator.values(&nodes).into_iter().map(HourlyPrice::parts);
        let priced = self
            .eligible
            .iter()
            .zip(&nodes)
            .zip(values)
            .map(|((at, node), value)| (*at, whole_price(state, node).0, value));
        let mut dear: Vec<(CandidateId, u128, u128)> =
            priced.filter(|(_, price, value)| value < price).collect();
        dear.sort_by(|(a, price, value), (b, cost, worth)| {
            let (first, second) = (price.saturating_mul(*worth), cost.saturating_mul(*value));
            second.cmp(&first).then(a.cmp(b))
        });
        let dear: Vec<CandidateId> = dear.into_iter().map(|(at, ..)| at).collect();
        self.dear.insert(dear).clone()
    }
}
