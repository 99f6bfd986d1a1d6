//! Which rule keeps a pod from a place.

use std::{collections::BTreeSet, sync::Arc};

use jiff::SignedDuration;
use model::{
    Bytes, InstanceType, Operator, PodKey, Requirement,
    facts::{ClassOffer, Facts},
    node_pool::NodePool,
};
use planner::{KnownTypes, Memory, STEPS_MAX, provision, remedies};

use crate::planner::support::*;

/// What would give each pod of `facts` a place.
fn helps(facts: &Facts) -> Vec<String> {
    let plan = provision(facts);
    let remedies = remedies(facts, &plan, &KnownTypes::default(), STEPS_MAX);
    assert_eq!(remedies.unsought, 0, "steps suffice");
    remedies.of_pods.iter().map(|(pod, text)| format!("{}: {text}", pod.name)).collect()
}

#[track_caller]
fn check(facts: &Facts, expected: &[&str]) {
    assert_eq!(helps(facts), expected);
    assert_eq!(helps(facts), expected, "asked twice");
}

/// Why the pod called `name` has no place in the only NodePool.
#[track_caller]
fn check_reason(facts: &Facts, name: &str, expected: &str) {
    let plan = provision(facts);
    let unplaced = plan.unplaced.iter().find(|unplaced| unplaced.pod.name.as_str() == name);
    assert_eq!(unplaced.expect("it has no place").reasons[0].text, expected);
}

fn pooled(text: &str, change: impl FnOnce(&mut NodePool)) -> Facts {
    let mut facts = facts(pods(text));
    change(&mut facts.node_pools[0]);
    facts
}

#[test]
fn the_single_rule_of_the_pod_that_keeps_it_from_a_place_is_named() {
    let unknown = "it could be scheduled without its node selector team In [a]";
    check(&facts(pods("a cpu=1 select:team=a&arch=amd64")), &[&format!("a: {unknown}")]);
    // Equal pods are one group; of several rules any helps.
    let both = "it could be scheduled without its node selector kubernetes.io/arch In [arm64], or without its \
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
        &["a: it could be scheduled without the taint team=x:NoSchedule of NodePool general"],
    );
    let full = pooled("a cpu=1", |pool| pool.limits = limits("cpu=0 memory=100Gi"));
    check(&full, &["a: it could be scheduled without the limit of cpu of NodePool general"]);
    let arm = pooled("a cpu=1", |pool| pool.template.requirements = requirements("arch=x86_64"));
    check(
        &arm,
        &[
            "a: it could be scheduled without the requirement kubernetes.io/arch In [x86_64] of NodePool \
           general",
        ],
    );
}

#[test]
fn the_smallest_set_is_named_where_no_single_rule_helps() {
    check(
        &facts(pods("a cpu=1 select:team=a&rack=b&arch=amd64")),
        &[
            "a: it could be scheduled without its node selector rack In [b] and its node selector team In [a] \
           together",
        ],
    );
    check(
        &facts(pods("a cpu=1 select:team=a&rack=b&row=c&arch=amd64")),
        &[
            "a: it could be scheduled without its node selector rack In [b] and its node selector row In [c] \
           and its node selector team In [a] together",
        ],
    );
}

#[test]
fn rules_about_other_pods_are_told_apart_by_their_selectors() {
    let text = "a cpu=1 on:n1 label:app=a; b cpu=1 on:n2 label:app=b; w cpu=1 near:zone:app=a near:zone:app=b";
    let mut apart = facts(pods(text));
    add_node(&mut apart, node("n1 cpu=1 pods=1 zone=zone-1"));
    add_node(&mut apart, node("n2 cpu=1 pods=1 zone=zone-2"));
    let zone = "over topology.kubernetes.io/zone";
    check(
        &apart,
        &[&format!(
            "w: it could be scheduled without its pod affinity to app=a {zone}, or without its pod affinity to app=b {zone}"
        )],
    );
}

#[test]
fn the_pod_that_a_rule_is_about_is_named_where_it_does_not_count() {
    let nowhere = "no topology.kubernetes.io/zone that it may use has a pod that its affinity asks to be with (app=a)";
    let mut other = facts(pods("a cpu=1 on:n1 label:app=a; w cpu=1 near:zone:app=a"));
    add_node(&mut other, node("n1 cpu=1 pods=1 zone=zone-1"));
    other.pods[0].key.namespace = "two".parse().unwrap();
    let misses = "pod two/a is in another namespace, which the affinity does not name (namespaces, namespaceSelector)";
    check_reason(&other, "w", &format!("{nowhere}: {misses}"));
    let mut full = facts(pods("a cpu=1 on:n1 label:app=a; w cpu=1 near:host:app=a"));
    add_node(&mut full, node("n1 cpu=1 pods=1 zone=zone-1"));
    let new = "a new node has no pod that its affinity asks to be with (app=a)";
    check_reason(
        &full,
        "w",
        &format!("{new}: pod default/a is on n1, which does not take the pod"),
    );
}

