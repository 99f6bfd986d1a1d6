//! `simulate` of a cluster that was saved while something was under way.

use crate::{CLASS, POOL, deployment, folder, run};

const AT: &str = "2026-09-01T08:00:00Z";

/// How far a node has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Come {
    Launched,
    Registered,
    Initialized,
}

fn labels(number: u32) -> String {
    format!(
        "karpenter.sh/nodepool: general, node.kubernetes.io/instance-type: m7i.large, \
         karpenter.sh/capacity-type: on-demand, topology.kubernetes.io/zone: us-west-2a, \
         kubernetes.io/arch: amd64, kubernetes.io/os: linux, kubernetes.io/hostname: ip-{number}"
    )
}

const CAPACITY: &str = "capacity: {cpu: \"2\", memory: 8Gi, pods: \"29\"}, \
                        allocatable: {cpu: 1930m, memory: 6Gi, pods: \"29\"}";

/// The NodeClaim `general-<number>`, which has come so far.
fn claim(number: u32, come: Come) -> String {
    let conditions = ["Launched", "Registered", "Initialized"];
    let steps = [Come::Launched, Come::Registered, Come::Initialized];
    let conditions = conditions.iter().zip(steps).map(|(kind, at)| {
        let status = if at <= come { "True" } else { "Unknown" };
        format!("{{type: {kind}, status: \"{status}\", reason: R, lastTransitionTime: {AT}}}")
    });
    let conditions = conditions.collect::<Vec<_>>().join(", ");
    let node =
        if come == Come::Launched { String::new() } else { format!("nodeName: ip-{number}, ") };
    let labels = labels(number);
    format!(
        "---\napiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {{name: general-{number}, \
         creationTimestamp: {AT}, labels: {{{labels}}}}}\nspec: {{nodeClassRef: {{group: \
         karpenter.k8s.aws, kind: EC2NodeClass, name: default}}, requirements: []}}\nstatus: {{{node}\
         providerID: \"aws:///us-west-2a/i-000000000000000{number:02}\", {CAPACITY}, conditions: \
         [{conditions}]}}\n"
    )
}

/// Its node, with `taints`.
fn node(number: u32, come: Come, taints: &str) -> String {
    let done = if come == Come::Initialized { ", karpenter.sh/initialized: \"true\"" } else { "" };
    let is_ready = if taints.contains("not-ready") { "False" } else { "True" };
    let labels = labels(number);
    format!(
        "---\napiVersion: v1\nkind: Node\nmetadata: {{name: ip-{number}, creationTimestamp: {AT}, labels: \
         {{{labels}, karpenter.sh/registered: \"true\"{done}}}}}\nspec: {{providerID: \
         \"aws:///us-west-2a/i-000000000000000{number:02}\", taints: [{taints}]}}\nstatus: \
         {{{CAPACITY}, conditions: [{{type: Ready, status: \"{is_ready}\"}}]}}\n"
    )
}

fn running(numbers: std::ops::RangeInclusive<u32>) -> String {
    let both = |number| claim(number, Come::Initialized) + &node(number, Come::Initialized, "");
    numbers.map(both).collect()
}

#[test]
fn nodes_that_are_there_are_replicas_of_a_static_pool() {
    let dump = running(1..=2);
    for (replicas, launched, left) in
        [(2, 0, "2: 2 m7i.large"), (3, 1, "3: "), (1, 0, "1: 1 m7i.large")]
    {
        let pool = POOL
            .replace("spec:\n  template", &format!("spec:\n  replicas: {replicas}\n  template"));
        let files = [("class.yaml", CLASS), ("pool.yaml", &*pool), ("dump.yaml", &*dump)];
        let folder = folder(&format!("static-{replicas}"), &files);
        let words = "simulate . --duration 5m --feature-gates StaticCapacity=true";
        let instances = if launched == 1 { "1 instance" } else { "0 instances" };
        run(&folder, words)
            .says(&[&format!("launched in all  {instances}"), &format!("nodes now        {left}")]);
    }
}

