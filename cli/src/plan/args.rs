//! Options of `plan`.

use std::path::PathBuf;

use clap::ValueEnum;
use dispatch::Settings;
use installer::installation::ClusterArgs;
use model::ClusterName;
use report::{error::BadInput, format::Format, screen::Color};

use crate::{
    authority::{AuthorityArgs, of_kubeconfig},
    hashes::Authority,
    options::{MoreManifests, SetArgs, word_of},
    records::{Records, RecordsArgs},
};

/// Options of `plan`.
#[derive(Clone, Debug, Default, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct PlanArgs {
    /// Manifests as YAML or JSON: files, directories, or `-`.
    #[arg(value_name = "DIR|FILE", required_unless_present_any = ["live", "filenames"],
        conflicts_with = "live")]
    pub manifests: Vec<PathBuf>,
    /// Read the cluster of the current kubeconfig context. Changes nothing.
    #[arg(long, conflicts_with = "filenames")]
    pub live: bool,
    /// With --live: kubeconfig context to use instead of the current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// With --live: kubeconfig file. Default: KUBECONFIG or ~/.kube/config.
    #[arg(long, value_name = "FILE", requires = "live")]
    pub kubeconfig: Option<PathBuf>,
    /// More of them, as kubectl takes them.
    #[command(flatten)]
    pub more: MoreManifests,
    /// Read instance types, offerings and prices from a JSON file (`catalog -o json` prints one).
    /// Default: built-in types of us-west-2 at list prices, calculated for each EC2NodeClass.
    #[arg(long, value_name = "FILE")]
    pub instance_types: Option<PathBuf>,
    /// Region of the cluster. For regions other than us-west-2, types and prices are read from AWS.
    #[arg(long, value_name = "REGION", conflicts_with = "instance_types")]
    pub region: Option<String>,
    /// Read the free instances of capacity reservations from a DescribeCapacityReservations
    /// response. Without it, reservations count as full.
    #[arg(long, value_name = "FILE", conflicts_with = "instance_types")]
    pub capacity_reservations: Option<PathBuf>,
    /// Plan for this time, such as `2026-08-01T12:00:00Z`. Default: the current time.
    #[arg(long, value_name = "TIME")]
    pub now: Option<String>,
    /// Respect or ignore the scheduling preferences of pods.
    #[arg(long, value_name = "POLICY", value_parser = word_of("PreferencePolicy"))]
    pub preference_policy: Option<String>,
    /// If `minValues` cannot be met: launch nothing (`Strict`), or relax it (`BestEffort`).
    #[arg(long, value_name = "POLICY", value_parser = word_of("MinValuesPolicy"))]
    pub min_values_policy: Option<String>,
    /// Number of rounds to plan. Each round assumes that the nodes of the earlier rounds were
    /// launched.
    #[arg(long, value_name = "NUMBER", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=100), conflicts_with = "disruption")]
    pub rounds: u32,
    /// Leave unhealthy nodes to the repair controller of Karpenter 1.14. Disruption does not repair
    /// them.
    #[arg(
        long,
        value_name = "BOOL",
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        require_equals = false,
        default_value_t = false,
        default_missing_value = "true",
        hide_default_value = true
    )]
    pub legacy_node_repair: bool,
    /// Also exit with code 1 if a pod cannot be scheduled, or if any object is invalid: also
    /// objects of a running cluster, and by rules that only Karpenter checks.
    #[arg(long)]
    pub strict: bool,
    /// Show which nodes would be disrupted, their replacements, and why the other nodes are not
    /// disrupted.
    #[arg(long)]
    pub disruption: bool,
    /// With --disruption: whose decisions to show. Default: Journeyman's if it manages NodeClaims
    /// or there are none, otherwise Karpenter's.
    #[arg(long, value_name = "WHOSE", value_enum, requires = "disruption")]
    pub view: Option<View>,
    /// The cluster's certificate authority.
    #[command(flatten)]
    pub authority: AuthorityArgs,
    /// Read the ledger from a file that `simulate --ledger` or `local` wrote: the pods of
    /// NodeClaims without a node, and the replacements of nodes.
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    pub ledger: Option<PathBuf>,
    /// Like --ledger, from the DynamoDB table of the stack.
    #[arg(long, value_name = "NAME", requires = "cluster_name")]
    pub table: Option<String>,
    /// With --table: name of the EKS cluster.
    #[arg(long, value_name = "NAME", requires = "table")]
    pub cluster_name: Option<ClusterName>,
    /// With --disruption: show all reasons for one node.
    #[arg(long, value_name = "NODE", requires = "disruption")]
    pub explain: Option<String>,
    /// With --disruption: how widely to search for cheaper nodes.
    #[arg(long, value_parser = word_of("Consolidation"), env = "JOURNEYMAN_CONSOLIDATION")]
    pub consolidation: Option<String>,
    /// With --consolidation thorough: maximum number of pods to simulate.
    #[arg(long, value_name = "PODS")]
    pub consolidation_work: Option<u64>,
    /// Write a report for the browser: the nodes and the pods on each. One file, no network.
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    pub html: Option<PathBuf>,
    /// Packing of pods onto new nodes, for NodePools that do not set it.
    #[arg(long, value_parser = word_of("Packing"), env = "JOURNEYMAN_PACKING")]
    pub packing: Option<String>,
    /// Dollars an hour to add to the price of each node when --compare or `--packing cheapest`
    /// compares prices.
    #[arg(long, value_name = "DOLLARS", env = "JOURNEYMAN_NODE_CHARGE")]
    pub node_charge: Option<String>,
    /// Maximum price of all nodes of NodePools, in dollars an hour. Default: no limit.
    #[arg(long, value_name = "DOLLARS")]
    pub max_dollars_per_hour: Option<String>,
    /// Maximum share of a NodePool's pod requests on one new node with several pods, such as `20%`,
    /// for NodePools that do not set it. Default: no limit.
    #[arg(long, value_name = "PERCENT")]
    pub max_node_share: Option<String>,
    /// Plan new nodes for all pods, running and pending. Nodes of static NodePools, on capacity
    /// reservations, or without a known price remain.
    #[arg(long, conflicts_with = "disruption")]
    pub from_scratch: bool,
    /// Compare today's nodes, Karpenter's nodes, the cheapest nodes found, and the lowest possible
    /// price, for all pods as with --from-scratch.
    #[arg(long, conflicts_with_all = ["disruption", "rounds"])]
    pub compare: bool,
    /// Any setting.
    #[command(flatten)]
    pub set: SetArgs,
    /// Output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::DOCUMENT), default_value_t)]
    pub output: Format,
    /// When to print in color.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub color: Color,
}

