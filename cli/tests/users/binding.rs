//! Pods that kube-scheduler has not looked at yet: it binds them to nodes that are there before a node is launched.

use crate::{CLASS, POOL, deployment, folder, planning::NODE, run};

/// The node with the label that kubelet gives it.
fn node() -> String {
    NODE.replace(
        "kubernetes.io/os: linux}",
        "kubernetes.io/os: linux, kubernetes.io/hostname: ip-1}",
    )
}

/// A pod that runs on the node, of the Deployment `web`, with `status` in place of its own.
fn pod(name: &str, spec: &str, status: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: default, uid: {name}, labels: {{app: web}}}}\n\
         spec: {{containers: [{{name: m, resources: {{requests: {{cpu: 800m}}}}}}]{spec}}}\nstatus: {status}\n"
    )
}

const RUNS: &str = "{phase: Running}";

/// Pods for which the planner launches a node although the node that is there can hold them: what they prefer, or a
/// rule that Karpenter does not support.
const PREFERENCES: [(&str, &str); 6] = [
    (
        "anti-affinity",
        "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, \
         podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}}]}}",
    ),
    (
        "spread",
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, \
         whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]",
    ),
    (
        "affinity",
        "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: \
         {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [us-west-2b]}]}}]}}",
    ),
    ("hostname", "nodeSelector: {kubernetes.io/hostname: ip-1}"),
    (
        "fields",
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: \
         [{matchFields: [{key: metadata.name, operator: In, values: [ip-1]}]}]}}}",
    ),
    ("nothing", "terminationGracePeriodSeconds: 1"),
];

#[test]
fn pods_that_fit_onto_a_node_are_bound_to_it() {
    let running = pod("web-running", ", nodeName: ip-1", RUNS);
    for (name, spec) in PREFERENCES {
        let web = deployment("web", 1)
            .replace("spec: {containers", &format!("spec: {{{spec}, containers"));
        let files = [
            ("class.yaml", CLASS),
            ("pool.yaml", POOL),
            ("node.yaml", &*node()),
            ("running.yaml", &*running),
            ("web.yaml", &*web),
        ];
        let folder = folder(&format!("bound-{name}"), &files);
        let document = run(&folder, "plan . -o json").json();
        assert_eq!(document["newNodeClaims"].as_array().map(Vec::len), Some(0), "{name}");
        assert_eq!(document["existingNodes"][0]["node"], "ip-1", "{name}");
        assert_eq!(document["existingNodes"][0]["pods"][0], "default/web-0", "{name}");
        assert_eq!(document["totals"]["podsOnExistingNodes"], 1, "{name}");
        let planned = run(&folder, "plan .");
        planned.says(&["1 node, 1 pod:", "Bound by kube-scheduler", "ip-1  default/web"]);
        planned.is_silent_about(&["would be launched", "cannot be scheduled", "No pod needs"]);
    }
}

#[test]
fn a_taint_that_only_asks_to_be_left_alone_keeps_no_pod_away() {
    let soft = |effect: &str| {
        let taints = format!("spec: {{taints: [{{key: a, effect: {effect}}}], ");
        let node = node().replacen("spec: {", &taints, 1);
        let web = deployment("web", 1);
        let files = [
            ("class.yaml", CLASS),
            ("pool.yaml", POOL),
            ("node.yaml", &*node),
            ("web.yaml", &*web),
        ];
        run(&folder(&format!("bound-{effect}"), &files), "plan .")
    };
    soft("PreferNoSchedule").says(&["Bound by kube-scheduler"]);
    soft("NoSchedule").says(&["1 node would be launched"]);
    soft("NoExecute").says(&["1 node would be launched"]);
}

#[test]
fn pods_that_fit_onto_no_node_are_planned() {
    let web = deployment("web", 3);
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("node.yaml", &*node()), ("web.yaml", &*web)];
    let planned = run(&folder("bound-some", &files), "plan .");
    planned.says(&["1 node would be launched", "ip-1  default/web ×2"]);
    // The node is not ready: kube-scheduler keeps every pod off.
    let unready = node()
        .replace("{type: Ready, status: \"True\"}", "{type: Ready, status: \"False\"}")
        .replacen(
            "spec: {",
            "spec: {taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}], ",
            1,
        );
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("node.yaml", &*unready), ("web.yaml", &*web)];
    run(&folder("bound-unready", &files), "plan .").is_silent_about(&["Bound by"]);
}

