//! Tests below `scheduling::packing`.

mod certify;
mod cuts;
mod greedy;
mod knapsack;
mod prove;
mod settle;
mod testing;
