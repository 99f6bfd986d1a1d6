//! What a plan says.

use crate::{CLASS, POOL, deployment, folder, run};

pub(crate) const STATUS: &str = "\
status:
  subnets: [{id: subnet-0a, zone: us-west-2b, zoneID: usw2-az2}]
  amis:
  - {id: ami-0a, name: al2023, requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}
";

#[test]
fn d2_zones_and_images_are_those_of_the_status() {
    let (class, web) = (format!("{CLASS}{STATUS}"), deployment("web", 2));
    let files = [("class.yaml", &*class), ("pool.yaml", POOL), ("web.yaml", &web)];
    let folder = folder("d2", &files);
    let json = run(&folder, "plan . -o json").json();
    assert_eq!(json["assumptions"].as_array().map(Vec::len), Some(0));
    let claim = &json["newNodeClaims"][0];
    assert_eq!(claim["cheapest"]["zone"], "us-west-2b");
    let types = claim["instanceTypes"].as_array().expect("types");
    let is_arm = |name: &str| name.starts_with("t4g.") || name.starts_with("c8g.");
    assert!(!types.iter().filter_map(|name| name.as_str()).any(is_arm), "{types:?}");
    // Without a status it is said what is assumed.
    std::fs::write(folder.join("class.yaml"), CLASS).expect("a file of the test");
    run(&folder, "plan .").says(&[
        "Assumed",
        "EC2NodeClass default: a subnet in every zone of us-west-2",
        "EC2NodeClass default: an image for amd64 and arm64",
    ]);
}

#[test]
fn d2_a_class_of_another_region_is_refused_with_what_to_do() {
    let status = STATUS.replace("us-west-2b", "eu-west-1a");
    let class = format!("{CLASS}{status}");
    let folder = folder("d2-region", &[("class.yaml", &class), ("pool.yaml", POOL)]);
    let refused = run(&folder, "plan .");
    refused
        .complains(&["EC2NodeClass default: its subnets are in eu-west-1a", "--region eu-west-1"]);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn d7_workloads_keep_their_names() {
    let workloads = [deployment("web-frontend", 2), deployment("web-database", 2)].join("---\n");
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &workloads)];
    run(&folder("d7", &files), "plan .")
        .says(&["default/web-database ×2", "default/web-frontend ×2"]);
}

#[test]
fn d15_capacity_reservations_of_the_status_are_not_passed_over_in_silence() {
    let reservation = "\
\x20 capacityReservations:
  - {id: cr-0a, instanceType: m7i.large, availabilityZone: us-west-2b, ownerID: \"111122223333\",
     instanceMatchCriteria: targeted, reservationType: default, state: active}
";
    let class = format!("{CLASS}{STATUS}{reservation}");
    let class =
        class.replace("spec:\n", "spec:\n  capacityReservationSelectorTerms: [{id: cr-0a}]\n");
    let pool = POOL.replace("[on-demand]", "[reserved, on-demand]");
    let left = r#"{"CapacityReservations": [{"CapacityReservationId": "cr-0a",
        "AvailableInstanceCount": 2}]}"#;
    let web = deployment("web", 1);
    let files = [
        ("in/class.yaml", &*class),
        ("in/pool.yaml", &pool),
        ("in/web.yaml", &web),
        ("left.json", left),
    ];
    let d15 = folder("d15", &files);
    run(&d15, "plan in").says(&["capacity reservations are planned as full (cr-0a)", "on-demand"]);
    let planned = run(&d15, "plan in --capacity-reservations left.json");
    planned.says(&["reserved m7i.large us-west-2b"]);
    planned.is_silent_about(&["planned as full"]);
    // Two instances are left: a third pod finds none in the next round either.
    let pool = pool.replace("[reserved, on-demand]", "[reserved]");
    let web = deployment("web", 3).replace("cpu: 800m", "cpu: 1500m");
    let files = [
        ("in/class.yaml", &*class),
        ("in/pool.yaml", &pool),
        ("in/web.yaml", &web),
        ("left.json", left),
    ];
    let rounds = "plan in --capacity-reservations left.json --rounds 2 -o json";
    let json = run(&folder("d15-rounds", &files), rounds).json();
    let claims = json["newNodeClaims"].as_array().map(Vec::len);
    assert_eq!(claims, Some(2));
    assert_ne!(json["unschedulable"][0]["placedAfterLaunch"], true);
}

