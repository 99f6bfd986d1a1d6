//! The cheapest of several plans that differ in how ties between domains were broken.
//!
//! What a domain costs one pod says little about what it costs those that follow it there. Karpenter's
//! plan is any of them, by chance; looking at some of them costs little where a plan is small.

use model::HourlyPrice;

use crate::{
    index::id::PodId,
    scheduling::{
        output,
        problem::Problem,
        solver::{self, Options, Solution, Ties},
    },
};

/// How often another way is tried.
const WAYS: u64 = 7;
/// A plan that took more tries of a pod is taken as it is.
const TRIES_MAX: usize = 400;

/// The cheapest of `first` and of what other ways bring that leave no other pod without a place; of
/// equally cheap ones that with the fewest claims.
pub(super) fn of(
    problem: &mut Problem<'_>,
    first: Solution,
    pods: &[PodId],
    options: Options,
) -> Solution {
    if first.ties == 0 || TRIES_MAX.min(options.tries_max) <= first.tries {
        return first;
    }
    let Some(cost) = cost(problem, &first) else { return first };
    let (mut best, mut least) = (first, cost);
    for way in 1..=WAYS {
        let options = Options { ties: Ties::Varied(way), ..options };
        let start = problem.start.clone();
        let other = solver::solve(problem, start, pods, options);
        if other.leaves_no_pod_but_of(&best)
            && let Some(cost) = self::cost(problem, &other)
            && cost < least
        {
            (best, least) = (other, cost);
        }
    }
    best
}

/// What its claims cost in sum, and how many they are; `None` if one of them cannot be.
pub(super) fn cost(problem: &mut Problem<'_>, solution: &Solution) -> Option<(HourlyPrice, usize)> {
    let mut sum = HourlyPrice::default();
    for claim in &solution.in_flight {
        sum = sum.saturating_add(output::draft(problem, claim).ok()?.price);
    }
    Some((sum, solution.in_flight.len()))
}
