//! What the cluster costs, and what its pods could cost.

use std::path::PathBuf;

use crate::{CLASS, POOL, deployment, folder, planning::STATUS, run};

/// A node with 8 CPUs, of which `pods` take 800m each. It is of the NodePool unless it is of another `offering`.
fn node(number: u32, offering: Option<&str>, pods: u32) -> String {
    let pool = "karpenter.sh/nodepool: general, karpenter.k8s.aws/ec2nodeclass: default, \
                node.kubernetes.io/instance-type: m7i.2xlarge, karpenter.sh/capacity-type: on-demand, \
                topology.kubernetes.io/zone: us-west-2a";
    let labels = offering.unwrap_or(pool);
    let provider = format!("aws:///us-west-2a/i-{number:017x}");
    let amounts = "{cpu: \"8\", memory: 32Gi, pods: \"58\"}";
    let mut texts = vec![format!(
        "---\napiVersion: v1\nkind: Node\nmetadata: {{name: ip-{number}, uid: n{number}, \
         creationTimestamp: 2026-08-01T08:00:00Z, labels: {{{labels}}}}}\nspec: {{providerID: \
         \"{provider}\"}}\nstatus: {{capacity: {amounts}, allocatable: {amounts}, conditions: [{{type: \
         Ready, status: \"True\"}}]}}\n"
    )];
    if offering.is_none() {
        texts.push(format!(
            "---\napiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {{name: general-{number}, uid: \
             c{number}, creationTimestamp: 2026-08-01T08:00:00Z, labels: {{{labels}}}}}\nspec: \
             {{nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}, \
             requirements: []}}\nstatus: {{nodeName: ip-{number}, providerID: \"{provider}\", capacity: \
             {amounts}, allocatable: {amounts}, conditions: [{{type: Launched, status: \"True\", reason: \
             R, lastTransitionTime: 2026-08-01T08:00:00Z}}, {{type: Registered, status: \"True\", reason: \
             R, lastTransitionTime: 2026-08-01T08:00:00Z}}, {{type: Initialized, status: \"True\", \
             reason: R, lastTransitionTime: 2026-08-01T08:00:00Z}}]}}\n"
        ));
    }
    for pod in 0..pods {
        texts.push(format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: web-7d9c8b6f5-{number}{pod}, labels: \
             {{app: web}}, ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: \
             web-7d9c8b6f5, controller: true}}]}}\nspec: {{nodeName: ip-{number}, containers: [{{name: \
             m, resources: {{requests: {{cpu: 800m, memory: 3Gi}}}}}}]}}\nstatus: {{phase: Running}}\n"
        ));
    }
    texts.concat()
}

/// Two nodes for $0.4032 an hour each with volumes of 20 GiB, and four pods of 800m on each.
fn cluster(name: &str, more: &[(&str, &str)]) -> PathBuf {
    let nodes = [node(1, None, 4), node(2, None, 4)].concat();
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("nodes.yaml", &*nodes)];
    folder(name, &[&files, more].concat())
}

const NOW: &str = "--now 2026-08-01T12:00:00Z";

/// A price such as `0.4032`, in nano-dollars.
pub(crate) fn nanos(dollars: &serde_json::Value) -> u128 {
    assert!(dollars.is_number(), "no price: {dollars}");
    let text = dollars.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    format!("{whole}{part:0<9.9}").parse().expect("a price")
}

#[test]
fn a_plan_begins_with_what_the_cluster_costs_and_the_least_that_its_pods_could_cost() {
    let folder = cluster("cost-headline", &[]);
    let planned = run(&folder, &format!("plan . {NOW}"));
    let first = planned.out.lines().next().unwrap_or_default();
    assert_eq!(first, "2 nodes, 8 pods: $0.8108 an hour ($592 a month)", "{}", planned.out);
    planned.says(&[
        "Pods request 40% of CPU and 38% of memory.",
        "The price is for instances and their volumes, without data transfer.",
        "Proved: on new nodes of the NodePools these pods cost at least $0.2",
        "No pod needs a node.",
    ]);
    let planned = run(&folder, &format!("plan . -o json {NOW}")).json();
    let cluster = &planned["cluster"];
    assert_eq!((&cluster["nodes"], &cluster["pods"]), (&2.into(), &8.into()));
    assert_eq!(cluster["cpuRequestedPercent"], 40);
    let month = nanos(&cluster["pricePerMonth"]);
    assert_eq!(month / 730, nanos(&cluster["pricePerHour"]), "{cluster}");
    let bound = nanos(&cluster["lowerBoundPerHour"]);
    assert!(0 < bound && bound < nanos(&cluster["pricePerHour"]), "{cluster}");
    assert!(cluster["notCounted"].is_null(), "{cluster}");
    run(&folder, &format!("plan . --disruption {NOW}")).says(&["2 nodes, 8 pods: $0.8108 an hour"]);
    let disruption = run(&folder, &format!("plan . --disruption -o json {NOW}")).json();
    assert_eq!(&disruption["cluster"], cluster);
}

