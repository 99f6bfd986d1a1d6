//! Announcements of EC2 → claims that are deleted, and whose pods get new nodes.
//!
//! A batch of announcements is one read of the index and some commits, which no other function refuses.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::{
    InstanceId, NodeClaim, Plan,
    interruption::{Interruption, InterruptionKind, RebalanceRecommendations},
    ledger::{Guard, Snapshot},
    limits,
    recorded::Question,
};
use ports::{Adapters, Clock as _, Fault, Invocation, Ledger as _, PortError};

use crate::{
    Report,
    commit::both,
    decide::Decider,
    error::{Error, story},
    memory::ProcessMemory,
    observe::ledger_only,
    settings::Settings,
};

/// Everything that `interrupt` may touch.
#[derive(Debug)]
pub struct InterruptPorts<'a, A: Adapters> {
    /// The claims, by their instances.
    pub ledger: &'a A::Ledger,
    /// For `drain`, and for `provision`, which finds other nodes for the pods.
    pub mailbox: &'a A::Mailbox,
    /// What is done about rebalance recommendations.
    pub settings: &'a Settings,
    /// The time that is left.
    pub clock: &'a A::Clock,
}

/// Claims that are decided about at once: what becomes of them, and why, is one commit, and each commit wakes `drain`.
const CLAIMS_PER_PART: usize = limits::ITEMS_PER_COMMIT_MAX / 2 - 5;
/// How long after a refusal what is left is tried again: a notice leaves two minutes, and a failed call gets its
/// messages back after one.
const AGAIN_AFTER: SignedDuration = SignedDuration::from_millis(200);
/// What is left of a call's time when nothing is tried again.
const LEFT_FOR_THE_REST: SignedDuration = SignedDuration::from_secs(2);

/// Deletes the claims of instances that EC2 takes back or that end, and marks the claims of instances with a
/// rebalance recommendation as drifted, if the settings ask for it. Instances without a claim of this cluster are
/// ignored: the rules that feed the queue see the whole account. While something else is in charge of the cluster,
/// nothing is done. A part that is refused keeps no other, and is tried again while there is time.
pub async fn interrupt<A: Adapters>(
    ports: &InterruptPorts<'_, A>,
    interruptions: &[Interruption],
    at: &Invocation,
) -> Result<Report, Error> {
    let ignores = ports.settings.rebalance_recommendations == RebalanceRecommendations::Ignore;
    let mut by_instance: BTreeMap<InstanceId, Vec<Interruption>> = BTreeMap::new();
    for interruption in interruptions {
        if !ignores || interruption.kind != InterruptionKind::RebalanceRecommendation {
            let announced = by_instance.entry(interruption.instance.clone()).or_default();
            announced.push(interruption.clone());
        }
    }
    let (mut plan, mut size) = (None, CLAIMS_PER_PART);
    loop {
        let error = match each_part(ports, &mut by_instance, size, &mut plan, at).await {
            Ok(()) => return Ok(Report { plan, malformed: Vec::new() }),
            Err(error) => error,
        };
        let again_at = ports.clock.now() + AGAIN_AFTER;
        if !is_passing(&error) || at.deadline.duration_since(again_at) < LEFT_FOR_THE_REST {
            // The two minutes of a notice run: the message comes again.
            return Err(error);
        }
        tracing::warn!(story = story(&error), left = by_instance.len(), "tried again");
        ports.clock.wait_until(again_at).await;
        // A concurrent change of one of these claims makes the whole part fail: a smaller part fails less often.
        if matches!(&error, Error::Port(error) if error.fault == Fault::Conflict) {
            size = size.div_ceil(2);
        }
    }
}

/// Whether the next attempt may succeed.
fn is_passing(error: &Error) -> bool {
    let Error::Port(error) = error else { return false };
    matches!(error.fault, Fault::Transient | Fault::Unknown | Fault::Conflict)
}

/// Decides about the claims of `announced`, one part of `size` after the other. What is committed is in `plan` and no longer in
/// `announced` afterwards. An error is the first one.
async fn each_part<A: Adapters>(
    ports: &InterruptPorts<'_, A>,
    announced: &mut BTreeMap<InstanceId, Vec<Interruption>>,
    size: usize,
    plan: &mut Option<Plan>,
    at: &Invocation,
) -> Result<(), Error> {
    let instances: Vec<InstanceId> = announced.keys().cloned().collect();
    // The table may be shared: what other clusters have, their own functions look after.
    let claims = ports.ledger.claims_of_instances(&at.cluster, &instances).await?;
    let mut failed = None;
    for part in claims.chunks(size) {
        match decide(ports, part, announced, at).await {
            Ok(decided) => {
                *plan = both(plan.take(), Some(decided));
                let instances = part.iter().filter_map(|claim| claim.instance.as_ref());
                instances.for_each(|instance| drop(announced.remove(&instance.id)));
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(()), Err)
}

/// The plan that was committed for `claims`. `Conflict` if another function changed a claim first.
async fn decide<A: Adapters>(
    ports: &InterruptPorts<'_, A>,
    claims: &[NodeClaim],
    announced: &BTreeMap<InstanceId, Vec<Interruption>>,
    at: &Invocation,
) -> Result<Plan, Error> {
    let InterruptPorts { ledger, mailbox, settings, .. } = *ports;
    let head = ledger.head(&at.cluster).await?;
    // An old guard does not hold announcements up: nothing is done only while it says that something else is in charge.
    if let Guard::Held { by, .. } = &head.guard {
        tracing::warn!(by, claims = claims.len(), "nothing is done");
        return Ok(Plan::default());
    }
    let of_claims = claims.iter().filter_map(|claim| {
        let interruptions = announced.get(&claim.instance.as_ref()?.id)?;
        Some((claim.name.clone(), interruptions.clone()))
    });
    let question = Question::Interrupt(of_claims.collect());
    let claims = claims.iter().map(|claim| (claim.name.clone(), claim.clone())).collect();
    let facts = ledger_only(Snapshot { head, claims, ..Snapshot::default() }, at);
    let memory = &ProcessMemory::default();
    let decider = Decider::<A> { ledger, mailbox, memory, record: settings.record };
    let decided = decider.decide(&facts, &question, at).await?;
    let overtaken = || Error::Port(PortError::new("commit", Fault::Conflict));
    decided.map(|(answer, _)| answer.plan).ok_or_else(overtaken)
}
