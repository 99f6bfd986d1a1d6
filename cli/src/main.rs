//! The command `journeyman`.

use std::{io, process::ExitCode};

use clap::Parser as _;
use journeyman::{
    args::{Args, Command},
    simulate::{self, Error, Verdict},
};

fn main() -> ExitCode {
    let Args { command: Command::Simulate(args) } = Args::parse();
    match simulate::run(&args, &mut io::stdout().lock()) {
        Ok(Verdict::SomeUnplaced) if args.strict => ExitCode::from(1),
        Ok(_) => ExitCode::SUCCESS,
        // Whoever reads has seen enough, as `head` does.
        Err(Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "the one place where the command complains")]
fn complain(error: &Error) {
    eprintln!("{error}");
}