#[test]
fn d18_a_node_that_is_not_there_cannot_be_explained() {
    let folder = folder("d18", &[("class.yaml", CLASS), ("pool.yaml", POOL)]);
    let refused = run(&folder, "plan . --disruption --explain ip-1");
    refused.complains(&["--explain: there is no node `ip-1` among 0 nodes"]);
    assert_eq!(refused.code, Some(2));
    let refused = run(&folder, "plan . --context staging");
    refused.complains(&["--context: names the cluster that --live reads"]);
    assert_eq!(refused.code, Some(2));
    let refused = run(&folder, "hash . --ca-bundle ***");
    refused.complains(&["--ca-bundle: it is not base64"]);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn d22_amounts_are_as_people_say_them() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: big}\nspec: {containers: [{name: m, \
               resources: {requests: {ephemeral-storage: 52026258176}}}]}\n";
    let web = deployment("web", 1_000);
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("pod.yaml", pod), ("web.yaml", &web)];
    let planned = run(&folder("d22", &files), "plan .");
    planned.says(&["needs 48.4Gi ephemeral-storage", " a month)"]);
    planned.is_silent_about(&["52026258176"]);
}

#[test]
fn d23_the_table_says_how_many_types_a_claim_carries() {
    let web = deployment("web", 1);
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &web)];
    let planned = run(&folder("d23", &files), "plan .");
    planned.says(&["  600    default/web"]);
}

/// An empty node of the pool, which may be consolidated.
pub(crate) const NODE: &str = "\
apiVersion: v1
kind: Node
metadata:
  name: ip-1
  uid: n1
  creationTimestamp: 2026-08-01T08:00:00Z
  labels: {karpenter.sh/nodepool: general, karpenter.sh/registered: \"true\",
    karpenter.sh/initialized: \"true\", node.kubernetes.io/instance-type: m7i.large,
    karpenter.sh/capacity-type: on-demand, topology.kubernetes.io/zone: us-west-2a,
    topology.kubernetes.io/region: us-west-2, kubernetes.io/arch: amd64, kubernetes.io/os: linux}
