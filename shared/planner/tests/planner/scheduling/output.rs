//! Tests below `scheduling::output`.

mod explain;
