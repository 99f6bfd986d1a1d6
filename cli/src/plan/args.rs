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
    /// Cluster objects as YAML or JSON: files, directories, or `-`.
    #[arg(value_name = "DIR|FILE", required_unless_present_any = ["live", "filenames"],
        conflicts_with = "live")]
    pub manifests: Vec<PathBuf>,
    /// Read the cluster of the current kubeconfig. Nothing is changed.
    #[arg(long, conflicts_with = "filenames")]
    pub live: bool,
    /// With --live: the kubeconfig's context to read instead of the current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// With --live: another kubeconfig than kubectl's own.
    #[arg(long, value_name = "FILE", requires = "live")]
    pub kubeconfig: Option<PathBuf>,
    /// More of them, as kubectl takes them.
    #[command(flatten)]
    pub more: MoreManifests,
    /// Instance types as nodes have them, with offerings and prices, as JSON. Otherwise the built-in
    /// list prices of us-west-2, as nodes of each EC2NodeClass would have them.
    #[arg(long, value_name = "FILE")]
    pub instance_types: Option<PathBuf>,
    /// The cluster's region. For another than us-west-2 types and prices are asked of AWS.
    #[arg(long, value_name = "REGION", conflicts_with = "instance_types")]
    pub region: Option<String>,
    /// An answer of DescribeCapacityReservations: how many instances are left. Without it reservations
    /// are planned as full.
    #[arg(long, value_name = "FILE", conflicts_with = "instance_types")]
    pub capacity_reservations: Option<PathBuf>,
    /// The present, such as `2026-08-01T12:00:00Z`. The clock's otherwise.
    #[arg(long, value_name = "TIME")]
    pub now: Option<String>,
    /// What becomes of the preferences of pods.
    #[arg(long, value_name = "POLICY", value_parser = word_of("PreferencePolicy"))]
    pub preference_policy: Option<String>,
    /// What becomes of minValues that cannot be reached.
    #[arg(long, value_name = "POLICY", value_parser = word_of("MinValuesPolicy"))]
    pub min_values_policy: Option<String>,
    /// How many times to plan, each time as if what was planned before had been launched.
    #[arg(long, value_name = "NUMBER", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=100), conflicts_with = "disruption")]
    pub rounds: u32,
    /// Whether ill nodes are left to the controller that Karpenter 1.14 had for them: no method of
    /// disruption repairs them then.
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
    /// Exit with code 1 also when pods find no place, or when anything is wrong with objects: also with
    /// those of a running cluster, and what only Karpenter would find.
    #[arg(long)]
    pub strict: bool,
    /// Say which nodes would be disrupted, what would come in their place, and why the others stay.
    #[arg(long)]
    pub disruption: bool,
    /// With --disruption: whose decisions to show. Otherwise Journeyman's where it manages NodeClaims, or where there are
    /// none, and else Karpenter's.
    #[arg(long, value_name = "WHOSE", value_enum, requires = "disruption")]
    pub view: Option<View>,
    /// The cluster's certificate authority.
    #[command(flatten)]
    pub authority: AuthorityArgs,
    /// What no object says: for which pods NodeClaims without a node were created, and what replaces the nodes that are
    /// being replaced. A file that `simulate --ledger FILE` wrote, or the one that `local` keeps.
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    pub ledger: Option<PathBuf>,
    /// The same from the table of the stack, which is read from AWS.
    #[arg(long, value_name = "NAME", requires = "cluster_name")]
    pub table: Option<String>,
    /// With --table: the EKS cluster.
    #[arg(long, value_name = "NAME", requires = "table")]
    pub cluster_name: Option<ClusterName>,
    /// With --disruption: everything about one node.
    #[arg(long, value_name = "NODE", requires = "disruption")]
    pub explain: Option<String>,
    /// With --disruption: how far to look for nodes whose pods fit elsewhere for less.
    #[arg(long, value_parser = word_of("Consolidation"), env = "JOURNEYMAN_CONSOLIDATION")]
    pub consolidation: Option<String>,
    /// With --consolidation thorough: how many pods to simulate at most.
    #[arg(long, value_name = "PODS")]
    pub consolidation_work: Option<u64>,
    /// Write a report for a browser as well: one file that needs no network, with the nodes and the pods
    /// on each.
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    pub html: Option<PathBuf>,
    /// How pods are packed onto new nodes, in NodePools that do not say it themselves.
    #[arg(long, value_parser = word_of("Packing"), env = "JOURNEYMAN_PACKING")]
    pub packing: Option<String>,
    /// What every node counts as beside its instance and its volumes, in dollars for one hour, where fleets
    /// are compared and pods are packed so that what is bought costs least.
    #[arg(long, value_name = "DOLLARS", env = "JOURNEYMAN_NODE_CHARGE")]
    pub node_charge: Option<String>,
    /// What all nodes of NodePools may cost together in an hour. Any price otherwise.
    #[arg(long, value_name = "DOLLARS")]
    pub max_dollars_per_hour: Option<String>,
    /// How much of what the pods of a NodePool request a new node with several pods may hold, such as `20%`, in
    /// NodePools that do not say it themselves. Anything otherwise.
    #[arg(long, value_name = "PERCENT")]
    pub max_node_share: Option<String>,
    /// Plan as if no node were there: all pods, those that run and those that wait, get new nodes. Nodes of static
    /// NodePools, on capacity reservations, and without a known price stay.
    #[arg(long, conflicts_with = "disruption")]
    pub from_scratch: bool,
    /// Compare, for all pods as --from-scratch has them: the nodes that are there, what Karpenter would buy, the
    /// cheapest that is found, and the least that there can be.
    #[arg(long, conflicts_with_all = ["disruption", "rounds"])]
    pub compare: bool,
    /// Any setting.
    #[command(flatten)]
    pub set: SetArgs,
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::DOCUMENT), default_value_t)]
    pub output: Format,
    /// Whether to print in colors.
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
    /// Karpenter's, which watches the cluster: by the conditions that it stored.
    Karpenter,
    /// Those of the function `disrupt`.
    Journeyman,
}
