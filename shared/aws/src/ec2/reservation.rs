//! Capacity reservations and placement groups.

use std::collections::BTreeMap;

use aws_sdk_ec2::{
    Client,
    types::{self, CapacityReservationType, Filter},
};
use jiff::Timestamp;
use model::{
    InstanceTypeName, Zone, limits,
    node_class::{
        CapacityReservation, MatchCriteria, PlacementGroup, PlacementGroupTerm, PlacementStrategy,
        ReservationTerm,
    },
};
use ports::{Fault, PortError};

use super::{filter, tag_filters};
use crate::fault::{BadAnswer, port_error};

const RESERVATIONS: &str = "DescribeCapacityReservations";
const GROUPS: &str = "DescribePlacementGroups";
const PAGE_SIZE: i32 = 1_000;

/// The active reservations that any of `terms` selects, sorted by id. One that is not there is left
/// out, and so is one of a kind that nobody here knows.
pub(super) async fn reservations(
    client: &Client,
    terms: &[ReservationTerm],
) -> Result<Vec<CapacityReservation>, PortError> {
    let mut all = BTreeMap::new();
    for term in terms {
        for found in described(client, term).await? {
            match from_reservation(&found) {
                Ok(reservation) => {
                    all.insert(reservation.id.clone(), reservation);
                }
                Err(problem) => tracing::warn!(problem, "capacity reservation left out"),
            }
        }
    }
    Ok(all.into_values().collect())
}

async fn described(
    client: &Client,
    term: &ReservationTerm,
) -> Result<Vec<types::CapacityReservation>, PortError> {
    let (id, filters) = query(term);
    let mut all = Vec::new();
    let mut token = None;
    for _ in 0..limits::PAGES_PER_LISTING_MAX {
        let request = client.describe_capacity_reservations().set_filters(Some(filters.clone()));
        // EC2 takes no page size beside ids.
        let request = match &id {
            Some(id) => request.capacity_reservation_ids(id),
            None => request.max_results(PAGE_SIZE),
        };
        let answer = match request.set_next_token(token).send().await {
            Ok(answer) => answer,
            Err(error) => match port_error(RESERVATIONS, error) {
                PortError { fault: Fault::NotFound, .. } => return Ok(Vec::new()),
                error => return Err(error),
            },
        };
        all.extend(answer.capacity_reservations.unwrap_or_default());
        token = answer.next_token.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(all);
        }
    }
    Err(BadAnswer::of(RESERVATIONS, "too many pages"))
}

/// An id or filters.
fn query(term: &ReservationTerm) -> (Option<String>, Vec<Filter>) {
    let mut filters = vec![filter("state", ["active"])];
    match term {
        ReservationTerm::Id(id) => (Some(id.clone()), filters),
        ReservationTerm::Search { tags, owner, match_criteria } => {
            filters.extend(tag_filters(tags));
            filters.extend(owner.iter().map(|owner| filter("owner-id", [owner])));
            let criteria = match_criteria.map(MatchCriteria::as_str);
            filters.extend(criteria.map(|criteria| filter("instance-match-criteria", [criteria])));
            (None, filters)
        }
    }
}

fn from_reservation(found: &types::CapacityReservation) -> Result<CapacityReservation, String> {
    let id = found.capacity_reservation_id().unwrap_or_default().to_owned();
    let wrong = |problem: String| format!("capacity reservation `{id}`: {problem}");
    let name = InstanceTypeName::new(found.instance_type().unwrap_or_default());
    let zone = Zone::new(found.availability_zone().unwrap_or_default());
    let match_criteria = match found.instance_match_criteria() {
        Some(types::InstanceMatchCriteria::Open) => MatchCriteria::Open,
        Some(types::InstanceMatchCriteria::Targeted) => MatchCriteria::Targeted,
        other => return Err(wrong(format!("unknown match criteria {other:?}"))),
    };
    let is_capacity_block = match found.reservation_type() {
        None | Some(CapacityReservationType::Default) => false,
        Some(CapacityReservationType::CapacityBlock) => true,
        Some(other) => return Err(wrong(format!("unknown type {other:?}"))),
    };
    let ends_at = found.end_date().map(|at| Timestamp::from_second(at.secs())).transpose();
    let free = found.available_instance_count().and_then(|count| u32::try_from(count).ok());
    Ok(CapacityReservation {
        instance_type: name.map_err(|error| wrong(error.to_string()))?,
        zone: zone.map_err(|error| wrong(error.to_string()))?,
        owner: found.owner_id().unwrap_or_default().to_owned(),
        match_criteria,
        is_capacity_block,
        is_interruptible: found.interruptible().unwrap_or_default(),
        // For whoever knows the time.
        is_expiring: false,
        ends_at: ends_at.map_err(|error| wrong(error.to_string()))?,
        available_count: free.unwrap_or(0),
        id,
    })
}

