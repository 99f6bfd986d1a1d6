//! Rules about the places of other pods: what they count, how many there are, what they allow.

pub(crate) mod groups;
pub(crate) mod rules;
pub(crate) mod tally;
