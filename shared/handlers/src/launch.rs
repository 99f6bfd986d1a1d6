//! Promised claims → instances.
//!
//! A batch of claims is one CreateFleet request whose client token is the batch: repeating it, after
//! a crash or a lost answer, brings the same instances, and each claim takes the one at its own
//! place. EC2 refuses a repeated token with another content, and the content follows the world
//! (free addresses, prices, cooling offerings); then what the first request brought is read back by
//! its tag.
//!
//! A promised claim leaves its phase only here, so no instance is without a claim.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::{
    BatchId, ClaimPhase, NodeClaim, NodeClaimName,
    claim::LaunchedInstance,
    labels,
    launch::{FleetAnswer, FleetInstance, FleetReaction, FleetRequest},
    ledger::Snapshot,
    message::{Delivery, Message},
    node_class::{ClusterSettings, NodeIdentity, ResolvedNodeClass},
};
use ports::{
    Catalog, Cluster, Discovery, Fault, Fleet, Invocation, Ledger, Mailbox, PortError, Profiles,
    Templates,
};

use crate::{
    Error,
    resolution::{Resolution, resolve},
};

/// A launch that EC2 keeps refusing is given up after so long.
///
/// Karpenter: `pkg/controllers/nodeclaim/lifecycle/liveness.go`, `launchTTL`.
const LAUNCH_TTL: SignedDuration = SignedDuration::from_mins(5);
/// After so long every instance of a request is visible in listings.
const VISIBLE_AFTER: SignedDuration = SignedDuration::from_mins(2);
/// Seconds until a launch is tried again, at first and at most.
const RETRY_SECONDS: (u32, u32) = (2, 60);

/// What became of a batch.
enum Outcome {
    /// EC2 answered for good; instances may be fewer than claims.
    Answered(FleetAnswer, Box<Prepared>),
    /// Nothing was launched and nothing will be: for this reason.
    Refused(String),
    /// Ask again later; something may have been launched. The reason is for people.
    Later(String),
}

/// Everything that a request was made of.
struct Prepared {
    request: FleetRequest,
    class: ResolvedNodeClass,
    types: Vec<std::sync::Arc<model::InstanceType>>,
}

/// Launches those of `claims` that are still only promised.
#[expect(clippy::too_many_arguments, reason = "the parameters are what the function may touch")]
pub async fn launch(
    ledger: &impl Ledger,
    cluster: &impl Cluster,
    catalog: &impl Catalog,
    discovery: &impl Discovery,
    templates: &impl Templates,
    profiles: &impl Profiles,
    fleet: &impl Fleet,
    mailbox: &impl Mailbox,
    claims: &[NodeClaimName],
    at: &Invocation,
) -> Result<(), Error> {
    let snapshot = ledger.snapshot(&at.cluster).await?;
    for (batch, claims) in batches(&snapshot, claims) {
        let prepared = prepare(cluster, catalog, discovery, profiles, &snapshot, &claims, at).await;
        let outcome = match prepared {
            Ok(Ok((launch, prepared))) => {
                send_request(templates, fleet, &launch.templates, prepared, &batch, &claims, at)
                    .await
            }
            Ok(Err(refusal)) => Outcome::Refused(refusal),
            Err(error) => Outcome::Later(explain(&error)),
        };
        record(ledger, mailbox, outcome, &claims, at).await?;
    }
    Ok(())
}

/// The wanted claims that are still promised, by batch and in their order in it.
fn batches(snapshot: &Snapshot, wanted: &[NodeClaimName]) -> BTreeMap<BatchId, Vec<NodeClaim>> {
    let mut batches: BTreeMap<BatchId, Vec<NodeClaim>> = BTreeMap::new();
    let claims = wanted.iter().filter_map(|name| snapshot.claims.get(name));
    for claim in claims.filter(|claim| claim.phase == ClaimPhase::Promised) {
        batches.entry(claim.batch.clone()).or_default().push(claim.clone());
    }
    for claims in batches.values_mut() {
        claims.sort_by_key(|claim| claim.batch_index);
        claims.dedup_by_key(|claim| claim.batch_index);
    }
    batches
}

type Preparation = Result<(launch_template::Launch, Prepared), String>;

