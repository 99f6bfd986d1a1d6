//! What a command has to do to a stack: what is looked at before, and in which order things change.

use std::{
    io::{BufRead, Write},
    path::Path,
};

use report::{
    error::{BadInput, CommandError},
    format::Format,
    screen::Screen,
};

use super::{
    DeployArgs, StackArgs, files, parameters,
    passage::{Objections, TemplateRelease},
    stack::{RESERVED, StackPlace},
};
use crate::{
    doctor::{self, DoctorArgs, gather::InstallationClients, release},
    install::{self, InstallArgs},
    live,
};

/// Which command it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// `deploy`: a new stack, or another setting of the release that is there.
    Deploy,
    /// `upgrade`
    Upgrade {
        /// `--force`
        is_forced: bool,
    },
    /// `rollback`
    Rollback {
        /// `--force`
        is_forced: bool,
    },
}

/// Where the template is. The zips that it names are in the bucket, or go there from the directory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// In the directory of an unpacked release.
    Directory(&'a Path),
    /// In the bucket, as `template.yaml`.
    Bucket,
    /// In the bucket: the template that the stack had before.
    Former,
}

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'a> {
    pub(crate) aim: Aim,
    pub(crate) source: Source<'a>,
    /// `None`: CRDs, RBAC rules and parameters stay. Older functions ignore additional rights.
    pub(crate) deploy: Option<&'a DeployArgs>,
    pub(crate) stack: &'a StackArgs,
}

impl Aim {
    const fn command(self) -> &'static str {
        match self {
            Self::Deploy => "deploy",
            Self::Upgrade { .. } => "upgrade",
            Self::Rollback { .. } => "rollback",
        }
    }
}

impl Order<'_> {
    /// Checks, shows what changes, asks with the user's `answers` (`None` without a terminal), changes and waits. `true`:
    /// all is up to date, and `doctor` finds nothing.
    pub(crate) fn carry_out(
        &self,
        mut answers: Option<&mut impl BufRead>,
        screen: Screen,
        out: &mut impl Write,
    ) -> Result<bool, CommandError> {
        live::needed(self.aim.command())?;
        let args = self.stack;
        let new = parameters::read(self.parameters(), &RESERVED)?;
        args.prefix.as_deref().map(files::check_prefix).transpose()?;
        let zips = match self.source {
            Source::Directory(folder) => Some(folder),
            Source::Bucket | Source::Former => None,
        };
        let release = zips.map(files::template).transpose()?;
        if answers.is_none() && !args.yes && !args.diff {
            return Err(BadInput::one("Nothing was done: without a terminal, add --yes.").into());
        }
        let place = args.place.found_to_change(args.yes)?;
        let ends = InstallationClients::open(&place);
        let account = ends.account().map_err(BadInput::one)?;
        let stack = StackPlace::of(args, &place, account)?;
        let name = &args.stack_name;
        if self.aim != Aim::Deploy && stack.installed.is_none() {
            let why = format!("There is no stack {name}. To create it, use `journeyman deploy`.");
            return Err(CommandError::Refused(why));
        }
        let template = match (release, self.source) {
            (Some(template), _) => template,
            (None, Source::Former) => stack.former_template()?,
            (None, Source::Bucket | Source::Directory(_)) => stack.template()?,
        };
        let next = TemplateRelease::of(&template);
        if let Some(installed) = &stack.installed {
            let installed = TemplateRelease::of(installed);
            self.check((&installed, &next), &stack, screen, out)?;
        }
        let is_installed = self.install(answers.as_deref_mut(), screen, out)?;
        if !is_installed && !args.diff {
            return Ok(false);
        }
        let is_deployed = stack.deploy((&template, zips), new, answers, screen, out)?;
        if args.diff || !is_deployed || args.stack_only {
            return Ok(is_installed && is_deployed);
        }
        writeln!(out)?;
        let rollback = next.name.filter(|_| matches!(self.aim, Aim::Rollback { .. }));
        let doctor = DoctorArgs { place: args.place.clone(), output: Format::default() };
        doctor::run(&doctor, rollback, screen, out)
    }

    fn parameters(&self) -> &[String] {
        self.deploy.map_or(&[], |deploy| deploy.parameters.as_slice())
    }

    /// What `install` does; newer functions may need new rights, and older ones ignore them. `true`: there is nothing left
    /// to do.
    fn install(
        &self,
        answers: Option<&mut impl BufRead>,
        screen: Screen,
        out: &mut impl Write,
    ) -> Result<bool, CommandError> {
        let Some(deploy) = self.deploy.filter(|_| !self.stack.stack_only) else { return Ok(true) };
        let install = InstallArgs {
            diff: self.stack.diff,
            yes: self.stack.yes,
            roles: deploy.roles,
            wake: deploy.wake.clone(),
            place: self.stack.place.clone(),
        };
        let is_installed = install::run_with(&install, answers, screen, out)?;
        writeln!(out)?;
        Ok(is_installed)
    }

    /// Refuses a release that must not take the place of the installed one.
    fn check(
        &self,
        (installed, next): (&TemplateRelease, &TemplateRelease),
        stack: &StackPlace<'_>,
        screen: Screen,
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        let name = &self.stack.stack_name;
        let mut objections = Objections::between(installed, next);
        let (is_forced, title) = match self.aim {
            Aim::Deploy if installed.name == next.name => return Ok(()),
            Aim::Deploy => {
                return Err(CommandError::Refused(format!(
                    "The stack {name} is of {installed}. For {next}, use `journeyman upgrade`: it checks the ledger first."
                )));
            }
            Aim::Upgrade { is_forced } => (is_forced, "Upgrade"),
            Aim::Rollback { is_forced } => (is_forced, "Rollback"),
        };
        screen.title(&format!("{title} of the stack {name}: {installed} → {next}"), out)?;
        if self.deploy.is_some() {
            let command = release::of_command().filter(|_| !self.stack.stack_only);
            objections.add_command(next, command.as_deref());
            let (items, unreadable) = stack.examined()?;
            objections.add_unreadable(&unreadable);
            screen.lines(
                &format!(
                    "Items of the ledger that this command can read: {} of {items}",
                    items.saturating_sub(unreadable.len())
                ),
                out,
            )?;
        }
        for risk in objections.judged(is_forced).map_err(CommandError::Refused)? {
            screen.lines(&risk, out)?;
        }
        Ok(())
    }
}
