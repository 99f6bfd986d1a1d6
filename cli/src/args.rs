//! What the command understands.

mod catalog;

use std::path::PathBuf;

pub use catalog::{CatalogArgs, CatalogOrder};
use clap::{Parser, Subcommand, ValueEnum};
use installer::installation::ClusterArgs;
use report::screen::{Color, Format};

use crate::manifests::Depth;

/// Karpenter without the controller.
///
/// Journeyman launches, replaces and removes the nodes of an Amazon EKS cluster from AWS Lambda functions,
/// by Karpenter's own objects: NodePool, EC2NodeClass, NodeClaim. This command answers beforehand what it
/// would do: for manifests (`plan DIR`), for a running cluster (`plan --live`), or played in virtual time
/// (`simulate`) or alive on this machine (`local`). An AWS account, or a cluster that has one, is changed by
/// `install`, `uninstall`, `adopt` and `release` only, which show first what they would do.
#[derive(Debug, Parser)]
#[command(name = "journeyman", version, disable_help_subcommand = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: JourneymanCommand,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum JourneymanCommand {
    /// Play manifests in a simulated AWS account and cluster, in virtual time.
    ///
    /// The decisions are those of the deployed functions: the same handlers run on simulated ports.
    /// Without manifests a built-in story is played: 100 pods, a spot interruption, a scale-down,
    /// expiry. Exit codes: 0 played; 1 with --strict, pods found no place; 2 bad input.
    Simulate(SimulateArgs),
    /// Say why a pod, a node, a NodeClaim or a NodePool is as it is, also after it is gone.
    ///
    /// Reads the records of what the functions decided: what was launched for which pods, who got no node and
    /// why, why nodes were given up and why others stay. They are kept for 90 days. Exit codes: 0 explained;
    /// 1 nothing is known of it; 2 bad input, or the records cannot be read.
    Explain(crate::explain::ExplainArgs),
    /// Make a decision again from the facts that were kept with it, and say what differs.
    ///
    /// The facts are kept with the setting `Record=facts` of the functions, or by `simulate --record facts`.
    /// Nothing is asked of any cluster, and nothing is changed. Exit codes: 0 the same plan; 1 another plan;
    /// 2 bad input, there is no such decision, or its facts are not there or cannot be read.
    Replay(crate::replay::ReplayArgs),
    /// List NodeClaims, decisions, commands or costs, as the ledger has them.
    ///
    /// Exit codes: 0 listed; 2 bad input, or the records cannot be read.
    Get(crate::get::GetArgs),
    /// Run a cluster on this machine: a real Kubernetes API server, the functions, a simulated account.
    ///
    /// Machines that the functions launch join as nodes, become ready and run pods, in real time and
    /// without an AWS account. Use it with kubectl; Ctrl-C ends all of it, and nothing is left but its
    /// logs. What is installed is what `crds` and `rbac` print, and each function acts as its own RBAC
    /// group. Exit codes: 0 it ended as it was asked to, or EC2 does what it was asked for; 2 it cannot
    /// run, or cannot do it.
    Local(crate::local::LocalArgs),
    /// Say what Karpenter's objects and pending pods would lead to, and create nothing.
    ///
    /// Reads NodePools, EC2NodeClasses, nodes, NodeClaims, pods and what makes them, and answers
    /// what would be launched for which pods at what price, which pods go onto nodes that are there,
    /// and which find no place and why. Exit codes: 0 planned; 1 planned without objects that an API
    /// server would refuse, or with --strict, pods found no place or something is wrong with an object
    /// that a server has stored (it has a uid); 2 bad input.
    Plan(PlanArgs),
    /// Say what Journeyman would have done where something else runs the nodes. Nothing is changed.
    ///
    /// Reads dumps of a cluster in time order, or writes them first (`--live`), plays the same demand
    /// to the functions' own handlers on a simulated account, and compares price, nodes, evictions and
    /// pending time. Exit codes: 0 compared; 2 bad input.
    Shadow(crate::shadow::ShadowArgs),
    /// Print the drift hashes of NodePools and EC2NodeClasses, the same as Karpenter's.
    ///
    /// They are those of Karpenter 1.15: version v3 of NodePools and v6 of EC2NodeClasses. 1.14 writes
    /// v5 of EC2NodeClasses, which is another number for the same class. Exit codes: 0 printed; 1 with
    /// --strict, nodes would drift; 2 bad input.
    Hash(crate::hash::HashArgs),
    /// Print objects of Karpenter's older versions as v1, with a comment on every choice.
    ///
    /// Exit codes: 0 converted; 2 something is wrong, or cannot be known from the objects.
    Convert(crate::convert::ConvertArgs),
    /// Say what is wrong with manifests: files, directories, of any version.
    ///
    /// What an API server would refuse and what Karpenter's own validation would find, each with file,
    /// line, object, field and rule; then how much was read. Exit codes: 0 nothing is wrong; 1 something
    /// is; 2 a file cannot be read.
    Validate(crate::validate::ValidateArgs),
    /// Print the CustomResourceDefinitions to install.
    ///
    /// Exit codes: 0 printed; 2 they cannot be written.
    Crds(crate::crds::CrdsArgs),
    /// Print what the functions may do in the cluster: roles and bindings to apply.
    ///
    /// Each function acts as the group `journeyman:<function>`, which EKS access entries of the stack
    /// put its role into, and needs these rights and no others: `journeyman rbac | kubectl apply -f -`.
    /// Exit codes: 0 printed; 2 they cannot be written.
    Rbac,
    /// Say whether an installation is whole, step by step, and what helps where it is not.
    ///
    /// Looks at the cluster as a kubeconfig says and at the account as AWS's own command line would, and changes
    /// nothing. Exit codes: 0 everything is in order; 1 something is not, or could not be seen; 2 it cannot be
    /// printed, or the build has no client of Kubernetes and AWS.
    Doctor(installer::doctor::DoctorArgs),
    /// Put definitions and the functions' rights into a cluster, and show first what that changes.
    ///
    /// It is what `crds` and `rbac` print, applied on the server's side as the field manager `journeyman`. Exit codes:
    /// 0 the cluster has everything; 1 something would change, and was not applied; 2 it cannot be done.
    Install(installer::install::InstallArgs),
    /// Take a cluster over from Karpenter with its nodes as they are, and show first what that takes.
    ///
    /// Looks whether the functions could, scales Karpenter's Deployment to no replicas, and waits until Journeyman has
    /// every NodeClaim; also after the table was lost. Exit codes: 0 Journeyman has them; 1 nothing was done, or it
    /// is not over yet; 2 it cannot be done.
    Adopt(installer::handover::HandoverArgs),
    /// Give a cluster back to Karpenter with its nodes as they are, and show first what that takes.
    ///
    /// Looks whether Karpenter would know every node, scales its Deployment up, and waits until it has the cluster.
    /// Exit codes: 0 Karpenter has it; 1 nothing was done, or it is not over yet; 2 it cannot be done.
    Release(installer::handover::HandoverArgs),
    /// Take Journeyman out of a cluster and an account, with its nodes or without them, and show that first.
    ///
    /// Each step is shown as the command of `kubectl` or `aws` that does the same. Exit codes: 0 nothing is left; 1
    /// nothing was done; 2 it cannot be done, or broke off, and says what is left to do.
    Uninstall(installer::uninstall::UninstallArgs),
    /// Show what EC2 would be asked for: launch templates with user data, and the fleet request.
    ///
    /// Reads a NodePool and its EC2NodeClass as the cluster has them (with `status`: `kubectl get -o
    /// yaml`), and perhaps a NodeClaim. Without one the claim is what the pool gives without any
    /// pod. Of a class without a status it is said what is assumed. Exit codes: 0 rendered; 1 nothing
    /// would be launched, and why; 2 bad input.
    Render(RenderArgs),
    /// List instance types as nodes of an EC2NodeClass would have them, with prices.
    ///
    /// Without --node-class they are those of an AL2023 class with subnets everywhere, without
    /// --from the built-in ones of us-west-2. Exit codes: 0 listed; 2 bad input.
    Catalog(CatalogArgs),
    /// Print what lets a shell complete this command.
    ///
    /// For bash: `source <(journeyman completions bash)` in ~/.bashrc. For zsh: `journeyman completions
    /// zsh > "${fpath[1]}/_journeyman"`. For fish: `journeyman completions fish >
    /// ~/.config/fish/completions/journeyman.fish`. Exit codes: 0 printed; 2 it cannot be written.
    Completions(CompletionsArgs),
}

