//! Pods on nodes and on claims that are on their way.

use model::{NodeClaim, facts::Facts, node::Node, plan::Target};
use testkit::build::{daemon_set, id, node, node_of, pod, pod_key, requirements, resources, taint};

use super::{check, name_types};

fn joined(facts: &mut Facts) -> &mut Node {
    facts.nodes.get_mut("general-6-0").unwrap()
}

fn on_its_way(facts: &mut Facts) -> &mut NodeClaim {
    facts.ledger.claims.get_mut("general-6-1").unwrap()
}

#[test]
fn what_is_not_there_or_ends_takes_no_pods() {
    check(
        |_, plan| plan.placements[0].target = Target::Node(id("nowhere")),
        &["node nowhere cannot take pods: the cluster does not have it"],
    );
    check(
        |_, plan| plan.placements[1].target = Target::Claim(id("nowhere")),
        &["claim nowhere cannot take pods: the ledger does not hold it"],
    );
    for name in ["general-6-0", "general-6-1"] {
        check(
            |facts, _| {
                let claim = facts.ledger.claims.get_mut(name).unwrap();
                *claim = claim.deleted(model::DeletionReason::Expired, facts.now);
            },
            &["cannot take pods: it is being deleted"],
        );
    }
    check(
        |facts, plan| {
            let ending = Node { is_deleting: true, ..node("byo") };
            facts.nodes.insert(ending.name.clone(), ending);
            plan.placements[0].target = Target::Node(id("byo"));
        },
        &["node byo cannot take pods: it is being deleted"],
    );
}

#[test]
fn pods_fit_beside_what_is_bound() {
    let request = |text: &'static str| {
        move |facts: &mut Facts, _: &mut model::Plan| {
            facts.pods[2] = pod(&format!("on-node {text}"));
        }
    };
    check(request("cpu=930m"), &[]);
    check(request("cpu=931m"), &["node general-6-0 has no room: cpu 1931m, memory 1Gi, pods 2"]);
    check(request("nvidia.com/gpu=1"), &["node general-6-0 has no room"]);
    // What ended holds nothing.
    check(
        |facts, plan| {
            request("cpu=1930m")(facts, plan);
            facts.pods[4].phase = model::pod::PodPhase::Succeeded;
        },
        &[],
    );
    check(
        |facts, _| facts.pods[3] = pod("on-claim cpu=1931m"),
        &["claim general-6-1 as m7g.large has no room: cpu 1931m, pods 1 is needed, cpu 1930m"],
    );
}

#[test]
fn an_open_claim_has_the_room_that_every_outcome_has() {
    let open = |facts: &mut Facts, request: &str, daemons_on: &str| {
        name_types(on_its_way(facts), |names| names.push(id("m7g.xlarge")));
        on_its_way(facts).requirements = requirements("paid=on-demand");
        facts.daemon_sets =
            vec![daemon_set(&format!("agent cpu=2 tolerate:* select:{daemons_on}"))];
        facts.pods[3] = pod(&format!("on-claim {request}"));
    };
    let (small, large) = ("karpenter.k8s.aws/instance-cpu=2", "karpenter.k8s.aws/instance-cpu=4");
    let alone = |facts: &mut Facts, plan: &mut model::Plan| {
        plan.new_claims.clear();
        plan.placements.remove(0);
        facts.pods.truncate(4);
    };
    check(
        |facts, plan| {
            open(facts, "cpu=1930m", large);
            // On the larger type the daemon leaves 1920m.
            alone(facts, plan);
            plan.unplaced.clear();
        },
        &["claim general-6-1 as m7g.xlarge has no room: cpu 3930m"],
    );
    check(
        |facts, plan| {
            open(facts, "cpu=1920m", large);
            alone(facts, plan);
            plan.unplaced.clear();
        },
        &[],
    );
    check(
        |facts, plan| {
            open(facts, "cpu=1m", small);
            alone(facts, plan);
            plan.unplaced.clear();
        },
        &["claim general-6-1 as m7g.large has no room: cpu 2001m"],
    );
}

