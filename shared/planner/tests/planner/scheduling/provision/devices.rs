//! Rows D of the specification: ResourceClaims of pods, and the devices of nodes.

use std::sync::Arc;

use model::{labels, policies::Packing};

use super::*;

/// A class of GPUs, which instances of `t.gpu` have two of, and of network cards, which no instance has.
const KINDS: &str = "class gpu where device.driver == 'gpu.example.com'
    class nic where device.driver == 'nic.example.com'
    template general t.gpu gpu.example.com/gpus: gpu-[0-1]";

fn world(waiting: &str, text: &str) -> Facts {
    let mut facts = facts(pods(waiting));
    facts.devices = Some(Arc::new(devices(&format!("{KINDS}\n{text}"))));
    facts
}

/// The same as for other pods, and the judge agrees.
#[track_caller]
fn check(facts: &Facts, expected: &[&str]) {
    super::check(facts, expected);
    assert_eq!(plan_check::violations(facts, &provision(facts)), Vec::new());
}

/// Adds an unmanaged node of four CPUs in `zone`.
fn with_node(mut facts: Facts, name: &str, zone: &str) -> Facts {
    let label = "label:node.kubernetes.io/instance-type=other.large";
    let words = format!("{name} cpu=4 memory=8Gi pods=10 zone={zone} {label}");
    add_node(&mut facts, node(&words));
    facts
}

/// The zones of each new claim.
fn zones(facts: &Facts) -> Vec<String> {
    let plan = provision(facts);
    let zones = plan.new_claims.iter().map(|new| {
        let requirement = new.claim.requirements.get(labels::ZONE);
        let values = requirement.into_iter().flat_map(model::Requirement::values);
        values.map(ToString::to_string).collect::<Vec<_>>().join(" ")
    });
    zones.collect()
}

#[test]
fn pods_with_claims_wait_while_claims_are_ignored() {
    let mut facts = world("gpu cpu=1 claim:a; web cpu=1", "claim a: g 1 gpu");
    check(&facts, &["general [t.gpu]: gpu web"]);
    facts.devices = None;
    let why = planner::CLAIMS_IGNORED;
    assert!(why.contains("not supported while IGNORE_DRA_REQUESTS is true"), "{why}");
    check(
        &facts,
        &["general [t.small t.gpu t.medium t.arm t.large]: web", &format!("gpu not placed: {why}")],
    );
}

#[test]
fn daemons_with_claims_need_room_unless_claims_are_ignored() {
    let mut facts = world("web cpu=1500m", "");
    facts.daemon_sets.push(daemon_set("driver cpu=1 claim:a"));
    check(&facts, &["general [t.gpu t.medium t.arm t.large]: web"]);
    facts.devices = None;
    check(&facts, &["general [t.small t.gpu t.medium t.arm t.large]: web"]);

    let mut facts = with_node(world("web cpu=3500m", ""), "own", "zone-1");
    facts.daemon_sets.push(daemon_set("driver cpu=1 claim:a"));
    check(&facts, &["general [t.arm t.large]: web"]);
    facts.devices = None;
    check(&facts, &["own: web"]);
}

#[test]
fn a_pod_waits_for_a_claim_that_does_not_exist() {
    check(
        &world("web cpu=1 claim:a", ""),
        &["web not placed: ResourceClaim default/a does not exist"],
    );
    // No claim was made for the name yet, or none is needed.
    check(
        &world("web cpu=1 made:a=", ""),
        &["general [t.small t.gpu t.medium t.arm t.large]: web"],
    );
}

#[test]
fn a_new_node_is_of_a_type_with_the_devices() {
    let facts = world("web cpu=1 claim:a", "claim a: g 2 gpu");
    check(&facts, &["general [t.gpu]: web"]);
    let claim = provision(&facts).new_claims.remove(0).claim;
    assert_eq!(claim.annotations[labels::REQUESTED_DRA_DRIVERS], "gpu.example.com");

    let plan = provision(&world("web cpu=1", "claim a: g 1 gpu"));
    assert!(!plan.new_claims[0].claim.annotations.contains_key(labels::REQUESTED_DRA_DRIVERS));
}

#[test]
fn what_is_missing_is_named() {
    check(
        &world("web cpu=1 claim:a", "claim a: g 3 gpu"),
        &[
            "web not placed: general: ResourceClaim default/a: request g asks for 3 devices of DeviceClass gpu, and t.gpu, \
             which comes closest, has 2",
        ],
    );
    // What has no room says so first.
    check(
        &world("web cpu=40 claim:a", "claim a: g 3 gpu"),
        &["web not placed: general: needs 40 cpu, largest instance type t.arm has 15.9"],
    );
}

