//! What became of a launch, written into the claims.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, ClaimPhase, Function, ImageId, InstanceId, InstanceType, InstanceTypeName,
    NodeClaim, OfferingKey, RegionCatalog, ReservationId, Zone, ZoneId,
    claim::{ClaimMessage, LaunchedInstance, Retry},
    condition::ConditionReason,
    event::EventReason,
    labels,
    launch::{FleetAnswer, FleetError, FleetInstance, FleetReaction, Instance},
    ledger::{Decision, DecisionKind, LaunchRefusals, Rejected, RejectionReason, WriteOutcome},
};
use ports::{Adapters, Invocation, Ledger};

use super::{LaunchPorts, Outcome, Shared, prepare::Prepared};
use crate::{Error, commit::origin, live::FreeAddresses, observe::ledger_only, registrations};

/// Seconds until a launch is tried again for which nothing was asked yet, at first and at most.
const RETRY_SECONDS: (i64, i64) = (2, 60);
/// Seconds until something is promised again to a pool whose launch was refused, at first and at most.
const REFUSED_SECONDS: (i64, i64) = (30, 600);

/// Until a batch is looked at again that somebody else moved on.
const MOMENT: SignedDuration = SignedDuration::from_secs(2);

/// What became of a batch.
#[derive(Default)]
pub(super) struct Recorded {
    /// When it is tried again, if ever.
    pub(super) again: Option<Timestamp>,
    pub(super) is_any_launched: bool,
}

impl Recorded {
    pub(super) fn again(at: Timestamp) -> Self {
        Self { again: Some(at), is_any_launched: false }
    }
}

/// An instance for a claim.
struct Launched<'a> {
    id: &'a InstanceId,
    instance_type: &'a InstanceTypeName,
    zone: &'a Zone,
    zone_id: Option<&'a ZoneId>,
    capacity_type: CapacityType,
    image: &'a ImageId,
    /// Where it is known.
    profile: Option<&'a str>,
    /// Whether its class gives it a name.
    is_named: bool,
    /// Of a reserved launch, where it is known.
    reservation: Option<&'a str>,
}

/// Writes what became of `claims`, all of one batch. The catalog knows instance types of which the class
/// could not be looked at again.
pub(super) async fn record<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    outcome: Outcome,
    claims: &[NodeClaim],
    shared: &Shared,
    at: &Invocation,
) -> Result<Recorded, Error> {
    let catalog = &shared.catalog;
    let (mut refusal, mut told) = (None, None);
    let after: Vec<Option<NodeClaim>> = match outcome {
        Outcome::Later(reason) => {
            tracing::warn!(%reason, claims = claims.len(), "launch postponed");
            return postponed(ports.ledger, claims, &reason, at).await;
        }
        // What they write is not known here: nothing is written over it.
        Outcome::Overtaken => return Ok(Recorded::again(at.after(MOMENT))),
        Outcome::Refused(reason, event) => {
            tracing::warn!(%reason, claims = claims.len(), "launch refused");
            told = event.map(|event| (event, reason.clone()));
            refusal = Some(reason);
            vec![None; claims.len()]
        }
        Outcome::TooLate(reason) => {
            note_too_late(ports.ledger, claims, &reason, at).await;
            told = class_not_ready(&reason);
            refusal = Some(reason);
            vec![None; claims.len()]
        }
        Outcome::Found(instances) => {
            if instances.is_empty() {
                let said = claims.iter().find_map(|claim| claim.message.as_ref());
                refusal = said.map(ToString::to_string);
                let why = refusal.as_deref().unwrap_or("EC2 launched nothing");
                note_too_late(ports.ledger, claims, why, at).await;
            }
            claims.iter().map(|claim| found(claim, &instances, catalog, at)).collect()
        }
        Outcome::Answered(answer, prepared) => {
            refusal = mark_unavailable(ports.ledger, &answer, &prepared, at).await?;
            let lacks = answer.errors.first();
            let lacks = lacks.map(|e| launch_template::in_words(&e.code, &e.message));
            told = lacks.map(|why| (EventReason::InsufficientCapacityError, why));
            if answer.errors.iter().any(FleetError::is_without_addresses) {
                ports.memory.addresses.forget();
            }
            let subnets = &prepared.class.subnets;
            let of = |claim: &NodeClaim| {
                let instance = answer.instances.get(place(claim))?;
                let subnet = subnets.iter().find(|subnet| subnet.zone == instance.zone);
                let instance = Launched {
                    id: &instance.id,
                    instance_type: &instance.instance_type,
                    zone: &instance.zone,
                    zone_id: subnet.map(|subnet| &subnet.zone_id),
                    capacity_type: prepared.request.capacity_type,
                    image: &instance.image,
                    profile: prepared.profile.as_deref(),
                    is_named: prepared.request.tags.contains_key(labels::NAME_TAG),
                    reservation: reservation_of(&prepared, instance),
                };
                let launched = launched(claim, &instance, &prepared.types, at);
                note_addresses(&ports.memory.addresses, &prepared, &launched);
                Some(launched)
            };
            claims.iter().map(of).collect()
        }
    };
    let is_any_launched = after.iter().any(Option::is_some);
    let said = refusal.clone();
    note_refusal(ports.ledger, claims, refusal.filter(|_| !is_any_launched), shared, at).await?;
    let again = match write(ports, claims, &after, at).await? {
        WriteOutcome::Written => {
            keep(ports, (claims, &after), (told.as_ref(), said), shared, at).await;
            tell(ports, claims.iter().zip(&after), told);
            None
        }
        // Somebody else moved a claim on: it is seen then what is left of the batch.
        WriteOutcome::Conflict => Some(at.after(MOMENT)),
    };
    Ok(Recorded { again, is_any_launched })
}

