//! What the deployed Lambda functions and their queues are allowed, by function.
//!
//! `template.yaml` is made of it.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::Function;

/// What Lambda does with a chain of invocations that comes back to a function too often.
///
/// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html>
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecursiveLoop {
    /// It goes on.
    Allow,
    /// The invocation after the sixteenth is dropped: Lambda's default.
    #[default]
    Terminate,
}

/// Invocations of one function by one chain of messages, after which Lambda drops the next one.
///
/// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html>: "approximately 16".
pub const RECURSIVE_INVOCATIONS_MAX: u32 = 16;

/// The queue that wakes a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionQueue {
    /// From taking a message that is not acknowledged to its next delivery.
    pub visibility_timeout: SignedDuration,
    /// Messages that one invocation is given at most.
    pub batch_max: usize,
}

/// What one function is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionLimits {
    /// After so long an invocation is ended, wherever it is.
    pub timeout: SignedDuration,
    /// Its memory in MiB: what its time is billed by.
    pub memory_mib: u32,
    /// Invocations at the same time; `None` is as many as the account allows.
    pub reserved_concurrency: Option<usize>,
    /// What becomes of chains of messages to itself.
    pub recursive_loop: RecursiveLoop,
    /// Its queue, if it has one.
    pub queue: Option<FunctionQueue>,
}

/// What all functions are allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionTable(BTreeMap<Function, FunctionLimits>);

impl FunctionTable {
    /// As `template.yaml` deploys them.
    pub fn deployed() -> Self {
        Self(Function::ALL.into_iter().map(|function| (function, deployed(function))).collect())
    }

    /// The same for every function: a minute for an invocation and for a queue, no end of chains.
    pub fn uniform() -> Self {
        let limits = FunctionLimits {
            timeout: SignedDuration::from_mins(1),
            memory_mib: 256,
            reserved_concurrency: None,
            recursive_loop: RecursiveLoop::Allow,
            queue: Some(FunctionQueue {
                visibility_timeout: SignedDuration::from_mins(1),
                batch_max: 1,
            }),
        };
        Self(Function::ALL.into_iter().map(|function| (function, limits)).collect())
    }

    /// What `function` is allowed.
    pub fn of(&self, function: Function) -> FunctionLimits {
        self.0.get(&function).copied().unwrap_or_else(|| deployed(function))
    }

    /// The same with `change` made for `function`.
    #[must_use]
    pub fn with(mut self, function: Function, change: impl FnOnce(&mut FunctionLimits)) -> Self {
        let mut limits = self.of(function);
        change(&mut limits);
        self.0.insert(function, limits);
        self
    }
}

fn deployed(function: Function) -> FunctionLimits {
    let (memory_mib, timeout, batch_max) = match function {
        Function::Provision
        | Function::Disrupt
        | Function::Launch
        | Function::Settle
        | Function::Drain => (512, 60, Some(1)),
        Function::Interrupt => (1_024, 20, Some(1_000)),
        Function::Resolve | Function::Sweep | Function::Catalog => (256, 60, None),
        // An API server waits for a second.
        Function::Wake => (256, 5, None),
    };
    // Those that send to the queue that wakes them.
    let recursive_loop = match function {
        Function::Provision
        | Function::Disrupt
        | Function::Launch
        | Function::Settle
        | Function::Drain => RecursiveLoop::Allow,
        Function::Interrupt
        | Function::Resolve
        | Function::Sweep
        | Function::Catalog
        | Function::Wake => RecursiveLoop::Terminate,
    };
    // Of the two minutes of a spot notice, six times would leave nothing for a second delivery.
    let times = if function == Function::Interrupt { 3 } else { 6 };
    let queue = batch_max.map(|batch_max| FunctionQueue {
        visibility_timeout: SignedDuration::from_secs(timeout * times),
        batch_max,
    });
    FunctionLimits {
        timeout: SignedDuration::from_secs(timeout),
        memory_mib,
        reserved_concurrency: (function == Function::Wake).then_some(2),
        recursive_loop,
        queue,
    }
}
