//! What could be bought: instance types and their offerings.

use model::{
    HourlyPrice, Requirement, Requirements, ReservationId, Zone, ZoneId, catalog::*, labels,
};

#[test]
fn an_offering_looks_at_no_label_but_those_that_it_names() {
    let reservation = Reservation {
        id: ReservationId::new("cr-1").unwrap(),
        count: 1,
        kind: "default".to_owned(),
        interruptible: false,
    };
    let reserved = Offering {
        zone: Zone::new("us-west-2a").unwrap(),
        zone_id: Some(ZoneId::new("usw2-az1").unwrap()),
        capacity_type: CapacityType::Reserved,
        price: HourlyPrice::default(),
        is_available: true,
        reservation: Some(reservation),
    };
    for key in labels::well_known() {
        let other = Requirement::of_label(key, "something-else").unwrap();
        let is_compatible = reserved.is_compatible(&Requirements::of_distinct([other]));
        assert_eq!(is_compatible, !Offering::LABELS.contains(&key), "{key}");
    }
}
