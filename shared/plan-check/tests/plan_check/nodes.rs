//! What nodes have little of: ports, volumes, reserved capacity; and what buffers and overlays add.

use std::sync::Arc;

use model::{
    CapacityType, Offering, Reservation, Resources,
    buffer::{BufferTarget, CapacityBuffer},
    facts::{ClassOffer, Facts},
    overlay::{NodeOverlay, PriceChange},
};
use testkit::build::{
    daemon_set, id, new_claim, pod, pod_key, price, requirement, requirements, resources, storage,
};

use super::{check, good_claim};

#[test]
fn a_port_is_taken_once() {
    let both = |facts: &mut Facts, other: u16| {
        facts.pods[2] = pod("on-node cpu=500m port:80");
        facts.pods[4] = pod(&format!("bound port:{other} on:general-6-0"));
    };
    check(|facts, _| both(facts, 81), &[]);
    let expected = ["both take port 80 of node general-6-0"];
    check(|facts, _| both(facts, 80), &expected);
    check(
        |facts, _| {
            facts.pods[0] = pod("web-0 cpu=1 port:80");
            facts.pods[1] = pod("web-1 cpu=500m port:80");
        },
        &["both take port 80 of claim general-7-0"],
    );
}

#[test]
fn daemons_take_their_ports_where_they_run() {
    let daemon = |facts: &mut Facts, selector: &str| {
        let daemon = format!("proxy cpu=1m port:80 tolerate:* select:{selector}");
        facts.daemon_sets = vec![daemon_set(&daemon)];
        facts.pods[0] = pod("web-0 cpu=1 port:80");
    };
    let expected = ["pod default/web-0 and a daemon both take port 80"];
    check(|facts, _| daemon(facts, "arch=arm64"), &expected);
    check(|facts, _| daemon(facts, "arch=amd64"), &[]);
}

#[test]
fn volumes_are_where_the_pod_is_and_can_be_used() {
    let mount = |facts: &mut Facts, terms: Option<&str>| {
        facts.surroundings.storage = storage(&[("data", terms)]);
        facts.pods[0] = pod("web-0 cpu=1 volume:data");
        facts.pods[2] = pod("on-node cpu=500m volume:data");
    };
    let zone = |names: &str| format!("zone={names}");
    check(|facts, _| mount(facts, None), &[]);
    check(|facts, _| mount(facts, Some(&zone("us-west-2a"))), &[]);
    let either = format!("{}|{}", zone("us-west-2c"), zone("us-west-2a"));
    check(|facts, _| mount(facts, Some(&either)), &[]);
    check(
        |facts, _| mount(facts, Some(&zone("us-west-2b"))),
        &["pod default/web-0 does not go with", "pod default/on-node does not go with"],
    );
    check(
        |facts, _| {
            mount(facts, None);
            facts.surroundings.storage.claims.clear();
        },
        &["default/web-0 is placed although its volumes", "default/on-node is placed although"],
    );
}

#[test]
fn a_node_attaches_only_a_limited_number_of_volumes() {
    let mount = |facts: &mut Facts, limit: u32, texts: &[&str]| {
        facts.surroundings.storage = storage(&[("a", Some("")), ("b", None), ("c", None)]);
        let limits = [("ebs.csi.aws.com".to_owned(), limit)].into();
        facts.surroundings.storage.attach_limits.insert(id("general-6-0"), limits);
        facts.pods[4] = pod("bound volume:a on:general-6-0");
        let volumes: Vec<String> = texts.iter().map(|text| format!("volume:{text}")).collect();
        facts.pods[2] = pod(&format!("on-node cpu=500m {}", volumes.join(" ")));
    };
    check(|facts, _| mount(facts, 1, &["a"]), &[]);
    check(|facts, _| mount(facts, 2, &["a", "b"]), &[]);
    let expected = ["node general-6-0 would attach 3 volumes of ebs.csi.aws.com, it takes 2"];
    check(|facts, _| mount(facts, 2, &["b", "c"]), &expected);
    // What was too much before is not the plan's doing.
    check(|facts, _| mount(facts, 0, &["a"]), &[]);
}

/// Lets the class offer m7g.large from the reservation `cr-1` with `count` instances, and the new
/// claim be that.
fn reserve(facts: &mut Facts, plan: &mut model::Plan, count: u32) {
    let ClassOffer::Ready(types) = facts.classes.as_mut().unwrap().get_mut("default").unwrap()
    else {
        panic!()
    };
    let reservation = Reservation {
        id: "cr-1".parse().unwrap(),
        kind: "default".to_owned(),
        interruptible: false,
        count,
    };
    let offering = Offering {
        zone: id("us-west-2a"),
        zone_id: None,
        capacity_type: CapacityType::Reserved,
        price: price("0.001"),
        is_available: true,
        reservation: Some(reservation),
    };
    let instance_type = Arc::make_mut(&mut types[0]);
    instance_type.offerings.push(offering);
    let kinds = "paid=on-demand,spot,reserved";
    instance_type.requirements.replace(requirement(kinds));
    let new = &mut plan.new_claims[0];
    let claim = &mut new.claim;
    claim.requirements = requirements(
        "paid=reserved zone=us-west-2a karpenter.k8s.aws/capacity-reservation-id=cr-1",
    );
    claim.instance_types = [id("m7g.large")].into();
    new.cheapest.capacity_type = CapacityType::Reserved;
    new.price = price("0.001");
}

