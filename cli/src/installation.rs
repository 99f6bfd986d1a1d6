//! Where an installation is, which every command about one is told alike.

use std::{
    io::{self, BufRead, IsTerminal as _, StdinLock, Write},
    path::PathBuf,
    thread,
    time::Duration,
};

use jiff::Timestamp;

use crate::{error::Error, manifests::BadInput};

/// A cluster as a kubeconfig describes it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ClusterArgs {
    /// The kubeconfig's context instead of the current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Another kubeconfig than kubectl's own, which KUBECONFIG names, or else is ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
}

/// A cluster and its account.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct InstallationArgs {
    /// The EKS cluster's name.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Its region. Otherwise that of AWS_REGION or of the profile.
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap takes it for the help of the whole command")]
    pub kubeconfig: ClusterArgs,
}

/// Where somebody answers, if there is anybody.
pub(crate) fn answers() -> Option<StdinLock<'static>> {
    let input = io::stdin();
    input.is_terminal().then(|| input.lock())
}

/// Whether somebody says yes to `question`, or said `--yes`. An error where nobody can be asked.
pub(crate) fn is_wanted(
    yes: bool,
    question: &str,
    answers: Option<&mut impl BufRead>,
    out: &mut impl Write,
) -> Result<bool, Error> {
    if yes {
        return Ok(true);
    }
    let Some(answers) = answers else {
        let why = "Nothing was done: say --yes where nobody can be asked.";
        return Err(BadInput::one(why).into());
    };
    write!(out, "\n{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    answers.read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

#[expect(clippy::disallowed_methods, reason = "a command is where the clock is read")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

#[expect(clippy::disallowed_methods, reason = "a command that waits for others")]
pub(crate) fn pause(length: Duration) {
    thread::sleep(length);
}
