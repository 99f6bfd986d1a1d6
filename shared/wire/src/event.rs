//! Events from outside: EventBridge's, those of schedules among them.
//!
//! Karpenter's AWS provider: `pkg/controllers/interruption`. What is malformed is an error and ends
//! in the dead-letter queue; what is well-formed and not handled is ignored and says why.

use model::{
    InstanceId,
    interruption::{Interruption, InterruptionKind},
};
use serde_json::Value;

/// What an event means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An instance is taken away, or is ending.
    Interruption(Interruption),
    /// Well-formed, and nothing is done about it.
    Ignored {
        /// What it is and why, in words.
        what: String,
    },
}

/// Why a text is not an event. It belongs in a dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event: {0}")]
pub struct Error(pub String);

/// Reads an event of EventBridge about instances.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html>
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instance-state-changes.html>
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html>
pub fn interruption(body: &str) -> Result<Event, Error> {
    let event = parse(body)?;
    let version = text(&event, "version")?;
    if version != "0" {
        return Err(Error(format!("version: `{version}` is not supported, only `0` is")));
    }
    let (source, detail_type) = (text(&event, "source")?, text(&event, "detail-type")?);
    match (source, detail_type) {
        ("aws.ec2", "EC2 Spot Instance Interruption Warning") => {
            interrupted(&event, InterruptionKind::SpotInterruption)
        }
        ("aws.ec2", "EC2 Instance State-change Notification") => {
            match text(detail(&event)?, "state").map_err(in_detail)? {
                "stopping" | "stopped" | "shutting-down" | "terminated" => {
                    interrupted(&event, InterruptionKind::InstanceEnding)
                }
                state => {
                    instance(&event)?;
                    Ok(ignored(format!("{detail_type}: the state {state} ends nothing")))
                }
            }
        }
        ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning") => {
            interrupted(&event, InterruptionKind::ReservationInterruption)
        }
        ("aws.ec2", "EC2 Instance Rebalance Recommendation")
        | ("aws.health", "AWS Health Event") => {
            Ok(ignored(format!("not supported yet: {detail_type}")))
        }
        (source, detail_type) => {
            Ok(ignored(format!("unknown kind of event: {detail_type} of {source}")))
        }
    }
}

/// What `disrupt` was asked for when it had a schedule for each method. Rules that say so outlive the code
/// that they wake; `expiration` is older than `forced`.
const FORMER_METHODS: [&str; 5] = ["consolidation", "drift", "emptiness", "expiration", "forced"];

/// Reads the event of a schedule: EventBridge's own without a detail, or one of the constant inputs that
/// rules of an older stack have, such as `{"method":"emptiness"}`. They all say that a minute is over.
///
/// <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-rule-schedule-legacy.html>
pub fn schedule(body: &str) -> Result<(), Error> {
    let event = parse(body)?;
    if let Some(kind) = event.get("detail-type") {
        return match kind.as_str() {
            Some("Scheduled Event") => Ok(()),
            _ => Err(Error(format!("detail-type: {kind} is not `Scheduled Event`"))),
        };
    }
    let former = event.get("method").ok_or_else(|| missing("detail-type", "a text"))?;
    match former.as_str() {
        Some(method) if FORMER_METHODS.contains(&method) => Ok(()),
        _ => Err(Error(format!("method: {former} is not a known method"))),
    }
}

fn ignored(what: String) -> Event {
    Event::Ignored { what }
}

fn interrupted(event: &Value, kind: InterruptionKind) -> Result<Event, Error> {
    let time = text(event, "time")?;
    let at = time.parse().map_err(|_| Error(format!("time: `{time}` is not a time")))?;
    Ok(Event::Interruption(Interruption { kind, instance: instance(event)?, at }))
}

fn instance(event: &Value) -> Result<InstanceId, Error> {
    let id = text(detail(event)?, "instance-id").map_err(in_detail)?;
    InstanceId::new(id).map_err(|error| Error(format!("detail.instance-id: {error}")))
}

fn detail(event: &Value) -> Result<&Value, Error> {
    event.get("detail").filter(|d| d.is_object()).ok_or_else(|| missing("detail", "a map"))
}

fn in_detail(Error(problem): Error) -> Error {
    Error(format!("detail.{problem}"))
}

fn parse(body: &str) -> Result<Value, Error> {
    serde_json::from_str(body).map_err(|error| Error(format!("not JSON: {error}")))
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, Error> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| missing(key, "a text"))
}

