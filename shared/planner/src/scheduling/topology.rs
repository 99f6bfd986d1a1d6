//! Rules about the places of other pods: what they count, how many there are, what they allow.

pub mod groups;
pub mod rules;
pub(crate) mod tally;
