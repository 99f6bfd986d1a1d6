//! Capacity reservations: what was paid for in advance, and which instances run in it.
//!
//! An instance that names a reservation runs in it or not at all. One that says nothing falls into
//! an open reservation that matches, and stays an on-demand instance. At its end the instances of a
//! capacity block are terminated, after a warning; all others go on on demand. Instances that ran
//! before a reservation began never move into it, as EC2's may.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html>
//! <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html>

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, InstanceId, InstanceTypeName, OfferingKey, ReservationId, Zone,
    duration::later,
    interruption::InterruptionKind,
    launch::{InstanceState, ReservationMarket, ReservationTarget},
    node_class::{CapacityReservation, MatchCriteria, ReservationTerm},
};

use super::{AwsError, InstanceRecord, wildcard::is_like};
use crate::world::{Event, World};

/// From the warning of a capacity block's instances to its end.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html>
const BLOCK_WARNING: SignedDuration = SignedDuration::from_mins(40);

/// A capacity reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationRecord {
    /// `cr-…`
    pub id: ReservationId,
    /// For which instance type.
    pub instance_type: InstanceTypeName,
    /// Where.
    pub zone: Zone,
    /// The account that it belongs to.
    pub owner: String,
    /// Which instances run in it.
    pub match_criteria: MatchCriteria,
    /// `capacity-block` rather than `default`.
    pub is_capacity_block: bool,
    /// Whether its owner may take instances back.
    pub is_interruptible: bool,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// When it begins.
    pub starts_at: Timestamp,
    /// When it ends, if it does.
    pub ends_at: Option<Timestamp>,
    /// How many instances it is for.
    pub total_count: u32,
}

impl ReservationRecord {
    /// The record of a reservation that has just begun with all of its instances left.
    pub fn of(
        capacity_reservation: &CapacityReservation,
        tags: BTreeMap<String, String>,
        starts_at: Timestamp,
    ) -> Self {
        Self {
            id: capacity_reservation.id.clone(),
            instance_type: capacity_reservation.instance_type.clone(),
            zone: capacity_reservation.zone.clone(),
            owner: capacity_reservation.owner.clone(),
            match_criteria: capacity_reservation.match_criteria,
            is_capacity_block: capacity_reservation.is_capacity_block,
            is_interruptible: capacity_reservation.is_interruptible,
            tags,
            starts_at,
            ends_at: capacity_reservation.ends_at,
            total_count: capacity_reservation.available_count,
        }
    }
}

/// Where a reservation is in its life.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservation.html>
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CapacityReservationState {
    /// It has not begun.
    Scheduled,
    /// Instances can be launched into it.
    Active,
    /// It ended.
    Expired,
}

impl CapacityReservationState {
    /// EC2's name for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Active => "active",
            Self::Expired => "expired",
        }
    }
}

/// A capacity reservation with what changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedReservation {
    /// What was bought.
    pub record: ReservationRecord,
    /// Instances that still fit.
    pub available_count: u32,
    /// Whether it can be used.
    pub state: CapacityReservationState,
}

/// What a launch template says about capacity reservations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReservationPreference {
    /// `open`: whatever matches is used.
    #[default]
    Open,
    /// `none`: not even what matches.
    None,
    /// `capacity-reservations-only`: this one, or nothing is launched.
    Only(ReservationTarget),
}

/// The reservation that an instance runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(super) id: ReservationId,
    /// When the reservation ended and the instance stayed.
    pub(super) until: Option<Timestamp>,
}

impl ReservationRecord {
    fn state_at(&self, time: Timestamp) -> CapacityReservationState {
        match self.ends_at {
            _ if time < self.starts_at => CapacityReservationState::Scheduled,
            Some(end) if end <= time => CapacityReservationState::Expired,
            _ => CapacityReservationState::Active,
        }
    }

    fn is_for(&self, offering: &OfferingKey) -> bool {
        self.instance_type == offering.instance_type && self.zone == offering.zone
    }

    /// How its capacity is bought.
    pub(crate) fn market(&self) -> ReservationMarket {
        match (self.is_capacity_block, self.is_interruptible) {
            (true, _) => ReservationMarket::CapacityBlock,
            (false, true) => ReservationMarket::Interruptible,
            (false, false) => ReservationMarket::OnDemand,
        }
    }

    fn is_named_by(&self, term: &ReservationTerm) -> bool {
        match term {
            ReservationTerm::Id(id) => self.id == *id,
            ReservationTerm::Search { tags, owner, match_criteria } => {
                let has =
                    |key: &str, value: &str| self.tags.get(key).is_some_and(|v| is_like(value, v));
                tags.iter().all(|(key, value)| has(key, value))
                    && owner.as_ref().is_none_or(|owner| *owner == self.owner)
                    && match_criteria.is_none_or(|criteria| criteria == self.match_criteria)
            }
        }
    }
}