spec: {providerID: \"aws:///us-west-2a/i-0123456789abcdef0\"}
status:
  capacity: {cpu: \"2\", memory: 8Gi, pods: \"29\"}
  allocatable: {cpu: 1930m, memory: 7Gi, pods: \"29\"}
  conditions: [{type: Ready, status: \"True\"}]
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: general-1, uid: c1, creationTimestamp: 2026-08-01T08:00:00Z,
  labels: {karpenter.sh/nodepool: general, node.kubernetes.io/instance-type: m7i.large,
    karpenter.sh/capacity-type: on-demand, topology.kubernetes.io/zone: us-west-2a}}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: []
status:
  nodeName: ip-1
  providerID: aws:///us-west-2a/i-0123456789abcdef0
  capacity: {cpu: \"2\", memory: 8Gi, pods: \"29\"}
  allocatable: {cpu: 1930m, memory: 7Gi, pods: \"29\"}
  conditions:
  - {type: Launched, status: \"True\", reason: Launched, lastTransitionTime: 2026-08-01T08:00:00Z}
  - {type: Registered, status: \"True\", reason: Registered, lastTransitionTime: 2026-08-01T08:00:00Z}
  - {type: Initialized, status: \"True\", reason: Initialized, lastTransitionTime: 2026-08-01T08:00:00Z}
  - {type: Consolidatable, status: \"True\", reason: Consolidatable, lastTransitionTime: 2026-08-01T08:00:00Z}
";

#[test]
fn d24_a_node_that_goes_is_not_said_to_stay() {
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("node.yaml", NODE)];
    let folder = folder("d24", &files);
    let words = "plan . --disruption --now 2026-08-01T12:00:00Z";
    run(&folder, words).says(&["emptiness disrupts 1 node: saves $73.58 a month"]);
    let explained = run(&folder, &format!("{words} --explain ip-1"));
    explained.says(&["emptiness disrupts ip-1: empty"]);
    explained.is_silent_about(&["is not disrupted"]);
}

#[test]
fn disruption_follows_the_controller_that_manages_the_nodes() {
    let ours = NODE.replace(
        "  labels: {karpenter.sh/nodepool: general, node.kubernetes.io",
        "  labels: {app.kubernetes.io/managed-by: journeyman, karpenter.sh/nodepool: general, node.kubernetes.io",
    );
    let pool = format!("{POOL}  disruption: {{consolidateAfter: 30s}}\n");
    let words = "plan . --disruption --now 2026-08-01T12:00:00Z";
    for (node, options, view, verdict) in [
        (NODE, "", "As Karpenter decides", "emptiness disrupts 1 node"),
        (
            NODE,
            " --view journeyman",
            "As the function `disrupt` decides",
            "emptiness disrupts 1 node",
        ),
        // Since when it is empty stands in the ledger alone, and is noted by the first look that sees it.
        (&*ours, "", "As the function `disrupt` decides", "Nothing to disrupt"),
        (&*ours, "", "As the function `disrupt` decides", "since when 1 node is empty"),
        (&*ours, " --view karpenter", "As Karpenter decides", "emptiness disrupts 1 node"),
    ] {
        let files = [("class.yaml", CLASS), ("pool.yaml", &*pool), ("node.yaml", node)];
        run(&folder("view", &files), &format!("{words}{options}")).says(&[view, verdict]);
    }
}

#[test]
fn drift_by_a_class_is_found_by_its_hash_or_said_to_be_unknown() {
    let stamped = |hash: &str, version: &str| {
        format!(
            "  annotations: {{karpenter.k8s.aws/ec2nodeclass-hash: '{hash}', \
             karpenter.k8s.aws/ec2nodeclass-hash-version: {version}}}\n"
        )
    };
    let node = NODE.replace("  name: general-1\n", "").replace(
        "metadata: {name: general-1, uid: c1, creationTimestamp: 2026-08-01T08:00:00Z,\n",
        "metadata: {name: general-1, uid: c1, creationTimestamp: 2026-08-01T08:00:00Z,\n  annotations: \
         {karpenter.k8s.aws/ec2nodeclass-hash: '1', karpenter.k8s.aws/ec2nodeclass-hash-version: v6},\n",
    );
    let words = "plan . --disruption --now 2026-08-01T12:00:00Z";
    let class = |annotations: &str| {
        CLASS.replacen(
            "metadata: {name: default}\n",
            &format!("metadata:\n  name: default\n{annotations}"),
            1,
        )
    };
    let planned = |class: &str, options: &str| {
        let files = [("class.yaml", class), ("pool.yaml", POOL), ("node.yaml", &*node)];
        run(&folder("class-hash", &files), &format!("{words}{options}"))
    };
    let unknown = "have drifted from the spec of EC2NodeClass default";
    planned(&class(""), "").says(&[unknown, "--ca-bundle"]);
    planned(&class(""), " --ca-bundle Z29sZGVu").says(&["NodeClassDrift: ip-1"]);
    planned(&class(&stamped("2", "v6")), "").says(&["NodeClassDrift: ip-1"]);
    // What is known to have drifted is not unknown.
    planned(&class(&stamped("2", "v6")), "").is_silent_about(&[unknown]);
    planned(&class(&stamped("1", "v6")), "").is_silent_about(&["NodeClassDrift"]);
    // Hashes of two versions say nothing about each other.
    planned(&class(&stamped("2", "v5")), "").is_silent_about(&["NodeClassDrift"]);
}

#[test]
fn w5_disruption_says_first_what_goes_and_then_why_the_rest_stays_and_until_when() {
    let budget = "  disruption:\n    budgets:\n    - {nodes: \"2\"}\n    - {nodes: \"0\", reasons: \
                  [Underutilized], schedule: \"0 11 * * *\", duration: 3h}\n";
    let pool = format!("{POOL}{budget}");
    let nodes: Vec<String> = (1..=5)
        .map(|number| {
            let node = NODE
                .replace("ip-1", &format!("ip-{number}"))
                .replace("general-1", &format!("general-{number}"))
                .replace("uid: n1", &format!("uid: n{number}"));
            node.replace("i-0123456789abcdef0", &format!("i-0123456789abcde{number}0"))
        })
        .collect();
    let files =
        [("class.yaml", CLASS), ("pool.yaml", &*pool), ("nodes.yaml", &nodes.join("---\n"))];
    let folder = folder("w5", &files);
    let planned = run(&folder, "plan . --disruption --now 2026-08-01T12:00:00Z");
    let first = planned.out.split("\n\n").nth(1).and_then(|part| part.lines().next());
    assert_eq!(first, Some("emptiness disrupts 2 nodes: saves $147 a month, 0 pods move"));
    planned.says(&[
        "3 nodes are not disrupted (--explain NODE: what each method says)",
        "  ip-3, ip-4, ip-5: emptiness: blocked by the disruption budgets of its NodePool for Empty: ",
        "  general: no node for Underutilized, until 2026-08-01T14:00:00Z; 2 nodes for ",
    ]);
    let json = run(&folder, "plan . --disruption --now 2026-08-01T12:00:00Z -o json").json();
    assert_eq!(json["stays"].as_array().map(Vec::len), Some(3));
    assert_eq!(json["budgets"]["general"]["Underutilized"], 0);
}

#[test]
fn d26_min_values_that_are_not_reached_are_named_and_so_is_what_was_lowered() {
    let pool = POOL.replace(
        "[on-demand]}",
        "[on-demand]}\n      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, \
         m7g, m99x], minValues: 3}",
    );
    let web = deployment("web", 1);
    let files = [("class.yaml", CLASS), ("pool.yaml", &pool), ("web.yaml", &web)];
    let folder = folder("d26", &files);
    run(&folder, "plan .").says(&[
        "minValues",
        "karpenter.k8s.aws/instance-family",
        "2 of 3 values",
    ]);
    run(&folder, "plan . --min-values-policy BestEffort")
        .says(&["general: minValues of karpenter.k8s.aws/instance-family lowered from 3 to 2"]);
}

#[test]
fn w1_the_json_has_totals_reasons_by_pool_and_what_was_left_out() {
    let big = deployment("big", 1).replace("800m", "9000");
    let job = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly}\n";
    let workloads = [deployment("web", 3_000), big, job.to_owned()].join("---\n");
    let one_type = "- {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large]}";
    let pool = format!("{POOL}      {one_type}\n");
    let files = [("class.yaml", CLASS), ("pool.yaml", &*pool), ("web.yaml", &workloads)];
    let folder = folder("w1", &files);
    run(&folder, "plan .").says(&[
        "1,500 nodes would be launched, instances from $151 an hour ($110,376 a month)",
        "CronJob nightly: its pods are left out",
    ]);
    let json = run(&folder, "plan . -o json").json();
    let totals = &json["totals"];
    assert_eq!(totals["nodes"], 1_500);
    assert_eq!(totals["pricePerHour"], 151.2);
    assert_eq!(totals["podsOnNewNodes"], 3_000);
    assert_eq!(totals["podsUnschedulable"], 1);
    let of_pool = &totals["byNodePool"]["general"];
    assert_eq!((&of_pool["nodes"], &of_pool["pods"]), (&1_500.into(), &3_000.into()));
    let reason = &json["unschedulable"][0]["reasons"][0];
    assert_eq!(reason["nodePool"], "general");
    assert!(reason["message"].to_string().contains("needs 9000 cpu"), "{reason}");
    assert!(json["leftOut"][0].to_string().contains("CronJob nightly"), "{json}");
}

#[test]
fn w2_it_is_said_what_would_be_tried_again_and_rounds_show_it() {
    let apart = "spec: {affinity: {podAntiAffinity: \
                 {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
                 topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}]}}, \
                 containers";
    let web = deployment("web", 3).replace("spec: {containers", apart);
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &*web)];
    let folder = folder("w2", &files);
    let planned = run(&folder, "plan .");
    let again = "1 of them would be tried again after these launch";
    planned.says(&["2 pods cannot be scheduled", "default/web ×2", again]);
    // A rule and its inverse say it once, and so do equal pods.
    assert_eq!(planned.out.matches("a pod to keep away from").count(), 1, "{}", planned.out);
    let again = run(&folder, "plan . --rounds 3");
    let [_, second] = again.out.split("Round 2").collect::<Vec<_>>()[..] else {
        panic!("{}", again.out)
    };
    let [second, third] = second.split("Round 3").collect::<Vec<_>>()[..] else {
        panic!("{}", again.out)
    };
    assert!(
        second.contains("us-west-2b") && second.contains("1 pod cannot be scheduled"),
        "{second}"
    );
    // What was launched in the rounds before is there.
    assert!(third.contains("us-west-2c") && !third.contains("No place"), "{third}");
    let json = run(&folder, "plan . --rounds 3 -o json").json();
    let waiting = json["unschedulable"].as_array().expect("pods");
    let later = waiting.iter().filter(|pod| pod["placedAfterLaunch"] == true).count();
    assert_eq!((waiting.len(), later), (2, 1));
    assert_eq!(json["rounds"][1]["unschedulable"].as_array().map(Vec::len), Some(0));
}

#[test]
fn w3_reasons_name_the_cause() {
    let pod = |name: &str, spec: &str| {
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n---\n")
    };
    let on = |name: &str, label: &str, value: &str| {
        let container = "containers: [{name: m, resources: {requests: {cpu: 1}}}]";
        pod(name, &format!("nodeSelector: {{{label}: {value}}}, {container}"))
    };
    let large = "containers: [{name: m, resources: {requests: {ephemeral-storage: 500Gi}}}]";
    let pods = [
        on("unknown-type", "node.kubernetes.io/instance-type", "m99.large"),
        on("foreign-zone", "topology.kubernetes.io/zone", "eu-west-1a"),
        on("no-reservation", "karpenter.k8s.aws/capacity-reservation-id", "cr-0a"),
        pod("disk", large),
    ];
    let of_type = "- {key: node.kubernetes.io/instance-type, operator: In, values: [m99.metal]}";
    let other = POOL.replace("name: general", "name: other");
    let other = format!("{other}      {of_type}\n");
    let folder =
        folder("w3", &[("class.yaml", CLASS), ("pool.yaml", POOL), ("pods.yaml", &pods.concat())]);
    run(&folder, "plan .").says(&[
        "there is no instance type m99.large",
        "nodes of EC2NodeClass default can only be in us-west-2a or us-west-2b or us-west-2c or \
         us-west-2d, not in eu-west-1a",
        "EC2NodeClass default selects no capacity reservation cr-0a",
        "needs 500Gi ephemeral-storage, largest instance type",
        "that is the size of the volume in spec.blockDeviceMappings of EC2NodeClass default",
    ]);
    std::fs::write(folder.join("pool.yaml"), other).expect("a pool of the test");
    run(&folder, "plan .").says(&["that can be bought now: there is no instance type m99.metal"]);
}

#[test]
fn k1_a_buffer_is_planned_for_whatever_strategy_it_names() {
    let buffer = "\
apiVersion: v1
kind: PodTemplate
metadata: {name: build}
template:
  spec: {containers: [{name: build, resources: {requests: {cpu: 800m}}}]}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: builds}
spec: {provisioningStrategy: example.com/another, podTemplateRef: {name: build}, replicas: 3}
";
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("buffer.yaml", buffer)];
    let folder = folder("k1", &files);
    run(&folder, "plan . --feature-gates CapacityBuffer=true").says(&["would be launched"]);
    run(&folder, "plan .").is_silent_about(&["would be launched"]);
}

