//! The ledger's words: counters, commits and their answers.

pub mod decision;
pub mod format;
pub mod rejection;

pub use decision::{
    Bound, Decision, DecisionKind, DecisionPage, DecisionQuery, Origin, Rejected, Subject,
};
pub use format::LedgerFormat;
pub use rejection::RejectionReason;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::{SignedDuration, Timestamp};

use crate::{
    BatchId, Bytes, ClaimPhase, CommandId, CommitId, ImageId, InstanceId, InstanceTypeName,
    LedgerId, NodeClaim, NodeClaimName, NodeClassName, NodePoolName, OfferingKey, PlacementGroupId,
    SubnetId, Zone,
    disruption::{Command, Progress},
    limits,
    rollout::{AcceptedImages, Halt},
};

/// The version of a claim that was not written to since it was created.
pub const CREATED_VERSION: u64 = 1;

/// What happened to a cluster's claims so far, as numbers that only grow.
///
/// Who adds capacity commits on the arrivals that it observed, who spends a disruption budget on both,
/// and who must delete a claim on neither: a mass interruption delays no other commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counters {
    /// Commits that created capacity.
    pub arrivals: u64,
    /// Commits that deleted claims, began to or thought better of it, and withdrawals of claims that got
    /// no instance.
    pub departures: u64,
}

impl Counters {
    /// Whether something happened since they were `served`.
    pub fn is_beyond(self, served: Self) -> bool {
        served.arrivals < self.arrivals || served.departures < self.departures
    }

    /// The later of both, counter by counter.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        Self {
            arrivals: self.arrivals.max(other.arrivals),
            departures: self.departures.max(other.departures),
        }
    }

    /// The counters after a commit that `adds` claims, changes `changed` and stores `started`.
    #[must_use]
    pub fn after(
        self,
        adds: bool,
        changed: &[NodeClaim],
        started: &BTreeMap<CommandId, Command>,
    ) -> Self {
        let deletes = changed.iter().any(NodeClaim::is_deleting);
        let moves = !started.values().all(Command::is_found);
        Self {
            arrivals: self.arrivals + u64::from(adds),
            departures: self.departures + u64::from(deletes || moves),
        }
    }
}

impl fmt::Display for Counters {
    /// `7/3`: arrivals, departures.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.arrivals, self.departures)
    }
}

/// Who else is in charge of the cluster's nodes, as `sweep` saw it last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Guard {
    /// Not checked yet: nothing is done.
    #[default]
    Unchecked,
    /// No other program: the functions act.
    Free {
        /// When that was seen.
        checked_at: Timestamp,
    },
    /// Another program: nothing is done.
    Held {
        /// Who, and how that is known, in words.
        by: String,
        /// When that was seen.
        checked_at: Timestamp,
    },
}

/// How long the word of the guard counts. It is longer than an outage of an API server that everything
/// should come through, and shorter than restoring a backup of the table takes.
pub const GUARD_COUNTS_FOR: SignedDuration = SignedDuration::from_mins(10);

impl Guard {
    /// Why nothing may be done now; `None` where the functions act.
    pub fn objection(&self, now: Timestamp) -> Option<String> {
        match self {
            Self::Unchecked => Some(
                "it was not checked yet whether something else provisions this cluster".to_owned(),
            ),
            Self::Free { checked_at } if now.duration_since(*checked_at) < GUARD_COUNTS_FOR => None,
            Self::Free { checked_at } => Some(format!(
                "whether something else provisions this cluster was checked last at {checked_at}"
            )),
            Self::Held { by, .. } => Some(format!("{by} provisions this cluster")),
        }
    }
}

/// What everything that a cluster's ledger says hangs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Which ledger it is, drawn when it was opened; `None` before that. Two ledgers of one cluster never
    /// share a name, a token or a tag.
    pub ledger: Option<LedgerId>,
    /// What happened so far.
    pub counters: Counters,
    /// Whether the functions may act.
    pub guard: Guard,
    /// The zones that traffic of the cluster is shifted away from, and until when: nothing is launched there.
    pub shifted_zones: BTreeMap<Zone, Timestamp>,
}

