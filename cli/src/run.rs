//! Which command runs.

use std::{fs, io::Write};

use report::{command::RunCommand, error::CommandError, screen::Screen};

use crate::{
    args::{Args, JourneymanCommand},
    help,
    options::{CompletionsArgs, ManArgs},
};

impl RunCommand for Args {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        let command: &dyn RunCommand = match &self.command {
            JourneymanCommand::Simulate(args) => args,
            JourneymanCommand::Explain(args) => args,
            JourneymanCommand::Replay(args) => args,
            JourneymanCommand::Get(args) => args,
            JourneymanCommand::Local(args) => args,
            JourneymanCommand::Plan(args) => &**args,
            JourneymanCommand::Shadow(args) => args,
            JourneymanCommand::Hash(args) => args,
            JourneymanCommand::Convert(args) => args,
            JourneymanCommand::Validate(args) => args,
            JourneymanCommand::Crds(args) => args,
            JourneymanCommand::Rbac(args) => args,
            JourneymanCommand::Template(args) => args,
            JourneymanCommand::Doctor(args) => args,
            JourneymanCommand::Deploy(args) => &**args,
            JourneymanCommand::Upgrade(args) => &**args,
            JourneymanCommand::Rollback(args) => args,
            JourneymanCommand::Install(args) => args,
            JourneymanCommand::Adopt(args) => args,
            JourneymanCommand::Release(args) => args,
            JourneymanCommand::Uninstall(args) => args,
            JourneymanCommand::Render(args) => args,
            JourneymanCommand::Catalog(args) => args,
            JourneymanCommand::Completions(args) => args,
            JourneymanCommand::Man(args) => args,
            JourneymanCommand::Version(args) => args,
        };
        command.run(screen, out)
    }
}

impl RunCommand for CompletionsArgs {
    fn run(&self, _: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        // The script is written as a whole: what generates it panics where a pipe is closed.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut help::command(), "journeyman", &mut script);
        out.write_all(&script)?;
        Ok(true)
    }
}

impl RunCommand for ManArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        fs::create_dir_all(&self.directory)?;
        clap_mangen::generate_to(help::command(), &self.directory)?;
        let line = format!("The pages are in {}.", self.directory.display());
        screen.lines(&line, &mut { out })?;
        Ok(true)
    }
}
