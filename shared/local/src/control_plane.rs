//! The control plane of the repository as a child process.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::{LocalError, place::Place};

/// From the end of its standard input to its own end, which takes three seconds.
const PATIENCE: Duration = Duration::from_secs(15);

/// What stands in for kubelets takes as long as small pods do. Machines boot before, in the account.
const KUBELETS: [&str; 4] =
    ["--kubelets", "--node-ready-after=3s", "--pod-ready-after=1s", "--pod-stop-after=2s"];

/// Claims share devices only where this gate is open, and Kubernetes 1.35 has it closed.
const SHARED_DEVICES: &str = "--apiserver-arg=--feature-gates=DRAConsumableCapacity=true";

/// A control plane that runs.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    program: PathBuf,
    child: Child,
    /// What it lives by. Not the child's: waiting for a child closes that.
    life: Option<ChildStdin>,
    /// Held open: its output is not read any more, but it may still write.
    said: Option<BufReader<ChildStdout>>,
    log: PathBuf,
}

impl ControlPlane {
    /// Starts `program` in `place`.
    pub(crate) fn start(program: &Path, place: &Place) -> Result<Self, LocalError> {
        let log = place.control_plane_log();
        let file = |source| LocalError::File { path: log.clone(), source };
        let complaints = File::create(&log).map_err(file)?;
        let mut command = Command::new(program);
        command
            .arg("--data")
            .arg(place.control_plane())
            .arg("--kubeconfig")
            .arg(place.kubeconfig())
            .args(KUBELETS)
            .arg(SHARED_DEVICES)
            // It ends when this process does, whatever ends it.
            .arg("--until-stdin-closes")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints)
            .kill_on_drop(true);
        // Ctrl-C in a terminal is for this process: the cluster outlives what looks at it.
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn();
        let mut child =
            child.map_err(|source| LocalError::File { path: program.to_owned(), source })?;
        let (life, said) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Ok(Self { program: program.to_owned(), child, life, said, log })
    }

    /// Waits until the API server answers.
    pub(crate) async fn is_ready(&mut self) -> Result<(), LocalError> {
        let mut line = String::new();
        if let Some(said) = &mut self.said {
            said.read_line(&mut line).await?;
        }
        if line.starts_with("READY ") { Ok(()) } else { Err(self.complaint()) }
    }

    /// Waits until it ends by itself, which it should not.
    pub(crate) async fn fails(&mut self) -> LocalError {
        match self.child.wait().await {
            Ok(_) => self.complaint(),
            Err(error) => error.into(),
        }
    }

    fn complaint(&self) -> LocalError {
        let said = fs::read_to_string(&self.log).unwrap_or_default();
        let (program, log) = (self.program.clone(), self.log.clone());
        LocalError::ControlPlane { program, said: cause(&said).to_owned(), log }
    }

    /// Ends it and waits for its end.
    pub(crate) async fn stop(mut self) {
        drop(self.life.take());
        if timeout(PATIENCE, self.child.wait()).await.is_err() {
            tracing::warn!("the control plane does not end by itself: it is killed");
            // It may have ended just now.
            drop(self.child.kill().await);
        }
    }
}

/// The line of a log that says why a program of Go ended: the one before a trace of calls, else the last one.
fn cause(log: &str) -> &str {
    let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_before_a_trace =
        |line: &&str| line.starts_with("panic: ") || line.starts_with("fatal error: ");
    let panic = lines.clone().find(is_before_a_trace);
    panic.or_else(|| lines.next_back()).unwrap_or("it ended without a word")
}

#[cfg(test)]
mod tests {
    use super::cause;

    #[test]
    fn why_a_control_plane_ended_is_not_the_end_of_a_trace() {
        let full = "panic: write /data/wal: no space left on device";
        let trace = format!("{{\"level\":\"warn\"}}\n{full}\n\nmain.main()\n\tmain.go:74 +0x69b\n");
        assert_eq!(cause(&trace), full);
        assert_eq!(cause("a warning\nlisten tcp: address in use\n"), "listen tcp: address in use");
        assert_eq!(cause(" \n"), "it ended without a word");
    }
}
