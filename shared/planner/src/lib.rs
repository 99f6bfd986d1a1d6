//! The core: what to launch and what to give up, decided from facts.
//!
//! Everything here is a pure, synchronous function: no IO, no clock, no randomness, no failure. The
//! present is an argument, and the same facts give the same plan. What is impossible is a value: a
//! pod without a place has its reasons, a claim without a next step has none.
//!
//! # How [`provision`] works
//!
//! It answers as plain first-fit-decreasing would (Karpenter's: pods by CPU, memory, age; each onto
//! the first node or promised claim that takes it, else onto the claim of this plan with the fewest
//! pods that takes it, else onto a new claim of the first pool that can launch something for it).
//! Four ideas make it fast, and none of them changes the answer:
//!
//! * **Classes.** Pods with equal specs schedule alike. What was found out about one pod (this node
//!   is too full, that claim has another zone, no pool can launch for it) is never asked again for
//!   its class: capacity only fills up, claims only narrow and limits only shrink while a plan is
//!   made. So a class walks the list of existing capacity once, tries each claim at most once after
//!   its last success there, and is relaxed and finally given up once. Pods with equal requests
//!   (a *shape*) share even more: a claim too full for one is too full for all.
//! * **Numbers for names.** Resources have places in arrays of `i64`; labels, requirements and sets
//!   of requirements are numbers (`sets`), and adding a pod's requirements to a claim's is one
//!   look-up after the first time. The algebra itself stays in `model`.
//! * **Types as bits.** Which instance types go with a requirement, a set of requirements, a market
//!   (zone and capacity type) or an amount of a resource is a bit set, worked out once (`offer`,
//!   `template`). A claim's remaining types are the intersection of a few of them.
//! * **Order without sorting.** Claims by number of pods are kept in groups (`order`).
//!
//! With P pods, S distinct specs, E nodes and open promises, C claims of the plan, T instance types,
//! K distinct sets of requirements, R resources: sorting is P·log P; existing capacity costs
//! P + S·E; claims cost, for each pod, one look at each claim before the one that takes it (a bit
//! each) and R·T/64 words for each real attempt, of which there are at most P + S·C; requirement
//! sets cost K·T once. Memory is P + S·C/8 + K·T/8 + R·T²/8 bytes and some.
//!
//! Topology, preferences, volumes and host ports will narrow a claim between the join of the
//! requirements and the look at its types (`solver`). Where they make an answer depend on counts
//! that may change back, the class's memory of refusals holds only until they do.
//!
//! What is not supported yet: whatever [`model::PodSpec::unsupported`] names, reserved capacity,
//! `minValues` relaxed by policy, static pools, overlays and buffers. Pods that ask for it are
//! reported, and never placed as if they did not.
//!
//! # Modules
//!
//! `problem` makes the facts ready (`demand`, `supply`, `template`, `offer`, `sets`, `amounts`,
//! `bits`), `solver` places, `explain` gives reasons, `output` makes the plan. `interrupt`,
//! `emptiness` (with `budget` and `schedule`) and `expiration` give claims up; `settle` and `drain`
//! say the next step of one claim.

mod amounts;
mod bits;
mod budget;
pub mod buffer;
mod class;
mod daemons;
mod demand;
pub mod disruption;
mod domains;
mod drain;
mod emptiness;
mod expiration;
mod explain;
mod groups;
mod hosts;
mod interrupt;
mod offer;
mod order;
mod output;
pub mod overlay;
mod problem;
mod provision;
mod rules;
mod schedule;
mod sets;
mod settle;
mod solver;
mod state;
pub mod static_pool;
mod supply;
mod table;
mod tally;
mod template;
#[cfg(test)]
mod testing;
mod universe;
pub mod volume;
pub mod what_if;
mod world;

pub use drain::{Drainage, InstanceView, drain};
pub use emptiness::{Emptiness, emptiness, validated};
pub use expiration::expiration;
pub use interrupt::interrupt;
pub use provision::{Prepared, provision};
pub use schedule::{InvalidSchedule, Schedule};
pub use settle::{Settlement, settle};