/// The available placement group that `term` names.
pub(super) async fn placement_group(
    client: &Client,
    term: &PlacementGroupTerm,
) -> Result<Option<PlacementGroup>, PortError> {
    let request = client.describe_placement_groups().filters(filter("state", ["available"]));
    let request = match term {
        PlacementGroupTerm::Id(id) => request.group_ids(id),
        PlacementGroupTerm::Name(name) => request.group_names(name),
    };
    match request.send().await {
        Ok(answer) => {
            let first = answer.placement_groups().first();
            first.map(from_group).transpose().map_err(|problem| BadAnswer::of(GROUPS, problem))
        }
        Err(error) => match port_error(GROUPS, error) {
            PortError { fault: Fault::NotFound, .. } => Ok(None),
            error => Err(error),
        },
    }
}

fn from_group(found: &types::PlacementGroup) -> Result<PlacementGroup, String> {
    let id = found.group_id().unwrap_or_default().to_owned();
    let strategy = match found.strategy() {
        Some(types::PlacementStrategy::Cluster) => PlacementStrategy::Cluster,
        Some(types::PlacementStrategy::Spread) => PlacementStrategy::Spread,
        Some(types::PlacementStrategy::Partition) => {
            let count = found.partition_count().and_then(|count| u32::try_from(count).ok());
            let missing = || format!("placement group `{id}` has no partition count");
            PlacementStrategy::Partition { count: count.ok_or_else(missing)? }
        }
        other => return Err(format!("placement group `{id}`: unknown strategy {other:?}")),
    };
    Ok(PlacementGroup { name: found.group_name().unwrap_or_default().to_owned(), id, strategy })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ec2::text_of;

    #[track_caller]
    fn check(term: &ReservationTerm, id: Option<&str>, expected: &str) {
        let (asked, filters) = query(term);
        assert_eq!(asked.as_deref(), id);
        assert_eq!(filters.iter().map(text_of).collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn an_id_is_asked_for_by_itself_and_everything_else_by_filters() {
        check(&ReservationTerm::Id("cr-1".to_owned()), Some("cr-1"), "state=active");
        let search = ReservationTerm::Search {
            tags: BTreeMap::from([("team".to_owned(), "*".to_owned())]),
            owner: Some("123456789012".to_owned()),
            match_criteria: Some(MatchCriteria::Targeted),
        };
        let expected = "state=active tag-key=team owner-id=123456789012 \
                        instance-match-criteria=targeted";
        check(&search, None, expected);
    }

    #[test]
    fn a_reservation_of_an_unknown_kind_is_not_guessed_at() {
        let found = types::CapacityReservation::builder()
            .capacity_reservation_id("cr-1")
            .owner_id("123456789012")
            .instance_type("p5.48xlarge")
            .availability_zone("us-west-2a")
            .available_instance_count(3)
            .instance_match_criteria(types::InstanceMatchCriteria::Targeted)
            .end_date(aws_smithy_types::DateTime::from_secs(1_000));
        let block = found.clone().reservation_type(CapacityReservationType::CapacityBlock);
        let block = from_reservation(&block.build()).unwrap();
        assert!(block.is_capacity_block && !block.is_interruptible);
        assert_eq!((block.available_count, block.ends_at.unwrap().as_second()), (3, 1_000));
        assert!(!from_reservation(&found.clone().build()).unwrap().is_capacity_block);
        let odd = found.reservation_type(CapacityReservationType::from("lease"));
        assert!(from_reservation(&odd.build()).is_err());
    }

    #[test]
    fn a_group_with_partitions_says_how_many() {
        let found = types::PlacementGroup::builder().group_id("pg-1").group_name("close");
        let cluster = found.clone().strategy(types::PlacementStrategy::Cluster).build();
        assert_eq!(from_group(&cluster).unwrap().strategy, PlacementStrategy::Cluster);
        let parts = found.strategy(types::PlacementStrategy::Partition);
        assert!(from_group(&parts.clone().build()).is_err());
        let seven = from_group(&parts.partition_count(7).build()).unwrap();
        assert_eq!(seven.strategy, PlacementStrategy::Partition { count: 7 });
    }
}
