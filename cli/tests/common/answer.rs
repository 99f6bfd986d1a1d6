//! The command as a person runs it: in a folder, with an answer.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

/// What a command answered.
pub(crate) struct Answer {
    pub(crate) out: String,
    pub(crate) complaints: String,
    pub(crate) code: Option<i32>,
}

impl Answer {
    /// That of `command`, which runs to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().expect("the command runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Self {
            out: text(output.stdout),
            complaints: text(output.stderr),
            code: output.status.code(),
        }
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("{}", self.complaints))
    }
}

/// A folder called `name` with `files`, which no other test of this process has.
pub(crate) fn folder(tests: &str, name: &str, files: &[(&str, &str)]) -> PathBuf {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed).to_string();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(tests).join(number).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("an old folder goes");
    }
    fs::create_dir_all(&folder).expect("a folder for the test");
    for (file, text) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder for the file");
        fs::write(path, text).expect("a file of the test");
    }
    folder
}
