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
    /// Say what Karpenter's objects and pending pods would lead to, and create nothing.
    ///
    /// Reads NodePools, EC2NodeClasses, nodes, NodeClaims, pods and what makes them, and answers
    /// what would be launched for which pods at what price, which pods go onto nodes that are there,
    /// and which find no place and why. Exit codes: 0 planned; 1 with --strict, pods found no place
    /// or objects could not be read; 2 bad input.
    Plan(PlanArgs),
    /// Print the drift hashes of NodePools and EC2NodeClasses, the same as Karpenter's.
    ///
    /// Exit codes: 0 printed; 1 with --strict, nodes would drift; 2 bad input.
    Hash(crate::hash::HashArgs),
    /// Print the CustomResourceDefinitions to install.
    Crds(crate::crds::CrdsArgs),
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

/// Options of `plan`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PlanArgs {
    /// Cluster objects as YAML or JSON: files, directories, or `-`.
    #[arg(value_name = "DIR|FILE", required = true)]
    pub manifests: Vec<PathBuf>,
    /// Instance types as nodes have them, with offerings and prices, as JSON. Otherwise the built-in
    /// list prices of us-west-2, as nodes of each EC2NodeClass would have them.
    #[arg(long, value_name = "FILE")]
    pub instance_types: Option<PathBuf>,
    /// The present, such as `2026-08-01T12:00:00Z`. The clock's otherwise.
    #[arg(long, value_name = "TIME")]
    pub now: Option<String>,
    /// What becomes of the preferences of pods.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub preference_policy: PreferencePolicy,
    /// What becomes of minValues that cannot be reached.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub min_values_policy: MinValuesPolicy,
    /// Karpenter's feature gates, such as `NodeOverlay=true,ReservedCapacity=false`.
    #[arg(long, value_name = "NAME=BOOL,…", default_value = "", hide_default_value = true)]
    pub feature_gates: String,
    /// Exit with code 1 when pods find no place or objects could not be read.
    #[arg(long)]
    pub strict: bool,
    /// Say which nodes would be given up, what would come in their place, and why the others stay.
    #[arg(long)]
    pub disruption: bool,
    /// With --disruption: everything about one node.
    #[arg(long, value_name = "NODE", requires = "disruption")]
    pub explain: Option<String>,
    /// With --disruption: how far to look for nodes whose pods fit elsewhere for less.
    #[arg(long, value_enum, default_value_t, env = "JOURNEYMAN_CONSOLIDATION")]
    pub consolidation: Consolidation,
    /// With --consolidation thorough: how many pods to simulate at most.
    #[arg(long, value_name = "PODS")]
    pub consolidation_work: Option<u64>,
    /// How to print.
    #[arg(short, long, value_enum)]
    pub output: Option<PlanFormat>,
}

/// How far to look for nodes whose pods fit elsewhere for less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Consolidation {
    /// As far as Karpenter.
    #[default]
    Karpenter,
    /// Every node by itself and many sets of them, beside what Karpenter would choose.
    Thorough,
}

/// How to print a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// One JSON document.
    #[default]
    Json,
    /// The same as YAML.
    Yaml,
}

/// `--preference-policy`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PreferencePolicy {
    /// They hold until nothing can be launched with them.
    #[default]
    #[value(name = "Respect", alias = "respect")]
    Respect,
    /// They are not looked at.
    #[value(name = "Ignore", alias = "ignore")]
    Ignore,
}

/// `--min-values-policy`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MinValuesPolicy {
    /// They hold.
    #[default]
    #[value(name = "Strict", alias = "strict")]
    Strict,
    /// They are lowered to what there is, and the claim says so.
    #[value(name = "BestEffort", alias = "best-effort")]
    BestEffort,
}
