//! The account and the functions in real time.

use jiff::{SignedDuration, Timestamp};
use model::{Function, duration::later};
use simulator::{SCHEDULED, Sim, WorldSettings};

use crate::LocalFunctions;

/// An account, and the functions that run in it while the caller moves its clock.
#[derive(Debug)]
pub struct LocalWorld {
    account: Sim,
    functions: LocalFunctions,
    schedule: SignedDuration,
    /// When schedules come round next.
    due: Timestamp,
    is_open: bool,
}

impl LocalWorld {
    /// `functions` in `account`, whose schedules come round once in `schedule`.
    pub fn new(account: &Sim, functions: LocalFunctions, schedule: SignedDuration) -> Self {
        let account = account.clone();
        Self { account, functions, schedule, due: Timestamp::MIN, is_open: false }
    }

    /// `settings` for an account whose cluster is a real one: it has no nodes, pods and schedules of its own, and
    /// its ledger is not opened.
    #[must_use]
    pub fn of_real_cluster(settings: WorldSettings) -> WorldSettings {
        WorldSettings {
            never_joins_per_mille: 1_000,
            ledger_is_open: false,
            has_schedules: false,
            ..settings
        }
    }

    /// Lets the account go on until `now` and calls the functions that are due. To be called often, on a
    /// `LocalSet`: what is called goes on by itself.
    pub fn pass_until(&mut self, now: Timestamp) {
        self.account.pass_until(now);
        self.functions.tell();
        self.functions.deliver();
        // No function acts before the ledger is open, so that the others are not called before either.
        if !self.is_open
            && self.functions.has_succeeded(Function::Sweep)
            && self.account.ledger().head.objection(now).is_none()
        {
            self.is_open = true;
            self.due = now;
        }
        if self.due <= now {
            let sweep = [Function::Sweep];
            self.functions.schedule(if self.is_open { &SCHEDULED } else { &sweep });
            self.due = later(now, self.schedule);
        }
    }

    /// Whether the functions may act, and each one that has a schedule was through.
    pub fn is_awake(&self) -> bool {
        self.is_open && self.functions.have_succeeded()
    }
}
