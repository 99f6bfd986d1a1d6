//! Depth first: claims, requests, alternatives, devices, until every request has its devices.
//!
//! Karpenter: `dfs` of `pkg/scheduling/dynamicresources/allocator.go`. Two differences keep the tree small, and change
//! no answer: slots of one request are alike, so their devices are tried in ascending order only; and whether a
//! device's slice is still in reach is seen from its own requirements, not by filtering pools anew.

mod fit;
mod shortage;

use model::{
    InstanceTypeName, Quantity, Requirements,
    dynamic_resources::{AttributeValue, DeviceCount, ResourceClaimKey},
    limits::{DEVICE_TRIES_PER_SEARCH_MAX, DEVICES_PER_CLAIM_MAX},
};
use std::collections::BTreeMap;

use crate::{
    allocate::DevicePlace,
    bounds::DeviceBounds,
    hold::Hold,
    inventory::{Entry, Outfit},
    pass::Devices,
    pools::View,
    refusal::{DeviceShortage, NoDevice},
    requests::{Ask, Request, Wanted},
    state::{AllocatedDevice, Allocations},
};

/// What became of a search for one instance type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    All,
    Nothing,
    TriesSpent,
}

/// A search for the claims of one pod on one node, type by type.
pub(crate) struct Search<'s> {
    devices: &'s Devices<'s>,
    state: &'s Allocations,
    place: &'s DevicePlace<'s>,
    wanted: &'s [Wanted<'s>],
    view: &'s View<'s>,
    tries_left: usize,
    furthest: Option<(Rank, Box<DeviceShortage>)>,
    /// Of the node, with those of all devices found so far, of other types too.
    requirements: Requirements,
    // Of the type that is tried.
    instance_type: Option<&'s InstanceTypeName>,
    outfit: Option<&'s Outfit<'s>>,
    held: Option<&'s Hold>,
    // Of the branch that is tried.
    hold: Hold,
    path: Vec<Pick<'s>>,
    /// By claim and constraint.
    pins: Vec<Vec<Pin<'s>>>,
}

/// A device on the branch.
struct Pick<'s> {
    claim: usize,
    ask: &'s Ask<'s>,
    entry: &'s Entry<'s>,
    /// Of a shared device.
    consumed: Option<BTreeMap<String, Quantity>>,
    /// Before it.
    requirements: Option<Requirements>,
}

/// What the devices under a constraint have in common.
#[derive(Default)]
struct Pin<'s> {
    members: Vec<&'s Entry<'s>>,
    /// `None` beside members: they are bound to one another instead.
    value: Option<&'s AttributeValue>,
}

/// A point of the search.
#[derive(Clone, Copy, Default)]
struct At {
    claim: usize,
    request: usize,
    alternative: Option<usize>,
    slot: usize,
}

/// How far a search came: claim, request, slot.
type Rank = (usize, usize, usize);

/// What is to be decided at a point.
enum Thing<'s> {
    Done,
    /// No branch from here has what it takes.
    Dead(At, &'s Ask<'s>, NoDevice),
    Alternative(At, &'s Request<'s>),
    Slot(At, &'s Ask<'s>),
}

/// A decision that may be made anew.
struct Frame<'s> {
    at: At,
    decides: Decides<'s>,
    next: usize,
}

enum Decides<'s> {
    Alternative(&'s Request<'s>),
    /// `is_placed` while a device of the branch is in this slot, `was_placed` once there was one.
    Slot {
        ask: &'s Ask<'s>,
        is_placed: bool,
        was_placed: bool,
    },
}

enum Step {
    To(At),
    Exhausted,
    TriesSpent,
}

impl<'s> Search<'s> {
    pub(crate) fn new(
        (devices, state, place): (&'s Devices<'s>, &'s Allocations, &'s DevicePlace<'s>),
        wanted: &'s [Wanted<'s>],
        view: &'s View<'s>,
        requirements: Requirements,
    ) -> Self {
        Self {
            devices,
            state,
            place,
            wanted,
            view,
            tries_left: DEVICE_TRIES_PER_SEARCH_MAX,
            furthest: None,
            requirements,
            instance_type: None,
            outfit: None,
            held: None,
            hold: Hold::default(),
            path: Vec::new(),
            pins: Vec::new(),
        }
    }