/// The claim with that of `instances`, which an earlier request brought, that is its own.
fn found(
    claim: &NodeClaim,
    instances: &[Instance],
    catalog: &RegionCatalog,
    at: &Invocation,
) -> Option<NodeClaim> {
    let instance = instances.get(place(claim))?;
    let instance = Launched {
        id: &instance.id,
        instance_type: &instance.instance_type,
        zone: &instance.zone,
        zone_id: catalog.zones.get(&instance.zone),
        capacity_type: instance.capacity_type,
        image: &instance.image,
        profile: None,
        is_named: instance.is_named,
        reservation: instance.reservation.as_ref().map(ReservationId::as_str),
    };
    Some(launched(claim, &instance, &catalog.instance_types, at))
}

/// Notes that nothing was launched for `claims` in the time that a launch may take.
async fn note_too_late(ledger: &impl Ledger, claims: &[NodeClaim], why: &str, at: &Invocation) {
    tracing::warn!(why, claims = claims.len(), "launch given up");
    let ended = registrations::not_launched(claims, why, at);
    registrations::note(ledger, ended, at).await;
}

/// The event of claims that waited for their class, as the reason says, for as long as a launch may take.
fn class_not_ready(reason: &str) -> Option<(EventReason, String)> {
    use ConditionReason::{NodeClassNotReady, NodeClassReadinessUnknown};
    let ClaimMessage { reason, text } = ClaimMessage::parse(reason);
    let is_for_class = matches!(reason, Some(NodeClassNotReady | NodeClassReadinessUnknown));
    is_for_class.then_some((EventReason::NodeClassNotReady, text))
}

