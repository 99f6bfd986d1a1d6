//! `journeyman convert`: objects of Karpenter's older versions as v1.

use crate::options::MoreManifests;
use report::command::RunCommand;
use std::{
    io::{self, Write},
    path::PathBuf,
};

use api::{convert::ConversionSettings, files::older::to_v1};
use report::error::{BadInput, CommandError};
use report::screen::Screen;

use crate::manifests;

/// Options of `convert`.
#[derive(Clone, Debug, clap::Args)]
pub struct ConvertArgs {
    /// Objects of any version: files, directories, or `-`. Objects of other kinds are printed
    /// unchanged.
    #[arg(value_name = "DIR|FILE", required_unless_present = "filenames")]
    pub manifests: Vec<PathBuf>,
    /// More of them, as kubectl takes them.
    #[command(flatten)]
    pub more: MoreManifests,
    /// IAM role of nodes, for AWSNodeTemplates without an instance profile.
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
}

/// Prints every object as v1. What is wrong or not known is an error, after everything else was
/// printed; a NodePool of another provider stays as it is, which is said and is no error.
pub fn run(args: &ConvertArgs, out: &mut impl Write) -> Result<(), CommandError> {
    let settings = ConversionSettings { role: args.role.clone() };
    let files = manifests::files(&args.more.after(&args.manifests), args.more.depth())?;
    let texts: Vec<(&str, &str)> =
        files.iter().map(|file| (file.name.as_str(), file.text.as_str())).collect();
    let mut converted = to_v1(&texts, &settings);
    out.write_all(converted.text.as_bytes()).map_err(CommandError::Output)?;
    for foreign in &converted.foreign {
        Screen::of_stderr().lines(&foreign.to_string(), &mut io::stderr())?;
    }
    // Directories hold more than manifests.
    let is_named = |name: &str| files.iter().any(|file| file.is_meant() && file.name == name);
    converted.problems.retain(|problem| problem.object.is_some() || is_named(&problem.file));
    if converted.problems.is_empty() {
        return Ok(());
    }
    let problems = converted.problems.iter().map(ToString::to_string).collect();
    Err(CommandError::Input(BadInput(problems)))
}

impl RunCommand for ConvertArgs {
    fn run(&self, _: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, &mut { out })?;
        Ok(true)
    }
}
