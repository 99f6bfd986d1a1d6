//! Where pods go: onto what is there or coming, onto new claims, or nowhere for reasons that are
//! given.
//!
//! Each module uses those above it in the list only.
//!
//! # How it works
//!
//! [`provision`](crate::provision) answers as plain first-fit-decreasing would (Karpenter's: pods by
//! CPU, memory, age; each onto the first node or unlaunched claim that takes it, else onto the claim of
//! this plan with the fewest pods that takes it, else onto a new claim of the first pool that can
//! launch something for it; preferences are relaxed one by one, and pods without a place are tried again
//! until a whole round brings nothing). These ideas make it fast, and none of them changes the answer:
//!
//! * **Classes** (`demand::class`). Pods with equal specs and volumes ask alike. What they ask for beside
//!   *requests* and volumes is their *profile* (`demand::profile`), which most often many classes share.
//!   What a profile asks for at each step of relaxing preferences is worked out once: a set of
//!   requirements and tolerations (its *constraints*, `demand::constraints`, which many profiles share),
//!   and rules about other pods.
//!   A pod that claims devices is a class of its own, for devices are given to one pod after the other
//!   (`solver::devices`); no answer about it is kept for another.
//! * **Numbers for names.** Resources have places in arrays of `i64`; labels, requirements and sets
//!   of requirements are numbers (`numbers`), and adding a pod's requirements to a claim's is one
//!   look-up after the first time. The algebra itself stays in `model`.
//! * **Types as bits.** Which instance types go with a requirement, a set of requirements, a market
//!   (zone, capacity type, reservation) or an amount of a resource is a bit set, worked out once
//!   (`launchable`). A claim's remaining types are the intersection of a few of them.
//! * **Candidates as bits.** Whether a node or a claim may take a pod is found for 64 of them at
//!   once: tolerated, not full for these requests, not refused to these constraints, no port taken, on the
//!   right side of every rule about the hostname (a bit for each host, kept while counting), in a
//!   domain that every other rule allows (a bit for each host and domain). Only what is left is
//!   looked at, in order (`solver::order`), and what fails for good leaves a bit behind.
//! * **Rules about other pods, once for all who ask** (`topology`). A rule counts by the number of the
//!   domain. What it allows now is found once for a pod, not once for a claim. A refusal that comes
//!   from counts is never remembered; one that comes from requirements, room or taints always is, for
//!   capacity only fills up, claims only narrow and limits only shrink. A class that found no place is
//!   not tried again until some pod did.
//! * **What changes is apart** (`state`) from what does not (`problem`), and is shared until it is
//!   written, so that `what_if` can try thousands of times without preparing anything again.
//!
//! With P pods, S distinct requests, W constraints, E nodes, C claims of the plan, T instance types, K distinct
//! sets of requirements, G rules, D domains of a label, R resources: sorting is P·log P; each try of a
//! pod costs a few times (E + C)/64 words, D for each of its rules, and R·T/64 words for each claim
//! that is looked at. Of those looks, S·C end in "full" and S·W·C in "never"; all others place a pod,
//! or fail for a domain in which a claim can have no type. Requirement sets cost K·T once. Memory is
//! P + (S + S·W + G)·(E + C)/8 + K·T/8 + R·T²/8 bytes and some, of which most stays empty.
//!
//! Ties that Karpenter leaves to the order of a map are broken by name; claims with equally many pods
//! are tried in the order that Go's unstable, but determined sort leaves them in (`solver::order`).
//! Where a rule could pin a claim to any of several domains, the cheapest for which there are instance
//! types is taken; and a small plan is made in some other ways too, of which the cheapest is taken
//! (`solver::ties`, `provision::cheapest`).

pub mod facts;
pub mod numbers;

pub mod launchable;
pub mod topology;

pub mod demand;
pub(crate) mod supply;

pub mod dollars;
pub mod share;
pub mod state;

pub mod problem;

pub mod packing;

pub mod solver;

pub mod output;

pub mod provision;
pub mod remedy;
pub(crate) mod replace;
pub mod static_pool;
pub mod unlaunchable;
pub mod what_if;
