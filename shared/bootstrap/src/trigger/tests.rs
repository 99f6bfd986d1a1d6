//! Every sample event is understood by its own function, and by no other.

use std::path::Path;

use serde_json::Value;

use super::*;
use crate::envelope::{Envelope, open};

fn environment() -> Environment {
    let get = |name: &str| {
        Some(match name {
            crate::environment::variables::CLUSTER_NAME => "demo".to_owned(),
            model::wake::WAKE_KEY_VARIABLE
            | crate::environment::variables::FORMER_RECORDS
            | crate::environment::variables::LOG_LEVEL
            | crate::environment::variables::WAKE => String::new(),
            name if handlers::SETTINGS.iter().any(|setting| setting.variable == name) => {
                String::new()
            }
            name => name.to_lowercase(),
        })
    };
    Environment::read(get).unwrap()
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
    let environment = environment();
    vec![
        ("provision", shown(provision(&environment, source))),
        ("interrupt", shown(interrupt(&environment, source))),
        ("disrupt", shown(disrupt(&environment, source))),
        ("launch", shown(launch(&environment, source))),
        ("settle", shown(settle(&environment, source))),
        ("drain", shown(drain(&environment, source))),
        ("resolve", shown(resolve(&environment, source))),
        ("sweep", shown(sweep(&environment, source))),
        ("catalog", shown(catalog(&environment, source))),
    ]
}

#[track_caller]
fn check(name: &str, function: &str, expected: &str) {
    let sources = sample(name);
    assert_eq!(sources.len(), 1, "{name}");
    for (reader, text) in read_by_all(&sources[0]) {
        // A schedule says nothing but that a minute is over.
        let is_for_all = name.ends_with("-schedule") && reader != "interrupt";
        if reader == function {
            assert_eq!(text, expected, "{name} read by {reader}");
        } else if !is_for_all {
            assert!(text == "!" || text == "-", "{name} read by {reader}: {text}");
        }
    }
}

#[test]
fn schedules_and_messages_ask_their_function_to_look() {
    let signals = [
        ("schedule", "Schedule"),
        ("beat-queue", "Beat(7)"),
        ("wake-queue", "Wake(Counters { arrivals: 3, departures: 1 })"),
    ];
    for function in Function::WITH_PULSE {
        for (trigger, signal) in signals {
            let expected = match function {
                Function::Launch => format!("Pulse({signal})"),
                _ => signal.to_owned(),
            };
            check(&format!("{function}-{trigger}"), function.as_str(), &expected);
        }
    }
    check(
        "launch-dry-run-queue",
        "launch",
        "DryRun(DryRunTrigger { class: \"default\", key: \"00c0ffee00c0ffee\", \
         asked_at: 2026-11-21T12:00:00Z })",
    );
}

#[test]
fn functions_without_a_pulse_are_scheduled_or_called() {
    let environment = environment();
    for function in ["resolve", "sweep"] {
        check(&format!("{function}-schedule"), function, "Schedule");
    }
    check("catalog-schedule", "catalog", "()");
    let sources = [sample("resolve-call"), sample("sweep-call")].concat();
    for source in &sources {
        let called = Ok(Some(Signal::Called { anew: true }));
        assert_eq!(
            (resolve(&environment, source), sweep(&environment, source)),
            (called.clone(), called)
        );
        for (reader, text) in read_by_all(source) {
            assert!(["resolve", "sweep"].contains(&reader) || text == "!", "{reader}: {text}");
        }
    }
    for event in [r#"{"call":false}"#, r#"{"call":"true"}"#, r#"{"call":{}}"#] {
        assert!(resolve(&environment, &Source::Event(event.to_owned())).is_err(), "{event}");
    }
}

#[test]
fn rules_and_messages_of_an_older_stack_ask_to_look_too() {
    let environment = environment();
    for method in ["emptiness", "forced", "expiration", "drift", "consolidation"] {
        let source = Source::Event(format!(r#"{{"method":"{method}"}}"#));
        assert_eq!(disrupt(&environment, &source), Ok(Some(Signal::Schedule)), "{method}");
    }
    let body = r#"{"version":1,"cluster":"demo","message":{"kind":"settle","claim":"a-1-0"}}"#;
    let source = Source::Message(body.to_owned());
    assert_eq!(settle(&environment, &source), Ok(Some(Signal::Schedule)));
    assert!(drain(&environment, &source).is_err());
}

#[test]
fn only_beats_count_as_beats() {
    for (signal, is_beat) in [
        (Signal::Beat(1), true),
        (Signal::Wake(model::ledger::Counters::default()), false),
        (Signal::Schedule, false),
    ] {
        assert_eq!(signal.is_beat(), is_beat);
        assert_eq!(LaunchTrigger::Pulse(signal).is_beat(), is_beat);
    }
    assert!(!().is_beat());
}

#[test]
fn events_about_instances_are_for_interrupt() {
    for (name, kind, at) in [
        ("interrupt-spot", "SpotInterruption", "2026-11-21T12:00:00Z"),
        ("interrupt-state-change", "InstanceEnding", "2026-11-21T12:00:00Z"),
        ("interrupt-scheduled-change", "ScheduledChange", "2026-11-21T12:00:00Z"),
        ("interrupt-rebalance", "RebalanceRecommendation", "2026-11-21T12:00:00Z"),
    ] {
        let expected = format!(
            "[Interruption {{ kind: {kind}, instance: \"i-0a1b2c3d4e5f60718\", at: {at} }}]"
        );
        check(name, "interrupt", &expected);
    }
}

fn message_about(cluster: &str) -> Source {
    let body =
        r#"{"version":1,"cluster":"demo","message":{"kind":"pulse","function":"settle","beat":7}}"#;
    Source::Message(body.replace("demo", cluster))
}

#[test]
fn a_message_about_another_cluster_is_not_ours() {
    assert_eq!(settle(&environment(), &message_about("demo")), Ok(Some(Signal::Beat(7))));
    let failure = settle(&environment(), &message_about("other")).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "MalformedEvent: it is about cluster `other`, and `demo` is served here"
    );
}

#[test]
fn an_unknown_kind_of_event_is_acknowledged_and_a_malformed_one_is_not() {
    let environment = environment();
    let event = |detail_type: &str| {
        let mut event: Value = match &sample("interrupt-spot")[0] {
            Source::Message(body) => serde_json::from_str(body).unwrap(),
            other @ Source::Event(_) => panic!("{other:?}"),
        };
        event["detail-type"] = Value::from(detail_type);
        Source::Message(event.to_string())
    };
    assert_eq!(interrupt(&environment, &event("EC2 Fleet Instance Change")), Ok(None));
    assert_eq!(interrupt(&environment, &event("EC2 Spot Instance Request Fulfillment")), Ok(None));
    let malformed = interrupt(&environment, &Source::Message("{".to_owned())).unwrap_err();
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
