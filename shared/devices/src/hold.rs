//! What a node takes of devices.

use std::collections::{BTreeMap, BTreeSet};

use crate::{consume::Amounts, inventory::Entry};

/// What is taken of devices of one kind: published ones, or those of one instance type's templates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Numbers of devices that are taken as a whole.
    pub(crate) exclusive: BTreeSet<usize>,
    /// By number of a shared device: what is taken of each capacity.
    pub(crate) capacity: BTreeMap<usize, Amounts>,
    /// By number of a counter.
    pub(crate) counters: BTreeMap<usize, i128>,
}

/// What a node takes if it is of one instance type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) published: Taken,
    pub(crate) templates: Taken,
}

impl Hold {
    /// The part that devices such as `entry` count in.
    pub(crate) fn part(&self, entry: &Entry<'_>) -> &Taken {
        if entry.is_template { &self.templates } else { &self.published }
    }

    pub(crate) fn part_mut(&mut self, entry: &Entry<'_>) -> &mut Taken {
        if entry.is_template { &mut self.templates } else { &mut self.published }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.published.add(&other.published);
        self.templates.add(&other.templates);
    }
}

impl Taken {
    pub(crate) fn of_capacity(&self, device: usize, name: &str) -> i128 {
        self.capacity.get(&device).and_then(|amounts| amounts.get(name)).copied().unwrap_or(0)
    }

    pub(crate) fn of_counter(&self, counter: usize) -> i128 {
        self.counters.get(&counter).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.exclusive.extend(&other.exclusive);
        self.change(other, i128::saturating_add);
    }

    /// Takes back what was added.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.exclusive.retain(|device| !other.exclusive.contains(device));
        self.change(other, i128::saturating_sub);
    }

    /// Raises amounts to those of `other` where these are larger: an instance becomes one type, and which is not
    /// known yet.
    pub(crate) fn raise(&mut self, other: &Self) {
        self.exclusive.extend(&other.exclusive);
        self.change(other, i128::max);
    }

    fn change(&mut self, other: &Self, combine: impl Fn(i128, i128) -> i128) {
        for (device, amounts) in &other.capacity {
            let amounts_here = self.capacity.entry(*device).or_default();
            for (name, amount) in amounts {
                let amount_here = amounts_here.entry(name.clone()).or_default();
                *amount_here = combine(*amount_here, *amount);
            }
        }
        for (counter, amount) in &other.counters {
            let amount_here = self.counters.entry(*counter).or_default();
            *amount_here = combine(*amount_here, *amount);
        }
    }
}
