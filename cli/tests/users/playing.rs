//! `simulate`.

use crate::{CLASS, POOL, deployment, folder, run};

#[test]
fn d3_an_archive_that_ends_with_a_bare_boundary_is_merged() {
    let archive = "\
\x20 userData: |
    MIME-Version: 1.0
    Content-Type: multipart/mixed; boundary=\"BOUNDARY\"

    --BOUNDARY
    Content-Type: text/x-shellscript; charset=\"us-ascii\"

    #!/bin/bash
    echo hello

    --BOUNDARY
";
    let class = format!("{CLASS}{archive}");
    let web = deployment("web", 1);
    let files = [("class.yaml", &*class), ("pool.yaml", POOL), ("web.yaml", &web)];
    let played = run(&folder("d3", &files), "simulate --manifests . --duration 3m --strict");
    played.says(&["pods placed      1"]);
    assert_eq!(played.code, Some(0));
}

#[test]
fn d4_a_custom_family_takes_the_images_of_its_alias() {
    let class = CLASS
        .replace("[{alias: al2023@latest}]", "[{alias: bottlerocket@latest}]\n  amiFamily: Custom");
    let web = deployment("web", 1);
    let files = [("class.yaml", &*class), ("pool.yaml", POOL), ("web.yaml", &web)];
    let played = run(&folder("d4", &files), "simulate --manifests . --duration 3m --strict");
    played.says(&["pods placed      1", "AMI alias bottlerocket@latest"]);
    assert_eq!(played.code, Some(0));
}

#[test]
fn d5_a_launch_that_is_refused_is_said_with_its_reason_once() {
    let archive =
        "  userData: |\n    MIME-Version: 1.0\n    Content-Type: text/plain\n\n    hello\n";
    let class = format!("{CLASS}{archive}");
    let web = deployment("web", 1);
    let files = [("class.yaml", &*class), ("pool.yaml", POOL), ("web.yaml", &web)];
    let folder = folder("d5", &files);
    let played = run(&folder, "simulate --manifests . --duration 2m --strict");
    played.says(&["it starts like MIME, but is not multipart"]);
    assert!(played.out.lines().count() < 60, "{}", played.out);
    assert_eq!(played.code, Some(1));
    let planned = run(&folder, "plan . --strict");
    planned.says(&["it starts like MIME, but is not multipart"]);
    assert_eq!(planned.code, Some(1));
}

#[test]
fn d10_any_duration_ends_with_a_summary() {
    let folder = folder("d10", &[("class.yaml", CLASS), ("pool.yaml", POOL)]);
    let played = run(&folder, "simulate --manifests . --duration 101h");
    played.says(&["Summary after 101:00:00"]);
    assert_eq!(played.code, Some(0));
}

#[test]
fn the_summary_names_the_rule_that_keeps_pods_from_a_place() {
    let web = deployment("web", 2)
        .replace("spec: {containers", "spec: {nodeSelector: {team: a}, containers");
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &*web)];
    let folder = folder("playing-remedy", &files);
    let remedy = "it could be scheduled without its node selector team In [a]";
    let played = run(&folder, "simulate --manifests . --duration 2m");
    played.says(&["Cannot be scheduled\n  default/web ×2: general: ", remedy]);
    let document = run(&folder, "simulate --manifests . --duration 2m --output json").json();
    let pods = document["summary"]["unplaced"].as_array().expect("pods");
    let said = pods.iter().map(|pod| pod["reasons"].as_array().expect("reasons"));
    let is_named = |reasons: &Vec<serde_json::Value>| reasons.iter().any(|text| text == remedy);
    assert_eq!(said.filter(|reasons| is_named(reasons)).count(), 2);
}

#[test]
fn d11_static_pools_are_not_passed_over_in_silence() {
    let pool = POOL.replace("spec:\n  template", "spec:\n  replicas: 2\n  template");
    let folder = folder("d11", &[("class.yaml", CLASS), ("pool.yaml", &pool)]);
    let played = run(&folder, "simulate --manifests . --duration 2m");
    played.says(&[
        "Not used\n",
        "NodePool general: spec.replicas has no effect: the feature gate StaticCapacity is off \
         (--feature-gates StaticCapacity=true)",
    ]);
    played.is_silent_about(&["Objects that could not be read"]);
}

