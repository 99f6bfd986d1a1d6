//! Which conformance suite holds each port to its contract, and on which arms it runs.
//!
//! One list: every port of the crate `ports` is in it, and so is every arm, with the file that runs the
//! suite there or the reason why it cannot be run.

use std::{collections::BTreeSet, fs};

use ports::PORTS;
use tests::repository;

/// What a suite runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Arm {
    /// The simulated account and cluster, in every `cargo test`.
    Simulator,
    /// The adapters of `cluster` on a real Kubernetes API server: `tests/live/run cluster`.
    ApiServer,
    /// The adapters of `aws` on AWS's own DynamoDB engine: `tests/live/run ledger`.
    DynamoDb,
    /// The adapters of `aws` in an emulated account: `tests/live/run account`.
    EmulatedAccount,
    /// The adapters of `aws` on the AWS server on loopback, in every `cargo test --workspace`.
    Loopback,
}

const ARMS: [Arm; 5] =
    [Arm::Simulator, Arm::ApiServer, Arm::DynamoDb, Arm::EmulatedAccount, Arm::Loopback];

/// Whether a suite runs on an arm.
#[derive(Clone, Copy, Debug)]
enum Run {
    /// This file runs it.
    In(&'static str),
    /// It cannot be run there, for this reason.
    No(&'static str),
}

use Run::{In, No};

const SIMULATOR: Run = In("tests/fast/conformance.rs");
const API_SERVER: Run = In("shared/cluster/tests/api_server/conformance.rs");
const LIVE: Run = In("shared/aws/tests/live.rs");
const LOOPBACK: Run = In("shared/aws/tests/server/conformance.rs");

const OF_AWS: Run = No("the port is AWS's");
const OF_KUBERNETES: Run = No("the port is the Kubernetes API's");
const NO_TABLE: Run = No("the port is not DynamoDB's");
const NO_TABLE_SERVED: Run = No("the loopback server serves no DynamoDB: AWS's own engine does");
const NO_EC2: Run =
    No("the emulator knows no client token, no dry run and no spot prices, and would launch again");

/// The suite of a port: a function of `testkit`, and its arms in the order of [`ARMS`].
struct Suite {
    port: &'static str,
    name: &'static str,
    arms: [Run; 5],
}

const fn suite(port: &'static str, name: &'static str, arms: [Run; 5]) -> Suite {
    Suite { port, name, arms }
}

const SUITES: &[Suite] = &[
    suite("Catalog", "catalog", [SIMULATOR, OF_AWS, LIVE, LIVE, NO_TABLE_SERVED]),
    suite("Market", "market", [SIMULATOR, OF_AWS, NO_TABLE, NO_EC2, LOOPBACK]),
    suite("CatalogStore", "catalog_store", [SIMULATOR, OF_AWS, LIVE, LIVE, NO_TABLE_SERVED]),
    suite("Discovery", "discovery", [SIMULATOR, OF_AWS, NO_TABLE, NO_EC2, LOOPBACK]),
    suite("Discovery", "reservations", [SIMULATOR, OF_AWS, NO_TABLE, NO_EC2, LOOPBACK]),
    suite("Templates", "fleet", [SIMULATOR, OF_AWS, NO_TABLE, NO_EC2, LOOPBACK]),
    suite("Fleet", "fleet", [SIMULATOR, OF_AWS, NO_TABLE, NO_EC2, LOOPBACK]),
    suite("Fleet", "reservations", [SIMULATOR, OF_AWS, NO_TABLE, NO_EC2, LOOPBACK]),
    suite("Forensics", "forensics", [SIMULATOR, OF_AWS, NO_TABLE, NO_EC2, LOOPBACK]),
    suite("Profiles", "profiles", [SIMULATOR, OF_AWS, NO_TABLE, LIVE, LOOPBACK]),
    suite(
        "Mailbox",
        "mailbox",
        [SIMULATOR, OF_AWS, NO_TABLE, LIVE, No("the loopback server serves no SQS")],
    ),
    suite("Ledger", "ledger", [SIMULATOR, OF_AWS, LIVE, LIVE, NO_TABLE_SERVED]),
    suite("Decisions", "decisions", [SIMULATOR, OF_AWS, LIVE, LIVE, NO_TABLE_SERVED]),
    suite("Cluster", "cluster", of_kubernetes(API_SERVER)),
    suite("Cluster", "without_definitions", of_kubernetes(DEFINITIONS)),
    suite("Nodes", "nodes", of_kubernetes(API_SERVER)),
    suite("NodeClasses", "node_classes", of_kubernetes(API_SERVER)),
    suite("NodePools", "node_pools", of_kubernetes(API_SERVER)),
    suite("AlphaStatuses", "node_overlays", of_kubernetes(API_SERVER)),
    suite("AlphaStatuses", "capacity_buffers", of_kubernetes(API_SERVER)),
    suite("NodeClaims", "node_claims", of_kubernetes(NODE_CLAIMS)),
    suite("Events", "events", of_kubernetes(API_SERVER)),
    suite("Leases", "leases", of_kubernetes(API_SERVER)),
    suite("Webhooks", "webhooks", of_kubernetes(API_SERVER)),
];

const DEFINITIONS: Run = In("shared/cluster/tests/api_server/definitions.rs");
const NODE_CLAIMS: Run = In("shared/cluster/tests/api_server/node_claims.rs");

const fn of_kubernetes(api_server: Run) -> [Run; 5] {
    [SIMULATOR, api_server, OF_KUBERNETES, OF_KUBERNETES, OF_KUBERNETES]
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_port_has_a_suite() {
    let ports: BTreeSet<&str> = PORTS.concat().iter().map(|port| port.name).collect();
    let suites: BTreeSet<&str> = SUITES.iter().map(|suite| suite.port).collect();
    assert_eq!(suites, ports, "list the suites of every port, and say where each runs");
}

#[test]
fn a_suite_runs_where_the_list_says() {
    for Suite { port, name, arms } in SUITES {
        let call = format!("testkit::{name}(");
        for (arm, run) in ARMS.iter().zip(arms) {
            match run {
                In(path) => {
                    let text = read(path);
                    assert!(text.contains(&call), "{port}, {arm:?}: {path} does not call {call}…)");
                }
                No(reason) => {
                    assert!(reason.len() > 15, "{port}, {arm:?}: `{reason}` is no reason");
                }
            }
        }
        let real = arms.iter().skip(1).filter(|run| matches!(run, In(_))).count();
        assert!(matches!(arms[0], In(_)), "{port}: the simulator is held to nothing");
        assert!(real > 0, "{port}: {name} never meets an adapter");
    }
}

#[test]
fn every_suite_is_listed() {
    let root = read("shared/testkit/src/conformance.rs");
    let exported = root.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let names = exported.flat_map(|statement| {
        let (_, names) = statement.split_once("::").unwrap_or(("", statement));
        names.split(|c: char| !(c.is_alphanumeric() || c == '_'))
    });
    // Functions begin with a small letter: they are the suites.
    let suites = names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
    let mut count = 0;
    for name in suites {
        count += 1;
        assert!(SUITES.iter().any(|suite| suite.name == name), "testkit::{name} is not listed");
    }
    assert!(count > 10, "only {count} suites were found");
}
