//! ResourceClaims of pods.

use std::sync::Arc;

use model::{Pod, facts::Facts};
use testkit::build::{devices, with};

use super::check;

/// Has the pod `number` name the claim `a` of a cluster with these devices.
fn claiming(facts: &mut Facts, number: usize, text: &str) {
    let pod: &mut Pod = &mut facts.pods[number];
    *pod = with(pod.clone(), "claim:a");
    facts.devices = Some(Arc::new(devices(&format!("class gpu\n{text}"))));
}

#[test]
fn pods_with_claims_wait_while_claims_are_ignored() {
    check(
        |facts, _| {
            claiming(facts, 0, "claim a:");
            facts.devices = None;
        },
        &[
            "pod default/web-0 is placed although its ResourceClaims cannot be used: ResourceClaims are ignored",
        ],
    );
    check(|facts, _| claiming(facts, 0, "claim a:"), &[]);
}

#[test]
fn claims_are_there() {
    check(
        |facts, _| claiming(facts, 0, "claim b:"),
        &[
            "pod default/web-0 is placed although its ResourceClaims cannot be used: ResourceClaim default/a does not exist",
        ],
    );
}

#[test]
fn devices_that_a_claim_has_are_in_reach() {
    let in_zone = |zone: &str, reserved: &str| {
        format!("claim a has gpu.example.com/one/gpu-0 on zone={zone} {reserved}: g 1 gpu")
    };
    // The pods that wait: on a new claim, on a node, on a claim on its way.
    for (number, name) in [(0, "web-0"), (2, "on-node"), (3, "on-claim")] {
        check(|facts, _| claiming(facts, number, &in_zone("us-west-2a", "")), &[]);
        let missing = format!("pod default/{name} does not go with the labels of");
        check(|facts, _| claiming(facts, number, &in_zone("us-west-2c", "")), &[&missing]);
        // The pod that has reserved it is on a node that stays.
        let bound = in_zone("us-west-2c", "for uid-bound");
        check(|facts, _| claiming(facts, number, &bound), &[&missing]);
    }
}

#[test]
fn a_node_among_those_that_reach_the_devices_of_a_claim() {
    let on = |node: &str| format!("claim a has gpu.example.com/one/gpu-0 on name={node}: g 1 gpu");
    check(|facts, _| claiming(facts, 2, &on("general-6-0")), &[]);
    let far = "node general-6-0 does not have all devices that its pods claim: default/a has devices of other nodes";
    check(|facts, _| claiming(facts, 2, &on("general-6-1")), &[far]);
    let far = "claim general-7-0 does not have all devices that its pods claim: default/a has devices of other nodes";
    check(|facts, _| claiming(facts, 0, &on("general-6-0")), &[far]);
}

/// Both types that the new claim may become have the devices that `small` and `large` say.
fn templates(small: &str, large: &str) -> String {
    format!(
        "template general m7g.large gpu.example.com/gpus {small}
        template general m7g.xlarge gpu.example.com/gpus {large}"
    )
}

/// The new claim, as what it cannot become, with the claims of its pods.
fn missing(place: &str, claims: &str) -> String {
    format!("{place} does not have all devices that its pods claim: {claims}")
}

/// The pods of the new claim name the claims `a` and `b`, and this is wrong with that; or nothing is.
#[track_caller]
fn check_both(text: &str, wanted: Option<&str>) {
    let wanted = wanted.map(|place| missing(place, "default/a, default/b"));
    let change = |facts: &mut Facts, _: &mut model::Plan| {
        claiming(facts, 0, text);
        facts.pods[1] = with(facts.pods[1].clone(), "claim:b");
    };
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    check(change, &wanted);
}

const SMALL: Option<&str> = Some("claim general-7-0 as m7g.large");

#[test]
fn a_new_node_has_the_devices_that_are_claimed_whatever_it_becomes() {
    let claim =
        |count: u32| format!("{}\nclaim a: g {count} gpu", templates(": gpu-0", ": gpu-[0-1]"));
    check(|facts, _| claiming(facts, 0, &claim(1)), &[]);
    let most = missing("claim general-7-0 as m7g.large", "default/a");
    check(|facts, _| claiming(facts, 0, &claim(2)), &[&most]);
    // A device that the new node may reach over the network.
    let reached = format!("{}\nslice one gpu.example.com/one all: gpu-0", claim(2));
    check(|facts, _| claiming(facts, 0, &reached), &[]);
}

