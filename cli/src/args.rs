//! What the command understands.

use clap::{Parser, Subcommand};
use installer::{
    deploy::DeployArgs,
    doctor::DoctorArgs,
    handover::{AdoptArgs, ReleaseArgs},
    install::InstallArgs,
    uninstall::UninstallArgs,
    upgrade::{RollbackArgs, UpgradeArgs},
};

use crate::{
    catalog::CatalogArgs,
    convert::ConvertArgs,
    crds::CrdsArgs,
    explain::ExplainArgs,
    get::GetArgs,
    hash::HashArgs,
    local::LocalArgs,
    options::{CompletionsArgs, ManArgs},
    plan::PlanArgs,
    rbac::RbacArgs,
    render::RenderArgs,
    replay::ReplayArgs,
    shadow::ShadowArgs,
    simulate::SimulateArgs,
    template::TemplateArgs,
    validate::ValidateArgs,
    version::{self, VersionArgs},
};

/// Karpenter without the controller.
///
/// Journeyman launches, disrupts and terminates the nodes of an Amazon EKS cluster from AWS Lambda
/// functions. It uses Karpenter's own objects: NodePool, EC2NodeClass, NodeClaim. Use `plan` to see
/// what Journeyman would do with manifests or a running cluster, `simulate` to run it in virtual
/// time, and `local` to run it on this machine. Only `deploy`, `upgrade`, `rollback`, `install`,
/// `uninstall`, `adopt` and `release` change a cluster or an AWS account, and they show their
/// changes first.
#[derive(Debug, Parser)]
#[command(name = "journeyman", version = version::text(), disable_help_subcommand = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: JourneymanCommand,
}

