//! Every file under `events/` is what its function reads.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail loudly, and say what they played"
)]

use model::wake::WakeKey;
use serde_json::Value;
use tests::{files, repository};
use wire::{admission::UrlCall, event::Event};

/// The samples, by name.
fn samples() -> Vec<(String, Value)> {
    let paths = files(&repository().join("events"), &[".json"]);
    assert!(!paths.is_empty());
    let read = |path: std::path::PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a sample can be read");
        (
            name,
            serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        )
    };
    paths.into_iter().map(read).collect()
}

fn bodies(event: &Value) -> Vec<&str> {
    let records = event["Records"].as_array().expect("records");
    records.iter().map(|record| record["body"].as_str().expect("a body")).collect()
}

/// What a sample is: the function by the file's first word, the trigger by its last.
fn check(name: &str, event: &Value) {
    let (function, trigger) = name.split_once('-').expect("function-trigger");
    match (function, trigger) {
        (_, "beat-queue" | "wake-queue" | "call-queue" | "dry-run-queue") => {
            for body in bodies(event) {
                let (_, message) =
                    wire::message::decode(body).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(function, message.function().as_str(), "{name}");
            }
        }
        ("interrupt", _) => {
            for body in bodies(event) {
                let event =
                    wire::event::interruption(body).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert!(matches!(event, Event::Interruptions(_)), "{name}: {event:?}");
            }
        }
        ("wake", "url" | "gateway") => {
            let key = WakeKey::new("0123456789abcdef0123456789abcdef").expect("a key");
            let (cluster, now) = ("demo".parse().expect("a name"), "2026-11-21T12:00:00Z".parse());
            let paths = key.paths(&cluster, now.expect("a time"));
            let call = wire::admission::url_call(&event.to_string(), &paths);
            let UrlCall::Review(request) = call else { panic!("{name}: {call:?}") };
            assert_eq!(request.rule().map(|rule| rule.name), Some("unschedulable-pods"), "{name}");
        }
        (_, "call") => assert!(wire::event::is_call(&event.to_string()), "{name}"),
        (_, "schedule") => {
            wire::event::schedule(&event.to_string()).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(event["source"], "aws.events", "{name}");
        }
        _ => panic!("{name}: which function reads it, and how?"),
    }
}

#[test]
fn every_sample_is_what_its_function_reads() {
    for (name, event) in samples() {
        check(&name, &event);
    }
}

#[test]
fn a_sample_that_was_tampered_with_is_refused() {
    for (name, event) in samples() {
        let tampered =
            event.to_string().replace("i-0", "x-0").replace("\\\"kind\\\":", "\\\"kin\\\":");
        let tampered: Value = serde_json::from_str(&tampered).expect("still JSON");
        if name.starts_with("interrupt-") {
            let is_read =
                |body| matches!(wire::event::interruption(body), Ok(Event::Interruptions(_)));
            assert!(!bodies(&tampered).into_iter().any(is_read), "{name}");
        }
        if name.ends_with("-queue") {
            assert!(
                bodies(&tampered).iter().all(|body| wire::message::decode(body).is_err()),
                "{name}"
            );
        }
    }
}
