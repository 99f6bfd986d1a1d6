//! Tests below `index`.

mod bits;