#[test]
fn a_device_is_for_one_claim() {
    let text = "claim a: g 1 gpu
        claim b: g 1 gpu
        claim c: g 1 gpu";
    check(
        &world("a cpu=200m claim:a; b cpu=200m claim:b; c cpu=200m claim:c", text),
        &["general [t.gpu]: a b", "general [t.gpu]: c"],
    );
    let text = "slice one nic.example.com/one all: nic-0
        claim a: n 1 nic
        claim b: n 1 nic";
    check(
        &world("a cpu=1 claim:a; b cpu=1 claim:b", text),
        &[
            "general [t.small t.gpu t.medium t.arm t.large]: a",
            "b not placed: general: ResourceClaim default/b: request n asks for 1 device of DeviceClass nic, and t.arm, which \
             comes closest, has none: 1 allocated",
        ],
    );
}

#[test]
fn equal_pods_with_claims_of_their_own_are_not_alike() {
    let mut facts =
        world("a cpu=1; b cpu=1; c cpu=1", "claim web-a: g 3 gpu\nclaim web-b: g 1 gpu");
    // Of one workload: the claims were made from a template.
    let spec = Arc::clone(&pod("any cpu=1 made:g=").spec);
    for (pod, made) in facts.pods.iter_mut().zip(["web-a", "web-b", "web-c"]) {
        pod.spec = Arc::clone(&spec);
        pod.made_claims = [("g".to_owned(), Some(id(made)))].into();
    }
    facts.pods[2].made_claims.clear();
    check(
        &facts,
        &[
            "general [t.gpu]: b c",
            "a not placed: general: its ResourceClaim g: request g asks for 3 devices of DeviceClass gpu, and t.gpu, which comes \
             closest, has 2",
        ],
    );
}

#[test]
fn devices_of_a_zone_narrow_a_new_node() {
    let text = "slice two nic.example.com/two zone=zone-2: nic-[0-1]
        claim a: n 1 nic
        claim b: n 1 nic";
    let facts = world("a cpu=1 claim:a; b cpu=1 claim:b", text);
    check(&facts, &["general [t.gpu t.medium t.arm t.large]: a b"]);
    assert_eq!(zones(&facts), ["zone-2"]);
    // A pod that must be elsewhere gets none.
    let why = "ResourceClaim default/a: request n asks for 1 device of DeviceClass nic, and no device of this class is \
               known of any instance type that fits the pod: `device.driver == 'nic.example.com'` does not select 2 \
               devices of t.gpu; devices of nodes that do not exist yet are known only with the feature gates \
               DRANVIDIAGPU (NVIDIA GPUs) and DRAEFA (EFA interfaces)";
    check(
        &world("a cpu=1 claim:a select:zone=zone-3", text),
        &[&format!("a not placed: general: {why}")],
    );
}

#[test]
fn devices_are_found_before_rules_about_other_pods_are_kept() {
    let text = "slice one nic.example.com/one zone=zone-1: nic-0
        slice two nic.example.com/two zone=zone-2: nic-0
        claim a: n 1 nic";
    let spread = "app=web spread:zone:app=web";
    let waiting = format!("a cpu=2 {spread} select:zone=zone-1; b cpu=1 {spread} claim:a");
    let plan = provision(&world(&waiting, text));
    // As in Karpenter: the first device is in zone-1, and the second is not looked at.
    assert_eq!(plan.unplaced.len(), 1, "{}", shown(&plan));
    assert_eq!(plan.unplaced[0].pod.name.as_str(), "b");

    let waiting = format!("a cpu=2 {spread} select:zone=zone-2; b cpu=1 {spread} claim:a");
    assert_eq!(zones(&world(&waiting, text)), ["zone-2", "zone-1"]);
}

#[test]
fn devices_of_types_that_a_node_cannot_become_any_more_are_free() {
    let text = "slice one nic.example.com/one all: nic-0
        claim a: r 1 gpu or 1 nic
        claim c: n 1 nic";
    let waiting = "a cpu=1500m claim:a; c cpu=1 claim:c select:type=t.large";
    // With a GPU on t.gpu, with the card on every other type.
    check(
        &world(waiting, text),
        &[
            "general [t.small t.gpu t.medium t.arm t.large]: a",
            "c not placed: general: ResourceClaim default/c: request n asks for 1 device of DeviceClass nic, and t.large, which \
             comes closest, has none: 1 allocated",
        ],
    );
    check(
        &world(&format!("{waiting}; b cpu=1200m example.com/gpu=1"), text),
        &["general [t.gpu]: a b", "general [t.large]: c"],
    );
}

#[test]
fn a_claim_that_has_devices_leads_its_pod_to_them() {
    let text = "claim a has nic.example.com/two/nic-0 on zone=zone-2: n 1 nic";
    let facts = world("web cpu=1 claim:a", text);
    assert_eq!(zones(&facts), ["zone-2"]);
    let facts = with_node(with_node(facts, "one", "zone-1"), "two", "zone-2");
    check(&facts, &["two: web"]);
}