/// A price that is missing is said, and is in no sum; nor are the pods that run there in the bound.
#[test]
fn a_node_without_a_known_price_costs_not_nothing() {
    let zone = "topology.kubernetes.io/zone: us-west-2a";
    let unknown = format!("node.kubernetes.io/instance-type: x99.huge, {zone}");
    let reserved = format!(
        "karpenter.sh/capacity-type: reserved, node.kubernetes.io/instance-type: m7i.2xlarge, {zone}"
    );
    let nodes = [node(3, Some(&unknown), 1), node(4, Some(&reserved), 1), node(5, Some("a: b"), 1)];
    let folder = cluster("cost-missing", &[("more.yaml", &*nodes.concat())]);
    let planned = run(&folder, &format!("plan . {NOW}"));
    planned.says(&[
        "5 nodes, 11 pods: $0.8108 an hour",
        "1 node not counted, with its pods: no price is known of on-demand x99.huge us-west-2a (ip-3).",
        "1 node not counted, with its pods: on a capacity reservation",
        "1 node not counted, with its pods: the labels lack instance type or zone (ip-5).",
    ]);
    let counted = cluster("cost-counted", &[]);
    let bound = |folder| {
        let document = run(folder, &format!("plan . -o json {NOW}")).json();
        nanos(&document["cluster"]["lowerBoundPerHour"])
    };
    assert_eq!(bound(&folder), bound(&counted));

    let alone = [CLASS, POOL, &node(3, Some(&unknown), 1)].join("---\n");
    let folder = self::folder("cost-unknown", &[("all.yaml", &alone)]);
    let planned = run(&folder, &format!("plan . {NOW}"));
    planned.says(&["1 node, 1 pod: no price is known"]);
    planned.is_silent_about(&["$0.0000"]);
}

/// What is compared with what would be bought has the prices that would be paid.
#[test]
fn nodes_cost_what_overlays_say() {
    let overlay = "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: dear}\nspec: \
                   {price: \"1.0\", requirements: [{key: node.kubernetes.io/instance-type, operator: In, \
                   values: [m7i.2xlarge]}]}\n";
    let folder = cluster("cost-overlay", &[("overlay.yaml", overlay)]);
    let gate = "--feature-gates NodeOverlay=true";
    run(&folder, &format!("plan . {NOW} {gate}"))
        .says(&["2 nodes, 8 pods: $2.00 an hour ($1,463 a month)"]);
    run(&folder, &format!("plan . {NOW}")).says(&["2 nodes, 8 pods: $0.8108 an hour"]);
}

#[test]
fn volumes_of_nodes_without_a_class_are_said_to_be_missing() {
    let managed = "eks.amazonaws.com/capacityType: ON_DEMAND, node.kubernetes.io/instance-type: \
                   m7i.2xlarge, topology.kubernetes.io/zone: us-west-2a";
    let node = node(3, Some(managed), 2);
    let more = cluster("cost-managed", &[("more.yaml", &node)]);
    run(&more, &format!("plan . {NOW}"))
        .says(&["instances and their volumes (but of 1 node without an EC2NodeClass), without data transfer"]);
    let folder = folder("cost-without-pools", &[("node.yaml", &node)]);
    run(&folder, &format!("plan . {NOW}")).says(&[
        "1 node, 2 pods: $0.4032 an hour ($294 a month)",
        "instances, without volumes and data transfer",
        "No lower bound: the NodePools have no node for any of these pods.",
    ]);
}