impl PlanArgs {
    /// The settings that the options stand for.
    pub(crate) fn settings(&self) -> Result<Settings, BadInput> {
        let options = [
            ("--preference-policy", "PreferencePolicy", self.preference_policy.as_deref()),
            ("--min-values-policy", "MinValuesPolicy", self.min_values_policy.as_deref()),
            ("--packing", "Packing", self.packing.as_deref()),
            ("--consolidation", "Consolidation", self.consolidation.as_deref()),
            ("--node-charge", "NodeCharge", self.node_charge.as_deref()),
            ("--max-dollars-per-hour", "MaxDollarsPerHour", self.max_dollars_per_hour.as_deref()),
        ];
        let mut settings = self.set.read(&options)?;
        settings.policies.legacy_node_repair = self.legacy_node_repair;
        Ok(settings)
    }

    /// The certificate authority of the cluster.
    pub(crate) fn certificate_authority(&self) -> Result<Authority, BadInput> {
        if !self.live {
            return self.authority.read();
        }
        let (file, context) = (self.kubeconfig.as_deref(), self.context.as_deref());
        let of_live = || of_kubeconfig(file, context).map(|read| read.bundle);
        let bundle = self.authority.given()?.or_else(of_live);
        Ok(bundle.map_or(Authority::Unknown, Authority::Given))
    }

    /// What the ledger says, if it is to be read.
    pub(super) fn records(&self) -> Result<Option<Records>, BadInput> {
        let Self { ledger, table, cluster_name, region, .. } = self.clone();
        let is_given = ledger.is_some() || table.is_some();
        let kubeconfig = self.place();
        let args = RecordsArgs { ledger, table, cluster_name, region, kubeconfig, records: 1 };
        is_given.then(|| args.read()).transpose()
    }

    /// The cluster that --live reads.
    pub(crate) fn place(&self) -> ClusterArgs {
        ClusterArgs { context: self.context.clone(), kubeconfig: self.kubeconfig.clone() }
    }
}

/// Whose decisions about disruption to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// Karpenter's decisions, by the conditions that it stored.
    Karpenter,
    /// The decisions of the function `disrupt`.
    Journeyman,
}
