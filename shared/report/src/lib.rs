//! How answers are shown: on a terminal, as one page for a browser, in words for amounts, and as what is wrong.
//!
//! Which answer it is belongs to the command that gives it.

pub mod command;
pub mod contents;
pub mod cost;
pub mod error;
pub mod format;
pub mod json;
pub mod output;
pub mod packing;
pub mod page;
pub mod progress;
pub mod screen;
pub mod series;
