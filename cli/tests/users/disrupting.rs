//! What `plan --disruption` says of nodes that wait, that are nominated, and that expire.

use crate::{CLASS, POOL, folder, planning::NODE, run};

#[test]
fn whether_karpenter_nominated_a_node_that_pending_pods_fit_onto_is_unknown() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: m}]}\n";
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
