//! When drivers have published the devices of a node.

use devices::has_published;
use model::NodeName;

use super::support::facts;

fn published(world: &str) -> bool {
    let facts = facts(&format!("class any\n{world}"));
    has_published(&facts.slices, &NodeName::new("node-a").unwrap(), "gpu")
}

#[test]
fn a_driver_has_published_once_a_pool_of_the_node_is_complete() {
    assert!(!published(""));
    assert!(published("slice s0 gpu/p node=node-a owner=node-a: d0"));
    assert!(published("slice s0 gpu/p all owner=node-a: d0"));
    assert!(!published("slice s0 gpu/p node=node-a owner=node-a of=2: d0"));
    assert!(published("slice s0 gpu/p node=node-a of=2: d0\nslice s1 gpu/p node=node-a of=2: d1"));
}

#[test]
fn slices_of_other_nodes_and_drivers_complete_nothing() {
    assert!(!published("slice s0 gpu/p node=node-b owner=node-b: d0"));
    assert!(!published("slice s0 net/p node=node-a owner=node-a: d0"));
    assert!(!published("slice s0 gpu/p all: d0"));
}

#[test]
fn a_newer_generation_is_completed_by_no_older_slice() {
    assert!(!published(
        "slice s0 gpu/p node=node-a gen=2 of=2: d0\nslice s1 gpu/p node=node-a gen=1 of=2: d1"
    ));
    assert!(published(
        "slice s0 gpu/p node=node-a gen=1 of=2: d0\nslice s1 gpu/p node=node-a gen=2: d1"
    ));
}
