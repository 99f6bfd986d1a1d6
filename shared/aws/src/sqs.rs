//! The mailbox: one queue of SQS for each function that is sent messages, and Lambda for those that are called.
//!
//! Receiving is Lambda's part, not a port's.

use aws_sdk_sqs::{
    Client,
    operation::send_message_batch::SendMessageBatchOutput,
    types::{BatchResultErrorEntry, SendMessageBatchRequestEntry},
};
use model::{
    ClusterName, Function,
    limits::{MESSAGE_DELAY_SECONDS_MAX, requests},
    message::Delivery,
};
use ports::{Fault, Mailbox, PortError, Refusal};

use crate::{
    fault::{BadRequest, port_error},
    lambda::LambdaFunctions,
};

const OPERATION: &str = "SendMessageBatch";
/// Bytes of all bodies of one call: the old limit, which emulators and older regions still have.
const BYTES_PER_CALL_MAX: usize = 256 * 1024;

/// Where the queues of the functions are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueUrls {
    /// Of `provision`.
    pub provision: String,
    /// Of `disrupt`.
    pub disrupt: String,
    /// Of `launch`.
    pub launch: String,
    /// Of `settle`.
    pub settle: String,
    /// Of `drain`.
    pub drain: String,
}

impl QueueUrls {
    /// The queue of `function`; `None` for one that is sent no messages.
    fn of(&self, function: Function) -> Option<&str> {
        match function {
            Function::Provision => Some(&self.provision),
            Function::Disrupt => Some(&self.disrupt),
            Function::Launch => Some(&self.launch),
            Function::Settle => Some(&self.settle),
            Function::Drain => Some(&self.drain),
            Function::Interrupt
            | Function::Resolve
            | Function::Sweep
            | Function::Catalog
            | Function::Wake => None,
        }
    }
}

/// [`Mailbox`] over SQS, and over Lambda for functions without a queue.
#[derive(Clone, Debug)]
pub struct SqsMailbox {
    client: Client,
    urls: QueueUrls,
    functions: LambdaFunctions,
}

impl SqsMailbox {
    pub(crate) fn new(client: Client, urls: QueueUrls, functions: LambdaFunctions) -> Self {
        Self { client, urls, functions }
    }
}

impl Mailbox for SqsMailbox {
    async fn send(&self, deliveries: &[Delivery]) -> Result<(), PortError> {
        let mut outcome = Ok(());
        for batch in to_batches(deliveries, &self.urls)? {
            let request = self
                .client
                .send_message_batch()
                .queue_url(batch.url)
                .set_entries(Some(batch.entries));
            let answer = request.send().await.map_err(|error| port_error(OPERATION, error));
            // A queue that fails keeps no other function from being told.
            let sent = answer.and_then(|answer| from_answer(&answer));
            outcome = if outcome.is_ok() { sent } else { outcome };
        }
        outcome
    }

    /// It has one cluster, as its function has.
    async fn call(&self, _: &ClusterName, function: Function) -> Result<(), PortError> {
        self.functions.call(function).await
    }
}

/// One call.
#[derive(Debug, PartialEq)]
struct Batch<'a> {
    url: &'a str,
    entries: Vec<SendMessageBatchRequestEntry>,
    bytes: usize,
}

impl Batch<'_> {
    fn has_room(&self, bytes: usize) -> bool {
        self.entries.len() < usize::from(requests::MESSAGES_PER_REQUEST_MAX)
            && self.bytes + bytes <= BYTES_PER_CALL_MAX
    }
}

/// The calls that send `deliveries`: in their order within a queue, each call as full as it may be.
fn to_batches<'a>(
    deliveries: &[Delivery],
    urls: &'a QueueUrls,
) -> Result<Vec<Batch<'a>>, PortError> {
    let mut batches: Vec<Batch<'a>> = Vec::new();
    for delivery in deliveries {
        let function = delivery.message.function();
        let no_queue = || BadRequest::of(OPERATION, format!("`{function}` has no queue"));
        let url = urls.of(function).ok_or_else(no_queue)?;
        let body = wire::message::encode(delivery);
        let bytes = body.len();
        let latest = batches
            .iter()
            .rposition(|batch| batch.url == url)
            .and_then(|index| batches.get_mut(index));
        if let Some(batch) = latest.filter(|batch| batch.has_room(bytes)) {
            batch.entries.push(to_entry(batch.entries.len(), body, delivery.delay_seconds)?);
            batch.bytes += bytes;
        } else {
            let entries = vec![to_entry(0, body, delivery.delay_seconds)?];
            batches.push(Batch { url, entries, bytes });
        }
    }
    Ok(batches)
}

fn to_entry(
    index: usize,
    body: String,
    delay_seconds: u32,
) -> Result<SendMessageBatchRequestEntry, PortError> {
    let delay = delay_seconds.min(MESSAGE_DELAY_SECONDS_MAX);
    SendMessageBatchRequestEntry::builder()
        .id(index.to_string())
        .message_body(body)
        .set_delay_seconds(i32::try_from(delay).ok().filter(|delay| *delay > 0))
        .build()
        .map_err(|error| BadRequest::of(OPERATION, error.to_string()))
}

