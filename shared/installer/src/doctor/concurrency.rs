//! How many executions of Lambda the functions need at a time.

use model::Function;

/// Executions of `function` that its queue starts at a time at most; `None` without a queue.
pub fn of_queue(function: Function) -> Option<u64> {
    match function {
        Function::Launch => Some(3),
        Function::Provision
        | Function::Disrupt
        | Function::Settle
        | Function::Drain
        | Function::Interrupt => Some(2),
        Function::Resolve | Function::Sweep | Function::Catalog | Function::Wake => None,
    }
}

/// Executions of `function` at a time at most: those of its queue and one of its schedule. Without a queue the schedule
/// may start the next execution before one ends.
pub fn at_most(function: Function) -> u64 {
    match of_queue(function) {
        Some(of_queue) => of_queue + u64::from(function != Function::Interrupt),
        None => 2,
    }
}

/// Executions of all functions at a time at most, but for those of `wake`: its stack reserves them.
pub fn needed() -> u64 {
    Function::ALL.into_iter().filter(|function| *function != Function::Wake).map(at_most).sum()
}
