//! Tests below `scheduling`.

mod facts;
mod numbers;
mod output;
mod packing;
mod provision;
mod remedy;
mod solver;
mod static_pool;