impl InstanceRecord {
    /// The reservation that it ran in at `time`.
    pub(super) fn held_at(&self, time: Timestamp) -> Option<&ReservationId> {
        let held = self.held.as_ref()?;
        held.until.is_none_or(|until| time < until).then_some(&held.id)
    }

    /// How it was paid for at `time`. What just fell into a reservation is on-demand.
    pub(super) fn capacity_type_at(&self, time: Timestamp) -> CapacityType {
        match (&self.preference, self.held_at(time)) {
            (ReservationPreference::Only(_), Some(_)) => CapacityType::Reserved,
            _ => self.offering.capacity_type,
        }
    }

    fn uses_at(&self, id: &ReservationId, time: Timestamp) -> bool {
        let is_running = || {
            let state = self.state_at(time);
            state.is_some_and(|state| state <= InstanceState::Running)
        };
        self.held_at(time) == Some(id) && is_running()
    }
}

impl World {
    pub(crate) fn add_reservation(&mut self, record: ReservationRecord) {
        if let Some(end) = record.ends_at {
            if record.is_capacity_block {
                self.at(later(end, -BLOCK_WARNING), Event::ReservationWarns(record.id.clone()));
            }
            self.at(end, Event::ReservationEnds(record.id.clone()));
        }
        self.account.reservations.insert(record.id.clone(), record);
    }

    /// Its owner cancels the reservation called `id`.
    pub(crate) fn cancel_reservation(&mut self, id: &str) {
        let now = self.now;
        let Some(record) = self.account.reservations.get_mut(id) else {
            self.note(format_args!("no capacity reservation {id} to cancel"));
            return;
        };
        record.ends_at = Some(now);
        let id = record.id.clone();
        self.reservation_ends(&id);
    }

    /// EC2 says that the instances of a reservation will be interrupted.
    pub(crate) fn reservation_warns(&mut self, id: &ReservationId) {
        for instance in self.in_reservation(id) {
            self.announce_interruption(InterruptionKind::ReservationInterruption, &instance);
        }
    }

    /// The end of a reservation, unless that was moved.
    pub(crate) fn reservation_ends(&mut self, id: &ReservationId) {
        let now = self.now;
        let Some(record) = self.account.reservations.get(id) else { return };
        if record.state_at(now) != CapacityReservationState::Expired {
            return;
        }
        let is_block = record.is_capacity_block;
        for instance in self.in_reservation(id) {
            if is_block {
                self.end_instance(&instance);
            } else {
                self.leave_reservation(&instance);
            }
        }
    }

    /// The living instances in the reservation called `id`.
    fn in_reservation(&self, id: &ReservationId) -> Vec<InstanceId> {
        let records = self.account.instances.values();
        let inside = records.filter(|record| record.uses_at(id, self.now));
        inside.map(|record| record.id.clone()).collect()
    }

    /// The instance goes on on demand.
    fn leave_reservation(&mut self, instance: &InstanceId) {
        let now = self.now;
        let Some(record) = self.account.instances.get_mut(instance) else { return };
        let before = record.offering.clone();
        let after = OfferingKey { capacity_type: CapacityType::OnDemand, ..before.clone() };
        record.offering = after.clone();
        if let Some(held) = &mut record.held {
            held.until = Some(now);
        }
        let price = self.price_of(&after).unwrap_or_default();
        if let Some(record) = self.account.instances.get_mut(instance) {
            record.reprice(price, now);
        }
        if let Some(live) = self.account.live.get_mut(&before) {
            *live = live.saturating_sub(1);
        }
        *self.account.live.entry(after).or_default() += 1;
    }

    /// How many more instances fit into `record`, as it was at `time`.
    fn left_at(&self, record: &ReservationRecord, time: Timestamp) -> u32 {
        let records = self.account.instances.values();
        let used = records.filter(|instance| instance.uses_at(&record.id, time)).count();
        record.total_count.saturating_sub(u32::try_from(used).unwrap_or(u32::MAX))
    }

    /// All reservations, as listings show them now.
    pub(crate) fn described_reservations(&self) -> Vec<DescribedReservation> {
        let seen = later(self.now, -self.settings.listing_lag);
        let described = |record: &ReservationRecord| {
            let state = record.state_at(self.now);
            let is_active = state == CapacityReservationState::Active;
            let available_count = if is_active { self.left_at(record, seen) } else { 0 };
            DescribedReservation { record: record.clone(), available_count, state }
        };
        self.account.reservations.values().map(described).collect()
    }

