//! What became of a launch, written into the claims; and who looks next.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    CapacityType, ClaimPhase, ImageId, InstanceId, InstanceType, InstanceTypeName, NodeClaim,
    OfferingKey, ReservationId, Zone, ZoneId,
    claim::LaunchedInstance,
    labels,
    launch::{FleetAnswer, FleetInstance, FleetReaction},
    message::Message,
};
use ports::{Adapters, Invocation, Ledger, Mailbox};

use super::{LaunchPorts, Outcome, prepare::Prepared};
use crate::{
    Error,
    mail::{ask_to_provision, send},
};

/// Seconds until a launch is tried again, at first and at most.
const RETRY_SECONDS: (u32, u32) = (2, 60);

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
    /// Of a reserved launch, where it is known.
    reservation: Option<&'a str>,
}

/// Writes what became of `claims`, all of one batch. The first is written last: whoever asks for the
/// batch asks by it, so a crash in between leaves it to be asked by. `catalog` knows instance types
/// of which the class could not be looked at again.
pub(super) async fn record<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    outcome: Outcome,
    claims: &[NodeClaim],
    catalog: &model::RegionCatalog,
    at: &Invocation,
) -> Result<(), Error> {
    let after: Vec<Option<NodeClaim>> = match outcome {
        Outcome::Later(reason) => {
            tracing::warn!(%reason, claims = claims.len(), "launch postponed");
            return retry(ports.mailbox, claims, at).await;
        }
        Outcome::Refused(reason) => {
            tracing::warn!(%reason, claims = claims.len(), "launch refused");
            vec![None; claims.len()]
        }
        Outcome::Found(instances) => {
            let of = |claim: &NodeClaim| {
                let instance = instances.get(place(claim))?;
                let instance = Launched {
                    id: &instance.id,
                    instance_type: &instance.instance_type,
                    zone: &instance.zone,
                    zone_id: catalog.zones.get(&instance.zone),
                    capacity_type: instance.capacity_type,
                    image: &instance.image,
                    profile: None,
                    reservation: instance.reservation.as_ref().map(ReservationId::as_str),
                };
                Some(launched(claim, &instance, &catalog.instance_types, at))
            };
            claims.iter().map(of).collect()
        }
        Outcome::Answered(answer, prepared) => {
            mark_unavailable(ports.ledger, &answer, &prepared, at).await?;
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
                    reservation: reservation_of(&prepared, instance),
                };
                Some(launched(claim, &instance, &prepared.types, at))
            };
            claims.iter().map(of).collect()
        }
    };
    write(ports, claims, &after, at).await
}

fn place(claim: &NodeClaim) -> usize {
    usize::try_from(claim.batch_index).unwrap_or(usize::MAX)
}

/// Gives `claims` their instances, as `after` has them, and withdraws those that got none: their pods
/// are looked at again. A claim that conflicts was moved on by another delivery, which recorded the
/// same.
async fn write<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    claims: &[NodeClaim],
    after: &[Option<NodeClaim>],
    at: &Invocation,
) -> Result<(), Error> {
    let LaunchPorts { ledger, mailbox, .. } = *ports;
    let launched: Vec<NodeClaim> = after.iter().skip(1).flatten().cloned().collect();
    ledger.write_claims(&at.cluster, &launched).await?;
    let with_none = claims.iter().zip(after).skip(1).filter(|(_, after)| after.is_none());
    let with_none: Vec<NodeClaim> = with_none.map(|(claim, _)| claim.clone()).collect();
    ledger.remove_claims(&at.cluster, &with_none).await?;
    match (claims.first(), after.first()) {
        (_, Some(Some(launched))) => {
            ledger.write_claims(&at.cluster, std::slice::from_ref(launched)).await?
        }
        (Some(claim), _) => ledger.remove_claims(&at.cluster, std::slice::from_ref(claim)).await?,
        (None, _) => return Ok(()),
    };
    for launched in after.iter().flatten() {
        let Some(instance) = &launched.instance else { continue };
        tracing::info!(claim = %launched.name, instance = %instance.id,
            instance_type = %instance.instance_type, "instance launched");
    }
    if after.iter().any(Option::is_none) {
        ask_to_provision(mailbox, at, 1).await?;
    }
    Ok(())
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
    launched.annotations.extend(said);
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

/// Offerings that had no capacity are left alone for a while.
async fn mark_unavailable(
    ledger: &impl Ledger,
    answer: &FleetAnswer,
    prepared: &Prepared,
    at: &Invocation,
) -> Result<(), Error> {
    let until = launch_template::unavailable_until(at.now);
    let mut unavailable_offerings = BTreeMap::new();
    for error in &answer.errors {
        match launch_template::reaction(error, &prepared.request) {
            FleetReaction::MarkUnavailable(offering) => {
                unavailable_offerings.insert(offering, until);
            }
            FleetReaction::MarkSpotUnavailable => {
                let spot = spot_offerings(prepared);
                unavailable_offerings.extend(spot.into_iter().map(|offering| (offering, until)));
            }
            FleetReaction::Retry => {}
            FleetReaction::Refuse(reason) => tracing::warn!(%reason, "offering refused"),
        }
    }
    if unavailable_offerings.is_empty() {
        return Ok(());
    }
    let unavailable_offerings: Vec<_> = unavailable_offerings.into_iter().collect();
    Ok(ledger.mark_unavailable(&unavailable_offerings).await?)
}

fn spot_offerings(prepared: &Prepared) -> Vec<OfferingKey> {
    let offerings = prepared.types.iter().flat_map(|instance_type| {
        instance_type.offerings.iter().map(move |offering| instance_type.key_of(offering))
    });
    offerings.filter(|key| key.capacity_type == CapacityType::Spot).collect()
}

/// Asks for another try, later the older the claims are. One message is for the whole batch.
async fn retry(mailbox: &impl Mailbox, claims: &[NodeClaim], at: &Invocation) -> Result<(), Error> {
    let Some(claim) = claims.first() else { return Ok(()) };
    let age = at.now.duration_since(claim.created_at).as_secs();
    let (first, most) = RETRY_SECONDS;
    let delay_seconds = u32::try_from(age / 2).unwrap_or(most).clamp(first, most);
    let message = Message::Launch { claim: claim.name.clone() };
    Ok(send(mailbox, at, message, delay_seconds).await?)
}
