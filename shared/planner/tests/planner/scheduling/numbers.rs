//! Tests below `scheduling::numbers`.

mod amounts;
mod sets;
