//! Where an installation is, which every command about one is told alike.

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
    /// The EKS cluster's name. Otherwise that of the kubeconfig's context, with its region.
    #[arg(value_name = "CLUSTER")]
    pub cluster: Option<String>,
    /// Its region. Otherwise that of AWS_REGION or of the profile.
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    /// The kubeconfig's server, where it is not the cluster's endpoint in EKS: a proxy or a tunnel to that endpoint.
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

/// Where somebody answers, if there is anybody.
pub fn answers() -> Option<StdinLock<'static>> {
    let input = io::stdin();
    input.is_terminal().then(|| input.lock())
}

/// Whether somebody says yes to `question`, or said `--yes`. An error where nobody can be asked.
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
        let why = "Nothing was done: say --yes where nobody can be asked.";
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

/// Looks again and again until it is done or fails, for so many minutes at most; each new state that is waited for
/// is told once. What was found last.
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
