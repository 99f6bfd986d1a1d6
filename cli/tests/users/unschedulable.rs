//! What would let pods be scheduled.

use crate::{CLASS, POOL, deployment, folder, planning::NODE, run};

#[test]
fn the_rule_that_keeps_pods_from_a_place_is_named() {
    let web = deployment("web", 2).replace(
        "spec: {containers",
        "spec: {nodeSelector: {team: a, kubernetes.io/arch: amd64}, containers",
    );
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &*web)];
    let folder = folder("remedy", &files);
    let planned = run(&folder, "plan .");
    planned.says(&[
        "2 pods cannot be scheduled",
        "it could be scheduled without its node selector team In [a]",
    ]);
    let document = run(&folder, "plan . --output json").json();
    let reasons = document["unschedulable"][0]["reasons"].as_array().expect("reasons");
    let said = reasons.iter().map(|reason| reason["message"].as_str().expect("a text"));
    assert_eq!(said.filter(|text| text.contains("could be scheduled")).count(), 1);
}

#[test]
fn the_ami_family_that_keeps_pods_for_windows_out_is_named() {
    let web = deployment("web", 2).replace(
        "spec: {containers",
        "spec: {nodeSelector: {kubernetes.io/os: windows}, containers",
    );
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &*web)];
    run(&folder("unschedulable-windows", &files), "plan .").says(&[
        "default/web ×2",
        "the AMI family of EC2NodeClass default is for linux",
        "it could be scheduled with an AMI family for windows in EC2NodeClass default",
    ]);
}

#[test]
fn pods_of_the_same_plan_that_are_in_the_way_are_named() {
    let web = deployment("web", 3).replace("800m", "3");
    let pool = format!("{POOL}  limits: {{nodes: 1}}\n");
    let pool = pool.replace(
        "      - {key",
        "      - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ['4']}\n      - {key",
    );
    let files = [("class.yaml", CLASS), ("pool.yaml", &*pool), ("web.yaml", &*web)];
    run(&folder("unschedulable-batch", &files), "plan .").says(&[
        "default/web ×2",
        "it could be scheduled without the limit of nodes of NodePool general, or without the pod default/web-",
        "that this plan schedules first",
    ]);
}

#[test]
fn objects_that_are_not_read_are_named() {
    let others = "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: a}\n---\n\
                  apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: a}\n---\n\
                  apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\n---\n\
                  apiVersion: apps/v1\nkind: Deployments\nmetadata: {name: a}\n";
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("others.yaml", others)];
    let planned = run(&folder("unread", &files), "plan .");
    planned.says(&["2 objects of monitoring.coreos.com: other API groups are not read"]);
    assert!(
        planned.complaints.contains("so the object is not read; did you mean `Deployment`?"),
        "{}",
        planned.complaints
    );
    planned.is_silent_about(&["Ingress", "networking.k8s.io"]);
}

#[test]
fn a_node_pool_of_another_region_is_named_with_the_option_for_it() {
    let requirement = |key: &str, values: &str| {
        POOL.replace(
            "      - {key",
            &format!("      - {{key: topology.kubernetes.io/{key}, operator: In, values: [{values}]}}\n      - {{key"),
        )
    };
    for (key, values, is_named) in [
        ("zone", "us-east-1a, us-east-1b", true),
        ("region", "us-east-1", true),
        ("zone", "us-east-1a, us-west-2a", false),
        ("zone", "us-west-2a", false),
    ] {
        let pool = requirement(key, values);
        let files =
            [("class.yaml", CLASS), ("pool.yaml", &*pool), ("web.yaml", &deployment("web", 1))];
        let planned = run(&folder("region", &files), "plan .");
        let line = format!(
            "NodePool general: {values}: instance types, zones and prices here are those of us-west-2; for another \
             region use --region"
        );
        if is_named {
            planned.says(&[&line]);
        } else {
            planned.is_silent_about(&["--region"]);
        }
    }
}

#[test]
fn an_empty_value_is_shown_as_one() {
    let web = deployment("web", 1).replace(
        "spec: {containers",
        "spec: {nodeSelector: {node-role.kubernetes.io/worker: ''}, containers",
    );
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &*web)];
    run(&folder("empty-value", &files), "plan .")
        .says(&["without its node selector node-role.kubernetes.io/worker In [\"\"]"]);
}

/// Karpenter plans nothing while a NodeClaim of its own has no instance: pods that wait have no node.
#[test]
fn pods_for_which_nothing_is_planned_are_no_strict_success() {
    let (_, claim) = NODE.split_once("---\n").expect("a NodeClaim");
    let (claim, _) = claim.split_once("status:").expect("its status");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: m}]}\n";
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("claim.yaml", claim), ("pod.yaml", pod)];
    let folder = folder("waiting-claim", &files);
    let said = "Nothing is planned for 1 pod: the NodeClaim general-1 has no instance yet.";
    let words = "plan . --now 2026-08-01T12:00:00Z";
    for (words, code) in [(words.to_owned(), 0), (format!("{words} --strict"), 1)] {
        let planned = run(&folder, &words);
        planned.says(&[said]);
        assert_eq!(planned.code, Some(code), "{words}");
    }
}
