//! What changes while pods are placed.
//!
//! Copies share what neither of them changed, so that one that is made for a trial costs little.

use std::{collections::BTreeMap, rc::Rc};

use crate::{
    index::{
        bits::BitSet,
        id::{GroupId, PlaceId, kind},
        table::Table,
    },
    scheduling::{
        demand::profile::Footprint,
        dollars::Dollars,
        facts::{device::TakenDevices, volume::Attachments},
        numbers::amounts,
        supply::hosts::DomainByKey,
        topology::{
            groups::Groups,
            tally::{Host, Tally},
        },
    },
};

/// What is left of everything, and who is where.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Existing capacity that takes part.
    pub(crate) active: BitSet<kind::Place>,
    /// Room of existing capacity, one after the other.
    room: Vec<i64>,
    resources: usize,
    pub(crate) tallies: Table<kind::Group, Rc<Tally>>,
    /// Existing capacity that has no room for such requests.
    pub(crate) full: Table<kind::Requests, Rc<BitSet<kind::Place>>>,
    /// Existing capacity where something is in the way of a port.
    pub(crate) ports: Table<kind::Port, Rc<BitSet<kind::Place>>>,
    /// Volumes by existing capacity.
    pub(crate) attached: BTreeMap<PlaceId, Rc<Attachments>>,
    /// What is left of the limits of a template.
    pub(crate) limits: Table<kind::Template, Vec<i64>>,
    /// What may be spent still.
    pub(crate) dollars: Dollars,
    /// Devices that are taken, where a pod claims any.
    pub(crate) devices: Option<TakenDevices>,
    /// Instances that are left of a reservation.
    pub(crate) reserved: Table<kind::Reservation, u32>,
}

/// Where a pod counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot<'a> {
    /// `None` is a node that takes no part.
    pub(crate) host: Option<Host>,
    /// By label: the one domain that it is in.
    pub(crate) domains: &'a DomainByKey,
}

impl State {
    pub(crate) fn new(rooms: &[amounts::Amounts], resources: usize) -> Self {
        Self {
            active: BitSet::full(rooms.len()),
            room: rooms.iter().flat_map(|room| room.iter().copied()).collect(),
            resources,
            ..Self::default()
        }
    }

    /// What is left on existing capacity.
    pub(crate) fn room(&self, existing: PlaceId) -> &[i64] {
        let from = existing.place() * self.resources;
        self.room.get(from..from + self.resources).unwrap_or_default()
    }

    /// Takes `need` of existing capacity.
    pub(crate) fn take(&mut self, existing: PlaceId, need: &[i64]) {
        let from = existing.place() * self.resources;
        if let Some(room) = self.room.get_mut(from..from + self.resources) {
            amounts::subtract(room, need);
        }
    }

    /// Counts a pod with `footprint` that was there before, or no longer counts it.
    pub(crate) fn count(
        &mut self,
        groups: &Groups,
        footprint: &Footprint,
        spot: Spot<'_>,
        is_there: bool,
        mut passes: impl FnMut(GroupId) -> bool,
    ) {
        for group in footprint.counted.iter().chain(&footprint.carried) {
            if !passes(*group) {
                continue;
            }
            let definition = &groups.all[*group];
            let tally = Rc::make_mut(&mut self.tallies[*group]);
            match (definition.key, spot.host) {
                (None, Some(host)) if is_there => tally.add_host(definition, host),
                (None, Some(host)) => tally.take_host(definition, host),
                (None, None) if is_there => tally.on_hosts += 1,
                (None, None) => tally.on_hosts = tally.on_hosts.saturating_sub(1),
                (Some(key), _) => {
                    if let Some(domain) = spot.domains.known(key).copied().flatten() {
                        if is_there { tally.add(domain) } else { tally.take(domain) }
                    }
                }
            }
        }
    }
}
