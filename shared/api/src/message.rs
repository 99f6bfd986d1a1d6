//! Messages between functions as the bodies of queue messages.

use model::{
    ClusterName,
    message::{Delivery, Message},
};

/// Why a body is not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message: {0}")]
pub struct Error(pub String);

/// The body of `delivery`; its delay travels beside it.
pub fn encode(_delivery: &Delivery) -> String {
    String::new()
}

/// The cluster and the message in `body`.
pub fn decode(_body: &str) -> Result<(ClusterName, Message), Error> {
    Err(Error(String::new()))
}