#[test]
fn a_device_is_selected_by_class_and_request() {
    let world = |class: &str, request: &str| {
        let there = templates(": gpu-0 model=a; gpu-1 model=b", ": gpu-0 model=a; gpu-1 model=b");
        let attribute = "device.attributes['gpu.example.com'].model";
        format!(
            "class own where {attribute} == '{class}'\n{there}
            claim a: g 1 own where {attribute} == '{request}'"
        )
    };
    check(|facts, _| claiming(facts, 0, &world("a", "a")), &[]);
    let most = missing("claim general-7-0 as m7g.large", "default/a");
    for (class, request) in [("a", "b"), ("b", "a"), ("c", "c")] {
        check(|facts, _| claiming(facts, 0, &world(class, request)), &[&most]);
    }
    let both = |count: u32, name: &str| {
        format!("{}\nclaim a: g {count} {name}", templates(": gpu-[0-1]", ": gpu-[0-1]"))
    };
    check(|facts, _| claiming(facts, 0, &both(2, "gpu")), &[]);
    let why = format!("{most} (default/a: DeviceClass none does not exist)");
    check(|facts, _| claiming(facts, 0, &both(1, "none")), &[&why]);
    let why = format!("{most} (default/a: selector `device.`: ");
    check(|facts, _| claiming(facts, 0, &both(1, "gpu where device.")), &[&why]);
}

#[test]
fn a_device_is_taken_once() {
    let two = |there: &str| {
        format!("{}\nclaim a: g 1 gpu\nclaim b: g 1 gpu", templates(there, ": gpu-[0-9]"))
    };
    check_both(&two(": gpu-[0-1]"), None);
    check_both(&two(": gpu-0"), SMALL);
    // That of the node is another claim's already.
    let of_node = |claim: &str| {
        format!(
            "initialized general-6-0
            slice s gpu.example.com/own node=general-6-0 owner=general-6-0: gpu-0
            claim a: g 1 gpu
            {claim}"
        )
    };
    check(|facts, _| claiming(facts, 2, &of_node("")), &[]);
    let taken = "claim c has gpu.example.com/own/gpu-0: g 1 gpu";
    let most = missing("node general-6-0", "default/a");
    check(|facts, _| claiming(facts, 2, &of_node(taken)), &[&most]);
}

#[test]
fn a_device_that_several_nodes_reach_is_for_one_of_them() {
    let devices = |access: &str, there: &str| {
        format!("slice s gpu.example.com/one {access}: {there}\nclaim a: g 1 gpu\nclaim b: g 1 gpu")
    };
    let change = |text: String| {
        move |facts: &mut Facts, _: &mut model::Plan| {
            claiming(facts, 0, &text);
            facts.pods[2] = with(facts.pods[2].clone(), "claim:b");
        }
    };
    check(change(devices("all", "gpu-[0-1]")), &[]);
    let most = missing("node general-6-0", "default/b");
    check(change(devices("all", "gpu-0")), &[&most]);
    check(change(devices("zone=us-west-2a", "gpu-0")), &[&most]);
    // Only what all nodes that the new claim may become reach is in its reach.
    let new = missing("claim general-7-0 as m7g.large", "default/a");
    check(change(devices("type=m7g.xlarge", "gpu-[0-1]")), &[&new, &most]);
}

#[test]
fn pods_of_several_nodes_share_a_claim_for_what_all_of_them_reach() {
    let change = |text: &'static str| {
        move |facts: &mut Facts, _: &mut model::Plan| {
            claiming(facts, 0, text);
            facts.pods[2] = with(facts.pods[2].clone(), "claim:a");
        }
    };
    check(change("slice s gpu.example.com/one all: gpu-0\nclaim a: g 1 gpu"), &[]);
    let most = missing("claim general-7-0 as m7g.large", "default/a");
    let apart = "template general m7g.large gpu.example.com/gpus: gpu-0
        template general m7g.xlarge gpu.example.com/gpus: gpu-0
        initialized general-6-0
        slice s gpu.example.com/own node=general-6-0 owner=general-6-0: gpu-0
        claim a: g 1 gpu";
    check(change(apart), &[&most]);
}

#[test]
fn devices_of_a_claim_have_an_attribute_in_common() {
    let world = |small: &str, bound: &str| {
        format!(
            "{}\n{bound}\nclaim a: g 2 gpu; same gpu.example.com/root",
            templates(small, ": gpu-[0-1] root=a")
        )
    };
    let most = missing("claim general-7-0 as m7g.large", "default/a");
    check(
        |facts, _| claiming(facts, 0, &world(": gpu-0 root=a; gpu-1 root=b; gpu-2 root=b", "")),
        &[],
    );
    for small in [
        ": gpu-0 root=a; gpu-1 root=b",
        ": gpu-0 root=a; gpu-1",
        ": gpu-[0-1]",
        ": gpu-0 root=1; gpu-1 root=#1",
    ] {
        check(|facts, _| claiming(facts, 0, &world(small, "")), &[&most]);
    }
    let bound = |devices: &str| format!("bind general m7g.large gpu.example.com/root {devices}");
    let (zero, one, two) =
        ("gpu.example.com/gpus/gpu-0", "gpu.example.com/gpus/gpu-1", "gpu.example.com/gpus/gpu-2");
    check(
        |facts, _| claiming(facts, 0, &world(": gpu-[0-1]", &bound(&format!("{zero} {one}")))),
        &[],
    );
    let chain = format!("{}\n{}", bound(&format!("{zero} {two}")), bound(&format!("{two} {one}")));
    check(|facts, _| claiming(facts, 0, &world(": gpu-[0-1]", &chain)), &[]);
    let apart = bound(&format!("{one} {two}"));
    check(|facts, _| claiming(facts, 0, &world(": gpu-[0-1]", &apart)), &[&most]);
    // A value is nothing that is bound.
    let mixed = world(": gpu-0 root=a; gpu-1", &bound(&format!("{zero} {one}")));
    check(|facts, _| claiming(facts, 0, &mixed), &[&most]);
}

