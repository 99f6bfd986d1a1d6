//! Rules and stories that span crates.
