//! What controllers would make of manifests.

use super::*;
use crate::plan::{bound, input};

fn expanded(text: &str) -> (Vec<Pod>, Loaded) {
    let manifest = api::files::read(text, "x.yaml");
    assert_eq!(manifest.problems, []);
    let mut loaded =
        input::of(crate::manifests::Read { manifests: vec![manifest], notes: Vec::new() }).unwrap();
    let now = "2026-08-01T12:00:00Z".parse().unwrap();
    (pods(&mut loaded, now), loaded)
}

/// The names of all pods that wait, after workloads made theirs.
#[track_caller]
fn check(text: &str, waiting: &[&str]) -> Loaded {
    let (pods, loaded) = expanded(text);
    let names = pods.iter().filter(|pod| bound::is_unseen(pod)).map(|pod| pod.key.to_string());
    assert_eq!(names.collect::<Vec<_>>(), waiting);
    loaded
}

fn workload(kind: &str, lines: &str) -> String {
    let (version, selector, policy) = match kind {
        "Job" => ("batch/v1", "", "restartPolicy: Never, "),
        _ => ("apps/v1", "selector: {matchLabels: {app: web}}, ", ""),
    };
    format!(
        "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: web}}\nspec: {{{selector}{lines}, template: \
         {{metadata: {{labels: {{app: web}}}}, spec: {{{policy}containers: [{{name: m}}]}}}}}}\n"
    )
}

fn owned(name: &str, kind: &str, owner: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: default, uid: {name}, \
         ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: {owner}, controller: true}}]}}\n\
         spec: {{nodeName: n1, containers: [{{name: m}}]}}\nstatus: {{phase: Running}}\n"
    )
}

#[test]
fn a_workload_makes_the_pods_that_are_not_there_yet() {
    check(&workload("Deployment", "replicas: 2"), &["default/web-0", "default/web-1"]);
    let running = owned("web-5d9c7b8f6-abcde", "ReplicaSet", "web-5d9c7b8f6");
    check(&format!("{}{running}", workload("Deployment", "replicas: 2")), &["default/web-0"]);
    let first = owned("web-0", "StatefulSet", "web");
    check(
        &format!("{}{first}", workload("StatefulSet", "replicas: 3")),
        &["default/web-1", "default/web-2"],
    );
    check(&workload("Job", "parallelism: 2, completions: 5"), &["default/web-0", "default/web-1"]);
    check(&workload("Job", "parallelism: 2, suspend: true"), &[]);
}

#[test]
fn a_stateful_set_waits_for_the_pod_that_is_being_deleted() {
    let deleted = |text: String| {
        text.replace(
            "uid:",
            "deletionTimestamp: '2026-08-01T11:00:00Z', deletionGracePeriodSeconds: 30, uid:",
        )
    };
    let first = deleted(owned("web-0", "StatefulSet", "web"));
    check(&format!("{}{first}", workload("StatefulSet", "replicas: 2")), &["default/web-1"]);
    let other = deleted(owned("web-5d9c7b8f6-abcde", "ReplicaSet", "web-5d9c7b8f6"));
    let both = &["default/web-0", "default/web-1"];
    check(&format!("{}{other}", workload("Deployment", "replicas: 2")), both);
}

#[test]
fn a_replica_set_of_a_deployment_that_is_there_makes_nothing_of_its_own() {
    let set = workload("ReplicaSet", "replicas: 2").replace(
        "{name: web}",
        "{name: web-5d9, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, controller: true}]}",
    );
    check(&set, &["default/web-5d9-0", "default/web-5d9-1"]);
    let both = format!("{}---\n{set}", workload("Deployment", "replicas: 2"));
    check(&both, &["default/web-0", "default/web-1"]);
}

#[test]
fn a_written_pod_waits_unless_it_is_gated_or_placed() {
    let pod = |metadata: &str, spec: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: a{metadata}}}\nspec: {{containers: \
             [{{name: m}}]{spec}}}\n"
        )
    };
    check(&pod("", ""), &["default/a"]);
    check(&pod("", ", schedulingGates: [{name: later}]"), &[]);
    check(&pod("", ", nodeName: n1"), &[]);
    check(&pod(", uid: u", ""), &["default/a"]);
}

#[test]
fn claims_of_volumes_are_made_with_the_newest_default_class() {
    let class = |name: &str, created: &str| {
        format!(
            "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: {name}, \
             creationTimestamp: '{created}', annotations: {{storageclass.kubernetes.io/is-default-class: \
             'true'}}}}\nprovisioner: ebs.csi.aws.com\n"
        )
    };
    let size = "accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}";
    let text = workload(
        "StatefulSet",
        &format!(
            "replicas: 1, volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {{{size}}}}}, {{metadata: {{name: \
             log}}, spec: {{{size}, storageClassName: slow}}}}]"
        ),
    )
    .replace(
        "containers: [{name: m}]",
        &format!(
            "containers: [{{name: m}}], volumes: [{{name: tmp, ephemeral: {{volumeClaimTemplate: {{spec: \
             {{{size}}}}}}}}}]"
        ),
    );
    let classes = class("old", "2026-01-01T00:00:00Z") + &class("new", "2026-02-01T00:00:00Z");
    let loaded = check(&format!("{text}{classes}"), &["default/web-0"]);
    let claims: Vec<(&str, &str)> = loaded
        .surroundings
        .storage
        .claims
        .iter()
        .map(|(key, claim)| (key.name.as_str(), claim.storage_class.as_deref().unwrap_or("none")))
        .collect();
    assert_eq!(claims, [("data-web-0", "new"), ("log-web-0", "slow"), ("web-0-tmp", "new")]);
}

#[test]
fn a_priority_class_gives_its_priority() {
    let class = "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n";
    let text = workload("Deployment", "replicas: 1")
        .replace("containers:", "priorityClassName: high, containers:");
    let (pods, _) = expanded(&format!("{text}{class}"));
    assert_eq!(pods.first().map(|pod| pod.spec.priority), Some(1_000));
}
