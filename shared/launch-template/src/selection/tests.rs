//! The best image for each kind of instance types, and reservations that can still be used.

use model::{ImageId, InstanceTypeName, Zone, node_class::MatchCriteria};

use super::*;
use crate::testing::{now, requirement};

/// `id name architecture created`, made on that day of August.
fn image(text: &str) -> Image {
    let words: Vec<&str> = text.split(' ').collect();
    let &[id, name, architecture, day] = words.as_slice() else { panic!("{text}") };
    Image {
        id: ImageId::new(id).unwrap(),
        name: name.to_owned(),
        created_at: format!("2026-08-{day}T00:00:00Z").parse().ok(),
        deprecated_at: None,
        requirements: [requirement(&format!("arch={architecture}"))].into_iter().collect(),
    }
}

#[track_caller]
fn check_chosen(images: &[Image], expected: &str) {
    let chosen = chosen_images(images.to_vec(), now());
    let ids: Vec<&str> = chosen.iter().map(|image| image.id.as_str()).collect();
    assert_eq!(ids.join(" "), expected);
}

#[test]
fn of_the_images_for_the_same_types_the_newest_is_taken_and_of_equals_the_greater_name() {
    let (old, new) = (image("ami-1 a amd64 01"), image("ami-2 a amd64 02"));
    let arm = image("ami-3 a arm64 01");
    check_chosen(&[old.clone(), new.clone(), arm.clone()], "ami-2 ami-3");
    check_chosen(&[new, old, arm], "ami-2 ami-3");
    check_chosen(&[image("ami-2 b amd64 01"), image("ami-1 a amd64 01")], "ami-2");
    check_chosen(&[], "");
}

#[test]
fn an_older_image_that_is_not_deprecated_beats_a_newer_one_that_is() {
    let deprecated = |seconds: i64, text: &str| Image {
        deprecated_at: now().checked_add(SignedDuration::from_secs(seconds)).ok(),
        ..image(text)
    };
    let old = image("ami-1 a amd64 01");
    check_chosen(&[deprecated(-1, "ami-2 b amd64 09"), old.clone()], "ami-1");
    check_chosen(&[deprecated(0, "ami-2 b amd64 01"), old], "ami-1");
    check_chosen(
        &[deprecated(-1, "ami-2 b amd64 01"), deprecated(-1, "ami-3 a amd64 02")],
        "ami-3",
    );
    check_chosen(&[deprecated(1, "ami-9 a amd64 02"), image("ami-1 b amd64 01")], "ami-9");
}

fn reservation(id: &str, ends_in_minutes: i64, is_capacity_block: bool) -> CapacityReservation {
    CapacityReservation {
        id: id.parse().unwrap(),
        instance_type: InstanceTypeName::new("m7i.large").unwrap(),
        zone: Zone::new("us-west-2a").unwrap(),
        owner: "111122223333".to_owned(),
        match_criteria: MatchCriteria::Open,
        is_capacity_block,
        is_interruptible: false,
        is_expiring: false,
        ends_at: now().checked_add(SignedDuration::from_mins(ends_in_minutes)).ok(),
        available_count: 1,
    }
}

#[test]
fn a_capacity_block_expires_forty_minutes_before_its_end() {
    for (minutes, is_block, expected) in
        [(41, true, Some(false)), (40, true, Some(true)), (1, false, Some(false)), (0, false, None)]
    {
        let capacity_reservations =
            usable_reservations(vec![reservation("cr-1", minutes, is_block)], now());
        assert_eq!(
            capacity_reservations
                .first()
                .map(|capacity_reservation| capacity_reservation.is_expiring),
            expected,
            "{minutes}"
        );
    }
}

#[test]
fn reservations_stand_in_the_order_of_their_ids_each_once() {
    let capacity_reservations = ["cr-2", "cr-1", "cr-2"].map(|id| reservation(id, 60, false));
    let ids: Vec<String> = usable_reservations(capacity_reservations.to_vec(), now())
        .into_iter()
        .map(|capacity_reservation| capacity_reservation.id.to_string())
        .collect();
    assert_eq!(ids, ["cr-1", "cr-2"]);
}
