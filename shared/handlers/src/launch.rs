//! New claims → instances.
//!
//! A pass launches every batch of new claims, side by side. A batch is one CreateFleet request whose client token is
//! the batch. If the request is repeated, after a crash or a lost answer, EC2 answers with the same instances, and
//! each claim takes the instance at its own place. EC2 refuses a repeated token with another content, and the content
//! changes with the world (free addresses, prices, unavailable offerings). So before a request is repeated, the
//! instances of the earlier request are read by their tag.
//!
//! Only `launch` moves a new claim on. It withdraws a claim only if nothing was launched for it: every claim of the
//! batch is stamped before each request, and no stamped claim is withdrawn before the latest request is visible.
//! What became of a batch is concluded by [`planner::concluded`].

mod dry_run;
mod overlaid;
mod prepare;
mod record;

pub use dry_run::{DryRunTrigger, dry_run};

use std::collections::BTreeMap;

use futures_util::future::try_join;
use jiff::{SignedDuration, Timestamp};
use model::{
    BatchId, ClaimPhase, Function, NodeClaim, RegionCatalog,
    launch::{FleetAnswer, FleetError, Instance},
    ledger::{Snapshot, WriteOutcome},
    pulse::Signal,
};
use planner::LaunchOutcome;
use ports::{
    Adapters, Catalog as _, Clock as _, Fault, Fleet, Invocation, Ledger, PortError, Refusal,
};

use crate::{
    Report,
    error::{Error, story},
    memory::ProcessMemory,
    pass::{each, sooner},
    pulse::{Beating, Pass, Start, wake},
    recorder::Recorder,
    settings::Settings,
};
use overlaid::Overlays;
use prepare::{Classes, Prepared, Unprepared};
use record::Recorded;

/// How long EC2 may refuse a launch before the claim is withdrawn.
///
/// Karpenter: `pkg/controllers/nodeclaim/lifecycle/liveness.go`, `launchTTL`.
const LAUNCH_TTL: SignedDuration = SignedDuration::from_mins(5);
/// Until every instance of a request is visible in listings.
const VISIBLE_AFTER: SignedDuration = SignedDuration::from_mins(2);
/// How long another pass may still wait for the answer to its request, which comes when all instances are there. The
/// pass that was cut off is made good this much later.
const UNDER_WAY: SignedDuration = SignedDuration::from_secs(15);
/// Batches that are launched at the same time.
const AT_ONCE: usize = 8;

/// Everything that `launch` may touch.
#[derive(Debug)]
pub struct LaunchPorts<'a, A: Adapters> {
    /// The claims, offerings without capacity, how launches ended, and what dry runs came to.
    pub ledger: &'a A::Ledger,
    /// EC2NodeClasses, and the NodePools that a dry run is for.
    pub cluster: &'a A::Cluster,
    /// What can be bought.
    pub catalog: &'a A::Catalog,
    /// Free addresses, what is left of capacity reservations, and what nodes need to know of the cluster.
    pub discovery: &'a A::Discovery,
    /// Launch templates to launch from.
    pub templates: &'a A::Templates,
    /// Where instances are launched.
    pub fleet: &'a A::Fleet,
    /// The next beat, and `settle` for the claims that got an instance.
    pub mailbox: &'a A::Mailbox,
    /// What people are told of it.
    pub recorder: Recorder<'a, A>,
    /// The time that is left.
    pub clock: &'a A::Clock,
    /// What earlier calls in this process saw.
    pub memory: &'a ProcessMemory,
    /// Whether `minValues` hold.
    pub settings: &'a Settings,
}

/// New claims that share one fleet request.
struct Batch {
    id: BatchId,
    /// The claims without an instance, in their order in the batch; at least one.
    claims: Vec<NodeClaim>,
}

impl Batch {
    /// How many instances one request asks for.
    fn size(&self) -> usize {
        let size = self.claims.first().map_or(0, |claim| claim.batch_size);
        usize::try_from(size).unwrap_or(usize::MAX)
    }

    /// Age of its oldest claim.
    fn age(&self, at: &Invocation) -> SignedDuration {
        let ages = self.claims.iter().map(|claim| at.now.duration_since(claim.created_at));
        ages.max().unwrap_or_default()
    }

    /// When the latest request was about to be made; `None` if there was none.
    fn requested_at(&self) -> Option<Timestamp> {
        self.claims.iter().filter_map(|claim| claim.requested_at).max()
    }

    /// Whether another pass may be launching it at this moment: a request was about to be made, and its result is
    /// not stored yet.
    fn is_under_way(&self, at: &Invocation) -> bool {
        let is_recent = |requested_at| at.now.duration_since(requested_at) < UNDER_WAY;
        self.not_before().is_none() && self.requested_at().is_some_and(is_recent)
    }

