//! Why a handler failed; the message is then delivered again.

use ports::PortError;

use crate::FailedJob;

/// A failure of a handler.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A port failed.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The planner made a plan of which the independent judge refuses so much that nothing is left: nothing was
    /// committed, and a person must look.
    #[error("the plan breaks its own rules")]
    InvalidPlan(#[from] plan_check::Invalid),
    /// One batch of new claims with its reasons has more items than a commit takes.
    #[error("a commit of {items} items was planned, and {items_max} are allowed")]
    TooLarge {
        /// Items of the commit.
        items: usize,
        /// The most that one takes.
        items_max: usize,
    },
    /// Some of the jobs of a call failed; the others ran.
    #[error("{}", failed_jobs(.0))]
    Jobs(Vec<FailedJob>),
}

fn failed_jobs(failed: &[FailedJob]) -> String {
    let text =
        |failed: &FailedJob| format!("job `{}` failed: {}", failed.job, story(&*failed.error));
    failed.iter().map(text).collect::<Vec<_>>().join("; ")
}

/// `error` and its causes in one line, outermost first.
pub fn story(error: &(dyn std::error::Error + 'static)) -> String {
    let chain = std::iter::successors(Some(error), |error| (*error).source());
    let mut causes: Vec<String> = chain.map(ToString::to_string).collect();
    // A transparent wrapper repeats what it wraps.
    causes.dedup();
    causes.join(": ")
}

impl Error {
    /// A stable name for metrics and alarms.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Port(error) => match error.fault {
                ports::Fault::Transient => "PortTransient",
                ports::Fault::Unknown => "PortUnknown",
                ports::Fault::Conflict => "PortConflict",
                ports::Fault::NotFound => "PortNotFound",
                ports::Fault::Permanent => "PortPermanent",
            },
            Self::InvalidPlan(_) => "InvalidPlan",
            Self::TooLarge { .. } => "CommitTooLarge",
            Self::Jobs(_) => "JobsFailed",
        }
    }
}