#[test]
fn a_claim_that_is_launched_counts_and_its_node_joins() {
    let taint = "startupTaints: [{key: node.cilium.io/agent-not-ready, effect: NoExecute}]";
    let limited = |limit: &str| {
        let pool =
            POOL.replace("spec:\n  template", &format!("spec:\n  limits: {{{limit}}}\n  template"));
        pool.replace("      nodeClassRef", &format!("      {taint}\n      nodeClassRef"))
    };
    let (dump, web) = (claim(1, Come::Launched), deployment("web", 3));
    for (name, limit) in [("nodes", "nodes: 1"), ("cpu", "cpu: 2")] {
        let pool = limited(limit);
        let files = [
            ("class.yaml", CLASS),
            ("pool.yaml", &*pool),
            ("dump.yaml", &*dump),
            ("web.yaml", &*web),
        ];
        let played = run(&folder(&format!("launched-{name}"), &files), "simulate . --duration 5m");
        played.says(&[
            "launched in all  0 instances",
            "joined (i-00000000000000001)",
            "pods placed      2",
            "pods unplaced    1",
            "nodes now        1: 1 m7i.large",
        ]);
        played.is_silent_about(&["is left out"]);
    }
}

#[test]
fn a_node_that_is_not_initialized_becomes_so() {
    let web = deployment("web", 2);
    let settled = format!("{POOL}  disruption: {{consolidateAfter: Never}}\n");
    let startup = "      startupTaints: [{key: cilium, effect: NoExecute}]\n      nodeClassRef";
    let startup = settled.replace("      nodeClassRef", startup);
    for (name, pool, taint) in [
        ("not-ready", &settled, "{key: node.kubernetes.io/not-ready, effect: NoSchedule}"),
        ("readiness", &settled, "{key: readiness.k8s.io/x, value: pending, effect: NoSchedule}"),
        ("startup", &startup, "{key: cilium, effect: NoExecute}"),
    ] {
        let has_startup = taint.contains("cilium");
        let with = format!("requirements: [], startupTaints: [{taint}]");
        let claim = claim(1, Come::Registered);
        let claim = if has_startup { claim.replace("requirements: []", &with) } else { claim };
        let dump = claim + &node(1, Come::Registered, taint);
        let files = [
            ("class.yaml", CLASS),
            ("pool.yaml", pool),
            ("dump.yaml", &*dump),
            ("web.yaml", &*web),
        ];
        let played = run(&folder(&format!("starting-{name}"), &files), "simulate . --duration 5m");
        played.says(&[
            "launched in all  0 instances",
            "pods placed      2",
            "nodes now        1: 1 m7i.large",
        ]);
    }
}

#[test]
fn the_account_has_what_the_status_of_a_class_says() {
    let ready = |kind: &str, status: &str| {
        format!("{{type: {kind}, status: \"{status}\", reason: R, lastTransitionTime: {AT}}}")
    };
    let lists = "subnets: [{id: subnet-a, zone: us-west-2a, zoneID: usw2-az1}], securityGroups: [{id: sg-1}], amis: \
                 [{id: ami-0123456789abcdef0, name: x, requirements: [{key: kubernetes.io/arch, operator: In, values: \
                 [amd64]}]}]";
    let class = format!("{CLASS}status: {{{lists}, conditions: [{}]}}\n", ready("Ready", "True"));
    let pool = |zone: &str| {
        let wanted =
            format!("{{key: topology.kubernetes.io/zone, operator: In, values: [{zone}]}}");
        format!("{POOL}      - {wanted}\n")
    };
    let web = deployment("web", 1);
    for (zone, launched, unplaced) in
        [("us-west-2a", "1 instance", 0), ("us-west-2c", "0 instances", 1)]
    {
        let files = [("class.yaml", &*class), ("pool.yaml", &*pool(zone)), ("web.yaml", &*web)];
        let played = run(&folder(&format!("found-{zone}"), &files), "simulate . --duration 3m");
        played.says(&[
            &format!("launched in all  {launched}"),
            &format!("pods unplaced    {unplaced}"),
        ]);
        played.is_silent_about(&["subnets tagged", "AMI alias", "security group tagged"]);
    }
    let conditions = [ready("Ready", "False"), ready("SubnetsReady", "False")].join(", ");
    let without = format!("{CLASS}status: {{conditions: [{conditions}]}}\n");
    let files = [("class.yaml", &*without), ("pool.yaml", POOL), ("web.yaml", &*web)];
    let played = run(&folder("found-none", &files), "simulate . --duration 3m");
    played.says(&["launched in all  0 instances", "SubnetsReady"]);
    played.is_silent_about(&["subnets tagged"]);
}