#[test]
fn counters_are_not_overdrawn() {
    let two = |there: u32| {
        let small = format!("memory.gib={there}: part-[0-3] -memory.gib=10");
        let large = "memory.gib=40: part-[0-3] -memory.gib=10";
        format!("{}\nclaim a: g 2 gpu\nclaim b: g 1 gpu", templates(&small, large))
    };
    check_both(&two(30), None);
    check_both(&two(29), SMALL);
    // What another claim has taken of the node's is gone.
    let of_node = |claim: &str| {
        format!(
            "initialized general-6-0
            counters c gpu.example.com/own of=2 owner=general-6-0: memory.gib=20
            slice s gpu.example.com/own of=2 node=general-6-0 owner=general-6-0: part-[0-3] -memory.gib=10
            claim a: g 1 gpu
            {claim}"
        )
    };
    let taken = |devices: &str| format!("claim c has {devices}: g 1 gpu");
    let part = |number: u32| format!("gpu.example.com/own/part-{number}");
    check(|facts, _| claiming(facts, 2, &of_node(&taken(&part(3)))), &[]);
    let most = missing("node general-6-0", "default/a");
    let both = taken(&format!("{} {}", part(3), part(2)));
    check(|facts, _| claiming(facts, 2, &of_node(&both)), &[&most]);
    // A pool that is not whole has nothing.
    let torn = of_node("").replace("of=2 node", "of=3 node").replace("of=2 owner", "of=3 owner");
    check(|facts, _| claiming(facts, 2, &torn), &[&most]);
}

#[test]
fn shares_of_a_device_are_not_more_than_it_has() {
    let two = |memory: &str, a: &str, b: &str| {
        let gpu = |memory: &str| format!(": gpu-0 shared memory:{memory}");
        format!(
            "{}\nclaim a: g 1 gpu{a}\nclaim b: g 1 gpu{b}",
            templates(&gpu(memory), &gpu("99Gi/default=1Gi"))
        )
    };
    let with = |amount: &str| format!(" with memory={amount}");
    check_both(&two("16Gi", &with("8Gi"), &with("8Gi")), None);
    check_both(&two("16Gi", &with("8Gi"), &with("9Gi")), SMALL);
    // What is not asked for is the default, or else all of it.
    check_both(&two("16Gi", &with("1Gi"), ""), SMALL);
    check_both(&two("16Gi/default=8Gi", "", &with("8Gi")), None);
    check_both(&two("16Gi/default=8Gi", "", &with("9Gi")), SMALL);
    // Rounded up to what the driver allows.
    let range = "16Gi/default=1Gi/min=4Gi/step=4Gi/max=12Gi";
    check_both(&two(range, &with("3Gi"), &with("9Gi")), None);
    check_both(&two(range, &with("5Gi"), &with("9Gi")), SMALL);
    check_both(&two(range, &with("1Gi"), &with("13Gi")), SMALL);
    let values = "16Gi/values=2Gi|8Gi|16Gi";
    check_both(&two(values, &with("3Gi"), &with("8Gi")), None);
    check_both(&two(values, &with("3Gi"), &with("9Gi")), SMALL);
    check_both(&two("16Gi", &with("1Gi"), " with cores=1"), Some("claim general-7-0 as m7g.large"));
}

#[test]
fn a_request_for_all_devices_gets_every_one() {
    let both = |a: &str, b: &str| {
        let there = ": gpu-[0-2]";
        format!("{}\nclaim a: g {a} gpu\nclaim b: g {b} gpu", templates(there, there))
    };
    check_both(&both("1", "2"), None);
    check_both(&both("1", "all"), SMALL);
    check_both(&both("1", "all gpu or 2"), None);
    check_both(&both("all", "all"), SMALL);
    let none = both("1", "all").replace("all gpu", "all gpu where device.driver == 'other'");
    check_both(&none, SMALL);
}

#[test]
fn what_is_too_much_to_search_is_counted() {
    let names: Vec<String> = (0..30).map(|number| format!("r{number} 1 gpu or 1 gpu")).collect();
    let text =
        format!("{}\nclaim a: {}", templates(": gpu-[0-1]", ": gpu-[0-1]"), names.join("; "));
    let (mut facts, plan) = super::good();
    claiming(&mut facts, 0, &text);
    assert_eq!(super::violations(&facts, &plan), []);
    assert_eq!(::plan_check::undecided(&facts, &plan), 2);
}
