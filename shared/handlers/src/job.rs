//! What a function does in one call that does not hang together, and what became of it.

use std::fmt;

use ports::{Fault, PortError};

use crate::{Error, error::story};

/// A part of what a function does in one call. A job that fails keeps no other from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Job {
    /// `resolve`: the status of EC2NodeClasses.
    NodeClassStatus,
    /// `resolve`: the status of NodePools.
    NodePoolStatus,
    /// `resolve`: the instance types that can be bought.
    InstanceTypes,
    /// `resolve`: the status of NodeOverlays.
    NodeOverlayStatus,
    /// `resolve`: whether the API server calls `wake`.
    WakeProbe,
    /// `sweep`: who is in charge of the cluster.
    Guard,
    /// `sweep`: the secret path by which the API server calls `wake`.
    Webhooks,
    /// `sweep`: instances without claims, and claims without instances.
    Instances,
    /// `sweep`: zones that traffic is shifted away from.
    ZonalShifts,
    /// `sweep`: instances whose checks fail, or of which EC2 scheduled events.
    InstanceStatus,
    /// `sweep`: NodeClaim objects that do not say what the ledger says.
    NodeClaimObjects,
    /// `sweep`: claims whose capacity reservation is over.
    Reservations,
    /// `sweep`: claims whose drift hashes are of another version.
    DriftHashes,
    /// `sweep`: claims whose instances are not what their class selects any more.
    Drift,
    /// `sweep`: unused instance profiles.
    InstanceProfiles,
    /// `sweep`: old launch templates.
    LaunchTemplates,
}

impl Job {
    /// Its name in logs and errors.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NodeClassStatus => "EC2NodeClass status",
            Self::NodePoolStatus => "NodePool status",
            Self::InstanceTypes => "instance types",
            Self::NodeOverlayStatus => "NodeOverlay status",
            Self::WakeProbe => "probe of wake",
            Self::Guard => "guard",
            Self::Webhooks => "webhooks of wake",
            Self::Instances => "instances",
            Self::ZonalShifts => "zonal shifts",
            Self::InstanceStatus => "status of instances",
            Self::NodeClaimObjects => "NodeClaim objects",
            Self::Reservations => "capacity reservations",
            Self::DriftHashes => "drift hashes",
            Self::Drift => "drift of instances",
            Self::InstanceProfiles => "instance profiles",
            Self::LaunchTemplates => "launch templates",
        }
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A job that failed.
#[derive(Debug)]
pub struct FailedJob {
    /// Which one.
    pub job: Job,
    /// The first error of the job. Of the things that a job is about each is tried, and each that
    /// fails is logged.
    pub error: Box<Error>,
}

/// The jobs of one call that failed so far.
#[derive(Debug, Default)]
pub(crate) struct Jobs(Vec<FailedJob>);

impl Jobs {
    /// Notes what became of `job`.
    pub(crate) fn note(&mut self, job: Job, result: Result<(), impl Into<Error>>) {
        self.take(job, result);
    }

    /// Notes what became of `job`, and brings what it was for.
    pub(crate) fn take<T>(&mut self, job: Job, result: Result<T, impl Into<Error>>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let error = Box::new(error.into());
                tracing::warn!(%job, story = story(&*error), "job failed");
                self.0.push(FailedJob { job, error });
                None
            }
        }
    }

    /// An error that names every job that failed, if any did.
    pub(crate) fn done(self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::Jobs(self.0)) }
    }
}

/// What became of the things that one job is about.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    first: Option<PortError>,
}

impl Tally {
    /// Notes that doing something about `thing` came to `result`; whether it was done.
    pub(crate) fn note(&mut self, thing: impl fmt::Display, result: Result<(), PortError>) -> bool {
        let Err(error) = result else { return true };
        tracing::warn!(%thing, story = story(&error), "failed");
        self.first = self.first.take().or(Some(error));
        false
    }

    /// Notes that updating the status of `thing` came to `result`. One that changed or went meanwhile is
    /// no failure: the next look is about what is there then.
    pub(crate) fn note_update(&mut self, thing: impl fmt::Display, result: Result<(), PortError>) {
        let is_moved = |error: &PortError| matches!(error.fault, Fault::Conflict | Fault::NotFound);
        if !result.as_ref().is_err_and(is_moved) {
            self.note(thing, result);
        }
    }

    /// The first error, if there was one.
    pub(crate) fn done(self) -> Result<(), PortError> {
        self.first.map_or(Ok(()), Err)
    }
}
