//! What became of a batch of claims that `launch` asked EC2 for: their next states, and why others get no instance.
//!
//! Karpenter: `pkg/controllers/nodeclaim/lifecycle/launch.go`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, Function, ImageId, InstanceId, InstanceType, NodeClaim, NodePoolName, OfferingKey,
    claim::{ClaimMessage, LaunchedInstance, Retry},
    condition::ConditionReason,
    duration::{doubled, later},
    event::{EventReason, ObjectEvent},
    labels,
    ledger::{
        Decision, DecisionKind, LaunchRefusals, Rejected, RejectionReason, Shortage, Snapshot,
    },
    limits, words,
};

use crate::events;

/// Seconds until a launch is tried again for which nothing was requested yet, at first and at most.
const RETRY_SECONDS: (i64, i64) = (2, 60);
/// Seconds until claims are created again for a NodePool whose launch was refused, at first and at most.
const REFUSED_SECONDS: (i64, i64) = (30, 600);
/// Until a batch is looked at again that another function changed.
const MOMENT: SignedDuration = SignedDuration::from_secs(2);
/// What is said of claims that got no instance without any error.
const NOTHING_LAUNCHED: &str = "EC2 launched nothing";

/// What became of a batch.
#[derive(Debug)]
pub enum LaunchOutcome {
    /// EC2 answered the request: the instance of each claim, if it got one, and why others got none.
    Answered(Vec<Option<NewInstance>>, Vec<LaunchError>),
    /// An earlier request launched these instances, one for each claim that got one; empty if it launched none.
    Found(Vec<Option<NewInstance>>),
    /// Nothing was launched and nothing will be: why, and the event of the claims.
    Refused(String, Option<EventReason>),
    /// Nothing was launched and nothing will be: the time that a launch may take is over.
    TooLate(String),
    /// Another pass launches the batch at this moment.
    Overtaken,
    /// To be tried again; something may have been launched. The reason is for people.
    Later(String),
}

/// An instance for a claim.
#[derive(Clone, Debug)]
pub struct NewInstance {
    /// The id.
    pub id: InstanceId,
    /// The image.
    pub image: ImageId,
    /// Its type and zone, and how it is paid for.
    pub offering: OfferingKey,
    /// Its type as nodes of the class have it; `None` if the catalog does not have it.
    pub known_type: Option<Arc<InstanceType>>,
    /// The labels that its type and place give the node.
    pub labels: BTreeMap<String, String>,
    /// The instance profile; `None` if it is not known.
    pub profile: Option<String>,
    /// Whether the tags of the class give it a name.
    pub is_named: bool,
    /// The id of its capacity reservation; `None` if it has none, or the id is not known.
    pub reservation: Option<String>,
}

/// Why EC2 launched less than was requested.
#[derive(Clone, Debug)]
pub struct LaunchError {
    /// What EC2 said, after Karpenter's word for it.
    pub words: String,
    /// What it means.
    pub shortfall: Shortfall,
    /// Karpenter's word for the quota of the account that is used up; `None` if it is something else.
    pub quota: Option<String>,
}

/// What an error of EC2 means for the next launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// These offerings have no capacity.
    Unavailable(BTreeSet<OfferingKey>),
    /// This is short for launches like this one.
    Short(BTreeSet<Shortage>),
    /// The same request may succeed later.
    Passing,
    /// The same request never succeeds.
    Lasting,
}

/// What is to be done about a batch, in the order of the members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conclusion {
    /// Offerings that are unavailable, and until when.
    pub unavailable: Vec<(OfferingKey, Timestamp)>,
    /// What is short for some launches only, and until when.
    pub shortages: Vec<(Shortage, Timestamp)>,
    /// Why nothing was launched in the time that a launch may take: that the launches failed is noted.
    pub too_late: Option<String>,
    /// The refusals to store for a NodePool; `None` of these removes the stored ones.
    pub refusals: Option<(NodePoolName, Option<LaunchRefusals>)>,
    /// Claims as they should be stored, one version on.
    pub changed: Vec<NodeClaim>,
    /// Claims that got no instance: they are withdrawn, and their pods are pending again.
    pub withdrawn: Vec<NodeClaim>,
    /// The record of the withdrawal, once it is stored.
    pub decision: Option<Decision>,
    /// Events, once the claims are stored.
    pub events: Vec<ObjectEvent>,
    /// When the batch is looked at again; `None` is never.
    pub again: Option<Timestamp>,
    /// The same if another function changed a claim first.
    pub again_if_overtaken: Option<Timestamp>,
}

