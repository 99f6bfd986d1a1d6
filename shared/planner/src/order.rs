//! The order in which claims of the plan are tried: fewest pods first.
//!
//! Karpenter sorts the claims by their number of pods before each pod. Of those with equally many
//! it keeps the order of before; so a claim that gets a pod comes to stand before those that had
//! one more already, and a new claim behind the others with one pod. Here the groups of equal
//! counts are kept instead, and nothing is ever sorted.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/scheduler.go`, `addToInflightNode`.

use std::collections::VecDeque;

/// Claims by how many pods they have.
#[derive(Debug, Default)]
pub(crate) struct Order {
    groups: Vec<VecDeque<usize>>,
}

/// A place in the order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pods: usize,
    position: usize,
}

impl Order {
    /// Adds a claim with its first pod.
    pub(crate) fn open(&mut self, claim: usize) {
        self.group(1).push_back(claim);
    }

    /// The first place in the order.
    pub(crate) fn first() -> Place {
        Place { pods: 1, position: 0 }
    }

    /// The claim at `place` or at the next one that there is, and the place after it.
    pub(crate) fn next(&self, mut place: Place) -> Option<(usize, Place, Place)> {
        loop {
            let group = self.groups.get(place.pods)?;
            if let Some(claim) = group.get(place.position) {
                let after = Place { position: place.position + 1, ..place };
                return Some((*claim, place, after));
            }
            place = Place { pods: place.pods + 1, position: 0 };
        }
    }

    /// The claim at `place` got one more pod.
    pub(crate) fn grow(&mut self, place: Place) {
        let claim = self.groups.get_mut(place.pods).and_then(|group| group.remove(place.position));
        if let Some(claim) = claim {
            self.group(place.pods + 1).push_front(claim);
        }
    }

    fn group(&mut self, pods: usize) -> &mut VecDeque<usize> {
        if self.groups.len() <= pods {
            self.groups.resize_with(pods + 1, VecDeque::new);
        }
        // The group was just made.
        #[expect(clippy::indexing_slicing, reason = "resized above")]
        &mut self.groups[pods]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(order: &Order) -> Vec<usize> {
        let mut claims = Vec::new();
        let mut place = Order::first();
        while let Some((claim, _, after)) = order.next(place) {
            claims.push(claim);
            place = after;
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
                prop_assert_eq!(all(&order), sorted.iter().map(|(_, c)| *c).collect::<Vec<_>>());
                if let Some((pods, _)) = sorted.get_mut(step) {
                    *pods += 1;
                    let mut place = Order::first();
                    for _ in 0..step {
                        place = order.next(place).unwrap().2;
                    }
                    let (_, place, _) = order.next(place).unwrap();
                    order.grow(place);
                } else {
                    order.open(sorted.len());
                    sorted.push((1, sorted.len()));
                }
            }
        }
    }
}