    /// When it is tried again; `None` if no launch failed before.
    fn not_before(&self) -> Option<Timestamp> {
        self.claims.iter().filter_map(|claim| Some(claim.retry?.not_before)).max()
    }
}

/// Launches every new claim.
pub async fn launch<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    let LaunchPorts { ledger, mailbox, clock, ref recorder, .. } = *ports;
    let beating = Beating { function: Function::Launch, ledger, mailbox, clock, recorder };
    beating.call(signal, at, async |start| pass(ports, start, at).await).await
}

/// What all batches of a pass share.
struct Shared {
    snapshot: Snapshot,
    catalog: std::sync::Arc<RegionCatalog>,
    classes: Classes,
    overlays: Overlays,
}

async fn pass<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    start: &Start,
    at: &Invocation,
) -> Result<Pass, Error> {
    let read = start.head.counters;
    let snapshot = ports.ledger.snapshot(&at.cluster).await?;
    let batches = batches(&snapshot);
    if batches.is_empty() {
        return Ok(Pass::whole(Report::default(), read, None));
    }
    let (due, waiting): (Vec<Batch>, Vec<Batch>) =
        batches.into_iter().partition(|batch| batch.not_before().is_none_or(|time| time <= at.now));
    let waiting = waiting.iter().filter_map(Batch::not_before).min();
    if due.is_empty() {
        return Ok(Pass::whole(Report::default(), read, waiting));
    }
    let classes = Classes::look(ports, at);
    let (catalog, classes) = Box::pin(try_join(ports.catalog.catalog(), classes)).await?;
    let overlays = Overlays::look(ports, &due, (&snapshot, &catalog, &classes), at).await;
    let shared = Shared { snapshot, catalog, classes, overlays };
    let (recorded, rest_at) = each(due, AT_ONCE, ports.clock, at, async |mut batch| {
        let outcome = outcome(ports, &shared, &mut batch, at)
            .await
            .unwrap_or_else(|error| LaunchOutcome::Later(story(&error)));
        if let LaunchOutcome::Later(reason) = &outcome {
            tracing::warn!(reason, claims = batch.claims.len(), "launch postponed");
        }
        let (snapshot, claims) = (&shared.snapshot, &batch.claims);
        // From when it is over: a request to EC2 may take most of a pass.
        let conclusion = planner::concluded(outcome, claims, snapshot, ports.clock.now());
        let recorded = record::carry_out(ports, conclusion, claims, snapshot, at).await;
        recorded.unwrap_or_else(|error| {
            tracing::warn!(batch = %batch.id, story = story(&error), "launch not recorded");
            Recorded::again(at.after(SignedDuration::from_secs(2)))
        })
    })
    .await;
    let next_at = recorded.iter().filter_map(|recorded| recorded.again).min();
    let next_at = sooner(sooner(waiting, next_at), rest_at);
    if recorded.iter().any(|recorded| recorded.is_any_launched) {
        wake(ports.mailbox, &[Function::Settle], read, at).await;
    }
    Ok(Pass::whole(Report::default(), read, next_at))
}

/// Launches a batch, unless it is known already what becomes of it.
async fn outcome<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    shared: &Shared,
    batch: &mut Batch,
    at: &Invocation,
) -> Result<LaunchOutcome, PortError> {
    if batch.is_under_way(at) {
        return Ok(LaunchOutcome::Overtaken);
    }
    if batch.requested_at().is_some() {
        // What an earlier request brought counts, whatever would be asked for now.
        match read_back(ports.fleet, batch, at).await? {
            ReadBack::Nothing if batch.age(at) < LAUNCH_TTL => {}
            ReadBack::Nothing | ReadBack::Missing => {
                return Ok(LaunchOutcome::Later(
                    "waiting until an earlier launch is visible".to_owned(),
                ));
            }
            ReadBack::Visible(instances) if instances.is_empty() && batch.age(at) < LAUNCH_TTL => {}
            ReadBack::Visible(instances) => {
                return Ok(record::found(&instances, &batch.claims, shared));
            }
        }
    }
    Ok(match prepare::prepare(ports, shared, &batch.claims, at).await {
        Ok(prepared) => ask(ports, shared, prepared, batch, at).await?,
        Err(Unprepared::Refused(refusal)) => match batch.requested_at() {
            None => LaunchOutcome::Refused(refusal.to_string(), refusal.event()),
            Some(_) => LaunchOutcome::Later(refusal.to_string()),
        },
        Err(Unprepared::NotYet(why, word)) => never(batch, at, format!("{word}: {why}")),
        Err(Unprepared::Port(error)) => LaunchOutcome::Later(story(&error)),
    })
}

/// The batches with new claims.
fn batches(snapshot: &Snapshot) -> Vec<Batch> {
    let mut batches: BTreeMap<BatchId, Vec<NodeClaim>> = BTreeMap::new();
    for claim in snapshot.claims.values().filter(|claim| claim.phase == ClaimPhase::Created) {
        batches.entry(claim.batch.clone()).or_default().push(claim.clone());
    }
    for claims in batches.values_mut() {
        claims.sort_by_key(|claim| claim.batch_index);
    }
    batches.into_iter().map(|(id, claims)| Batch { id, claims }).collect()
}

