//! How much of a pool one new node may hold. In the good plan the new claim holds 1,500 of 3,500 millicores and 2 of
//! 5 GiB that pods of `general` request: 42 and 40 per cent.

use model::{facts::Facts, labels};

use super::{check, pod};

fn share(facts: &mut Facts, share: &str) {
    let annotations = &mut facts.node_pools[0].annotations;
    annotations.insert(labels::MAX_NODE_SHARE.to_owned(), share.to_owned());
}

const BROKEN: &str =
    "claim general-7-0 would hold more than 42% of the cpu that pods of NodePool general request";

#[test]
fn several_pods_hold_no_more_than_their_share() {
    check(|facts, _| share(facts, "43%"), &[]);
    check(|facts, _| share(facts, "42%"), &[BROKEN]);
}

#[test]
fn one_pod_may_be_any_part() {
    check(
        |facts, plan| {
            share(facts, "1%");
            plan.new_claims[0].claim.pods.truncate(1);
            plan.new_claims[0].claim.requests = super::resources("cpu=1 memory=1Gi pods=1");
            facts.pods.retain(|pod| pod.key.name.as_str() != "web-1");
        },
        &[],
    );
}

#[test]
fn daemons_do_not_count() {
    check(
        |facts, _| {
            share(facts, "42%");
            facts.pods.push(pod("daemon cpu=100m on:general-6-0 owner:DaemonSet"));
        },
        &[BROKEN],
    );
}
