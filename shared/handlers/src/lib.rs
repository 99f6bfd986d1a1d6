//! One module per function: observe, decide, check, commit, act.
//!
//! A handler takes a struct of ports, which is the list of everything that it can touch; its IAM policy in
//! `template.yaml` is made of the same calls. Every call of a handler can be repeated at any
//! point. Handlers hold no decision: they observe, ask [`planner`], commit and act.
//!
//! A handler waits with a message that has a delay. Inside a call wait only the batch window of `provision`, ten seconds
//! at most, as [`planner::pace`] says, and [`waited`]. What a process remembers from call to call is [`ProcessMemory`];
//! no decision depends on it.
//!
//! *Deciders* (`provision`, `interrupt`, `disrupt`) write only the ledger: they send a question to
//! [`planner::answer`] and commit the plan. The *actor* (`launch`) chooses nothing. *Reconcilers* (`settle`, `drain`)
//! move one claim under its own version; `resolve` writes the status of every EC2NodeClass and NodePool, and `sweep`
//! reconciles instances, claims and objects.

mod calls;
mod catalog;
mod commit;
mod decide;
mod disrupt;
mod drain;
mod error;
pub mod function;
mod interrupt;
mod job;
mod kept;
mod launch;
mod live;
mod memory;
mod metrics;
mod observe;
mod pass;
mod pools;
mod provision;
mod published;
mod pulse;
mod recorder;
mod registrations;
mod resolve;
mod settings;
mod settle;
mod standing;
mod sweep;
mod sync;
mod templates;
#[cfg(test)]
mod testing;
mod wake;

pub use calls::{calls, receivers};
pub use catalog::{CatalogPorts, catalog};
pub use disrupt::{DisruptPorts, disrupt};
pub use drain::{DrainPorts, drain};
pub use error::{Error, story};
pub use interrupt::{InterruptPorts, interrupt};
pub use job::{FailedJob, Job};
pub use launch::{DryRunTrigger, LaunchPorts, dry_run, launch};
pub use memory::ProcessMemory;
pub use metrics::{
    METRICS, Metered, Metric, MetricKind, Metrics, Micros, Reading, Sample, count_messages,
    note_report,
};
pub use planner::pace::BatchWindow;
pub use provision::{ProvisionPorts, provision};
pub use recorder::Recorder;
pub use resolve::{DryRuns, ResolvePorts, resolve};
pub use settings::{
    Allowed, InvalidSetting, MetricDimensions, Record, SETTINGS, Setting, Settings, gates,
};
pub use settle::{SettlePorts, architecture_of, settle};
pub use sweep::{SweepPorts, sweep};
pub use wake::{WakeMemory, waited, wake};

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
