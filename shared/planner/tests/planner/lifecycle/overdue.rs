//! Claims that are in a phase for longer than anything there should take: a person should look.

use jiff::SignedDuration;
use model::{ClaimPhase, DeletionReason, NodeClaim, claim::Deletion};
use planner::lifecycle::overdue::*;

use crate::planner::support::*;

#[test]
fn a_claim_that_stays_too_long_in_its_phase_is_found() {
    let mut facts = facts(Vec::new());
    let claim = add_managed(&mut facts, "a");
    let deleting =
        |deadline| Deletion { reason: DeletionReason::Expired, at: ago(7_200), deadline };
    for (phase, deletion, seconds, expected) in [
        (ClaimPhase::Created, None, 599, false),
        (ClaimPhase::Created, None, 600, true),
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
