//! The command `journeyman`.
fn main() {}
