//! What EC2 launched → what the planner concludes of it → the claims.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;
use model::{
    ImageId, InstanceId, InstanceType, NodeClaim, OfferingKey, ReservationId, ZoneId, labels,
    launch::{FleetAnswer, FleetError, FleetInstance, FleetReaction, Instance},
    ledger::{Snapshot, WriteOutcome},
};
use planner::{Conclusion, LaunchError, LaunchOutcome, NewInstance, Shortfall};
use ports::{Adapters, Invocation, Ledger as _, PortError};

use super::{LaunchPorts, Shared, overlaid::Overlays, prepare::Prepared};
use crate::{
    commit::origin,
    error::{Error, story},
    live::FreeAddresses,
    observe::ledger_only,
    registrations,
};

/// What became of a batch.
#[derive(Default)]
pub(super) struct Recorded {
    /// When it is looked at again; `None` is never.
    pub(super) again: Option<Timestamp>,
    pub(super) is_any_launched: bool,
}

impl Recorded {
    pub(super) fn again(at: Timestamp) -> Self {
        Self { again: Some(at), is_any_launched: false }
    }
}

/// The `answer` to a request for `claims`. What it says of free addresses is noted in `addresses`.
pub(super) fn answered(
    answer: &FleetAnswer,
    (prepared, overlays): (&Prepared, &Overlays),
    claims: &[NodeClaim],
    addresses: &FreeAddresses,
) -> LaunchOutcome {
    if answer.errors.iter().any(FleetError::is_without_addresses) {
        addresses.forget();
    }
    let capacity_type = prepared.request.capacity_type;
    let instance_of = |claim: &NodeClaim| {
        let instance = answer.instances.get(place(claim))?;
        let FleetInstance { id, instance_type, zone, image } = instance.clone();
        let offering = OfferingKey { capacity_type, instance_type, zone };
        let subnet = prepared.class.subnets.iter().find(|subnet| subnet.zone == offering.zone);
        let zone_id = subnet.map(|subnet| &subnet.zone_id);
        let new = new_instance(claim, (id, image), offering, (&prepared.types, overlays), zone_id);
        let capacity = new.known_type.as_ref().map_or(&claim.capacity, |known| &known.capacity);
        note_addresses(addresses, prepared, instance, capacity.get("pods"));
        Some(NewInstance {
            reservation: reservation_of(prepared, instance).map(ToString::to_string),
            profile: prepared.profile.clone(),
            is_named: prepared.request.tags.contains_key(labels::NAME_TAG),
            ..new
        })
    };
    let instances = claims.iter().map(instance_of).collect();
    let errors = answer.errors.iter().map(|error| in_words(error, prepared)).collect();
    LaunchOutcome::Answered(instances, errors)
}

/// The `instances` that an earlier request for `claims` launched. The class may be another one by now: the types are
/// those of the catalog.
pub(super) fn found(
    instances: &[Instance],
    claims: &[NodeClaim],
    Shared { catalog, overlays, .. }: &Shared,
) -> LaunchOutcome {
    let known = (&*catalog.instance_types, overlays);
    let instance_of = |claim: &NodeClaim| {
        let Instance {
            id, instance_type, zone, capacity_type, image, is_named, reservation, ..
        } = instances.get(place(claim))?.clone();
        let zone_id = catalog.zones.get(&zone);
        let offering = OfferingKey { capacity_type, instance_type, zone };
        let new = new_instance(claim, (id, image), offering, known, zone_id);
        let reservation = reservation.as_ref().map(ToString::to_string);
        Some(NewInstance { is_named, reservation, ..new })
    };
    let claims = claims.iter().filter(|_| !instances.is_empty());
    LaunchOutcome::Found(claims.map(instance_of).collect())
}

/// An instance of one of `types` for `claim`, with the labels that its node gets by its type and place.
fn new_instance(
    claim: &NodeClaim,
    (id, image): (InstanceId, ImageId),
    offering: OfferingKey,
    (types, overlays): (&[Arc<InstanceType>], &Overlays),
    zone_id: Option<&ZoneId>,
) -> NewInstance {
    let known_type = types.iter().find(|known| known.name == offering.instance_type);
    let known_type = known_type.map(|known| overlays.extended(claim, known));
    let OfferingKey { capacity_type, ref zone, .. } = offering;
    let labels = |known: &Arc<InstanceType>| {
        launch_template::node_labels(claim, known, zone, zone_id, capacity_type)
    };
    NewInstance {
        labels: known_type.as_ref().map(labels).unwrap_or_default(),
        id,
        image,
        known_type,
        offering,
        profile: None,
        is_named: false,
        reservation: None,
    }
}

/// The place of the instance of `claim` among those of its batch.
fn place(claim: &NodeClaim) -> usize {
    usize::try_from(claim.batch_index).unwrap_or(usize::MAX)
}