#[test]
fn kube_scheduler_takes_pods_of_higher_priority_first() {
    let class = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n";
    let high = deployment("z", 2)
        .replace("spec: {containers", "spec: {priorityClassName: high, containers");
    let low = deployment("a", 2).replace("800m", "900m");
    let files = [
        ("class.yaml", CLASS),
        ("pool.yaml", POOL),
        ("node.yaml", &*node()),
        ("priority.yaml", class),
        ("low.yaml", &*low),
        ("high.yaml", &*high),
    ];
    run(&folder("bound-priority", &files), "plan .").says(&["ip-1  default/z ×2", "default/a ×2"]);
}

#[test]
fn a_pod_that_kube_scheduler_found_no_room_for_is_planned() {
    let (_, preference) = PREFERENCES[0];
    let waits = |status: &str| {
        let running = pod("web-running", ", nodeName: ip-1", RUNS);
        let pending = pod("web-pending", &format!(", {preference}"), status);
        let files = [
            ("class.yaml", CLASS),
            ("pool.yaml", POOL),
            ("node.yaml", &*node()),
            ("running.yaml", &*running),
            ("pending.yaml", &*pending),
        ];
        run(&folder("bound-stored", &files), "plan .")
    };
    waits("{phase: Pending}").says(&["ip-1  default/web-pending"]);
    waits(
        "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, \
         lastTransitionTime: 2026-08-01T08:00:00Z}]}",
    )
    .says(&["1 node would be launched"]);
}

#[test]
fn a_node_that_gets_pods_is_not_disrupted_as_an_empty_one() {
    let web = deployment("web", 1);
    let pool = POOL.replace("spec:\n  template", "spec:\n  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 5m}\n  template");
    let files = [
        ("class.yaml", CLASS),
        ("pool.yaml", &*pool),
        ("node.yaml", &*node()),
        ("web.yaml", &*web),
    ];
    let planned =
        run(&folder("bound-disruption", &files), "plan . --disruption --now 2026-08-01T12:00:00Z");
    planned.says(&["kube-scheduler binds 1 pod to nodes that are there before: default/web"]);
    planned.says(&["waiting for consolidateAfter (5m0s)"]);
    planned.is_silent_about(&["emptiness disrupts"]);
}

#[test]
fn a_node_attaches_as_many_volumes_as_its_driver_says() {
    let storage = |count: u32| {
        format!(
            "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {{name: ip-1}}\nspec: {{drivers: [{{name: \
             ebs.csi.aws.com, nodeID: i, topologyKeys: [], allocatable: {{count: {count}}}}}]}}\n---\napiVersion: \
             storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: gp3}}\nprovisioner: \
             ebs.csi.aws.com\nvolumeBindingMode: WaitForFirstConsumer\n"
        )
    };
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  replicas: 2\n  selector: \
               {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec: {containers: \
               [{name: m, resources: {requests: {cpu: 100m}}}]}\n  volumeClaimTemplates: [{metadata: {name: data}, \
               spec: {storageClassName: gp3, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]\n";
    for (count, bound) in [(1, "ip-1  default/db\n"), (2, "ip-1  default/db ×2")] {
        let storage = storage(count);
        let files = [
            ("class.yaml", CLASS),
            ("pool.yaml", POOL),
            ("node.yaml", &*node()),
            ("storage.yaml", &*storage),
            ("db.yaml", set),
        ];
        run(&folder(&format!("bound-volumes-{count}"), &files), "plan .").says(&[bound]);
    }
}

#[test]
fn a_pod_that_takes_the_place_of_another_for_its_priority_says_so() {
    let class = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n";
    let high = deployment("z", 1)
        .replace("spec: {containers", "spec: {priorityClassName: high, containers");
    let pool = format!("{POOL}  limits: {{cpu: 2}}\n");
    let planned = |low: u32, high: &str| {
        let low = deployment("a", low).replace("800m", "1500m");
        let files = [
            ("class.yaml", CLASS),
            ("pool.yaml", &*pool),
            ("priority.yaml", class),
            ("low.yaml", &*low),
            ("high.yaml", high),
        ];
        run(&folder(&format!("outranked-{}", high.len()), &files), "plan .")
    };
    let text = "for its higher priority, kube-scheduler binds it to the node that is launched for default/a, which waits then";
    let remedy = "it could be scheduled without the limit of cpu";
    planned(1, &high).says(&["1 pod cannot be scheduled", "  default/z\n", text, remedy]);
    planned(1, &high.replace("priorityClassName: high, ", ""))
        .is_silent_about(&["higher priority"]);
}