/// A cluster of one half-empty node and one with two pods, as `kubectl get -o yaml` saves it.
fn dump() -> String {
    let node = |number: u32, kind: &str| {
        let labels = format!(
            "{{karpenter.sh/nodepool: general, karpenter.sh/registered: \"true\", \
             karpenter.sh/initialized: \"true\", node.kubernetes.io/instance-type: {kind}, \
             karpenter.sh/capacity-type: on-demand, topology.kubernetes.io/zone: us-west-2a, \
             kubernetes.io/arch: amd64, kubernetes.io/os: linux, kubernetes.io/hostname: ip-{number}}}"
        );
        let amounts = "{cpu: \"2\", memory: 8Gi, pods: \"29\"}";
        let allocatable = "{cpu: 1930m, memory: 6Gi, pods: \"29\"}";
        let at = "2026-09-01T08:00:00Z";
        let conditions = ["Launched", "Registered", "Initialized"]
            .map(|kind| {
                format!("{{type: {kind}, status: \"True\", reason: R, lastTransitionTime: {at}}}")
            })
            .join(", ");
        format!(
            "apiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {{name: general-{number}, \
             creationTimestamp: {at}, labels: {labels}}}\nspec:\n  nodeClassRef: {{group: \
             karpenter.k8s.aws, kind: EC2NodeClass, name: default}}\n  requirements: []\nstatus: \
             {{nodeName: ip-{number}, providerID: \"aws:///us-west-2a/i-000000000000000{number:02}\", \
             capacity: {amounts}, allocatable: {allocatable}, conditions: [{conditions}]}}\n---\n\
             apiVersion: v1\nkind: Node\nmetadata: {{name: ip-{number}, creationTimestamp: {at}, \
             labels: {labels}}}\nspec: {{providerID: \
             \"aws:///us-west-2a/i-000000000000000{number:02}\"}}\nstatus: {{capacity: {amounts}, \
             allocatable: {allocatable}, conditions: [{{type: Ready, status: \"True\"}}]}}\n---\n"
        )
    };
    let pod = |name: &str, node: u32| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: web-7d9c8b6f5-{name}, labels: {{app: web}}, \
             ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web-7d9c8b6f5, \
             controller: true}}]}}\nspec: {{nodeName: ip-{node}, containers: [{{name: m, resources: \
             {{requests: {{cpu: 800m}}}}}}]}}\nstatus: {{phase: Running}}\n---\n"
        )
    };
    let parts = [
        node(1, "m7i.large"),
        node(2, "m7i.large"),
        pod("x2k4q", 1),
        pod("aaaaa", 2),
        pod("bbbbb", 2),
        deployment("web", 3),
    ];
    parts.concat()
}

/// What runs there stays, whatever else would cost less.
fn settled_pool() -> String {
    format!("{POOL}  disruption: {{consolidateAfter: Never}}\n")
}

#[test]
fn w4_a_simulation_starts_from_what_runs_in_a_saved_cluster() {
    let pool = settled_pool();
    let files = [("class.yaml", CLASS), ("pool.yaml", &*pool), ("dump.yaml", &dump())];
    let folder = folder("w4", &files);
    let played = run(&folder, "simulate --manifests . --duration 5m");
    played.says(&["2: 2 m7i.large", "launched in all  0 instances", "pods unplaced    0"]);
    played.is_silent_about(&["not supported yet", "is left out"]);
    // What runs is taken over: a pod more than there is room for brings one node, and no more.
    let scenario = "events: [{at: 10m, scale: {workload: web, replicas: 5}}]";
    std::fs::write(folder.join("scenario"), scenario).expect("a scenario of the test");
    let scaled = run(&folder, "simulate --manifests . --scenario scenario --duration 20m");
    scaled.says(&["launched in all  1 instance", "pods unplaced    0"]);
    let elsewhere = dump().replace("us-west-2a", "eu-west-1a");
    std::fs::write(folder.join("dump.yaml"), elsewhere).expect("another region");
    run(&folder, "simulate --manifests .")
        .complains(&["Node ip-1: is in eu-west-1a, and the simulated account in us-west-2"]);
}

