//! Faults: what a rule may do to a call, and the rules that come with the simulator.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use model::{Function, NodeClaim};
use ports::Fault;

use crate::chance::{Chance, Span};

/// Whether a call changes something outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It only asks.
    Read,
    /// It changes something.
    Write,
}

/// A call of a port, as rules see it.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// Its number in the whole run, from 0: a sweep fails one after the other.
    pub number: u64,
    /// The number of the delivery that makes it and its function, if it is one.
    pub delivery: Option<(u64, Function)>,
    /// Port and method, such as `Fleet.launch`.
    pub operation: &'static str,
    /// What it is about, such as the name of a claim.
    pub subject: &'a str,
    /// Whether it changes something.
    pub access: Access,
    /// The present.
    pub now: Timestamp,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// It goes through.
    Pass,
    /// It has no effect and fails.
    FailBefore(Fault),
    /// It has its effect, and the caller gets a failure.
    FailAfter(Fault),
    /// It has no effect, and the whole delivery ends here.
    CrashBefore,
    /// It has its effect, and the whole delivery ends here.
    CrashAfter,
    /// It has no effect: AWS answers with this code.
    Refuse(&'static str),
    /// It goes through so much later.
    Delay(SignedDuration),
}

/// Judges calls. The first rule whose injection is not `Pass` wins.
pub type FaultRule = Box<dyn FnMut(&Call<'_>, &mut Chance) -> Injection>;

/// Says what the table keeps when the function writes the claim at the time: releases differ in what they
/// write.
pub type RecordRule = Box<dyn FnMut(Function, Timestamp, &NodeClaim) -> NodeClaim>;

/// How often a call suffers what, in parts per thousand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storm {
    /// Fails as `Transient` without effect.
    pub fail_before_per_mille: u32,
    /// Has its effect and fails as `Unknown`.
    pub fail_after_per_mille: u32,
    /// Crashes the delivery without effect.
    pub crash_before_per_mille: u32,
    /// Crashes the delivery after its effect.
    pub crash_after_per_mille: u32,
    /// Takes up to twenty seconds longer.
    pub delay_per_mille: u32,
}

impl Storm {
    /// One call in fifty suffers something.
    pub const MODERATE: Self = Self {
        fail_before_per_mille: 5,
        fail_after_per_mille: 5,
        crash_before_per_mille: 4,
        crash_after_per_mille: 4,
        delay_per_mille: 2,
    };

    /// The storm as a rule.
    pub fn rule(self) -> FaultRule {
        Box::new(move |_, chance| self.injection(chance))
    }

    fn injection(self, chance: &mut Chance) -> Injection {
        let drawn = chance.below(1_000);
        let outcomes = [
            (self.fail_before_per_mille, Injection::FailBefore(Fault::Transient)),
            (self.fail_after_per_mille, Injection::FailAfter(Fault::Unknown)),
            (self.crash_before_per_mille, Injection::CrashBefore),
            (self.crash_after_per_mille, Injection::CrashAfter),
        ];
        let mut reached = 0;
        for (share, injection) in outcomes {
            reached += u64::from(share);
            if drawn < reached {
                return injection;
            }
        }
        if drawn < reached + u64::from(self.delay_per_mille) {
            return Injection::Delay(chance.within(Span::from_secs(1, 20)));
        }
        Injection::Pass
    }
}

/// A rule for the call with this number alone: a sweep tries 0, 1, 2, … in turn.
pub fn at_call(number: u64, injection: Injection) -> FaultRule {
    Box::new(move |call, _| if call.number == number { injection } else { Injection::Pass })
}

/// A rule for the first `times` calls of `operation`.
pub fn first_calls(operation: &'static str, times: u32, injection: Injection) -> FaultRule {
    let mut left = times;
    Box::new(move |call, _| {
        if call.operation != operation || left == 0 {
            return Injection::Pass;
        }
        left -= 1;
        injection
    })
}

/// A rule for the API server being away from `from` until `until`: no caller gets an answer.
pub fn api_server_away(from: Timestamp, until: Timestamp) -> FaultRule {
    const PORTS: [&str; 5] = ["Cluster.", "Nodes.", "NodeClaims.", "NodePools.", "NodeClasses."];
    Box::new(move |call, _| {
        let is_asked = PORTS.iter().any(|port| call.operation.starts_with(port));
        if is_asked && from <= call.now && call.now < until {
            Injection::FailBefore(Fault::Transient)
        } else {
            Injection::Pass
        }
    })
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => f.write_str("passes"),
            Self::FailBefore(fault) => write!(f, "fails before its effect: {fault}"),
            Self::FailAfter(fault) => write!(f, "fails after its effect: {fault}"),
            Self::Refuse(code) => write!(f, "is refused: {code}"),
            Self::CrashBefore => f.write_str("crashes before its effect"),
            Self::CrashAfter => f.write_str("crashes after its effect"),
            Self::Delay(duration) => write!(f, "takes {} ms longer", duration.as_millis()),
        }
    }
}
