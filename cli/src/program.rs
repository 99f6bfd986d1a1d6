//! Other people's programs that know how to reach what is read: `kubectl`, `aws`.

use std::{
    io,
    process::{Command, Output, Stdio},
};

/// Why a program printed nothing.
pub(crate) enum Failed {
    /// It is not there, or may not be run.
    NotStarted(io::Error),
    /// What it said on its way out.
    Said(String),
}

/// What `command` prints.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>, Failed> {
    let output = command.stdin(Stdio::null()).output().map_err(Failed::NotStarted)?;
    let Output { status, stdout, stderr } = output;
    if status.success() {
        return Ok(stdout);
    }
    Err(Failed::Said(String::from_utf8_lossy(&stderr).trim().to_owned()))
}
