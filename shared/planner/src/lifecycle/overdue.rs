//! Claims that are in a phase for longer than anything there should take: a person should look.

use jiff::{SignedDuration, Timestamp};
use model::{ClaimPhase, NodeClaim};

/// A claim without an instance is removed five minutes after its creation, once the latest request is visible.
const CREATED: SignedDuration = SignedDuration::from_mins(10);
/// A claim whose node did not join is deleted after a quarter of an hour.
///
/// Karpenter: `pkg/controllers/nodeclaim/lifecycle/liveness.go`, `registrationTTL`.
const LAUNCHED: SignedDuration = SignedDuration::from_mins(20);
/// A node that joined is initialized within minutes, and one that is not is kept: Karpenter
/// waits for ever, too.
const REGISTERED: SignedDuration = SignedDuration::from_mins(15);
/// Pods may take long to leave where no `terminationGracePeriod` ends it.
const DELETING: SignedDuration = SignedDuration::from_hours(1);
/// After its `terminationGracePeriod` an instance is terminated whatever is on it.
const PAST_DEADLINE: SignedDuration = SignedDuration::from_mins(10);

/// For how long `claim` is in its phase, if that is too long at `now`.
#[must_use]
pub fn overdue(claim: &NodeClaim, now: Timestamp) -> Option<SignedDuration> {
    let age = now.duration_since(claim.phase_since);
    let deadline = claim.deletion.as_ref().and_then(|deletion| deletion.deadline);
    let is_overdue = match (claim.phase, deadline) {
        (ClaimPhase::Created, _) => CREATED <= age,
        (ClaimPhase::Launched, _) => LAUNCHED <= age,
        (ClaimPhase::Registered, _) => REGISTERED <= age,
        (ClaimPhase::Initialized, _) => false,
        (ClaimPhase::Deleting, None) => DELETING <= age,
        (ClaimPhase::Deleting, Some(deadline)) => PAST_DEADLINE <= now.duration_since(deadline),
    };
    is_overdue.then_some(age)
}
