//! What people see of a plan, and where it is read from.

use std::{fs, path::PathBuf};

use report::screen::Color;

use super::*;

const CLUSTER: &str = "\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: golden}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: golden}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: m, resources: {requests: {cpu: 800m}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: huge}
spec: {containers: [{name: m, resources: {requests: {memory: 10Ti}}}]}
";

/// A file of this test.
fn file(name: &str, text: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("journeyman-plan-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn planned(args: &PlanArgs) -> (String, String, PlanExit) {
    let (mut out, mut complaints) = (Vec::new(), Vec::new());
    let args = PlanArgs { now: Some("2026-08-01T12:00:00Z".to_owned()), ..args.clone() };
    let screen = Screen { is_colored: args.color == Color::Always, ..Screen::default() };
    let validation = run(&args, screen, &mut out, (Screen::default(), &mut complaints)).unwrap();
    (String::from_utf8(out).unwrap(), String::from_utf8(complaints).unwrap(), validation)
}

#[test]
fn people_see_what_would_be_launched_and_what_finds_no_place() {
    let manifests = vec![file("people.yaml", CLUSTER)];
    let (text, complaints, validation) = planned(&PlanArgs { manifests, ..PlanArgs::default() });
    assert_eq!(
        (complaints.as_str(), validation),
        ("", PlanExit { unplaced: 1, problems: 0, mistakes: 0 })
    );
    for said in [
        "2 nodes would be launched, instances from $0.2016 an hour ($147 a month)",
        "on-demand m7i.large us-west-2",
        "default/web ×2",
        "1 pod cannot be scheduled",
        "  default/huge\n    general: ",
        "10Ti",
    ] {
        assert!(text.contains(said), "`{said}` is missing in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "colours are for terminals");
}

#[test]
fn colours_are_printed_when_they_are_asked_for() {
    let manifests = vec![file("colours.yaml", CLUSTER)];
    let args = PlanArgs { manifests, color: Color::Always, ..PlanArgs::default() };
    assert!(planned(&args).0.contains("\u{1b}[31m1 pod cannot be scheduled"));
}

#[test]
fn machines_get_the_same_as_json_and_as_yaml() {
    let manifests = vec![file("machines.yaml", CLUSTER)];
    let output = |format| {
        planned(&PlanArgs { manifests: manifests.clone(), output: format, ..PlanArgs::default() }).0
    };
    let json: serde_json::Value = serde_json::from_str(&output(Format::Json)).unwrap();
    let yaml: serde_json::Value = serde_saphyr::from_str(&output(Format::Yaml)).unwrap();
    assert_eq!(json, yaml);
    assert_eq!(json["newNodeClaims"].as_array().unwrap().len(), 2);
    assert_eq!(json["newNodeClaims"][0]["cheapest"]["instanceType"], "m7i.large");
    assert_eq!(json["unschedulable"][0]["pod"], "default/huge");
}

#[test]
fn a_malformed_object_is_reported_and_does_not_poison_the_rest() {
    let bad = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {containers: 5}\n";
    let manifests = vec![file("malformed.yaml", &format!("{CLUSTER}{bad}"))];
    let (text, complaints, validation) = planned(&PlanArgs { manifests, ..PlanArgs::default() });
    assert!(complaints.contains("Pod bad: spec.containers: must be a list"), "{complaints}");
    assert!(text.contains("default/web ×2") && !text.contains("default/bad"), "{text}");
    assert!(validation.problems == 1 && !validation.is_good(true));
}

#[test]
fn a_class_that_is_being_deleted_closes_its_pools() {
    let metadata = "metadata: {name: default, deletionTimestamp: '2026-08-01T11:00:00Z', \
        finalizers: [karpenter.k8s.aws/termination]}";
    let text = CLUSTER.replacen("metadata: {name: default}", metadata, 1);
    let manifests = vec![file("deleted-class.yaml", &text)];
    let (text, _, validation) = planned(&PlanArgs { manifests, ..PlanArgs::default() });
    assert_eq!(validation.unplaced, 4, "{text}");
    assert!(text.contains("is being deleted"), "{text}");
}

#[test]
fn a_claim_without_an_instance_is_waited_for() {
    let claim = "---\napiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {name: general-x, labels: \
        {karpenter.sh/nodepool: general}}\nspec: {nodeClassRef: {group: karpenter.k8s.aws, kind: \
        EC2NodeClass, name: default}, requirements: []}\n";
    let manifests = vec![file("waiting.yaml", &format!("{CLUSTER}{claim}"))];
    let args = PlanArgs { manifests, ..PlanArgs::default() };
    assert!(planned(&args).0.contains("the NodeClaim general-x has no instance yet"));
    let json = planned(&PlanArgs { output: Format::Json, ..args }).0;
    assert!(json.contains("\"waiting\": true") && json.contains("\"newNodeClaims\": []"), "{json}");
}

#[test]
fn kinds_of_pods_without_a_search_are_counted() {
    let text = "what would let 1 kind of pods be scheduled: the search ended after 50,000 steps";
    assert_eq!(unsought(1).as_deref(), Some(text));
    assert_eq!(unsought(0), None);
}
