//! What users' own manifests found: one test for each line of that list, named for it. Each runs the
//! command as a person would.

#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests fail loudly")]

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

pub(crate) use common::Answer;

#[path = "../common/answer.rs"]
mod common;

mod admitting;
mod asking;
mod binding;
mod continuing;
mod costing;
mod devices;
mod disrupting;
mod drifting;
mod helping;
mod listing;
mod planning;
mod playing;
mod reading;
mod reporting;
mod rollouts;
mod shadowing;
mod spreading;
mod typed;
mod unschedulable;
mod validating;

pub(crate) const CLASS: &str = "\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {team: a}}]
  securityGroupSelectorTerms: [{tags: {team: a}}]
";

pub(crate) const POOL: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
";

/// A Deployment of `replicas` pods of one CPU.
pub(crate) fn deployment(name: &str, replicas: u32) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: \
         {replicas}\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: \
         {{labels: {{app: {name}}}}}\n    spec: {{containers: [{{name: m, resources: {{requests: \
         {{cpu: 800m}}}}}}]}}\n"
    )
}

impl Answer {
    /// Everything is said on standard output.
    #[track_caller]
    pub(crate) fn says(&self, texts: &[&str]) {
        for text in texts {
            let Self { out, complaints, .. } = self;
            assert!(out.contains(text), "no `{text}` in\n{out}\n{complaints}");
        }
    }

    /// Everything is said on standard error.
    #[track_caller]
    pub(crate) fn complains(&self, texts: &[&str]) {
        for text in texts {
            let Self { out, complaints, .. } = self;
            assert!(complaints.contains(text), "no `{text}` in\n{complaints}\n{out}");
        }
    }

    /// None of it is said anywhere.
    #[track_caller]
    pub(crate) fn is_silent_about(&self, texts: &[&str]) {
        for text in texts {
            let Self { out, complaints, .. } = self;
            assert!(!out.contains(text) && !complaints.contains(text), "`{text}` in\n{out}");
        }
    }
}

/// A folder of its own with `files`.
pub(crate) fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    common::folder("users", name, files)
}

/// Runs `journeyman` with `words`, which are parted by spaces, in `folder`.
pub(crate) fn run(folder: &Path, words: &str) -> Answer {
    answer(command(folder, words))
}

/// The same with `input` on standard input, through a pipe.
pub(crate) fn run_with(folder: &Path, words: &str, input: &str) -> Answer {
    let mut command = command(folder, words);
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    command.stdin(reader);
    let input = input.to_owned();
    // Who refuses what it reads does not read all of it.
    let writing = thread::spawn(move || drop(writer.write_all(input.as_bytes())));
    let answer = answer(command);
    writing.join().expect("the input was written");
    answer
}

fn command(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
    command.args(words.split(' ')).current_dir(folder);
    // Whatever cluster is current here, no test is about it.
    command.env("KUBECONFIG", "none");
    command
}

fn answer(mut command: Command) -> Answer {
    // The command keeps the other end of a pipe open until it is dropped.
    Answer::of(&mut command)
}
