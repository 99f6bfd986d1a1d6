//! `journeyman convert`: objects of Karpenter's older versions as v1.

use std::{io::Write, path::PathBuf};

use api::convert::{ConversionSettings, to_v1};

use crate::{
    error::Error,
    manifests::{self, BadInput},
};

/// Options of `convert`.
#[derive(Clone, Debug, clap::Args)]
pub struct ConvertArgs {
    /// Objects of any version: files, directories, or `-`. Other kinds stay as they are.
    #[arg(value_name = "DIR|FILE", required = true)]
    pub manifests: Vec<PathBuf>,
    /// The IAM role of nodes whose AWSNodeTemplate names no instance profile.
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
}

/// Prints every object as v1. What is wrong or not known is an error, after everything else was
/// printed.
pub fn run(args: &ConvertArgs, out: &mut impl Write) -> Result<(), Error> {
    let settings = ConversionSettings { role: args.role.clone() };
    let mut problems = Vec::new();
    let mut is_first = true;
    for (file, text) in manifests::texts(&args.manifests).map_err(Error::Input)? {
        let converted = to_v1(&text, &file, &settings);
        problems.extend(converted.problems.iter().map(ToString::to_string));
        if converted.text.is_empty() {
            continue;
        }
        let start = if is_first { "" } else { "---\n" };
        is_first = false;
        write!(out, "{start}{}", converted.text).map_err(Error::Output)?;
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::Input(BadInput(problems))) }
}
