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

/// Between two looks while something is waited for.
const LOOKS_EVERY: Duration = Duration::from_secs(5);

/// What a look at something that takes its time finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Look<T> {
    /// It is so.
    Done(T),
    /// What is waited for.
    Waits(String),
    /// Why it will never be so.
    Failed(String),
}

/// Looks again and again until it is done or fails, for so many minutes at most; each new state that is waited for
/// is told once. What was found last.
pub(crate) fn waited<T>(
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

#[expect(clippy::disallowed_methods, reason = "a command that waits for others")]
pub(crate) fn pause(length: Duration) {
    thread::sleep(length);
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How often it was paused, what was told, and what was found last. The last of `looks` is found again and again.
    fn played(minutes: u32, looks: &[Look<()>]) -> (u32, Vec<String>, Look<()>) {
        let (pauses, mut told) = (Cell::new(0_u32), Vec::new());
        let mut left = looks.iter();
        let mut last = Look::Done(());
        let look = || {
            last = left.next().unwrap_or(&last).clone();
            last.clone()
        };
        let tell = |said: &str| {
            told.push(said.to_owned());
            Ok(())
        };
        let latest = waited(look, minutes, |_| pauses.set(pauses.get() + 1), tell).unwrap();
        (pauses.get(), told, latest)
    }

    #[test]
    fn what_takes_its_time_is_waited_for_and_each_state_told_once() {
        let waits = |text: &str| Look::Waits(text.to_owned());
        let (pauses, told, latest) =
            played(30, &[waits("2 left."), waits("2 left."), waits("1 left."), Look::Done(())]);
        assert_eq!((pauses, latest), (3, Look::Done(())));
        assert_eq!(told, ["2 left.", "1 left."]);
        let (pauses, told, latest) = played(1, &[waits("1 left.")]);
        assert_eq!((pauses, told.len(), latest), (12, 1, waits("1 left.")));
        let (pauses, _, latest) = played(0, &[waits("1 left.")]);
        assert_eq!((pauses, latest), (0, waits("1 left.")));
    }

    #[test]
    fn what_will_never_be_so_is_not_waited_for() {
        let failed = Look::Failed("DELETE_FAILED".to_owned());
        assert_eq!(played(30, std::slice::from_ref(&failed)), (0, Vec::new(), failed));
    }
}
