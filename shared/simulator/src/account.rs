//! The simulated AWS account: instances and their lives, capacity, money.

mod discovery;
mod ending;
mod fleet;
mod identity;
mod image;
mod join;
mod market;
mod operations;
mod outage;
mod profile;
mod quota;
mod reboot;
mod refusal;
mod reservation;
mod status;
mod template;
pub mod wildcard;
mod zonal_shift;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, ClusterName, HourlyPrice, ImageId, InstanceId, LaunchTemplateName, NodeClaimName,
    NodePoolName, OfferingKey, ReservationId, Resources, SecurityGroupId, SubnetId, Zone,
    duration::later,
    interruption::{Interruption, InterruptionKind, StatusProblem},
    labels,
    launch::{Instance, InstanceState},
    node_class::Image,
};

pub(crate) use fleet::{INHERITED, Launches};
pub use identity::{AccessEntryRecord, NewEntry, RoleRecord};
pub use join::{CLUSTER_GROUP, JoinFailure, ROUTE_TABLE, VPC};
pub use market::SpotPrice;
pub use operations::{DescribedInstance, StateChange};
pub use profile::ProfileRecord;
pub use refusal::AwsError;
pub(crate) use refusal::is_about_profile;
pub(crate) use reservation::Held;
pub use reservation::{
    CapacityReservationState, DescribedReservation, ReservationPreference, ReservationRecord,
};
pub use template::{NewTemplate, TemplateRecord};
pub use wildcard::is_like;

use crate::{
    story::SpotTarget,
    timeline::{Happening, RunningInstance},
    world::{Event, World},
};

/// Notice before EC2 takes a spot instance back.
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html>
const SPOT_NOTICE: SignedDuration = SignedDuration::from_mins(2);
/// From the last heartbeat of a kubelet to its node being called unreachable.
/// kube-controller-manager: `--node-monitor-grace-period` of older releases.
const HEARTBEAT_GRACE: SignedDuration = SignedDuration::from_secs(40);

/// An instance, with everything that listings show later.
#[derive(Clone, Debug)]
pub(crate) struct InstanceRecord {
    pub(crate) id: InstanceId,
    pub(crate) offering: OfferingKey,
    pub(crate) image: ImageId,
    pub(crate) subnet: SubnetId,
    /// `None` if not given: it was there before.
    pub(crate) security_groups: Option<BTreeSet<SecurityGroupId>>,
    /// What it was launched from.
    pub(crate) template: LaunchTemplateName,
    pub(crate) launched_at: Timestamp,
    pub(crate) token: model::BatchId,
    pub(crate) capacity: Resources,
    /// What its launch template says about reservations.
    preference: ReservationPreference,
    /// The reservation that it runs in, or ran in until that ended.
    held: Option<Held>,
    /// What each tag became, and when.
    tags: BTreeMap<String, Vec<(Timestamp, String)>>,
    /// What EC2 reports of it.
    status: Vec<StatusProblem>,
    /// Why it ends, as EC2 says it.
    end_reason: Option<String>,
    /// Which state it took, and when.
    states: Vec<(Timestamp, InstanceState)>,
    /// How often it was rebooted.
    reboots: u64,
    price: HourlyPrice,
    /// Nano-dollars for an hour, times seconds.
    accrued: u128,
    accrued_until: Timestamp,
}

