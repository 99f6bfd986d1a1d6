//! The cheapest fleet for pods that wait, and a price below which there is none.
//!
//! Both come from one linear program, the *configuration program*: a column is one node (something
//! that is sold, with a number of pods of each kind on it), a row is a kind of pods, and every pod has to
//! be on a node. There are far too many columns to list, so they are made as they are needed
//! ([`columns`]): the program's dual prices say what a pod of each kind is worth now, and a knapsack
//! ([`knapsack`]) fills each offer with what is worth most. A node that is worth more than it costs
//! comes in.
//!
//! * [`dive`] rounds the program to whole nodes: `plan` is a list of nodes with their pods by kind.
//!   [`settle`] takes out what could go at once. It is advice only: the solver places each pod by its own rules (`solver::guided`).
//! * [`prove`] makes a bound of the dual prices, by [`certify`] in whole numbers: no node may be worth more
//!   than it costs, whichever pods it holds. What the floats of the program say is never believed.
//!
//! [`market`] is the input of all that: pods by kind and what is sold, without rules about other pods;
//! `relax` makes it of a problem.

pub mod certify;
pub mod columns;
pub mod cuts;
pub mod dive;
pub mod greedy;
pub mod knapsack;
pub mod market;
pub mod master;
pub mod prove;
pub(crate) mod relax;
mod rules;
pub mod settle;
pub mod simplex;
