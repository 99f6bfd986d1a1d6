//! The core: what to launch and what to give up, decided from facts.
//!
//! Everything here is a pure, synchronous function: no IO, no clock, no randomness, no failure. The
//! present is an argument, and the same facts give the same plan.

mod drain;
mod emptiness;
mod expiration;
mod interrupt;
mod provision;
mod settle;

pub use drain::{Drainage, InstanceView, drain};
pub use emptiness::{Emptiness, emptiness, validated};
pub use expiration::expiration;
pub use interrupt::interrupt;
pub use provision::provision;
pub use settle::{Settlement, settle};
