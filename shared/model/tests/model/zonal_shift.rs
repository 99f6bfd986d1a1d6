//! That traffic of a cluster is shifted away from a zone: Amazon Application Recovery Controller.

use jiff::{SignedDuration, Timestamp};
use model::{Zone, ZoneId, zonal_shift::*};

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