impl Conclusion {
    /// Whether any claim got its instance.
    pub fn is_any_launched(&self) -> bool {
        self.changed.iter().any(|claim| claim.phase == ClaimPhase::Launched)
    }
}

/// What is to be done about `claims`, all of one batch, after `outcome`. `ledger` has the refusals of their NodePool.
#[must_use]
pub fn concluded(
    outcome: LaunchOutcome,
    claims: &[NodeClaim],
    ledger: &Snapshot,
    now: Timestamp,
) -> Conclusion {
    let batch = Batch { claims, ledger, now };
    match outcome {
        LaunchOutcome::Later(reason) => batch.postponed(&reason),
        // What the other pass writes is not known here: nothing is written over it.
        LaunchOutcome::Overtaken => {
            Conclusion { again: Some(batch.moment()), ..Conclusion::default() }
        }
        LaunchOutcome::Refused(reason, event) => {
            let event = event.map(|event| (event, reason.clone()));
            batch.settled(Vec::new(), Some(reason), event)
        }
        LaunchOutcome::TooLate(reason) => {
            let event = class_not_ready(&reason);
            let conclusion = batch.settled(Vec::new(), Some(reason.clone()), event);
            Conclusion { too_late: Some(reason), ..conclusion }
        }
        LaunchOutcome::Found(instances) if instances.is_empty() => {
            let message = claims.iter().find_map(|claim| claim.message.as_ref());
            let reason = message.map(ToString::to_string);
            let why = reason.clone().unwrap_or_else(|| NOTHING_LAUNCHED.to_owned());
            let conclusion = batch.settled(instances, reason, None);
            Conclusion { too_late: Some(why), ..conclusion }
        }
        LaunchOutcome::Found(instances) => batch.settled(instances, None, None),
        LaunchOutcome::Answered(instances, errors) => {
            let first = errors.first().map(|error| error.words.clone());
            let quotas = batch.quotas(&errors);
            let event = first.map(|why| (EventReason::InsufficientCapacityError, why));
            let (offerings, shortages, refusal) = shortfalls(errors);
            let until = later(now, limits::UNAVAILABLE_FOR);
            let unavailable = offerings.into_iter().map(|offering| (offering, until)).collect();
            let shortages = shortages.into_iter().map(|shortage| (shortage, until));
            let shortages = shortages.chain(quotas).collect();
            Conclusion { unavailable, shortages, ..batch.settled(instances, refusal, event) }
        }
    }
}

/// The offerings without capacity, what is short for such launches only, and what keeps the NodePool from requesting the same at once: that EC2 refused
/// something for good, or that no other offering will be requested next.
fn shortfalls(
    errors: Vec<LaunchError>,
) -> (BTreeSet<OfferingKey>, BTreeSet<Shortage>, Option<String>) {
    let (mut offerings, mut shortages) = (BTreeSet::new(), BTreeSet::new());
    let (mut refusal, mut passing) = (None, None);
    for LaunchError { words, shortfall, .. } in errors {
        match shortfall {
            Shortfall::Unavailable(more) => offerings.extend(more),
            Shortfall::Short(more) => shortages.extend(more),
            Shortfall::Passing => passing = passing.or(Some(words)),
            Shortfall::Lasting => refusal = refusal.or(Some(words)),
        }
    }
    let is_another_next = !offerings.is_empty() || !shortages.is_empty();
    let refusal = if is_another_next { refusal } else { refusal.or(passing) };
    (offerings, shortages, refusal)
}

/// The event of claims that waited for their class, as the reason says, for as long as a launch may take.
fn class_not_ready(reason: &str) -> Option<(EventReason, String)> {
    use ConditionReason::{NodeClassNotReady, NodeClassReadinessUnknown};
    let ClaimMessage { reason, text } = ClaimMessage::parse(reason);
    let is_for_class = matches!(reason, Some(NodeClassNotReady | NodeClassReadinessUnknown));
    is_for_class.then_some((EventReason::NodeClassNotReady, text))
}

