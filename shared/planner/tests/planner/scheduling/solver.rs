//! Tests below `scheduling::solver`.

mod order;
