//! A claim whose node does not join is looked into before it is deleted.
//!
//! A look is two requests of AWS where the console tells the cause: for its output, and for EC2's checks. Where it tells
//! none it is ten, one after another: the instance; its instance profile, the cluster and its access entry; the cluster,
//! route tables and security groups; the image. What fails of it, or is not begun within [`LOOK_TIME`], is said in the
//! finding, and holds nothing up.

use std::cell::Cell;

use jiff::{SignedDuration, Timestamp};
use model::{
    InstanceTypeName, NodeClaim, claim::LaunchedInstance, duration::later, join::JoinEvidence,
};
use planner::SeenSlices;
use ports::{Adapters, Clock, Forensics as _, Invocation, PortError};

use super::SettlePorts;
use crate::error::story;

/// Instances that one pass looks into. Where many nodes do not join, a pass follows in five seconds: no more than
/// one request of each kind a second, of the 20 that EC2 gives an account back, which others use, too.
///
/// <https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html>
pub(super) const LOOKS_PER_PASS: usize = 5;
/// After so long a look asks nothing more: where a service cannot be reached, such as IAM from a VPC without a way out,
/// each request takes as long as [`Timeouts::OF_LOOKS`](model::limits::requests::Timeouts::OF_LOOKS) allows.
const LOOK_TIME: SignedDuration = SignedDuration::from_secs(10);

/// `claim`, whose node is not there, with what a look into its instance found, one version on; `None` where none is
/// due, or where this pass made as many as it may.
pub(super) async fn look<A: Adapters>(
    ports: &SettlePorts<'_, A>,
    claim: &NodeClaim,
    looks_left: &Cell<usize>,
    at: &Invocation,
) -> Option<NodeClaim> {
    let instance = claim.instance.as_ref()?;
    if !planner::is_look_due(claim, at.now) {
        return None;
    }
    looks_left.set(looks_left.get().checked_sub(1)?);
    let evidence = Box::pin(evidence(ports, instance, at)).await;
    let finding = planner::diagnose(&evidence);
    tracing::warn!(claim = %claim.name, reason = %finding.reason, told = finding.message, "node does not join");
    ports.recorder.note(vec![planner::events::of_not_joined(claim, &finding)]);
    Some(planner::looked_into(claim, &finding, at.now))
}

/// What becomes of `claim` when its node cannot be made one of ours: as if no node had joined, it is deleted when its
/// time is over.
pub(super) fn not_joined(
    claim: &NodeClaim,
    refused: &PortError,
    is_gone: bool,
    at: &Invocation,
) -> Option<planner::Settlement> {
    let mut settlement = planner::settle(claim, None, SeenSlices::default(), is_gone, at.now);
    let next = settlement.claim.as_mut().filter(|next| next.is_deleting())?;
    next.message =
        Some(format!("its node joined and refuses its labels: {}", story(refused)).as_str().into());
    Some(settlement)
}

/// All that is to be seen of `instance`.
async fn evidence<A: Adapters>(
    ports: &SettlePorts<'_, A>,
    instance: &LaunchedInstance,
    at: &Invocation,
) -> JoinEvidence {
    let (forensics, id) = (ports.forensics, &instance.id);
    let look = Look { clock: ports.clock, until: later(ports.clock.now(), LOOK_TIME) };
    let mut evidence = JoinEvidence {
        console: look.seen(forensics.console(id)).await,
        checks: look.seen(forensics.checks(id)).await,
        instance: None,
        access: None,
        network: None,
        image: None,
        architecture: Some(architecture_of(&instance.instance_type).to_owned()),
    };
    let questions = planner::questions(&evidence.console);
    if !questions.is_any() {
        return evidence;
    }
    let launched = look.seen(forensics.instance(id)).await;
    if let Ok(launched) = &launched {
        if questions.access {
            evidence.access = Some(look.seen(forensics.access(&at.cluster, launched)).await);
        }
        if questions.network {
            evidence.network = Some(look.seen(forensics.network(&at.cluster, launched)).await);
        }
        if let Some(image) = launched.image.as_ref().filter(|_| questions.image) {
            evidence.image = Some(look.seen(forensics.image(image)).await);
        }
    }
    evidence.instance = Some(launched);
    evidence
}

/// One look into an instance.
struct Look<'a, C> {
    clock: &'a C,
    until: Timestamp,
}

impl<C: Clock> Look<'_, C> {
    /// The answer to a question that there is time for.
    async fn seen<T>(
        &self,
        question: impl Future<Output = Result<T, PortError>>,
    ) -> Result<T, String> {
        if self.until <= self.clock.now() {
            return Err(format!("not looked at: the look took {LOOK_TIME:#}"));
        }
        question.await.map_err(|error| story(&error))
    }
}

/// The architecture of the processors of an instance type, as Kubernetes calls it, by its name: what stands behind
/// the generation has a `g` for Graviton and for Grace, and the oldest of them is `a1`.
///
/// <https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html>
pub fn architecture_of(name: &InstanceTypeName) -> &'static str {
    let family = name.as_str().split('.').next().unwrap_or_default();
    let generation = family.trim_start_matches(|c: char| !c.is_ascii_digit());
    let options = generation.trim_start_matches(|c: char| c.is_ascii_digit());
    if family == "a1" || options.contains('g') { "arm64" } else { "amd64" }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::testing::Stopped;

    #[test]
    fn a_look_asks_nothing_more_when_its_time_is_over() {
        let clock = Stopped("2026-11-21T12:00:00Z".parse().unwrap());
        let seen = |until| {
            let look = Look { clock: &clock, until };
            look.seen(async { Ok(1) }).now_or_never().unwrap()
        };
        assert_eq!(seen(later(clock.0, LOOK_TIME)), Ok(1));
        assert_eq!(seen(clock.0), Err("not looked at: the look took 10s".to_owned()));
    }
}