/// Claims of one batch.
#[derive(Clone, Copy)]
struct Batch<'a> {
    claims: &'a [NodeClaim],
    ledger: &'a Snapshot,
    now: Timestamp,
}

impl Batch<'_> {
    fn moment(&self) -> Timestamp {
        later(self.now, MOMENT)
    }

    /// The quotas of the account that `errors` name, and until when the NodePool shows each. EC2 is asked again after
    /// `UNAVAILABLE_FOR`; the condition stays twice as long, so that it does not flicker between two refusals.
    fn quotas(&self, errors: &[LaunchError]) -> Vec<(Shortage, Timestamp)> {
        let pool = self.claims.first().filter(|claim| !claim.is_standalone());
        let Some(NodeClaim { node_pool, .. }) = pool else { return Vec::new() };
        let words: BTreeSet<&String> =
            errors.iter().filter_map(|error| error.quota.as_ref()).collect();
        let until = later(self.now, limits::UNAVAILABLE_FOR.saturating_mul(2));
        let quota =
            |word: &String| Shortage::Quota { node_pool: node_pool.clone(), word: word.clone() };
        words.into_iter().map(|word| (quota(word), until)).collect()
    }

    /// The claims with their `instances`; those without one are withdrawn, for `refusal` and by `event`.
    fn settled(
        &self,
        instances: Vec<Option<NewInstance>>,
        refusal: Option<String>,
        event: Option<(EventReason, String)>,
    ) -> Conclusion {
        let (mut changed, mut withdrawn) = (Vec::new(), Vec::new());
        let instances = instances.into_iter().chain(std::iter::repeat_with(|| None));
        for (claim, instance) in self.claims.iter().zip(instances) {
            match instance {
                Some(instance) => changed.push(launched(claim, instance, self.now)),
                None => withdrawn.push(claim.clone()),
            }
        }
        let held_back = refusal.clone().filter(|_| changed.is_empty());
        Conclusion {
            refusals: self.refusals(held_back),
            decision: self.withdrawal(&withdrawn, event.as_ref(), refusal),
            events: event.map(|(reason, why)| lost(&withdrawn, reason, &why)).unwrap_or_default(),
            changed,
            withdrawn,
            again_if_overtaken: Some(self.moment()),
            ..Conclusion::default()
        }
    }

    /// What is stored with the NodePool of the claims: why nothing was launched for it, so that no claim is created
    /// for it for a while, longer each time; or that it launches again.
    fn refusals(&self, reason: Option<String>) -> Option<(NodePoolName, Option<LaunchRefusals>)> {
        // A refusal of a user's own claim holds nothing else back.
        let pool = &self.claims.first().filter(|claim| !claim.is_standalone())?.node_pool;
        let before = self.ledger.refusals.get(pool);
        let Some(reason) = reason else {
            // That instances end before their nodes join, a launch does not refute.
            let refused = before.filter(|refusals| refusals.ended == 0);
            return refused.map(|_| (pool.clone(), None));
        };
        let count = before.map_or(0, |refusals| refusals.count).saturating_add(1);
        let (first, most) = REFUSED_SECONDS;
        let until = later(self.now, doubled(first, count, most));
        let ended = before.map_or(0, |refusals| refusals.ended);
        Some((pool.clone(), Some(LaunchRefusals { reason, count, until, ended })))
    }

    /// The record of why claims are withdrawn.
    fn withdrawal(
        &self,
        withdrawn: &[NodeClaim],
        event: Option<&(EventReason, String)>,
        refusal: Option<String>,
    ) -> Option<Decision> {
        if withdrawn.is_empty() {
            return None;
        }
        let reason = match event.map(|(event, _)| event) {
            Some(EventReason::InsufficientCapacityError) => RejectionReason::InsufficientCapacity,
            Some(EventReason::NodeClassNotReady) => RejectionReason::NodeClassNotReady,
            _ => RejectionReason::LaunchRefused,
        };
        let message = event.map(|(_, why)| why.clone()).or(refusal);
        let why = message.unwrap_or_else(|| NOTHING_LAUNCHED.to_owned());
        let summary = format!("{} withdrawn: {why}", words::counted(withdrawn.len(), "claim"));
        let by = (Function::Launch, self.now);
        Some(Decision {
            rejected: vec![Rejected { what: None, reason, why }],
            ..Decision::about(DecisionKind::Withdrawal, withdrawn, by, summary)
        })
    }

    /// When the batch is tried again: later after each request that failed, as its claims keep; and before the
    /// first request later the older they are.
    fn postponed(&self, reason: &str) -> Conclusion {
        let Some(first) = self.claims.first() else { return Conclusion::default() };
        let message = ClaimMessage::parse(reason);
        if first.requested_at.is_none() {
            let is_news =
                first.message.as_ref().map(ToString::to_string).as_deref() != Some(reason);
            // A user looks at the claim itself.
            let shown = (first.is_standalone() && is_news)
                .then(|| NodeClaim { message: Some(message), ..first.following() });
            let (least, most) = RETRY_SECONDS;
            let age = self.now.duration_since(first.created_at).as_secs();
            let again = later(self.now, SignedDuration::from_secs((age / 2).clamp(least, most)));
            return Conclusion::later(again, shown.into_iter().collect());
        }
        let retry = Retry::after(first.retry, self.now, Retry::AGAIN_MAX);
        let next = |claim: &NodeClaim| NodeClaim {
            retry: Some(retry),
            message: Some(message.clone()),
            ..claim.following()
        };
        Conclusion::later(retry.not_before, self.claims.iter().map(next).collect())
    }
}