/// Finds everything that the request names. `Ok(Err(…))` is a refusal in words.
async fn prepare(
    cluster: &impl Cluster,
    catalog: &impl Catalog,
    discovery: &impl Discovery,
    profiles: &impl Profiles,
    snapshot: &Snapshot,
    claims: &[NodeClaim],
    at: &Invocation,
) -> Result<Preparation, PortError> {
    let Some(first) = claims.first() else { return Ok(Err("no claim is promised".to_owned())) };
    let classes = cluster.node_classes().await?.items;
    let Some(class) = classes.into_iter().find(|class| class.name == first.node_class) else {
        return Ok(Err(format!("EC2NodeClass {} does not exist", first.node_class)));
    };
    let settings = discovery.cluster_settings(&at.cluster).await?;
    let class = match resolve(discovery, &settings, &class).await? {
        Resolution::Ready(class) => *class,
        Resolution::NotReady(problems) => {
            let name = &first.node_class;
            return Ok(Err(format!("EC2NodeClass {name} is not ready: {}", problems.join("; "))));
        }
    };
    let profile = ensure_profile(profiles, &settings, &class).await?;
    let catalog = catalog.catalog().await?;
    let types = launch_template::offer(&catalog, &class, &snapshot.cooling, at.now);
    let launch = match launch_template::requests(claims, &class, &types, &settings, &profile) {
        Ok(launch) => launch,
        Err(refusal) => return Ok(Err(refusal.to_string())),
    };
    let mut request = launch.request.clone();
    request.tags.insert(labels::BATCH_TAG.to_owned(), first.batch.to_string());
    Ok(Ok((launch, Prepared { request, class, types })))
}

/// The name of the instance profile that nodes of `class` get; one made from a role if need be.
async fn ensure_profile(
    profiles: &impl Profiles,
    settings: &ClusterSettings,
    class: &ResolvedNodeClass,
) -> Result<String, PortError> {
    match &class.class.identity {
        NodeIdentity::InstanceProfile(name) => Ok(name.clone()),
        NodeIdentity::Role(role) => {
            let class = &class.class;
            let name = launch_template::instance_profile_name(settings, role, &class.name);
            let tags = launch_template::instance_profile_tags(settings, class);
            profiles.ensure(&name, role, &tags).await?;
            Ok(name)
        }
    }
}

async fn send_request(
    templates: &impl Templates,
    fleet: &impl Fleet,
    wanted: &[model::launch::LaunchTemplate],
    prepared: Prepared,
    batch: &BatchId,
    claims: &[NodeClaim],
    at: &Invocation,
) -> Outcome {
    let mut is_template_gone = false;
    // A launch template that vanished between the two calls is made again, once.
    for _ in 0..2 {
        for template in wanted {
            if let Err(error) = templates.ensure(template).await {
                return Outcome::Later(explain(&error));
            }
        }
        match fleet.launch(&prepared.request).await {
            Ok(answer) => return Outcome::Answered(answer, Box::new(prepared)),
            Err(error) if error.fault == Fault::NotFound => is_template_gone = true,
            Err(error) if error.fault == Fault::Conflict => {
                return read_back(fleet, prepared, batch, claims, at).await;
            }
            Err(error) if error.fault == Fault::Permanent => {
                return refusal_after(claims, at, explain(&error));
            }
            Err(error) => return Outcome::Later(explain(&error)),
        }
    }
    debug_assert!(is_template_gone, "only a missing template leads here");
    Outcome::Later("LaunchTemplateNotFound: a launch template vanished twice".to_owned())
}

/// EC2 never launches this as asked. It may still be mended from outside, so it is given some time.
fn refusal_after(claims: &[NodeClaim], at: &Invocation, reason: String) -> Outcome {
    let oldest = claims.iter().map(|claim| at.now.duration_since(claim.created_at)).max();
    if oldest.is_some_and(|age| age >= LAUNCH_TTL) {
        Outcome::Refused(reason)
    } else {
        Outcome::Later(reason)
    }
}

/// An earlier request under this token was taken, and this one differs: what did it bring?
async fn read_back(
    fleet: &impl Fleet,
    prepared: Prepared,
    batch: &BatchId,
    claims: &[NodeClaim],
    at: &Invocation,
) -> Outcome {
    let listed = match fleet.of_batch(&at.cluster, batch).await {
        Ok(listed) => listed,
        Err(error) => return Outcome::Later(explain(&error)),
    };
    let wanted = claims.first().map_or(0, |claim| claim.batch_size);
    let is_complete = u32::try_from(listed.len()).is_ok_and(|count| count >= wanted);
    let age = claims.iter().map(|claim| at.now.duration_since(claim.phase_since)).min();
    if !is_complete && age.is_none_or(|age| age < VISIBLE_AFTER) {
        return Outcome::Later("waiting until an earlier launch is visible".to_owned());
    }
    let instances = listed.into_iter().map(|instance| FleetInstance {
        id: instance.id,
        instance_type: instance.instance_type,
        zone: instance.zone,
        image: instance.image,
    });
    let answer = FleetAnswer { instances: instances.collect(), errors: Vec::new() };
    Outcome::Answered(answer, Box::new(prepared))
}

