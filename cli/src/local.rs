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
    /// What to do with the running cluster. Without it, start a cluster.
    #[command(subcommand)]
    pub command: Option<LocalCommand>,
    /// Directory for the kubeconfig and the logs. Default: ~/.cache/journeyman/local.
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,
    /// Program of the control plane (`tests/live/cluster build` prints its path). Default: the
    /// newest program in --cache.
    #[arg(long, value_name = "FILE")]
    pub control_plane: Option<PathBuf>,
    /// Directory of built programs. Default: ~/.cache/journeyman.
    #[arg(long, value_name = "DIR", env = "JOURNEYMAN_CACHE", hide_env_values = true)]
    pub cache: Option<PathBuf>,
    /// Use another test cluster, by its administrator's kubeconfig. It must simulate the kubelets
    /// of its nodes.
    #[arg(long, value_name = "FILE", conflicts_with = "control_plane")]
    pub kubeconfig: Option<PathBuf>,
    /// Name of the simulated EKS cluster.
    #[arg(long, value_name = "NAME", default_value = "demo")]
    pub cluster_name: model::ClusterName,
    /// Time from the launch of an instance until its node joins. In AWS: 30 seconds or more.
    #[arg(long, value_name = "DURATION", default_value = "15s")]
    pub boot: String,
    /// Time between two scheduled runs of the functions. In AWS: one minute.
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub schedule: String,
    /// Port of 127.0.0.1 for the simulated AWS APIs (EC2, IAM, SSM, Pricing, EKS); 0 chooses a free
    /// port.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub port: u16,
    /// Install no webhooks that call `wake`. Functions poll, as in a stack without WakeKey.
    #[arg(long)]
    pub no_wake: bool,
    /// How the functions work.
    #[command(flatten)]
    pub set: SetArgs,
}

/// What can be done with a cluster that runs.
#[derive(Clone, Debug, Subcommand)]
pub enum LocalCommand {
    /// Interrupt the spot instance of a node: EC2 terminates it in two minutes.
    Reclaim {
        /// Node name or instance ID.
        #[arg(value_name = "NODE")]
        node: String,
    },
    /// Take a zone down: launches fail there, and its nodes stop reporting for good.
    Outage {
        /// Zone, such as `us-west-2a`.
        #[arg(value_name = "ZONE")]
        zone: String,
        /// End the outage: the zone has capacity again.
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
