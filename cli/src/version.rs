//! `journeyman version`: the release of this command, and that of the stack of a cluster.

use std::{io::Write, sync::LazyLock};

use installer::{doctor::release, installation::InstallationArgs};
use report::{command::RunCommand, error::CommandError, screen::Screen};

/// Options of `version`.
#[derive(Clone, Debug, clap::Args)]
pub struct VersionArgs {
    /// Whose stack.
    #[command(flatten)]
    pub place: InstallationArgs,
}

/// The version of this command, such as `1.2.0 (0123456789ab)` with the commit of its release.
pub fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let version = || format!("{} (not a release)", env!("CARGO_PKG_VERSION"));
        release::of_command().unwrap_or_else(version)
    });
    &TEXT
}

impl RunCommand for VersionArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        let mut out = out;
        screen.lines(&format!("journeyman {}", text()), &mut out)?;
        if let Some(line) = release::of_stack(&self.place) {
            screen.lines(&line, &mut out)?;
        }
        Ok(true)
    }
}
