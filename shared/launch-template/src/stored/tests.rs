//! What a class is by its status and by what EC2 says now; nothing else is ever launched from.

use std::collections::BTreeMap;

use model::{
    InstanceTypeName, SubnetId, Zone,
    condition::NotReady,
    launch::TemplateVersion,
    node_class::{
        CapacityReservation, ClassStatus, ImageFamily, ListedNodeClass, MatchCriteria, Obstacle,
        PlacementGroup, PlacementGroupTerm, PlacementStrategy, ResolvedTemplate, TemplateSource,
    },
};
use proptest::{
    collection::{btree_map, btree_set},
    option,
    prelude::*,
};

use super::{Live, of_status};
use crate::testing::{class, now, subnet};

fn status() -> ClassStatus {
    let resolved_node_class = class(ImageFamily::Al2023);
    let subnets = resolved_node_class.subnets.into_iter();
    ClassStatus {
        subnets: subnets
            .map(|stored| subnet(stored.id.as_str(), "us-west-2a", "usw2-az1", 0))
            .collect(),
        security_groups: resolved_node_class.security_groups,
        images: resolved_node_class.images,
        instance_profile: Some("golden_1".to_owned()),
        ..ClassStatus::default()
    }
}

fn listed(status: ClassStatus) -> ListedNodeClass {
    ListedNodeClass {
        class: class(ImageFamily::Al2023).class,
        not_ready: None,
        status: Some(status),
    }
}

/// This number of addresses is free in each subnet of the status.
fn live(free: u32) -> Live {
    let ids = status().subnets.into_iter().map(|subnet| subnet.id);
    Live { free_addresses: Some(ids.map(|id| (id, free)).collect()), ..Live::default() }
}

fn reservation(id: &str, ends_in_minutes: i64) -> CapacityReservation {
    CapacityReservation {
        id: id.parse().unwrap(),
        instance_type: InstanceTypeName::new("m7i.large").unwrap(),
        zone: Zone::new("us-west-2a").unwrap(),
        owner: "123456789012".to_owned(),
        match_criteria: MatchCriteria::Targeted,
        is_capacity_block: true,
        is_interruptible: false,
        is_expiring: false,
        ends_at: Some(now() + jiff::SignedDuration::from_mins(ends_in_minutes)),
        available_count: 0,
    }
}

#[track_caller]
fn refused(listed: &ListedNodeClass, live: &Live, expected: &str) {
    let obstacles = of_status(listed, live, now()).unwrap_err();
    assert_eq!(Obstacle::in_words(&obstacles), expected);
}

#[test]
fn a_class_that_is_not_ready_is_closed_whatever_its_status_selects() {
    for why in [NotReady::Unseen, NotReady::Stale, NotReady::ready(true, "SubnetsReady=False")] {
        let words = why.in_detail();
        let closed = ListedNodeClass { not_ready: Some(why), ..listed(status()) };
        refused(&closed, &live(1), &words);
    }
    let unread = ListedNodeClass { status: None, ..listed(status()) };
    refused(&unread, &live(1), "not checked yet");
    let mut deleting = listed(status());
    deleting.class.is_deleting = true;
    refused(&deleting, &live(1), "EC2NodeClass is being deleted");
}

#[test]
fn who_does_not_ask_for_addresses_takes_the_subnets_of_the_status() {
    let class = of_status(&listed(status()), &Live::default(), now()).unwrap();
    assert_eq!(class.subnets, status().subnets);
}

#[test]
fn what_is_gone_since_the_status_was_written_is_not_launched_into() {
    refused(
        &listed(status()),
        &Live { free_addresses: Some(BTreeMap::new()), ..Live::default() },
        "SubnetsNotFound: spec.subnetSelectorTerms select no subnet",
    );
    let reservations = ["cr-1", "cr-2", "cr-3", "cr-4"]
        .into_iter()
        .zip([60, 60, 30, -1])
        .map(|(id, minutes)| reservation(id, minutes))
        .collect();
    let reserved = listed(ClassStatus { reservations, ..status() });
    let left = [("cr-1", 2), ("cr-3", 3), ("cr-4", 4)];
    let reservations_left = left.map(|(id, count)| (id.parse().unwrap(), count)).into();
    let live = Live { reservations_left, ..live(1) };
    let capacity_reservations = of_status(&reserved, &live, now()).unwrap().reservations;
    let entries: Vec<_> = capacity_reservations
        .iter()
        .map(|capacity_reservation| {
            (
                capacity_reservation.id.as_str(),
                capacity_reservation.available_count,
                capacity_reservation.is_expiring,
            )
        })
        .collect();
    // The second is over, by EC2's word, the fourth by the time in the status.
    assert_eq!(entries, [("cr-1", 2, false), ("cr-3", 3, true)]);
}

