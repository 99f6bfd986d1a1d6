//! DescribeInstanceStatus: checks and scheduled events of instances that run.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceStatus.html>

use model::{
    InstanceId,
    interruption::{StatusProblem, StatusReport},
};
use simulator::AwsError;

use super::{Answer, Call, refused};
use crate::{
    filter::Filter,
    page::Page,
    xml::{Element, list, node, text},
};

/// The event that the account schedules.
const EVENT: &str = "instance-retirement";

/// Instances that have nothing to report are left out: no caller asks for them.
pub(super) async fn describe(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let page = Page::take(&mut call.parameters, 5..=1_000, call.page_max).map_err(refused)?;
    let filters = Filter::take(&mut call.parameters).map_err(refused)?;
    let ids: Vec<InstanceId> = call.parameters.all("InstanceId").map_err(refused)?;
    call.tried("DescribeInstanceStatus", is_dry).await?;
    let reports = call.sim.describe_instance_status().await?;
    let mut described: Vec<Vec<StatusReport>> = Vec::new();
    for report in reports.into_iter().filter(|r| ids.is_empty() || ids.contains(&r.instance)) {
        match described.last_mut() {
            Some(last) if last.iter().all(|other| other.instance == report.instance) => {
                last.push(report);
            }
            _ => described.push(vec![report]),
        }
    }
    let mut passing = Vec::new();
    for reports in described {
        if passes(&reports, &filters).map_err(refused)? {
            passing.push(reports);
        }
    }
    // Filters are judged even when there is nothing that they could apply to.
    passes(&[], &filters).map_err(refused)?;
    let (shown, next) = page.of(passing);
    let items = shown.iter().map(|reports| status(reports));
    let mut children = vec![list("instanceStatusSet", items)];
    children.extend(next);
    Ok(children)
}

fn passes(reports: &[StatusReport], filters: &[Filter]) -> Result<bool, AwsError> {
    let mut holds = true;
    for filter in filters {
        holds &= match filter.name.as_str() {
            "instance-status.status" => filter.has(word(since(reports, false).is_some())),
            "system-status.status" => filter.has(word(since(reports, true).is_some())),
            "event.code" => has_event(reports) && filter.has(EVENT),
            _ => return Err(filter.unknown()),
        };
    }
    Ok(holds)
}

fn word(is_impaired: bool) -> &'static str {
    if is_impaired { "impaired" } else { "ok" }
}

fn has_event(reports: &[StatusReport]) -> bool {
    reports.iter().any(|report| report.problem == StatusProblem::ScheduledEvent)
}

/// Since when the check of an instance or of its host fails, if it does.
fn since(reports: &[StatusReport], is_of_host: bool) -> Option<String> {
    let since = reports.iter().find_map(|report| match report.problem {
        StatusProblem::InstanceCheck { since } if !is_of_host => Some(since),
        StatusProblem::SystemCheck { since } if is_of_host => Some(since),
        _ => None,
    })?;
    Some(since.map(|since| since.to_string()).unwrap_or_default())
}

fn status(reports: &[StatusReport]) -> Vec<Element> {
    let id = reports.first().map(|report| report.instance.to_string()).unwrap_or_default();
    let events = has_event(reports).then(|| {
        let description = "The instance is running on degraded hardware";
        vec![text("code", EVENT), text("description", description)]
    });
    vec![
        text("instanceId", id),
        list("eventsSet", events),
        node("instanceStatus", summary(since(reports, false))),
        node("systemStatus", summary(since(reports, true))),
    ]
}

fn summary(since: Option<String>) -> Vec<Element> {
    let is_impaired = since.is_some();
    let mut details = vec![
        text("name", "reachability"),
        text("status", if is_impaired { "failed" } else { "passed" }),
    ];
    details.extend(since.filter(|since| !since.is_empty()).map(|at| text("impairedSince", at)));
    vec![text("status", word(is_impaired)), list("details", [details])]
}
