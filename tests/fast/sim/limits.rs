//! What goes wrong in a real account, one story for each finding. The numbers are those of
//! `tests/fast/sim/failures.md`.

#[path = "limits/cost.rs"]
mod cost;
#[path = "limits/critical.rs"]
pub(crate) mod critical;
#[path = "limits/fleet.rs"]
mod fleet;
#[path = "limits/high.rs"]
pub(crate) mod high;
#[path = "limits/medium.rs"]
pub(crate) mod medium;
#[path = "limits/requests.rs"]
mod requests;
#[path = "limits/wake.rs"]
mod wake;
