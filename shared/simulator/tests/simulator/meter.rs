//! Tests below `meter`.

mod bill;