/// Keeps why claims are withdrawn that got no instance. Nothing fails with it.
async fn keep<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    (claims, after): (&[NodeClaim], &[Option<NodeClaim>]),
    (told, said): (Option<&(EventReason, String)>, Option<String>),
    shared: &Shared,
    at: &Invocation,
) {
    let lost = claims.iter().zip(after).filter(|(_, after)| after.is_none());
    let lost: Vec<&NodeClaim> = lost.map(|(claim, _)| claim).collect();
    if lost.is_empty() {
        return;
    }
    let reason = match told.map(|(event, _)| event) {
        Some(EventReason::InsufficientCapacityError) => RejectionReason::InsufficientCapacity,
        Some(EventReason::NodeClassNotReady) => RejectionReason::NodeClassNotReady,
        _ => RejectionReason::LaunchRefused,
    };
    let why = told.map(|(_, why)| why.clone()).or(said);
    let why = why.unwrap_or_else(|| "EC2 launched nothing".to_owned());
    let claims = model::words::counted(lost.len(), "claim");
    let summary = format!("{claims} withdrawn: {why}");
    let facts = ledger_only(shared.snapshot.clone(), at);
    let decision = Decision {
        rejected: vec![Rejected { what: None, reason, why }],
        origin: Some(origin(&facts, at)),
        ..Decision::about(DecisionKind::Withdrawal, lost, (Function::Launch, at.now), summary)
    };
    if let Err(error) = ports.ledger.put_decisions(&at.cluster, &decision.split()).await {
        tracing::warn!(story = crate::error::story(&error), "a withdrawal is not kept");
    }
}

/// Tells the claims that got no instance, and their pods where it is capacity, what they lack.
fn tell<'c, A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    claims: impl Iterator<Item = (&'c NodeClaim, &'c Option<NodeClaim>)>,
    told: Option<(EventReason, String)>,
) {
    let Some((reason, why)) = told else { return };
    let lost = claims.filter(|(_, after)| after.is_none());
    let lost: Vec<NodeClaim> = lost.map(|(claim, _)| claim.clone()).collect();
    ports.recorder.note(match reason {
        EventReason::NodeClassNotReady => planner::events::of_class_not_ready(&lost, &why),
        _ => planner::events::of_insufficient_capacity(&lost, &why),
    });
}

/// The instance of `launched` and its pods have addresses of the subnet that it was asked for in.
fn note_addresses(addresses: &FreeAddresses, prepared: &Prepared, launched: &NodeClaim) {
    let Some(instance) = &launched.instance else { return };
    let mut overrides = prepared.request.templates.iter().flat_map(|target| &target.overrides);
    let chosen = overrides.find(|chosen| {
        chosen.zone == instance.zone && chosen.instance_type == instance.instance_type
    });
    if let Some(chosen) = chosen {
        let pods = launched.capacity.get("pods");
        addresses.took(&chosen.subnet, u32::try_from(pods.max(1)).unwrap_or(u32::MAX));
    }
}

fn place(claim: &NodeClaim) -> usize {
    usize::try_from(claim.batch_index).unwrap_or(usize::MAX)
}

/// Gives `claims` their instances, as `after` has them, and withdraws those that got none: their pods
/// are looked at again. `Conflict` when another pass moved one of them on.
async fn write<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    claims: &[NodeClaim],
    after: &[Option<NodeClaim>],
    at: &Invocation,
) -> Result<WriteOutcome, Error> {
    let ledger = ports.ledger;
    let launched: Vec<NodeClaim> = after.iter().flatten().cloned().collect();
    let with_none = claims.iter().zip(after).filter(|(_, after)| after.is_none());
    let with_none: Vec<NodeClaim> = with_none.map(|(claim, _)| claim.clone()).collect();
    let mut outcome = WriteOutcome::Written;
    if !launched.is_empty() {
        outcome = ledger.write_claims(&at.cluster, &launched).await?;
    }
    if !with_none.is_empty()
        && ledger.withdraw_claims(&at.cluster, &with_none).await? == WriteOutcome::Conflict
    {
        outcome = WriteOutcome::Conflict;
    }
    for launched in &launched {
        let Some(instance) = &launched.instance else { continue };
        tracing::info!(claim = %launched.name, instance = %instance.id,
            instance_type = %instance.instance_type, "instance launched");
    }
    Ok(outcome)
}

