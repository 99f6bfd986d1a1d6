//! The judge keeps from being committed what it names, and nothing else.

use model::{NodeClaim, ledger::Counters};
use testkit::build::{claim, facts, id, instance_type, new_claim, pod, requirements, resources};

use super::*;

/// Two pods and a plan that launches a node for each.
fn planned() -> (Facts, Plan) {
    let mut facts = facts(vec![instance_type(
        "m7g.large cpu=2 memory=8Gi pods=29 overhead:cpu=70m overhead:memory=1Gi \
         on-demand:us-west-2a=0.0816",
    )]);
    facts.pods = vec![pod("web-0 cpu=1 memory=1Gi"), pod("web-1 cpu=1 memory=1Gi")];
    let launched = |name| NodeClaim {
        requirements: requirements("paid=on-demand zone=us-west-2a"),
        instance_types: [id("m7g.large")].into(),
        requests: resources("cpu=1 memory=1Gi pods=1"),
        ..claim(name)
    };
    let new_claims = vec![
        new_claim(launched("general-7-0"), &["web-0"]),
        new_claim(launched("general-7-1"), &["web-1"]),
    ];
    let parent = Counters { arrivals: 7, departures: 0 };
    (facts, Plan { parent, new_claims, ..Plan::default() })
}

#[test]
fn a_pod_that_the_judge_refuses_keeps_no_other() {
    let (mut facts, plan) = planned();
    assert_eq!(sound_part(&facts, &plan).unwrap(), None, "all of it is right");
    facts.pods[1] = pod("web-1 cpu=1 memory=1Gi unsupported:windows");
    let sound = sound_part(&facts, &plan).unwrap().expect("a part");
    assert_eq!(sound.new_claims, &plan.new_claims[..1]);
}
