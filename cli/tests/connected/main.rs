//! What is done with a running cluster and an account: the command as a person runs it, against an API server and an
//! AWS that answer over HTTP on this machine. Only a build with the clients has it.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail loudly"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "the command finds its programs where the test does"
)]

use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use rustix::pty::{self, OpenptFlags};

#[path = "../common/answer.rs"]
mod common;

mod adopting;
mod api_server;
mod asking;
mod aws;
mod connecting;
mod deploying;
mod installing;
mod mistaking;
mod planning;
mod selling;
mod server;
mod uninstalling;

use api_server::ApiServer;
use aws::Aws;
pub(crate) use common::Answer;

/// A person's place: a home without anything, a kubeconfig, and whatever variables are set.
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    variables: Vec<(String, String)>,
}

impl Answer {
    /// It ended with `code`, and said all of it somewhere.
    #[track_caller]
    pub(crate) fn is(&self, code: i32, texts: &[&str]) -> &Self {
        let Self { out, complaints, .. } = self;
        assert_eq!(self.code, Some(code), "{out}\n{complaints}");
        for text in texts {
            let is_said = out.contains(text) || complaints.contains(text);
            assert!(is_said, "no `{text}` in\n{out}\n{complaints}");
        }
        self
    }
}

/// A kubeconfig whose current context is `here`, at `server`, with `user` and `cluster` as YAML in one line.
pub(crate) fn kubeconfig(server: &str, cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
         clusters:\n- {{name: one, cluster: {{server: \"{server}\"{cluster}}}}}\n\
         - {{name: none, cluster: {{server: \"http://127.0.0.1:1\"}}}}\n\
         users:\n- {{name: me, user: {user}}}\n\
         contexts:\n- {{name: here, context: {{cluster: one, user: me}}}}\n\
         - {{name: there, context: {{cluster: none, user: me}}}}\n"
    )
}

/// A user with a token.
pub(crate) const ME: &str = "{token: mine}";

impl Place {
    /// A folder of its own for the test called `name`, with `files`.
    pub(crate) fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = common::folder("connected", name, files);
        let path = std::env::var("PATH").expect("a path");
        let home = folder.display().to_string();
        let mut variables = vec![("PATH".to_owned(), path), ("HOME".to_owned(), home)];
        // No request for credentials goes to the instance metadata service.
        variables.push(("AWS_EC2_METADATA_DISABLED".to_owned(), "true".to_owned()));
        Self { folder, variables }
    }

    /// With this variable, too.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// In the cluster of `server`.
    pub(crate) fn of(self, server: &ApiServer) -> Self {
        fs::write(self.folder.join("config"), kubeconfig(&server.url, "", ME))
            .expect("a kubeconfig");
        let path = self.folder.join("config").display().to_string();
        self.with("KUBECONFIG", &path)
    }

    /// In the account of `aws`, with credentials.
    pub(crate) fn of_account(self, aws: &Aws) -> Self {
        self.with("AWS_ENDPOINT_URL", &aws.url)
            .with("AWS_REGION", "us-west-2")
            .with("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
            .with("AWS_SECRET_ACCESS_KEY", "secret")
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
        command.args(words.split(' ')).current_dir(&self.folder).env_clear();
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs `journeyman` with `words`, which are separated by spaces; there is no terminal.
    pub(crate) fn run(&self, words: &str) -> Answer {
        let mut command = self.command(words);
        Answer::of(command.stdin(Stdio::null()))
    }

    /// Runs `journeyman` with a terminal whose user answers `line`.
    pub(crate) fn run_answering(&self, words: &str, line: &str) -> Answer {
        let master = pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        pty::grantpt(&master).expect("a terminal of one's own");
        pty::unlockpt(&master).expect("a terminal that can be opened");
        let name = pty::ptsname(&master, Vec::new()).expect("its path");
        let name = name.into_string().expect("a name in letters");
        let line_of = fs::File::options().read(true).write(true).open(name).expect("its other end");
        let mut person = fs::File::from(master);
        writeln!(person, "{line}").expect("it is typed");
        let mut command = self.command(words);
        Answer::of(command.stdin(line_of))
    }
}
