//! What the command understands.

use clap::{Parser, Subcommand};
use installer::{
    doctor::DoctorArgs,
    handover::{AdoptArgs, ReleaseArgs},
    install::InstallArgs,
    uninstall::UninstallArgs,
};

use crate::{
    catalog::CatalogArgs,
    convert::ConvertArgs,
    crds::CrdsArgs,
    explain::ExplainArgs,
    get::GetArgs,
    hash::HashArgs,
    local::LocalArgs,
    options::{CompletionsArgs, VersionArgs},
    plan::PlanArgs,
    rbac::RbacArgs,
    render::RenderArgs,
    replay::ReplayArgs,
    shadow::ShadowArgs,
    simulate::SimulateArgs,
    template::TemplateArgs,
    validate::ValidateArgs,
};

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

/// What can be done, in the order of help.
#[derive(Debug, Subcommand)]
pub enum JourneymanCommand {
    /// Play manifests, or a built-in story, in virtual time.
    ///
    /// The decisions are those of the deployed functions: the same handlers run on simulated ports.
    /// Without manifests a built-in story is played: 100 pods, a spot interruption, a scale-down,
    /// expiry. Exit codes: 0 played; 1 with --strict, pods found no place; 2 bad input.
    Simulate(SimulateArgs),
    /// Run a cluster on this machine, with a simulated AWS account.
    ///
    /// Machines that the functions launch join as nodes, become ready and run pods, in real time and
    /// without an AWS account. Use it with kubectl; Ctrl-C ends all of it, and nothing is left but its
    /// logs. What is installed is what `crds` and `rbac` print, and each function acts as its own RBAC
    /// group. Exit codes: 0 it ended as it was asked to, or EC2 does what it was asked for; 2 it cannot
    /// run, or cannot do it.
    Local(LocalArgs),
    /// Show which nodes would be launched, which would go, and why.
    ///
    /// Reads NodePools, EC2NodeClasses, nodes, NodeClaims, pods and what makes them, and answers
    /// what would be launched for which pods at what price, which pods go onto nodes that are there,
    /// and which find no place and why. Exit codes: 0 planned; 1 planned without objects that an API
    /// server would refuse, or with --strict, pods found no place or something is wrong with an object
    /// that a server has stored (it has a uid); 2 bad input.
    Plan(Box<PlanArgs>),
    /// Compare Journeyman with what runs the nodes today.
    ///
    /// Reads dumps of a cluster in time order, or writes them first (`--live`), plays the same demand
    /// to the functions' own handlers on a simulated account, and compares price, nodes, evictions and
    /// pending time. Exit codes: 0 compared; 2 bad input.
    Shadow(ShadowArgs),
    /// Show launch templates, user data and the fleet request for EC2.
    ///
    /// Reads a NodePool and its EC2NodeClass as the cluster has them (with `status`: `kubectl get -o
    /// yaml`), and perhaps a NodeClaim. Without one the claim is what the pool gives without any
    /// pod. Of a class without a status it is said what is assumed. Exit codes: 0 rendered; 1 nothing
    /// would be launched, and why; 2 bad input.
    Render(RenderArgs),
    /// List instance types with allocatable resources and prices.
    ///
    /// Without --node-class they are those of an AL2023 class with subnets everywhere, without
    /// --from the built-in ones of us-west-2. Exit codes: 0 listed; 2 bad input.
    Catalog(CatalogArgs),
    /// Check manifests as the API server and Karpenter would.
    ///
    /// What an API server would refuse and what Karpenter's own validation would find, each with file,
    /// line, object, field and rule; then how much was read. Exit codes: 0 nothing is wrong; 1 something
    /// is; 2 a file cannot be read.
    Validate(ValidateArgs),
    /// Say why a pod or node is as it is, or went; what a reason means.
    ///
    /// Reads the records of what the functions decided: what was launched for which pods, who got no node and
    /// why, why nodes were disrupted and why others stay. They are kept for 90 days. `reason` needs no records: it prints
    /// what the documentation says of a reason or an alarm. Exit codes: 0 explained; 1 nothing is known of it; 2 bad input, or the records cannot be read.
    Explain(ExplainArgs),
    /// List NodeClaims, nodes, pods, decisions, commands or costs.
    ///
    /// Reads the records of what the functions decided. A node or a pod without a record is not listed: kubectl has it.
    ///
    /// Exit codes: 0 listed; 2 bad input, or the records cannot be read.
    Get(GetArgs),
    /// Make a recorded decision again, and show what differs.
    ///
    /// The facts are kept with the setting `Record=facts` of the functions, or by `simulate --record facts`.
    /// Nothing is asked of any cluster, and nothing is changed. Exit codes: 0 the same plan; 1 another plan;
    /// 2 bad input, there is no such decision, or its facts are not there or cannot be read.
    Replay(ReplayArgs),
    /// Put definitions and roles into a cluster, after showing them.
    ///
    /// It is what `crds` and `rbac` print, applied on the server's side as the field manager `journeyman`. Exit codes:
    /// 0 the cluster has everything; 1 something would change, and was not applied; 2 it cannot be done.
    Install(InstallArgs),
    /// Check an installation step by step, with a cure for each fault.
    ///
    /// Looks at the cluster as a kubeconfig says and at the account as AWS's own command line would, and changes
    /// nothing. Exit codes: 0 everything is in order; 1 something is not, or could not be seen; 2 it cannot be
    /// printed, or the build has no client of Kubernetes and AWS.
    Doctor(DoctorArgs),
    /// Remove Journeyman from a cluster and an account.
    ///
    /// Each step is shown as the command of `kubectl` or `aws` that does the same. Exit codes: 0 nothing is left; 1
    /// nothing was done; 2 it cannot be done, or broke off, and says what is left to do.
    Uninstall(UninstallArgs),
    /// Print the CustomResourceDefinitions to install.
    ///
    /// Exit codes: 0 printed; 2 they cannot be written.
    Crds(CrdsArgs),
    /// Print the functions' roles and bindings in the cluster.
    ///
    /// Each function acts as the group `journeyman:<function>`, which EKS access entries of the stack
    /// put its role into, and needs these rights and no others: `journeyman rbac | kubectl apply -f -`.
    /// Exit codes: 0 printed; 2 they cannot be written.
    Rbac(RbacArgs),
    /// Print `template.yaml`, the stack for AWS SAM.
    ///
    /// Exit codes: 0 printed; 2 it cannot be written.
    Template(TemplateArgs),
    /// Convert objects of older Karpenter versions to v1.
    ///
    /// Exit codes: 0 converted; 2 something is wrong, or cannot be known from the objects.
    Convert(ConvertArgs),
    /// Print drift hashes, and compare them with a cluster's.
    ///
    /// They are those of Karpenter 1.15: version v3 of NodePools and v6 of EC2NodeClasses. 1.14 writes
    /// v5 of EC2NodeClasses, which is another number for the same class. Exit codes: 0 printed; 1 with
    /// --strict, nodes would drift; 2 bad input.
    Hash(HashArgs),
    /// Take a cluster over from Karpenter with its nodes as they are.
    ///
    /// Looks whether the functions could, scales Karpenter's Deployment to no replicas, and waits until Journeyman has
    /// every NodeClaim; also after the table was lost. Exit codes: 0 Journeyman has them; 1 nothing was done, or it
    /// is not over yet; 2 it cannot be done.
    Adopt(AdoptArgs),
    /// Give a cluster back to Karpenter with its nodes as they are.
    ///
    /// Looks whether Karpenter would know every node, scales its Deployment up, and waits until it has the cluster.
    /// Exit codes: 0 Karpenter has it; 1 nothing was done, or it is not over yet; 2 it cannot be done.
    Release(ReleaseArgs),
    /// Print completions for a shell.
    ///
    /// For bash: `source <(journeyman completions bash)` in ~/.bashrc. For zsh: `journeyman completions
    /// zsh > "${fpath[1]}/_journeyman"`. For fish: `journeyman completions fish >
    /// ~/.config/fish/completions/journeyman.fish`. Exit codes: 0 printed; 2 it cannot be written.
    Completions(CompletionsArgs),
    /// Print the version.
    ///
    /// Exit codes: 0 printed; 2 it cannot be written.
    Version(VersionArgs),
}
