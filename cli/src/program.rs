//! Other people's programs that know how to reach what is read: `kubectl`, `aws`.

use std::{
    ffi::OsStr,
    io,
    path::Path,
    process::{Command, Output, Stdio},
};

/// `kubectl`, or another `program` in its place, where the cluster of the kubeconfig's `context` is.
pub(crate) fn kubectl(program: Option<&Path>, context: Option<&str>) -> Command {
    let mut command = Command::new(program.map_or_else(|| OsStr::new("kubectl"), Path::as_os_str));
    command.args(context.map(|context| format!("--context={context}")));
    command
}

/// `aws`, or another `program` in its place, with `words`: it answers in JSON, for `region` or that of the profile.
pub(crate) fn aws<W: AsRef<OsStr>>(
    program: Option<&Path>,
    region: Option<&str>,
    words: impl IntoIterator<Item = W>,
) -> Command {
    let mut command = Command::new(program.map_or_else(|| OsStr::new("aws"), Path::as_os_str));
    command.args(words).args(["--output", "json"]);
    command.args(region.into_iter().flat_map(|region| ["--region", region]));
    command
}

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
