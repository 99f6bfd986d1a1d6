//! Claims that are in a phase for longer than anything there should take: somebody should look.

use jiff::{SignedDuration, Timestamp};
use model::{ClaimPhase, NodeClaim};

/// A launch is given up five minutes after its promise, once the latest request is visible.
const PROMISED: SignedDuration = SignedDuration::from_mins(10);
/// A node that did not join is given up after a quarter of an hour.
///
/// Karpenter: `pkg/controllers/nodeclaim/lifecycle/liveness.go`, `registrationTTL`.
const LAUNCHED: SignedDuration = SignedDuration::from_mins(20);
/// A node that joined is initialized within minutes, and nothing gives it up that is not: Karpenter
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
        (ClaimPhase::Promised, _) => PROMISED <= age,
        (ClaimPhase::Launched, _) => LAUNCHED <= age,
        (ClaimPhase::Registered, _) => REGISTERED <= age,
        (ClaimPhase::Initialized, _) => false,
        (ClaimPhase::Deleting, None) => DELETING <= age,
        (ClaimPhase::Deleting, Some(deadline)) => PAST_DEADLINE <= now.duration_since(deadline),
    };
    is_overdue.then_some(age)
}

#[cfg(test)]
mod tests {
    use model::{DeletionReason, claim::Deletion};

    use super::*;
    use crate::testing::*;

    #[test]
    fn a_claim_that_stays_too_long_in_its_phase_is_found() {
        let mut facts = facts(Vec::new());
        let claim = add_managed(&mut facts, "a");
        let deleting =
            |deadline| Deletion { reason: DeletionReason::Expired, at: ago(7_200), deadline };
        for (phase, deletion, seconds, expected) in [
            (ClaimPhase::Promised, None, 599, false),
            (ClaimPhase::Promised, None, 600, true),
            (ClaimPhase::Launched, None, 1_199, false),
            (ClaimPhase::Launched, None, 1_200, true),
            (ClaimPhase::Registered, None, 900, true),
            (ClaimPhase::Initialized, None, 900_000, false),
            (ClaimPhase::Deleting, Some(deleting(None)), 3_599, false),
            (ClaimPhase::Deleting, Some(deleting(None)), 3_600, true),
            (ClaimPhase::Deleting, Some(deleting(Some(ago(599)))), 7_200, false),
            (ClaimPhase::Deleting, Some(deleting(Some(ago(600)))), 1_200, true),
        ] {
            let claim = NodeClaim { phase, deletion, phase_since: ago(seconds), ..claim.clone() };
            let age = overdue(&claim, now());
            let expected = expected.then(|| SignedDuration::from_secs(seconds));
            assert_eq!(age, expected, "{phase} for {seconds} s");
        }
    }
}
