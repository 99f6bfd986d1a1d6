//! How answers are shown.

#![expect(clippy::unwrap_used, reason = "a test fails where something is not as it builds it")]

mod amounts;
mod cost;
mod page;
mod screen;
mod size;
