//! Which pools are whole, and which of their devices a node reaches.
//!
//! Karpenter: `pkg/scheduling/dynamicresources/pool.go`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use model::{
    NodeName, Requirements,
    dynamic_resources::{ResourceSlice, SliceAccess},
};

use crate::{
    bounds,
    inventory::{Entry, Pool, Published, Slice},
};

/// A pool none of whose devices is allocated for now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnusablePool {
    /// The driver.
    pub driver: Arc<str>,
    /// The pool of the driver.
    pub pool: Arc<str>,
    /// Why.
    pub why: PoolFault,
}

/// Why no device of a pool is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PoolFault {
    /// Its driver has not published all slices.
    Incomplete {
        /// Slices of the highest generation.
        published: usize,
        /// Slices that there should be.
        declared: i64,
    },
    /// Two devices or two counter sets have one name, or a device consumes a counter that does not exist.
    Invalid,
}

impl fmt::Display for UnusablePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { driver, pool, why } = self;
        match why {
            PoolFault::Incomplete { published, declared } => write!(
                f,
                "pool {driver}/{pool} is incomplete ({published} of {declared} ResourceSlices)"
            ),
            PoolFault::Invalid => write!(
                f,
                "pool {driver}/{pool} is invalid (device names and counter sets must be unique, and consumed \
                 counters must be declared)"
            ),
        }
    }
}

/// What counts of a pool in one pass.
#[derive(Debug)]
pub(crate) struct Current {
    /// By slice: whether it is of the highest generation.
    are_newest: Vec<bool>,
    fault: Option<PoolFault>,
    has_counters: bool,
    /// By number: what devices that are allocated in the cluster leave of counters.
    pub(crate) budget: BTreeMap<usize, i128>,
}

impl Current {
    /// `is_hidden` names slices that do not count, `is_allocated` devices by number.
    pub(crate) fn of(
        pool: &Pool<'_>,
        is_hidden: impl Fn(&ResourceSlice) -> bool,
        is_allocated: impl Fn(usize) -> bool,
    ) -> Self {
        let seen = || pool.slices.iter().filter(|slice| !is_hidden(slice.facts));
        let newest = seen().map(|slice| slice.facts.pool.generation).max();
        let is_current = |slice: &&Slice<'_>| {
            Some(slice.facts.pool.generation) == newest && !is_hidden(slice.facts)
        };
        let slices = || pool.slices.iter().filter(is_current);
        let published = slices().count();
        let declared = slices().next().map_or(0, |slice| slice.facts.pool.slice_count);
        let mut sets = BTreeSet::new();
        let mut budget = BTreeMap::new();
        let mut is_invalid = false;
        for (set, counters) in slices().flat_map(|slice| &slice.declares) {
            is_invalid |= !sets.insert(*set);
            budget.extend(counters);
        }
        let entries =
            || slices().filter(|slice| slice.declares.is_empty()).flat_map(|s| &s.entries);
        for (counter, _) in entries().flat_map(|entry| &entry.counters) {
            is_invalid |= !budget.contains_key(counter);
        }
        let mut spent = BTreeSet::new();
        let allocated = entries().filter(|entry| is_allocated(entry.number));
        for entry in allocated.filter(|entry| spent.insert(entry.number)) {
            for (counter, amount) in &entry.counters {
                let left: &mut i128 = budget.entry(*counter).or_default();
                *left = left.saturating_sub(*amount);
            }
        }
        let is_complete = i64::try_from(published) == Ok(declared);
        let fault = match (is_complete, is_invalid) {
            (_, true) => Some(PoolFault::Invalid),
            (false, _) => Some(PoolFault::Incomplete { published, declared }),
            (true, false) => None,
        };
        let are_newest = pool.slices.iter().map(|slice| is_current(&slice)).collect();
        Self { are_newest, fault, has_counters: !sets.is_empty(), budget }
    }

    /// Whether its slices with shared counters, which every node sees, are of a pool that cannot be used.
    pub(crate) fn is_broken_everywhere(&self) -> bool {
        self.has_counters && self.fault.is_some()
    }
}

/// The devices that a node reaches.
#[derive(Debug, Default)]
pub(crate) struct View<'s> {
    /// By driver and pool, slice and place in the slice.
    pub(crate) entries: Vec<&'s Entry<'s>>,
    /// Pools that the node sees, but whose devices are not used.
    pub(crate) unusable: Vec<UnusablePool>,
}

impl<'s> View<'s> {
    /// `broken` are pools with shared counters that cannot be used; `current` knows what counts of a pool.
    pub(crate) fn new(
        published: &'s Published<'s>,
        current: impl Fn(usize) -> Option<&'s Current>,
        broken: &BTreeSet<usize>,
        (requirements, node): (&Requirements, Option<&NodeName>),
    ) -> Self {
        let on_node = node.and_then(|node| published.by_node.get(node));
        let mut numbers: BTreeSet<usize> = published.open.union(broken).copied().collect();
        numbers.extend(on_node.into_iter().flatten());
        let mut view = Self::default();
        for number in numbers {
            if let (Some(pool), Some(current)) = (published.pools.get(number), current(number)) {
                view.add(pool, current, |access| reaches(access, requirements, node));
            }
        }
        view
    }

    fn add(
        &mut self,
        pool: &'s Pool<'s>,
        current: &Current,
        reaches: impl Fn(&SliceAccess) -> bool,
    ) {
        let slices = pool.slices.iter().zip(&current.are_newest);
        let slices = slices.filter_map(|(slice, is_shown)| is_shown.then_some(slice));
        let seen: Vec<&'s Slice<'s>> =
            slices.filter(|s| s.declares.is_empty() && reaches(&s.facts.access)).collect();
        if seen.is_empty() && !current.has_counters {
            return;
        }
        let entries = || seen.iter().copied().flat_map(|slice| &slice.entries);
        let mut names = BTreeSet::new();
        let is_unique = entries().all(|entry| names.insert(&entry.id.device));
        let twice = (!is_unique).then_some(PoolFault::Invalid);
        match twice.or(current.fault) {
            Some(why) => {
                let (driver, pool) = (Arc::clone(pool.driver), Arc::clone(pool.name));
                self.unusable.push(UnusablePool { driver, pool, why });
            }
            None => self.entries.extend(entries()),
        }
    }
}

fn reaches(access: &SliceAccess, requirements: &Requirements, node: Option<&NodeName>) -> bool {
    match access {
        SliceAccess::AllNodes => true,
        SliceAccess::Node(name) => node == Some(name),
        SliceAccess::Selector(selector) => bounds::any_matches(selector, requirements, node),
        SliceAccess::Unsupported => false,
    }
}
