//! Capacity reservations and placement groups.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::{
    Client,
    types::{self, CapacityReservationType, Filter},
};
use jiff::Timestamp;
use model::{
    InstanceTypeName, PlacementGroupId, ReservationId, Zone, limits,
    limits::requests,
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

/// The active reservations that any of `terms` selects, sorted by id. One that is not there is left
/// out, and so is one of an unknown kind.
pub(super) async fn reservations(
    client: &Client,
    terms: &[ReservationTerm],
) -> Result<Vec<CapacityReservation>, PortError> {
    let mut described = Vec::new();
    for query in queries(terms) {
        match page_by_page(client, &query).await {
            Ok(capacity_reservations) => described.extend(capacity_reservations),
            // One id that is not there has EC2 refuse the others, too.
            Err(PortError { fault: Fault::NotFound, .. }) => {
                for id in query.ids {
                    match page_by_page(client, &Query::of_ids([id])).await {
                        Ok(capacity_reservations) => described.extend(capacity_reservations),
                        Err(PortError { fault: Fault::NotFound, .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
    }
    let mut reservations = BTreeMap::new();
    for capacity_reservation in described {
        match from_reservation(&capacity_reservation) {
            Ok(reservation) => {
                reservations.insert(reservation.id.clone(), reservation);
            }
            Err(problem) => tracing::warn!(problem, "capacity reservation left out"),
        }
    }
    Ok(reservations.into_values().collect())
}

async fn page_by_page(
    client: &Client,
    query: &Query,
) -> Result<Vec<types::CapacityReservation>, PortError> {
    let mut capacity_reservations = Vec::new();
    let mut token = None;
    for _ in 0..limits::PAGES_PER_LISTING_MAX {
        let request =
            client.describe_capacity_reservations().set_filters(Some(query.filters.clone()));
        // EC2 takes no page size beside ids.
        let request = if query.ids.is_empty() {
            request.max_results(requests::ENTRIES_PER_PAGE.into())
        } else {
            request.set_capacity_reservation_ids(Some(query.ids.clone()))
        };
        let answer = request
            .set_next_token(token)
            .send()
            .await
            .map_err(|error| port_error(RESERVATIONS, error))?;
        capacity_reservations.extend(answer.capacity_reservations.unwrap_or_default());
        token = answer.next_token.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(capacity_reservations);
        }
    }
    Err(BadAnswer::of(RESERVATIONS, "too many pages"))
}

/// One query of EC2.
#[derive(Debug)]
struct Query {
    /// Reservations to describe; all of them where it is empty.
    ids: Vec<String>,
    filters: Vec<Filter>,
}

impl Query {
    fn of_ids(ids: impl IntoIterator<Item = String>) -> Self {
        Self { ids: ids.into_iter().collect(), filters: vec![filter("state", ["active"])] }
    }
}

/// All ids together, everything else by itself.
fn queries(terms: &[ReservationTerm]) -> Vec<Query> {
    let (mut ids, mut queries) = (BTreeSet::new(), Vec::new());
    for term in terms {
        match term {
            ReservationTerm::Id(id) => {
                ids.insert(id.clone());
            }
            ReservationTerm::Search { tags, owner, match_criteria } => {
                let mut query = Query::of_ids([]);
                query.filters.extend(tag_filters(tags));
                query.filters.extend(owner.iter().map(|owner| filter("owner-id", [owner])));
                let criteria = match_criteria.map(MatchCriteria::as_str);
                let criteria = criteria.map(|name| filter("instance-match-criteria", [name]));
                query.filters.extend(criteria);
                queries.push(query);
            }
        }
    }
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    queries.extend(
        ids.chunks(requests::FILTER_VALUES_MAX.into())
            .map(|ids| Query::of_ids(ids.iter().cloned())),
    );
    queries
}

fn from_reservation(
    capacity_reservation: &types::CapacityReservation,
) -> Result<CapacityReservation, String> {
    let id = capacity_reservation.capacity_reservation_id().unwrap_or_default().to_owned();
    let wrong = |problem: String| format!("capacity reservation `{id}`: {problem}");
    let name = InstanceTypeName::new(capacity_reservation.instance_type().unwrap_or_default());
    let zone = Zone::new(capacity_reservation.availability_zone().unwrap_or_default());
    let match_criteria = match capacity_reservation.instance_match_criteria() {
        Some(types::InstanceMatchCriteria::Open) => MatchCriteria::Open,
        Some(types::InstanceMatchCriteria::Targeted) => MatchCriteria::Targeted,
        other => return Err(wrong(format!("unknown match criteria {other:?}"))),
    };
    let is_capacity_block = match capacity_reservation.reservation_type() {
        None | Some(CapacityReservationType::Default) => false,
        Some(CapacityReservationType::CapacityBlock) => true,
        Some(other) => return Err(wrong(format!("unknown type {other:?}"))),
    };
    let ends_at =
        capacity_reservation.end_date().map(|at| Timestamp::from_second(at.secs())).transpose();
    let free =
        capacity_reservation.available_instance_count().and_then(|count| u32::try_from(count).ok());
    Ok(CapacityReservation {
        instance_type: name.map_err(|error| wrong(error.to_string()))?,
        zone: zone.map_err(|error| wrong(error.to_string()))?,
        owner: capacity_reservation.owner_id().unwrap_or_default().to_owned(),
        match_criteria,
        is_capacity_block,
        is_interruptible: capacity_reservation.interruptible().unwrap_or_default(),
        // The caller knows the time.
        is_expiring: false,
        ends_at: ends_at.map_err(|error| wrong(error.to_string()))?,
        available_count: free.unwrap_or(0),
        id: ReservationId::new(&id).map_err(|error| wrong(error.to_string()))?,
    })
}

/// The available placement group that `term` names.
pub(super) async fn placement_group(
    client: &Client,
    term: &PlacementGroupTerm,
) -> Result<Option<PlacementGroup>, PortError> {
    let request = client.describe_placement_groups().filters(filter("state", ["available"]));
    let request = match term {
        PlacementGroupTerm::Id(id) => request.group_ids(id.as_str()),
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

fn from_group(placement_group: &types::PlacementGroup) -> Result<PlacementGroup, String> {
    let id = placement_group.group_id().unwrap_or_default().to_owned();
    let strategy = match placement_group.strategy() {
        Some(types::PlacementStrategy::Cluster) => PlacementStrategy::Cluster,
        Some(types::PlacementStrategy::Spread) => PlacementStrategy::Spread,
        Some(types::PlacementStrategy::Partition) => {
            let count =
                placement_group.partition_count().and_then(|count| u32::try_from(count).ok());
            let missing = || format!("placement group `{id}` has no partition count");
            PlacementStrategy::Partition { count: count.ok_or_else(missing)? }
        }
        other => return Err(format!("placement group `{id}`: unknown strategy {other:?}")),
    };
    Ok(PlacementGroup {
        name: placement_group.group_name().unwrap_or_default().to_owned(),
        id: PlacementGroupId::new(&id).map_err(|error| error.to_string())?,
        strategy,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ec2::text_of;

    #[test]
    fn ids_are_asked_for_together_and_everything_else_by_filters() {
        let search = ReservationTerm::Search {
            tags: BTreeMap::from([("team".to_owned(), "*".to_owned())]),
            owner: Some("123456789012".to_owned()),
            match_criteria: Some(MatchCriteria::Targeted),
        };
        let id = |id: &str| ReservationTerm::Id(id.parse().unwrap());
        let queries = queries(&[id("cr-2"), search, id("cr-1"), id("cr-2")]);
        let text = |query: &Query| {
            let filters: Vec<String> = query.filters.iter().map(text_of).collect();
            format!("{} {}", query.ids.join(","), filters.join(" "))
        };
        let expected = [
            " state=active tag-key=team owner-id=123456789012 instance-match-criteria=targeted",
            "cr-1,cr-2 state=active",
        ];
        assert_eq!(queries.iter().map(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_reservation_of_an_unknown_kind_is_not_guessed_at() {
        let capacity_reservation_builder = types::CapacityReservation::builder()
            .capacity_reservation_id("cr-1")
            .owner_id("123456789012")
            .instance_type("p5.48xlarge")
            .availability_zone("us-west-2a")
            .available_instance_count(3)
            .instance_match_criteria(types::InstanceMatchCriteria::Targeted)
            .end_date(aws_smithy_types::DateTime::from_secs(1_000));
        let block = capacity_reservation_builder
            .clone()
            .reservation_type(CapacityReservationType::CapacityBlock);
        let block = from_reservation(&block.build()).unwrap();
        assert!(block.is_capacity_block && !block.is_interruptible);
        assert_eq!((block.available_count, block.ends_at.unwrap().as_second()), (3, 1_000));
        assert!(
            !from_reservation(&capacity_reservation_builder.clone().build())
                .unwrap()
                .is_capacity_block
        );
        let odd =
            capacity_reservation_builder.reservation_type(CapacityReservationType::from("lease"));
        assert!(from_reservation(&odd.build()).is_err());
    }

    #[test]
    fn a_group_with_partitions_says_how_many() {
        let placement_group_builder =
            types::PlacementGroup::builder().group_id("pg-1").group_name("close");
        let cluster =
            placement_group_builder.clone().strategy(types::PlacementStrategy::Cluster).build();
        assert_eq!(from_group(&cluster).unwrap().strategy, PlacementStrategy::Cluster);
        let parts = placement_group_builder.strategy(types::PlacementStrategy::Partition);
        assert!(from_group(&parts.clone().build()).is_err());
        let seven = from_group(&parts.partition_count(7).build()).unwrap();
        assert_eq!(seven.strategy, PlacementStrategy::Partition { count: 7 });
    }
}
