//! Cron schedules of disruption budgets, in UTC: robfig's standard grammar and nothing else.

use jiff::{SignedDuration, Timestamp};
use model::schedule::*;

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

#[test]
fn what_is_no_schedule_is_explained_as_a_colleague_would() {
    for (text, said) in [
        ("0 0 * * sat-sun", "the range `sat-sun` runs backwards; write `sat,sun`"),
        ("0 0 * * 5-1", "the range `5-1` runs backwards; write `5-6,0-1`"),
        ("0 0 * nov-jan *", "the range `nov-jan` runs backwards; write `nov-dec,jan`"),
        ("0 22-6 * * *", "the range `22-6` runs backwards; write `22-23,0-6`"),
        ("0 0 * 5-0 *", "the range `5-0` runs backwards"),
        ("0 0 * * 9-3", "the range `9-3` runs backwards"),
        ("0 22-6/2 * * *", "the range `22-6/2` runs backwards"),
        ("30 10 * * 1-7", "the day of week must be 0 to 6, not `1-7`; Sunday is 0: write `0-6`"),
        (
            "0 0 * * mon,fri-7",
            "the day of week must be 0 to 6, not `fri-7`; Sunday is 0: write `fri-6,0`",
        ),
        (
            "0 0 * * sat-7",
            "the day of week must be 0 to 6, not `sat-7`; Sunday is 0: write `sat,0`",
        ),
        ("0 0 * * 7", "the day of week must be 0 to 6, not `7`; Sunday is 0: write `0`"),
        ("0 0 * * monday", "`monday` is not a day of week; write `mon`"),
        ("0 25 * * *", "the hour must be 0 to 23, not `25`"),
        ("*/0 * * * *", "the step of `*/0` must not be 0"),
        ("0 9 * * 5#2", "`5#2` is not a day of week"),
        ("a b c d e", "`a` is not a minute"),
        (
            "CRON_TZ=Europe/Berlin 0 9 * * mon-fri",
            "schedules are in UTC; leave `CRON_TZ=Europe/Berlin` out and write the time in UTC",
        ),
        (
            "0 9 * * 1 2026",
            "it must be five fields of cron (minute, hour, day of month, month, day of week) or one \
             of @annually, @yearly, @monthly, @weekly, @daily, @midnight, @hourly",
        ),
    ] {
        let why = CronSchedule::parse(text).unwrap_err().to_string();
        assert_eq!(why, format!("`{text}` is not a schedule: {said}"));
    }
}

#[test]
fn an_api_server_stores_more_than_schedules() {
    for (text, is_stored) in [
        ("0 9 * * 5#2", true),
        ("0 9 * * 1 2026", true),
        ("CRON_TZ=Europe/Berlin 0 9 * * mon-fri", true),
        ("@dailyish", true),
        ("0   9 * *", true),
        ("@every 1h", false),
        ("0 9 * *", false),
        ("0 9 * * ", false),
        ("", false),
    ] {
        assert_eq!(CronSchedule::is_stored(text), is_stored, "{text}");
    }
}
