//! Tests below `scheduling::packing`.

#![expect(clippy::float_arithmetic, reason = "estimates of the packer are floating-point numbers")]

mod certify;
mod cuts;
mod greedy;
mod knapsack;
mod prove;
mod settle;
mod testing;
