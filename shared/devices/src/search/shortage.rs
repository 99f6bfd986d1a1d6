//! What was missing where a search came furthest.

use std::collections::BTreeMap;

use model::{InstanceTypeName, dynamic_resources::DeviceCount};

use super::{At, Rank, Search};
use crate::{
    inventory::Entry,
    refusal::{DeviceShortage, NoDevice, of_other_classes},
    requests::Ask,
};

impl<'s> Search<'s> {
    /// Whether the type would give a claim too many devices.
    pub(super) fn note_excess(&mut self, instance_type: &'s InstanceTypeName) -> bool {
        let wanted = self.wanted;
        for (claim, wanted) in wanted.iter().enumerate() {
            let Some(devices) = wanted.excessive.get(instance_type) else { continue };
            let asks = || wanted.prepared.requests.iter().flat_map(|request| &request.asks);
            let for_all = asks().find(|ask| ask.facts.count == DeviceCount::All);
            if let Some(ask) = for_all {
                let at = At { claim, ..At::default() };
                self.note(at, ask, || BTreeMap::from([(NoDevice::TooMany, *devices)]));
            }
            return true;
        }
        false
    }

    /// Nothing was ever put into the slot.
    pub(super) fn note_exhausted(&mut self, at: At, ask: &'s Ask<'s>) {
        if !self.is_further(at) {
            return;
        }
        let mut others: BTreeMap<NoDevice, usize> = BTreeMap::new();
        let mut number = 0;
        while let Some(entry) = self.candidate(at, ask, number) {
            number += 1;
            let is_own = self.path.iter().any(|pick| {
                std::ptr::eq(pick.ask, ask)
                    && pick.claim == at.claim
                    && std::ptr::eq(pick.entry, entry)
            });
            if let Err(why) = self.fit(at.claim, ask, entry)
                && !is_own
            {
                let why = match why {
                    NoDevice::NotSelected(_) => self.not_selected(ask, entry),
                    why => why,
                };
                *others.entry(why).or_default() += 1;
            }
        }
        self.note(at, ask, || others);
    }

    fn not_selected(&self, ask: &Ask<'_>, entry: &Entry<'_>) -> NoDevice {
        match self.devices.selectors.refusing(&ask.selectors, entry) {
            Some((place, text)) if place < ask.of_class => NoDevice::OfOtherClass(text.to_owned()),
            refusing => NoDevice::NotSelected(refusing.map(|(_, text)| text.to_owned())),
        }
    }

    pub(super) fn note_dead(&mut self, at: At, ask: &'s Ask<'s>, why: NoDevice) {
        let count = match why {
            NoDevice::TooMany => {
                self.wanted.get(at.claim).map_or(0, |wanted| self.slots(wanted, ask))
            }
            _ => self.view.entries.len() + self.outfit.map_or(0, |outfit| outfit.entries.len()),
        };
        self.note(at, ask, || {
            if count == 0 { BTreeMap::new() } else { BTreeMap::from([(why, count)]) }
        });
    }

    /// Whether the search has come further than before; or as far, and no device of the class is known yet.
    fn is_further(&self, at: At) -> bool {
        self.furthest.as_ref().is_none_or(|(rank, known)| {
            *rank < rank_of(at) || *rank == rank_of(at) && known.is_unknown()
        })
    }

    fn note(
        &mut self,
        at: At,
        ask: &'s Ask<'s>,
        others: impl FnOnce() -> BTreeMap<NoDevice, usize>,
    ) {
        let claim = self.wanted.get(at.claim).map(|wanted| wanted.prepared.claim);
        let Some((claim, instance_type)) = claim.zip(self.instance_type) else { return };
        if !self.is_further(at) {
            return;
        }
        let others = others();
        let as_far = self.furthest.as_ref().filter(|(rank, _)| *rank == rank_of(at));
        let is_no_better = |(_, known): &(Rank, Box<DeviceShortage>)| {
            of_other_classes(&others) && (others.is_empty() || !known.others.is_empty())
        };
        if as_far.is_some_and(is_no_better) {
            return;
        }
        let shortage = DeviceShortage {
            claim: claim.key.clone(),
            request: ask.name.clone(),
            class: ask.facts.class.clone(),
            instance_type: instance_type.clone(),
            wanted: ask.facts.count,
            found: at.slot,
            others,
            unusable: self.view.unusable.clone(),
        };
        self.furthest = Some((rank_of(at), Box::new(shortage)));
    }
}

fn rank_of(at: At) -> Rank {
    (at.claim, at.request, at.slot)
}