    /// Finds devices for every claim if the node has this type.
    pub(crate) fn search(&mut self, instance_type: &'s InstanceTypeName) -> Found {
        self.instance_type = Some(instance_type);
        self.outfit = self.devices.outfit(self.place.node_pool, instance_type);
        self.held = self.state.hold(self.place.key, instance_type);
        self.hold = Hold::default();
        self.path.clear();
        let pins = |wanted: &Wanted<'_>| {
            wanted.prepared.constraints.iter().map(|_| Pin::default()).collect()
        };
        self.pins = self.wanted.iter().map(pins).collect();
        if self.note_excess(instance_type) { Found::Nothing } else { self.run() }
    }

    /// The devices of a successful search with their claims and the nodes that reach them.
    pub(crate) fn devices(
        &self,
    ) -> impl Iterator<Item = (&'s ResourceClaimKey, AllocatedDevice, Option<&'s DeviceBounds>)>
    {
        self.path.iter().filter_map(|pick| {
            let entry = pick.entry;
            let claim = &self.wanted.get(pick.claim)?.prepared.claim.key;
            let device = AllocatedDevice {
                id: entry.id.clone(),
                is_template: entry.is_template,
                request: pick.ask.name.clone(),
                consumed: pick.consumed.clone(),
            };
            Some((claim, device, entry.bounds.as_deref()))
        })
    }

    /// What a successful search takes.
    pub(crate) fn take_hold(&mut self) -> Hold {
        std::mem::take(&mut self.hold)
    }

    /// What was missing where a search came furthest.
    pub(crate) fn shortage(self) -> Option<Box<DeviceShortage>> {
        self.furthest.map(|(_, shortage)| shortage)
    }

    fn run(&mut self) -> Found {
        let mut frames: Vec<Frame<'s>> = Vec::new();
        let mut at = At::default();
        loop {
            match self.thing(at) {
                Thing::Done => return Found::All,
                Thing::Dead(at, ask, why) => self.note_dead(at, ask, why),
                Thing::Alternative(at, request) => {
                    frames.push(Frame { at, decides: Decides::Alternative(request), next: 0 });
                }
                Thing::Slot(at, ask) => {
                    let next = self.first_candidate(at, frames.last());
                    let decides = Decides::Slot { ask, is_placed: false, was_placed: false };
                    frames.push(Frame { at, decides, next });
                }
            }
            at = loop {
                let Some(frame) = frames.last_mut() else { return Found::Nothing };
                match self.step(frame) {
                    Step::To(at) => break at,
                    Step::TriesSpent => return Found::TriesSpent,
                    Step::Exhausted => {
                        frames.pop();
                    }
                }
            };
        }
    }

    /// What is to be decided at a point, or behind it.
    fn thing(&self, mut at: At) -> Thing<'s> {
        loop {
            let Some(wanted) = self.wanted.get(at.claim) else { return Thing::Done };
            let Some(request) = wanted.prepared.requests.get(at.request) else {
                at = At { claim: at.claim + 1, ..At::default() };
                continue;
            };
            if at.alternative.is_none() && request.is_choice {
                return Thing::Alternative(at, request);
            }
            let Some(ask) = request.asks.get(at.alternative.unwrap_or(0)) else {
                return Thing::Done;
            };
            let slots = self.slots(wanted, ask);
            if slots == 0 && ask.facts.count == DeviceCount::All {
                return Thing::Dead(at, ask, NoDevice::NotSelected(None));
            }
            if at.slot == 0 {
                let picked = self.path.iter().filter(|pick| pick.claim == at.claim).count();
                if DEVICES_PER_CLAIM_MAX < picked.saturating_add(slots) {
                    return Thing::Dead(at, ask, NoDevice::TooMany);
                }
            }
            if at.slot < slots {
                return Thing::Slot(at, ask);
            }
            at = At { claim: at.claim, request: at.request + 1, ..At::default() };
        }
    }

    fn slots(&self, wanted: &Wanted<'s>, ask: &Ask<'_>) -> usize {
        match (ask.facts.count, wanted.all(ask)) {
            (DeviceCount::Exact(count), _) => count,
            (DeviceCount::All, Some(all)) => all.published.len() + self.all_templates(all).len(),
            (DeviceCount::All, None) => 0,
        }
    }

    fn all_templates<'w>(&self, all: &'w crate::requests::All<'s>) -> &'w [&'s Entry<'s>] {
        let of_type = self.instance_type.and_then(|instance_type| all.templates.get(instance_type));
        of_type.map(Vec::as_slice).unwrap_or_default()
    }

    /// The `number`th device that may be in a slot.
    fn candidate(&self, at: At, ask: &Ask<'_>, number: usize) -> Option<&'s Entry<'s>> {
        if ask.facts.count == DeviceCount::All {
            let devices = self.wanted.get(at.claim)?.all(ask)?;
            let slot = if number == 0 { at.slot } else { return None };
            let template = || self.all_templates(devices).get(slot - devices.published.len());
            return devices.published.get(slot).or_else(template).copied();
        }
        if let Some(entry) = self.view.entries.get(number) {
            return Some(entry);
        }
        let outfit = self.outfit.filter(|_| self.place.has_templates)?;
        outfit.entries.get(number - self.view.entries.len())
    }

    /// Behind the device of the slot before, or at it if it is shared.
    fn first_candidate(&self, at: At, before: Option<&Frame<'s>>) -> usize {
        let Some(before) = before.filter(|_| 0 < at.slot) else { return 0 };
        match before.decides {
            Decides::Slot { ask, .. } if ask.facts.count != DeviceCount::All => {
                let last = self.path.last();
                let is_shared =
                    last.is_some_and(|pick| pick.entry.device.allows_multiple_allocations);
                before.next - usize::from(is_shared)
            }
            _ => 0,
        }
    }

    /// Decides a frame anew.
    fn step(&mut self, frame: &mut Frame<'s>) -> Step {
        let at = frame.at;
        match &mut frame.decides {
            Decides::Alternative(request) => {
                let alternative = frame.next;
                frame.next += 1;
                if request.asks.len() <= alternative {
                    return Step::Exhausted;
                }
                Step::To(At { alternative: Some(alternative), ..at })
            }
            Decides::Slot { ask, is_placed, was_placed } => {
                if std::mem::take(is_placed) {
                    self.put_back();
                }
                while let Some(entry) = self.candidate(at, ask, frame.next) {
                    frame.next += 1;
                    let Some(left) = self.tries_left.checked_sub(1) else {
                        return Step::TriesSpent;
                    };
                    self.tries_left = left;
                    if let Ok(consumed) = self.fit(at.claim, ask, entry) {
                        self.pick(at.claim, ask, entry, consumed);
                        (*is_placed, *was_placed) = (true, true);
                        return Step::To(At { slot: at.slot + 1, ..at });
                    }
                }
                if !*was_placed {
                    self.note_exhausted(at, ask);
                }
                Step::Exhausted
            }
        }
    }
}