impl Head {
    /// Why nothing may be done on this ledger now; `None` where the functions act.
    pub fn objection(&self, now: Timestamp) -> Option<String> {
        match self.ledger {
            Some(_) => self.guard.objection(now),
            None => Some("its ledger is not open yet".to_owned()),
        }
    }

    /// Whether traffic is shifted away from the zone of the instance of `claim` at `now`: what EC2 says of it, or
    /// does not say, may not be so.
    pub fn is_shifted(&self, claim: &NodeClaim, now: Timestamp) -> bool {
        claim.instance.as_ref().is_some_and(|instance| self.is_left(&instance.zone, now))
    }

    /// Whether traffic is shifted away from `zone` at `now`.
    pub fn is_left(&self, zone: &Zone, now: Timestamp) -> bool {
        self.shifted_zones.get(zone).is_some_and(|until| now < *until)
    }
}

/// What the ledger holds about a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The head, which was read before everything else.
    pub head: Head,
    /// Every claim that is not gone, by name.
    pub claims: BTreeMap<NodeClaimName, NodeClaim>,
    /// Offerings that are unavailable, and until when.
    pub unavailable_offerings: BTreeMap<OfferingKey, Timestamp>,
    /// What is short for some launches only, and until when.
    pub shortages: BTreeMap<Shortage, Timestamp>,
    /// The least memory that nodes were seen with.
    pub measured: BTreeMap<MeasuredKey, Bytes>,
    /// Commands that are not done, by id.
    pub commands: BTreeMap<CommandId, Command>,
    /// Pools whose launches were refused, by NodePool.
    pub refusals: BTreeMap<NodePoolName, LaunchRefusals>,
    /// Items that could not be read. They stop nothing but themselves.
    pub unreadable: Vec<UnreadableItem>,
}

impl Snapshot {
    /// Rollouts that are halted.
    pub fn halts(&self) -> impl Iterator<Item = &Halt> {
        self.commands.values().filter_map(|command| command.progress.halt())
    }

    /// Images on which canaries passed.
    pub fn accepted(&self) -> impl Iterator<Item = &AcceptedImages> {
        self.commands.values().filter_map(|command| command.progress.accepted())
    }

    /// Whether everything but the guard, which is checked each minute, was read before, in `other`. No plan depends on
    /// the guard: while it does not let functions act, nothing is planned.
    pub fn differ_in_guard_alone(&self, other: &Self) -> bool {
        // Every member is named, so that a new one cannot be forgotten.
        let Self {
            head: Head { ledger, counters, guard: _, shifted_zones },
            claims,
            unavailable_offerings,
            shortages,
            measured,
            commands,
            refusals,
            unreadable,
        } = self;
        *ledger == other.head.ledger
            && *counters == other.head.counters
            && *shifted_zones == other.head.shifted_zones
            && *claims == other.claims
            && *unavailable_offerings == other.unavailable_offerings
            && *shortages == other.shortages
            && *measured == other.measured
            && *commands == other.commands
            && *refusals == other.refusals
            && *unreadable == other.unreadable
    }

    /// Whether every claim is in service, and every item was read. Until a counter of the head moves then, no claim comes
    /// or goes, moves to another phase, or gets another instance or node; only what claims say of themselves changes.
    pub fn is_at_rest(&self) -> bool {
        let is_in_service = |claim: &NodeClaim| claim.phase == ClaimPhase::Initialized;
        self.unreadable.is_empty() && self.claims.values().all(is_in_service)
    }

    /// Whether it has no claim `name`. A claim that cannot be read is there.
    pub fn is_without(&self, name: &NodeClaimName) -> bool {
        let is_unreadable = || self.unreadable.iter().any(|item| item.claim.as_ref() == Some(name));
        !self.claims.contains_key(name) && !is_unreadable()
    }

