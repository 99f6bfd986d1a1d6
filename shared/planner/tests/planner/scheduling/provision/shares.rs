//! How much of a pool one new node may hold: `journeyman/max-node-share`. Beside the test's own types nothing is sold;
//! t.large has 8 CPUs, less what it keeps.

use model::labels::MAX_NODE_SHARE;
use planner::above_share;

use super::*;

fn shared(pods: Vec<model::Pod>, share: &str) -> Facts {
    let mut facts = facts(pods);
    let annotations = &mut facts.node_pools[0].annotations;
    annotations.insert(MAX_NODE_SHARE.to_owned(), share.to_owned());
    facts
}

fn amd64(requests: &str) -> PodSpec {
    spec(&format!("{requests} select:arch=amd64"))
}

/// How many pods are on each new node.
fn pods_each(facts: &Facts) -> Vec<usize> {
    let plan = provision(facts);
    assert_eq!(plan_check::violations(facts, &plan), []);
    assert_eq!(plan.unplaced, []);
    let mut counts: Vec<usize> = plan.new_claims.iter().map(|p| p.claim.pods.len()).collect();
    counts.sort_unstable();
    counts
}

#[test]
fn no_new_node_holds_more_than_its_share() {
    let ten = || replicas("a", 10, &amd64("cpu=100m memory=10M"));
    assert_eq!(pods_each(&facts(ten())), [10]);
    assert_eq!(pods_each(&shared(ten(), "50%")), [5, 5]);
    assert_eq!(pods_each(&shared(ten(), "49%")), [2, 4, 4]);
    assert_eq!(pods_each(&shared(ten(), "20%")), [2; 5]);
    assert_eq!(pods_each(&shared(ten(), "100%")), [10]);
}

#[test]
fn the_same_holds_with_either_packing() {
    let mut facts = shared(replicas("a", 10, &amd64("cpu=100m memory=10M")), "30%");
    for packing in [Packing::Karpenter, Packing::Cheapest] {
        facts.policies.packing = packing;
        assert!(pods_each(&facts).iter().all(|count| *count <= 3), "{packing:?}");
    }
}

#[test]
fn each_pod_of_a_small_pool_has_a_node_and_that_is_said() {
    let facts = shared(replicas("a", 3, &amd64("cpu=100m memory=10M")), "20%");
    assert_eq!(pods_each(&facts), [1; 3]);
    let said: Vec<String> =
        above_share(&facts, &provision(&facts)).iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "NodePool general: 3 nodes with one pod each hold up to 33% of what its pods request, more than \
          journeyman/max-node-share 20%: a pod cannot be divided"
        ]
    );
    let enough = shared(replicas("a", 5, &amd64("cpu=100m memory=10M")), "20%");
    assert_eq!(above_share(&enough, &provision(&enough)), []);
}

#[test]
fn a_large_pod_has_a_node_of_its_own() {
    let mut pods = replicas("a", 8, &amd64("cpu=250m"));
    pods.extend(replicas("large", 1, &amd64("cpu=3")));
    // 40 per cent of 5 CPUs are 2: the large pod is alone, and the small ones go onto one node.
    assert_eq!(pods_each(&shared(pods, "40%")), [1, 8]);
}

#[test]
fn what_is_unreadable_is_not_set() {
    let facts = shared(replicas("a", 4, &amd64("cpu=100m memory=10M")), "a fifth");
    assert_eq!(pods_each(&facts), [4]);
}
