//! What every command can do.

use std::io::Write;

use crate::{error::CommandError, screen::Screen};

/// A command with its options.
pub trait RunCommand {
    /// Runs it: `out` is standard output and `screen` says how wide it is. `false`: the answer was printed and is not
    /// the one hoped for, which is exit code 1.
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError>;
}
