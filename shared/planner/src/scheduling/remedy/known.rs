//! What was found before about pods that cannot be scheduled, so that a pod that waits for hours costs no search at each look.
//!
//! For people alone, as all of [`remedy`](super): losing it repeats searches.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use model::{
    InstanceType, Offering, Pod, PodKey,
    facts::Facts,
    plan::{Reason, Unplaced},
};

use super::{KnownTypes, STEPS_MAX, Standing, are_equal, searched};

/// A workload is searched at most once in this time, and all searches in this time go through [`STEPS_MAX`] nodes and
/// pods at most.
const PERIOD: SignedDuration = SignedDuration::from_mins(1);
/// Workloads that are remembered at most; the oldest are forgotten first.
const WORKLOADS_MAX: usize = 256;

/// What was found about the workloads of one cluster. Copies share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownRemedies(Rc<RefCell<Found>>);

#[derive(Debug, Default)]
struct Found {
    /// In the order in which they were searched.
    workloads: Vec<Workload>,
    /// The facts of the newest search, with its number.
    newest: Option<(u64, Facts)>,
    /// When the first search of the present period was, and how many steps are left in it.
    period: Option<(Timestamp, usize)>,
}

/// Equal pods, with what was found.
#[derive(Debug)]
struct Workload {
    /// One of them.
    pod: Pod,
    /// Why they had no place then.
    reasons: Vec<Reason>,
    searched_at: Timestamp,
    /// The number of its facts.
    number: u64,
    /// In words; `None` if no rule was found.
    remedy: Option<String>,
}

impl KnownRemedies {
    /// What would let pods be scheduled that are `unplaced`, in words, as far as that is known or is searched now: for
    /// the pods of `due` whose workload was not searched in the last minute, and again only if `facts` changed.
    pub(crate) fn of(
        &self,
        facts: &Facts,
        unplaced: &[Unplaced],
        due: &BTreeSet<PodKey>,
        types: &KnownTypes,
    ) -> BTreeMap<PodKey, String> {
        if unplaced.is_empty() {
            return BTreeMap::new();
        }
        let mut memory = self.0.borrow_mut();
        let waiting: BTreeSet<&PodKey> = unplaced.iter().map(|unplaced| &unplaced.pod).collect();
        let pods = facts.pods.iter().filter(|pod| waiting.contains(&pod.key));
        let pods: BTreeMap<&PodKey, &Pod> = pods.map(|pod| (&pod.key, pod)).collect();
        let of_due = unplaced.iter().filter(|unplaced| due.contains(&unplaced.pod));
        let of_due: Vec<(&Pod, &Unplaced)> =
            of_due.filter_map(|unplaced| Some((*pods.get(&unplaced.pod)?, unplaced))).collect();
        if !of_due.is_empty() {
            memory.search(facts, (&of_due, unplaced), types);
        }
        let text = |unplaced: &Unplaced| {
            let workload = memory.of_pod(pods.get(&unplaced.pod)?)?;
            let is_same = workload.reasons == unplaced.reasons;
            Some((unplaced.pod.clone(), workload.remedy.clone().filter(|_| is_same)?))
        };
        unplaced.iter().filter_map(text).collect()
    }
}

impl Found {
    fn of_pod(&self, pod: &Pod) -> Option<&Workload> {
        self.workloads.iter().find(|workload| are_equal(&workload.pod, pod))
    }

    /// Searches for those of `due`, of all that are `unplaced`, of which too little is known.
    fn search(
        &mut self,
        facts: &Facts,
        (due, unplaced): (&[(&Pod, &Unplaced)], &[Unplaced]),
        types: &KnownTypes,
    ) {
        let mut is_same = None;
        let mut is_known = |(pod, unplaced): (&Pod, &Unplaced)| {
            let Some(workload) = self.of_pod(pod) else { return false };
            let (number, newest) = match &self.newest {
                Some((number, newest)) => (*number, newest),
                None => return false,
            };
            let is_young = facts.now.duration_since(workload.searched_at) < PERIOD;
            is_young
                || workload.reasons == unplaced.reasons
                    && workload.number == number
                    && *is_same.get_or_insert_with(|| are_alike(facts, newest))
        };
        let unknown = due.iter().filter(|(pod, unplaced)| !is_known((pod, unplaced)));
        let mut unknown: Vec<&(&Pod, &Unplaced)> = unknown.collect();
        // Where steps are too few for all, those come first that were searched longest ago.
        let searched_at = |pod: &Pod| self.of_pod(pod).map(|workload| workload.searched_at);
        unknown.sort_by_cached_key(|(pod, _)| searched_at(pod));
        let unknown: Vec<Unplaced> =
            unknown.into_iter().map(|(_, unplaced)| (*unplaced).clone()).collect();
        let (began_at, steps) = self
            .period
            .filter(|(began_at, _)| facts.now.duration_since(*began_at) < PERIOD)
            .unwrap_or((facts.now, STEPS_MAX));
        if unknown.is_empty() {
            return;
        }
        let (groups, left) = searched(facts, (&unknown, unplaced), types, steps);
        if !groups.iter().any(|group| group.standing != Standing::Unknown) {
            return;
        }
        self.period = Some((began_at, left));
        let number = self.number_of(facts, is_same);
        for group in groups {
            let is_known = group.standing != Standing::Unknown;
            if !is_known || !group.is_whole && steps < STEPS_MAX {
                // There were too few steps left.
                continue;
            }
            let remedy = group.text();
            let is_first = |unplaced: &&Unplaced| group.keys.first() == Some(&unplaced.pod);
            let Some(first) = unknown.iter().find(is_first) else { continue };
            self.workloads.retain(|workload| !are_equal(&workload.pod, group.pod));
            self.workloads.push(Workload {
                pod: group.pod.clone(),
                reasons: first.reasons.clone(),
                searched_at: facts.now,
                number,
                remedy,
            });
        }
        let surplus = self.workloads.len().saturating_sub(WORKLOADS_MAX);
        self.workloads.drain(..surplus);
    }

    /// The number of `facts`, which are kept as the newest unless they are like them.
    fn number_of(&mut self, facts: &Facts, is_same: Option<bool>) -> u64 {
        let before = self.newest.as_ref().map(|(number, newest)| (*number, newest));
        match before {
            Some((number, newest)) if is_same.unwrap_or_else(|| are_alike(facts, newest)) => number,
            _ => {
                let number = before.map_or(0, |(number, _)| number.wrapping_add(1));
                self.newest = Some((number, facts.clone()));
                number
            }
        }
    }
}

/// Whether pods have the same remedies on `facts` and `others`: they differ in time and prices alone, and spot prices
/// change every few minutes.
fn are_alike(facts: &Facts, others: &Facts) -> bool {
    facts.differ_in_time_and_types(others, |this, that| {
        Arc::ptr_eq(this, that) || are_alike_but_for_prices(this, that)
    })
}

fn are_alike_but_for_prices(one: &InstanceType, other: &InstanceType) -> bool {
    let is_alike = |(one, other): (&Offering, &Offering)| {
        one.zone == other.zone
            && one.capacity_type == other.capacity_type
            && one.is_available == other.is_available
            && one.reservation == other.reservation
    };
    one.name == other.name
        && one.offerings.len() == other.offerings.len()
        && one.offerings.iter().zip(&other.offerings).all(is_alike)
        && one.capacity == other.capacity
        && one.overhead == other.overhead
        && one.requirements == other.requirements
}