#[test]
fn reserved_capacity_is_held_for_one_claim() {
    check(|facts, plan| reserve(facts, plan, 1), &[]);
    let expected = ["claims hold the capacity reservation cr-1, which has"];
    let full = [
        "none of them can be launched",
        "it is none that can be bought for the claim",
        "claims hold the capacity reservation cr-1, which has",
    ];
    check(|facts, plan| reserve(facts, plan, 0), &full);
    let in_ledger = |facts: &mut Facts, plan: &mut model::Plan, count| {
        reserve(facts, plan, count);
        let mut held = plan.new_claims[0].claim.clone();
        held.name = id("general-6-2");
        held.batch = id("test-6-2");
        facts.ledger.claims.insert(held.name.clone(), held);
    };
    check(|facts, plan| in_ledger(facts, plan, 1), &expected);
    check(|facts, plan| in_ledger(facts, plan, 2), &[]);
}

#[test]
fn pods_of_buffers_are_known() {
    let buffer = |facts: &mut Facts, plan: &mut model::Plan, limits: &str| {
        facts.policies.capacity_buffer = true;
        let target = BufferTarget::Template(pod("any cpu=1m").spec);
        let limits: Resources = resources(limits);
        let limits = limits.iter().map(|(name, amount)| (id(name), amount)).collect();
        facts.surroundings.capacity_buffers = vec![CapacityBuffer {
            namespace: id("default"),
            name: id("spare"),
            uid: id("uid-spare"),
            replicas: Some(2),
            percentage: None,
            limits,
            target,
        }];
        plan.placements[0].pods.push(pod_key("capacity-buffer-spare-2"));
    };
    check(|facts, plan| buffer(facts, plan, ""), &[]);
    let unknown = ["pod default/capacity-buffer-spare-2 is not known"];
    check(|facts, plan| buffer(facts, plan, "cpu=1m"), &unknown);
    check(
        |facts, plan| {
            buffer(facts, plan, "");
            facts.policies.capacity_buffer = false;
        },
        &unknown,
    );
}

#[test]
fn prices_and_capacity_are_those_of_overlays() {
    let overlay = |facts: &mut Facts, plan: &mut model::Plan, stated: &str| {
        facts.policies.node_overlay = true;
        facts.surroundings.node_overlays = vec![NodeOverlay {
            name: id("fuse"),
            weight: 0,
            requirements: requirements("type=m7g.large"),
            price: Some(PriceChange::Absolute(price("0.05"))),
            capacity: Some(resources("example.com/fuse=1")),
            problems: Vec::new(),
        }];
        plan.new_claims[0].price = price(stated);
        plan.new_claims[0].claim.instance_types = [id("m7g.large")].into();
        facts.pods[0] = pod("web-0 cpu=1 example.com/fuse=1");
        plan.new_claims[0].claim.requests =
            resources("cpu=1500m memory=2Gi pods=2 example.com/fuse=1");
    };
    check(|facts, plan| overlay(facts, plan, "0.05"), &[]);
    check(|facts, plan| overlay(facts, plan, "0.0816"), &["it costs 0.0500"]);
    check(
        |facts, plan| {
            overlay(facts, plan, "0.0816");
            facts.policies.node_overlay = false;
        },
        &["as m7g.large has no room"],
    );
}

#[test]
fn relaxed_min_values_need_the_policy() {
    let relax = |facts: &mut Facts, plan: &mut model::Plan| {
        let mut claim = good_claim("general-7-0");
        claim.annotations.insert(model::labels::MIN_VALUES_RELAXED.to_owned(), "true".to_owned());
        plan.new_claims[0] = new_claim(claim, &["web-0", "web-1"]);
        let wanted = "type@3";
        facts.node_pools[0].template.requirements = requirements(wanted);
        plan.new_claims[0].claim.requirements.add_all(&requirements("type=m7g.large,m7g.xlarge"));
    };
    check(relax, &["needs 3 values of node.kubernetes.io/instance-type"]);
    check(
        |facts, plan| {
            relax(facts, plan);
            facts.policies.min_values = model::policies::MinValuesPolicy::BestEffort;
        },
        &[],
    );
}
