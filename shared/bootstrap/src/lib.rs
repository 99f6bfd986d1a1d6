//! What every Lambda function does before and around its handler.
//!
//! Before: configuration, logs, clients. Around: one place that knows how Lambda delivers (messages
//! of a queue, single events), which of them failed, and what that is called.
//! The only crate that names `lambda_runtime`, and the only one that reads the environment and the
//! clock. It decides nothing.

mod clock;
mod embedded;
mod envelope;
mod environment;
mod error;
mod logs;
mod metrics;
mod otlp;
mod platform;
mod serve;
mod stored_catalog;
mod teller;
pub mod trigger;

pub use clock::WallClock;
pub use envelope::Source;
pub use environment::{Environment, InvalidEnvironment};
pub use error::Failure;
pub use logs::log_report;
pub use platform::{Platform, start};
pub use serve::{serve, serve_together, serve_url};
pub use stored_catalog::StoredCatalog;