/// Options of `completions`.
#[derive(Clone, Debug, clap::Args)]
pub struct CompletionsArgs {
    /// Which shell is to complete it.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Manifests by kubectl's own options.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MoreManifests {
    /// Manifests as kubectl is given them: a file, a directory, or `-`, several times or with commas.
    #[arg(short = 'f', long = "filename", value_name = "DIR|FILE", value_delimiter = ',')]
    pub filenames: Vec<PathBuf>,
    /// Read directories with all that are in them.
    #[arg(short = 'R', long)]
    pub recursive: bool,
}

impl MoreManifests {
    /// Those that were `named` without an option, and these.
    pub fn after(&self, named: &[PathBuf]) -> Vec<PathBuf> {
        [named, &self.filenames].concat()
    }

    /// How deep directories are read.
    pub const fn depth(&self) -> Depth {
        Depth::of(self.recursive)
    }
}

/// Karpenter's settings that concern all nodes.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct NodeSettingsArgs {
    /// Karpenter's feature gates, such as `ReservedCapacity=false`.
    #[arg(long, value_name = "NAME=BOOL,…", default_value = "", hide_default_value = true)]
    pub feature_gates: String,
    /// Network interfaces of each node that are not for pods.
    #[arg(long = "reserved-enis", value_name = "NUMBER", default_value_t = 0)]
    pub reserved_enis: u32,
    /// The part of the memory that the operating system will not see.
    #[arg(long, value_name = "DECIMAL", default_value = "0.075")]
    pub vm_memory_overhead_percent: String,
}

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
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub min_values_policy: MinValuesPolicyFlag,
    /// What becomes of the preferences of pods. There are none here: nothing changes.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub preference_policy: PreferencePolicyFlag,
    /// Show what changes from the manifests in OLD to those in NEW; other manifests go with both.
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"])]
    pub diff: Vec<PathBuf>,
    /// Settings.
    #[command(flatten)]
    pub settings: NodeSettingsArgs,
    /// How to print.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

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
    #[arg(long, value_enum, requires = "ledger")]
    pub record: Option<RecordFlag>,
    /// Exit with code 1 when pods find no place.
    #[arg(long)]
    pub strict: bool,
    /// How pods are packed onto new nodes, in NodePools that do not say it themselves; the scenario's own
    /// setting `Packing` otherwise.
    #[arg(long, value_enum)]
    pub packing: Option<PackingFlag>,
    /// What every node counts as beside its instance and its volumes, in dollars for one hour, where pods are
    /// packed so that what is bought costs least; the scenario's own setting `NodeCharge` otherwise.
    #[arg(long, value_name = "DOLLARS")]
    pub node_charge: Option<String>,
    /// How to print.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
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