#[test]
fn the_pod_whose_anti_affinity_keeps_another_away_is_named() {
    let on = |zone: &str| format!("db-{zone} cpu=1 on:{zone} label:app=db away:zone:app=w; ");
    let there: String = ZONES.into_iter().map(on).collect();
    let mut facts = facts(pods(&format!("{there}w cpu=1 label:app=w")));
    for zone in ZONES {
        add_node(&mut facts, node(&format!("{zone} cpu=1 pods=1 zone={zone}")));
    }
    let away = "every topology.kubernetes.io/zone that it may use has, or may get, a pod whose anti-affinity keeps it away";
    check_reason(&facts, "w", &format!("{away}, such as pod default/db-zone-1"));
}

#[test]
fn min_values_that_a_spread_contradicts_are_named() {
    let facts = pooled("w x2 cpu=1 label:app=w spread:zone:app=w", |pool| {
        let zones =
            Requirement::new("topology.kubernetes.io/zone", Operator::In, ["zone-1", "zone-2"]);
        pool.template.requirements.add(zones.unwrap().with_min_values(Some(2)));
    });
    let key = "topology.kubernetes.io/zone";
    let text = format!(
        "it could be scheduled without its spread over {key}, or without minValues 2 on {key} of NodePool general"
    );
    check(&facts, &[&format!("w-0: {text}"), &format!("w-1: {text}")]);
}

#[test]
fn requirements_of_one_pod_that_exclude_each_other_are_both_named() {
    let text = "its node selector kubernetes.io/arch In [amd64] and its node affinity kubernetes.io/arch In [arm64] \
                exclude each other";
    check_reason(&facts(pods("w cpu=1 select:arch=amd64 require:arch=arm64")), "w", text);
}

#[test]
fn nothing_is_named_where_no_rule_is_at_fault() {
    check(&facts(pods("a cpu=1000 select:arch=amd64")), &[]);
    check(&facts(pods("a cpu=1")), &[]);
}

#[test]
fn every_kind_of_pods_is_searched_and_those_are_counted_for_which_steps_are_too_few() {
    let kinds: Vec<String> =
        (1..=40).map(|cpu| format!("p{cpu} cpu={cpu}m select:team=a")).collect();
    let facts = facts(pods(&kinds.join("; ")));
    assert_eq!(helps(&facts).len(), 40);
    let searched = |steps| {
        let remedies = remedies(&facts, &provision(&facts), &KnownTypes::default(), steps);
        (remedies.of_pods.len(), remedies.unsought)
    };
    // A preparation takes 500, and of each kind four pods are tried.
    assert_eq!(searched(540), (10, 30));
    assert_eq!(searched(499), (0, 40));
}

#[test]
fn a_pair_of_pod_and_node_pool_is_named_where_no_single_rule_helps() {
    let reserved = pooled("a cpu=1 select:paid=reserved&arch=amd64", |pool| {
        pool.template.taints = vec![taint("team=x:NoSchedule")];
    });
    check(
        &reserved,
        &[
            "a: it could be scheduled without the taint team=x:NoSchedule of NodePool general and its node \
           selector karpenter.sh/capacity-type In [reserved] together",
        ],
    );
    let large = pooled("a cpu=1000", |pool| pool.limits = limits("cpu=1"));
    check(
        &large,
        &[
            "a: it could be scheduled without the limit of cpu of NodePool general and with a smaller request of cpu \
           together",
        ],
    );
}

#[test]
fn a_set_of_rules_of_node_pool_and_class_is_named() {
    // Other kinds of pods need the same.
    let both = pooled("a cpu=1; b cpu=2", |pool| {
        pool.template.taints = vec![taint("team=x:NoSchedule")];
        pool.template.requirements = requirements("arch=x86_64");
    });
    let set = "it could be scheduled without the taint team=x:NoSchedule of NodePool general and the requirement \
               kubernetes.io/arch In [x86_64] of NodePool general together";
    check(&both, &[&format!("a: {set}"), &format!("b: {set}")]);
    let mut windows = pooled(WINDOWS, |pool| pool.template.requirements = requirements("os=linux"));
    check(
        &windows,
        &[&format!(
            "a: it could be scheduled without the requirement kubernetes.io/os In [linux] of NodePool general and \
             with {WINDOWS_FAMILY} together"
        )],
    );
    // The set of the second NodePool is named if none of the first helps.
    let mut team = node_pool("another");
    team.template.node_class = "unknown".parse().expect("a name");
    windows.node_pools.insert(0, team);
    assert_eq!(helps(&windows).len(), 1);
}

