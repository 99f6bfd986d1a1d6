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
fn a_new_node_can_have_as_many_devices_as_are_claimed() {
    let templates = "template general m7g.large gpu.example.com/gpus: gpu-0
        template general m7g.xlarge gpu.example.com/gpus: gpu-[0-1]";
    let claim = |count: u32| format!("{templates}\nclaim a: g {count} gpu");
    check(|facts, _| claiming(facts, 0, &claim(1)), &[]);
    let most = "claim general-7-0 as m7g.large has at most 1 devices, and its pods claim 2";
    check(|facts, _| claiming(facts, 0, &claim(2)), &[most]);
    // A device that the new node may reach over the network.
    let reached = format!("{}\nslice one gpu.example.com/one all: gpu-0", claim(2));
    check(|facts, _| claiming(facts, 0, &reached), &[]);
    let shared = format!("{}\nslice one gpu.example.com/one all: gpu-0 shared", claim(9));
    check(|facts, _| claiming(facts, 0, &shared), &[]);
}
