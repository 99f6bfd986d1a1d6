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
//! pods that takes it, else onto a new claim of the first pool that can launch something for it;
//! wishes are given up one by one, and pods without a place are tried again until a whole round
//! brings nothing). These ideas make it fast, and none of them changes the answer:
//!
//! * **Classes** (`class`). Pods with equal specs and volumes ask alike. What each asks for at each
//!   step of giving wishes up is worked out once: a set of requirements and tolerations (a *fixed
//!   wish*, which many classes share), and rules about other pods. Requests are apart (*shapes*).
//! * **Numbers for names.** Resources have places in arrays of `i64`; labels, requirements and sets
//!   of requirements are numbers (`sets`), and adding a pod's requirements to a claim's is one
//!   look-up after the first time. The algebra itself stays in `model`.
//! * **Types as bits.** Which instance types go with a requirement, a set of requirements, a market
//!   (zone, capacity type, reservation) or an amount of a resource is a bit set, worked out once
//!   (`offer`, `template`). A claim's remaining types are the intersection of a few of them.
//! * **Candidates as bits.** Whether a node or a claim may take a pod is found for 64 of them at
//!   once: tolerated, not full for this shape, not refused to this fixed wish, no port taken, on the
//!   right side of every rule about the hostname (a bit for each host, kept while counting), in a
//!   domain that every other rule allows (a bit for each host and domain). Only what is left is
//!   looked at, in order (`order`), and what fails for good leaves a bit behind.
//! * **Rules about other pods, once for all who ask** (`groups`, `tally`, `rules`). A rule counts by
//!   the number of the domain. What it allows now is found once for a pod, not once for a claim. A
//!   refusal that comes from counts is never remembered; one that comes from requirements, room or
//!   taints always is, for capacity only fills up, claims only narrow and limits only shrink. A class
//!   that found no place is not tried again until some pod did.
//! * **What changes is apart** (`state`) from what does not (`problem`), and is shared until it is
//!   written, so that [`what_if`] can try thousands of times without preparing anything again.
//!
//! With P pods, S shapes, W fixed wishes, E nodes, C claims of the plan, T instance types, K distinct
//! sets of requirements, G rules, D domains of a label, R resources: sorting is P·log P; each try of a
//! pod costs a few times (E + C)/64 words, D for each of its rules, and R·T/64 words for each claim
//! that is looked at. Of those looks, S·C end in "full" and S·W·C in "never"; all others place a pod,
//! or fail for a domain in which a claim can have no type. Requirement sets cost K·T once. Memory is
//! P + (S + S·W + G)·(E + C)/8 + K·T/8 + R·T²/8 bytes and some, of which most stays empty.
//!
//! Ties that Karpenter leaves to the order of a map are broken by name; claims with equally many pods
//! are tried in the order that Go's unstable, but determined sort leaves them in (`order`).
//! Where a rule could pin a claim to any of several domains, the first for which there are instance
//! types is taken.
//!
//! What is not supported yet: whatever [`model::PodSpec::unsupported`] names. Pods that ask for it
//! are reported, and never placed as if they did not.
//!
//! # Modules
//!
//! `problem` makes the facts ready (`demand`, `class`, `daemons`, `supply`, `hosts`, `template`,
//! `offer`, `universe`, `domains`, `groups`, `sets`, `amounts`, `bits`; [`overlay`], [`buffer`] and
//! [`volume`] say what the objects of those kinds mean), `solver` places, `explain` gives reasons,
//! `output` makes the plan. [`what_if`] is the same for [`disruption`]. `interrupt`, `emptiness` (with
//! `budget` and `schedule`) and `expiration` give claims up; `settle` and `drain` say the next step
//! of one claim, `renewal` which drift hashes are of another version, `reservation` which claims are
//! no longer reserved.

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
mod renewal;
mod reservation;
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
pub use provision::{Prepared, Solved, provision};
pub use renewal::renewed_hashes;
pub use reservation::{demoted, reserved};
pub use schedule::{InvalidSchedule, Schedule};
pub use settle::{Settlement, settle};
