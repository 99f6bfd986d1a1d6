//! The handlers in the simulator: storms of seeds, a sweep, stories, and the test of the test.
//!
//! `JOURNEYMAN_SEEDS=10000 cargo test -p tests --test sim storms_leak` plays more storms;
//! `JOURNEYMAN_SEED=17` plays one and prints its trace. `JOURNEYMAN_LARGE=1` plays the stories that grow
//! (rolling updates, replacements that never join, droughts, churn) with up to 500 nodes for 48 hours.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests fail loudly, and say what they played"
)]

#[path = "foreseen.rs"]
mod differences;

#[path = "sim/buffers.rs"]
mod buffers;
#[path = "sim/calls.rs"]
mod calls;
#[path = "sim/churn.rs"]
mod churn;
#[path = "sim/commands.rs"]
mod commands;
#[path = "sim/deletion_costs.rs"]
mod deletion_costs;
#[path = "sim/devices.rs"]
mod devices;
#[path = "sim/dollars.rs"]
mod dollars;
#[path = "sim/dry_run.rs"]
mod dry_run;
#[path = "sim/explained.rs"]
mod explained;
#[path = "sim/foreseen.rs"]
mod foreseen;
#[path = "sim/gates.rs"]
mod gates;
#[path = "sim/interruptions.rs"]
mod interruptions;
#[path = "sim/join.rs"]
mod join;
#[path = "sim/judged.rs"]
mod judged;
#[path = "sim/launch_faults.rs"]
mod launch_faults;
#[path = "sim/launch_template.rs"]
mod launch_template;
#[path = "sim/ledger.rs"]
mod ledger;
#[path = "sim/lifecycle.rs"]
mod lifecycle;
#[path = "sim/limits.rs"]
mod limits;
#[path = "sim/measured.rs"]
mod measured;
#[path = "sim/metrics.rs"]
mod metrics;
#[path = "sim/neighbour.rs"]
mod neighbour;
#[path = "sim/node_claims.rs"]
mod node_claims;
#[path = "sim/overlays.rs"]
mod overlays;
#[path = "sim/readiness.rs"]
mod readiness;
#[path = "sim/recorded.rs"]
mod recorded;
#[path = "sim/refused.rs"]
mod refused;
#[path = "sim/repair.rs"]
mod repair;
#[path = "sim/reservations.rs"]
mod reservations;
#[path = "sim/resolve.rs"]
mod resolve;
#[path = "sim/rights.rs"]
mod rights;
#[path = "sim/rollouts.rs"]
mod rollouts;
#[path = "sim/sabotage.rs"]
mod sabotage;
#[path = "sim/settings.rs"]
mod settings;
#[path = "sim/sizes.rs"]
mod sizes;
#[path = "sim/sold.rs"]
mod sold;
#[path = "sim/spot.rs"]
mod spot;
#[path = "sim/standalone.rs"]
mod standalone;
#[path = "sim/static_pools.rs"]
mod static_pools;
#[path = "sim/stories.rs"]
mod stories;
#[path = "sim/storm.rs"]
mod storm;
#[path = "sim/sweep.rs"]
mod sweep;
#[path = "sim/sweep_jobs.rs"]
mod sweep_jobs;
#[path = "sim/told.rs"]
mod told;
#[path = "sim/unreadable.rs"]
mod unreadable;
#[path = "sim/volumes.rs"]
mod volumes;
#[path = "sim/wake.rs"]
mod wake;
#[path = "sim/wake_health.rs"]
mod wake_health;
#[path = "sim/world.rs"]
mod world;
