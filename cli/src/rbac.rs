//! `journeyman rbac`: the roles of the functions in a cluster.

use std::io::{self, Write};

/// Roles and bindings for the groups `journeyman:<function>`, as manifests. A test makes them of what
/// the functions call.
pub const ROLES: &str = include_str!("../../deploy/rbac.yaml");

/// Prints them.
pub fn run(out: &mut impl Write) -> io::Result<()> {
    out.write_all(ROLES.as_bytes())
}
