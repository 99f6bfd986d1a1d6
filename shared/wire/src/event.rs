//! Events from outside: EventBridge's, those of schedules among them.
//!
//! Karpenter's AWS provider: `pkg/controllers/interruption`. What is malformed is an error and ends
//! in the dead-letter queue; what is well-formed and not handled is ignored and says why.

use jiff::Timestamp;
use model::{
    InstanceId,
    interruption::{Interruption, InterruptionKind},
};
use serde_json::Value;

/// What an event means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Instances are taken away, are ending, or will be changed.
    Interruptions(Vec<Interruption>),
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
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html>
/// <https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html>
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
        ("aws.health", "AWS Health Event") => scheduled_change(&event),
        ("aws.ec2", "EC2 Instance Rebalance Recommendation") => {
            interrupted(&event, InterruptionKind::RebalanceRecommendation)
        }
        (source, detail_type) => {
            Ok(ignored(format!("unknown kind of event: {detail_type} of {source}")))
        }
    }
}

/// What `disrupt` was asked for when it had a schedule for each method. Rules that say so outlive the code
/// that they wake; `expiration` is older than `forced`.
const FORMER_METHODS: [&str; 5] = ["consolidation", "drift", "emptiness", "expiration", "forced"];

/// What a function without a queue is called with by `wake`.
pub const CALL: &str = r#"{"call":true}"#;

/// Whether the event in `body` is [`CALL`].
pub fn is_call(body: &str) -> bool {
    parse(body).is_ok_and(|event| event.get("call") == Some(&Value::Bool(true)))
}

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
    let at = time(event)?;
    Ok(Event::Interruptions(vec![Interruption { kind, instance: instance(event)?, at }]))
}

/// Changes that AWS Health announces of instances. What is not about instances of EC2, announces nothing
/// or is over already is ignored.
fn scheduled_change(event: &Value) -> Result<Event, Error> {
    let (at, detail) = (time(event)?, detail(event)?);
    let category = text(detail, "eventTypeCategory").map_err(in_detail)?;
    let service = text(detail, "service").map_err(in_detail)?;
    let is_over = detail.get("statusCode").and_then(Value::as_str) == Some("closed");
    if service != "EC2" || category != "scheduledChange" || is_over {
        let over = if is_over { ", closed" } else { "" };
        return Ok(ignored(format!("AWS Health Event: {category} of {service}{over}")));
    }
    let entities = detail.get("affectedEntities").and_then(Value::as_array);
    let names = entities.into_iter().flatten().filter_map(|entity| entity.get("entityValue"));
    let ids = names.filter_map(|name| InstanceId::new(name.as_str()?).ok());
    let kind = InterruptionKind::ScheduledChange;
    let interruptions: Vec<Interruption> =
        ids.map(|instance| Interruption { kind, instance, at }).collect();
    if interruptions.is_empty() {
        return Ok(ignored("AWS Health Event: it names no instance".to_owned()));
    }
    Ok(Event::Interruptions(interruptions))
}

fn time(event: &Value) -> Result<Timestamp, Error> {
    let time = text(event, "time")?;
    time.parse().map_err(|_| Error(format!("time: `{time}` is not a time")))
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
            Ok(Event::Interruptions(several)) => {
                let shown =
                    several.iter().map(|i| format!("{:?} of {} at {}", i.kind, i.instance, i.at));
                shown.collect::<Vec<_>>().join("; ")
            }
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
            &event("aws.s3", "Object Created", "{}"),
            &expect!["ignored: unknown kind of event: Object Created of aws.s3"],
        );
    }

    #[test]
    fn a_rebalance_recommendation_names_its_instance() {
        let about =
            |detail: &str| event("aws.ec2", "EC2 Instance Rebalance Recommendation", detail);
        check(
            &about(r#"{"instance-id":"i-0a1b"}"#),
            &expect!["RebalanceRecommendation of i-0a1b at 2026-11-21T12:00:00Z"],
        );
        check(&about("{}"), &expect!["event: detail.instance-id: a text is required"]);
    }

    #[test]
    fn a_scheduled_change_names_each_of_its_instances() {
        let about = |detail: &str| event("aws.health", "AWS Health Event", detail);
        check(
            &about(
                r#"{"service":"EC2","eventTypeCategory":"scheduledChange","statusCode":"upcoming",
                    "affectedEntities":[{"entityValue":"i-0a1b"},{"entityValue":"vol-1"},
                    {"entityValue":"i-0c2d"},{}]}"#,
            ),
            &expect![
                "ScheduledChange of i-0a1b at 2026-11-21T12:00:00Z; ScheduledChange of i-0c2d at 2026-11-21T12:00:00Z"
            ],
        );
        check(
            &about(
                r#"{"service":"EC2","eventTypeCategory":"scheduledChange","statusCode":"closed",
                    "affectedEntities":[{"entityValue":"i-0a1b"}]}"#,
            ),
            &expect!["ignored: AWS Health Event: scheduledChange of EC2, closed"],
        );
        check(
            &about(r#"{"service":"RDS","eventTypeCategory":"issue"}"#),
            &expect!["ignored: AWS Health Event: issue of RDS"],
        );
        check(
            &about(r#"{"service":"EC2","eventTypeCategory":"scheduledChange"}"#),
            &expect!["ignored: AWS Health Event: it names no instance"],
        );
        check(&about("{}"), &expect!["event: detail.eventTypeCategory: a text is required"]);
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
