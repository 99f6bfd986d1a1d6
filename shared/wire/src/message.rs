//! Messages between functions as the bodies of queue messages.
//!
//! `{"version":1,"cluster":"demo","message":{"kind":"provision","tick":7}}`. Unknown versions, kinds
//! and fields are errors: a message that is not understood belongs in the dead-letter queue.

use jiff::Timestamp;
use model::{
    ClusterName, NodeClaimName, NodeClassName,
    disruption::{Command, Method},
    message::{Delivery, Message},
};
use serde::{Deserialize, Serialize};

mod replacement;

use replacement::ReplacementV1;

/// Why a body is not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message: {0}")]
pub struct Error(pub String);

/// The version that is written.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvelopeV1 {
    version: u32,
    cluster: String,
    message: MessageV1,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum MessageV1 {
    Provision {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tick: Option<u64>,
    },
    Validate {
        method: String,
        claims: Vec<String>,
        found_at: Timestamp,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replacements: Vec<ReplacementV1>,
    },
    Launch {
        claim: String,
    },
    #[serde(rename = "try-out")]
    DryRun {
        class: String,
        key: String,
        asked_at: Timestamp,
    },
    Settle {
        claim: String,
    },
    Drain {
        claim: String,
    },
}

/// The body of `delivery`; its delay travels beside it.
pub fn encode(delivery: &Delivery) -> String {
    let message = match &delivery.message {
        Message::Provision { tick } => MessageV1::Provision { tick: *tick },
        Message::Validate(command) => MessageV1::Validate {
            method: command.method.as_str().to_owned(),
            claims: command.candidates.iter().map(ToString::to_string).collect(),
            found_at: command.found_at,
            replacements: command.replacements.iter().map(ReplacementV1::of).collect(),
        },
        Message::Launch { claim } => MessageV1::Launch { claim: claim.to_string() },
        Message::DryRun { class, key, asked_at } => {
            MessageV1::DryRun { class: class.to_string(), key: key.clone(), asked_at: *asked_at }
        }
        Message::Settle { claim } => MessageV1::Settle { claim: claim.to_string() },
        Message::Drain { claim } => MessageV1::Drain { claim: claim.to_string() },
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
    let claim = |name: &str| NodeClaimName::new(name).map_err(|error| field("claim", &error));
    Ok(match message {
        MessageV1::Provision { tick } => Message::Provision { tick },
        MessageV1::Validate { method, claims, found_at, replacements } => {
            Message::Validate(Command {
                method: method_of(&method, claims.len())
                    .ok_or_else(|| field("method", &format!("`{method}` is not a known method")))?,
                found_at,
                candidates: claims.iter().map(|name| claim(name)).collect::<Result<_, _>>()?,
                replacements: replacements
                    .into_iter()
                    .map(ReplacementV1::into_replacement)
                    .collect::<Result<_, _>>()
                    .map_err(|problem| field("replacements", &problem))?,
            })
        }
        MessageV1::Launch { claim: name } => Message::Launch { claim: claim(&name)? },
        MessageV1::DryRun { class, key, asked_at } => Message::DryRun {
            class: NodeClassName::new(&class).map_err(|error| field("class", &error))?,
            key,
            asked_at,
        },
        MessageV1::Settle { claim: name } => Message::Settle { claim: claim(&name)? },
        MessageV1::Drain { claim: name } => Message::Drain { claim: claim(&name)? },
    })
}

/// The method called `text`. A message of the release before says only `consolidation`: of how many
/// nodes tells which.
fn method_of(text: &str, nodes: usize) -> Option<Method> {
    match (text, nodes) {
        ("consolidation", 0 | 1) => Some(Method::SingleNode),
        ("consolidation", _) => Some(Method::MultiNode),
        _ => Method::parse(text),
    }
}

fn field(name: &str, problem: &impl ToString) -> Error {
    Error(format!("{name}: {}", problem.to_string()))
}

#[cfg(test)]
mod tests {
    use model::{
        CapacityType, HourlyPrice, OfferingKey, PodKey, Requirements, disruption::Replacement,
    };

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
        let claim = || "general-1-0".parse::<NodeClaimName>().unwrap();
        check(
            Message::Provision { tick: Some(7) },
            r#"{"version":1,"cluster":"demo","message":{"kind":"provision","tick":7}}"#,
        );
        check(
            Message::Provision { tick: None },
            r#"{"version":1,"cluster":"demo","message":{"kind":"provision"}}"#,
        );
        let found_at = "2026-11-21T12:00:00Z".parse().unwrap();
        let command = Command {
            method: Method::Emptiness,
            found_at,
            candidates: vec![claim()],
            replacements: Vec::new(),
        };
        check(
            Message::Validate(command.clone()),
            r#"{"version":1,"cluster":"demo","message":{"kind":"validate","method":"emptiness","claims":["general-1-0"],"found_at":"2026-11-21T12:00:00Z"}}"#,
        );
        let replacement = Replacement {
            node_pool: "general".parse().unwrap(),
            instance_types: vec!["m7g.large".parse().unwrap()],
            requirements: Requirements::of_labels([("topology.kubernetes.io/zone", "us-west-2a")]),
            cheapest: Some((
                OfferingKey {
                    capacity_type: CapacityType::Spot,
                    instance_type: "m7g.large".parse().unwrap(),
                    zone: "us-west-2a".parse().unwrap(),
                },
                HourlyPrice(33_700_000),
            )),
            pods: vec![PodKey {
                namespace: "default".parse().unwrap(),
                name: "web-0".parse().unwrap(),
            }],
        };
        let (method, replacements) = (Method::SingleNode, vec![replacement]);
        check(
            Message::Validate(Command { method, replacements, ..command }),
            r#"{"version":1,"cluster":"demo","message":{"kind":"validate","method":"single-node-consolidation","claims":["general-1-0"],"found_at":"2026-11-21T12:00:00Z","replacements":[{"node_pool":"general","instance_types":["m7g.large"],"requirements":[{"key":"topology.kubernetes.io/zone","values":["us-west-2a"]}],"cheapest":{"capacity_type":"spot","instance_type":"m7g.large","zone":"us-west-2a","nanos_per_hour":33700000},"pods":["default/web-0"]}]}}"#,
        );
        check(
            Message::Launch { claim: claim() },
            r#"{"version":1,"cluster":"demo","message":{"kind":"launch","claim":"general-1-0"}}"#,
        );
        let (class, key) = ("default".parse().unwrap(), "1f".to_owned());
        check(
            Message::DryRun { class, key, asked_at: found_at },
            r#"{"version":1,"cluster":"demo","message":{"kind":"try-out","class":"default","key":"1f","asked_at":"2026-11-21T12:00:00Z"}}"#,
        );
        check(
            Message::Settle { claim: claim() },
            r#"{"version":1,"cluster":"demo","message":{"kind":"settle","claim":"general-1-0"}}"#,
        );
        check(
            Message::Drain { claim: claim() },
            r#"{"version":1,"cluster":"demo","message":{"kind":"drain","claim":"general-1-0"}}"#,
        );
    }

    #[test]
    fn commands_of_the_release_before_are_read() {
        for (method, claims, expected) in [
            ("emptiness", r#""a-1-0","a-1-1""#, Method::Emptiness),
            ("drift", r#""a-1-0""#, Method::Drift),
            ("consolidation", r#""a-1-0""#, Method::SingleNode),
            ("consolidation", r#""a-1-0","a-1-1""#, Method::MultiNode),
        ] {
            let body = format!(
                r#"{{"version":1,"cluster":"demo","message":{{"kind":"validate","method":"{method}","claims":[{claims}],"found_at":"2026-11-21T12:00:00Z"}}}}"#
            );
            let Ok((_, Message::Validate(command))) = decode(&body) else { panic!("{body}") };
            assert_eq!(command.method, expected);
            assert_eq!(command.candidates.len(), claims.split(',').count());
            assert_eq!(command.replacements, []);
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_with_the_reason() {
        for (body, problem) in [
            ("", "EOF while parsing"),
            ("{}", "missing field `version`"),
            (r#"{"version":2}"#, "version 2 is not supported, only 1 is"),
            (
                r#"{"version":1,"cluster":"demo","message":{"kind":"dance"}}"#,
                "unknown variant `dance`",
            ),
            (
                r#"{"version":1,"cluster":"demo","message":{"kind":"drain"}}"#,
                "missing field `claim`",
            ),
            (
                r#"{"version":1,"cluster":"demo","message":{"kind":"drain","claim":"a","x":1}}"#,
                "unknown field `x`",
            ),
            (r#"{"version":1,"cluster":"","message":{"kind":"provision"}}"#, "cluster: `` is not"),
            (
                r#"{"version":1,"cluster":"demo","message":{"kind":"try-out","class":"A","key":"","asked_at":"2026-11-21T12:00:00Z"}}"#,
                "class: `A` is not a valid EC2NodeClass name",
            ),
            (
                r#"{"version":1,"cluster":"demo","message":{"kind":"settle","claim":"A"}}"#,
                "claim: `A` is not a valid NodeClaim name",
            ),
            (
                r#"{"version":1,"cluster":"demo","message":{"kind":"validate","method":"balance","claims":[],"found_at":"2026-11-21T12:00:00Z"}}"#,
                "method: `balance` is not a known method",
            ),
        ] {
            let error = decode(body).unwrap_err().to_string();
            assert!(error.starts_with(&format!("message: {problem}")), "{error}");
        }
    }
}