/// A pod for Windows, as EKS stores it.
const WINDOWS: &str = "a cpu=1 select:os=windows vpc.amazonaws.com/PrivateIPv4Address=1";
const WINDOWS_FAMILY: &str = "an AMI family for windows in EC2NodeClass default (amiFamily, or an alias in amiSelectorTerms)";

#[test]
fn the_ami_family_is_named_where_it_is_for_another_system() {
    let facts = facts(pods(WINDOWS));
    check(&facts, &[&format!("a: it could be scheduled with {WINDOWS_FAMILY}")]);
    let why = "no instance type has kubernetes.io/os In [windows]: the AMI family of EC2NodeClass default is for \
               linux (spec.amiFamily, or an alias in spec.amiSelectorTerms)";
    assert_eq!(provision(&facts).unplaced[0].reasons[0].text, why);
}

#[test]
fn other_pods_of_the_plan_that_are_in_the_way_are_named() {
    let rule = "without its pod anti-affinity to app=a over topology.kubernetes.io/zone";
    let first = |pod: &str| format!("without the pod default/{pod} that this plan schedules first");
    check(
        &facts(pods("a x2 cpu=1 label:app=a away:zone:app=a")),
        &[&format!("a-1: it could be scheduled {rule}, or {}", first("a-0"))],
    );
    // So it is where the other pods run.
    let on = |zone: &str| format!("{zone} cpu=1 label:app=a away:zone:app=a on:{zone}; ");
    let there: String = ZONES.into_iter().map(on).collect();
    let mut zonal = facts(pods(&format!("{there}a cpu=1 label:app=a away:zone:app=a")));
    for zone in ZONES {
        add_node(&mut zonal, node(&format!("{zone} cpu=1 pods=1 zone={zone}")));
    }
    check(&zonal, &[&format!("a: it could be scheduled {rule}")]);
    // The rule is of the other pod.
    check(
        &facts(pods("a cpu=1 label:app=a; b cpu=2 away:zone:app=a owner:")),
        &[&format!("a: it could be scheduled {}", first("b"))],
    );
    let full = |number: u32| {
        let text = "a x3 cpu=15";
        pooled(text, |pool| pool.limits = limits(&format!("nodes={number}")))
    };
    let limit = "without the limit of nodes of NodePool general";
    check(
        &full(2),
        &[&format!(
            "a-2: it could be scheduled {limit}, or without the 2 pods such as default/a-0 that this plan schedules \
             first"
        )],
    );
    let ports = pooled("a x2 cpu=1 port:80", |pool| pool.limits = limits("nodes=1"));
    check(
        &ports,
        &[&format!(
            "a-1: it could be scheduled without its host port 80, or {limit}, or {}",
            first("a-0")
        )],
    );
}

fn offered(text: &str, change: impl Fn(&mut InstanceType)) -> Facts {
    let mut facts = facts(pods(text));
    for offer in facts.classes.as_mut().expect("classes").values_mut() {
        let ClassOffer::Ready(types) = offer else { continue };
        for instance_type in types {
            change(Arc::make_mut(instance_type));
        }
    }
    facts
}

#[test]
fn a_rule_of_the_class_is_named_beside_that_of_the_pod() {
    let closed = |instance_type: &mut InstanceType| {
        for offering in &mut instance_type.offerings {
            offering.is_available &= offering.zone.as_str() != "zone-3";
        }
    };
    check(
        &offered("a cpu=1 select:zone=zone-3", closed),
        &[
            "a: it could be scheduled without its node selector topology.kubernetes.io/zone In [zone-3], or with \
           a subnet in zone-3 for EC2NodeClass default (subnetSelectorTerms)",
        ],
    );
}

#[test]
fn an_architecture_without_an_image_is_named() {
    let amd = |text: &str| {
        let mut facts = facts(pods(text));
        for offer in facts.classes.as_mut().expect("classes").values_mut() {
            let ClassOffer::Ready(types) = offer else { continue };
            types.retain(|instance_type| instance_type.name.as_str() != "t.arm");
        }
        facts
    };
    let image = "with an image for arm64 in EC2NodeClass default (amiSelectorTerms)";
    check(
        &amd("a cpu=1 select:arch=arm64"),
        &[&format!(
            "a: it could be scheduled without its node selector kubernetes.io/arch In [arm64], or {image}"
        )],
    );
    // Which types there would be is not known.
    check(
        &amd("a cpu=1 select:arch=arm64&type=t.gpu"),
        &["a: it could be scheduled without its node selector kubernetes.io/arch In [arm64]"],
    );
    // The NodePool takes none of them either.
    let mut only = amd("a cpu=1 select:arch=arm64");
    only.node_pools[0].template.requirements = requirements("arch=amd64");
    check(
        &only,
        &["a: it could be scheduled without its node selector kubernetes.io/arch In [arm64]"],
    );
}

