//! The command `journeyman`.

use std::{
    fmt,
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use clap::Parser as _;
use journeyman::{
    args::{Args, CatalogArgs, Color, Command, PlanArgs, RenderArgs, SimulateArgs},
    catalog, convert, crds,
    hash::{self, HashArgs},
    plan, render, simulate,
};

fn main() -> ExitCode {
    match Args::parse().command {
        Command::Simulate(args) => run_simulate(&args),
        Command::Plan(args) => run_plan(args),
        Command::Hash(args) => run_hash(&args),
        Command::Convert(args) => match convert::run(&args, &mut io::stdout().lock()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(convert::Error::Output(error)) => cannot_write(&error),
            Err(error) => complain(&error),
        },
        Command::Crds(args) => match crds::run(&args, &mut io::stdout().lock()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => cannot_write(&error),
        },
        Command::Render(args) => run_render(&args),
        Command::Catalog(args) => run_catalog(&args),
    }
}

fn run_simulate(args: &SimulateArgs) -> ExitCode {
    match simulate::run(args, &mut io::stdout().lock()) {
        Ok(simulate::Verdict::SomeUnplaced) if args.strict => ExitCode::from(1),
        Ok(_) => ExitCode::SUCCESS,
        Err(simulate::Error::Output(error)) => cannot_write(&error),
        Err(error) => complain(&error),
    }
}

fn run_plan(mut args: PlanArgs) -> ExitCode {
    if args.color == Color::Auto && io::stdout().is_terminal() {
        args.color = Color::Always;
    }
    let args = &args;
    match plan::run(args, &mut io::stdout().lock(), &mut io::stderr().lock()) {
        Ok(verdict) if args.strict && !verdict.is_clean() => ExitCode::from(1),
        Ok(_) => ExitCode::SUCCESS,
        Err(plan::Error::Output(error)) => cannot_write(&error),
        Err(error) => complain(&error),
    }
}

fn run_hash(args: &HashArgs) -> ExitCode {
    match hash::run(args, &mut io::stdout().lock()) {
        Ok(some_drift) if args.strict && some_drift => ExitCode::from(1),
        Ok(_) => ExitCode::SUCCESS,
        Err(hash::Error::Output(error)) => cannot_write(&error),
        Err(error) => complain(&error),
    }
}

fn run_render(args: &RenderArgs) -> ExitCode {
    match render::run(args, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(render::Error::Output(error)) => cannot_write(&error),
        Err(render::Error::Refused(refusal)) => {
            complain(&refusal);
            ExitCode::from(1)
        }
        Err(error) => complain(&error),
    }
}

fn run_catalog(args: &CatalogArgs) -> ExitCode {
    match catalog::run(args, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(catalog::Error::Output(error)) => cannot_write(&error),
        Err(error) => complain(&error),
    }
}

/// Whoever reads may have seen enough, as `head` does.
fn cannot_write(error: &io::Error) -> ExitCode {
    match error.kind() {
        io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        _ => complain(&format!("cannot write: {error}")),
    }
}

#[expect(clippy::print_stderr, reason = "the one place where the command complains")]
fn complain(error: &impl fmt::Display) -> ExitCode {
    eprintln!("{error}");
    ExitCode::from(2)
}
