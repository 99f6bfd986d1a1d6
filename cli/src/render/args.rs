//! Options of `render`.

use std::path::PathBuf;

use dispatch::Settings;
use report::{error::BadInput, format::Format};

use crate::options::{MoreManifests, SetArgs, word_of};

/// Options of `render`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RenderArgs {
    /// NodePool, EC2NodeClass and optionally a NodeClaim: files, directories, or `-`.
    #[arg(value_name = "DIR|FILE")]
    pub manifests: Vec<PathBuf>,
    /// More of them, as kubectl takes them.
    #[command(flatten)]
    pub more: MoreManifests,
    /// Read instance types from EC2 responses in a directory; see `catalog --help`. Default:
    /// built-in.
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// Read facts about the cluster (endpoint, certificate authority, network, subnets) from a JSON
    /// file. --cluster-facts-template prints a template.
    #[arg(long, value_name = "FILE", required_unless_present = "cluster_facts_template")]
    pub cluster_facts: Option<PathBuf>,
    /// Print a template for --cluster-facts that says where to find each fact, and exit.
    #[arg(long, exclusive = true)]
    pub cluster_facts_template: bool,
    /// NodePool to launch from, if the manifests have several.
    #[arg(long = "nodepool", value_name = "NAME")]
    pub node_pool: Option<String>,
    /// Show only this instance type, such as `m7i.large`.
    #[arg(long = "type", value_name = "TYPE")]
    pub instance_type: Option<String>,
    /// Current time. Does not change the output.
    #[arg(long, value_name = "TIME")]
    pub now: Option<String>,
    /// If `minValues` cannot be met: launch nothing (`Strict`), or relax it (`BestEffort`).
    #[arg(long, value_name = "POLICY", value_parser = word_of("MinValuesPolicy"))]
    pub min_values_policy: Option<String>,
    /// Respect or ignore the scheduling preferences of pods. Does not change the output.
    #[arg(long, value_name = "POLICY", value_parser = word_of("PreferencePolicy"))]
    pub preference_policy: Option<String>,
    /// Show what changes from the manifests in OLD to those in NEW. Other manifests belong to both.
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"])]
    pub diff: Vec<PathBuf>,
    /// Settings.
    #[command(flatten)]
    pub settings: SetArgs,
    /// Output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::DOCUMENT), default_value_t)]
    pub output: Format,
}

impl RenderArgs {
    /// The settings that the options stand for.
    pub(super) fn settings(&self) -> Result<Settings, BadInput> {
        self.settings.read(&[
            ("--min-values-policy", "MinValuesPolicy", self.min_values_policy.as_deref()),
            ("--preference-policy", "PreferencePolicy", self.preference_policy.as_deref()),
        ])
    }
}
