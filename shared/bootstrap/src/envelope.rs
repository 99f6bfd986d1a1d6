//! What Lambda hands to a function, told apart by its shape: messages of a queue, or one event by itself.
//!
//! <https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html>

use aws_lambda_events::sqs::SqsEvent;
use serde_json::Value;

use crate::Failure;

/// One thing that was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The body of a message of a queue.
    Message(String),
    /// An event by itself, such as that of a schedule: its text.
    Event(String),
}

/// One thing that was delivered, and what names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// Names it when it has to be delivered again, and is the same then: the id of the message or of the
    /// event.
    pub(crate) id: String,
    pub(crate) source: Source,
    /// How often a message was delivered, this time included; 0 for events.
    pub(crate) deliveries: u32,
}

/// Everything that came with one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Envelope {
    /// What fails is reported by its id, and only that is delivered again.
    Batch(Vec<Item>),
    /// It fails or succeeds as a whole.
    Single(Item),
}

/// Opens what Lambda handed over; `request_id` names an event that has no id of its own.
pub(crate) fn open(event: Value, request_id: &str) -> Result<Envelope, Failure> {
    match event.pointer("/Records/0/eventSource").and_then(Value::as_str) {
        Some("aws:sqs") => messages(event).map(Envelope::Batch),
        Some(other) => Err(Failure::malformed(format!("records of `{other}` are not known here"))),
        None => {
            let id = event.get("id").and_then(Value::as_str).unwrap_or(request_id).to_owned();
            let source = Source::Event(event.to_string());
            Ok(Envelope::Single(Item { id, source, deliveries: 0 }))
        }
    }
}

fn messages(event: Value) -> Result<Vec<Item>, Failure> {
    let event: SqsEvent = serde_json::from_value(event).map_err(Failure::malformed)?;
    let item = |message: aws_lambda_events::sqs::SqsMessage| {
        let id = message.message_id.ok_or_else(|| Failure::malformed("a message without an id"))?;
        let received = message.attributes.get("ApproximateReceiveCount");
        let deliveries = received.and_then(|text| text.parse().ok()).unwrap_or_default();
        Ok(Item { id, source: Source::Message(message.body.unwrap_or_default()), deliveries })
    };
    event.records.into_iter().map(item).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_of_a_queue_come_with_their_ids() {
        let message = |id: &str, body: &str| {
            json!({"messageId": id, "body": body, "eventSource": "aws:sqs",
            "attributes": {"ApproximateReceiveCount": "4"}})
        };
        let event = json!({"Records": [message("1", "a"), message("2", "b")]});
        let item = |id: &str, body: &str| Item {
            id: id.to_owned(),
            source: Source::Message(body.to_owned()),
            deliveries: 4,
        };
        assert_eq!(
            open(event, "r").unwrap(),
            Envelope::Batch(vec![item("1", "a"), item("2", "b")])
        );
    }

    #[test]
    fn anything_else_is_one_event() {
        let item = |id: &str, event: &Value| {
            let source = Source::Event(event.to_string());
            Envelope::Single(Item { id: id.to_owned(), source, deliveries: 0 })
        };
        let scheduled = json!({"id": "53dc", "detail-type": "Scheduled Event"});
        assert_eq!(open(scheduled.clone(), "r"), Ok(item("53dc", &scheduled)));
        let method = json!({"method": "emptiness"});
        assert_eq!(open(method.clone(), "r"), Ok(item("r", &method)));
    }

    #[test]
    fn records_of_another_service_are_refused() {
        for source in ["aws:kinesis", "aws:dynamodb"] {
            let event = json!({"Records": [{"eventSource": source}]});
            assert_eq!(open(event, "r").unwrap_err().kind, "MalformedEvent");
        }
    }
}
