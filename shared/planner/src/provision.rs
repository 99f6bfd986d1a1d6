//! Pending pods → placements and new claims.

use model::{Plan, facts::Facts, limits};

use crate::{
    output,
    problem::Problem,
    solver::{self, Failure, Options, Solution},
};

/// Where pending pods, and those of nodes that are given up, go: onto nodes that are there, onto
/// claims that were promised, onto new claims, or nowhere for reasons that are given.
///
/// Every pod that needs a place is in exactly one of them. The same facts give the same plan.
/// Nothing of the plan depends on the order of `facts.pods`.
#[must_use]
pub fn provision(facts: &Facts) -> Plan {
    Prepared::of(facts).plan()
}

/// Facts made ready for [`provision`]: pools, types and nodes are indexed, no pod has a place yet.
///
/// Apart only so that both halves can be measured.
#[derive(Debug)]
pub struct Prepared<'a>(Problem<'a>);

impl<'a> Prepared<'a> {
    /// Gets `facts` ready.
    #[must_use]
    pub fn of(facts: &'a Facts) -> Self {
        Self(Problem::of(facts, false))
    }

    /// The plan of [`provision`].
    #[must_use]
    pub fn plan(&mut self) -> Plan {
        self.plan_within(limits::TRIES_PER_PLAN_MAX)
    }

    /// The plan that comes of trying pods at most `tries_max` times. What was not tried has no place
    /// in it, and says so.
    #[must_use]
    pub fn plan_within(&mut self, tries_max: usize) -> Plan {
        let options = Options { waits_for_reserved: true, tries_max, ..Options::default() };
        let start = self.0.start.clone();
        let pods = self.0.demand.now.clone();
        // Karpenter does not look at nodes either while no pool may launch.
        if !self.0.has_pools {
            let failed = pods.iter().map(|pod| (*pod, Failure::NoPlace)).collect();
            let solution = Solution { failed, state: start, ..Solution::default() };
            return output::plan(&mut self.0, &solution);
        }
        let solution = solver::solve(&mut self.0, start, &pods, options);
        output::plan(&mut self.0, &solution)
    }
}

#[cfg(test)]
mod tests;