/// Keeps on the pool of `claims` why nothing was launched for it, so that nothing is promised to it for a
/// while, longer each time; or that it launches again.
async fn note_refusal(
    ledger: &impl Ledger,
    claims: &[NodeClaim],
    refusal: Option<String>,
    shared: &Shared,
    at: &Invocation,
) -> Result<(), Error> {
    // What is refused to a user's own claim holds nothing else back.
    let claim = claims.first().filter(|claim| !claim.is_standalone());
    let Some(pool) = claim.map(|claim| &claim.node_pool) else { return Ok(()) };
    let known = shared.snapshot.refusals.get(pool);
    let Some(reason) = refusal else {
        return match known {
            Some(_) => Ok(ledger.put_refusals(&at.cluster, pool, None).await?),
            None => Ok(()),
        };
    };
    let count = known.map_or(0, |known| known.count).saturating_add(1);
    let (first, most) = REFUSED_SECONDS;
    let seconds = first.checked_shl(count - 1).unwrap_or(most).clamp(first, most);
    let until = at.after(SignedDuration::from_secs(seconds));
    let refusals = LaunchRefusals { reason, count, until };
    Ok(ledger.put_refusals(&at.cluster, pool, Some(&refusals)).await?)
}

/// The claim with its instance: what EC2 chose becomes its labels and capacity.
fn launched(
    claim: &NodeClaim,
    instance: &Launched<'_>,
    types: &[Arc<InstanceType>],
    at: &Invocation,
) -> NodeClaim {
    let instance_type = types.iter().find(|known| known.name == *instance.instance_type);
    let mut launched = claim.moved_to(ClaimPhase::Launched, at.now);
    let key = OfferingKey {
        capacity_type: instance.capacity_type,
        instance_type: instance.instance_type.clone(),
        zone: instance.zone.clone(),
    };
    let offering = instance_type.and_then(|instance_type| instance_type.offering(&key));
    if let Some(instance_type) = instance_type {
        let labels = launch_template::node_labels(
            claim,
            instance_type,
            instance.zone,
            instance.zone_id,
            instance.capacity_type,
        );
        launched.labels.extend(labels);
        launched.capacity = instance_type.capacity.clone();
        launched.allocatable = instance_type.allocatable();
    }
    let said = instance.profile.map(|name| (labels::INSTANCE_PROFILE.to_owned(), name.to_owned()));
    let named = instance.is_named.then(|| (labels::KEEPS_NAME.to_owned(), "true".to_owned()));
    launched.annotations.extend(said.into_iter().chain(named));
    let known = instance_type.map(AsRef::as_ref);
    launched.labels.extend(reservation_labels(known, instance.reservation));
    launched.instance = Some(LaunchedInstance {
        id: instance.id.clone(),
        instance_type: instance.instance_type.clone(),
        zone: instance.zone.clone(),
        capacity_type: instance.capacity_type,
        price: offering.map(|offering| offering.price).unwrap_or_default(),
        image: Some(instance.image.clone()),
        launched_at: at.now,
    });
    launched.message = None;
    launched.retry = None;
    // What it needed only to be launched.
    launched.instance_types = Arc::default();
    launched
}

/// The capacity reservation that `instance` of a reserved launch is in; `None` where several of the
/// request are for its type and zone.
fn reservation_of<'a>(prepared: &'a Prepared, instance: &FleetInstance) -> Option<&'a str> {
    let targets = prepared.request.templates.iter().filter(|template| {
        template.overrides.iter().any(|choice| {
            choice.instance_type == instance.instance_type && choice.zone == instance.zone
        })
    });
    let ids: BTreeSet<&ReservationId> =
        targets.filter_map(|template| prepared.reservations.get(&template.template)).collect();
    let only = ids.first().filter(|_| ids.len() == 1);
    only.map(|id| id.as_str())
}

