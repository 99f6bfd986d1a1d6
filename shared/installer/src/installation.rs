//! Where an installation is: the options that all commands about it share.

use std::{
    io::{self, BufRead, IsTerminal as _, StdinLock, Write},
    path::PathBuf,
    thread,
    time::Duration,
};

use jiff::Timestamp;
use report::error::{BadInput, CommandError};

/// A cluster as a kubeconfig describes it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ClusterArgs {
    /// Kubeconfig context to use instead of the current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Kubeconfig file. Default: KUBECONFIG or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
}

/// A cluster and its account.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct InstallationArgs {
    /// Name of the EKS cluster. Default: cluster and region of the kubeconfig context.
    #[arg(value_name = "CLUSTER")]
    pub cluster: Option<String>,
    /// AWS region of the cluster. Default: AWS_REGION or the AWS profile.
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    /// Server of the kubeconfig, if it differs from the cluster's endpoint in EKS: a proxy or
    /// tunnel to that endpoint.
    #[arg(long, value_name = "URL")]
    pub expect_server: Option<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap takes it for the help of the whole command")]
    pub kubeconfig: ClusterArgs,
}

/// A cluster and its account, with what a command found by itself.
#[derive(Clone, Debug, Default)]
pub struct Installation {
    /// The EKS cluster's name.
    pub cluster: String,
    /// `None`: that of AWS_REGION or of the profile.
    pub region: Option<String>,
    /// As [`InstallationArgs::expect_server`].
    pub expect_server: Option<String>,
    /// The way to the API server.
    pub kubeconfig: ClusterArgs,
}

/// Standard input, if it is a terminal on which the user can answer.
pub fn answers() -> Option<StdinLock<'static>> {
    let input = io::stdin();
    input.is_terminal().then(|| input.lock())
}

/// Whether the user answers yes to `question`, or gave `--yes`. An error without a terminal.
pub fn is_wanted(
    yes: bool,
    question: &str,
    answers: Option<&mut impl BufRead>,
    out: &mut impl Write,
) -> Result<bool, CommandError> {
    if yes {
        return Ok(true);
    }
    let Some(answers) = answers else {
        let why = "Nothing was done: without a terminal, add --yes.";
        return Err(BadInput::one(why).into());
    };
    write!(out, "\n{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    answers.read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The present, by the clock of this machine.
#[expect(clippy::disallowed_methods, reason = "a command is where the clock is read")]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Between two looks while something is waited for.
const LOOKS_EVERY: Duration = Duration::from_secs(5);

/// What a look at something that takes its time finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look<T> {
    /// It is so.
    Done(T),
    /// What is waited for.
    Waits(String),
    /// Why it will never be so.
    Failed(String),
}

/// Repeats `look` until it is done or fails, for this number of minutes at most, and prints each new state that is waited for
/// once. Returns what was found last.
pub fn waited<T>(
    mut look: impl FnMut() -> Look<T>,
    minutes: u32,
    pause: impl Fn(Duration),
    mut tell: impl FnMut(&str) -> io::Result<()>,
) -> io::Result<Look<T>> {
    let looks = u64::from(minutes) * 60 / LOOKS_EVERY.as_secs();
    let mut last = String::new();
    for at in 0..=looks {
        if at > 0 {
            pause(LOOKS_EVERY);
        }
        match look() {
            Look::Waits(waits) => {
                if waits != last {
                    tell(&waits)?;
                }
                last = waits;
            }
            ended => return Ok(ended),
        }
    }
    Ok(Look::Waits(last))
}

/// Sleeps.
#[expect(clippy::disallowed_methods, reason = "a command that waits for others")]
pub fn pause(length: Duration) {
    thread::sleep(length);
}
