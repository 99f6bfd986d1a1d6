//! NodeClaims, from creation to the end. The table's record is the truth.

mod conditions;
mod message;

use std::{collections::BTreeMap, fmt, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use crate::{
    BatchId, CapacityType, ConditionReason, HourlyPrice, ImageId, InstanceId, InstanceTypeName,
    NodeClaimName, NodeClassName, NodeName, NodePoolName, OfferingKey, PodKey, ProviderId,
    Requirement, Requirements, Resources, Taint, Zone,
    disruption::DisruptionReason,
    duration::{doubled, later},
    labels,
    ledger::CREATED_VERSION,
    node_pool::NodePool,
    static_hash::NODE_POOL,
};

pub use conditions::{ClaimConditions, Disrupting, Reboot, VolumeState, VolumesDetached};
pub use message::ClaimMessage;

/// Where a claim is in its life. Only forward, from any phase to `Deleting`, from there to gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimPhase {
    /// Committed; `launch` will launch an instance.
    Created,
    /// There is an instance.
    Launched,
    /// Its node joined and carries the claim's labels and taints.
    Registered,
    /// The node is ready, its startup taints are gone, its resources are there.
    Initialized,
    /// It is being deleted; `drain` empties the node and terminates the instance.
    Deleting,
}

impl ClaimPhase {
    /// All of them, in order.
    pub const ALL: [Self; 5] =
        [Self::Created, Self::Launched, Self::Registered, Self::Initialized, Self::Deleting];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Launched => "launched",
            Self::Registered => "registered",
            Self::Initialized => "initialized",
            Self::Deleting => "deleting",
        }
    }

    /// Its name in the table and in recorded facts. It never changes: functions of two releases may read one table.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Created => "promised",
            Self::Launched | Self::Registered | Self::Initialized | Self::Deleting => self.as_str(),
        }
    }

    /// The phase that is stored as `code`.
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.code() == code)
    }
}

impl fmt::Display for ClaimPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a claim is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeletionReason {
    /// EC2 announced that it takes the spot instance back.
    SpotInterrupted,
    /// The instance stops, stopped or was terminated from outside.
    InstanceEnded,
    /// The capacity reservation ends, or takes the instance back.
    ReservationEnding,
    /// AWS announced a change of the instance, such as its retirement.
    InstanceUnhealthy,
    /// The node is older than `expireAfter`.
    Expired,
    /// A user or a controller deleted the node.
    NodeDeleted,
    /// A user or a controller deleted the NodeClaim.
    NodeClaimDeleted,
    /// A method of disruption found it.
    Disrupted(DisruptionReason),
    /// The static NodePool has more nodes than `replicas`.
    Overprovisioned,
    /// The node did not join within 15 minutes.
    NotRegistered,
    /// A reason that this release does not know: another one deleted the claim, and that counts.
    NotUnderstood,
}

impl DeletionReason {
    /// All that this release gives.
    pub const ALL: [Self; 13] = [
        Self::SpotInterrupted,
        Self::InstanceEnded,
        Self::ReservationEnding,
        Self::InstanceUnhealthy,
        Self::Expired,
        Self::NodeDeleted,
        Self::NodeClaimDeleted,
        Self::Disrupted(DisruptionReason::Empty),
        Self::Disrupted(DisruptionReason::Drifted),
        Self::Disrupted(DisruptionReason::Underutilized),
        Self::Disrupted(DisruptionReason::Unhealthy),
        Self::Overprovisioned,
        Self::NotRegistered,
    ];

    /// Its name, as in Karpenter's conditions and metrics where there is one.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SpotInterrupted => "SpotInterrupted",
            Self::InstanceEnded => "InstanceEnded",
            Self::ReservationEnding => "CapacityReservationEnding",
            Self::InstanceUnhealthy => "InstanceUnhealthy",
            Self::Expired => "Expired",
            Self::NodeDeleted => "NodeDeleted",
            Self::NodeClaimDeleted => "NodeClaimDeleted",
            Self::Disrupted(reason) => reason.as_str(),
            Self::Overprovisioned => "Overprovisioned",
            Self::NotRegistered => "RegistrationTimeout",
            Self::NotUnderstood => "NotUnderstood",
        }
    }

    /// The reason called `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }
}

