//! Why a cluster on this machine does not start, or does not do what it is asked for.

use std::{io, path::PathBuf};

/// Why there is no cluster on this machine.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// Another one has the directory.
    #[error("{}: a cluster runs here already; end it, or name another --data", .0.display())]
    Taken(PathBuf),
    /// None has it.
    #[error("{}: no cluster runs here; start `journeyman local`, or name its --data", .0.display())]
    NotRunning(PathBuf),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The control plane does not start, or ended by itself.
    #[error("control plane {}: {said} (the rest is in {})", program.display(), log.display())]
    ControlPlane {
        /// The program.
        program: PathBuf,
        /// Why, as it said it.
        said: String,
        /// All that it said.
        log: PathBuf,
    },
    /// The account cannot answer at a port.
    #[error("--port {port}: {source}")]
    Port {
        /// Which.
        port: u16,
        /// Why not.
        source: io::Error,
    },
    /// The cluster is not one to play in.
    #[error("{}: {why}", kubeconfig.display())]
    Unfit {
        /// What names it.
        kubeconfig: PathBuf,
        /// Why not.
        why: String,
    },
    /// A connection that cannot be made.
    #[error("{}: {source}", kubeconfig.display())]
    Connection {
        /// What should lead there.
        kubeconfig: PathBuf,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The API server refuses what an installation needs.
    #[error("{what}: {source}")]
    Install {
        /// Of what.
        what: String,
        /// Why.
        source: Box<kube::Error>,
    },
    /// An installation that does not come to be.
    #[error("{0}: not within half a minute")]
    Late(&'static str),
    /// The functions are not through their first pass; the directory has what they said.
    #[error("the functions did not begin to work within four minutes: {} says why", .0.join("sweep.log").display())]
    NeverReady(PathBuf),
    /// The account does not do what it was asked for.
    #[error("{0}")]
    Refused(String),
    /// The system has no socket or no signal for it.
    #[error("this machine: {0}")]
    Machine(#[from] io::Error),
}
