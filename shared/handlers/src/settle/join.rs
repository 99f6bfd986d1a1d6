//! A claim whose node does not join is looked into before it is given up.
//!
//! A look is five requests of AWS, one after another: the console's output and EC2's checks; the
//! instance, its instance profile and the cluster's access entries. What fails of it is said in the finding, and
//! holds nothing up.

use std::cell::Cell;

use model::{NodeClaim, join::JoinEvidence};
use ports::{Adapters, Forensics as _, Invocation, PortError};

use super::SettlePorts;
use crate::error::story;

/// Instances that one pass looks into. Where many nodes do not join, a pass follows in five seconds: no more than
/// one request of each kind a second, of the 20 that EC2 gives an account back, which others use, too.
///
/// <https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html>
pub(super) const LOOKS_PER_PASS: usize = 5;

/// `claim`, whose node is not there, with what a look into its instance found, one version on; `None` where none is
/// due, or where this pass made as many as it may.
pub(super) async fn look<A: Adapters>(
    ports: &SettlePorts<'_, A>,
    claim: &NodeClaim,
    looks_left: &Cell<usize>,
    at: &Invocation,
) -> Option<NodeClaim> {
    let instance = &claim.instance.as_ref()?.id;
    if !planner::is_look_due(claim, at.now) {
        return None;
    }
    looks_left.set(looks_left.get().checked_sub(1)?);
    let forensics = ports.forensics;
    let evidence = JoinEvidence {
        console: seen(forensics.console(instance).await),
        checks: seen(forensics.checks(instance).await),
        access: seen(forensics.access(&at.cluster, instance).await),
    };
    let finding = planner::diagnose(&evidence);
    tracing::warn!(claim = %claim.name, reason = %finding.reason, told = finding.message, "node does not join");
    ports.recorder.note(vec![planner::events::of_not_joined(claim, &finding)]);
    Some(planner::looked_into(claim, &finding, at.now))
}

fn seen<T>(answer: Result<T, PortError>) -> Result<T, String> {
    answer.map_err(|error| story(&error))
}
