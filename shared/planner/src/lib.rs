//! The core: what to launch and what to delete, decided from facts.
//!
//! Everything here is a pure, synchronous function: no IO, no clock, no randomness, no failure. The
//! present is an argument, and the same facts give the same plan. What is impossible is a value: a
//! pod without a place has its reasons, a claim without a next step has none.
//!
//! # From facts to a plan
//!
//! ```text
//!            what was observed        made ready once           what trying changes
//!            ┌───────────────┐       ┌───────────────┐           ┌──────────────┐
//!            │ model::Facts  │──────►│    Problem    │──────────►│    State     │ a copy
//!            └───────┬───────┘       │ names are     │           │ room, counts │ for each
//!                    │               │ numbers       │           └──────┬───────┘ trial
//!                    │               └───────┬───────┘                  │
//!                    │                       └───────────┬──────────────┘
//!                    │                                   ▼
//!                    │  scheduling                    solver ──► Solution ──► output ──► model::Plan
//!                    │                                   ▲                                  ▲
//!                    │                                   │ what if these nodes were gone?   │
//!                    ├──────► disruption ────────────────┘                                  │
//!                    │        candidates ──► command ──► does it still hold? ───────────────┤
//!                    │                                                                      │
//!                    └──────► lifecycle                                                     │
//!                             one claim, its node, the present ──► its next step ───────────┘
//! ```
//!
//! * `scheduling` finds a place for every pod: [`provision`], and `what_if` for disruption. How it
//!   works, and what it costs, its header says.
//! * [`disruption`] finds nodes to disrupt, and says why every other node stays.
//! * `lifecycle` takes a claim from its creation to its end: [`concluded`] after a launch, [`settle`], [`drain`], [`interrupt`],
//!   [`forced`], and what becomes of its hashes and its reservation.
//! * [`events`] says which events are published.
//! * [`pace`] says when a function looks at the whole cluster.
//! * [`answer`] is the one door to decisions: a function, a simulation and a replay ask it a question about facts.
//! * [`foreseen`] strings answers together: what functions would commit next.
//! * `eviction` (what moving pods costs, and what forbids it), `world` (which claim is which node's),
//!   `told` (what records say) and `index` (tables and sets of numbers) are below all of them.
//!
//! Arrows point down: `lifecycle` and `disruption` may ask `scheduling`, which knows neither.
//!
//! What is not supported yet: whatever [`model::PodSpec::problems`] names. Pods that ask for it
//! are reported, and never placed as if they did not.

mod answer;
pub mod disruption;
pub mod events;
pub mod eviction;
pub mod foreseen;
pub mod index;
pub mod lifecycle;
pub mod pace;
mod pod_events;
pub mod scheduling;
pub mod told;
mod unchanged;
pub mod world;

pub use answer::{Answer, Memory, NextSearch, answer};
pub use lifecycle::{
    adopt::{Adoption, Present, adopt, left_behind, users_without_instance, without_instance},
    drain::{
        Drainage, InstanceView, RebootStep, VolumeLook, VolumeStep, await_volumes, drain, held,
        held_for_reboot, let_go, reboot, released,
    },
    drift::drifted_in_account,
    ended::{ended_early, held_back, joined_again, waiting},
    forced::forced,
    guard::{Verdict, passed_over, verdict},
    interrupt::interrupt,
    join::{diagnose, is_look_due, looked_into, questions},
    launch::{Conclusion, LaunchError, LaunchOutcome, NewInstance, Shortfall, concluded},
    overdue::overdue,
    renewal::renewed_hashes,
    reservation::{demoted, reserved},
    settle::{SeenSlices, Settlement, awaits_devices, settle, settle_among},
    standalone::{Standalone, standalone},
    status::impaired,
};
pub use scheduling::{
    facts::{
        buffer::{buffer_statuses, virtual_pods},
        device::CLAIMS_IGNORED,
        overlay::{Overlaid, Rejection, overlays, overlays_on},
    },
    launchable::known::KnownTypes,
    provision::{
        PreparedFacts, Solved,
        fleets::{Fleets, LowerBound, fleet_price, fleets, lower_bound},
        provision, provision_with,
    },
    remedy::{Remedies, STEPS_MAX, name_remedies, remedies},
    share::{AboveShare, above_share},
    static_pool::{Launches, launches, scaled_down},
    unlaunchable::pools_without_types,
};
