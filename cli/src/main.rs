//! The command `journeyman`.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::{CommandFactory as _, Parser as _};
use installer::{
    doctor,
    handover::{self, Direction, HandoverArgs},
    install, uninstall,
};
use journeyman::{
    args::{Args, CompletionsArgs, JourneymanCommand, PlanArgs, SimulateArgs},
    catalog, convert, crds, explain, get,
    hash::{self, HashArgs},
    local, plan, rbac, render, replay, shadow, simulate,
    validate::{self, ValidateArgs},
};
use report::{
    error::CommandError,
    screen::{Color, Screen},
};

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        JourneymanCommand::Simulate(args) => run_simulate(&args),
        JourneymanCommand::Local(args) => {
            local::run(&args, Screen::of_stdout(Color::Auto), &mut io::stdout()).map(done)
        }
        JourneymanCommand::Explain(args) => {
            explain::run(&args, Screen::of_stdout(Color::Auto), &mut io::stdout().lock()).map(done)
        }
        JourneymanCommand::Replay(args) => {
            let screen = Screen::of_stdout(Color::Auto);
            let made_again = replay::run(&args, screen, &mut io::stdout().lock());
            made_again.map(|is_same| strictly(!is_same))
        }
        JourneymanCommand::Get(args) => {
            get::run(&args, Screen::of_stdout(Color::Auto), &mut io::stdout().lock()).map(done)
        }
        JourneymanCommand::Plan(args) => run_plan(&args),
        JourneymanCommand::Shadow(args) => {
            shadow::run(&args, Screen::of_stdout(Color::Auto), &mut io::stdout().lock()).map(done)
        }
        JourneymanCommand::Hash(args) => run_hash(&args),
        JourneymanCommand::Convert(args) => convert::run(&args, &mut io::stdout().lock()).map(done),
        JourneymanCommand::Crds(args) => {
            crds::run(&args, &mut io::stdout().lock()).map(done).map_err(CommandError::from)
        }
        JourneymanCommand::Rbac => {
            rbac::run(&mut io::stdout().lock()).map(done).map_err(CommandError::from)
        }
        JourneymanCommand::Doctor(args) => {
            let screen = Screen::of_stdout(Color::Auto);
            let looked = doctor::run(&args, screen, &mut io::stdout().lock());
            looked.map(|is_whole| strictly(!is_whole))
        }
        JourneymanCommand::Install(args) => {
            let screen = Screen::of_stdout(Color::Auto);
            let installed = install::run(&args, screen, &mut io::stdout().lock());
            installed.map(|is_whole| strictly(!is_whole))
        }
        JourneymanCommand::Adopt(args) => run_handover(&args, Direction::Adopt),
        JourneymanCommand::Release(args) => run_handover(&args, Direction::Release),
        JourneymanCommand::Uninstall(args) => {
            let screen = Screen::of_stdout(Color::Auto);
            let left = uninstall::run(&args, screen, &mut io::stdout().lock());
            left.map(|is_gone| strictly(!is_gone))
        }
        JourneymanCommand::Validate(args) => run_validate(&args),
        JourneymanCommand::Render(args) => {
            render::run(&args, Screen::of_stdout(Color::Auto), &mut io::stdout().lock()).map(done)
        }
        JourneymanCommand::Catalog(args) => catalog::run(&args, &mut io::stdout().lock()).map(done),
        JourneymanCommand::Completions(args) => run_completions(&args),
    };
    outcome.unwrap_or_else(|error| failed(&error))
}

fn run_simulate(args: &SimulateArgs) -> Result<ExitCode, CommandError> {
    let validation = simulate::run(args, &mut io::stdout().lock())?;
    Ok(strictly(args.strict && validation == simulate::SimulateExit::SomeUnplaced))
}

fn run_handover(args: &HandoverArgs, direction: Direction) -> Result<ExitCode, CommandError> {
    let screen = Screen::of_stdout(Color::Auto);
    let has_changed = handover::run(args, direction, screen, &mut io::stdout().lock())?;
    Ok(strictly(!has_changed))
}

fn run_plan(args: &PlanArgs) -> Result<ExitCode, CommandError> {
    let screen = Screen::of_stdout(args.color);
    let complaints = (Screen::of_stderr(), &mut io::stderr());
    let validation = plan::run(args, screen, &mut io::stdout().lock(), complaints)?;
    Ok(strictly(!validation.is_good(args.strict)))
}

fn run_validate(args: &ValidateArgs) -> Result<ExitCode, CommandError> {
    let screen = Screen::of_stdout(Color::Auto);
    let is_right = validate::run(args, screen, &mut io::stdout().lock())?;
    Ok(strictly(!is_right))
}

fn run_hash(args: &HashArgs) -> Result<ExitCode, CommandError> {
    let screen = Screen::of_stdout(Color::Auto);
    let some_drift = hash::run(args, screen, &mut io::stdout().lock())?;
    Ok(strictly(args.strict && some_drift))
}

fn run_completions(args: &CompletionsArgs) -> Result<ExitCode, CommandError> {
    // It is written as a whole: what generates it panics where a pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "journeyman", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

fn done((): ()) -> ExitCode {
    ExitCode::SUCCESS
}

/// An answer that was printed, and is not the one that was hoped for.
fn strictly(is_bad: bool) -> ExitCode {
    if is_bad { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

fn failed(error: &CommandError) -> ExitCode {
    let complain = || {
        // Where nobody can read it there is nobody to tell.
        let _unread = Screen::of_stderr().lines(&error.to_string(), &mut io::stderr());
    };
    match error {
        // Whoever reads may have seen enough, as `head` does.
        CommandError::Output(output) if output.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        CommandError::Refused(_) => {
            complain();
            ExitCode::from(1)
        }
        CommandError::Input(_) | CommandError::Stopped(_) | CommandError::Output(_) => {
            complain();
            ExitCode::from(2)
        }
    }
}
