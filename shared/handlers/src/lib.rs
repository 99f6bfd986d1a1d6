//! One module per function: observe, decide, check, commit, act.
//!
//! A handler takes a struct of ports, which is the list of everything that it can touch; its IAM policy
//! in `template.yaml` says the same, and a test compares them. Nothing here waits, retries or holds state:
//! waiting is a message with a delay, and every call can be repeated at any point.
//!
//! *Deciders* (`provision`, `interrupt`, `disrupt`) write only the ledger. The *actor* (`launch`)
//! chooses nothing. *Reconcilers* (`settle`, `drain`) move one claim under its own version; `resolve`
//! tells of every EC2NodeClass and NodePool what it finds, and `sweep` makes equal what differs.

mod calls;
mod catalog;
mod commit;
mod disrupt;
mod drain;
mod error;
mod interrupt;
mod job;
mod launch;
mod live;
mod metrics;
mod observe;
mod offers;
mod pass;
mod pools;
mod provision;
mod pulse;
mod registrations;
mod resolve;
mod settings;
mod settle;
mod standing;
mod sweep;
mod sync;
mod told;

pub use calls::{calls, makes, receivers};
pub use catalog::{CatalogPorts, catalog};
pub use disrupt::{DisruptPorts, disrupt};
pub use drain::{DrainPorts, drain};
pub use error::{Error, story};
pub use interrupt::{InterruptPorts, interrupt};
pub use job::{FailedJob, Job};
pub use launch::{DryRunTrigger, KnownTemplates, LaunchPorts, dry_run, launch};
pub use metrics::{
    METRICS, Metered, Metric, MetricKind, Metrics, Micros, Reading, Sample, count_messages,
    note_report,
};
pub use offers::KnownOffers;
pub use provision::{BatchWindow, LastLook, ProvisionPorts, provision};
pub use resolve::{DryRuns, ResolvePorts, resolve};
pub use settings::{
    Allowed, InvalidSetting, MetricDimensions, Record, SETTINGS, Setting, Settings, gates,
};
pub use settle::{SettlePorts, architecture_of, settle};
pub use sweep::{SweepPorts, sweep};
pub use told::{Recorder, Told};

use model::Plan;
use ports::Malformed;

/// What a decider did, for logs, timelines and tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The plan that was committed, or that changed nothing; `None` when nothing was looked at.
    pub plan: Option<Plan>,
    /// Objects that could not be read.
    pub malformed: Vec<Malformed>,
}
