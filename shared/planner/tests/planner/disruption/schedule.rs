//! Cron schedules of disruption budgets, in UTC: robfig's standard grammar and nothing else.

use jiff::{SignedDuration, Timestamp};
use planner::disruption::schedule::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// From Friday 2026-11-20 12:00 UTC on.
#[track_caller]
fn check(schedule: &str, next: &str) {
    let firing = CronSchedule::parse(schedule).unwrap().next_after(at("2026-11-20T12:00:00Z"));
    assert_eq!(firing, Some(at(next)), "{schedule}");
}

#[test]
fn schedules_fire_as_robfig_says() {
    check("0 9 * * mon-fri", "2026-11-23T09:00:00Z");
    check("0 9 * * 1-5", "2026-11-23T09:00:00Z");
    check("0 9 * * 0", "2026-11-22T09:00:00Z");
    check("5/15 * * * *", "2026-11-20T12:05:00Z");
    check("*/15 * * * *", "2026-11-20T12:15:00Z");
    check("0 12 * * *", "2026-11-21T12:00:00Z");
    check("@hourly", "2026-11-20T13:00:00Z");
    check("@daily", "2026-11-21T00:00:00Z");
    check("@midnight", "2026-11-21T00:00:00Z");
    check("@weekly", "2026-11-22T00:00:00Z");
    check("@monthly", "2026-12-01T00:00:00Z");
    check("@yearly", "2027-01-01T00:00:00Z");
    check("0 0 1,15 JAN,Feb ?", "2027-01-01T00:00:00Z");
    check("30 10-14/2 20 11 *", "2026-11-20T12:30:00Z");
    check("0 0 29 2 *", "2028-02-29T00:00:00Z");
}

#[test]
fn two_restricted_fields_of_days_are_alternatives() {
    check("0 0 13 * 5", "2026-11-27T00:00:00Z");
    check("0 0 13 * *", "2026-12-13T00:00:00Z");
    // A step above one restricts, a step of one does not.
    check("0 0 13 * */2", "2026-11-21T00:00:00Z");
    check("0 0 13 * */1", "2026-12-13T00:00:00Z");
}

#[test]
fn what_robfig_refuses_is_refused() {
    for text in [
        "",
        "0 9 * *",
        "0 9 * * 7",
        "0 9 * * 5L",
        "0 9 L * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "5-1 * * * *",
        "*/0 * * * *",
        "1-2-3 * * * *",
        "1/2/3 * * * *",
        "@every 1h",
        "@never",
        "-1 * * * *",
        "0 0 * * monday",
    ] {
        assert!(CronSchedule::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_date_that_never_comes_never_fires() {
    assert_eq!(
        CronSchedule::parse("0 0 30 2 *").unwrap().next_after(at("2026-01-01T00:00:00Z")),
        None
    );
}

#[test]
fn a_window_is_open_from_its_firing_until_its_duration_passed() {
    let daily = CronSchedule::parse("0 9 * * *").unwrap();
    let hour = SignedDuration::from_hours(1);
    for (now, is_active) in [
        ("2026-11-20T08:59:59Z", false),
        ("2026-11-20T09:00:00Z", true),
        ("2026-11-20T09:59:59Z", true),
        ("2026-11-20T10:00:00Z", false),
    ] {
        assert_eq!(daily.is_active(hour, at(now)), is_active, "{now}");
    }
}