    /// The active reservations that any of `terms` names, by id.
    pub(crate) fn reservations(&mut self, terms: &[ReservationTerm]) -> Vec<CapacityReservation> {
        let described_reservations = self.described_reservations().into_iter();
        let named = described_reservations.filter(|described_reservation| {
            described_reservation.state == CapacityReservationState::Active
                && terms.iter().any(|term| described_reservation.record.is_named_by(term))
        });
        let capacity_reservations: Vec<CapacityReservation> =
            named.map(DescribedReservation::summed_up).collect();
        if capacity_reservations.is_empty() && !terms.is_empty() {
            self.account.assumptions.insert("no capacity reservations".to_owned());
        }
        capacity_reservations
    }

    /// The reservation that the instances of an override are for, if its launch template names one;
    /// or what EC2 has against it. `offering` and `market` are what the request asks for.
    pub(super) fn target<'a>(
        &self,
        preference: &'a ReservationPreference,
        offering: &OfferingKey,
        market: ReservationMarket,
    ) -> Result<Option<&'a ReservationTarget>, AwsError> {
        let ReservationPreference::Only(target) = preference else {
            if offering.capacity_type == CapacityType::Reserved {
                let text = "reserved capacity is asked for, and no capacity reservation is named";
                return Err(AwsError::new("InvalidFleetConfiguration", text));
            }
            return Ok(None);
        };
        let id = &target.id;
        let Some(record) = self.account.reservations.get(id) else {
            return Err(no_reservation(id.as_str()));
        };
        if offering.capacity_type == CapacityType::Spot {
            let text = "a spot instance cannot run in a capacity reservation";
            return Err(AwsError::new("InvalidParameterCombination", text));
        }
        if [target.market, market] != [record.market(); 2] {
            let text = format!("{id} is not bought in the way that is asked for");
            return Err(AwsError::new("InvalidFleetConfiguration", text));
        }
        if !record.is_for(offering) {
            let text = format!("{id} is for {} in {}", record.instance_type, record.zone);
            return Err(AwsError::new("InvalidParameterValue", text));
        }
        Ok(Some(target))
    }

    /// The reservation in which one more instance of `offering` would run; `None` is outside.
    pub(super) fn held(
        &self,
        preference: &ReservationPreference,
        offering: &OfferingKey,
    ) -> Result<Option<Held>, AwsError> {
        let held = |record: &ReservationRecord| Held { id: record.id.clone(), until: None };
        let mut values = self.account.reservations.values();
        match preference {
            ReservationPreference::Only(target) => {
                let named = values
                    .find(|record| record.id == target.id)
                    .filter(|record| self.has_room(record));
                named.map(|record| Some(held(record))).ok_or_else(|| {
                    let text = "the requested reservation has no capacity left";
                    AwsError::new("ReservationCapacityExceeded", text)
                })
            }
            ReservationPreference::Open if offering.capacity_type == CapacityType::OnDemand => {
                let is_open = |record: &&ReservationRecord| {
                    record.match_criteria == MatchCriteria::Open
                        && record.market() == ReservationMarket::OnDemand
                        && record.is_for(offering)
                        && self.has_room(record)
                };
                Ok(values.find(is_open).map(held))
            }
            ReservationPreference::Open | ReservationPreference::None => Ok(None),
        }
    }

    fn has_room(&self, record: &ReservationRecord) -> bool {
        record.state_at(self.now) == CapacityReservationState::Active
            && self.left_at(record, self.now) > 0
    }

    /// Reservations with more instances than they are for, and instances in one that ended.
    pub(crate) fn overfull_reservations(&self) -> Vec<String> {
        let words = |record: &ReservationRecord| {
            let used = self.in_reservation(&record.id).len();
            let is_over = record.state_at(self.now) == CapacityReservationState::Expired;
            let most = if is_over { 0 } else { record.total_count };
            (usize::try_from(most).is_ok_and(|most| most < used))
                .then(|| format!("{used} instances are in {}, which has {most}", record.id))
        };
        self.account.reservations.values().filter_map(words).collect()
    }
}

impl DescribedReservation {
    fn summed_up(self) -> CapacityReservation {
        let Self { record, available_count, .. } = self;
        CapacityReservation {
            id: record.id,
            instance_type: record.instance_type,
            zone: record.zone,
            owner: record.owner,
            match_criteria: record.match_criteria,
            is_capacity_block: record.is_capacity_block,
            is_interruptible: record.is_interruptible,
            // The caller knows the time.
            is_expiring: false,
            ends_at: record.ends_at,
            available_count,
        }
    }
}

fn no_reservation(id: &str) -> AwsError {
    let text = format!("The capacity reservation '{id}' does not exist");
    AwsError::new("InvalidCapacityReservationId.NotFound", text)
}
