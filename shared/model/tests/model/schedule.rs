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
            "CRON_TZ=Europe/Berlim 0 9 * * *",
            "`Europe/Berlim` is not a time zone such as `Europe/Berlin`",
        ),
        (
            "TZ=europe/berlin 0 9 * * *",
            "`europe/berlin` is not a time zone such as `Europe/Berlin`; write `Europe/Berlin`",
        ),
        ("TZ= 0 9 * * *", "`` is not a time zone such as `Europe/Berlin`"),
        (
            "CRON_TZ=UTC @daily",
            "it must be five fields of cron (minute, hour, day of month, month, day of week) or one \
             of @annually, @yearly, @monthly, @weekly, @daily, @midnight, @hourly",
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

/// The first firings of `text` after `after`.
fn firings(text: &str, after: &str, count: usize) -> Vec<String> {
    let schedule = CronSchedule::parse(text).unwrap();
    let mut last: Timestamp = after.parse().unwrap();
    let next = |()| {
        last = schedule.next_after(last)?;
        Some(last.to_string())
    };
    std::iter::repeat_n((), count).map_while(next).collect()
}

#[test]
fn a_schedule_with_a_time_zone_fires_by_its_clocks() {
    // Berlin has summer time from 2026-03-29 to 2026-10-25.
    for prefix in ["TZ=", "CRON_TZ="] {
        let nine = firings(&format!("{prefix}Europe/Berlin 0 9 * * *"), "2026-03-27T08:00:00Z", 3);
        assert_eq!(nine, ["2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z", "2026-03-30T07:00:00Z"]);
    }
    // The day is the day there.
    assert_eq!(
        firings("TZ=Asia/Tokyo 0 3 * * mon", "2026-11-28T00:00:00Z", 1),
        ["2026-11-29T18:00:00Z"]
    );
    assert_eq!(firings("TZ=UTC 0 3 * * *", "2026-11-28T00:00:00Z", 1), ["2026-11-28T03:00:00Z"]);
}

#[test]
fn a_time_that_is_passed_over_never_fires_and_one_that_comes_twice_fires_twice() {
    let half_past = "CRON_TZ=Europe/Berlin 30 2 * * *";
    let spring = firings(half_past, "2026-03-28T00:00:00Z", 2);
    assert_eq!(spring, ["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"]);
    let autumn = firings(half_past, "2026-10-25T00:00:00Z", 3);
    assert_eq!(autumn, ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"]);
    let halves = firings("TZ=Europe/Berlin */30 * * * *", "2026-10-24T23:50:00Z", 5);
    let expected = ["00:00", "00:30", "01:00", "01:30", "02:00"];
    assert_eq!(halves, expected.map(|time| format!("2026-10-25T{time}:00Z")));
    // Where clocks are put back at midnight, the evening comes twice.
    let late = firings("TZ=America/Havana 30 0 * * *", "2026-11-01T03:00:00Z", 3);
    assert_eq!(late, ["2026-11-01T04:30:00Z", "2026-11-01T05:30:00Z", "2026-11-02T05:30:00Z"]);
}

#[test]
fn a_window_is_open_by_the_clocks_of_its_zone() {
    let schedule = CronSchedule::parse("CRON_TZ=America/New_York 0 9 * * mon-fri").unwrap();
    let hours = SignedDuration::from_hours(8);
    for (now, is_open) in [
        ("2026-07-01T12:59:00Z", false),
        ("2026-07-01T13:00:00Z", true),
        ("2026-07-01T21:00:00Z", false),
        ("2026-12-01T13:30:00Z", false),
        ("2026-12-01T14:00:00Z", true),
    ] {
        assert_eq!(schedule.is_active(hours, now.parse().unwrap()), is_open, "{now}");
    }
}
