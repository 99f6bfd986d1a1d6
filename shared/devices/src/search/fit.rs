//! Whether a device fits into a slot, and what changes when it is put there.

use std::collections::BTreeMap;

use model::{
    Quantity,
    dynamic_resources::{AttributeValue, DeviceCount},
};

use super::{Pick, Pin, Search};
use crate::{
    consume,
    hold::Taken,
    inventory::{Entry, Outfit},
    refusal::NoDevice,
    requests::{Ask, Constraint},
};

impl<'s> Search<'s> {
    /// Whether a device goes with everything on the branch; of a shared device what it takes.
    ///
    /// Karpenter: `tryDevice`.
    pub(super) fn fit(
        &self,
        claim: usize,
        ask: &Ask<'_>,
        entry: &'s Entry<'s>,
    ) -> Result<Option<BTreeMap<String, Quantity>>, NoDevice> {
        // All devices were selected before.
        let is_selected = ask.facts.count == DeviceCount::All
            || self.devices.selectors.select(&ask.selectors, entry).unwrap_or(false);
        if !is_selected {
            return Err(NoDevice::NotSelected(None));
        }
        let consumed = self.share(ask, entry)?;
        self.count(entry)?;
        let wanted = self.wanted.get(claim).map(|wanted| &wanted.prepared.constraints);
        let pins = self.pins.get(claim).into_iter().flatten();
        for (constraint, pin) in wanted.into_iter().flatten().zip(pins) {
            if constraint.is_about(ask) && !pin.takes(constraint, entry, self.outfit) {
                return Err(NoDevice::Attribute(constraint.attribute.to_owned()));
            }
        }
        match &entry.bounds {
            Some(bounds) if !bounds.allow(&self.requirements, self.place.node) => {
                Err(NoDevice::OutOfReach)
            }
            _ => Ok(consumed),
        }
    }

    /// What a request takes of a device, if it is there.
    fn share(
        &self,
        ask: &Ask<'_>,
        entry: &Entry<'_>,
    ) -> Result<Option<BTreeMap<String, Quantity>>, NoDevice> {
        let number = entry.number;
        let (held, hold) = (self.held.map(|held| held.part(entry)), self.hold.part(entry));
        if !entry.device.allows_multiple_allocations {
            let is_in = |taken: &Taken| taken.exclusive.contains(&number);
            let is_elsewhere = || {
                let holder = self.state.holder(number);
                holder.is_some_and(|holder| holder != self.place.key)
                    || self.devices.allocated.is_taken(number, &self.state.start.freed)
            };
            let is_taken =
                is_in(hold) || held.is_some_and(is_in) || !entry.is_template && is_elsewhere();
            return if is_taken { Err(NoDevice::Allocated) } else { Ok(None) };
        }
        let shares = consume::shares(&entry.device.capacity, &ask.facts.capacity)
            .ok_or(NoDevice::Capacity)?;
        for (name, share) in &shares {
            let before = if entry.is_template {
                held.map_or(0, |held| held.of_capacity(number, name))
            } else {
                let freed = &self.state.start.freed;
                let plan = self.state.used().of_capacity(number, name);
                self.devices.allocated.taken(number, name, freed).saturating_add(plan)
            };
            let sum =
                before.saturating_add(hold.of_capacity(number, name)).saturating_add(share.nanos());
            let whole = entry.device.capacity.get(name).map_or(0, |whole| whole.value.nanos());
            if whole < sum {
                return Err(NoDevice::Capacity);
            }
        }
        Ok(Some(shares))
    }

    /// Whether the counters that a device consumes are there.
    fn count(&self, entry: &Entry<'_>) -> Result<(), NoDevice> {
        let current = self.devices.current(&self.state.start, entry.pool);
        let outfit = self.outfit.filter(|_| entry.is_template);
        let budget =
            outfit.map(|outfit| &outfit.budget).or_else(|| current.map(|current| &current.budget));
        for (counter, amount) in &entry.counters {
            let declared = budget.and_then(|budget| budget.get(counter));
            let before = if entry.is_template {
                self.held.map_or(0, |held| held.templates.of_counter(*counter))
            } else {
                self.state.used().of_counter(*counter)
            };
            let sum = before
                .saturating_add(self.hold.part(entry).of_counter(*counter))
                .saturating_add(*amount);
            if declared.is_none_or(|declared| *declared < sum) {
                return Err(NoDevice::Counters);
            }
        }
        Ok(())
    }