#[test]
fn w4_a_saved_cluster_may_have_old_nodes() {
    let dump = dump();
    let young = dump.rfind("apiVersion: karpenter.sh/v1\nkind: NodeClaim").expect("a second claim");
    let (old, young) = dump.split_at(young);
    let dump = [&old.replace("2026-09-01", "2026-08-31"), young].concat();
    let pool = settled_pool();
    let files = [("class.yaml", CLASS), ("pool.yaml", &*pool), ("dump.yaml", &dump)];
    let played = run(&folder("w4-old", &files), "simulate --manifests . --duration 5m");
    played.says(&["2: 2 m7i.large", "launched in all  0 instances"]);
    assert_eq!(played.code, Some(0), "{}", played.complaints);
}

#[test]
fn w4_the_summary_comes_last_and_what_is_alike_is_said_once() {
    let giant = deployment("giant", 5).replace("800m", "9000");
    let web = deployment("web", 30);
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &*web), ("g.yaml", &giant)];
    let folder = folder("w4-summary", &files);
    let words = "simulate --manifests class.yaml pool.yaml web.yaml g.yaml --duration 5m";
    let played = run(&folder, words);
    // Named as those of every other command.
    let again = run(&folder, "simulate class.yaml pool.yaml web.yaml g.yaml --duration 5m");
    assert_eq!(again.out, played.out);
    let places =
        ["What happened", "Cannot be scheduled", "Summary after"].map(|text| played.out.find(text));
    assert!(places.is_sorted() && places[0].is_some(), "{}", played.out);
    played.says(&["35 pods created", "default/giant ×5: general: needs 9000 cpu"]);
    // Once before the summary, once when it was found out.
    assert_eq!(played.out.matches("needs 9000 cpu").count(), 2, "{}", played.out);
}

#[test]
fn overlays_and_buffers_are_played_and_a_closed_gate_is_said() {
    let room = r#"
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: cheap}
spec:
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m5.8xlarge]}]
  price: "0.01"
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: also}
spec:
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m5.8xlarge]}]
  price: "0.02"
---
apiVersion: v1
kind: PodTemplate
metadata: {name: headroom}
template:
  spec: {containers: [{name: m, resources: {requests: {cpu: "4"}}}]}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: room}
spec: {podTemplateRef: {name: headroom}, replicas: 2}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: half}
spec: {scalableRef: {apiGroup: apps, kind: Deployment, name: web}, percentage: 50}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: lost}
spec: {podTemplateRef: {name: nowhere}, replicas: 2}
"#;
    let web = deployment("web", 2);
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &web), ("room.yaml", room)];
    let folder = folder("buffers", &files);
    let closed = run(&folder, "simulate . --duration 5m");
    closed.says(&[
        "NodeOverlay cheap has no effect: the feature gate NodeOverlay is off",
        "CapacityBuffer default/room has no effect: the feature gate CapacityBuffer is off",
        "1 node for 2 pods",
    ]);
    let gates = "--feature-gates NodeOverlay=true,CapacityBuffer=true";
    let open = run(&folder, &format!("simulate . --duration 5m {gates}"));
    // Two pods, two of the template, and half of the Deployment.
    open.says(&["1 node for 5 pods, from $0.0100 an hour"]);
    let overlays = [
        "NodeOverlay also changes nothing: it conflicts with NodeOverlay cheap of the same weight: the price of \
         m5.8xlarge in NodePool general",
        "NodeOverlay cheap: plans and decisions have the prices that it sets; launched instances and costs have EC2's",
    ];
    open.says(&overlays);
    run(&folder, &format!("plan . {gates}")).says(&overlays);
    assert!(!open.out.contains("has no effect"), "{}", open.out);
    let set = "--set FeatureGates=NodeOverlay=true,CapacityBuffer=true";
    assert_eq!(run(&folder, &format!("simulate . --duration 5m {set}")).out, open.out);
    let grows = "end: 10m\nevents:\n- {at: 6m, scale: {workload: web, replicas: 40}}\n";
    std::fs::write(folder.join("grows.yml"), grows).expect("a file");
    let grown = run(
        &folder,
        &format!("simulate pool.yaml class.yaml web.yaml room.yaml --scenario grows.yml {gates}"),
    );
    // The buffer of the Deployment has grown with it: one pod, two of the template, and twenty of the Deployment.
    grown.says(&["1 node for 23 pods", "nodes now        2: 2 m5.8xlarge"]);
}

