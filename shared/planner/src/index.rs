//! Things by number: tables and sets of small numbers, for whatever is asked often.

pub(crate) mod bits;
pub(crate) mod table;