    /// The claims that commands delete once their replacements are there, or reboot. One whose replacement is gone
    /// deletes nothing, whichever function finds that out first: its nodes stay.
    pub fn being_replaced(&self) -> BTreeSet<&NodeClaimName> {
        let is_lost = |name: &NodeClaimName| {
            self.is_without(name) || self.claims.get(name).is_some_and(NodeClaim::is_deleting)
        };
        let commands = self.commands.values().filter(|command| match &command.progress {
            Progress::Launching { claims, .. } => !claims.iter().any(is_lost),
            Progress::Rebooting { .. } => true,
            Progress::Found
            | Progress::RolledBack { .. }
            | Progress::Moved { .. }
            | Progress::Halted(_)
            | Progress::Accepted(_) => false,
        });
        commands.flat_map(|command| &command.candidates).collect()
    }

    /// The claims that commands wait for.
    pub fn replacements(&self) -> BTreeSet<&NodeClaimName> {
        let launching = self.commands.values().filter_map(|command| match &command.progress {
            Progress::Launching { claims, .. } => Some(claims),
            Progress::Found
            | Progress::Rebooting { .. }
            | Progress::RolledBack { .. }
            | Progress::Moved { .. }
            | Progress::Halted(_)
            | Progress::Accepted(_) => None,
        });
        launching.flatten().collect()
    }
}

/// What is short for some launches only: no reason to leave an offering alone in all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shortage {
    /// EC2 does not support in an offering what launches from a class ask for.
    Unsupported {
        /// The class, of this cluster.
        class: NodeClassName,
        /// The offering.
        offering: OfferingKey,
    },
    /// EC2 has no instance of an offering that belongs into a placement group.
    Group {
        /// The group.
        group: PlacementGroupId,
        /// The offering.
        offering: OfferingKey,
    },
    /// A subnet has no free address.
    Addresses {
        /// The subnet.
        subnet: SubnetId,
    },
    /// A spread placement group has as many instances in a zone as it may: seven.
    ///
    /// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html>
    Spread {
        /// The group.
        group: PlacementGroupId,
        /// The zone.
        zone: Zone,
    },
    /// The account lacks EC2's role for spot instances: EC2 refuses each of them.
    Spot,
    /// EC2 refused a launch for a NodePool because of a quota of the account. It is only shown: the offerings of the launch
    /// are marked unavailable by themselves.
    Quota {
        /// The NodePool, of this cluster.
        node_pool: NodePoolName,
        /// Karpenter's word for the quota, such as `VCPULimitExceeded`.
        word: String,
    },
}

/// That launches for a pool were refused as a whole, and not for want of capacity in one offering; or that its
/// instances ended before their nodes joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchRefusals {
    /// Why, in the words of the service that refused.
    pub reason: String,
    /// How often in a row.
    pub count: u32,
    /// No claim is created for the pool before.
    pub until: Timestamp,
    /// Instances in a row that ended before their nodes joined; 0 if launches were refused. A launch ends this not, a
    /// node that joins does.
    pub ended: u32,
}

/// An item of the ledger that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnreadableItem {
    /// Its key.
    pub item: String,
    /// The claim that it is, if it is one.
    pub claim: Option<NodeClaimName>,
    /// The instance of the claim that it is, if it says so much.
    pub instance: Option<InstanceId>,
    /// The attribute and the rule that it breaks.
    pub problem: String,
}

/// Nodes that have the same memory: how much of an instance's the firmware and the kernel keep for
/// themselves depends on the image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MeasuredKey {
    /// Their instance type.
    pub instance_type: InstanceTypeName,
    /// What they were started from.
    pub image: ImageId,
}

/// What a commit must not have missed. The claims that it changes must be as they were in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// It adds capacity: no other function may have added any.
    Arrivals,
    /// It spends a disruption budget: no other function may have added or deleted capacity.
    Both,
    /// It deletes what is lost anyway, or only notes something: whatever others did.
    Claims,
}

