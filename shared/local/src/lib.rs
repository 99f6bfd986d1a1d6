//! Everything alive on one machine: the functions' handlers, each with its own rights, on a real Kubernetes
//! API server, over the simulated account and in real time.
//!
//! [`run`] is what `journeyman local` does: a control plane, what an installation puts into it, the account with
//! its AWS server, and a [`LocalWorld`], which the live tier `stories` plays by itself. It decides nothing:
//! triggers are the queues of the account and schedules, decisions are those of the handlers.
//!
//! The clock is the API server's, which cannot be moved. What may be short is what the account itself decides:
//! how long machines take to boot, and how often schedules come round.

mod ask;
mod control_plane;
mod drivers;
mod error;
mod functions;
mod happenings;
mod install;
mod karpenter;
mod lines;
mod machines;
mod place;
mod session;
mod slices;
mod wake;
mod world;

pub use ask::{reclaim, set_outage};
pub use error::LocalError;
pub use functions::LocalFunctions;
pub use lines::{LogLine, log_to};
pub use machines::{Machines, node_name};
pub use session::{ApiServer, LocalOptions, LocalReady, MakeCalls, run};
pub use world::LocalWorld;