impl fmt::Display for DeletionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// That a claim is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Why.
    pub reason: DeletionReason,
    /// Since when.
    pub at: Timestamp,
    /// When the instance ends whatever still runs on it; `None` waits for the pods.
    pub deadline: Option<Timestamp>,
}

/// The instance behind a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchedInstance {
    /// Its id.
    pub id: InstanceId,
    /// Its type.
    pub instance_type: InstanceTypeName,
    /// Its zone.
    pub zone: Zone,
    /// How it is paid for.
    pub capacity_type: CapacityType,
    /// The price that was expected when it was launched.
    pub price: HourlyPrice,
    /// The image it was launched from.
    pub image: Option<ImageId>,
    /// When the launch was asked for.
    pub launched_at: Timestamp,
}

impl LaunchedInstance {
    /// The offering that it came from.
    pub fn offering(&self) -> OfferingKey {
        OfferingKey {
            capacity_type: self.capacity_type,
            instance_type: self.instance_type.clone(),
            zone: self.zone.clone(),
        }
    }

    /// What its node reports as `spec.providerID`.
    pub fn provider_id(&self) -> ProviderId {
        ProviderId::of_instance(&self.zone, &self.id)
    }
}

/// The NodeClaim object by which a cluster shows a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncedNodeClaim {
    /// Its name, which is the claim's.
    pub name: NodeClaimName,
    /// The version of the claim that it shows in full; 0 while it shows none.
    pub version: u64,
    /// Whether it is being deleted.
    pub is_deleting: bool,
}

/// That visits of a claim failed, and when the next one is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How many in a row.
    pub failures: u32,
    /// Not before.
    pub not_before: Timestamp,
}

impl Retry {
    /// After this at most, where nothing else is said.
    pub const AGAIN_MAX: SignedDuration = SignedDuration::from_mins(2);

    /// After one more failure at `now`: in 2 seconds, then in twice as many each time, after `most` at most.
    #[must_use]
    pub fn after(previous: Option<Self>, now: Timestamp, most: SignedDuration) -> Self {
        let failures = previous.map_or(0, |retry| retry.failures).saturating_add(1);
        let delay = doubled(2, failures, most.as_secs());
        Self { failures, not_before: later(now, delay) }
    }
}

/// A NodeClaim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClaim {
    /// Its name.
    pub name: NodeClaimName,
    /// The version of its record. Every write names the one it read, and puts the next.
    pub version: u64,
    /// Its NodePool; [`NodePoolName::none`] for a claim that a user made.
    pub node_pool: NodePoolName,
    /// Its EC2NodeClass.
    pub node_class: NodeClassName,
    /// The batch that it is launched in: claims of one batch are alike but for name and index.
    pub batch: BatchId,
    /// Its place in the batch, from 0: of the instances that the batch's one fleet request brings,
    /// sorted by id, the one at this place is its own. So a repeated launch cannot mix them up.
    pub batch_index: u32,
    /// How many claims the batch had when it was created: the count of its fleet request, the
    /// same on every retry whatever became of the other claims.
    pub batch_size: u32,
    /// When it was created.
    pub created_at: Timestamp,
    /// Labels that its node gets.
    pub labels: BTreeMap<String, String>,
    /// Annotations that its node gets.
    pub annotations: BTreeMap<String, String>,
    /// What it may be launched as: zones, capacity types, architectures …
    pub requirements: Requirements,
    /// The instance types that may be launched, cheapest first. Claims that are alike share the list.
    pub instance_types: Arc<[InstanceTypeName]>,
    /// What its pods and daemons request together.
    pub requests: Resources,
    /// The pods that it was created for: as long as they wait, they go there before other pods.
    pub pods: Vec<PodKey>,
    /// Taints that its node keeps.
    pub taints: Vec<Taint>,
    /// Taints that something on the node takes away when it is ready.
    pub startup_taints: Vec<Taint>,
    /// The age at which it is replaced; `None` is never.
    pub expire_after: Option<SignedDuration>,
    /// How long its pods may take to leave; `None` is as long as they want.
    pub termination_grace_period: Option<SignedDuration>,
    /// Where it is in its life.
    pub phase: ClaimPhase,
    /// Since when it is in that phase.
    pub phase_since: Timestamp,
    /// What the planned instance would have at least, the smallest of `instance_types`; the
    /// instance's own once there is one.
    pub capacity: Resources,
    /// The same without overhead.
    pub allocatable: Resources,
    /// When its batch was first about to be asked for; while it is `None`, nothing can have been
    /// launched for it.
    pub requested_at: Option<Timestamp>,
    /// The instance, once there is one.
    pub instance: Option<LaunchedInstance>,
    /// Its node, once it joined.
    pub node: Option<NodeName>,
    /// Since when its node was seen without a pod that would need another node; `None` while there
    /// is one.
    pub empty_since: Option<Timestamp>,
    /// What disruption looks at beside the life of the claim.
    pub conditions: ClaimConditions,
    /// That it is being deleted.
    pub deletion: Option<Deletion>,
    /// Why it is not further.
    pub message: Option<ClaimMessage>,
    /// That the last visit failed; `None` after one that did not.
    pub retry: Option<Retry>,
    /// The stored record that it was read from, where that says more than this release understands.
    /// A write of the claim keeps what this release does not understand.
    pub not_understood: Option<Arc<str>>,
}