/// Running and pending pods together, on the nodes that are there and on others.
#[test]
fn fleets_are_compared_for_all_pods() {
    let huge = deployment("huge", 1).replace("800m", "'5000'");
    let more = [deployment("new", 2), huge].join("---\n");
    let folder = cluster("cost-compare", &[("more.yaml", &more)]);
    let compared = run(&folder, &format!("plan . --compare -o json {NOW}")).json();
    let price = |fleet: &str| nanos(&compared[fleet]["pricePerHour"]);
    let count = |fleet: &str, what: &str| compared[fleet][what].as_u64().expect("a number");
    assert_eq!(price("today"), nanos(&compared["cluster"]["pricePerHour"]));
    assert_eq!((count("today", "nodes"), count("today", "vCPUs")), (2, 16));
    // Two of the new pods fit onto the nodes that are there.
    assert_eq!((count("today", "pods"), count("today", "podsUnschedulable")), (10, 1));
    for fleet in ["karpenter", "cheapest"] {
        assert_eq!(
            (count(fleet, "pods"), count(fleet, "podsUnschedulable")),
            (10, 1),
            "{compared}"
        );
    }
    assert!(price("cheapest") <= price("karpenter") && price("karpenter") < price("today"));
    let bound = nanos(&compared["lowerBoundPerHour"]);
    assert!(0 < bound && bound <= price("cheapest"), "{compared}");
    run(&folder, &format!("plan . --compare {NOW}")).says(&[
        "2 nodes, 8 pods: $0.8108 an hour",
        "today      $592     2      16     5.0        50%, 62%  1        m7i.2xlarge",
        "All pods, running and pending, on new nodes.",
    ]);
    // Through a pipe no line is folded: the table alone fits into 80 columns.
    let compared = run(&folder, &format!("plan . --compare {NOW}")).out;
    let table: Vec<&str> = compared.lines().skip_while(|line| !line.contains("PLAN")).collect();
    let table = table.get(..5).expect("a head and four rows");
    assert!(table.iter().all(|line| line.chars().count() <= 80), "{compared}");
}

/// A bound of nothing is a bound.
#[test]
fn a_lower_bound_of_zero_is_shown_with_its_cause() {
    let idle = folder(
        "cost-idle",
        &[("class.yaml", CLASS), ("pool.yaml", POOL), ("node.yaml", &node(1, None, 0))],
    );
    let reservation = "\
\x20 capacityReservations:
  - {id: cr-0a, instanceType: m7i.2xlarge, availabilityZone: us-west-2b, ownerID: \"111122223333\",
     instanceMatchCriteria: targeted, reservationType: default, state: active}
";
    let class = format!("{CLASS}{STATUS}{reservation}");
    let class =
        class.replace("spec:\n", "spec:\n  capacityReservationSelectorTerms: [{id: cr-0a}]\n");
    let pool = POOL.replace("[on-demand]", "[reserved, on-demand]");
    let free = r#"{"CapacityReservations": [{"CapacityReservationId": "cr-0a",
        "AvailableInstanceCount": 2}]}"#;
    let node = node(1, None, 1);
    let files = [
        ("in/class.yaml", &*class),
        ("in/pool.yaml", &pool),
        ("in/node.yaml", &node),
        ("free.json", free),
    ];
    let reserved = folder("cost-reserved", &files);
    for (folder, words, cause) in [
        (idle, "plan .", "$0 an hour: no pods run on these nodes"),
        (reserved, "plan in --capacity-reservations free.json", "$0 an hour: reserved capacity"),
    ] {
        let planned = run(&folder, &format!("{words} {NOW}"));
        planned.says(&["Lower bound: ", cause]);
        planned.is_silent_about(&["No lower bound"]);
        let document = run(&folder, &format!("{words} -o json {NOW}")).json();
        assert_eq!(nanos(&document["cluster"]["lowerBoundPerHour"]), 0, "{document}");
    }
}