#[test]
fn pods_that_share_a_claim_go_to_the_node_with_its_devices() {
    let text = "claim a: g 1 gpu";
    check(
        &world("a cpu=1 claim:a; b cpu=1 claim:a; c cpu=1 claim:a", text),
        &["general [t.gpu]: a b c"],
    );
    check(
        &world("a cpu=3 claim:a; b cpu=2 claim:a", text),
        &[
            "general [t.gpu]: a",
            "b not placed: general: ResourceClaim default/a has devices of another node",
        ],
    );
}

#[test]
fn an_initialized_node_has_what_its_driver_publishes() {
    let text = "slice own gpu.example.com/own node=own owner=own: gpu-0
        claim a: g 1 gpu
        claim b: g 1 gpu";
    let waiting = "a cpu=1 claim:a; b cpu=1 claim:b";
    let facts = with_node(world(waiting, &format!("initialized own\n{text}")), "own", "zone-1");
    check(&facts, &["general [t.gpu]: b", "own: a"]);
    let facts = with_node(world(waiting, text), "own", "zone-1");
    check(&facts, &["general [t.gpu]: a b"]);
}

#[test]
fn a_node_that_is_short_of_devices_is_so_only_for_claims_that_ask_for_them() {
    let text = "initialized own
        slice own gpu.example.com/own node=own owner=own: gpu-[0-1]
        claim a: g 1 gpu
        claim b: g 2 gpu
        claim c: g 1 gpu
        claim d: g 1 gpu";
    // The last one shares what the first has there.
    let waiting = "a cpu=1 claim:a; b cpu=950m claim:b; c cpu=900m claim:c; d cpu=800m claim:d; \
        e cpu=700m claim:a";
    let facts = with_node(world(waiting, text), "own", "zone-1");
    check(&facts, &["general [t.gpu]: b", "general [t.gpu]: d", "own: a c e"]);
}

#[test]
fn a_node_is_not_short_of_devices_that_are_given_back() {
    let text = "slice one nic.example.com/one all: nic-0
        claim a: r 1 gpu or 1 nic
        claim c: n 1 nic
        claim d: n 1 nic";
    // Until `b` is with `a`, the card is for `a` on every type but t.gpu.
    let waiting = "a cpu=1500m claim:a select:type!=other.large; c cpu=1300m claim:c select:type=other.large; \
        b cpu=1200m example.com/gpu=1; d cpu=1 claim:d select:type=other.large";
    let facts = with_node(world(waiting, text), "own", "zone-1");
    let why = "c not placed: general: there is no instance type other.large";
    check(&facts, &["general [t.gpu]: a b", "own: d", why]);
}

#[test]
fn a_node_to_come_has_what_instances_of_its_type_have() {
    let text = "claim a: g 1 gpu
        claim b: g 1 gpu
        claim c: g 1 gpu";
    let mut facts = world("a cpu=1 claim:a", text);
    let plan = provision(&facts);
    commit(&mut facts, &plan);
    let name = plan.new_claims[0].claim.name.clone();
    facts.pods.extend(pods("b cpu=1 claim:b; c cpu=1 claim:c"));
    let expected = ["general [t.gpu]: c".to_owned(), format!("{name}: a b")];
    let expected = expected.each_ref().map(String::as_str);
    check(&facts, &expected);

    let gpu = instance_type("t.gpu", "cpu=4 memory=8Gi pods=5 example.com/gpu=2", &[]);
    let claim = launched(&plan.new_claims[0].claim, &gpu);
    facts.ledger.claims.insert(name.clone(), claim);
    check(&facts, &expected);
}

#[test]
fn a_claim_that_may_become_several_types_takes_pods_whose_devices_all_of_them_have() {
    let text = "template general t.large gpu.example.com/gpus: gpu-0
        claim a: g 1 gpu
        claim b: g 1 gpu";
    let mut facts = world("a cpu=1 claim:a", text);
    let plan = provision(&facts);
    assert_eq!(shown(&plan), "general [t.gpu t.large]: a");
    commit(&mut facts, &plan);
    facts.pods.extend(pods("b cpu=1 claim:b"));
    let name = &plan.new_claims[0].claim.name;
    check(&facts, &["general [t.gpu t.large]: b", &format!("{name}: a")]);
}

#[test]
fn packing_weighs_no_devices_and_keeps_their_rules() {
    let text = "claim a: g 1 gpu
        claim b: g 2 gpu";
    let mut facts = world("a cpu=1 claim:a; b cpu=1 claim:b; web x9 cpu=900m", text);
    facts.policies.packing = Packing::Cheapest;
    let plan = provision(&facts);
    assert_eq!(plan.unplaced, [], "{}", shown(&plan));
    let with = |name: &str| {
        plan.new_claims.iter().position(|new| new.claim.pods.contains(&pod_key(name))).unwrap()
    };
    assert_ne!(with("a"), with("b"));
    for name in ["a", "b"] {
        assert_eq!(*plan.new_claims[with(name)].claim.instance_types, [id("t.gpu")]);
    }
}