/// The account.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) instances: BTreeMap<InstanceId, InstanceRecord>,
    /// Why instances end instead of running, as EC2 says it.
    pub(crate) launches_end: Option<String>,
    /// Instances with termination protection.
    pub(crate) protected: BTreeSet<InstanceId>,
    pub(crate) launched: BTreeMap<OfferingKey, u32>,
    capacity: BTreeMap<OfferingKey, u32>,
    live: BTreeMap<OfferingKey, u32>,
    launches: Launches,
    pub(crate) templates: BTreeMap<LaunchTemplateName, TemplateRecord>,
    templates_made: u64,
    templates_deleted: BTreeSet<LaunchTemplateName>,
    pub(crate) profiles: BTreeMap<String, ProfileRecord>,
    identities: identity::Identities,
    reservations: BTreeMap<ReservationId, ReservationRecord>,
    /// Those that were asked for.
    images: BTreeMap<ImageId, Image>,
    /// Those that their owner took away, and those on whose nodes pods crash.
    deregistered: BTreeSet<ImageId>,
    pub(crate) broken_images: BTreeSet<ImageId>,
    /// What spot prices were, and until when.
    past_spot_prices: Vec<(Timestamp, SpotPrice)>,
    /// What EC2 told about instances.
    events: Vec<Interruption>,
    subnets: BTreeMap<SubnetId, Zone>,
    /// What selectors find, where that was known.
    found: discovery::Found,
    /// Names of those that were asked for.
    security_groups: BTreeMap<SecurityGroupId, String>,
    assumptions: BTreeSet<String>,
    /// Zones that traffic is shifted away from, and until when.
    shifted: BTreeMap<Zone, Timestamp>,
    /// Zones that are away.
    outages: BTreeSet<Zone>,
}

/// An instance that was there before.
#[derive(Clone, Debug)]
pub(crate) struct Inherited {
    pub(crate) id: InstanceId,
    pub(crate) offering: OfferingKey,
    /// `None` is any.
    pub(crate) subnet: Option<SubnetId>,
    /// `None` is any.
    pub(crate) image: Option<ImageId>,
    pub(crate) launched_at: Timestamp,
    pub(crate) capacity: Resources,
    pub(crate) tags: BTreeMap<String, String>,
}

impl InstanceRecord {
    /// Its state as it was at `time`; `None` before its launch.
    fn state_at(&self, time: Timestamp) -> Option<InstanceState> {
        self.states.iter().rev().find(|(at, _)| *at <= time).map(|(_, state)| *state)
    }

    /// Its state now.
    pub(crate) fn state(&self) -> InstanceState {
        self.states.last().map_or(InstanceState::Terminated, |(_, state)| *state)
    }

    /// Whether it is pending or running.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.state(), InstanceState::Pending | InstanceState::Running)
    }

    /// Since when it is in its state.
    pub(crate) fn since(&self) -> Timestamp {
        self.states.last().map_or(self.launched_at, |(at, _)| *at)
    }

    /// A tag as it was at `time`.
    fn tag_at(&self, key: &str, time: Timestamp) -> Option<&str> {
        let versions = self.tags.get(key)?;
        versions.iter().rev().find(|(at, _)| *at <= time).map(|(_, value)| value.as_str())
    }

    /// A tag now.
    pub(crate) fn tag(&self, key: &str) -> Option<&str> {
        self.tag_at(key, Timestamp::MAX)
    }

    /// All tags now.
    pub(crate) fn tags_now(&self) -> BTreeMap<String, String> {
        let tag = |key: &String| Some((key.clone(), self.tag(key)?.to_owned()));
        self.tags.keys().filter_map(tag).collect()
    }

    /// The pool in its tags.
    pub(crate) fn node_pool(&self) -> Option<NodePoolName> {
        NodePoolName::new(self.tag(labels::NODE_POOL)?).ok()
    }

    /// As EC2 would have described it at `time`; `None` when it did not know it.
    fn described_at(
        &self,
        time: Timestamp,
        now: Timestamp,
        kept: SignedDuration,
    ) -> Option<Instance> {
        let state = self.state_at(time)?;
        if state == InstanceState::Terminated && later(self.since(), kept) < now {
            return None;
        }
        let node_claim = self.tag_at(labels::NODE_CLAIM_TAG, time);
        let network = self.security_groups.as_ref().filter(|_| state != InstanceState::Terminated);
        let reservation =
            self.held_at(time).filter(|_| self.capacity_type_at(time) == CapacityType::Reserved);
        Some(Instance {
            id: self.id.clone(),
            state,
            state_reason: self.end_reason.clone().filter(|_| state != InstanceState::Running),
            instance_type: self.offering.instance_type.clone(),
            zone: self.offering.zone.clone(),
            capacity_type: self.capacity_type_at(time),
            image: self.image.clone(),
            subnet: network.map(|_| self.subnet.clone()),
            security_groups: network.cloned().unwrap_or_default(),
            launched_at: self.launched_at,
            reservation: reservation.cloned(),
            is_named: self.tag_at(labels::NAME_TAG, time).is_some(),
            node_pool: self.tag_at(labels::NODE_POOL, time).and_then(|n| NodePoolName::new(n).ok()),
            node_class: self
                .tag_at(labels::NODE_CLASS, time)
                .and_then(|n| model::NodeClassName::new(n).ok()),
            ledger: self
                .tag_at(labels::LEDGER_TAG, time)
                .and_then(|id| model::LedgerId::new(id).ok()),
            node_claim: node_claim.and_then(|name| NodeClaimName::new(name).ok()),
            batch: self.tag_at(labels::BATCH_TAG, time).and_then(|t| model::BatchId::new(t).ok()),
        })
    }

    /// Adds what it cost until `now` and changes its price.
    fn reprice(&mut self, price: HourlyPrice, now: Timestamp) {
        self.accrued = self.cost(now);
        self.accrued_until = now;
        self.price = price;
    }

    /// What it cost until `now`, in nano-dollars for an hour times seconds.
    fn cost(&self, now: Timestamp) -> u128 {
        let until = if self.is_live() { now } else { self.accrued_until };
        let seconds = until.duration_since(self.accrued_until).as_secs();
        self.accrued + u128::from(self.price.nanos()) * u128::try_from(seconds).unwrap_or_default()
    }
}