#[test]
fn a_schedule_that_cannot_be_read_closes_disruption_and_nothing_else() {
    for (schedule, rule, cure) in [
        ("0 0 * * sat-sun", "the range `sat-sun` runs backwards", "write `sat,sun`"),
        ("30 10 * * 1-7", "must be 0 to 6, not `1-7`", "write `0-6`"),
        ("a b c d e", "`a` is not a minute", "not a schedule"),
        ("0 9 * * 5#2", "`5#2` is not a day of week", "not a schedule"),
        ("0 9 * * 1 2026", "it must be five fields", "not a schedule"),
        ("CRON_TZ=europe/berlin 0 9 * * 1", "is not a time zone", "write `Europe/Berlin`"),
    ] {
        let budget = format!(
            "  disruption:\n    budgets: [{{nodes: 100%}}, {{nodes: \"0\", schedule: \"{schedule}\", \
             duration: 8h}}]\n"
        );
        let (pool, web) = (format!("{POOL}{budget}"), deployment("web", 4));
        let files = [
            ("in/class.yaml", CLASS),
            ("in/pool.yaml", &*pool),
            ("in/node.yaml", NODE),
            ("web/web.yaml", &web),
        ];
        let folder = folder("schedule", &files);
        let validated = run(&folder, "validate in");
        assert_eq!(validated.code, Some(1), "{schedule}");
        validated.says(&["spec.disruption.budgets[1].schedule", rule, cure]);
        let planned = run(&folder, "plan in --disruption --now 2026-08-01T12:00:00Z");
        planned.says(&["ip-1", "no node of its NodePool is disrupted", rule, cure]);
        planned.says(&["general: no node is disrupted: spec.disruption.budgets[1].schedule"]);
        // The pool launches.
        let planned = run(&folder, "plan in web --now 2026-08-01T12:00:00Z -o json").json();
        assert_eq!(planned["totals"]["podsUnschedulable"], 0, "{schedule}");
        let played = run(&folder, "simulate in/class.yaml in/pool.yaml web --duration 5m");
        played.says(&[rule]);
        assert_eq!(played.code, Some(0), "{schedule}");
    }
}

