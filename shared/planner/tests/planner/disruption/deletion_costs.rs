//! Which pods a ReplicaSet is to delete first (gate `PodDeletionCostManagement`).

use std::sync::Arc;

use model::{
    Pod, PodSpec,
    facts::Facts,
    labels,
    node_pool::BudgetNodes,
    pod::{DeletionCost, PodPhase},
};
use planner::disruption::{Options, deletion_costs};

use crate::planner::support::cluster::*;

const SET: (&str, &str) = ("apps/v1", "ReplicaSet");

fn of_set(name: &str, on: &str) -> Pod {
    owned(app(name, on, "cpu=1"), SET.0, SET.1)
}

/// Three nodes with a pod of a ReplicaSet each, and a budget that allows everything: `a` saves most.
fn three() -> Facts {
    let mut facts = cluster(&[("a", "t.large"), ("b", "t.medium"), ("c", "t.medium")]);
    facts.policies.pod_deletion_cost_management = true;
    facts.pods = vec![of_set("web-a", "a"), of_set("web-b", "b"), of_set("web-c", "c")];
    facts
}

/// What is written, `web-a=-3 web-b=-2 web-c=-1`; `web-a=` loses the annotation.
fn written(facts: &Facts) -> String {
    let costs = deletion_costs(facts, &Options::deployed());
    let text = |write: &DeletionCost| {
        let cost = write.cost.map(|cost| cost.to_string()).unwrap_or_default();
        format!("{}={cost}", write.pod.name)
    };
    costs.writes.iter().map(text).collect::<Vec<_>>().join(" ")
}

fn keep(facts: &mut Facts) {
    for write in deletion_costs(facts, &Options::deployed()).writes {
        let pod = facts.pods.iter_mut().find(|pod| pod.key == write.pod).unwrap();
        let mut spec = PodSpec::clone(&pod.spec);
        spec.annotations.remove(labels::POD_DELETION_COST);
        let cost = write.cost.map(|cost| (labels::POD_DELETION_COST.to_owned(), cost.to_string()));
        spec.annotations.extend(cost);
        pod.spec = Arc::new(spec);
    }
}

#[test]
fn pods_of_the_node_that_consolidation_would_take_first_cost_least() {
    let mut facts = three();
    assert_eq!(written(&facts), "web-a=-3 web-b=-2 web-c=-1");
    keep(&mut facts);
    assert_eq!(written(&facts), "", "equal values are not written again");
}

#[test]
fn nothing_is_written_while_the_gate_is_closed() {
    let mut facts = three();
    facts.policies.pod_deletion_cost_management = false;
    assert_eq!(written(&facts), "");
}

#[test]
fn pods_on_nodes_that_go_cost_least_of_all() {
    let mut facts = three();
    node(&mut facts, "c").taints.push(disrupted_taint());
    claim(&mut facts, "b").phase = model::ClaimPhase::Deleting;
    assert_eq!(written(&facts), "web-b=-2147483648 web-c=-2147483648 web-a=-1");
}

#[test]
fn nodes_that_have_drifted_come_first() {
    let mut facts = three();
    claim(&mut facts, "c").conditions.drifted = Some("AMIDrift".to_owned());
    assert_eq!(written(&facts), "web-c=-3 web-a=-2 web-b=-1");
}

#[test]
fn what_the_budgets_do_not_allow_loses_its_cost() {
    let mut facts = three();
    keep(&mut facts);
    facts.node_pools[0].disruption.budgets = vec![budget(BudgetNodes::Count(1))];
    assert_eq!(written(&facts), "web-a=-1 web-b= web-c=");
}

#[test]
fn a_node_that_must_stay_has_no_cost() {
    let protected = |facts: &mut Facts| {
        let pod = facts.pods.remove(0);
        facts.pods.insert(0, annotated(pod, labels::DO_NOT_DISRUPT, "true"));
    };
    let held = |facts: &mut Facts| {
        facts.surroundings.disruption_budgets = vec![pdb("hold", "web-a")];
    };
    let with_database = |facts: &mut Facts| {
        facts.pods.push(owned(app("db", "a", "cpu=1"), "apps/v1", "StatefulSet"));
    };
    let not_initialized = |facts: &mut Facts| {
        node(facts, "a").labels.remove(labels::INITIALIZED);
    };
    for (change, why) in [
        (&protected as &dyn Fn(&mut Facts), "a protected pod"),
        (&held, "a PodDisruptionBudget"),
        (&with_database, "a pod of a StatefulSet"),
        (&not_initialized, "not initialized"),
    ] {
        let mut facts = three();
        keep(&mut facts);
        change(&mut facts);
        assert_eq!(written(&facts), "web-a=", "{why}");
    }
}

#[test]
fn pods_of_daemon_sets_jobs_and_the_system_keep_no_node_from_its_rank() {
    let mut facts = three();
    let daemon = owned(app("agent", "a", "cpu=1"), "apps/v1", "DaemonSet");
    let job = owned(app("job", "b", "cpu=1"), "batch/v1", "Job");
    let mut system = owned(app("dns", "c", "cpu=1"), "apps/v1", "StatefulSet");
    system.key.namespace = "kube-system".parse().unwrap();
    let ended = Pod { phase: PodPhase::Succeeded, ..app("once", "c", "cpu=1") };
    facts.pods.extend([daemon, job, system, ended]);
    let written = written(&facts);
    assert_eq!(written.matches("web-").count(), 3, "{written}");
    assert!(!written.contains("agent") && !written.contains("job"), "{written}");
}

#[test]
fn a_pool_that_is_never_consolidated_has_costs_only_where_it_drifted() {
    let mut facts = three();
    facts.node_pools[0].disruption.consolidate_after = None;
    claim(&mut facts, "b").conditions.drifted = Some("AMIDrift".to_owned());
    assert_eq!(written(&facts), "web-b=-1");
}

#[test]
fn a_pass_writes_fifty_nodes_and_those_that_go() {
    let names: Vec<String> = (0..60).map(|number| format!("n{number:02}")).collect();
    let nodes: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "t.large")).collect();
    let mut facts = cluster(&nodes);
    facts.policies.pod_deletion_cost_management = true;
    facts.pods = names.iter().map(|name| of_set(&format!("web-{name}"), name)).collect();
    node(&mut facts, "n59").taints.push(disrupted_taint());
    let first = deletion_costs(&facts, &Options::deployed());
    assert_eq!(first.writes.len(), 51);
    assert_eq!(first.writes[0].cost, Some(i32::MIN));
    assert_eq!(first.pending.into_values().sum::<u64>(), 9);
    keep(&mut facts);
    assert_eq!(deletion_costs(&facts, &Options::deployed()).writes.len(), 9);
    keep(&mut facts);
    assert_eq!(written(&facts), "");
}
