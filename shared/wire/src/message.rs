//! Messages between functions as the bodies of queue messages.
//!
//! `{"version":1,"cluster":"demo","message":{"kind":"pulse","function":"settle","beat":7}}`. A message of an
//! unknown version, kind or function is an error: it belongs in the dead-letter queue. Unknown fields are
//! passed over, so that another release can say more. Messages of the release of commit 405e221 carried
//! work; what they asked for is in the ledger, so they are read as if a schedule had come round.

use jiff::Timestamp;
use model::{
    ClusterName, Function, NodeClassName,
    ledger::Counters,
    message::{Delivery, Message},
    pulse::Signal,
};
use serde::{Deserialize, Serialize};

/// Why a body is not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message: {0}")]
pub struct Error(pub String);

/// The version that is written.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct EnvelopeV1 {
    version: u32,
    cluster: String,
    message: MessageV1,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum MessageV1 {
    /// With a beat, a wake, a call, or none of them: as if a schedule had come round.
    Pulse {
        function: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        beat: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wake: Option<CountersV1>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallV1>,
    },
    #[serde(rename = "try-out")]
    DryRun { class: String, key: String, asked_at: Timestamp },
    #[serde(skip_serializing)]
    Provision,
    #[serde(skip_serializing)]
    Validate,
    #[serde(skip_serializing)]
    Launch,
    #[serde(skip_serializing)]
    Settle,
    #[serde(skip_serializing)]
    Drain,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CallV1 {
    News,
    Anew,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct CountersV1 {
    arrivals: u64,
    departures: u64,
}

impl CountersV1 {
    pub(crate) fn of(counters: Counters) -> Self {
        let Counters { arrivals, departures } = counters;
        Self { arrivals, departures }
    }

    pub(crate) fn into_counters(self) -> Counters {
        Counters { arrivals: self.arrivals, departures: self.departures }
    }
}

/// The body of `delivery`; its delay travels beside it.
pub fn encode(delivery: &Delivery) -> String {
    let message = match &delivery.message {
        Message::Pulse { function, signal } => {
            let (beat, wake, call) = match signal {
                Signal::Beat(sequence) => (Some(*sequence), None, None),
                Signal::Wake(counters) => (None, Some(CountersV1::of(*counters)), None),
                Signal::Called { anew: false } => (None, None, Some(CallV1::News)),
                Signal::Called { anew: true } => (None, None, Some(CallV1::Anew)),
                Signal::Schedule => (None, None, None),
            };
            MessageV1::Pulse { function: function.as_str().to_owned(), beat, wake, call }
        }
        Message::DryRun { class, key, asked_at } => {
            MessageV1::DryRun { class: class.to_string(), key: key.clone(), asked_at: *asked_at }
        }
    };
    let cluster = delivery.cluster.to_string();
    // Texts and numbers only: writing them cannot fail.
    serde_json::to_string(&EnvelopeV1 { version: VERSION, cluster, message }).unwrap_or_default()
}

/// The cluster and the message in `body`.
pub fn decode(body: &str) -> Result<(ClusterName, Message), Error> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let refuse = |error: serde_json::Error| Error(error.to_string());
    let versioned: Versioned = serde_json::from_str(body).map_err(refuse)?;
    if versioned.version != VERSION {
        let version = versioned.version;
        return Err(Error(format!("version {version} is not supported, only {VERSION} is")));
    }
    let envelope: EnvelopeV1 = serde_json::from_str(body).map_err(refuse)?;
    let cluster = ClusterName::new(&envelope.cluster).map_err(|e| field("cluster", &e))?;
    Ok((cluster, read_message(envelope.message)?))
}

fn read_message(message: MessageV1) -> Result<Message, Error> {
    let look = |function| Message::Pulse { function, signal: Signal::Schedule };
    Ok(match message {
        MessageV1::Pulse { function, beat, wake, call } => {
            let known = Function::parse(&function).filter(|f| Function::WITH_PULSE.contains(f));
            let function =
                known.ok_or_else(|| field("function", &format!("`{function}` has no pulse")))?;
            let signal = match (beat, wake, call) {
                (Some(sequence), None, None) => Signal::Beat(sequence),
                (None, Some(counters), None) => Signal::Wake(counters.into_counters()),
                (None, None, Some(call)) => Signal::Called { anew: matches!(call, CallV1::Anew) },
                (None, None, None) => Signal::Schedule,
                (Some(_), Some(_), _) => {
                    return Err(field("wake", &"a message with a `beat` has none"));
                }
                (_, _, Some(_)) => {
                    return Err(field("call", &"a message with a `beat` or a `wake` has none"));
                }
            };
            Message::Pulse { function, signal }
        }
        MessageV1::DryRun { class, key, asked_at } => Message::DryRun {
            class: NodeClassName::new(&class).map_err(|error| field("class", &error))?,
            key,
            asked_at,
        },
        MessageV1::Provision => look(Function::Provision),
        MessageV1::Validate => look(Function::Disrupt),
        MessageV1::Launch => look(Function::Launch),
        MessageV1::Settle => look(Function::Settle),
        MessageV1::Drain => look(Function::Drain),
    })
}

fn field(name: &str, problem: &impl ToString) -> Error {
    Error(format!("{name}: {}", problem.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: Message, body: &str) {
        let cluster = ClusterName::new("demo").unwrap();
        let delivery =
            Delivery { cluster: cluster.clone(), message: message.clone(), delay_seconds: 5 };
        assert_eq!(encode(&delivery), body);
        assert_eq!(decode(body), Ok((cluster, message)));
    }

    #[test]
    fn every_kind_is_written_and_read() {
        check(
            Message::Pulse { function: Function::Settle, signal: Signal::Beat(7) },
            r#"{"version":1,"cluster":"demo","message":{"kind":"pulse","function":"settle","beat":7}}"#,
        );
        let counters = Counters { arrivals: 3, departures: u64::MAX };
        check(
            Message::Pulse { function: Function::Drain, signal: Signal::Wake(counters) },
            r#"{"version":1,"cluster":"demo","message":{"kind":"pulse","function":"drain","wake":{"arrivals":3,"departures":18446744073709551615}}}"#,
        );
        for (anew, call) in [(false, "news"), (true, "anew")] {
            check(
                Message::Pulse { function: Function::Disrupt, signal: Signal::Called { anew } },
                &format!(
                    r#"{{"version":1,"cluster":"demo","message":{{"kind":"pulse","function":"disrupt","call":"{call}"}}}}"#
                ),
            );
        }
        for function in Function::WITH_PULSE {
            check(
                Message::Pulse { function, signal: Signal::Schedule },
                &format!(
                    r#"{{"version":1,"cluster":"demo","message":{{"kind":"pulse","function":"{function}"}}}}"#
                ),
            );
        }
        let asked_at = "2026-11-21T12:00:00Z".parse().unwrap();
        let (class, key) = ("default".parse().unwrap(), "1f".to_owned());
        check(
            Message::DryRun { class, key, asked_at },
            r#"{"version":1,"cluster":"demo","message":{"kind":"try-out","class":"default","key":"1f","asked_at":"2026-11-21T12:00:00Z"}}"#,
        );
    }

    #[test]
    fn what_another_release_says_besides_is_passed_over() {
        let body = r#"{"version":1,"cluster":"demo","from":"x","message":{"kind":"pulse","function":"launch","beat":1,"hop":{"n":2}}}"#;
        let message = Message::Pulse { function: Function::Launch, signal: Signal::Beat(1) };
        assert_eq!(decode(body).map(|(_, message)| message), Ok(message));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_the_reason() {
        let message =
            |text: &str| format!(r#"{{"version":1,"cluster":"demo","message":{{{text}}}}}"#);
        for (body, problem) in [
            (String::new(), "EOF while parsing"),
            ("{}".to_owned(), "missing field `version`"),
            (r#"{"version":2}"#.to_owned(), "version 2 is not supported, only 1 is"),
            (message(r#""kind":"dance""#), "unknown variant `dance`"),
            (message(r#""kind":"pulse""#), "missing field `function`"),
            (message(r#""kind":"pulse","function":"sweep""#), "function: `sweep` has no pulse"),
            (message(r#""kind":"pulse","function":"x""#), "function: `x` has no pulse"),
            (message(r#""kind":"pulse","function":"drain","beat":-1"#), "invalid value"),
            (
                message(
                    r#""kind":"pulse","function":"drain","beat":1,"wake":{"arrivals":1,"departures":1}"#,
                ),
                "wake: a message with a `beat` has none",
            ),
            (
                message(r#""kind":"pulse","function":"drain","beat":1,"call":"anew""#),
                "call: a message with a `beat` or a `wake` has none",
            ),
            (message(r#""kind":"pulse","function":"drain","call":"x""#), "unknown variant `x`"),
            (
                r#"{"version":1,"cluster":"","message":{"kind":"provision"}}"#.to_owned(),
                "cluster: `` is not",
            ),
            (
                message(
                    r#""kind":"try-out","class":"","key":"","asked_at":"2026-11-21T12:00:00Z""#,
                ),
                "class: `` is not a valid EC2NodeClass name",
            ),
        ] {
            let error = decode(&body).unwrap_err().to_string();
            assert!(error.starts_with(&format!("message: {problem}")), "{error}");
        }
    }
}