/// A plan made real: everything in it happens, or nothing.
///
/// Idempotent by `id`: when the head is the one that a commit with this id made, the commit is
/// recognized as done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Identity, the same when the commit is repeated.
    pub id: CommitId,
    /// The ledger that was observed.
    pub ledger: Option<LedgerId>,
    /// The counters that were observed.
    pub parent: Counters,
    /// Which of them must be what they were.
    pub basis: Basis,
    /// New claims. Neither they nor their batches may exist.
    pub created: Vec<NodeClaim>,
    /// Claims with instances that the ledger did not know. They may not exist.
    pub adopted: Vec<NodeClaim>,
    /// Claims that change: none that has not launched, which only its launch does. The stored version
    /// must be one below theirs.
    pub changed: Vec<NodeClaim>,
    /// Offerings that are unavailable, and until when. A later time that stands already is kept.
    pub unavailable_offerings: BTreeMap<OfferingKey, Timestamp>,
    /// Commands as they are from now on.
    pub started: BTreeMap<CommandId, Command>,
    /// Commands that are done.
    pub ended: BTreeSet<CommandId>,
    /// Why.
    pub decisions: Vec<Decision>,
}

impl Commit {
    /// What the counters are after it, where they were `head` before.
    pub fn next(&self, head: Counters) -> Counters {
        let adds = !self.created.is_empty() || !self.adopted.is_empty();
        head.after(adds, &self.changed, &self.started)
    }

    /// Whether it may be made on `head`.
    pub fn is_based_on(&self, head: Counters) -> bool {
        match self.basis {
            Basis::Arrivals => self.parent.arrivals == head.arrivals,
            Basis::Both => self.parent == head,
            Basis::Claims => true,
        }
    }

    /// How many items the transaction has, its head included.
    pub fn items(&self) -> usize {
        1 + batch_items(&self.created).len()
            + self.adopted.len()
            + self.changed.len()
            + self.unavailable_offerings.len()
            + self.started.len()
            + self.ended.len()
            + self.decisions.len()
    }
}

/// How claims that are created together are stored until their launch begins: each list is one
/// item, of claims of one batch in their order in it.
pub fn batch_items(created: &[NodeClaim]) -> Vec<Vec<&NodeClaim>> {
    let mut batches: BTreeMap<&BatchId, Vec<&NodeClaim>> = BTreeMap::new();
    for claim in created {
        batches.entry(&claim.batch).or_default().push(claim);
    }
    let mut items: Vec<Vec<&NodeClaim>> = Vec::new();
    for mut claims in batches.into_values() {
        claims.sort_by_key(|claim| claim.batch_index);
        let mut pods = usize::MAX;
        for claim in claims {
            pods = pods.saturating_add(claim.pods.len());
            match items.last_mut() {
                Some(item) if pods <= limits::PODS_PER_ITEM_MAX => item.push(claim),
                _ => {
                    pods = claim.pods.len();
                    items.push(vec![claim]);
                }
            }
        }
    }
    items
}

/// What became of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is the head now, by this call or by an earlier one with the same id.
    Committed(Counters),
    /// Another function changed the head or a claim first. Nothing was written.
    Conflict,
    /// More items than a transaction takes. Nothing happened.
    TooLarge {
        /// Its items.
        items: usize,
        /// The most that a transaction takes.
        items_max: usize,
    },
}

/// What became of a write to one claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It is stored, by this call or by an earlier one with the same content.
    Written,
    /// The stored version is another one, or the claim is gone. Nothing happened.
    Conflict,
}

/// FNV-1a of `bytes`: for names that must only be short and stable.
pub fn digest(bytes: &[u8]) -> u64 {
    let mut digest = Digest::default();
    digest.take(bytes);
    digest.0
}

/// FNV-1a of what is written to it, piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Writes `piece`, and after it what no piece ends with.
    pub fn add(&mut self, piece: impl fmt::Display) {
        // It takes whatever is written.
        fmt::write(self, format_args!("{piece}\0")).unwrap_or_default();
    }

    fn take(&mut self, bytes: &[u8]) {
        self.0 = bytes
            .iter()
            .fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    }
}

impl fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.take(text.as_bytes());
        Ok(())
    }
}