#[test]
fn a_local_volume_keeps_its_pod_from_every_other_node() {
    let class = "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: disks}\nprovisioner: \
                 kubernetes.io/no-provisioner\nvolumeBindingMode: WaitForFirstConsumer\n";
    let template = "  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: disks, accessModes: \
                    [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]\n";
    let db = deployment("db", 1).replace("kind: Deployment", "kind: StatefulSet") + template;
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: db-0, labels: {app: db}, ownerReferences: \
               [{apiVersion: apps/v1, kind: StatefulSet, name: db, controller: true}]}\nspec: {nodeName: ip-1, \
               containers: [{name: m, resources: {requests: {cpu: 800m}}}]}\nstatus: {phase: Running}\n";
    let volume = "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {local: {path: /mnt}, \
                  storageClassName: disks, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: \
                  [{key: kubernetes.io/hostname, operator: In, values: [ip-1]}]}]}}}\n---\napiVersion: v1\nkind: \
                  PersistentVolumeClaim\nmetadata: {name: data-db-0, annotations: \
                  {pv.kubernetes.io/bind-completed: 'yes'}}\nspec: {storageClassName: disks, accessModes: \
                  [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeName: disk}\n";
    let pool = format!("{POOL}  disruption: {{consolidateAfter: Never}}\n");
    let scenario = "events: [{at: 2m, delete: {kind: NodeClaim, name: general-1}}]";
    for (name, volume, called) in
        [("stored", volume, "disk"), ("made", "", "pvc-default-data-db-0")]
    {
        let dump = running(1..=2) + class + volume + pod;
        let files = [
            ("in/class.yaml", CLASS),
            ("in/pool.yaml", &*pool),
            ("in/db.yaml", &*db),
            ("in/dump.yaml", &*dump),
            ("scenario", scenario),
        ];
        let folder = folder(&format!("local-{name}"), &files);
        run(&folder, "simulate in --scenario scenario --duration 15m").says(&[&format!(
            "default/db-0: its PersistentVolume {called} is local to a node that is not there"
        )]);
    }
}

#[test]
fn what_a_budget_allows_is_counted_anew_whatever_its_status_says() {
    let pod = |name: &str, node: u32| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: web-5d59d67564-{name}, labels: {{app: web}}, \
             ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d59d67564, controller: \
             true}}]}}\nspec: {{nodeName: ip-{node}, containers: [{{name: m, resources: {{requests: {{cpu: \
             200m}}}}}}]}}\nstatus: {{phase: Running}}\n"
        )
    };
    let pods = [pod("a", 1), pod("b", 1), pod("c", 2), pod("d", 2)].concat();
    let pool = format!("{POOL}  disruption: {{consolidateAfter: Never}}\n");
    let scenario = "events: [{at: 2m, delete: {kind: NodeClaim, name: general-1}}]";
    for (max, stored, evicted) in [(1, 0, "2 evictions"), (0, 1, "0 evictions")] {
        let budget = format!(
            "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: web}}\nspec: {{selector: \
             {{matchLabels: {{app: web}}}}, maxUnavailable: {max}}}\nstatus: {{disruptionsAllowed: {stored}, \
             currentHealthy: 4, desiredHealthy: 3, expectedPods: 4}}\n"
        );
        let dump = [running(1..=2), pods.clone(), budget].concat();
        let files = [
            ("in/class.yaml", CLASS),
            ("in/pool.yaml", &*pool),
            ("in/dump.yaml", &*dump),
            ("scenario", scenario),
        ];
        let folder = folder(&format!("budget-{max}"), &files);
        run(&folder, "simulate in --scenario scenario --duration 10m").says(&[evicted]);
    }
}
