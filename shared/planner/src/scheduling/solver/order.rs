//! The order in which claims of the plan are tried: fewest pods first.
//!
//! Karpenter sorts the claims by their number of pods before each pod, by Go's `sort.Slice`. That is
//! not stable, but always the same: what it does to claims with equally many pods depends on the
//! numbers of pods alone. Between two sorts a single claim gets a pod or is opened, and what comes of
//! that is nearly always what a stable sort would do: the claim that got one comes to stand before
//! those that had one more already, a new claim behind the others with one pod. So the groups of equal
//! counts are kept, and one claim moves between them. Only where Go would partition (from 13 claims to
//! 49 always, beyond that where the claim that got a pod stands where a pivot is looked for) its steps
//! are repeated, by `go_sort`.
//!
//! Whether any claim of a group is asked for is a question to its bits; which of them is first, a walk
//! along the shorter of the two: the group in its order, or those that are asked for.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/scheduler.go`, `addToInflightNode`.

pub mod go_sort;

use std::collections::VecDeque;

use go_sort::{Counted, INSERTION_MAX, LONG_MIN};

use crate::index::{
    bits::BitSet,
    id::{ClaimId, kind},
    table::Table,
};

/// Claims by how many pods they have.
#[derive(Debug, Default)]
pub struct Order {
    /// By number of pods.
    groups: Vec<Group>,
    places: Table<kind::Claim, Place>,
    /// All claims, while they are sorted.
    sorted: Vec<Counted>,
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
    claims: BitSet<kind::Claim>,
    /// In their order.
    order: VecDeque<ClaimId>,
}

impl Order {
    /// Adds `claim`, which is the next one, with its first pod.
    pub fn open(&mut self, claim: ClaimId) {
        let len = self.places.len() + 1;
        let is_stable =
            len <= INSERTION_MAX || LONG_MIN <= len || self.group(1).order.len() + 1 == len;
        if is_stable {
            let last = self.group(1).order.back().copied();
            let rank = last.map_or(0, |last| self.places[last].rank + 1);
            self.places.push(Place { pods: 1, rank });
            self.group(1).order.push_back(claim);
        } else {
            self.places.push(Place { pods: 1, rank: 0 });
            self.flatten();
            self.sorted.push(Counted { pods: 1, claim });
            self.sort();
        }
        self.group(1).claims.insert(claim);
    }

    /// The first of `claims`.
    pub fn first(&self, claims: &BitSet<kind::Claim>) -> Option<ClaimId> {
        self.groups.iter().find_map(|group| self.first_in(group, claims))
    }

    fn first_in(&self, group: &Group, claims: &BitSet<kind::Claim>) -> Option<ClaimId> {
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
    pub fn grow(&mut self, claim: ClaimId) {
        let Place { pods, rank } = self.places[claim];
        let next = pods + 1;
        self.group(next).claims.insert(claim);
        let places = &self.places;
        let Some(group) = self.groups.get_mut(pods) else { return };
        group.claims.remove(claim);
        let at = group.order.binary_search_by_key(&rank, |other| places[*other].rank);
        let at = at.unwrap_or_else(|at| at);
        let is_last = at + 1 == group.order.len();
        if is_last || self.moves_stably(pods, at) {
            self.group(pods).order.remove(at);
            let first = self.group(next).order.front().copied();
            let rank = first.map_or(0, |first| self.places[first].rank - 1);
            self.places[claim] = Place { pods: next, rank };
            self.group(next).order.push_front(claim);
        } else {
            self.places[claim].pods = next;
            self.flatten();
            let place = self.before(pods) + at;
            self.sorted.get_mut(place).into_iter().for_each(|counted| counted.pods = next);
            self.sort();
        }
    }

    /// Whether the claim at place `at` of those with `pods` only moves behind them when it gets one
    /// more.
    fn moves_stably(&self, pods: usize, at: usize) -> bool {
        let len = self.places.len();
        if len <= INSERTION_MAX {
            return true;
        }
        let place = self.before(pods) + at;
        // It stands wrong with its successor, which makes Go doubt that all are sorted.
        LONG_MIN <= len
            && go_sort::probes(len).iter().all(|probe| place != *probe && place + 1 != *probe)
    }

    /// How many claims have fewer than `pods`.
    fn before(&self, pods: usize) -> usize {
        self.groups.iter().take(pods).map(|group| group.order.len()).sum()
    }

    /// Lists all claims in the order and with the pods that they had.
    fn flatten(&mut self) {
        self.sorted.clear();
        for (pods, group) in self.groups.iter().enumerate() {
            self.sorted.extend(group.order.iter().map(|claim| Counted { pods, claim: *claim }));
        }
    }

    /// Brings the listed claims into order.
    fn sort(&mut self) {
        go_sort::sort(&mut self.sorted);
        self.groups.iter_mut().for_each(|group| group.order.clear());
        for (rank, Counted { pods, claim }) in (0..).zip(&self.sorted) {
            self.places[*claim].rank = rank;
            if let Some(group) = self.groups.get_mut(*pods) {
                group.order.push_back(*claim);
            }
        }
    }

    fn group(&mut self, pods: usize) -> &mut Group {
        if self.groups.len() <= pods {
            self.groups.resize_with(pods + 1, Group::default);
        }
        #[expect(clippy::indexing_slicing, reason = "there are as many groups now")]
        &mut self.groups[pods]
    }
}
