//! Options of `simulate`.

use std::path::PathBuf;

use dispatch::Settings;
use report::{error::BadInput, format::Format};

use crate::options::{MoreManifests, SetArgs, word_of};

/// Options of `simulate`.
#[derive(Debug, clap::Args)]
pub struct SimulateArgs {
    /// Cluster objects to play (NodePools, EC2NodeClasses, workloads): a file, a directory, or `-`. With
    /// nodes, NodeClaims and pods, as `kubectl get … -o yaml` saves them, it starts from what runs there.
    #[arg(value_name = "DIR|FILE")]
    pub manifests: Vec<PathBuf>,
    /// The same as an option.
    #[arg(long = "manifests", value_name = "DIR|FILE", num_args = 1..)]
    pub more_manifests: Vec<PathBuf>,
    /// More of them, as kubectl takes them.
    #[command(flatten)]
    pub more: MoreManifests,
    /// What happens when: a YAML file; see examples/scenarios.
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// What chance draws from: the same seed plays the same story to the byte.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How long to play, in virtual time such as `45m`. The scenario's own `end` otherwise.
    #[arg(long, value_name = "DURATION")]
    pub duration: Option<String>,
    /// Write what the ledger holds at the end, for `explain`, `get` and `replay`: a line of JSON for each record.
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// With --ledger: what is kept of decisions; the scenario's own setting `Record` otherwise.
    #[arg(long, value_parser = word_of("Record"), requires = "ledger")]
    pub record: Option<String>,
    /// Exit with code 1 when pods find no place.
    #[arg(long)]
    pub strict: bool,
    /// How pods are packed onto new nodes, in NodePools that do not say it themselves; the scenario's own
    /// setting `Packing` otherwise.
    #[arg(long, value_parser = word_of("Packing"))]
    pub packing: Option<String>,
    /// What every node counts as beside its instance and its volumes, in dollars for one hour, where pods are
    /// packed so that what is bought costs least; the scenario's own setting `NodeCharge` otherwise.
    #[arg(long, value_name = "DOLLARS")]
    pub node_charge: Option<String>,
    /// Any setting.
    #[command(flatten)]
    pub set: SetArgs,
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::DOCUMENT), default_value_t)]
    pub output: Format,
    /// Write a report for a browser as well: one file that needs no network, with charts over time, which
    /// pods are on which nodes, and the timeline.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write dumps of the simulated cluster into a directory, as `kubectl get … -A -o json` prints those
    /// of a real one: what `shadow` compares with.
    #[arg(long, value_name = "DIR")]
    pub dumps: Option<PathBuf>,
    /// With --dumps: how much virtual time is from one dump to the next.
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "dumps")]
    pub every: String,
    /// Print everything that happens, pod by pod, instead of what is alike in one line.
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