    pub(super) fn pick(
        &mut self,
        claim: usize,
        ask: &'s Ask<'s>,
        entry: &'s Entry<'s>,
        consumed: Option<BTreeMap<String, Quantity>>,
    ) {
        self.hold.part_mut(entry).add(&taken(entry, consumed.as_ref()));
        self.each_pin(claim, ask, |constraint, pin| pin.add(constraint, entry));
        let requirements = entry.bounds.as_ref().map(|bounds| {
            let before = self.requirements.clone();
            self.requirements.add_all(&bounds.requirements);
            before
        });
        self.path.push(Pick { claim, ask, entry, consumed, requirements });
    }

    /// Undoes the last pick.
    pub(super) fn put_back(&mut self) {
        let Some(Pick { claim, ask, entry, consumed, requirements }) = self.path.pop() else {
            return;
        };
        self.hold.part_mut(entry).subtract(&taken(entry, consumed.as_ref()));
        self.each_pin(claim, ask, |_, pin| pin.remove());
        if let Some(before) = requirements {
            self.requirements = before;
        }
    }

    fn each_pin(
        &mut self,
        claim: usize,
        ask: &Ask<'_>,
        mut change: impl FnMut(&Constraint<'s>, &mut Pin<'s>),
    ) {
        let wanted: &'s [_] = self.wanted;
        let constraints = wanted.get(claim).map(|wanted| &wanted.prepared.constraints);
        let pins = self.pins.get_mut(claim).into_iter().flatten();
        for (constraint, pin) in constraints.into_iter().flatten().zip(pins) {
            if constraint.is_about(ask) {
                change(constraint, pin);
            }
        }
    }
}

/// What the allocation of a device takes.
fn taken(entry: &Entry<'_>, consumed: Option<&BTreeMap<String, Quantity>>) -> Taken {
    let counters = entry.counters.clone();
    let mut taken = Taken { counters, ..Taken::default() };
    match consumed {
        None => {
            taken.exclusive.insert(entry.number);
        }
        Some(shares) => {
            let amounts = shares.iter().map(|(name, share)| (name.clone(), share.nanos()));
            taken.capacity.insert(entry.number, amounts.collect());
        }
    }
    taken
}

impl<'s> Pin<'s> {
    /// Whether a device has the value in common with the others. Without the attribute it has if it is bound to them.
    fn takes(
        &self,
        constraint: &Constraint<'_>,
        entry: &Entry<'_>,
        outfit: Option<&Outfit<'_>>,
    ) -> bool {
        let first = self.members.first();
        match (attribute(entry, constraint.attribute), first) {
            (Some(_), None) => true,
            (Some(value), Some(_)) => self.value == Some(value),
            (None, Some(_)) if self.value.is_some() => false,
            (None, first) => {
                let group = |entry: &Entry<'_>| outfit?.group(constraint.attribute, &entry.id);
                let of_entry = group(entry);
                of_entry.is_some() && first.is_none_or(|first| group(first) == of_entry)
            }
        }
    }

    fn add(&mut self, constraint: &Constraint<'_>, entry: &'s Entry<'s>) {
        if self.members.is_empty() {
            self.value = attribute(entry, constraint.attribute);
        }
        self.members.push(entry);
    }

    fn remove(&mut self) {
        self.members.pop();
        if self.members.is_empty() {
            self.value = None;
        }
    }
}

/// An attribute by its qualified name. What has no domain is in the driver's own.
fn attribute<'s>(entry: &Entry<'s>, name: &str) -> Option<&'s AttributeValue> {
    let attributes = &entry.device.attributes;
    attributes.get(name).or_else(|| {
        let short = name.strip_prefix(&*entry.id.driver)?.strip_prefix('/')?;
        attributes.get(short)
    })
}
