//! What `plan --disruption` says of nodes that wait, that are nominated, and that expire.

use crate::{CLASS, POOL, folder, planning::NODE, run};

#[test]
fn whether_karpenter_nominated_a_node_that_pending_pods_fit_onto_is_unknown() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: default, uid: a}\nspec: {containers: [{name: \
               m}]}\nstatus: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: \
               Unschedulable, lastTransitionTime: 2026-08-01T12:00:00Z}]}\n";
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("node.yaml", NODE), ("pod.yaml", pod)];
    let folder = folder("nominated", &files);
    let words = "plan . --disruption --now 2026-08-01T12:00:00Z";
    run(&folder, words).says(&["whether Karpenter has nominated ip-1 for pending pods"]);
    run(&folder, &format!("{words} --view journeyman"))
        .says(&["Nothing to disrupt", "ip-1: nominated for pending pods"]);
}

#[test]
fn consolidate_after_is_named_where_karpenter_says_that_a_node_waits() {
    let waits = NODE.replace(
        "type: Consolidatable, status: \"True\"",
        "type: Consolidatable, status: \"False\"",
    );
    let pool = format!("{POOL}  disruption: {{consolidateAfter: 1h}}\n");
    let files = [("class.yaml", CLASS), ("pool.yaml", &*pool), ("node.yaml", &waits)];
    let answer = run(&folder("waits", &files), "plan . --disruption --now 2026-08-01T12:00:00Z");
    answer.says(&["waiting for consolidateAfter (1h0m0s) since its last pod change"]);
}

#[test]
fn a_node_that_expires_is_not_said_to_stay_and_what_its_drain_waits_for_is_named() {
    let expires = NODE.replace("  requirements: []", "  requirements: []\n  expireAfter: 1h");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, uid: a, namespace: default, annotations: \
               {karpenter.sh/do-not-disrupt: 'true'}}\nspec: {nodeName: ip-1, containers: [{name: m}]}\nstatus: \
               {phase: Running}\n";
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("node.yaml", &*expires), ("pod.yaml", pod)];
    let folder = folder("expires", &files);
    let line = "general-1 is deleted: it is older than its expireAfter of 1h0m0s; its drain will wait: blocked by \
                the annotation karpenter.sh/do-not-disrupt of pod default/a, and the NodeClaim has no \
                terminationGracePeriod";
    let words = "plan . --disruption --now 2026-08-01T12:00:00Z";
    for view in ["karpenter", "journeyman"] {
        let answer = run(&folder, &format!("{words} --view {view}"));
        answer.says(&[line]);
        answer.is_silent_about(&["not disrupted ("]);
        run(&folder, &format!("{words} --view {view} --explain ip-1")).says(&[line]);
    }
}

#[test]
fn a_budget_that_never_ends_has_no_end() {
    for (schedule, duration, said) in [
        ("0 0 * * mon", "200h", "without end: the window of a budget opens again before it closes"),
        ("*/5 * * * *", "5m", "without end: the window of a budget opens again before it closes"),
        ("0 0 * * *", "20h", "until 2026-08-01T20:00:00Z"),
    ] {
        let budget = format!("{{nodes: '0', schedule: '{schedule}', duration: {duration}}}");
        let pool = format!("{POOL}  disruption: {{budgets: [{budget}]}}\n");
        let files = [("class.yaml", CLASS), ("pool.yaml", &*pool), ("node.yaml", NODE)];
        let folder = folder("endless", &files);
        run(&folder, "plan . --disruption --now 2026-08-01T12:00:00Z").says(&[said]);
    }
}

#[test]
fn a_feature_gate_that_is_not_there_is_named() {
    let folder = folder("gate", &[("class.yaml", CLASS), ("pool.yaml", POOL)]);
    run(&folder, "plan . --feature-gates Foo=true").complains(&[
        "--feature-gates: `Foo=true`: there is no such gate; there are CapacityBuffer",
    ]);
}

#[test]
fn an_empty_node_that_keeps_room_for_a_buffer_has_one_reason() {
    let buffer = "apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {name: b, namespace: default}\nspec: \
                  {podTemplateRef: {name: t}, replicas: 1}\n---\napiVersion: v1\nkind: PodTemplate\nmetadata: {name: t, \
                  namespace: default}\ntemplate: {spec: {containers: [{name: m, resources: {requests: {cpu: 1}}}]}}\n";
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("node.yaml", NODE), ("buffer.yaml", buffer)];
    let words =
        "plan . --disruption --feature-gates CapacityBuffer=true --now 2026-08-01T12:00:00Z";
    let folder = folder("buffer", &files);
    let answer = run(&folder, words);
    answer.says(&["ip-1: reserved for a CapacityBuffer"]);
    answer.is_silent_about(&["removed by emptiness"]);
    run(&folder, &format!("{words} --explain ip-1")).is_silent_about(&["removed by emptiness"]);
}

