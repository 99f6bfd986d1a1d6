//! What to do about an override that brought no instance.

use jiff::{SignedDuration, Timestamp};
use model::launch::{FleetError, FleetReaction, FleetRequest};

/// How long an offering without capacity is left alone. Karpenter: `UnavailableOfferingsTTL`.
const COOLING: SignedDuration = SignedDuration::from_mins(3);

/// When an offering that had no capacity at `now` may be tried again.
pub fn cooling_ends(now: Timestamp) -> Timestamp {
    now.checked_add(COOLING).unwrap_or(Timestamp::MAX)
}

/// What to do about `error`, one of those that the fleet request brought.
pub fn reaction(error: &FleetError, request: &FleetRequest) -> FleetReaction {
    let _ = request;
    FleetReaction::Refuse(error.message.clone())
}
