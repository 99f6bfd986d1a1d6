//! `spec.disruption` of a NodePool.
//!
//! Karpenter: `pkg/apis/v1/nodepool.go`, `Disruption` and `Budget`.

use jiff::SignedDuration;
use model::{
    duration,
    node_pool::{Budget, BudgetNodes, BudgetWindow, ConsolidationPolicy, Disruption},
};

use super::cures;
use crate::{
    document::field::{Field, Fields},
    karpenter::word::Words,
};

const BUDGETS_MAX: usize = 50;

const NAMED_SCHEDULES: [&str; 7] =
    ["@annually", "@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Reads the block. What it leaves out has the API's defaults.
pub(crate) fn read(field: &Field<'_>) -> Disruption {
    let default = Disruption::default();
    let Some(mut fields) = field.fields() else { return default };
    let consolidate_after = fields
        .get("consolidateAfter")
        .and_then(|field| field.parsed(duration::parse_nillable))
        .unwrap_or(default.consolidate_after);
    let policy = fields.get("consolidationPolicy").and_then(|field| read_policy(&field));
    let budgets = fields.get("budgets").and_then(|field| field.list_up_to(BUDGETS_MAX));
    let budgets = match budgets {
        Some(items) => items.iter().filter_map(read_budget).collect(),
        None => default.budgets,
    };
    fields.done_with(cures::disruption);
    Disruption { consolidate_after, policy: policy.unwrap_or_default(), budgets }
}

fn read_policy(field: &Field<'_>) -> Option<ConsolidationPolicy> {
    if field.text()? == "WhenUnderutilized" {
        field.complain_with(
            "`WhenUnderutilized` is the name of v1beta1",
            "write `WhenEmptyOrUnderutilized`",
        );
        return None;
    }
    field.choice(Words::WORDS)
}

fn read_budget(item: &Field<'_>) -> Option<Budget> {
    let mut fields = item.fields()?;
    let nodes = match fields.get("nodes") {
        Some(field) => read_nodes(&field),
        None => Some(BudgetNodes::Percent(10)),
    };
    let reasons_field = fields.get("reasons");
    let reasons = reasons_field.and_then(|field| field.list_up_to(BUDGETS_MAX));
    let reasons = reasons.unwrap_or_default();
    for (index, reason) in reasons.iter().enumerate() {
        if reasons.iter().take(index).any(|before| before.tree().value == reason.tree().value) {
            reason.complain("stands there twice");
        }
    }
    let reasons: Option<Vec<_>> =
        reasons.iter().map(|reason| reason.choice(Words::WORDS)).collect();
    let window = read_window(item, &mut fields);
    fields.done();
    Some(Budget { nodes: nodes?, reasons: reasons?, window })
}

/// `None` is always; what is wrong was complained about, and the whole pool is refused.
fn read_window(item: &Field<'_>, fields: &mut Fields<'_>) -> Option<BudgetWindow> {
    match (fields.get("schedule"), fields.get("duration")) {
        (None, None) => None,
        (Some(schedule), Some(duration)) => {
            let schedule = read_schedule(&schedule);
            let duration = read_duration(&duration);
            Some(BudgetWindow { schedule: schedule?, duration: duration? })
        }
        (Some(_), None) | (None, Some(_)) => {
            item.complain("`schedule` and `duration` must be set together");
            None
        }
    }
}

fn read_nodes(field: &Field<'_>) -> Option<BudgetNodes> {
    let text = field.text()?;
    let parsed = match text.strip_suffix('%') {
        Some(percent) => {
            percent.parse().ok().filter(|n| *n <= 100 && digits(percent)).map(BudgetNodes::Percent)
        }
        None => text.parse().ok().filter(|_| digits(text)).map(BudgetNodes::Count),
    };
    if parsed.is_none() {
        field.complain(format!(
            "`{text}` is neither a count such as `5` nor a share such as `10%` of at most 100%"
        ));
    }
    parsed
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

fn read_schedule(field: &Field<'_>) -> Option<String> {
    let text = field.text()?;
    let is_field = |part: &str| {
        part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '*' | '/' | ',' | '-' | '?'))
    };
    let parts: Vec<_> = text.split_whitespace().collect();
    if NAMED_SCHEDULES.contains(&text) || parts.len() == 5 && parts.iter().all(|p| is_field(p)) {
        return Some(text.to_owned());
    }
    field.complain(format!(
        "`{text}` is not a schedule: it must be five fields of cron or one of {}",
        NAMED_SCHEDULES.join(", ")
    ));
    None
}

/// Hours, then minutes, either of them or both; `0s` may follow.
fn read_duration(field: &Field<'_>) -> Option<SignedDuration> {
    let text = field.text()?;
    let without_seconds = text.strip_suffix("0s").filter(|rest| rest.ends_with(['h', 'm']));
    let without_seconds = without_seconds.unwrap_or(text);
    let units: String = without_seconds.chars().filter(|c| !c.is_ascii_digit()).collect();
    let parsed = duration::parse_groups(without_seconds).ok();
    let parsed = parsed.filter(|_| matches!(units.as_str(), "h" | "m" | "hm"));
    if parsed.is_none() {
        field.complain(format!("`{text}` is not a duration in hours and minutes such as `1h30m`"));
    }
    parsed
}
