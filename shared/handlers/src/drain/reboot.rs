//! Nodes that are rebooted: emptied, EC2 asked, and looked after until they are back.
//!
//! The claim notes which boot ends before EC2 is asked, so that a repeated pass sees whether it did.

use jiff::{SignedDuration, Timestamp};
use model::{
    NodeClaim,
    claim::{ClaimConditions, Reboot},
    disruption::{Command, Progress},
    ledger::{Snapshot, WriteOutcome},
};
use ports::{Adapters, Fleet as _, Invocation, Ledger as _, PortError};

use super::{AT_ONCE, DrainPorts, evict, observe::Observed};
use crate::{
    pass::{each, postpone, sooner},
    sync::keep,
};

/// Claims whose instances are to be rebooted by a command, and that wait for nothing.
pub(super) fn due<'s>(
    snapshot: &'s Snapshot,
    at: &Invocation,
) -> Vec<(&'s NodeClaim, &'s Command)> {
    let commands = snapshot.commands.values().filter(|command| command.reboots());
    let claims = commands.flat_map(|command| {
        let claims = command.candidates.iter().filter_map(|name| snapshot.claims.get(name));
        claims.map(move |claim| (claim, command))
    });
    claims.filter(|(claim, _)| !claim.is_deleting() && claim.is_due(at.now)).collect()
}

/// Takes the next step of each; when the first of them is due again, if any is.
pub(super) async fn all<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    due: Vec<(&NodeClaim, &Command)>,
    observed: &Observed,
    at: &Invocation,
) -> Option<Timestamp> {
    let (answers, rest_at) = each(due, AT_ONCE, ports.clock, at, async |(claim, command)| {
        match step(ports, claim, command, observed, at).await {
            Ok(again) => again,
            Err(error) => Some(postpone::<A>(ports.ledger, ports.clock, claim, &error, at).await),
        }
    })
    .await;
    sooner(answers.into_iter().flatten().min(), rest_at)
}

async fn step<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    claim: &NodeClaim,
    command: &Command,
    observed: &Observed,
    at: &Invocation,
) -> Result<Option<Timestamp>, PortError> {
    let Progress::Rebooting { since } = command.progress else { return Ok(None) };
    let node = observed.node_of(claim)?;
    let pods = match node {
        Some(node) => observed.pods_on(ports.nodes, &node.name).await?,
        None => Vec::new(),
    };
    let step = planner::reboot(claim, (since, command.drain), node, &pods, at.now);
    ports.recorder.note(evict(ports.nodes, claim, &step.evict).await);
    let again = step
        .revisit_after_seconds
        .map(|seconds| at.after(SignedDuration::from_secs(i64::from(seconds))));
    let noted = match step.next {
        None => claim.clone(),
        Some(next)
            if ports.ledger.write_claim(&at.cluster, &next).await? == WriteOutcome::Conflict =>
        {
            return Ok(Some(at.now));
        }
        Some(next) => next,
    };
    let (true, Some(instance), Some(reboot)) =
        (step.reboot, &claim.instance, noted.conditions.reboot(since))
    else {
        if noted != *claim {
            crate::sync::sync(ports.node_claims, &noted).await;
        }
        return Ok(again);
    };
    ports.fleet.reboot(&instance.id).await?;
    let issued = Reboot { issued_at: Some(at.now), ..reboot.clone() };
    let conditions: ClaimConditions = noted.conditions.with_reboot(issued);
    // Where that cannot be kept, the next pass sees whether the node boots.
    keep::<A>(
        ports.ledger,
        ports.node_claims,
        &NodeClaim { conditions, retry: None, message: None, ..noted.following() },
        at,
    )
    .await;
    Ok(again)
}