/// What an error in the answer to a request means.
fn in_words(error: &FleetError, prepared: &Prepared) -> LaunchError {
    let words = launch_template::in_words(&error.code, &error.message);
    let shortfall = match launch_template::reaction(error, &prepared.request, &prepared.class) {
        FleetReaction::MarkUnavailable(offerings) => Shortfall::Unavailable(offerings),
        FleetReaction::MarkShort(shortages) => Shortfall::Short(shortages),
        FleetReaction::Retry(_) => Shortfall::Passing,
        FleetReaction::Refuse(_) => Shortfall::Lasting,
    };
    if shortfall != Shortfall::Passing {
        tracing::warn!(words, "EC2 launched less than was requested");
    }
    let quota = launch_template::quota(&error.code, &error.message).map(ToOwned::to_owned);
    LaunchError { words, shortfall, quota }
}

/// Notes that an instance and its pods take addresses of the subnet that the request names for it.
fn note_addresses(
    addresses: &FreeAddresses,
    prepared: &Prepared,
    instance: &FleetInstance,
    pods: u64,
) {
    let mut overrides = prepared.request.templates.iter().flat_map(|target| &target.overrides);
    let chosen = overrides.find(|chosen| {
        chosen.zone == instance.zone && chosen.instance_type == instance.instance_type
    });
    if let Some(chosen) = chosen {
        addresses.took(&chosen.subnet, u32::try_from(pods.max(1)).unwrap_or(u32::MAX));
    }
}

/// The capacity reservation of `instance`, of a reserved launch; `None` if several of the request are for its type
/// and zone.
fn reservation_of<'a>(
    prepared: &'a Prepared,
    instance: &FleetInstance,
) -> Option<&'a ReservationId> {
    let targets = prepared.request.templates.iter().filter(|template| {
        template.overrides.iter().any(|choice| {
            choice.instance_type == instance.instance_type && choice.zone == instance.zone
        })
    });
    let ids: BTreeSet<&ReservationId> =
        targets.filter_map(|template| prepared.reservations.get(&template.template)).collect();
    ids.first().filter(|_| ids.len() == 1).copied()
}

/// Carries out what the planner concluded of a batch with `claims`.
pub(super) async fn carry_out<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    conclusion: Conclusion,
    claims: &[NodeClaim],
    snapshot: &Snapshot,
    at: &Invocation,
) -> Result<Recorded, Error> {
    let LaunchPorts { ledger, ref recorder, .. } = *ports;
    let is_any_launched = conclusion.is_any_launched();
    let Conclusion { unavailable, shortages, .. } = &conclusion;
    if !unavailable.is_empty() || !shortages.is_empty() {
        ledger.mark_unavailable(&at.cluster, unavailable, shortages).await?;
    }
    if let Some(why) = &conclusion.too_late {
        let ended = registrations::not_launched(claims, why, at);
        registrations::note(ledger, ended, at).await;
    }
    if write(ports, &conclusion, at).await? == WriteOutcome::Conflict {
        return Ok(Recorded { again: conclusion.again_if_overtaken, is_any_launched });
    }
    // Once the batch is done with: one that cannot be stored would hold its NodePool back again and again.
    if let Some((pool, refusals)) = &conclusion.refusals {
        ledger.put_refusals(&at.cluster, pool, refusals.as_ref()).await?;
    }
    if let Some(mut decision) = conclusion.decision {
        tracing::warn!(summary = decision.summary, "launch ended");
        decision.origin = Some(origin(&ledger_only(snapshot.clone(), at), at));
        if let Err(error) = ledger.put_decisions(&at.cluster, &decision.split()).await {
            tracing::warn!(story = story(&error), "a withdrawal is not stored");
        }
    }
    recorder.note(conclusion.events);
    Ok(Recorded { again: conclusion.again, is_any_launched })
}

/// Stores the claims that changed, and withdraws the others. `Conflict` if another pass changed one of them first.
async fn write<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    Conclusion { changed, withdrawn, .. }: &Conclusion,
    at: &Invocation,
) -> Result<WriteOutcome, PortError> {
    let mut outcome = WriteOutcome::Written;
    if !changed.is_empty() {
        outcome = ports.ledger.write_claims(&at.cluster, changed).await?;
    }
    if !withdrawn.is_empty()
        && ports.ledger.withdraw_claims(&at.cluster, withdrawn).await? == WriteOutcome::Conflict
    {
        outcome = WriteOutcome::Conflict;
    }
    for claim in changed {
        if let Some(instance) = &claim.instance {
            tracing::info!(claim = %claim.name, instance = %instance.id,
                instance_type = %instance.instance_type, "instance launched");
        }
    }
    Ok(outcome)
}
