//! Options of `render`.

use std::path::PathBuf;

use dispatch::Settings;
use report::{error::BadInput, format::Format};

use crate::options::{MoreManifests, SetArgs, word_of};

/// Options of `render`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RenderArgs {
    /// NodePool, EC2NodeClass and perhaps a NodeClaim: files, directories, or `-`.
    #[arg(value_name = "DIR|FILE")]
    pub manifests: Vec<PathBuf>,
    /// More of them, as kubectl takes them.
    #[command(flatten)]
    pub more: MoreManifests,
    /// EC2's answers about instance types; see `catalog`. The built-in ones otherwise.
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// What nodes are told about their cluster, and what EC2 says about what the class selects, as
    /// JSON; --cluster-facts-template prints one to fill.
    #[arg(long, value_name = "FILE", required_unless_present = "cluster_facts_template")]
    pub cluster_facts: Option<PathBuf>,
    /// Print the cluster's facts to fill, with where each comes from, and nothing else.
    #[arg(long, exclusive = true)]
    pub cluster_facts_template: bool,
    /// Of several NodePools, the one to launch from.
    #[arg(long = "nodepool", value_name = "NAME")]
    pub node_pool: Option<String>,
    /// Only this instance type, such as `m7i.large`.
    #[arg(long = "type", value_name = "TYPE")]
    pub instance_type: Option<String>,
    /// The present. Nothing that is shown depends on it.
    #[arg(long, value_name = "TIME")]
    pub now: Option<String>,
    /// What becomes of minValues that cannot be reached.
    #[arg(long, value_name = "POLICY", value_parser = word_of("MinValuesPolicy"))]
    pub min_values_policy: Option<String>,
    /// What becomes of the preferences of pods. There are none here: nothing changes.
    #[arg(long, value_name = "POLICY", value_parser = word_of("PreferencePolicy"))]
    pub preference_policy: Option<String>,
    /// Show what changes from the manifests in OLD to those in NEW; other manifests go with both.
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"])]
    pub diff: Vec<PathBuf>,
    /// Settings.
    #[command(flatten)]
    pub settings: SetArgs,
    /// How to print.
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
