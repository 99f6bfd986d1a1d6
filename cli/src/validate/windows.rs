//! Disruption budgets whose windows never open, or never close.

use jiff::{SignedDuration, Timestamp};
use model::{
    node_pool::{Budget, BudgetNodes, BudgetWindow, NodePool},
    schedule::CronSchedule,
};

use super::warnings::{Spot, Warning, warning};

/// The last second before 2024, a leap year: schedules are looked at from here on.
const BASE: Timestamp = Timestamp::constant(1_704_067_199, 0);

/// For how long schedules are looked at: four years have each day of the calendar.
const SPAN: SignedDuration = SignedDuration::from_hours(24 * (4 * 365 + 1));

/// What the budgets of `pool` do not do.
pub(super) fn warnings(pool: &NodePool) -> impl Iterator<Item = Warning> {
    let budgets = pool.disruption.budgets.iter().enumerate();
    budgets.filter_map(|(index, budget)| {
        let window = budget.window.as_ref()?;
        let why = fault(budget, window)?;
        let text =
            format!("spec.disruption.budgets[{index}].schedule: `{}` {why}", window.schedule);
        Some(warning(Spot::Field("spec.disruption.budgets"), text))
    })
}

fn fault(budget: &Budget, window: &BudgetWindow) -> Option<String> {
    // What cannot be read is said already.
    let schedule = window.read_schedule().ok()?;
    let Some(gap) = longest_gap(&schedule) else {
        return Some("names no day that there is: the budget never applies".to_owned());
    };
    let is_shut = matches!(budget.nodes, BudgetNodes::Count(0) | BudgetNodes::Percent(0));
    (is_shut && gap <= window.duration).then(|| {
        let reasons: Vec<&str> = budget.reasons.iter().map(|reason| reason.as_str()).collect();
        let for_reasons = match reasons.as_slice() {
            [] => String::new(),
            reasons => format!(" for {}", reasons.join(", ")),
        };
        format!(
            "with the duration {} has no end: nodes are never disrupted{for_reasons}",
            model::duration::format_go(window.duration)
        )
    })
}

/// Whether the window opens again before it closes, each time: it never ends.
pub(crate) fn is_endless(window: &BudgetWindow) -> bool {
    let schedule = window.read_schedule().ok();
    schedule.and_then(|schedule| longest_gap(&schedule)).is_some_and(|gap| gap <= window.duration)
}

/// The longest time between two firings in a row; `None` if there is no firing.
fn longest_gap(schedule: &CronSchedule) -> Option<SignedDuration> {
    let first = schedule.next_after(BASE)?;
    // Each day that has firings has them at the same times.
    let midnight = BASE + SignedDuration::from_secs(1);
    let days = first.duration_since(midnight).as_hours() / 24;
    let end = midnight + SignedDuration::from_hours(24 * (days + 1));
    let (mut last, mut longest) = (first, SignedDuration::ZERO);
    while let Some(next) = schedule.next_after(last).filter(|next| *next < end) {
        longest = longest.max(next.duration_since(last));
        last = next;
    }
    let of_day = last.duration_since(first);
    let mut day = first;
    while let Some(next) = schedule.next_after(day + of_day) {
        longest = longest.max(next.duration_since(day + of_day));
        if SPAN < next.duration_since(BASE) {
            break;
        }
        day = next;
    }
    Some(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_has_its_longest_gap() {
        for (text, hours) in [
            ("0 0 30 2 *", None),
            ("0 0 31 4,6 *", None),
            ("* * * * *", Some(0)),
            ("0 * * * *", Some(1)),
            ("0 8-17 * * *", Some(15)),
            ("0 0 * * *", Some(24)),
            ("0 0 * * 1-5", Some(72)),
            ("0 0 1 * *", Some(31 * 24)),
            ("0 0 1 1 *", Some(366 * 24)),
        ] {
            let gap = longest_gap(&CronSchedule::parse(text).unwrap());
            assert_eq!(gap.map(|gap| gap.as_hours()), hours, "{text}");
        }
    }
}