fn missing(key: &str, wanted: &str) -> Error {
    Error(format!("{key}: {wanted} is required"))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn event(source: &str, detail_type: &str, detail: &str) -> String {
        format!(
            r#"{{"version":"0","id":"1","source":"{source}","detail-type":"{detail_type}","time":"2026-11-21T12:00:00Z","detail":{detail}}}"#
        )
    }

    #[track_caller]
    fn check(body: &str, expected: &Expect) {
        let shown = match interruption(body) {
            Ok(Event::Interruption(i)) => format!("{:?} of {} at {}", i.kind, i.instance, i.at),
            Ok(Event::Ignored { what }) => format!("ignored: {what}"),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&shown);
    }

    const SPOT: &str = "EC2 Spot Instance Interruption Warning";
    const STATE: &str = "EC2 Instance State-change Notification";
    const RESERVED: &str = "EC2 Capacity Reservation Instance Interruption Warning";

    #[test]
    fn a_spot_interruption_names_its_instance() {
        let detail = r#"{"instance-id":"i-0a1b","instance-action":"terminate"}"#;
        check(
            &event("aws.ec2", SPOT, detail),
            &expect!["SpotInterruption of i-0a1b at 2026-11-21T12:00:00Z"],
        );
    }

    #[test]
    fn an_interruption_of_reserved_capacity_names_its_instance() {
        let detail = r#"{"instance-id":"i-0a1b","instance-action":"terminate"}"#;
        check(
            &event("aws.ec2", RESERVED, detail),
            &expect!["ReservationInterruption of i-0a1b at 2026-11-21T12:00:00Z"],
        );
    }

    #[test]
    fn only_ending_states_count() {
        for state in ["stopping", "stopped", "shutting-down", "terminated"] {
            let detail = format!(r#"{{"instance-id":"i-0a1b","state":"{state}"}}"#);
            check(
                &event("aws.ec2", STATE, &detail),
                &expect!["InstanceEnding of i-0a1b at 2026-11-21T12:00:00Z"],
            );
        }
        let detail = r#"{"instance-id":"i-0a1b","state":"running"}"#;
        check(
            &event("aws.ec2", STATE, detail),
            &expect![
                "ignored: EC2 Instance State-change Notification: the state running ends nothing"
            ],
        );
    }

    #[test]
    fn what_is_not_handled_says_so() {
        check(
            &event("aws.ec2", "EC2 Instance Rebalance Recommendation", "{}"),
            &expect!["ignored: not supported yet: EC2 Instance Rebalance Recommendation"],
        );
        check(
            &event("aws.health", "AWS Health Event", "{}"),
            &expect!["ignored: not supported yet: AWS Health Event"],
        );
        check(
            &event("aws.s3", "Object Created", "{}"),
            &expect!["ignored: unknown kind of event: Object Created of aws.s3"],
        );
    }

    #[test]
    fn what_is_malformed_names_the_field() {
        check("{", &expect!["event: not JSON: EOF while parsing an object at line 1 column 1"]);
        check("[]", &expect!["event: version: a text is required"]);
        check(r#"{"version":"1"}"#, &expect!["event: version: `1` is not supported, only `0` is"]);
        check(&event("aws.ec2", SPOT, "7"), &expect!["event: detail: a map is required"]);
        check(
            &event("aws.ec2", SPOT, "{}"),
            &expect!["event: detail.instance-id: a text is required"],
        );
        check(&event("aws.ec2", STATE, "{}"), &expect!["event: detail.state: a text is required"]);
        check(
            &event("aws.ec2", SPOT, r#"{"instance-id":"m7g.large"}"#),
            &expect![
                "event: detail.instance-id: `m7g.large` is not a valid instance id: it must be `i-` followed by lower-case letters, digits or hyphens"
            ],
        );
        let late = event("aws.ec2", SPOT, r#"{"instance-id":"i-0a1b"}"#);
        check(
            &late.replace("2026-11-21T12:00:00Z", "noon"),
            &expect!["event: time: `noon` is not a time"],
        );
    }

    #[test]
    fn a_schedule_has_no_detail_but_once_named_a_method() {
        let now =
            r#"{"version":"0","source":"aws.events","detail-type":"Scheduled Event","detail":{}}"#;
        assert_eq!(schedule(now), Ok(()));
        for method in FORMER_METHODS {
            assert_eq!(schedule(&format!(r#"{{"method":"{method}"}}"#)), Ok(()), "{method}");
        }
        for (body, problem) in [
            ("{}", "event: detail-type: a text is required"),
            (
                r#"{"detail-type":"Storm"}"#,
                "event: detail-type: \"Storm\" is not `Scheduled Event`",
            ),
            (r#"{"method":"balance"}"#, "event: method: \"balance\" is not a known method"),
            (r#"{"method":7}"#, "event: method: 7 is not a known method"),
            ("", "event: not JSON: EOF while parsing a value at line 1 column 0"),
        ] {
            assert_eq!(schedule(body).unwrap_err().to_string(), problem);
        }
    }
}
