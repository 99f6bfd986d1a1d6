//! 30,000 pods, read as the adapter of the cluster reads them, beside the types of `k8s_openapi`:
//! `cargo bench -p cluster --profile local --bench pod_list`.
//!
//! It stands here since `k8s_openapi` comes with `kube`: a plain `cargo test` compiles neither.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program for developers: it prints, and ends where something is wrong"
)]

#[path = "../../api/benches/support/cost.rs"]
mod cost;
#[path = "../../api/benches/support/lists.rs"]
mod lists;

use std::path::{Path, PathBuf};

use api::lists::PodReader;
use cost::Task;
use k8s_openapi::{List, api::core::v1::Pod};

const TASKS: &[Task] =
    &[Task { name: "trimmed", run: trimmed }, Task { name: "k8s_openapi", run: whole }];

fn trimmed(files: &[PathBuf]) -> usize {
    let (mut reader, mut pods, mut body) = (PodReader::default(), Vec::new(), Vec::new());
    for file in files {
        cost::read(file, &mut body);
        pods.extend(reader.page(&body).expect("a list").items.into_iter().map(|read| read.pod));
    }
    pods.len()
}

fn whole(files: &[PathBuf]) -> usize {
    let (mut pods, mut body) = (Vec::<Pod>::new(), Vec::new());
    for file in files {
        cost::read(file, &mut body);
        pods.extend(serde_json::from_slice::<List<Pod>>(&body).expect("a list").items);
    }
    pods.len()
}

fn main() {
    assert!(lists::node(1).len() > lists::pod(1).len(), "nodes have fifty images");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pod_list");
    let numbers = lists::pods_in_order(30_000);
    let files = |directory: &Path| {
        lists::write_pages(directory, "Pod", &numbers, lists::pod).expect("pages")
    };
    cost::print(TASKS, &files, &directory);
}
