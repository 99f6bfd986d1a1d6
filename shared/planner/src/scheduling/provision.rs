//! Pending pods → placements and new claims.

mod cheapest;
pub(crate) mod fleets;
pub(crate) mod packed;

use std::collections::BTreeMap;

use model::{NodePoolName, Plan, facts::Facts, limits, plan::Placement, policies::Packing};

use crate::{
    index::id::PodId,
    scheduling::{
        facts::buffer,
        launchable::known::KnownTypes,
        output,
        problem::Problem,
        share::{self, Caps},
        solver::{self, Failure, Options, Solution},
    },
    world::World,
};

/// How often a plan is made anew where new nodes hold more than their share of what came of it.
const SHARED_TIMES_MAX: usize = 4;

/// Where pending pods, and those of nodes that are disrupted, go: onto nodes that are there, onto
/// claims that are coming, onto new claims, or nowhere for reasons that are given.
///
/// Every pod that needs a place is in exactly one of them. The same facts give the same plan.
/// Nothing of the plan depends on the order of `facts.pods`.
#[must_use]
pub fn provision(facts: &Facts) -> Plan {
    PreparedFacts::of(facts).plan()
}

/// The very plan of [`provision`], sooner where the instance types of `facts` are `known` from an
/// earlier one.
#[must_use]
pub fn provision_with(facts: &Facts, known: &KnownTypes) -> Plan {
    PreparedFacts::with(facts, known).plan()
}

/// The same, and why NodePools can launch nothing, as [`crate::pools_without_types`] says it.
pub(crate) fn provision_with_reasons(
    facts: &Facts,
    known: &KnownTypes,
) -> (Plan, BTreeMap<NodePoolName, String>) {
    let mut prepared = PreparedFacts::with(facts, known);
    let plan = prepared.plan();
    (plan, prepared.0.pools_without_types())
}

/// The placements of the plan of [`provision`], without the reasons of pods that have none.
pub(crate) fn placements_with(facts: &Facts, known: &KnownTypes) -> Vec<Placement> {
    let mut prepared = PreparedFacts::with(facts, known);
    let solved = prepared.solve();
    output::placements(&prepared.0, &solved.0)
}

/// Whether no pod waits, none has to move and none is to be kept room for: planning would be for
/// nothing.
pub(crate) fn is_idle(facts: &Facts) -> bool {
    !facts.pods.iter().any(model::Pod::is_provisionable)
        && World::of(facts).leaving(facts).is_empty()
        && buffer::virtual_pods(facts).is_empty()
}

/// Facts made ready for [`provision`]: pools, types and nodes are indexed, no pod has a place yet.
///
/// Apart so that each step can be measured, and ended early.
#[derive(Debug)]
pub struct PreparedFacts<'a>(Problem<'a>);

/// A place for every pod, before anything is written down. Where Karpenter's `Solve` ends.
#[derive(Debug)]
pub struct Solved(Solution);

impl<'a> PreparedFacts<'a> {
    /// Gets `facts` ready.
    #[must_use]
    pub fn of(facts: &'a Facts) -> Self {
        Self::with(facts, &KnownTypes::default())
    }

    /// Gets `facts` ready, whose instance types may be `known`.
    #[must_use]
    pub fn with(facts: &'a Facts, known: &KnownTypes) -> Self {
        Self(Problem::of(facts, false, known))
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
        let solved = self.solve_within(tries_max);
        self.plan_of(&solved)
    }

    /// Finds a place for every pod.
    #[must_use]
    pub fn solve(&mut self) -> Solved {
        self.solve_within(limits::TRIES_PER_PLAN_MAX)
    }

    fn solve_within(&mut self, tries_max: usize) -> Solved {
        let options = Options { waits_for_reserved: true, tries_max, ..Options::default() };
        let pods = self.0.demand.now.clone();
        // Karpenter does not look at nodes either while no pool may launch.
        if !self.0.has_pools {
            let failed = pods.iter().map(|pod| (*pod, Failure::NoPlace)).collect();
            let state = self.0.start.clone();
            return Solved(Solution { failed, state, ..Solution::default() });
        }
        if !self.0.is_capped() {
            return Solved(self.solve_from(&pods, options));
        }
        // Mostly there is enough for all that it buys. Who counts while it is found counts every claim as the
        // dearest of what it might still become.
        let dollars = std::mem::take(&mut self.0.start.dollars);
        let mut solution = self.solve_from(&pods, options);
        self.0.start.dollars = dollars;
        let left = self.0.paid(&solution);
        Solved(match left {
            Some(left) => {
                solution.state.dollars = left;
                solution
            }
            None => self.solve_from(&pods, options),
        })
    }

    /// A solution in which no new node holds more of its pool than it may.
    fn solve_from(&mut self, pods: &[PodId], options: Options) -> Solution {
        self.0.shares = Caps::default();
        if !share::is_asked(&self.0) {
            return self.solve_capped(pods, options);
        }
        let start = self.0.start.clone();
        let uncapped = solver::solve(&mut self.0, start, pods, options);
        self.0.shares = share::caps(&self.0, Some(&uncapped));
        for _ in 0..SHARED_TIMES_MAX {
            let solution = self.solve_capped(pods, options);
            if share::keeps(&self.0, &solution) {
                return solution;
            }
            let other = share::caps(&self.0, Some(&solution));
            self.0.shares = std::mem::take(&mut self.0.shares).tightened(&other);
        }
        self.0.shares = std::mem::take(&mut self.0.shares).of_none();
        self.solve_capped(pods, options)
    }

    fn solve_capped(&mut self, pods: &[PodId], options: Options) -> Solution {
        let start = self.0.start.clone();
        let first = solver::solve(&mut self.0, start, pods, options);
        let first = cheapest::of(&mut self.0, first, pods, options);
        if packed::is_wanted(&self.0) {
            let start = self.0.start.clone();
            packed::of(&mut self.0, first, (start, pods), options).0
        } else {
            first
        }
    }

    /// Finds a place for every pod, packed so in every pool, whatever it says itself.
    pub(crate) fn solve_packed(&mut self, packing: Packing) -> Solved {
        self.0.packing = Some(packing);
        self.solve()
    }

    /// A price for one hour below which no plan can place the pods that `solved` places.
    #[must_use]
    pub fn bound_of(&mut self, solved: &Solved) -> model::HourlyPrice {
        packed::bound(&mut self.0, &solved.0, packed::FULL)
    }

    /// The same, sooner and rougher.
    pub(crate) fn quick_bound_of(&mut self, solved: &Solved) -> model::HourlyPrice {
        packed::bound(&mut self.0, &solved.0, packed::QUICK)
    }

    /// Writes down what was found: claims with names, labels and the types that they may become, and
    /// the reasons of pods without a place.
    #[must_use]
    pub fn plan_of(&mut self, solved: &Solved) -> Plan {
        output::plan(&mut self.0, &solved.0)
    }
}
