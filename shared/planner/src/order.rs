//! The order in which claims of the plan are tried: fewest pods first.
//!
//! Karpenter sorts the claims by their number of pods before each pod. Of those with equally many
//! it keeps the order of before; so a claim that gets a pod comes to stand before those that had
//! one more already, and a new claim behind the others with one pod. Here the groups of equal
//! counts are kept instead, and nothing is ever sorted. Whether any claim of a group is asked for is
//! a question to its bits; which of them is first, a walk along the shorter of the two: the group in
//! its order, or those that are asked for.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/scheduler.go`, `addToInflightNode`.

use std::collections::VecDeque;

use crate::{bits::BitSet, table::Table};

/// Claims by how many pods they have.
#[derive(Debug, Default)]
pub(crate) struct Order {
    groups: Table<Group>,
    /// By claim.
    places: Table<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    pods: usize,
    /// Smaller is earlier.
    rank: i64,
}

/// Claims with equally many pods.
#[derive(Debug, Default)]
struct Group {
    claims: BitSet,
    /// In their order.
    order: VecDeque<usize>,
}

impl Order {
    /// Adds the next claim with its first pod.
    pub(crate) fn open(&mut self) {
        let claim = self.places.len();
        let last = self.group(1).order.back().copied();
        let rank = last.map_or(0, |last| self.places[last].rank + 1);
        self.places.push(Place { pods: 1, rank });
        let group = self.group(1);
        group.order.push_back(claim);
        group.claims.insert(claim);
    }

    /// The first of `claims`.
    pub(crate) fn first(&self, claims: &BitSet) -> Option<usize> {
        self.groups.iter().find_map(|group| self.first_in(group, claims))
    }

    fn first_in(&self, group: &Group, claims: &BitSet) -> Option<usize> {
        if group.order.is_empty() {
            return None;
        }
        let count = group.claims.count_common(claims);
        if count == 0 {
            None
        } else if count.saturating_mul(count) < group.order.len() {
            let asked = group.claims.common(claims);
            asked.min_by_key(|claim| self.places[*claim].rank)
        } else {
            group.order.iter().copied().find(|claim| claims.contains(*claim))
        }
    }

    /// `claim` got one more pod.
    pub(crate) fn grow(&mut self, claim: usize) {
        let Place { pods, rank } = self.places[claim];
        let places = &self.places;
        let group = &mut self.groups[pods];
        group.claims.remove(claim);
        let at = group.order.binary_search_by_key(&rank, |other| places[*other].rank);
        if let Ok(at) = at {
            group.order.remove(at);
        }
        let next = pods + 1;
        let first = self.group(next).order.front().copied();
        let rank = first.map_or(0, |first| self.places[first].rank - 1);
        self.places[claim] = Place { pods: next, rank };
        let group = self.group(next);
        group.order.push_front(claim);
        group.claims.insert(claim);
    }

    fn group(&mut self, pods: usize) -> &mut Group {
        self.groups.grow(pods + 1, Group::default);
        &mut self.groups[pods]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(order: &Order, len: usize) -> Vec<usize> {
        let mut left = BitSet::full(len);
        let mut claims = Vec::new();
        while let Some(claim) = order.first(&left) {
            left.remove(claim);
            claims.push(claim);
        }
        claims
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Each step gives a pod to the claim at that place of the order, or opens a claim.
        #[test]
        fn it_is_karpenters_stable_sort(steps in proptest::collection::vec(0_usize..12, 0..80)) {
            let mut order = Order::default();
            let mut sorted: Vec<(usize, usize)> = Vec::new();
            for step in steps {
                sorted.sort_by_key(|(pods, _)| *pods);
                let claims: Vec<usize> = sorted.iter().map(|(_, claim)| *claim).collect();
                prop_assert_eq!(all(&order, sorted.len()), claims);
                if let Some((pods, claim)) = sorted.get_mut(step) {
                    *pods += 1;
                    order.grow(*claim);
                } else {
                    order.open();
                    sorted.push((1, sorted.len()));
                }
            }
        }
    }
}