impl NodeClaim {
    /// A claim that was created `now`, alone in its batch, with everything else still to be said.
    pub fn created(
        name: NodeClaimName,
        node_pool: NodePoolName,
        node_class: NodeClassName,
        batch: BatchId,
        now: Timestamp,
    ) -> Self {
        Self {
            name,
            version: CREATED_VERSION,
            node_pool,
            node_class,
            batch,
            batch_index: 0,
            batch_size: 1,
            created_at: now,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            requirements: Requirements::new(),
            instance_types: Arc::default(),
            requests: Resources::default(),
            pods: Vec::new(),
            taints: Vec::new(),
            startup_taints: Vec::new(),
            expire_after: None,
            termination_grace_period: None,
            phase: ClaimPhase::Created,
            phase_since: now,
            capacity: Resources::default(),
            allocatable: Resources::default(),
            requested_at: None,
            instance: None,
            node: None,
            empty_since: None,
            conditions: ClaimConditions::default(),
            deletion: None,
            message: None,
            retry: None,
            not_understood: None,
        }
    }

    /// The same claim, one version on.
    #[must_use]
    pub fn following(&self) -> Self {
        Self { version: self.version + 1, ..self.clone() }
    }

    /// Whether a user made it, without a NodePool: its object is the user's own, and deleting that deletes
    /// the claim.
    pub fn is_standalone(&self) -> bool {
        self.node_pool.is_none()
    }

    /// The label by which its node belongs to its NodePool, if it has one.
    pub fn pool_label(&self) -> Option<(&'static str, &str)> {
        (!self.is_standalone()).then(|| (labels::NODE_POOL, self.node_pool.as_str()))
    }

    /// Of a claim that was read from an object: whether that shows a claim of the ledger.
    pub fn is_managed_here(&self) -> bool {
        self.labels.get(labels::MANAGED_BY).is_some_and(|value| value == labels::MANAGER)
    }

    /// Whether several nodes reported its instance.
    pub fn is_ambiguous(&self) -> bool {
        let told = self.message.as_ref().and_then(|message| message.reason.as_ref());
        told == Some(&ConditionReason::MultipleNodesFound)
    }

    /// Whether its instance has the tags that say whose it is.
    ///
    /// Karpenter: `pkg/controllers/nodeclaim/tagging/controller.go` of the AWS provider.
    pub fn is_tagged(&self) -> bool {
        self.is_marked(labels::TAGGED)
    }

    /// Whether its annotation `name` is `true`.
    pub fn is_marked(&self, name: &str) -> bool {
        self.annotations.get(name).is_some_and(|value| value == "true")
    }

    /// The same claim whose instance has those tags, of the same version.
    #[must_use]
    pub fn tagged(mut self) -> Self {
        self.annotations.insert(labels::TAGGED.to_owned(), "true".to_owned());
        self
    }

