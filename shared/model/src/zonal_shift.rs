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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_left_until_the_last_of_its_shifts_ends() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let after = |minutes| now + SignedDuration::from_mins(minutes);
        let shift = |id: &str, ends_at| ZonalShift { away_from: ZoneId::new(id).unwrap(), ends_at };
        let zones =
            [("us-west-2a", "usw2-az2"), ("us-west-2b", "usw2-az1"), ("us-west-2c", "usw2-az3")];
        let zones = zones.map(|(zone, id)| (Zone::new(zone).unwrap(), ZoneId::new(id).unwrap()));
        let shifts = [
            shift("usw2-az1", Some(after(60))),
            shift("usw2-az1", Some(after(30))),
            shift("usw2-az2", None),
            // Over, and of another region.
            shift("usw2-az3", Some(now)),
            shift("use1-az1", None),
        ];
        let shifted = shifted_zones(&shifts, &zones.into(), now);
        let shown: Vec<_> = shifted.iter().map(|(zone, until)| (zone.as_str(), *until)).collect();
        assert_eq!(shown, [("us-west-2a", after(10)), ("us-west-2b", after(60))]);
    }
}
