//! The directory of a cluster: who has it, and what others find there.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use crate::LocalError;

/// A directory that this process alone plays in.
#[derive(Debug)]
pub(crate) struct Place {
    directory: PathBuf,
    /// Held as long as the cluster runs; the system lets go of it whatever ends the process.
    _lock: File,
}

impl Place {
    /// Takes `directory`, and makes it if need be.
    pub(crate) fn take(directory: &Path) -> Result<Self, LocalError> {
        let file = |path: &Path| {
            let path = path.to_owned();
            move |source| LocalError::File { path, source }
        };
        fs::create_dir_all(directory).map_err(file(directory))?;
        let directory = directory.canonicalize().map_err(file(directory))?;
        let path = directory.join("lock");
        let lock = File::create(&path).map_err(file(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LocalError::Taken(directory)),
            Err(TryLockError::Error(source)) => return Err(LocalError::File { path, source }),
        }
        let place = Self { directory, _lock: lock };
        place.clear();
        let logs = place.logs();
        for name in crate::lines::names() {
            // Those of the cluster before: nothing is there, or it goes.
            drop(fs::remove_file(logs.join(format!("{name}.log"))));
        }
        fs::create_dir_all(&logs).map_err(file(&logs))?;
        Ok(place)
    }

    /// Where the control plane keeps what it needs.
    pub(crate) fn control_plane(&self) -> PathBuf {
        self.directory.join("control-plane")
    }

    /// What the control plane says.
    pub(crate) fn control_plane_log(&self) -> PathBuf {
        self.logs().join("control-plane.log")
    }

    /// The administrator's kubeconfig, for `kubectl`.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    /// The logs, one file for each function.
    pub(crate) fn logs(&self) -> PathBuf {
        self.directory.join("logs")
    }

    /// What the ledger holds, for commands that read it.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.directory.join("ledger")
    }

    /// Tells others where the account answers.
    pub(crate) fn publish(&self, endpoint: &str) -> Result<(), LocalError> {
        let path = endpoint_file(&self.directory);
        fs::write(&path, endpoint).map_err(|source| LocalError::File { path, source })
    }

    /// Leaves nothing behind but the logs.
    pub(crate) fn clear(&self) {
        // Nothing is there, or it goes.
        drop(fs::remove_dir_all(self.control_plane()));
        drop(fs::remove_file(self.kubeconfig()));
        drop(fs::remove_file(endpoint_file(&self.directory)));
        drop(fs::remove_file(self.ledger()));
    }
}

/// Where the account answers, as others read it.
pub(crate) fn endpoint_file(directory: &Path) -> PathBuf {
    directory.join("aws-endpoint")
}
