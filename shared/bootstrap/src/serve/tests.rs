//! What Lambda is answered.

use std::cell::RefCell;

use ports::{Fault, PortError};

use super::*;

impl Trigger for String {
    fn is_beat(&self) -> bool {
        self == "beat"
    }
}

/// What is delivered here is a claim's name in plain text; `bad` cannot be read, `none` asks for
/// nothing, `fail` fails.
fn read(_: &Environment, source: &Source) -> Result<Option<String>, Failure> {
    let (Source::Message(text) | Source::Event(text)) = source;
    match text.as_str() {
        "bad" => Err(Failure::malformed("bad")),
        "none" => Ok(None),
        text => Ok(Some(text.to_owned())),
    }
}

fn batch(bodies: &[&str]) -> Value {
    let message = |(index, body): (usize, &&str)| {
        json!({"messageId": format!("m{index}"), "body": body, "eventSource": "aws:sqs",
            "attributes": {}})
    };
    json!({"Records": bodies.iter().enumerate().map(message).collect::<Vec<_>>()})
}

async fn answer(
    event: Value,
    group_max: usize,
) -> (Result<Value, Failure>, Counts, Vec<(String, Vec<String>)>) {
    let handled = RefCell::new(Vec::new());
    let handle = async |wanted: Vec<String>, at: &Invocation| {
        handled.borrow_mut().push((at.id.clone(), wanted.clone()));
        if wanted.iter().any(|text| text.contains("fail")) {
            return Err(PortError::new("GetItem", Fault::Transient).into());
        }
        Ok(())
    };
    let environment = Environment::read(|name| {
        use crate::environment::variables::{FORMER_RECORDS, LOG_LEVEL, WAKE};
        let has_default = [FORMER_RECORDS, LOG_LEVEL, WAKE, WAKE_KEY_VARIABLE].contains(&name)
            || handlers::SETTINGS.iter().any(|setting| setting.variable == name);
        (!has_default).then(|| "demo".to_owned())
    })
    .unwrap();
    let server = Server { environment: &environment, read, handle, group_max };
    let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
    let call = Call { request_id: "request", now, deadline: now };
    let (answer, counts) = server.answer(event, &call).await;
    (answer, counts, handled.into_inner())
}

fn failed(ids: &[&str]) -> Value {
    let ids: Vec<Value> = ids.iter().map(|id| json!({"itemIdentifier": id})).collect();
    json!({"batchItemFailures": ids})
}

fn handled(groups: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    groups.iter().map(|(id, group)| ((*id).to_owned(), texts(group))).collect()
}

#[tokio::test]
async fn only_what_failed_is_delivered_again() {
    let (answer, counts, done) = answer(batch(&["a", "fail", "bad", "none", "b"]), 1).await;
    assert_eq!(answer.unwrap(), failed(&["m1", "m2"]));
    assert_eq!(counts, Counts { deliveries: 5, beats: 0, ignored: 1, failed: 2, malformed: 1 });
    assert_eq!(done, handled(&[("m0", &["a"]), ("m1", &["fail"]), ("m4", &["b"])]));
}

#[tokio::test]
async fn what_is_handled_together_fails_together() {
    let (answer, counts, done) = answer(batch(&["a", "fail", "bad", "b"]), usize::MAX).await;
    assert_eq!(answer.unwrap(), failed(&["m0", "m1", "m2", "m3"]));
    assert_eq!(counts.failed, 4);
    assert_eq!(done, handled(&[("m0", &["a", "fail", "b"])]));
}

#[tokio::test]
async fn a_batch_without_failures_says_so() {
    let (answer, _, done) = answer(batch(&["a", "b"]), usize::MAX).await;
    assert_eq!(answer.unwrap(), failed(&[]));
    assert_eq!(done, handled(&[("m0", &["a", "b"])]));
}

#[tokio::test]
async fn a_single_event_fails_or_succeeds_as_a_whole() {
    let (good, counts, done) = answer(json!({"id": "e1", "detail": {}}), 1).await;
    assert_eq!(good, Ok(Value::Null));
    assert_eq!(counts, Counts { deliveries: 1, ..Counts::default() });
    assert_eq!(done.first().map(|(id, _)| id.as_str()), Some("e1"));
    let (bad, _, _) = answer(json!({"detail": "fail"}), 1).await;
    let failure = bad.unwrap_err();
    assert_eq!(failure.kind, "PortTransient");
    assert_eq!(failure.story, "GetItem failed: it may work later");
}

#[tokio::test]
async fn what_is_unknown_is_an_error_with_a_type() {
    let event = json!({"Records": [{"eventSource": "aws:s3"}]});
    let (answer, counts, done) = answer(event, 1).await;
    assert_eq!(answer.unwrap_err().kind, "MalformedEvent");
    assert_eq!(counts, Counts { deliveries: 1, failed: 1, malformed: 1, ..Counts::default() });
    assert!(done.is_empty());
}

#[tokio::test]
async fn beats_that_were_handled_are_counted() {
    let (_, counts, _) = answer(batch(&["beat", "fail", "beat"]), 1).await;
    assert_eq!(counts, Counts { deliveries: 3, beats: 2, failed: 1, ..Counts::default() });
    let (_, counts, _) = answer(batch(&["beat", "fail"]), usize::MAX).await;
    assert_eq!(counts, Counts { deliveries: 2, failed: 2, ..Counts::default() });
}

#[test]
fn a_deadline_that_is_past_is_none() {
    let began_at: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
    let told = |text: &str| SystemTime::from(text.parse::<Timestamp>().unwrap());
    let real = deadline(told("2026-11-21T12:00:30Z"), began_at);
    assert_eq!(real, "2026-11-21T12:00:29.5Z".parse().unwrap());
    assert_eq!(deadline(told("1970-01-01T00:10:00Z"), began_at), Timestamp::MAX);
}