#[test]
fn a_scenario_applies_one_object_where_its_class_is_there() {
    let web = deployment("web", 1);
    let other = POOL.replace("  template:\n", "  template:\n    metadata: {labels: {team: b}}\n");
    assert_ne!(other, POOL);
    let lost = POOL.replace("name: default", "name: lost");
    let scenario = "end: 30m\nevents:\n- {at: 10m, apply: more/other.yaml}\n";
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &web), ("s.yml", scenario)];
    let folder = folder("applies", &files);
    std::fs::create_dir(folder.join("more")).expect("a folder");
    std::fs::write(folder.join("more/other.yaml"), &other).expect("a file");
    let played = run(&folder, "simulate class.yaml pool.yaml web.yaml --scenario s.yml");
    played.says(&["1 NodeClaim (1 Drifted)"]);
    std::fs::write(folder.join("more/other.yaml"), lost).expect("a file");
    let refused = run(&folder, "simulate class.yaml pool.yaml web.yaml --scenario s.yml");
    refused.complains(&["events: apply: NodePool general: there is no EC2NodeClass `lost`"]);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn an_event_that_matches_nothing_is_warned_of_and_what_is_applied_or_deleted_is_in_the_story() {
    let scenario = "end: 9m\nevents:\n\
                    - {at: 2m, scale: {workload: wed, replicas: 9}}\n\
                    - {at: 3m, delete: {kind: NodePool, name: lost}}\n\
                    - {at: 4m, interruptSpot: ip-1-2-3-4}\n\
                    - {at: 5m, price: {instanceType: m5.lerge, zone: us-west-2a, capacityType: spot, \
                    pricePerHour: \"1\"}}\n\
                    - {at: 6m, apply: again.yaml}\n\
                    - {at: 7m, delete: {kind: Deployment, name: web}}\n";
    let web = deployment("web", 1);
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &web), ("s.yml", scenario)];
    let folder = folder("in-vain", &files);
    std::fs::write(folder.join("again.yaml"), deployment("web", 2)).expect("a file");
    let played = run(&folder, "simulate class.yaml pool.yaml web.yaml --scenario s.yml");
    let in_vain = [
        "at +00:02:00: scale workload default/wed to 9: changes nothing, it is not there",
        "at +00:03:00: delete NodePool lost: changes nothing",
        "at +00:04:00: interrupt spot instance of node ip-1-2-3-4: changes nothing",
        "at +00:05:00: set the price of spot m5.lerge us-west-2a: changes nothing",
    ];
    played.complains(&in_vain);
    assert_eq!(played.complaints.lines().count(), in_vain.len(), "{}", played.complaints);
    played.says(&[
        "+00:06:00 scenario: apply workload default/web",
        "+00:07:00 scenario: delete workload default/web",
        "+00:03:00 scenario: delete NodePool lost: changes nothing, it is not there",
    ]);
}

#[test]
fn a_startup_taint_without_an_owner_stays() {
    let web = deployment("web", 1);
    let owned = "its owner removes it from each node that is ready";
    for (key, effect, placed, note) in [
        (
            "karpenter.sh/unregistered",
            "NoSchedule",
            0,
            "it stays on every node: nothing removes it",
        ),
        ("karpenter.sh/unregistered", "NoExecute", 1, "registration removes it from each node"),
        ("node.cilium.io/agent-not-ready", "NoSchedule", 1, owned),
    ] {
        let taint = format!("startupTaints: [{{key: {key}, effect: {effect}}}]");
        let pool =
            POOL.replace("      nodeClassRef", &format!("      {taint}\n      nodeClassRef"));
        assert_ne!(pool, POOL);
        let name = format!("startup-{effect}-{placed}");
        let folder =
            folder(&name, &[("class.yaml", CLASS), ("pool.yaml", &pool), ("web.yaml", &web)]);
        let played = run(&folder, "simulate . --duration 10m");
        let note = format!("startup taint {key}:{effect} of NodePool general: {note}");
        played.says(&[&format!("pods placed      {placed}"), &note]);
    }
}