    /// Whether a visit is due at `now`, as far as earlier failures go.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.retry.is_none_or(|retry| retry.not_before <= now)
    }

    /// Whether it may be launched from capacity reservations only.
    pub fn is_held_to_reservations(&self) -> bool {
        let asked = self.requirements.get(labels::CAPACITY_TYPE);
        let only = asked.and_then(Requirement::single_value);
        only.is_some_and(|only| **only == *CapacityType::Reserved.as_str())
    }

    /// When its node was initialized; `None` before that. Of the functions' own claims the phase says it.
    pub fn initialized_at(&self) -> Option<Timestamp> {
        let by_phase = (self.phase == ClaimPhase::Initialized).then_some(self.phase_since);
        self.conditions.initialized_at.or(by_phase)
    }

    /// The image of its instance; `None` before it has one, and if the image is not known.
    pub fn image(&self) -> Option<&ImageId> {
        self.instance.as_ref()?.image.as_ref()
    }

    /// The NodePool whose drifted node it replaces, if that is another one, and the hash of that NodePool at that time.
    pub fn moved_from(&self) -> Option<(&str, Option<&str>)> {
        let text = self.annotations.get(labels::MOVED_FROM)?;
        Some(text.split_once('/').map_or((text, None), |(pool, hash)| (pool, Some(hash))))
    }

    /// Has it replace a drifted node of `pool`, which is not its own.
    pub fn set_moved_from(&mut self, pool: &NodePool) {
        let hash = NODE_POOL.of(&pool.annotations);
        let hash = hash.map(|stored| format!("/{}", stored.hash)).unwrap_or_default();
        self.annotations.insert(labels::MOVED_FROM.to_owned(), format!("{}{hash}", pool.name));
    }

    /// Whether it has an instance, and that is in a capacity reservation.
    pub fn is_reserved(&self) -> bool {
        let instance = self.instance.as_ref();
        instance.is_some_and(|instance| instance.capacity_type == CapacityType::Reserved)
    }

    /// Whether it is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.phase == ClaimPhase::Deleting
    }

    /// Whether EC2 was told to terminate its instance.
    pub fn is_instance_terminating(&self) -> bool {
        self.conditions.instance_terminating_since.is_some()
    }

    /// When it is replaced for its age.
    ///
    /// Karpenter: `pkg/controllers/nodeclaim/expiration/controller.go`.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.created_at.checked_add(self.expire_after?).ok()
    }

    /// The same claim in `phase` since `now`, one version on.
    #[must_use]
    pub fn moved_to(&self, phase: ClaimPhase, now: Timestamp) -> Self {
        Self { phase, phase_since: now, version: self.version + 1, ..self.clone() }
    }

    /// The same claim deleted at `now`, one version on. Its pods have until its termination grace
    /// period ends, if it has one. A claim that is being deleted already keeps its first reason.
    ///
    /// Karpenter: `pkg/controllers/nodeclaim/lifecycle/controller.go`, `ensureTerminationTimestamp…`.
    #[must_use]
    pub fn deleted(&self, reason: DeletionReason, now: Timestamp) -> Self {
        if self.deletion.is_some() {
            return self.clone();
        }
        let deadline = self.termination_grace_period.and_then(|grace| now.checked_add(grace).ok());
        let deletion = Some(Deletion { reason, at: now, deadline });
        Self { deletion, ..self.moved_to(ClaimPhase::Deleting, now) }
    }

    /// The same, deleted by a command that lets its node drain for `drain` at most, if it says how long.
    ///
    /// Karpenter 1.15: `pkg/controllers/disruption/queue.go`: the deadline is written just before the claim is
    /// deleted.
    #[must_use]
    pub fn deleted_within(
        &self,
        reason: DeletionReason,
        now: Timestamp,
        drain: Option<SignedDuration>,
    ) -> Self {
        let grace = [self.termination_grace_period, drain].into_iter().flatten().min();
        let bounded = Self { termination_grace_period: grace, ..self.clone() };
        let deleted = bounded.deleted(reason, now);
        Self { termination_grace_period: self.termination_grace_period, ..deleted }
    }

    /// The same claim, which is being deleted, one version on if its instance ends no later than
    /// `deadline` from now on: its pods have as long at most. A deadline that is nearer stays.
    #[must_use]
    pub fn hastened(&self, deadline: Timestamp) -> Option<Self> {
        let deletion = self.deletion.as_ref()?;
        let is_nearer = deletion.deadline.is_none_or(|standing| deadline < standing);
        is_nearer.then(|| {
            let deletion = Some(Deletion { deadline: Some(deadline), ..deletion.clone() });
            Self { deletion, ..self.following() }
        })
    }
}
