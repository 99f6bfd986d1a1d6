//! That traffic of a cluster is shifted away from a zone: Amazon Application Recovery Controller.
//!
//! Karpenter: `pkg/providers/zonalshift` of the AWS provider;
//! <https://docs.aws.amazon.com/arc-zonal-shift/latest/api/API_GetManagedResource.html>.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::{Zone, ZoneId};

/// How long a shift counts that says nothing about its end, from when it was seen.
const SEEN_FOR: SignedDuration = SignedDuration::from_mins(10);

/// A shift that is in effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ZonalShift {
    /// The zone that traffic is moved away from.
    pub away_from: ZoneId,
    /// When it ends at the latest; `None` of one that AWS started by itself.
    pub ends_at: Option<Timestamp>,
}

/// The zones that `shifts` lead away from at `now`, each with the time until which that counts. `zones` are the
/// zones of the region with their ids.
pub fn shifted_zones(
    shifts: &[ZonalShift],
    zones: &BTreeMap<Zone, ZoneId>,
    now: Timestamp,
) -> BTreeMap<Zone, Timestamp> {
    let until = |id: &ZoneId| {
        let of_zone = shifts.iter().filter(|shift| shift.away_from == *id);
        let ends =
            of_zone.filter_map(|shift| shift.ends_at.or_else(|| now.checked_add(SEEN_FOR).ok()));
        ends.max().filter(|until| now < *until)
    };
    zones.iter().filter_map(|(zone, id)| Some((zone.clone(), until(id)?))).collect()
}