impl Account {
    /// What `filter` lets through, as listings show it now.
    fn listed(
        &self,
        world: (Timestamp, SignedDuration, SignedDuration),
        filter: impl Fn(&InstanceRecord, Timestamp) -> bool,
    ) -> Vec<Instance> {
        let (now, lag, kept) = world;
        let seen = later(now, -lag);
        let records = self.instances.values().filter(|record| filter(record, seen));
        records.filter_map(|record| record.described_at(seen, now, kept)).collect()
    }

    /// What everything cost until `now`, in nano-dollars, rounded down.
    pub(crate) fn spent_nanos(&self, now: Timestamp) -> u128 {
        self.instances.values().map(|record| record.cost(now)).sum::<u128>() / 3_600
    }

    /// What each instance cost until `now`, in nano-dollars. Their sum is [`Account::spent_nanos`]: what is lost by
    /// rounding one instance down counts for the next.
    pub(crate) fn spent(&self, now: Timestamp) -> Vec<(InstanceId, u128)> {
        let (mut sum, mut before) = (0, 0);
        let spent = self.instances.values().map(|record| {
            sum += record.cost(now);
            let nanos = sum / 3_600 - before;
            before += nanos;
            (record.id.clone(), nanos)
        });
        spent.collect()
    }

    /// What is pending or running now costs for an hour.
    pub(crate) fn price_now(&self) -> HourlyPrice {
        let live = self.instances.values().filter(|record| record.is_live());
        live.fold(HourlyPrice::default(), |sum, record| sum.saturating_add(record.price))
    }

    /// What is pending or runs, by id.
    pub(crate) fn running(&self, now: Timestamp) -> Vec<RunningInstance> {
        let live = self.instances.values().filter(|record| record.is_live());
        let running = live.map(|record| RunningInstance {
            id: record.id.clone(),
            offering: OfferingKey {
                capacity_type: record.capacity_type_at(now),
                ..record.offering.clone()
            },
            price: record.price,
        });
        running.collect()
    }

    /// What was assumed, in words.
    pub(crate) fn assumptions(&self) -> Vec<String> {
        self.assumptions.iter().cloned().collect()
    }
}

impl World {
    fn listing(&self) -> (Timestamp, SignedDuration, SignedDuration) {
        (self.now, self.settings.listing_lag, self.settings.terminated_listed_for)
    }