/// Stamps every claim before a request, `now`. `Conflict` if another pass changed one of them first.
async fn stamp(
    ledger: &impl Ledger,
    batch: &mut Batch,
    now: Timestamp,
    at: &Invocation,
) -> Result<WriteOutcome, PortError> {
    for claim in &mut batch.claims {
        claim.requested_at = Some(now);
        claim.version += 1;
    }
    ledger.write_claims(&at.cluster, &batch.claims).await
}

/// Asks EC2 for the instances of `batch`.
async fn ask<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    shared: &Shared,
    prepared: Box<Prepared>,
    batch: &mut Batch,
    at: &Invocation,
) -> Result<LaunchOutcome, PortError> {
    let LaunchPorts { templates, fleet, ledger, memory, .. } = *ports;
    let ensured = &memory.templates;
    let is_repeated = batch.requested_at().is_some();
    // A launch template that vanished between the two calls is made again, once.
    for _ in 0..2 {
        for template in &prepared.templates {
            match ensured.ensure(templates, template).await {
                Err(error) if error.fault == Fault::Permanent => {
                    return Ok(never(batch, at, in_words(&error)));
                }
                Err(error) => return Ok(LaunchOutcome::Later(in_words(&error))),
                Ok(()) => {}
            }
        }
        if stamp(ledger, batch, ports.clock.now(), at).await? == WriteOutcome::Conflict {
            return Ok(LaunchOutcome::Overtaken);
        }
        let launched = fleet.launch(&prepared.request).await;
        match launched.or_else(|error| without_capacity(&error).ok_or(error)) {
            Ok(answer) if is_repeated && answer.instances.len() < batch.size() => {
                // Nothing is withdrawn on the word of a repeated request alone.
                return Ok(LaunchOutcome::Later("EC2 brought less than was asked for".to_owned()));
            }
            Ok(answer) => {
                if answer.errors.iter().any(FleetError::is_template_missing) {
                    ensured.forget();
                }
                let known = (&*prepared, &shared.overlays);
                return Ok(record::answered(&answer, known, &batch.claims, &memory.addresses));
            }
            Err(error) if error.fault == Fault::NotFound => ensured.forget(),
            Err(error) if error.fault == Fault::Permanent => {
                return Ok(never(batch, at, in_words(&error)));
            }
            Err(error) => return Ok(LaunchOutcome::Later(in_words(&error))),
        }
    }
    Ok(LaunchOutcome::Later("LaunchTemplateNotFound: a launch template vanished twice".to_owned()))
}

/// The answer without instances that a refusal of the whole request stands for, if it says that there is no capacity
/// or that a quota is reached.
fn without_capacity(error: &PortError) -> Option<FleetAnswer> {
    let Refusal { code, message } =
        error.refusal().filter(|refusal| launch_template::is_without_capacity(&refusal.code))?;
    let (code, message) = (code.clone(), message.clone());
    let whole = FleetError { code, message, instance_type: None, zone: None };
    Some(FleetAnswer { instances: Vec::new(), errors: vec![whole] })
}

/// Why a call failed: what EC2 said, after Karpenter's word for it.
fn in_words(error: &PortError) -> String {
    match error.refusal() {
        Some(Refusal { code, message }) => launch_template::in_words(code, message),
        None => story(error),
    }
}

/// A batch that EC2 refuses as things stand. A user may mend that, so the launch has some time; and EC2 may have
/// accepted an earlier request with another content.
fn never(batch: &Batch, at: &Invocation, reason: String) -> LaunchOutcome {
    if batch.requested_at().is_none() && LAUNCH_TTL <= batch.age(at) {
        return LaunchOutcome::TooLate(reason);
    }
    LaunchOutcome::Later(reason)
}

/// The instances of earlier requests under the token of a batch.
enum ReadBack {
    /// None is visible yet.
    Nothing,
    /// Some are visible, and others may become visible.
    Missing,
    /// All instances.
    Visible(Vec<Instance>),
}

async fn read_back(
    fleet: &impl Fleet,
    batch: &Batch,
    at: &Invocation,
) -> Result<ReadBack, PortError> {
    let instances = fleet.of_batch(&at.cluster, &batch.id).await?;
    let is_complete = instances.len() >= batch.size();
    let is_visible = batch
        .requested_at()
        .is_none_or(|requested_at| at.now.duration_since(requested_at) >= VISIBLE_AFTER);
    Ok(if is_complete || is_visible {
        ReadBack::Visible(instances)
    } else if instances.is_empty() {
        ReadBack::Nothing
    } else {
        ReadBack::Missing
    })
}
