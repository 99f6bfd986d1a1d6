//! Options of `simulate`.

use std::path::PathBuf;

use dispatch::Settings;
use report::{error::BadInput, format::Format};

use crate::options::{MoreManifests, SetArgs, word_of};

/// Options of `simulate`.
#[derive(Debug, clap::Args)]
pub struct SimulateArgs {
    /// Manifests to simulate (NodePools, EC2NodeClasses, workloads): files, directories, or `-`. If
    /// they contain nodes, NodeClaims and pods (`kubectl get … -o yaml`), the simulation starts
    /// with these.
    #[arg(value_name = "DIR|FILE")]
    pub manifests: Vec<PathBuf>,
    /// Manifests to simulate, like the arguments.
    #[arg(long = "manifests", value_name = "DIR|FILE", num_args = 1..)]
    pub more_manifests: Vec<PathBuf>,
    /// More of them, as kubectl takes them.
    #[command(flatten)]
    pub more: MoreManifests,
    /// Read events and settings from a YAML file (see examples/scenarios).
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// Seed of random numbers. The same seed gives the same output.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Virtual time to simulate, such as `45m`. Default: the `end` of the scenario.
    #[arg(long, value_name = "DURATION")]
    pub duration: Option<String>,
    /// Write the ledger to a file, for `explain`, `get` and `replay` (a line of JSON for each
    /// record).
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// With --ledger: record decisions, or decisions with their facts (for `replay`). Default: the
    /// setting `Record` of the scenario.
    #[arg(long, value_parser = word_of("Record"), requires = "ledger")]
    pub record: Option<String>,
    /// Exit with code 1 if a pod cannot be scheduled.
    #[arg(long)]
    pub strict: bool,
    /// Packing of pods onto new nodes, for NodePools that do not set it. Default: the setting
    /// `Packing` of the scenario.
    #[arg(long, value_parser = word_of("Packing"))]
    pub packing: Option<String>,
    /// Dollars an hour to add to the price of each node when `--packing cheapest` compares prices.
    /// Default: the setting `NodeCharge` of the scenario.
    #[arg(long, value_name = "DOLLARS")]
    pub node_charge: Option<String>,
    /// Have the API server call the function `wake`, as in a stack with the parameter `WakeKey`.
    #[arg(long)]
    pub wake: bool,
    /// Any setting.
    #[command(flatten)]
    pub set: SetArgs,
    /// Output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::DOCUMENT), default_value_t)]
    pub output: Format,
    /// Write a report for the browser: charts over time, the pods on each node, the timeline. One
    /// file, no network.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write dumps of the simulated cluster to a directory, for `shadow` (like `kubectl get … -A -o
    /// json`).
    #[arg(long, value_name = "DIR")]
    pub dumps: Option<PathBuf>,
    /// With --dumps: virtual time between two dumps.
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "dumps")]
    pub every: String,
    /// Print every event of every pod instead of one line for similar events.
    #[arg(short, long)]
    pub verbose: bool,
}

impl SimulateArgs {
    /// Changes the settings of the scenario as the options say.
    pub(super) fn change(&self, settings: &mut Settings) -> Result<(), BadInput> {
        let options = [
            ("--packing", "Packing", self.packing.as_deref()),
            ("--node-charge", "NodeCharge", self.node_charge.as_deref()),
            ("--record", "Record", self.record.as_deref()),
        ];
        self.set.apply(settings, &options)
    }
}
