//! Things by number, for whatever is asked often: typed numbers, tables and sets of them.
//!
//! A number says of what it is one ([`id::kind`]), so that a pod's cannot be taken for its class's.
//! That costs nothing: the kind is gone when the program runs.

pub mod bits;
pub mod id;
pub mod table;
