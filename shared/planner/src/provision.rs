//! Pending pods → placements and new claims.

use model::{Plan, facts::Facts};

use crate::{output, problem::Problem, solver};

/// Where pending pods, and those of nodes that are given up, go: onto nodes that are there, onto
/// claims that were promised, onto new claims, or nowhere for reasons that are given.
///
/// Every pod that needs a place is in exactly one of them. The same facts give the same plan.
/// Nothing of the plan depends on the order of `facts.pods`.
#[must_use]
pub fn provision(facts: &Facts) -> Plan {
    let mut problem = Problem::of(facts);
    let solution = solver::solve(&mut problem);
    output::plan(&mut problem, solution)
}

#[cfg(test)]
mod tests;
