//! What the command understands.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Karpenter without the controller.
#[derive(Debug, Parser)]
#[command(name = "journeyman", version, about, disable_help_subcommand = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Play manifests in a simulated AWS account and cluster, in virtual time.
    ///
    /// The decisions are those of the deployed functions: the same handlers run on simulated ports.
    /// Without --manifests a built-in story is played: 100 pods, a spot interruption, a scale-down,
    /// expiry. Exit codes: 0 played; 1 with --strict, pods found no place; 2 bad input.
    Simulate(SimulateArgs),
}

/// Options of `simulate`.
#[derive(Debug, clap::Args)]
pub struct SimulateArgs {
    /// Cluster objects to play (NodePools, EC2NodeClasses, workloads): a file, a directory, or `-`.
    #[arg(long, value_name = "DIR|FILE")]
    pub manifests: Vec<PathBuf>,
    /// What happens when: a YAML file; see examples/scenarios.
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// What chance draws from: the same seed plays the same story to the byte.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How long to play, in virtual time such as `45m`. The scenario's own `end` otherwise.
    #[arg(long, value_name = "DURATION")]
    pub duration: Option<String>,
    /// Exit with code 1 when pods find no place.
    #[arg(long)]
    pub strict: bool,
    /// How to print.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
    /// Print every pod instead of summing up what happens in the same second.
    #[arg(long)]
    pub verbose: bool,
}

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}
