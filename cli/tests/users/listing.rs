//! What `get` lists of a ledger, in each format.

use std::path::PathBuf;

use crate::{CLASS, POOL, deployment, folder, run};

/// A folder with the ledger of a cluster of 12 nodes.
fn played(name: &str) -> PathBuf {
    let web = deployment("web", 24);
    let pool = POOL.replace(
        "      requirements:",
        "      requirements:\n      - {key: node.kubernetes.io/instance-type, operator: In, values: [c7i.large]}",
    );
    let files = [("class.yaml", CLASS), ("pool.yaml", &*pool), ("web.yaml", &*web)];
    let folder = folder(name, &files);
    let played = run(&folder, "simulate --manifests . --duration 5m --ledger ledger.json");
    assert_eq!(played.code, Some(0), "{}", played.complaints);
    folder
}

#[test]
fn nodes_and_pods_are_listed_in_each_format() {
    let folder = played("listing");
    let nodes = run(&folder, "get nodes --ledger ledger.json");
    nodes.says(&["NAME", "NODEPOOL", "c7i.large", ".compute.internal", "initialized"]);
    nodes.is_silent_about(&["INSTANCE"]);
    run(&folder, "get nodes -o wide --ledger ledger.json").says(&["NODECLAIM", "PRICE/H"]);
    let pods = run(&folder, "get pods --ledger ledger.json");
    pods.says(&["NAMESPACE", "default", "web-", "Placement", ".compute.internal"]);
    assert_eq!(pods.out.lines().count(), 25, "{}", pods.out);
    let few = run(&folder, "get pods --limit 2 -o name --ledger ledger.json");
    assert_eq!(few.out.lines().filter(|line| line.starts_with("pod/default/web-")).count(), 2);
    let listed = run(&folder, "get pods -o json --ledger ledger.json").json();
    let first = &listed["items"][0];
    for member in ["namespace", "name", "decision", "decisionId", "time", "node", "nodeClaim"] {
        assert!(first[member].is_string(), "{member}: {first}");
    }
    let listed = run(&folder, "get nodes -o json --ledger ledger.json").json();
    assert!(listed["items"][0]["nodeClaim"].is_string() && listed["items"][0]["name"].is_string());
    run(&folder, "get pods --nodepool other --ledger ledger.json").says(&["none found"]);
}

#[test]
fn names_are_listed_one_a_line_with_numbers_by_their_value() {
    let folder = played("listing-names");
    let names = |words: &str| -> Vec<String> {
        run(&folder, words).out.lines().map(str::to_owned).collect()
    };
    let nodes = names("get nodes -o name --ledger ledger.json");
    let number = |name: &String| name.split(['-', '.']).nth(4)?.parse::<u32>().ok();
    let numbers: Vec<_> = nodes.iter().map(number).collect();
    assert!(numbers.is_sorted() && numbers.iter().all(Option::is_some), "{nodes:?}");
    assert!(nodes.len() > 10 && nodes.iter().all(|name| name.starts_with("node/")), "{nodes:?}");
    for name in names("get decisions -o name --ledger ledger.json") {
        assert!(name.starts_with("decision/"), "{name}");
    }
    // What `get` lists can be explained.
    let asked = format!("explain {} -o name --ledger ledger.json", nodes[0].replace('/', " "));
    assert_eq!(names(&asked), nodes[..1]);
    let costs = run(&folder, "get costs -o name --ledger ledger.json");
    costs.complains(&["costs have no names"]);
    assert_eq!(costs.code, Some(2));
}

#[test]
fn what_is_unknown_is_said_with_names_that_are_like_it() {
    let folder = played("listing-near");
    let unknown = run(&folder, "explain nodepool genral --ledger ledger.json");
    unknown.complains(&["nothing is known of NodePool genral", ": did you mean general?"]);
    assert_eq!(unknown.code, Some(1));
    let unnamed = run(&folder, "explain pod --ledger ledger.json");
    unnamed.complains(&["explain pod: name the pod"]);
    assert_eq!(unnamed.code, Some(2));
}
