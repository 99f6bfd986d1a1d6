//! Refused launches of a NodePool, and failed visits of a claim, as they are stored.

use jiff::Timestamp;
use model::{claim::Retry, ledger::LaunchRefusals};
use serde::{Deserialize, Serialize};

use super::VERSION;

/// Version 1 of the stored refusals of a NodePool.
#[derive(Serialize, Deserialize)]
pub(super) struct RefusalsRecordV1 {
    v: u32,
    reason: String,
    count: u32,
    until: Timestamp,
    #[serde(default)]
    ended: u32,
}

impl RefusalsRecordV1 {
    pub(super) fn of(refusals: &LaunchRefusals) -> Self {
        let LaunchRefusals { reason, count, until, ended } = refusals.clone();
        Self { v: VERSION, reason, count, until, ended }
    }

    pub(super) fn into_refusals(self) -> LaunchRefusals {
        let Self { reason, count, until, ended, .. } = self;
        LaunchRefusals { reason, count, until, ended }
    }
}

/// Version 1 of the stored failures of a claim's visits.
#[derive(Serialize, Deserialize)]
pub(super) struct RetryRecordV1 {
    v: u32,
    failures: u32,
    not_before: Timestamp,
}

impl RetryRecordV1 {
    pub(super) fn of(retry: Retry) -> Self {
        let Retry { failures, not_before } = retry;
        Self { v: VERSION, failures, not_before }
    }

    pub(super) fn into_retry(self) -> Retry {
        Retry { failures: self.failures, not_before: self.not_before }
    }
}
