//! `journeyman rbac`: the roles of the functions in a cluster.

use std::io::{self, Write};

use installer::live::ROLES;

/// Prints roles and bindings for the groups `journeyman:<function>`, as manifests.
pub fn run(out: &mut impl Write) -> io::Result<()> {
    out.write_all(ROLES.as_bytes())
}
