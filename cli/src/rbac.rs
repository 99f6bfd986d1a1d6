//! `journeyman rbac`: the roles of the functions in a cluster.

use std::io::Write;

use installer::live::ROLES;
use report::{command::RunCommand, error::CommandError, screen::Screen};

/// `rbac` has no options.
#[derive(Clone, Debug, clap::Args)]
pub struct RbacArgs {}

/// Prints roles and bindings for the groups `journeyman:<function>`, and their priority, as manifests.
impl RunCommand for RbacArgs {
    fn run(&self, _: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        out.write_all(ROLES.as_bytes())?;
        Ok(true)
    }
}