/// A plan counts what a static NodePool launches everywhere, and nowhere as a node that is there.
#[test]
fn replicas_of_a_static_pool_are_part_of_the_plan() {
    let replicas = POOL
        .replace("name: general", "name: static")
        .replace("spec:\n  template", "spec:\n  replicas: 2\n  template")
        .replace("[on-demand]}", "[on-demand]}\n      - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}");
    let web = deployment("web", 5);
    let files = [
        ("class.yaml", CLASS),
        ("pool.yaml", POOL),
        ("static.yaml", &*replicas),
        ("web.yaml", &*web),
    ];
    let folder = folder("cost-static", &files);
    let words = "plan . --feature-gates StaticCapacity=true";
    let planned = run(&folder, words);
    planned.says(&["default/web ×2 (a replica of the pool)", "no plan can cost less than $0.1"]);
    planned.is_silent_about(&["On existing nodes", "--ledger"]);
    let totals = &run(&folder, &format!("{words} -o json")).json()["totals"];
    assert_eq!((&totals["podsOnNewNodes"], &totals["podsOnExistingNodes"]), (&5.into(), &0.into()));
    let (instances, fleet) =
        (nanos(&totals["pricePerHour"]), nanos(&totals["fleetPerHour"]["price"]));
    // Volumes are $0.0022 a node.
    assert!((1..20_000_000).contains(&fleet.saturating_sub(instances)), "{totals}");
}

/// The price line does not prove by a bound of zero what the line above it bounds better.
#[test]
fn a_bound_of_zero_is_no_claim_about_a_plan() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: far, labels: {app: x}}\nspec:\n  affinity: \
               {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
               kubernetes.io/hostname, labelSelector: {matchLabels: {app: x}}}]}}\n  containers: [{name: m, \
               resources: {requests: {cpu: 100m}}}]\n";
    let there = |node: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: on-{node}, labels: {{app: x}}}}\nspec:\n  nodeName: \
             {node}\n  containers: [{{name: m, resources: {{requests: {{cpu: 100m}}}}}}]\nstatus: {{phase: Running}}\n"
        )
    };
    let there = [there("ip-1"), there("ip-2")].concat();
    let files = [("far.yaml", pod), ("there.yaml", &*there)];
    let planned = run(&cluster("cost-zero", &files), &format!("plan . {NOW}"));
    planned.says(&["would be launched", "an hour for instances"]);
    planned.is_silent_about(&["no plan can cost less than $0.0000"]);
}

#[test]
fn one_node_and_several_have_their_own_grammar() {
    let nodes = [1, 2].map(|number| node(number, None, 0));
    let claims = nodes.iter().filter_map(|node| node.split("---\n").nth(2));
    let claims = claims.collect::<Vec<_>>().join("---\n");
    let unnamed = [3, 4].map(|number| node(number, Some("a: b"), 1)).concat();
    let files = [("class.yaml", CLASS), ("claims.yaml", &*claims), ("nodes.yaml", &*unnamed)];
    run(&folder("cost-several", &files), &format!("plan . {NOW}")).says(&[
        "2 instances without a node yet are among the nodes.",
        "2 nodes not counted, with their pods: the labels lack instance type or zone (ip-3, ip-4).",
    ]);
}

#[test]
fn from_scratch_all_pods_get_new_nodes_but_those_whose_nodes_stay() {
    let reserved = "karpenter.sh/capacity-type: reserved, node.kubernetes.io/instance-type: m7i.2xlarge, \
                    topology.kubernetes.io/zone: us-west-2a";
    let full = node(3, Some(reserved), 10);
    let web = deployment("new", 2);
    let folder = cluster("cost-scratch", &[("new.yaml", &web), ("full.yaml", &full)]);
    let document = run(&folder, &format!("plan . --from-scratch -o json {NOW}")).json();
    let totals = &document["totals"];
    assert_eq!(totals["podsOnNewNodes"], 10, "{document}");
    assert_eq!(totals["podsOnExistingNodes"], 0, "{document}");
    assert_eq!(document["cluster"]["nodes"], 3);
    run(&folder, &format!("plan . --from-scratch {NOW}")).says(&[
        "3 nodes, 18 pods: $0.8108 an hour",
        "would be launched",
        "1 node and the pods there, which stay",
    ]);
    let usual = run(&folder, &format!("plan . -o json {NOW}")).json();
    assert_eq!(usual["totals"]["podsOnExistingNodes"], 2, "{usual}");
}