async fn record(
    ledger: &impl Ledger,
    mailbox: &impl Mailbox,
    outcome: Outcome,
    claims: &[NodeClaim],
    at: &Invocation,
) -> Result<(), Error> {
    match outcome {
        Outcome::Later(reason) => {
            tracing::warn!(%reason, claims = claims.len(), "launch postponed");
            retry(mailbox, claims, at).await
        }
        Outcome::Refused(reason) => {
            tracing::warn!(%reason, claims = claims.len(), "launch refused");
            for claim in claims {
                withdraw(ledger, mailbox, claim, at).await?;
            }
            Ok(())
        }
        Outcome::Answered(answer, prepared) => {
            cool_down(ledger, &answer, &prepared, at).await?;
            for claim in claims {
                let place = usize::try_from(claim.batch_index).unwrap_or(usize::MAX);
                match answer.instances.get(place) {
                    Some(instance) => {
                        let launched = launched(claim, instance, &prepared, at);
                        // A conflict means that another delivery recorded the same instance.
                        ledger.write_claim(&at.cluster, &launched).await?;
                        tracing::info!(claim = %claim.name, instance = %instance.id,
                            instance_type = %instance.instance_type, "instance launched");
                    }
                    None => withdraw(ledger, mailbox, claim, at).await?,
                }
            }
            Ok(())
        }
    }
}

/// The claim with its instance: what EC2 chose becomes its labels and capacity.
fn launched(
    claim: &NodeClaim,
    instance: &FleetInstance,
    prepared: &Prepared,
    at: &Invocation,
) -> NodeClaim {
    let mut launched = claim.moved_to(ClaimPhase::Launched, at.now);
    let capacity_type = prepared.request.capacity_type;
    let instance_type = prepared.types.iter().find(|t| t.name == instance.instance_type);
    let key = model::OfferingKey {
        capacity_type,
        instance_type: instance.instance_type.clone(),
        zone: instance.zone.clone(),
    };
    let offering = instance_type.and_then(|t| t.offering(&key));
    let subnet = prepared.class.subnets.iter().find(|subnet| subnet.zone == instance.zone);
    if let Some(instance_type) = instance_type {
        let zone_id = subnet.map(|subnet| &subnet.zone_id);
        let labels = launch_template::node_labels(
            claim,
            instance_type,
            &instance.zone,
            zone_id,
            capacity_type,
        );
        launched.labels.extend(labels);
        launched.capacity = instance_type.capacity.clone();
        launched.allocatable = instance_type.allocatable();
    }
    launched.instance = Some(LaunchedInstance {
        id: instance.id.clone(),
        instance_type: instance.instance_type.clone(),
        zone: instance.zone.clone(),
        capacity_type,
        price: offering.map(|offering| offering.price).unwrap_or_default(),
        image: Some(instance.image.clone()),
        launched_at: at.now,
    });
    launched.message = None;
    launched
}

/// Offerings that had no capacity are left alone for a while.
async fn cool_down(
    ledger: &impl Ledger,
    answer: &FleetAnswer,
    prepared: &Prepared,
    at: &Invocation,
) -> Result<(), Error> {
    let until = launch_template::cooling_ends(at.now);
    let mut cooling = BTreeMap::new();
    for error in &answer.errors {
        match launch_template::reaction(error, &prepared.request) {
            FleetReaction::CoolDown(offering) => {
                cooling.insert(offering, until);
            }
            FleetReaction::CoolDownSpot => {
                let spot = spot_offerings(prepared);
                cooling.extend(spot.into_iter().map(|offering| (offering, until)));
            }
            FleetReaction::Retry => {}
            FleetReaction::Refuse(reason) => tracing::warn!(%reason, "offering refused"),
        }
    }
    if cooling.is_empty() {
        return Ok(());
    }
    let cooling: Vec<_> = cooling.into_iter().collect();
    Ok(ledger.cool_down(&at.cluster, &cooling).await?)
}

fn spot_offerings(prepared: &Prepared) -> Vec<model::OfferingKey> {
    let offerings = prepared.types.iter().flat_map(|instance_type| {
        instance_type.offerings.iter().map(move |offering| instance_type.key_of(offering))
    });
    offerings.filter(|key| key.capacity_type == model::CapacityType::Spot).collect()
}

/// A claim that got no instance goes, and its pods are looked at again.
async fn withdraw(
    ledger: &impl Ledger,
    mailbox: &impl Mailbox,
    claim: &NodeClaim,
    at: &Invocation,
) -> Result<(), Error> {
    // A conflict means that another delivery moved it on.
    ledger.remove_claim(&at.cluster, claim).await?;
    let cluster = at.cluster.clone();
    let message = Message::Provision { tick: None };
    Ok(mailbox.send(&[Delivery { cluster, message, delay_seconds: 1 }]).await?)
}

/// Asks for another try, later the older the claims are.
async fn retry(mailbox: &impl Mailbox, claims: &[NodeClaim], at: &Invocation) -> Result<(), Error> {
    let deliveries: Vec<Delivery> = claims
        .iter()
        .map(|claim| {
            let age = at.now.duration_since(claim.created_at).as_secs();
            let (first, most) = RETRY_SECONDS;
            let delay_seconds = u32::try_from(age / 2).unwrap_or(most).clamp(first, most);
            let message = Message::Launch { claim: claim.name.clone() };
            Delivery { cluster: at.cluster.clone(), message, delay_seconds }
        })
        .collect();
    Ok(mailbox.send(&deliveries).await?)
}

/// The chain of causes in one line.
fn explain(error: &PortError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
