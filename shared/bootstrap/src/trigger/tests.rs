//! Every sample event is understood by its own function, and by nobody else.

use std::path::Path;

use serde_json::Value;

use super::*;
use crate::envelope::{Envelope, open};

fn settings() -> Settings {
    let get = |name: &str| {
        Some(match name {
            crate::settings::variables::CLUSTER_NAME => "demo".to_owned(),
            crate::settings::variables::DISABLE_DRY_RUN
            | crate::settings::variables::LOG_LEVEL
            | crate::settings::variables::POLL_INTERVAL_SECONDS => String::new(),
            name => name.to_lowercase(),
        })
    };
    Settings::read(get).unwrap()
}

/// The deliveries in the sample event called `name`.
fn sample(name: &str) -> Vec<Source> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events");
    let text = std::fs::read_to_string(directory.join(format!("{name}.json"))).unwrap();
    match open(serde_json::from_str(&text).unwrap(), "request").unwrap() {
        Envelope::Batch(items) => items.into_iter().map(|item| item.source).collect(),
        Envelope::Single(item) => vec![item.source],
    }
}

/// What each function makes of `source`: `-` for nothing, `!` for a failure.
fn read_by_all(source: &Source) -> Vec<(&'static str, String)> {
    fn shown<T: std::fmt::Debug>(read: Result<Option<T>, Failure>) -> String {
        match read {
            Ok(Some(trigger)) => format!("{trigger:?}"),
            Ok(None) => "-".to_owned(),
            Err(_) => "!".to_owned(),
        }
    }
    let settings = settings();
    vec![
        ("provision", shown(provision(&settings, source))),
        ("interrupt", shown(interrupt(&settings, source))),
        ("disrupt", shown(disrupt(&settings, source))),
        ("launch", shown(launch(&settings, source))),
        ("settle", shown(settle(&settings, source))),
        ("drain", shown(drain(&settings, source))),
    ]
}

#[track_caller]
fn check(name: &str, function: &str, expected: &str) {
    let sources = sample(name);
    assert_eq!(sources.len(), 1, "{name}");
    for (reader, text) in read_by_all(&sources[0]) {
        if reader == function {
            assert_eq!(text, expected, "{name} read by {reader}");
        } else {
            // A record of the stream may reach a function that has nothing to do with its phase.
            assert!(text == "!" || text == "-", "{name} read by {reader}: {text}");
        }
    }
}

#[test]
fn schedules_say_what_to_look_for() {
    check(
        "provision-schedule",
        "provision",
        "ProvisionTrigger { source: Schedule, poll_interval_seconds: 5 }",
    );
    check("disrupt-emptiness", "disrupt", "Schedule(Graceful(Empty))");
    check("disrupt-forced", "disrupt", "Schedule(Forced)");
}

#[test]
fn messages_ask_their_function_to_look_again() {
    check(
        "provision-queue",
        "provision",
        "ProvisionTrigger { source: Tick(7), poll_interval_seconds: 5 }",
    );
    check(
        "disrupt-queue",
        "disrupt",
        "Validate(Command { method: Emptiness, found_at: 2026-11-21T12:00:00Z, \
         candidates: [\"default-1-0\"], replacements: [] })",
    );
    check("launch-queue", "launch", "Claim(\"default-1-0\")");
    check(
        "launch-dry-run-queue",
        "launch",
        "DryRun(DryRunTrigger { class: \"default\", key: \"00c0ffee00c0ffee\", \
         asked_at: 2026-11-21T12:00:00Z })",
    );
    check("settle-queue", "settle", "\"default-1-0\"");
    check("drain-queue", "drain", "\"default-1-0\"");
}

#[test]
fn the_stream_wakes_the_function_of_the_claims_phase() {
    check("launch-stream", "launch", "Claim(\"default-1-0\")");
    check("settle-stream", "settle", "\"default-1-0\"");
    check("drain-stream", "drain", "\"default-1-0\"");
}

#[test]
fn events_about_instances_are_for_interrupt() {
    for (name, kind, at) in [
        ("interrupt-spot", "SpotInterruption", "2026-11-21T12:00:00Z"),
        ("interrupt-state-change", "InstanceEnding", "2026-11-21T12:00:00Z"),
    ] {
        let expected =
            format!("Interruption {{ kind: {kind}, instance: \"i-0a1b2c3d4e5f60718\", at: {at} }}");
        check(name, "interrupt", &expected);
    }
}

fn message_about(cluster: &str) -> Source {
    let body = r#"{"version":1,"cluster":"demo","message":{"kind":"settle","claim":"a"}}"#;
    Source::Message(body.replace("demo", cluster))
}

#[test]
fn a_message_about_another_cluster_is_not_ours() {
    let claim = NodeClaimName::new("a").unwrap();
    assert_eq!(settle(&settings(), &message_about("demo")), Ok(Some(claim)));
    let failure = settle(&settings(), &message_about("other")).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "MalformedEvent: it is about cluster `other`, and `demo` is served here"
    );
}

#[test]
fn an_unknown_kind_of_event_is_acknowledged_and_a_malformed_one_is_not() {
    let settings = settings();
    let event = |detail_type: &str| {
        let mut event: Value = match &sample("interrupt-spot")[0] {
            Source::Message(body) => serde_json::from_str(body).unwrap(),
            other => panic!("{other:?}"),
        };
        event["detail-type"] = Value::from(detail_type);
        Source::Message(event.to_string())
    };
    assert_eq!(interrupt(&settings, &event("EC2 Fleet Instance Change")), Ok(None));
    assert_eq!(interrupt(&settings, &event("EC2 Instance Rebalance Recommendation")), Ok(None));
    let malformed = interrupt(&settings, &Source::Message("{".to_owned())).unwrap_err();
    assert!(malformed.is_malformed());
}

#[test]
fn nonsense_is_refused_by_everybody() {
    for source in [
        Source::Event(r#"{"nonsense":true}"#.to_owned()),
        Source::Message(r#"{"nonsense":true}"#.to_owned()),
        Source::Message(String::new()),
    ] {
        for (reader, text) in read_by_all(&source) {
            assert_eq!(text, "!", "{source:?} read by {reader}");
        }
    }
}
