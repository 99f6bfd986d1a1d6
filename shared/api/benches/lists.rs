//! Lists of a large cluster: `cargo bench -p api --profile local --bench lists`.
//!
//! 30,000 pods and 5,000 nodes in pages, read as the adapter of the cluster reads them, and all pods
//! as one file, as `journeyman plan` reads what `kubectl get pods -o json` has saved. Aim: 30,000
//! pods in 0.35 seconds and 32 MB. Beside `k8s_openapi`: `cargo bench -p cluster --bench pod_list`.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program for developers: it prints, and ends where something is wrong"
)]

#[path = "support/cost.rs"]
mod cost;
#[path = "support/lists.rs"]
mod lists;

use std::{
    fs,
    path::{Path, PathBuf},
};

use api::lists::{self as api_lists, PodReader};
use cost::Task;

const TASKS: &[Task] = &[
    Task { name: "pods in pages", run: pods },
    Task { name: "nodes in pages", run: nodes },
    Task { name: "pods in one file", run: file },
];

fn pods(files: &[PathBuf]) -> usize {
    let (mut reader, mut pods, mut body) = (PodReader::default(), Vec::new(), Vec::new());
    for file in of_kind(files, "Pod-") {
        cost::read(file, &mut body);
        let page = reader.page(&body).expect("a list");
        assert_eq!(page.malformed, []);
        pods.extend(page.items.into_iter().map(|read| read.pod));
    }
    pods.len()
}

fn nodes(files: &[PathBuf]) -> usize {
    let (mut nodes, mut body) = (Vec::new(), Vec::new());
    for file in of_kind(files, "Node-") {
        cost::read(file, &mut body);
        nodes.extend(api_lists::node_list(&body).expect("a list").items);
    }
    nodes.len()
}

fn file(files: &[PathBuf]) -> usize {
    let whole = of_kind(files, "whole")[0];
    let text = fs::read_to_string(whole).expect("a text");
    let manifest = api::files::read(&text, "pods.json");
    assert_eq!(manifest.problems, []);
    manifest.objects.len()
}

fn of_kind<'a>(files: &'a [PathBuf], start: &str) -> Vec<&'a PathBuf> {
    let is_of = |file: &&PathBuf| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
    };
    files.iter().filter(is_of).collect()
}

fn main() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lists");
    let files = |directory: &Path| {
        let numbers = lists::pods_in_order(30_000);
        let pods = lists::write_pages(directory, "Pod", &numbers, lists::pod).expect("pages");
        let places: Vec<usize> = (0..5_000).collect();
        let nodes = lists::write_pages(directory, "Node", &places, lists::node).expect("pages");
        let items: Vec<String> = numbers
            .iter()
            .map(|number| {
                let pod = lists::pod(*number);
                format!(r#"{{"apiVersion":"v1","kind":"Pod",{}"#, pod.trim_start_matches('{'))
            })
            .collect();
        let whole = directory.join("whole.json");
        let text = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{}]}}"#, items.join(","));
        fs::write(&whole, text).expect("a file");
        [pods, nodes, vec![whole]].concat()
    };
    cost::print(TASKS, &files, &directory);
}
