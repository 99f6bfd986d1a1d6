//! Capacity reservations.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityReservations.html>

use simulator::{AwsError, DescribedReservation};

use super::{Answer, Call, refused};
use crate::{
    filter::Filter,
    page::Page,
    parameters::refusal,
    xml::{Element, list, tags, text},
};

pub(super) async fn describe(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let ids = call.parameters.texts("CapacityReservationId");
    let is_paged = call.parameters.clone().text("MaxResults").is_some();
    if is_paged && !ids.is_empty() {
        let text = "The parameter capacityReservationIds cannot be used with the parameter \
                    maxResults";
        return Err(refused(refusal("InvalidParameterCombination", text)));
    }
    let page = Page::take(&mut call.parameters, 1..=1_000, call.page_max).map_err(refused)?;
    let filters = Filter::take(&mut call.parameters).map_err(refused)?;
    // Filters are judged even when there is nothing that they could apply to.
    for filter in &filters {
        is_known(filter).map_err(refused)?;
    }
    call.tried("DescribeCapacityReservations", is_dry).await?;
    let mut known = call.sim.describe_capacity_reservations().await?;
    if let Some(missing) = ids.iter().find(|id| {
        known.iter().all(|described_reservation| described_reservation.record.id.as_str() != **id)
    }) {
        let text = format!("The capacity reservation '{missing}' does not exist");
        return Err(refused(refusal("InvalidCapacityReservationId.NotFound", text)));
    }
    known.retain(|described_reservation| {
        (ids.is_empty() || ids.iter().any(|id| *id == described_reservation.record.id.as_str()))
            && filters.iter().all(|filter| passes(described_reservation, filter))
    });
    let (described_reservations, next) =
        if ids.is_empty() { page.of(known) } else { (known, None) };
    let mut children =
        vec![list("capacityReservationSet", described_reservations.iter().map(described))];
    children.extend(next);
    Ok(children)
}

fn is_known(filter: &Filter) -> Result<(), AwsError> {
    let name = filter.name.as_str();
    let is_known = matches!(
        name,
        "availability-zone"
            | "end-date-type"
            | "instance-match-criteria"
            | "instance-type"
            | "owner-id"
            | "state"
            | "tag-key"
    );
    if is_known || name.starts_with("tag:") { Ok(()) } else { Err(filter.unknown()) }
}

fn passes(described_reservation: &DescribedReservation, filter: &Filter) -> bool {
    let record = &described_reservation.record;
    match filter.name.as_str() {
        "availability-zone" => filter.has(record.zone.as_str()),
        "end-date-type" => filter.has(end_date_type(described_reservation)),
        "instance-match-criteria" => filter.has(record.match_criteria.as_str()),
        "instance-type" => filter.has(record.instance_type.as_str()),
        "owner-id" => filter.has(&record.owner),
        "state" => filter.has(described_reservation.state.as_str()),
        _ => filter.has_tag(&record.tags).unwrap_or(false),
    }
}

fn end_date_type(described_reservation: &DescribedReservation) -> &'static str {
    if described_reservation.record.ends_at.is_some() { "limited" } else { "unlimited" }
}

fn described(described_reservation: &DescribedReservation) -> Vec<Element> {
    let record = &described_reservation.record;
    let kind = if record.is_capacity_block { "capacity-block" } else { "default" };
    let mut item = vec![
        text("capacityReservationId", &record.id),
        text("ownerId", &record.owner),
        text("instanceType", &record.instance_type),
        text("instancePlatform", "Linux/UNIX"),
        text("availabilityZone", &record.zone),
        text("tenancy", "default"),
        text("totalInstanceCount", record.total_count),
        text("availableInstanceCount", described_reservation.available_count),
        text("instanceMatchCriteria", record.match_criteria.as_str()),
        text("reservationType", kind),
        text("interruptible", record.is_interruptible),
        text("state", described_reservation.state.as_str()),
        text("startDate", record.starts_at),
        text("endDateType", end_date_type(described_reservation)),
        tags("tagSet", &record.tags),
    ];
    item.extend(record.ends_at.map(|at| text("endDate", at)));
    item
}
