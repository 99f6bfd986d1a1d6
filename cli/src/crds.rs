//! `journeyman crds`: the CustomResourceDefinitions of the kinds that people write.

use report::command::RunCommand;
use report::{error::CommandError, screen::Screen};
use std::{fs, io, io::Write, path::PathBuf};

use api::{document::yaml, karpenter::crd};

/// Options of `crds`.
#[derive(Clone, Debug, clap::Args)]
pub struct CrdsArgs {
    /// Write one file for each kind to a directory instead of printing.
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

/// Prints every definition, or writes them to files.
pub fn run(args: &CrdsArgs, out: &mut impl Write) -> io::Result<()> {
    for (name, text) in files() {
        match &args.directory {
            Some(directory) => {
                let path = directory.join(name);
                let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, text));
                written.map_err(|error| {
                    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
                })?;
            }
            None => out.write_all(text.as_bytes())?,
        }
    }
    Ok(())
}

impl RunCommand for CrdsArgs {
    fn run(&self, _: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, &mut { out })?;
        Ok(true)
    }
}

/// Every definition as a file: its name and its text.
pub fn files() -> Vec<(String, String)> {
    let text = |(name, definition)| (name, format!("---\n{}", yaml::to_text(&definition)));
    crd::all().into_iter().map(text).collect()
}
