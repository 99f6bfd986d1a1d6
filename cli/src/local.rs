//! `journeyman local`: a cluster that is alive on this machine, without an account.
//!
//! It stands on a Kubernetes client, which only a build with the feature `live` compiles. Without it
//! the command says so.

use std::{io::Write, path::PathBuf};

use clap::Subcommand;
use report::{command::RunCommand, error::CommandError, screen::Screen};

use crate::options::SetArgs;

#[cfg(feature = "live")]
mod live;

/// Options of `local`.
#[derive(Clone, Debug, clap::Args)]
pub struct LocalArgs {
    /// What to do with the cluster that runs. Without it one is started.
    #[command(subcommand)]
    pub command: Option<LocalCommand>,
    /// Where it keeps its kubeconfig and its logs. Otherwise ~/.cache/journeyman/local.
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,
    /// The control plane's program, as `tests/live/cluster build` prints it. Otherwise the newest one
    /// that was built into --cache.
    #[arg(long, value_name = "FILE")]
    pub control_plane: Option<PathBuf>,
    /// Where programs are built into. Otherwise ~/.cache/journeyman.
    #[arg(long, value_name = "DIR", env = "JOURNEYMAN_CACHE", hide_env_values = true)]
    pub cache: Option<PathBuf>,
    /// Another cluster, by its administrator's kubeconfig: one without an account, where something stands
    /// in for the kubelets of machines that are not there.
    #[arg(long, value_name = "FILE", conflicts_with = "control_plane")]
    pub kubeconfig: Option<PathBuf>,
    /// The name of the EKS cluster that it stands for.
    #[arg(long, value_name = "NAME", default_value = "demo")]
    pub cluster_name: model::ClusterName,
    /// From a launch to the node of the machine. In AWS that is half a minute and more.
    #[arg(long, value_name = "DURATION", default_value = "15s")]
    pub boot: String,
    /// Between two rounds of the functions' schedules, which come each minute where they are deployed.
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub schedule: String,
    /// The port of 127.0.0.1 where EC2, IAM, SSM, Pricing and EKS of the account answer; 0 is a free one.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub port: u16,
    /// How the functions work.
    #[command(flatten)]
    pub set: SetArgs,
}

/// What can be done with a cluster that runs.
#[derive(Clone, Debug, Subcommand)]
pub enum LocalCommand {
    /// EC2 takes back the spot instance of a node: it ends in two minutes.
    Reclaim {
        /// The node, or its instance.
        #[arg(value_name = "NODE")]
        node: String,
    },
    /// A zone is away: nothing is launched there, and what runs there falls silent for good.
    Outage {
        /// The zone, such as `us-west-2a`.
        #[arg(value_name = "ZONE")]
        zone: String,
        /// The zone has capacity again.
        #[arg(long)]
        end: bool,
    },
}

/// Runs a cluster until it is asked to end, or asks something of the one that runs.
#[cfg(feature = "live")]
pub fn run(args: &LocalArgs, screen: Screen, out: &mut impl Write) -> Result<(), CommandError> {
    live::run(args, screen, out)
}

/// Says which build runs one.
#[cfg(not(feature = "live"))]
pub fn run(_: &LocalArgs, _: Screen, _: &mut impl Write) -> Result<(), CommandError> {
    Ok(installer::live::needed("local")?)
}

impl RunCommand for LocalArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, screen, &mut { out })?;
        Ok(true)
    }
}