#[test]
fn a_node_and_its_claim_are_one_place() {
    check(
        |_, plan| {
            plan.placements[1].target = Target::Claim(id("general-6-0"));
            plan.placements[1].pods = vec![pod_key("on-claim")];
        },
        &["node general-6-0 has no room: cpu 2, memory 3Gi, pods 3"],
    );
}

#[test]
fn daemons_that_are_not_there_yet_have_their_room() {
    let agent = |facts: &mut Facts, selector: &str| {
        // On the new claim and on the one on its way it fits.
        facts.daemon_sets =
            vec![daemon_set(&format!("agent cpu=430m tolerate:* select:{selector}"))];
        facts.pods[2] = pod("on-node cpu=501m");
    };
    check(
        |facts, _| agent(facts, ""),
        &["node general-6-0 has no room: cpu 1931m, memory 1Gi, pods 3"],
    );
    check(|facts, _| agent(facts, "arch=amd64"), &[]);
    // It runs already, and is not counted twice.
    check(
        |facts, _| {
            agent(facts, "");
            facts.pods[2] = pod("on-node cpu=500m");
            facts.pods.push(pod("agent-1 cpu=430m owner:DaemonSet on:general-6-0"));
        },
        &[],
    );
}

#[test]
fn daemons_take_nothing_of_what_a_node_does_not_name() {
    let gpu: model::ResourceName = id("nvidia.com/gpu");
    let agent = |facts: &mut Facts, named: Option<u64>| {
        let mut agent = daemon_set("agent cpu=1m tolerate:* select:rack=a");
        std::sync::Arc::make_mut(&mut agent.spec).requests.set(&gpu, 1);
        facts.daemon_sets = vec![agent];
        let node = facts.nodes.get_mut("general-6-0").unwrap();
        node.labels.insert("rack".to_owned(), "a".to_owned());
        if let Some(count) = named {
            node.allocatable.set(&gpu, count);
        }
    };
    check(|facts, _| agent(facts, None), &[]);
    check(|facts, _| agent(facts, Some(1)), &[]);
    check(|facts, _| agent(facts, Some(0)), &["node general-6-0 has no room"]);
}

#[test]
fn a_daemon_that_asks_for_what_is_not_supported_has_no_room() {
    let agent = |facts: &mut Facts, claims: &str| {
        facts.daemon_sets = vec![daemon_set(&format!("agent cpu=1500m tolerate:* {claims}"))];
    };
    check(|facts, _| agent(facts, "unsupported:claims"), &[]);
    check(|facts, _| agent(facts, ""), &["has no room"; 3]);
}

#[test]
fn taints_of_a_node_hold_once_it_has_started() {
    let starting = |facts: &mut Facts| {
        let claim = facts.ledger.claims.get_mut("general-6-0").unwrap();
        claim.startup_taints.push(taint("starting:NoSchedule"));
        joined(facts).labels.remove(model::labels::INITIALIZED);
    };
    check(
        |facts, _| joined(facts).taints.push(taint("dedicated:NoSchedule")),
        &["pod default/on-node does not tolerate dedicated:NoSchedule of node general-6-0"],
    );
    check(
        |facts, _| {
            joined(facts).taints.push(taint("dedicated:NoSchedule"));
            facts.pods[2] = pod("on-node tolerate:dedicated");
        },
        &[],
    );
    check(|facts, _| joined(facts).taints.push(taint("soft:PreferNoSchedule")), &[]);
    for text in ["starting:NoSchedule", "node.kubernetes.io/not-ready:NoExecute"] {
        let text = text.to_owned();
        check(
            |facts, _| {
                starting(facts);
                joined(facts).taints.push(taint(&text));
            },
            &[],
        );
        check(|facts, _| joined(facts).taints.push(taint(&text)), &["does not tolerate"]);
    }
    check(
        |facts, _| {
            starting(facts);
            joined(facts).taints.push(taint("dedicated:NoSchedule"));
        },
        &["pod default/on-node does not tolerate dedicated:NoSchedule"],
    );
    check(
        |facts, _| on_its_way(facts).taints.push(taint("dedicated:NoSchedule")),
        &["pod default/on-claim does not tolerate dedicated:NoSchedule of claim general-6-1"],
    );
}

