//! Messages to the functions of the same cluster.

use model::message::{Delivery, Message};
use ports::{Invocation, Mailbox, PortError};

/// Sends `message`, to be delivered not before `delay_seconds` have passed.
pub(crate) async fn send(
    mailbox: &impl Mailbox,
    at: &Invocation,
    message: Message,
    delay_seconds: u32,
) -> Result<(), PortError> {
    let delivery = Delivery { cluster: at.cluster.clone(), message, delay_seconds };
    mailbox.send(&[delivery]).await
}

/// Has `provision` look for pods that need a node.
pub(crate) async fn ask_to_provision(
    mailbox: &impl Mailbox,
    at: &Invocation,
    delay_seconds: u32,
) -> Result<(), PortError> {
    send(mailbox, at, Message::Provision { tick: None }, delay_seconds).await
}