#[test]
fn a_drain_that_waits_for_pods_is_advised_no_field_of_a_node_pool_that_is_gone() {
    let web = deployment("web", 1).replace(
        "metadata: {labels",
        "metadata: {annotations: {karpenter.sh/do-not-disrupt: 'true'}, labels",
    );
    let deleted = "events: [{at: 5m, delete: {kind: NodePool, name: general}}]";
    let files = [
        ("in/class.yaml", CLASS),
        ("in/pool.yaml", POOL),
        ("in/web.yaml", &*web),
        ("deleted.yaml", deleted),
    ];
    let folder = folder("gone", &files);
    let played = run(&folder, "simulate --manifests in --scenario deleted.yaml --duration 30m");
    played.says(&[": draining for 00:2", "the drain ends when these pods are deleted"]);
    played.is_silent_about(&["terminationGracePeriod", ": drained for"]);
}

#[test]
fn a_pod_that_is_planned_again_and_again_counts_once() {
    let class = CLASS.replace(
        "  amiSelectorTerms: [{alias: al2023@latest}]\n",
        "  amiSelectorTerms: [{alias: bottlerocket@latest}]\n  userData: echo hi\n",
    );
    let web = deployment("web", 1);
    let files = [("class.yaml", &*class), ("pool.yaml", POOL), ("web.yaml", &web)];
    let played = run(&folder("counts-once", &files), "simulate . --duration 10m");
    played.says(&["no node for default/web: general: ", "1 node for 1 pod, from $"]);
    played.is_silent_about(&["2 pods", "2 nodes"]);
}

#[test]
fn an_alias_without_images_is_named_by_both_commands() {
    let web = deployment("web", 1);
    for (alias, why) in [
        ("al2", "`al2@latest` is not built for Kubernetes 1.33 and later: use al2023"),
        ("windows2025", "`windows2025@latest` is not built for Kubernetes before 1.35"),
    ] {
        let class = CLASS.replace("al2023@latest}]", &format!("{alias}@latest}}]"));
        let files = [("class.yaml", &*class), ("pool.yaml", POOL), ("web.yaml", &web)];
        let folder = folder(&format!("no-image-{alias}"), &files);
        let why = [why, "EC2NodeClass default is not ready"];
        run(&folder, "simulate . --duration 3m").says(&why);
        run(&folder, "plan .").says(&why);
    }
}

#[test]
fn labels_of_user_data_are_on_nodes() {
    let web = deployment("web", 1);
    let config = "apiVersion: node.eks.aws/v1alpha1, kind: NodeConfig, spec: {kubelet: {flags: \
                  [--node-labels=team=blue]}}";
    for (alias, user_data) in [
        ("al2023", format!("{{{config}}}")),
        ("bottlerocket", "settings.kubernetes.node-labels.team = \"blue\"".to_owned()),
    ] {
        let class = CLASS.replace(
            "al2023@latest}]\n",
            &format!("{alias}@latest}}]\n  userData: '{user_data}'\n"),
        );
        let files = [("in/class.yaml", &*class), ("in/pool.yaml", POOL), ("in/web.yaml", &web)];
        let folder = folder(&format!("own-labels-{alias}"), &files);
        run(&folder, "simulate in --duration 3m --dumps dumps --every 1m").says(&["1 pod running"]);
        let dump = std::fs::read_to_string(folder.join("dumps/2026-01-05T08-02-00Z.json"));
        let dump: serde_json::Value = serde_json::from_str(&dump.expect("a dump")).expect("JSON");
        let mut items = dump["items"].as_array().expect("items").iter();
        let node = items.find(|item| item["kind"] == "Node").expect("a node");
        assert_eq!(node["metadata"]["labels"]["team"], "blue", "{alias}: {node}");
    }
}

#[test]
fn a_drain_names_the_budget_that_holds_it() {
    let web = deployment("web", 1);
    let budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: all}\nspec: \
                  {maxUnavailable: 0, selector: {matchLabels: {app: web}}}\n";
    let deleted = "events: [{at: 5m, delete: {kind: NodePool, name: general}}]";
    let files = [
        ("in/class.yaml", CLASS),
        ("in/pool.yaml", POOL),
        ("in/web.yaml", &*web),
        ("in/budget.yaml", budget),
        ("scenario", deleted),
    ];
    let folder = folder("budget-named", &files);
    run(&folder, "simulate in --scenario scenario --duration 30m")
        .says(&[": PodDisruptionBudget default/all allows no eviction"]);
}