#[test]
fn labels_of_a_node_are_taken_as_they_are() {
    let selecting = |selector: &'static str| {
        move |facts: &mut Facts, _: &mut model::Plan| {
            facts.pods[2] = pod(&format!("on-node select:{selector}"));
        }
    };
    for selector in ["zone=us-west-2a", "!team"] {
        check(selecting(selector), &[]);
    }
    for selector in [
        "zone=us-west-2b",
        // Well known, but it is not there.
        "karpenter.k8s.aws/instance-cpu",
        "team=red",
    ] {
        check(
            selecting(selector),
            &["pod default/on-node does not go with the labels of node gen"],
        );
    }
    check(
        |facts, _| {
            facts.pods[2] = pod("on-node require:team=red require:!team");
        },
        &[],
    );
}

#[test]
fn what_the_kubelet_does_not_report_yet_is_the_claims() {
    let asking = |facts: &mut Facts| {
        facts.pods[2] = pod("on-node nvidia.com/gpu=1");
        let claim = facts.ledger.claims.get_mut("general-6-0").unwrap();
        claim.allocatable = resources("cpu=1930m memory=7Gi pods=29 nvidia.com/gpu=1");
        joined(facts).allocatable = resources("cpu=1900m memory=7Gi pods=29 nvidia.com/gpu=0");
    };
    check(|facts, _| asking(facts), &["node general-6-0 has no room"]);
    check(
        |facts, _| {
            asking(facts);
            joined(facts).labels.remove(model::labels::INITIALIZED);
        },
        &[],
    );
}

#[test]
fn a_claim_on_its_way_suits_its_pods_whatever_it_becomes() {
    let zone = "zone=us-west-2a";
    let selecting = |facts: &mut Facts, selector: &str| {
        facts.pods[3] = pod(&format!("on-claim select:{selector}"));
    };
    check(|facts, _| selecting(facts, zone), &[]);
    let open = requirements("paid=on-demand");
    check(
        |facts, _| {
            selecting(facts, zone);
            on_its_way(facts).requirements = open.clone();
        },
        &["does not go with the labels of claim general-6-1 as on-demand m7g.large us-west-2b"],
    );
    // Once it is launched it has one zone, before its node is there.
    check(
        |facts, _| {
            selecting(facts, zone);
            let claim = on_its_way(facts);
            claim.requirements = open.clone();
            *claim = NodeClaim { node: None, ..node_of(claim, "i-0601").0 };
        },
        &[],
    );
    check(
        |facts, _| {
            selecting(facts, "zone=us-west-2b");
            let claim = on_its_way(facts);
            claim.requirements = open.clone();
            *claim = NodeClaim { node: None, ..node_of(claim, "i-0601").0 };
        },
        &["pod default/on-claim does not go with the labels of claim general-6-1"],
    );
}

#[test]
fn unmanaged_nodes_are_used() {
    let tainted = |facts: &mut Facts, plan: &mut model::Plan, taints: &[&str]| {
        let taints = taints.iter().map(|text| taint(text)).collect();
        let byo = Node { taints, ..node("byo") };
        facts.nodes.insert(byo.name.clone(), byo);
        plan.placements[0].target = Target::Node(id("byo"));
    };
    check(|facts, plan| tainted(facts, plan, &[]), &[]);
    // They are given no time to start.
    check(
        |facts, plan| tainted(facts, plan, &["node.kubernetes.io/not-ready:NoSchedule"]),
        &["pod default/on-node does not tolerate node.kubernetes.io/not-ready:NoSchedule"],
    );
}
