//! Installations: what is judged, worked out and asked of an API server, without one.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails where something is not as it builds it"
)]

mod api_server;
mod changes;
mod deploying;
mod doctor;
#[cfg(feature = "live")]
mod failures;
mod found;
mod gathered;
mod handover;
mod identity;
mod installation;
mod releases;
mod uninstall;
mod upgrading;
mod waiting;
mod wake;
mod waking;
