//! Which rule keeps a pod from a place.

use model::{facts::Facts, node_pool::NodePool};
use planner::{KnownTypes, provision, remedies};

use crate::planner::support::*;

/// What would give each pod of `facts` a place.
fn helps(facts: &Facts) -> Vec<String> {
    let plan = provision(facts);
    let remedies = remedies(facts, &plan, &KnownTypes::default());
    remedies.iter().map(|(pod, text)| format!("{}: {text}", pod.name)).collect()
}

#[track_caller]
fn check(facts: &Facts, expected: &[&str]) {
    assert_eq!(helps(facts), expected);
    assert_eq!(helps(facts), expected, "asked twice");
}

fn pooled(text: &str, change: impl FnOnce(&mut NodePool)) -> Facts {
    let mut facts = facts(pods(text));
    change(&mut facts.node_pools[0]);
    facts
}

#[test]
fn the_single_rule_of_the_pod_that_keeps_it_from_a_place_is_named() {
    let unknown = "it would have a place without its node selector team In [a]";
    check(&facts(pods("a cpu=1 select:team=a&arch=amd64")), &[&format!("a: {unknown}")]);
    // Equal pods are one group; of several rules any helps.
    let both = "it would have a place without its node selector kubernetes.io/arch In [arm64], or without its \
                node selector node.kubernetes.io/instance-type In [t.gpu]";
    check(
        &facts(pods("b x2 cpu=1 select:arch=arm64&type=t.gpu")),
        &[&format!("b-0: {both}"), &format!("b-1: {both}")],
    );
}

#[test]
fn a_rule_of_a_node_pool_is_named_where_none_of_the_pod_helps() {
    let tainted = pooled("a cpu=1", |pool| pool.template.taints = vec![taint("team=x:NoSchedule")]);
    check(
        &tainted,
        &["a: it would have a place without the taint team=x:NoSchedule of NodePool general"],
    );
    let full = pooled("a cpu=1", |pool| pool.limits = limits("cpu=0 memory=100Gi"));
    check(&full, &["a: it would have a place without the limit of cpu of NodePool general"]);
    let arm = pooled("a cpu=1", |pool| pool.template.requirements = requirements("arch=x86_64"));
    check(
        &arm,
        &[
            "a: it would have a place without the requirement kubernetes.io/arch In [x86_64] of NodePool \
           general",
        ],
    );
}

#[test]
fn the_smallest_set_is_named_where_no_single_rule_helps() {
    check(
        &facts(pods("a cpu=1 select:team=a&rack=b&arch=amd64")),
        &[
            "a: it would have a place without its node selector rack In [b] and its node selector team In [a] \
           together",
        ],
    );
    check(
        &facts(pods("a cpu=1 select:team=a&rack=b&row=c&arch=amd64")),
        &[
            "a: it would have a place without its node selector rack In [b] and its node selector row In [c] \
           and its node selector team In [a] together",
        ],
    );
}

#[test]
fn nothing_is_named_where_no_rule_is_at_fault() {
    check(&facts(pods("a cpu=1000 select:arch=amd64")), &[]);
    check(&facts(pods("a cpu=1")), &[]);
    // One of two finds a place, so that no rule of the other is what keeps it from one.
    check(&pooled("a x2 cpu=3500m select:arch=amd64", |pool| pool.limits = limits("nodes=1")), &[]);
}