impl Conclusion {
    fn later(again: Timestamp, changed: Vec<NodeClaim>) -> Self {
        let again = Some(again);
        Self { changed, again, again_if_overtaken: again, ..Self::default() }
    }
}

/// The events of claims that got no instance, and of their pods if they lack capacity.
fn lost(withdrawn: &[NodeClaim], reason: EventReason, why: &str) -> Vec<ObjectEvent> {
    match reason {
        EventReason::NodeClassNotReady => events::of_class_not_ready(withdrawn, why),
        _ => events::of_insufficient_capacity(withdrawn, why),
    }
}

/// The claim with its instance: what EC2 chose becomes its labels and capacity.
fn launched(claim: &NodeClaim, instance: NewInstance, now: Timestamp) -> NodeClaim {
    let mut launched = claim.moved_to(ClaimPhase::Launched, now);
    let known_type = instance.known_type.as_deref();
    let offering = known_type.and_then(|known| known.offering(&instance.offering));
    launched.labels.extend(instance.labels);
    if let Some(known) = known_type {
        launched.capacity = known.capacity.clone();
        launched.allocatable = known.allocatable();
    }
    let profile = instance.profile.map(|name| (labels::INSTANCE_PROFILE.to_owned(), name));
    let name = instance.is_named.then(|| (labels::KEEPS_NAME.to_owned(), "true".to_owned()));
    launched.annotations.extend(profile.into_iter().chain(name));
    launched.labels.extend(reservation_labels(known_type, instance.reservation));
    launched.instance = Some(LaunchedInstance {
        id: instance.id,
        price: offering.map(|offering| offering.price).unwrap_or_default(),
        capacity_type: instance.offering.capacity_type,
        instance_type: instance.offering.instance_type,
        zone: instance.offering.zone,
        image: Some(instance.image),
        launched_at: now,
    });
    launched.message = None;
    launched.retry = None;
    // Only the launch needed them.
    launched.instance_types = Arc::default();
    launched
}

/// What a node says of its capacity reservation: the id, and its properties if the type has them.
fn reservation_labels(
    known_type: Option<&InstanceType>,
    reservation: Option<String>,
) -> BTreeMap<String, String> {
    let Some(id) = reservation else { return BTreeMap::new() };
    let offerings = known_type.into_iter().flat_map(|known| &known.offerings);
    let mut reservations = offerings.filter_map(|offering| offering.reservation.as_ref());
    let Some(of_type) = reservations.find(|reservation| reservation.id.as_str() == id) else {
        return BTreeMap::from([(labels::RESERVATION_ID.to_owned(), id)]);
    };
    [
        (labels::RESERVATION_ID, id),
        (labels::RESERVATION_TYPE, of_type.kind.clone()),
        (labels::RESERVATION_INTERRUPTIBLE, of_type.interruptible.to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}