    pub(crate) fn describe(&self, instances: &[InstanceId]) -> Vec<Instance> {
        let wanted: BTreeSet<&InstanceId> = instances.iter().collect();
        let (now, lag, kept) = self.listing();
        let records = wanted.into_iter().filter_map(|id| self.account.instances.get(id));
        records.filter_map(|record| record.described_at(later(now, -lag), now, kept)).collect()
    }

    pub(crate) fn of_batch(&self, cluster: &ClusterName, batch: &model::BatchId) -> Vec<Instance> {
        self.account.listed(self.listing(), |record, seen| {
            is_of_cluster(record, cluster, seen)
                && record.tag_at(labels::BATCH_TAG, seen) == Some(batch.as_str())
        })
    }

    pub(crate) fn list(&self, cluster: &ClusterName) -> Vec<Instance> {
        self.account.listed(self.listing(), |record, seen| {
            is_of_cluster(record, cluster, seen)
                && record.state_at(seen) != Some(InstanceState::Terminated)
        })
    }

    /// Whether the role of `settle` allows `tags` on `instance`, as template.yaml has it.
    pub(crate) fn may_tag(
        &self,
        instance: &InstanceId,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), AwsError> {
        let known = self.account.instances.get(instance);
        let has_name = known.is_some_and(|record| record.tag(labels::NAME_TAG).is_some());
        if has_name && tags.contains_key(labels::NAME_TAG) {
            let text = "You are not authorized to perform this operation.";
            return Err(AwsError::new("UnauthorizedOperation", text));
        }
        Ok(())
    }

    /// Sets tags; `false` when there is no such instance.
    pub(crate) fn tag(&mut self, instance: &InstanceId, tags: &BTreeMap<String, String>) -> bool {
        let now = self.now;
        let Some(record) = self.account.instances.get_mut(instance) else { return false };
        for (key, value) in tags {
            if record.tag(key) != Some(value) {
                record.tags.entry(key.clone()).or_default().push((now, value.clone()));
            }
        }
        true
    }

    /// Instances end that a caller asked to terminate.
    pub(crate) fn end_instances(&mut self, instances: &[InstanceId]) {
        for instance in instances {
            let violation = self.attached_at_the_end(instance);
            self.violations.extend(violation);
            let node = self.cluster.node_of_instance.get(instance).cloned();
            let is_live = self.account.instances.get(instance).is_some_and(InstanceRecord::is_live);
            if let Some(node) = node.filter(|node| is_live && self.cluster.is_drained(node)) {
                self.happened(Happening::NodeDrained { node });
            }
            self.end_instance(instance);
        }
    }

    /// An instance begins to shut down, for whatever reason. One that does already goes on so.
    pub(crate) fn end_instance(&mut self, instance: &InstanceId) {
        let now = self.now;
        let Some(record) = self.account.instances.get_mut(instance) else { return };
        if !record.is_live() {
            return;
        }
        record.reprice(record.price, now);
        record.states.push((now, InstanceState::ShuttingDown));
        if let Some(live) = self.account.live.get_mut(&record.offering) {
            *live = live.saturating_sub(1);
        }
        let ends_after = self.chances.account.within(self.settings.instance_ends_after);
        self.after(ends_after, Event::InstanceTerminates(instance.clone()));
        self.happened(Happening::InstanceEnding { instance: instance.clone() });
        self.announce_end(instance);
        if let Some(node) = self.cluster.node_of_instance.get(instance).cloned() {
            self.after(HEARTBEAT_GRACE, Event::NodeUnreachable(node));
        }
    }

    pub(crate) fn instance_runs(&mut self, instance: &InstanceId) {
        let now = self.now;
        if let Some(reason) = self.account.launches_end.clone() {
            return self.end_because(instance, &reason);
        }
        if let Some(record) = self.account.instances.get_mut(instance)
            && record.state() == InstanceState::Pending
        {
            record.states.push((now, InstanceState::Running));
        }
    }