#[test]
fn what_karpenters_status_has_no_field_for_must_be_written_beside_it() {
    let mut placed = listed(status());
    placed.class.placement_group = Some(PlacementGroupTerm::Name("apart".to_owned()));
    let missing = "its status cannot be read: it does not say which placement group it selects";
    refused(&placed, &live(1), missing);
    let group = PlacementGroup {
        id: "pg-1".parse().unwrap(),
        name: "apart".to_owned(),
        strategy: PlacementStrategy::Partition { count: 3 },
    };
    let stored = ClassStatus { placement_group: Some(group.clone()), ..status() };
    placed.status = Some(stored.clone());
    assert_eq!(of_status(&placed, &live(1), now()).unwrap().placement_group, Some(group));
    // One that the class does not select any more is left out without a fault.
    let unplaced = of_status(&listed(stored), &live(1), now()).unwrap();
    assert_eq!(unplaced.placement_group, None);

    let mut named = listed(status());
    let name: model::LaunchTemplateName = "mine".parse().unwrap();
    named.class.launch_template = TemplateSource::Named(name.clone());
    let missing = "its status cannot be read: it does not say which version of its launch template \
                   was looked at";
    refused(&named, &live(1), missing);
    named.status = Some(ClassStatus { launch_template_version: Some(7), ..status() });
    let version = TemplateVersion::Number(7);
    let expected = ResolvedTemplate::Named { name, version };
    assert_eq!(of_status(&named, &live(1), now()).unwrap().launch_template, expected);
}

/// Ids of subnets, of which some are in a status and some are there now.
fn ids() -> impl Strategy<Value = String> {
    "subnet-0[a-f]"
}

proptest! {
    #[test]
    fn a_status_and_what_is_live_give_a_class_that_has_nothing_else(
        in_status in btree_set(ids(), 0..6),
        there in btree_map(ids(), 0_u32..100, 0..6),
        not_ready in option::of(Just(NotReady::Stale)),
    ) {
        let in_status: Vec<String> = in_status.into_iter().rev().collect();
        let subnets = in_status.iter().map(|id| subnet(id, "us-west-2a", "usw2-az1", 0)).collect();
        let listed = ListedNodeClass {
            not_ready: not_ready.clone(),
            ..listed(ClassStatus { subnets, ..status() })
        };
        let id = |id: &String| SubnetId::new(id).unwrap();
        let free_addresses: BTreeMap<SubnetId, u32> =
            there.iter().map(|(key, free)| (id(key), *free)).collect();
        let live = Live { free_addresses: Some(free_addresses), ..Live::default() };
        let both: BTreeMap<SubnetId, u32> = in_status
            .iter()
            .filter_map(|key| Some((id(key), *there.get(key)?)))
            .collect();
        match of_status(&listed, &live, now()) {
            Ok(resolved) => {
                prop_assert_eq!(not_ready, None);
                // In the order of the ids, whatever that of the status is.
                let subnets = resolved.subnets.iter();
                let entries: Vec<_> = subnets
                    .map(|subnet| (subnet.id.clone(), subnet.available_ip_address_count))
                    .collect();
                prop_assert_eq!(entries, both.into_iter().collect::<Vec<_>>());
                prop_assert_eq!(&resolved.class, &listed.class);
                prop_assert_eq!(&resolved.images, &status().images);
                prop_assert_eq!(&resolved.security_groups, &status().security_groups);
            }
            Err(obstacles) => {
                let expected = match not_ready {
                    Some(why) => Obstacle::NotReady(why),
                    None => Obstacle::SubnetsNotFound,
                };
                prop_assert_eq!(obstacles, vec![expected.clone()]);
                prop_assert!(expected != Obstacle::SubnetsNotFound || both.is_empty());
            }
        }
    }
}
