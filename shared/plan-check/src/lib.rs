//! An independent judge of plans.
//!
//! It shares no code with the planner, but what evaluates selectors of devices, and is written from the rules alone, one
//! by one and slowly:
//! what both get wrong in the same way, nothing finds. A plan with violations is never committed: what they name is
//! left out first.
//!
//! It judges what a plan claims, not whether a better one exists. In particular it does not judge
//! that every pending pod is mentioned, that placement is first fit, that new capacity was needed,
//! which devices pods get of those that they could, budgets with a schedule (they are taken as not applying now), PodDisruptionBudgets, nominations,
//! deadlines beyond their presence, preferences, canaries of drift that neither hash nor image shows, and what handlers
//! decide about claims by reasons other than emptiness and age.

mod buffers;
mod candidates;
mod changes;
mod claims;
mod commands;
mod crowd;
mod daemons;
mod devices;
mod dollars;
mod limits;
mod node_labels;
mod overlays;
mod pods;
mod ports;
mod reservations;
mod rollouts;
mod room;
mod shares;
mod sound;
mod static_pools;
mod topology;
mod violation;
mod volumes;
mod world;

pub use sound::sound;
pub use violation::Violation;

use std::fmt;

use model::{Plan, facts::Facts};

use crate::{crowd::Crowd, world::World};

/// A plan that must not be committed, and all that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Invalid {
    /// Never empty.
    pub violations: Vec<Violation>,
}

impl fmt::Display for Invalid {
    /// The first violations and how many more there are: a log line has an end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN_MAX: usize = 20;
        let shown: Vec<String> =
            self.violations.iter().take(SHOWN_MAX).map(ToString::to_string).collect();
        write!(f, "the plan breaks its own rules: {}", shown.join("; "))?;
        match self.violations.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// Whether `plan`, made from `facts`, may be committed.
pub fn ensure_valid(facts: &Facts, plan: &Plan) -> Result<(), Invalid> {
    let violations = violations(facts, plan);
    if violations.is_empty() { Ok(()) } else { Err(Invalid { violations }) }
}

/// How many searches for devices of `plan` ended before they found whether there are enough: what they are about is
/// not judged.
#[must_use]
pub fn undecided(facts: &Facts, plan: &Plan) -> usize {
    let (virtual_pods, changed_types) = (buffers::pods(facts), overlays::changed(facts));
    devices::judged(&World::new(facts, plan, &virtual_pods, &changed_types), plan).undecided
}

/// Everything that is wrong with `plan`, made from `facts`. Empty is good.
#[must_use]
pub fn violations(facts: &Facts, plan: &Plan) -> Vec<Violation> {
    let (virtual_pods, changed_types) = (buffers::pods(facts), overlays::changed(facts));
    let world = World::new(facts, plan, &virtual_pods, &changed_types);
    let mut violations = Vec::new();
    let head = facts.ledger.head.counters;
    if plan.parent != head {
        let parent = plan.parent;
        violations.push(Violation::Parent { parent, head });
    }
    pods::check(&world, plan, &mut violations);
    devices::check(&world, plan, &mut violations);
    claims::check(&world, plan, &mut violations);
    candidates::check(&world, plan, &mut violations);
    room::check(&world, plan, &mut violations);
    let crowd = Crowd::of(&world, plan);
    ports::check(&world, &crowd, plan, &mut violations);
    topology::check(&world, &crowd, &mut violations);
    reservations::check(&world, plan, &mut violations);
    limits::check(&world, plan, &mut violations);
    let created: Vec<_> = plan.new_claims.iter().map(|new| &new.claim).collect();
    dollars::check(&world, &created, &mut violations);
    shares::check(&world, plan, &mut violations);
    static_pools::check(&world, plan, &mut violations);
    changes::check(&world, plan, &mut violations);
    rollouts::check(&world, plan, &mut violations);
    violations
}
