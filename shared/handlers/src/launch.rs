//! Promised claims → instances.
//!
//! A batch of claims is one CreateFleet request whose client token is the batch: repeating it, after
//! a crash or a lost answer, brings the same instances, and each claim takes the one at its own
//! place. EC2 refuses a repeated token with another content, and the content follows the world
//! (free addresses, prices, cooling offerings); then what the first request brought is read back by
//! its tag.
//!
//! A promised claim leaves its phase only here, and is withdrawn only when it is known that nothing
//! was launched for it: before the first request each claim of the batch is marked as asked for, so
//! no instance is ever without a claim.

mod dry_run;
mod prepare;
mod record;

pub use dry_run::{DryRunTrigger, dry_run};

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use launch_template::Offers;
use model::{
    BatchId, ClaimPhase, LaunchTemplateName, NodeClaim, NodeClaimName,
    launch::{FleetAnswer, Instance},
    ledger::{Snapshot, WriteOutcome},
};
use ports::{Adapters, Catalog as _, Fault, Fleet, Invocation, Ledger, PortError, Templates as _};

use crate::{Error, error::story};
use prepare::{Asked, LaunchRefusal, Prepared, Unprepared};

/// A launch that EC2 keeps refusing is given up after so long.
///
/// Karpenter: `pkg/controllers/nodeclaim/lifecycle/liveness.go`, `launchTTL`.
const LAUNCH_TTL: SignedDuration = SignedDuration::from_mins(5);
/// After so long every instance of a request is visible in listings.
const VISIBLE_AFTER: SignedDuration = SignedDuration::from_mins(2);

/// What the function is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchTrigger {
    /// To launch a promised claim.
    Claim(NodeClaimName),
    /// To try out a class.
    DryRun(DryRunTrigger),
}

impl LaunchTrigger {
    /// The claims to launch together, and the questions.
    pub fn sorted(launch_triggers: Vec<Self>) -> (Vec<NodeClaimName>, Vec<DryRunTrigger>) {
        let (mut claims, mut questions) = (Vec::new(), Vec::new());
        for trigger in launch_triggers {
            match trigger {
                Self::Claim(claim) => claims.push(claim),
                Self::DryRun(question) => questions.push(question),
            }
        }
        (claims, questions)
    }
}

/// Everything that `launch` may touch.
#[derive(Debug)]
pub struct LaunchPorts<'a, A: Adapters> {
    /// The claims, offerings without capacity, and what dry runs came to.
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
    /// Later tries, and `provision` for the pods of claims that got no instance.
    pub mailbox: &'a A::Mailbox,
    /// What earlier calls in this process worked out from the catalog.
    pub offers: &'a Offers,
}

/// Promised claims that share one fleet request.
struct Batch {
    id: BatchId,
    /// Those that are still promised, in their order in the batch; never none.
    claims: Vec<NodeClaim>,
}

/// What became of a batch.
enum Outcome {
    /// EC2 answered; instances may be fewer than claims.
    Answered(FleetAnswer, Box<Prepared>),
    /// These, and no others, were launched earlier.
    Found(Vec<Instance>),
    /// Nothing was launched and nothing will be: for this reason.
    Refused(LaunchRefusal),
    /// Ask again later; something may have been launched. The reason is for people.
    Later(String),
}

/// Launches those of `claims` that are still only promised, and the others of their batches.
pub async fn launch<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    claims: &[NodeClaimName],
    at: &Invocation,
) -> Result<(), Error> {
    if claims.is_empty() {
        return Ok(());
    }
    let snapshot = ports.ledger.snapshot(&at.cluster).await?;
    let known = ports.catalog.catalog().await?;
    let mut asked = Asked::default();
    for mut batch in batches(&snapshot, claims) {
        let outcome = outcome(ports, &mut asked, &snapshot, &mut batch, at).await?;
        record::record(ports, outcome, &batch.claims, &known, at).await?;
    }
    Ok(())
}

/// Launches a batch, unless it is known already what becomes of it.
async fn outcome<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    asked: &mut Asked,
    snapshot: &Snapshot,
    batch: &mut Batch,
    at: &Invocation,
) -> Result<Outcome, Error> {
    Ok(match prepare::prepare(ports, asked, snapshot, &batch.claims, at).await {
        Ok(prepared) => match mark(ports.ledger, batch, at).await? {
            WriteOutcome::Written => ask(ports, &mut asked.templates, prepared, batch, at).await,
            WriteOutcome::Conflict => Outcome::Later("somebody else launches it".to_owned()),
        },
        Err(Unprepared::Refused(refusal)) => {
            if batch.claims.iter().all(|claim| claim.requested_at.is_none()) {
                Outcome::Refused(refusal)
            } else {
                read_back(ports.fleet, batch, at).await
            }
        }
        Err(Unprepared::NotYet(why)) => never(ports.fleet, batch, at, why.to_string()).await,
        Err(Unprepared::Port(error)) => Outcome::Later(story(&error)),
    })
}

