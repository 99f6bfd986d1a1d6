//! Tests below `disruption`.

mod balanced;
mod budgets;
mod calm;
mod candidate;
mod carry_out;
mod command;
mod conditions;
mod decisive;
mod deletion_costs;
mod devices;
mod empty_since;
mod laws;
mod noted;
mod packed;
mod price;
mod repair;
mod rollout;
mod search;
mod shown;
mod validation;