    pub(crate) fn instance_terminates(&mut self, instance: &InstanceId) {
        let now = self.now;
        let Some(record) = self.account.instances.get_mut(instance) else { return };
        if record.state() == InstanceState::Terminated {
            return;
        }
        record.states.push((now, InstanceState::Terminated));
        let node = self.cluster.node_of_instance.get(instance).cloned();
        if let Some(node) = node.clone() {
            let orphaned_at = later(now, HEARTBEAT_GRACE);
            self.at(orphaned_at, Event::NodeOrphaned(node));
        }
        let instance = instance.clone();
        self.announce_end(&instance);
        self.happened(Happening::InstanceTerminated { instance, node });
    }

    fn announce_end(&mut self, instance: &InstanceId) {
        self.announce_interruption(InterruptionKind::InstanceEnding, instance);
    }

    fn announce_interruption(&mut self, kind: InterruptionKind, instance: &InstanceId) {
        let event = Interruption { kind, instance: instance.clone(), at: self.now };
        self.account.events.push(event.clone());
        self.announce(event);
    }

    /// EC2 gives notice to a spot instance.
    pub(crate) fn interrupt_spot(&mut self, target: &SpotTarget) {
        let is_spot = |record: &InstanceRecord| {
            record.is_live() && record.offering.capacity_type == CapacityType::Spot
        };
        let Some(instance) = self.chosen(target, is_spot) else {
            self.note(format_args!("no spot instance to interrupt for {target:?}"));
            return;
        };
        let ends_at = later(self.now, SPOT_NOTICE);
        let node = self.cluster.node_of_instance.get(&instance).cloned();
        self.happened(Happening::SpotNotice { instance: instance.clone(), node, ends_at });
        self.announce_interruption(InterruptionKind::SpotInterruption, &instance);
        self.at(ends_at, Event::SpotReclaims(instance));
    }

    /// EC2 recommends to leave a spot instance.
    pub(crate) fn recommend_rebalance(&mut self, target: &SpotTarget) {
        let is_spot = |record: &InstanceRecord| {
            record.is_live() && record.offering.capacity_type == CapacityType::Spot
        };
        if let Some(instance) = self.chosen(target, is_spot) {
            self.announce_interruption(InterruptionKind::RebalanceRecommendation, &instance);
        }
    }

    /// AWS announces that an instance will be changed. Nothing happens to it yet.
    pub(crate) fn announce_change(&mut self, target: &SpotTarget) {
        if let Some(instance) = self.chosen(target, InstanceRecord::is_live) {
            self.report(&instance, StatusProblem::ScheduledEvent);
            self.announce_interruption(InterruptionKind::ScheduledChange, &instance);
        }
    }

    /// A user terminates an instance.
    pub(crate) fn terminate_one(&mut self, target: &SpotTarget) {
        if let Some(instance) = self.chosen(target, InstanceRecord::is_live) {
            self.end_because(&instance, "Client.UserInitiatedShutdown: User initiated shutdown");
        }
    }

    fn chosen(
        &mut self,
        target: &SpotTarget,
        is_meant: impl Fn(&InstanceRecord) -> bool,
    ) -> Option<InstanceId> {
        let records = self.account.instances.values().filter(|record| is_meant(record));
        match target {
            SpotTarget::Oldest => {
                records.min_by_key(|r| (r.launched_at, r.id.clone())).map(|r| r.id.clone())
            }
            SpotTarget::Any => {
                let ids: Vec<&InstanceId> = records.map(|record| &record.id).collect();
                ids.get(self.chances.account.index(ids.len())).map(|id| (*id).clone())
            }
            SpotTarget::Node(node) => {
                let instance = &self.cluster.nodes.get(node)?.instance;
                records.map(|record| &record.id).find(|id| *id == instance).cloned()
            }
            SpotTarget::Instance(id) => {
                records.map(|record| &record.id).find(|i| *i == id).cloned()
            }
        }
    }
}

fn is_of_cluster(record: &InstanceRecord, cluster: &ClusterName, seen: Timestamp) -> bool {
    record.tag_at(labels::CLUSTER_NAME_TAG, seen) == Some(cluster.as_str())
}
