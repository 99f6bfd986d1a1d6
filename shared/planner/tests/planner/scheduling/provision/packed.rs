//! Pools that are packed so that they cost least.

use std::sync::Arc;

use model::{Plan, PodKey, facts::Facts, policies::Packing};
use planner::{fleet_price, provision};
use testkit::build::{facts, instance_type, node_pool, pods, price};

/// Pods of `words` in a pool of three types, whose largest is dear.
fn packed(words: &str) -> Facts {
    let types = ["a.small cpu=4", "a.large cpu=8", "a.huge cpu=64"].iter().zip(["3", "4", "100"]);
    let offered = |(capacity, dollars): (&&str, &str)| {
        instance_type(&format!("{capacity} memory=99Gi pods=99 on-demand:us-west-2a={dollars}"))
    };
    let mut facts = facts(types.map(offered).collect::<Vec<Arc<_>>>());
    facts.node_pools = vec![node_pool("general")];
    facts.pods = pods(words);
    facts.policies.packing = Packing::Cheapest;
    facts
}

/// The workloads of the pods of each new node, and what all nodes cost.
#[track_caller]
fn check(words: &str, expected: &[&str], dollars: &str) {
    let facts = packed(words);
    let plan = provision(&facts);
    assert_eq!(nodes(&plan), expected);
    assert_eq!((fleet_price(&facts, &plan), plan.unplaced), (price(dollars), Vec::new()));
}

fn nodes(plan: &Plan) -> Vec<String> {
    let mut nodes = Vec::new();
    for new in &plan.new_claims {
        let workload =
            |pod: &PodKey| pod.name.as_str().trim_end_matches(|c| "-0123".contains(c)).to_owned();
        let mut names: Vec<String> = new.claim.pods.iter().map(workload).collect();
        names.sort_unstable();
        nodes.push(names.join(" "));
    }
    nodes.sort();
    nodes
}

#[test]
fn pods_of_two_sizes_that_one_rule_parts_are_packed_with_others() {
    let rules = ["away:host:app=web", "spread:host:app=web"];
    for rule in rules {
        let web =
            format!("high cpu=4 memory=2Gi app=web {rule}; wide cpu=4 memory=1Gi app=web {rule}");
        check(&format!("{web}; rest x2 cpu=4 memory=3Gi"), &["high rest", "rest wide"], "8");
    }
}

#[test]
fn pods_without_a_rule_that_others_keep_away_from_share_nodes_with_each_other() {
    let guard = "guard cpu=4 memory=9Gi app=web away:host:app=web";
    let web = "web x3 cpu=4 memory=1Gi app=web";
    check(&format!("{guard}; {web}"), &["guard", "web", "web web"], "10");
}