#[test]
fn pods_of_a_template_come_before_the_room_of_a_buffer() {
    let pool = format!("{POOL}  limits: {{cpu: \"4\"}}\n");
    let buffer = "apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {name: aaa}\nspec:\n  \
                  scalableRef: {apiGroup: apps, kind: Deployment, name: web}\n  replicas: 9\n";
    let web = deployment("web", 4);
    let files =
        [("class.yaml", CLASS), ("pool.yaml", &*pool), ("web.yaml", &*web), ("room.yaml", buffer)];
    let folder = folder("room-after-pods", &files);
    let planned = run(&folder, "plan . --feature-gates CapacityBuffer=true -o json").json();
    let waiting = planned["unschedulable"].to_string();
    assert!(waiting.contains("default/capacity-buffer-aaa-9"), "{planned}");
    assert!(!waiting.contains("default/web"), "{planned}");
    run(&folder, "plan .").says(&["CapacityBuffer default/aaa has no effect"]);
}

#[test]
fn settings_of_nodes_change_what_a_plan_fits_onto_them() {
    let pool = POOL.replace(
        "requirements:\n",
        "requirements:\n      - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}\n",
    );
    let web = deployment("web", 25).replace("800m", "10m");
    let files = [("class.yaml", CLASS), ("pool.yaml", &*pool), ("web.yaml", &web)];
    let folder = folder("reserved-enis", &files);
    // m5.large has room for 29 pods, and for 20 without one of its three interfaces.
    run(&folder, "plan .").says(&["1 node would be launched"]);
    let reserved = run(&folder, "plan . --reserved-enis 1");
    reserved.says(&["2 nodes would be launched"]);
    assert_eq!(run(&folder, "plan . --set ReservedEnis=1").out, reserved.out);
}

#[test]
fn pods_with_a_nominated_node_are_left_out_and_named() {
    let pod = |name: &str, status: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: default, uid: {name}}}\n\
             spec: {{containers: [{{name: m, resources: {{requests: {{cpu: 800m}}}}}}]}}\nstatus: {{phase: \
             Pending, {status}conditions: [{{type: PodScheduled, status: \"False\", reason: \
             Unschedulable}}]}}\n"
        )
    };
    let pods: String = ["a", "b", "c", "d"]
        .map(|name| pod(name, "nominatedNodeName: n1, "))
        .into_iter()
        .chain([pod("e", "")])
        .collect();
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("pods.yaml", &*pods)];
    let planned = run(&folder("nominated", &files), "plan .");
    planned.says(&[
        "default/e",
        "4 pods left out, which kube-scheduler nominated nodes for: default/a for n1, default/b for n1, \
         default/c for n1 and 1 more",
    ]);
}
