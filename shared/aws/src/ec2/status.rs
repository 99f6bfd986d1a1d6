//! Instances whose checks fail, or for which EC2 scheduled events: DescribeInstanceStatus.
//!
//! EC2 joins filters by "and", so each kind of problem is a question of its own, asked side by side, whatever
//! the number of instances. An instance that is found by one is reported with all its problems, as Karpenter does:
//! `pkg/providers/instancestatus/provider.go` of the AWS provider.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceStatus.html>

use std::collections::BTreeSet;

use aws_sdk_ec2::{
    Client,
    types::{self, EventCode, Filter, InstanceStatusSummary, StatusType},
};
use futures_util::future::try_join3;
use jiff::Timestamp;
use model::{
    InstanceId,
    interruption::{StatusProblem, StatusReport},
    limits,
    limits::requests,
};
use ports::PortError;

use super::filter;
use crate::fault::{BadAnswer, port_error};

const DESCRIBE: &str = "DescribeInstanceStatus";
/// Every code but those that a later API knows.
const EVENTS: [EventCode; 5] = [
    EventCode::InstanceReboot,
    EventCode::SystemReboot,
    EventCode::SystemMaintenance,
    EventCode::InstanceRetirement,
    EventCode::InstanceStop,
];
/// What the description of an event that is over begins with; it is listed for a week.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceStatusEvent.html>
const OVER: [&str; 2] = ["[Completed]", "[Canceled]"];

/// What is wrong with running instances of the account.
pub(super) async fn impaired(client: &Client) -> Result<Vec<StatusReport>, PortError> {
    let of_instances = listed(client, filter("instance-status.status", ["impaired"]));
    let of_hosts = listed(client, filter("system-status.status", ["impaired"]));
    let of_events = listed(client, filter("event.code", EVENTS.iter().map(EventCode::as_str)));
    let (instances, hosts, events) = Box::pin(try_join3(of_instances, of_hosts, of_events)).await?;
    let reports: BTreeSet<StatusReport> =
        instances.into_iter().chain(hosts).chain(events).collect();
    Ok(reports.into_iter().collect())
}

async fn listed(client: &Client, filter: Filter) -> Result<Vec<StatusReport>, PortError> {
    let (mut reports, mut token) = (Vec::new(), None);
    for _ in 0..limits::PAGES_PER_LISTING_MAX {
        let request = client
            .describe_instance_status()
            .max_results(requests::ENTRIES_PER_PAGE.into())
            .filters(filter.clone())
            .set_next_token(token);
        let answer = request.send().await.map_err(|error| port_error(DESCRIBE, error))?;
        reports.extend(answer.instance_statuses().iter().flat_map(from_status));
        token = answer.next_token.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(reports);
        }
    }
    Err(BadAnswer::of(DESCRIBE, "too many pages"))
}

/// What is wrong with one instance. One without a usable id is ignored.
pub(crate) fn from_status(status: &types::InstanceStatus) -> Vec<StatusReport> {
    let Ok(instance) = InstanceId::new(status.instance_id().unwrap_or_default()) else {
        return Vec::new();
    };
    let of_instance =
        failed(status.instance_status()).map(|since| StatusProblem::InstanceCheck { since });
    let of_host = failed(status.system_status()).map(|since| StatusProblem::SystemCheck { since });
    let is_scheduled = status.events().iter().any(is_to_come);
    let event = is_scheduled.then_some(StatusProblem::ScheduledEvent);
    let problems = of_instance.chain(of_host).chain(event);
    problems.map(|problem| StatusReport { instance: instance.clone(), problem }).collect()
}

/// Since when each check fails that does.
fn failed(
    summary: Option<&InstanceStatusSummary>,
) -> impl Iterator<Item = Option<Timestamp>> + use<'_> {
    let details = summary.into_iter().flat_map(InstanceStatusSummary::details);
    let failed = details.filter(|detail| detail.status() == Some(&StatusType::Failed));
    failed.map(|detail| {
        let since = detail.impaired_since()?;
        let nanos = i32::try_from(since.subsec_nanos()).unwrap_or_default();
        Timestamp::new(since.secs(), nanos).ok()
    })
}

/// Whether an event is still to come, of whatever kind: the question was for five.
fn is_to_come(event: &types::InstanceStatusEvent) -> bool {
    let description = event.description().unwrap_or_default();
    !OVER.iter().any(|over| description.starts_with(over))
}