/// What is kept of decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RecordFlag {
    /// They themselves.
    Decisions,
    /// Also the facts that they were made on, for `replay`.
    Facts,
}

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
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub preference_policy: PreferencePolicyFlag,
    /// What becomes of minValues that cannot be reached.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub min_values_policy: MinValuesPolicyFlag,
    /// Karpenter's feature gates, such as `NodeOverlay=true,ReservedCapacity=false`.
    #[arg(long, value_name = "NAME=BOOL,…", default_value = "", hide_default_value = true)]
    pub feature_gates: String,
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
    /// Write a report for a browser as well: one file that needs no network, with the nodes and the pods
    /// on each.
    #[arg(long, value_name = "FILE", conflicts_with = "disruption")]
    pub html: Option<PathBuf>,
    /// How pods are packed onto new nodes, in NodePools that do not say it themselves.
    #[arg(long, value_enum, default_value_t, env = "JOURNEYMAN_PACKING")]
    pub packing: PackingFlag,
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
    /// Compare what Karpenter would buy with the cheapest that is found and with the least that there can be.
    #[arg(long, conflicts_with_all = ["disruption", "rounds", "html"])]
    pub compare: bool,
    /// How to print. Otherwise a table for people.
    #[arg(short, long, value_enum)]
    pub output: Option<PlanFormat>,
    /// Whether to print in colors.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub color: Color,
}

impl PlanArgs {
    /// The cluster that --live reads.
    pub(crate) fn place(&self) -> ClusterArgs {
        ClusterArgs { context: self.context.clone(), kubeconfig: self.kubeconfig.clone() }
    }
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

/// How pods are packed onto new nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PackingFlag {
    /// As Karpenter packs.
    #[default]
    Karpenter,
    /// So that what is bought costs least.
    Cheapest,
}

/// How to print a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// One JSON document.
    Json,
    /// The same as YAML.
    Yaml,
}

/// `--preference-policy`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PreferencePolicyFlag {
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
pub enum MinValuesPolicyFlag {
    /// They hold.
    #[default]
    #[value(name = "Strict", alias = "strict")]
    Strict,
    /// They are lowered to what there is, and the claim says so.
    #[value(name = "BestEffort", alias = "best-effort")]
    BestEffort,
}