/// The batches that `wanted` belong to, with all their promised claims.
fn batches(snapshot: &Snapshot, wanted: &[NodeClaimName]) -> Vec<Batch> {
    let is_promised = |claim: &&NodeClaim| claim.phase == ClaimPhase::Promised;
    let wanted = wanted.iter().filter_map(|name| snapshot.claims.get(name)).filter(is_promised);
    let mut batches: BTreeMap<BatchId, Vec<NodeClaim>> =
        wanted.map(|claim| (claim.batch.clone(), Vec::new())).collect();
    for claim in snapshot.claims.values().filter(is_promised) {
        if let Some(claims) = batches.get_mut(&claim.batch) {
            claims.push(claim.clone());
        }
    }
    for claims in batches.values_mut() {
        claims.sort_by_key(|claim| claim.batch_index);
    }
    batches.into_iter().map(|(id, claims)| Batch { id, claims }).collect()
}

/// Marks every claim as asked for before anything is. `Conflict` when somebody else moved one of them
/// on.
async fn mark(
    ledger: &impl Ledger,
    batch: &mut Batch,
    at: &Invocation,
) -> Result<WriteOutcome, PortError> {
    let mut marked = Vec::new();
    for claim in batch.claims.iter_mut().filter(|claim| claim.requested_at.is_none()) {
        claim.requested_at = Some(at.now);
        claim.version += 1;
        marked.push(claim.clone());
    }
    ledger.write_claims(&at.cluster, &marked).await
}

/// Asks EC2 for the instances of `batch`. Launch templates that are `ensured` are there.
async fn ask<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    ensured: &mut BTreeSet<LaunchTemplateName>,
    prepared: Box<Prepared>,
    batch: &Batch,
    at: &Invocation,
) -> Outcome {
    let LaunchPorts { templates, fleet, .. } = *ports;
    // A launch template that vanished between the two calls is made again, once.
    for _ in 0..2 {
        for template in &prepared.templates {
            if ensured.contains(&template.name) {
                continue;
            }
            match templates.ensure(template).await {
                Err(error) if error.fault == Fault::Permanent => {
                    return never(fleet, batch, at, story(&error)).await;
                }
                Err(error) => return Outcome::Later(story(&error)),
                Ok(()) => {
                    ensured.insert(template.name.clone());
                }
            }
        }
        match fleet.launch(&prepared.request).await {
            Ok(answer) => return Outcome::Answered(answer, prepared),
            Err(error) if error.fault == Fault::NotFound => ensured.clear(),
            Err(error) if error.fault == Fault::Conflict => {
                return read_back(fleet, batch, at).await;
            }
            Err(error) if error.fault == Fault::Permanent => {
                return never(fleet, batch, at, story(&error)).await;
            }
            Err(error) => return Outcome::Later(story(&error)),
        }
    }
    Outcome::Later("LaunchTemplateNotFound: a launch template vanished twice".to_owned())
}

/// This is never launched as asked, or not as things stand. It may still be mended from outside, so it is
/// given some time; and an earlier request, with another content, may have been taken.
async fn never(fleet: &impl Fleet, batch: &Batch, at: &Invocation, reason: String) -> Outcome {
    let oldest = batch.claims.iter().map(|claim| at.now.duration_since(claim.created_at)).max();
    if oldest.is_none_or(|age| age < LAUNCH_TTL) {
        return Outcome::Later(reason);
    }
    tracing::warn!(%reason, "launch given up");
    read_back(fleet, batch, at).await
}

/// What did an earlier request under this token bring?
async fn read_back(fleet: &impl Fleet, batch: &Batch, at: &Invocation) -> Outcome {
    let Batch { id, claims } = batch;
    let instances = match fleet.of_batch(&at.cluster, id).await {
        Ok(instances) => instances,
        Err(error) => return Outcome::Later(story(&error)),
    };
    let wanted = claims.first().map_or(0, |claim| claim.batch_size);
    let is_complete = u32::try_from(instances.len()).is_ok_and(|count| count >= wanted);
    let asked_at = claims.iter().filter_map(|claim| claim.requested_at).max();
    let is_visible = asked_at.is_none_or(|asked| at.now.duration_since(asked) >= VISIBLE_AFTER);
    if is_complete || is_visible {
        Outcome::Found(instances)
    } else {
        Outcome::Later("waiting until an earlier launch is visible".to_owned())
    }
}
