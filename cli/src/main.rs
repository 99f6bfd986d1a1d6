//! The command `journeyman`.

use std::{io, process::ExitCode};

use clap::FromArgMatches as _;
use journeyman::{args::Args, help};
use report::{
    command::RunCommand as _,
    error::{BadInput, CommandError},
    screen::{Color, Screen},
};

/// What is wrong, each with a mark of its own.
fn errors(error: &CommandError) -> Vec<String> {
    match error {
        CommandError::Input(BadInput(problems)) => problems.clone(),
        other => vec![other.to_string()],
    }
}

fn main() -> ExitCode {
    let matches = help::command().get_matches();
    let args = Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match args.run(Screen::of_stdout(Color::Auto), &mut io::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        // An answer was printed, and is not the one that was hoped for.
        Ok(false) => ExitCode::from(1),
        // A reader that has seen enough closes the pipe, as `head` does.
        Err(CommandError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            // Where standard error cannot be written there is no other place for it.
            let _unwritten = errors(&error)
                .iter()
                .try_for_each(|text| Screen::of_stderr().error(text, &mut io::stderr()));
            ExitCode::from(if matches!(error, CommandError::Refused(_)) { 1 } else { 2 })
        }
    }
}