/// Sending again repeats what arrived, which is harmless; so one entry that failed fails the call.
fn from_answer(answer: &SendMessageBatchOutput) -> Result<(), PortError> {
    let Some(failed) = answer.failed().first() else { return Ok(()) };
    let BatchResultErrorEntry { code, message, sender_fault, .. } = failed;
    let fault = if *sender_fault { Fault::Permanent } else { Fault::Transient };
    let message = message.clone().unwrap_or_default();
    Err(PortError::because(OPERATION, fault, Refusal { code: code.clone(), message }))
}

#[cfg(test)]
mod tests {
    use model::{message::Message, pulse::Signal};

    use super::*;

    fn urls() -> QueueUrls {
        let url = |name: &str| format!("https://sqs.test/{name}");
        QueueUrls {
            provision: url("provision"),
            disrupt: url("disrupt"),
            launch: url("launch"),
            settle: url("settle"),
            drain: url("drain"),
        }
    }

    fn delivery(message: Message, delay_seconds: u32) -> Delivery {
        Delivery { cluster: ClusterName::new("demo").unwrap(), message, delay_seconds }
    }

    fn beat(function: Function, sequence: u64, delay_seconds: u32) -> Delivery {
        let signal = Signal::Beat(sequence);
        delivery(Message::Pulse { function, signal }, delay_seconds)
    }

    #[track_caller]
    fn check(deliveries: &[Delivery], expected: &[(&str, &[i32])]) {
        let urls = urls();
        let batches = to_batches(deliveries, &urls).unwrap();
        let entries: Vec<(&str, Vec<i32>)> = batches
            .iter()
            .map(|batch| {
                let delay = |entry: &SendMessageBatchRequestEntry| entry.delay_seconds();
                let delays = batch.entries.iter().map(|e| delay(e).unwrap_or(0)).collect();
                (batch.url.rsplit('/').next().unwrap(), delays)
            })
            .collect();
        let expected: Vec<(&str, Vec<i32>)> =
            expected.iter().map(|(url, delays)| (*url, delays.to_vec())).collect();
        assert_eq!(entries, expected);
    }

    #[test]
    fn every_message_goes_to_the_queue_of_its_function() {
        let (class, key) = ("default".parse().unwrap(), "1f".to_owned());
        let asked_at = "2026-11-21T12:00:00Z".parse().unwrap();
        check(
            &[
                beat(Function::Provision, 1, 0),
                beat(Function::Launch, 1, 2),
                beat(Function::Settle, 1, 5),
                beat(Function::Drain, 1, 1),
                beat(Function::Disrupt, 1, 9),
                beat(Function::Provision, 2, 5),
                delivery(Message::DryRun { class, key, asked_at }, 0),
            ],
            &[
                ("provision", &[0, 5]),
                ("launch", &[2, 0]),
                ("settle", &[5]),
                ("drain", &[1]),
                ("disrupt", &[9]),
            ],
        );
    }

    #[test]
    fn a_call_takes_ten_messages() {
        let deliveries: Vec<Delivery> =
            (0..12).map(|index| beat(Function::Settle, 1, index)).collect();
        check(&deliveries, &[("settle", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), ("settle", &[10, 11])]);
    }

    #[test]
    fn a_delay_longer_than_sqs_knows_is_cut() {
        check(
            &[beat(Function::Settle, 1, 901), beat(Function::Settle, 2, u32::MAX)],
            &[("settle", &[900, 900])],
        );
    }

    #[test]
    fn ids_are_unique_within_a_call() {
        let urls = urls();
        let deliveries: Vec<Delivery> =
            (0..12).map(|index| beat(Function::Settle, 1, index)).collect();
        for batch in to_batches(&deliveries, &urls).unwrap() {
            let mut ids: Vec<&str> =
                batch.entries.iter().map(SendMessageBatchRequestEntry::id).collect();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), batch.entries.len());
        }
    }

    #[test]
    fn one_failed_message_fails_the_call() {
        let failed = |sender_fault| {
            BatchResultErrorEntry::builder()
                .id("0")
                .code("InternalError")
                .sender_fault(sender_fault)
                .build()
                .unwrap()
        };
        let answer = |failed: Vec<BatchResultErrorEntry>| {
            SendMessageBatchOutput::builder()
                .set_successful(Some(Vec::new()))
                .set_failed(Some(failed))
                .build()
                .unwrap()
        };
        assert!(from_answer(&answer(Vec::new())).is_ok());
        let fault =
            |sender_fault| from_answer(&answer(vec![failed(sender_fault)])).unwrap_err().fault;
        assert_eq!(fault(false), Fault::Transient);
        assert_eq!(fault(true), Fault::Permanent);
    }
}