/// What a node says of the capacity reservation that it is in: its id, and what else is known of it.
fn reservation_labels(
    instance_type: Option<&InstanceType>,
    reservation: Option<&str>,
) -> BTreeMap<String, String> {
    let Some(id) = reservation else { return BTreeMap::new() };
    let offerings = instance_type.into_iter().flat_map(|known| &known.offerings);
    let mut known = offerings.filter_map(|offering| offering.reservation.as_ref());
    let Some(known) = known.find(|reservation| reservation.id.as_str() == id) else {
        return BTreeMap::from([(labels::RESERVATION_ID.to_owned(), id.to_owned())]);
    };
    [
        (labels::RESERVATION_ID, known.id.to_string()),
        (labels::RESERVATION_TYPE, known.kind.clone()),
        (labels::RESERVATION_INTERRUPTIBLE, known.interruptible.to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

/// Offerings that had no capacity are left alone for a while. Brings what keeps the pool from asking again
/// at once: that EC2 refused something as such, or that nothing else will be asked for then.
async fn mark_unavailable(
    ledger: &impl Ledger,
    answer: &FleetAnswer,
    prepared: &Prepared,
    at: &Invocation,
) -> Result<Option<String>, Error> {
    let until = launch_template::unavailable_until(at.now);
    let (mut unavailable_offerings, mut refusal, mut later) = (BTreeMap::new(), None, None);
    for error in &answer.errors {
        match launch_template::reaction(error, &prepared.request) {
            FleetReaction::MarkUnavailable(offerings) => {
                tracing::warn!(code = error.code, error = error.message, "without capacity");
                unavailable_offerings
                    .extend(offerings.into_iter().map(|offering| (offering, until)));
            }
            FleetReaction::MarkSpotUnavailable(reason) => {
                tracing::warn!(%reason, "spot refused");
                let spot = spot_offerings(prepared);
                unavailable_offerings.extend(spot.into_iter().map(|offering| (offering, until)));
            }
            FleetReaction::Retry(reason) => later = later.or(Some(reason)),
            FleetReaction::Refuse(reason) => {
                tracing::warn!(%reason, "offering refused");
                refusal = refusal.or(Some(reason));
            }
        }
    }
    if unavailable_offerings.is_empty() {
        refusal = refusal.or(later);
    } else {
        let unavailable_offerings: Vec<_> = unavailable_offerings.into_iter().collect();
        ledger.mark_unavailable(&unavailable_offerings).await?;
    }
    Ok(refusal)
}

fn spot_offerings(prepared: &Prepared) -> Vec<OfferingKey> {
    let offerings = prepared.types.iter().flat_map(|instance_type| {
        instance_type.offerings.iter().map(move |offering| instance_type.key_of(offering))
    });
    offerings.filter(|key| key.capacity_type == CapacityType::Spot).collect()
}

/// When a batch is tried again: later after each request that failed, as its claims keep; and before the
/// first request later the older they are.
async fn postponed(
    ledger: &impl Ledger,
    claims: &[NodeClaim],
    reason: &str,
    at: &Invocation,
) -> Result<Recorded, Error> {
    let Some(claim) = claims.first() else { return Ok(Recorded::default()) };
    if claim.requested_at.is_none() {
        // A user looks at the claim itself.
        let told = claim.message.as_ref().map(ToString::to_string);
        if claim.is_standalone() && told.as_deref() != Some(reason) {
            let message = Some(ClaimMessage::parse(reason));
            let told = NodeClaim { message, ..claim.following() };
            ledger.write_claims(&at.cluster, &[told]).await?;
        }
        let (first, most) = RETRY_SECONDS;
        let age = at.now.duration_since(claim.created_at).as_secs();
        let delay = SignedDuration::from_secs((age / 2).clamp(first, most));
        return Ok(Recorded::again(at.after(delay)));
    }
    let retry = Retry::after(claim.retry, at.now);
    let again = |claim: &NodeClaim| NodeClaim {
        retry: Some(retry),
        message: Some(ClaimMessage::parse(reason)),
        ..claim.following()
    };
    let again: Vec<NodeClaim> = claims.iter().map(again).collect();
    ledger.write_claims(&at.cluster, &again).await?;
    Ok(Recorded::again(retry.not_before))
}
