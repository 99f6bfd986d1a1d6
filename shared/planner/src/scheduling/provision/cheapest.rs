//! The best of several plans that differ in how ties between domains were broken.
//!
//! What a domain costs one pod says little about what it costs those that follow it there, and whether
//! they find a place. Karpenter's plan is any of them, by chance; looking at some of them costs little
//! where a plan is small.

use std::collections::BTreeMap;

use model::HourlyPrice;

use crate::{
    index::id::{ClassId, PodId},
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

/// What comes of a solution.
#[derive(Debug)]
pub(super) struct Outcome {
    /// How many pods of each class stay pending, those of claims that cannot be created among them.
    pending: BTreeMap<ClassId, usize>,
    /// For one hour, of the claims that can be created.
    pub(super) price: HourlyPrice,
    claims: usize,
}

impl Outcome {
    pub(super) fn of(problem: &mut Problem<'_>, solution: &Solution) -> Self {
        let mut outcome =
            Self { pending: BTreeMap::new(), price: HourlyPrice::default(), claims: 0 };
        outcome.leave(problem, solution.failed.iter().map(|(pod, _)| *pod));
        for claim in &solution.in_flight {
            if let Ok(draft) = output::draft(problem, claim) {
                outcome.price = outcome.price.saturating_add(draft.price);
                outcome.claims += 1;
            } else {
                outcome.leave(problem, claim.pods.iter().copied());
            }
        }
        outcome
    }

    fn leave(&mut self, problem: &Problem<'_>, pods: impl Iterator<Item = PodId>) {
        for pod in pods {
            *self.pending.entry(problem.demand.pods[pod].class).or_default() += 1;
        }
    }

    /// Whether more pods have a place than in `other`; or as many of each class for less money, or on fewer nodes for
    /// the same money.
    fn is_better_than(&self, other: &Self) -> bool {
        self.pending_count() < other.pending_count()
            || self.pending == other.pending && self.cost() < other.cost()
    }

    /// Whether it is better than `other`, and leaves no more pods of any class pending.
    pub(super) fn outdoes(&self, other: &Self) -> bool {
        let is_kept = |(class, count): (&ClassId, &usize)| other.pending.get(class) >= Some(count);
        self.pending.iter().all(is_kept) && self.is_better_than(other)
    }

    fn pending_count(&self) -> usize {
        self.pending.values().sum()
    }

    fn cost(&self) -> (HourlyPrice, usize) {
        (self.price, self.claims)
    }
}

/// The best of `first` and of what other ways bring.
pub(super) fn of(
    problem: &mut Problem<'_>,
    first: Solution,
    pods: &[PodId],
    options: Options,
) -> Solution {
    if first.ties == 0 || TRIES_MAX.min(options.tries_max) <= first.tries {
        return first;
    }
    let outcome = Outcome::of(problem, &first);
    let mut best = (first, outcome);
    for way in 1..=WAYS {
        let options = Options { ties: Ties::Varied(way), ..options };
        let start = problem.start.clone();
        let other = solver::solve(problem, start, pods, options);
        let outcome = Outcome::of(problem, &other);
        if outcome.is_better_than(&best.1) {
            best = (other, outcome);
        }
    }
    best.0
}