/// What can be done, in the order of help.
#[derive(Debug, Subcommand)]
pub enum JourneymanCommand {
    /// Simulate manifests, or a built-in story, in virtual time.
    ///
    /// Runs the code of the deployed functions in a simulated AWS account and cluster. Without
    /// manifests, runs a built-in story: 100 pods, a spot interruption, a scale-down and expiry.
    /// Exit codes: 0 simulated; 1 with --strict, a pod cannot be scheduled; 2 bad input.
    Simulate(SimulateArgs),
    /// Run a cluster on this machine, with a simulated AWS account.
    ///
    /// Instances that the functions launch join as nodes, become ready and run pods, in real time
    /// and without an AWS account. Use kubectl with it. Ctrl-C stops the cluster and removes
    /// everything but its logs. The cluster gets what `crds` and `rbac` print, and each function
    /// acts as its own RBAC group. Exit codes: 0 stopped, or the running cluster did what you
    /// asked; 2 it cannot run, or cannot do it.
    Local(LocalArgs),
    /// Show which nodes would be launched or disrupted, and why.
    ///
    /// Shows which new nodes pending pods would get and at what price, which pods fit on existing
    /// nodes, and which pods cannot be scheduled and why. Creates nothing. Exit codes: 0 planned; 1
    /// planned without invalid objects, or with --strict: a pod cannot be scheduled, or an object
    /// of a running cluster (it has a uid) is invalid; 2 bad input.
    Plan(Box<PlanArgs>),
    /// Compare Journeyman with the cluster's current autoscaler.
    ///
    /// Reads dumps of a cluster (`--live` writes them first), runs the functions with the same pods
    /// in a simulated account, and compares price, nodes, evictions and pending time. Exit codes: 0
    /// compared; 2 bad input.
    Shadow(ShadowArgs),
    /// Show launch templates, user data and the fleet request for EC2.
    ///
    /// Reads a NodePool and its EC2NodeClass with their status (`kubectl get -o yaml`), and
    /// optionally a NodeClaim. Without a NodeClaim, uses one that the NodePool would create without
    /// pods. If the EC2NodeClass has no status, lists the assumptions. Exit codes: 0 rendered; 1
    /// nothing would be launched, with the reason; 2 bad input.
    Render(RenderArgs),
    /// List instance types with allocatable resources and prices.
    ///
    /// Without --node-class, assumes an AL2023 class with subnets in every zone. Without --from,
    /// uses the built-in types of us-west-2. Exit codes: 0 listed; 2 bad input.
    Catalog(CatalogArgs),
    /// Check manifests as the API server and Karpenter would.
    ///
    /// Prints each problem with file, line, object, field and rule, and then a summary. Exit codes:
    /// 0 valid; 1 problems found; 2 a file cannot be read.
    Validate(ValidateArgs),
    /// Explain a pod, node, NodeClaim, NodePool or reason.
    ///
    /// Prints the recorded decisions about an object: why a node was launched, why a pod got no
    /// node, and why a node was disrupted or not. Records are kept for 90 days. `reason` needs no
    /// records: it prints the documentation of a reason or an alarm. Exit codes: 0 explained; 1 no
    /// record found; 2 bad input, or the records cannot be read.
    Explain(ExplainArgs),
    /// List NodeClaims, nodes, pods, decisions, commands or costs.
    ///
    /// Reads the records of the functions. Nodes and pods without a record are not listed; `kubectl
    /// get` lists them. Exit codes: 0 listed; 2 bad input, or the records cannot be read.
    Get(GetArgs),
    /// Repeat a recorded decision, and show the differences.
    ///
    /// Needs recorded facts: set `Record=facts` for the functions, or run `simulate --record
    /// facts`. Changes nothing. Exit codes: 0 same plan; 1 different plan; 2 bad input, an unknown
    /// decision, or facts that are missing or unreadable.
    Replay(ReplayArgs),
    /// Deploy a release: the stack, and what it needs in the cluster.
    ///
    /// Does what `install` does, uploads the functions, creates the CloudFormation stack or changes
    /// its parameters after showing the changes, and does what `doctor` does. Needs no AWS SAM. Exit
    /// codes: 0 all checks of `doctor` passed; 1 a check failed, or you did not want all changes; 2
    /// it failed, with the resource that failed first.
    Deploy(Box<DeployArgs>),
    /// Upgrade a stack to another release, after checking the ledger.
    ///
    /// Checks that this release can read every item of the ledger, and that the installed release
    /// could read what the new one writes, so that you can go back. Then does what `deploy` does:
    /// CRDs and RBAC rules, the stack, the checks of `doctor`. Exit codes: 0 all checks passed; 1
    /// the new release was refused, a check failed, or you did not want all changes; 2 it failed,
    /// with the resource that failed first.
    Upgrade(Box<UpgradeArgs>),
    /// Deploy the former release of a stack again.
    ///
    /// The bucket keeps its template and its functions. Checks that the former release can read
    /// the ledger. Parameters keep their values. CRDs and RBAC rules stay: older functions ignore
    /// what they do not know. A second `rollback` undoes the first. Exit codes: 0 all checks of
    /// `doctor` passed; 1 there is no former release, it was refused, a check failed, or you did not
    /// want the changes; 2 it failed, with the resource that failed first.
    Rollback(RollbackArgs),
    /// Install CRDs and RBAC roles in a cluster, after showing them.
    ///
    /// Applies what `crds` and `rbac` print, by server-side apply as field manager `journeyman`.
    /// Exit codes: 0 the cluster is up to date; 1 there are changes, and they were not applied; 2
    /// it failed.
    Install(InstallArgs),
    /// Check an installation, and print a fix for each problem.
    ///
    /// Reads the cluster with your kubeconfig and the account with your AWS configuration. Changes
    /// nothing. Exit codes: 0 all checks passed; 1 a check failed or could not run; 2 the result
    /// cannot be printed, or this build cannot contact Kubernetes and AWS.
    Doctor(DoctorArgs),
    /// Remove Journeyman from a cluster and an account.
    ///
    /// Shows each step as the command of `kubectl` or `aws` that does the same. Exit codes: 0
    /// everything is removed; 1 nothing was done; 2 it failed or stopped, with a list of the
    /// remaining steps.
    Uninstall(UninstallArgs),
    /// Print the CustomResourceDefinitions to install.
    ///
    /// Exit codes: 0 printed; 2 cannot be written.
    Crds(CrdsArgs),
    /// Print the RBAC roles and bindings of the functions.
    ///
    /// Each function acts as the group `journeyman:<function>`; the stack's EKS access entries put
    /// the role of the function into it. Apply them with `journeyman rbac | kubectl apply -f -`.
    /// Exit codes: 0 printed; 2 cannot be written.
    Rbac(RbacArgs),
    /// Print `template.yaml`, the stack for AWS SAM.
    ///
    /// Exit codes: 0 printed; 2 cannot be written.
    Template(TemplateArgs),
    /// Convert objects of older Karpenter versions to v1.
    ///
    /// Exit codes: 0 converted; 2 an object is invalid, or lacks what v1 needs.
    Convert(ConvertArgs),
    /// Print drift hashes, and compare them with a cluster's.
    ///
    /// The hashes are those of Karpenter 1.15: version v3 for NodePools and v6 for EC2NodeClasses.
    /// Karpenter 1.14 writes v5 for EC2NodeClasses, which is a different number for the same class.
    /// Exit codes: 0 printed; 1 with --strict, a node would drift; 2 bad input.
    Hash(HashArgs),
    /// Take over a cluster from Karpenter, and keep its nodes.
    ///
    /// Checks that the functions are ready, scales Karpenter's Deployment to zero, and waits until
    /// Journeyman manages every NodeClaim. Use it also after the table was lost. Exit codes: 0
    /// Journeyman manages every NodeClaim; 1 nothing was done, or it is not finished; 2 it failed.
    Adopt(AdoptArgs),
    /// Give a cluster back to Karpenter, and keep its nodes.
    ///
    /// Checks that Karpenter would recognize every node, scales its Deployment up, and waits until
    /// Karpenter manages the cluster. Exit codes: 0 Karpenter manages the cluster; 1 nothing was
    /// done, or it is not finished; 2 it failed.
    Release(ReleaseArgs),
    /// Print completions for a shell.
    ///
    /// For bash: `source <(journeyman completions bash)` in ~/.bashrc. For zsh: `journeyman
    /// completions zsh > "${fpath[1]}/_journeyman"`. For fish: `journeyman completions fish >
    /// ~/.config/fish/completions/journeyman.fish`. Exit codes: 0 printed; 2 cannot be written.
    Completions(CompletionsArgs),
    /// Write the help as pages for `man`.
    ///
    /// Writes a page for `journeyman` and one for each command. Exit codes: 0 written; 2 cannot be
    /// written.
    Man(ManArgs),
    /// Print the version, and that of a cluster's stack.
    ///
    /// A live build also names the release of the stack of CLUSTER, or of the cluster of the
    /// kubeconfig context. Exit codes: 0 printed; 2 cannot be written.
    Version(VersionArgs),
}