#[test]
fn what_the_status_of_a_pod_disruption_budget_allows_counts() {
    let budget = |status: &str| {
        format!(
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: web, namespace: default}}\nspec: \
             {{minAvailable: 50%, selector: {{matchLabels: {{app: web}}}}}}\n{status}"
        )
    };
    let said = |name: &str, status: &str| {
        let budget = budget(status);
        let files =
            [("class.yaml", CLASS), ("pool.yaml", POOL), ("node.yaml", NODE), ("b.yaml", &*budget)];
        run(&folder(name, &files), "plan . --disruption --now 2026-08-01T12:00:00Z")
    };
    let note = "PodDisruptionBudget default/web counts as allowing no disruption: without a status";
    said("budget-counted", "status: {disruptionsAllowed: 1}\n").is_silent_about(&[note]);
    said("budget-zero", "status: {disruptionsAllowed: 0}\n").is_silent_about(&[note]);
    said("budget-uncounted", "").says(&[note]);
    said("budget-empty", "status: {}\n").says(&[note]);
}

/// A pod that runs on `ip-1` with the annotation `karpenter.sh/do-not-disrupt`, which is `value`.
fn protected(value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, uid: a, namespace: default, annotations: \
         {{karpenter.sh/do-not-disrupt: '{value}'}}}}\nspec: {{nodeName: ip-1, containers: [{{name: m}}]}}\nstatus: \
         {{phase: Running, startTime: 2026-08-01T11:30:00Z}}\n"
    )
}

#[test]
fn what_a_drain_saves_only_after_its_deadline_is_said_to() {
    let bounded =
        NODE.replace("  requirements: []", "  requirements: []\n  terminationGracePeriod: 1h");
    let pool = POOL.replace("[on-demand]", "[spot]");
    let files = [
        ("class.yaml", CLASS),
        ("pool.yaml", &*pool),
        ("node.yaml", &bounded),
        ("pod.yaml", &protected("true")),
    ];
    let answer = run(&folder("deadline", &files), "plan . --disruption --now 2026-08-01T12:00:00Z");
    answer.says(&[
        "drift disrupts 1 node: saves ",
        "; its drain takes up to 1h0m0s, and until then nothing is saved",
        "drains    ip-1, which will wait up to 1h0m0s (terminationGracePeriod): blocked by the annotation",
    ]);
}

#[test]
fn a_node_is_protected_until_the_annotation_of_its_pod_is_over() {
    for (value, said) in [
        ("1h", "karpenter.sh/do-not-disrupt of pod default/a until 2026-08-01T12:30:00Z\n"),
        ("true", "karpenter.sh/do-not-disrupt of pod default/a\n"),
    ] {
        let pod = protected(value);
        let files =
            [("class.yaml", CLASS), ("pool.yaml", POOL), ("node.yaml", NODE), ("pod.yaml", &*pod)];
        let folder = folder("protected", &files);
        run(&folder, "plan . --disruption --now 2026-08-01T12:00:00Z").says(&[said]);
    }
}

#[test]
fn a_class_that_is_not_ready_is_named_as_the_cause_that_a_node_pool_has_no_instance_types() {
    let class = format!(
        "{CLASS}status:\n  conditions:\n  - {{type: AMIsReady, status: \"False\", reason: AMINotFound, message: \
         AMISelector did not match any AMIs}}\n  - {{type: Ready, status: \"False\", reason: NotReady, message: x}}\n"
    );
    let files = [("class.yaml", &*class), ("pool.yaml", POOL), ("node.yaml", NODE)];
    run(&folder("no-types", &files), "plan . --disruption --now 2026-08-01T12:00:00Z").says(&[
        "its NodePool general has no instance types: EC2NodeClass default is not ready: condition AMIsReady",
    ]);
}

#[test]
fn one_node_follows_and_several_follow() {
    let expires = NODE.replace("  requirements: []", "  requirements: []\n  expireAfter: 1h");
    let node = |from: &str, number: u32| {
        from.replace("ip-1", &format!("ip-{number}"))
            .replace("general-1", &format!("general-{number}"))
            .replace("uid: n1", &format!("uid: n{number}"))
            .replace("uid: c1", &format!("uid: c{number}"))
            .replace("abcdef0", &format!("abcdef{number}"))
    };
    let pool =
        format!("{POOL}  disruption: {{consolidateAfter: 0s, budgets: [{{nodes: 100%}}]}}\n");
    for (expiring, said) in [(1, "; 1 node follows\n"), (2, "; 2 nodes follow\n")] {
        // One node is empty, and the others expire with a pod each.
        let of_one = |number: u32| {
            let pod = protected("false").replace("name: a, uid: a", &format!("name: a-{number}"));
            format!("{}---\n{}", node(&expires, number), node(&pod, number))
        };
        let nodes: Vec<String> = (1..=expiring).map(of_one).collect();
        let nodes = [nodes, vec![node(NODE, 9)]].concat().join("---\n");
        let files = [("class.yaml", CLASS), ("pool.yaml", &*pool), ("nodes.yaml", &nodes)];
        let folder = folder("follow", &files);
        run(&folder, "plan . --disruption --now 2026-08-01T12:00:00Z").says(&[said]);
    }
}
