//! Tests below `scheduling::facts`.

mod buffer;
mod overlay;
mod volume;