#[test]
fn what_the_class_takes_from_a_node_is_named() {
    let small = |instance_type: &mut InstanceType| {
        instance_type.capacity.ephemeral_storage = Bytes(1 << 30);
        instance_type.overhead.ephemeral_storage = Bytes(1 << 28);
    };
    check(
        &offered("a cpu=1 ephemeral-storage=2Gi", small),
        &[
            "a: it could be scheduled with larger volumes in EC2NodeClass default (blockDeviceMappings, \
           instanceStorePolicy)",
        ],
    );
    check(
        &offered("a cpu=1", |instance_type| instance_type.capacity.pods = 0),
        &["a: it could be scheduled with a higher maxPods in EC2NodeClass default (kubelet)"],
    );
    let reserving = |instance_type: &mut InstanceType| {
        instance_type.overhead.memory = instance_type.capacity.memory;
    };
    check(
        &offered("a cpu=1 memory=1Gi", reserving),
        &[
            "a: it could be scheduled without what EC2NodeClass default reserves (kubelet: kubeReserved, \
           systemReserved, eviction)",
        ],
    );
}

const WITHOUT_TEAM: &str = "it could be scheduled without its node selector team In [a]";
const WITHOUT_TAINT: &str =
    "it could be scheduled without the taint team=x:NoSchedule of NodePool general";

/// What `memory` says of the pods of `facts`, of which those called `due` may be searched.
fn remembered(memory: &Memory, facts: &Facts, due: &[&str]) -> Vec<String> {
    let plan = provision(facts);
    let keys = facts.pods.iter().map(|pod| pod.key.clone());
    let due: BTreeSet<PodKey> = keys.filter(|key| due.contains(&key.name.as_str())).collect();
    let remedies = memory.remedies(facts, &plan, &due);
    remedies.iter().map(|(pod, text)| format!("{}: {text}", pod.name)).collect()
}

#[test]
fn what_is_remembered_is_searched_only_where_it_is_due() {
    let facts = facts(pods("a x2 cpu=1 select:team=a; b cpu=1 select:team=b"));
    let memory = Memory::default();
    assert_eq!(remembered(&memory, &facts, &[]), Vec::<String>::new());
    let of_a = [format!("a-0: {WITHOUT_TEAM}"), format!("a-1: {WITHOUT_TEAM}")];
    assert_eq!(remembered(&memory, &facts, &["a-1"]), of_a);
    assert_eq!(remembered(&memory, &facts, &[]), of_a, "it is known");
    assert_eq!(remembered(&Memory::default(), &facts, &[]), Vec::<String>::new());
    let both = [of_a.to_vec(), vec![format!("b: {}", WITHOUT_TEAM.replace("[a]", "[b]"))]].concat();
    assert_eq!(remembered(&memory, &facts, &["a-0", "b"]), both);
}

#[test]
fn what_changed_is_searched_again_after_a_minute_and_before_then_not_said() {
    let memory = Memory::default();
    let before = facts(pods("a cpu=1 select:team=a"));
    assert_eq!(remembered(&memory, &before, &["a"]), [format!("a: {WITHOUT_TEAM}")]);
    let later = |seconds: i64| {
        let mut facts = pooled("a cpu=1 select:team=a", |pool| {
            pool.template.labels.insert("team".to_owned(), "a".to_owned());
            pool.template.taints = vec![taint("team=x:NoSchedule")];
        });
        facts.now += SignedDuration::from_secs(seconds);
        facts
    };
    assert_eq!(remembered(&memory, &later(59), &["a"]), Vec::<String>::new());
    assert_eq!(remembered(&memory, &later(60), &["a"]), [format!("a: {WITHOUT_TAINT}")]);
    // The same as before is another change.
    let again = Facts { now: later(90).now, ..before };
    assert_eq!(remembered(&memory, &again, &["a"]), Vec::<String>::new());
}

#[test]
fn searches_of_a_minute_share_their_steps() {
    // As many preparations as there are steps for nodes and pods: one for each.
    let bound = format!("bound x{} cpu=1 on:n1", STEPS_MAX / 2);
    let memory = Memory::default();
    let facts = |waiting: &str| facts(pods(&format!("{bound}; {waiting}")));
    let some = facts("a cpu=1 select:team=a; b cpu=1 select:team=b");
    assert_eq!(remembered(&memory, &some, &["a"]), [format!("a: {WITHOUT_TEAM}")]);
    assert_eq!(remembered(&memory, &some, &["b"]), [format!("a: {WITHOUT_TEAM}")]);
    let mut later = facts("b cpu=1 select:team=b");
    later.now += SignedDuration::from_mins(1);
    let of_b = WITHOUT_TEAM.replace("[a]", "[b]");
    assert_eq!(remembered(&memory, &later, &["b"]), [format!("b: {of_b}")]);
}
