//! `journeyman rbac`: the roles of the functions in a cluster.

use std::io::Write;

use installer::live::RoleArgs;
use report::{command::RunCommand, error::CommandError, screen::Screen};

/// Options of `rbac`.
#[derive(Clone, Debug, clap::Args)]
pub struct RbacArgs {
    /// Which roles.
    #[command(flatten)]
    pub roles: RoleArgs,
}

/// Prints roles and bindings for the groups `journeyman:<function>`, and their priority, as manifests.
impl RunCommand for RbacArgs {
    fn run(&self, _: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        out.write_all(self.roles.text().as_bytes())?;
        Ok(true)
    }
}
