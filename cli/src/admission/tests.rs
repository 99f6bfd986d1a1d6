use api::objects::Object;
use model::PodSpec;

use crate::manifests::{InputFile, Read};

const CLUSTER: &str = "
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: kata}
handler: kata
overhead: {podFixed: {cpu: 250m, memory: 120Mi}}
scheduling:
  nodeSelector: {kata: 'yes'}
  tolerations: [{key: kata, operator: Exists, effect: NoSchedule}]
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: default}
spec:
  limits:
  - {type: Container, defaultRequest: {cpu: 100m}, default: {memory: 256Mi}, max: {cpu: '2'}, min: {memory: 16Mi}}
  - {type: Pod, max: {memory: 1Gi}}
---
";

/// The pods of a Deployment with `spec`, as they are stored, and the notes.
fn admitted(before: &str, namespace: &str, spec: &str) -> (PodSpec, Vec<String>) {
    let text = format!(
        "{before}apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: {namespace}}}\nspec:\n  \
         selector: {{matchLabels: {{app: web}}}}\n  template: {{metadata: {{labels: {{app: web}}}}, spec: {{{spec}}}}}\n"
    );
    let mut read = Read::of(&[InputFile::named("cluster.yaml", &text)]);
    assert!(read.problems().is_empty(), "{:?}", read.problems());
    let notes = super::admit(&mut read.manifests);
    let mut objects = read.manifests.into_iter().flat_map(|manifest| manifest.objects);
    let spec = objects.find_map(|object| match object {
        Object::Workload(workload) => Some(PodSpec::clone(&workload.spec)),
        _ => None,
    });
    (spec.expect("a Deployment"), notes)
}

fn amounts(spec: &PodSpec) -> (u64, u64) {
    (spec.requests.get("cpu"), spec.requests.get("memory") >> 20)
}

#[test]
fn a_limit_range_fills_in_requests_of_its_namespace() {
    let two = "containers: [{name: a}, {name: b, resources: {requests: {cpu: 0, memory: 64Mi}}}]";
    let (spec, notes) = admitted(CLUSTER, "default", two);
    assert_eq!((amounts(&spec), notes), ((100, 320), vec![]));
    assert_eq!(spec.problems, []);
    let (spec, _) = admitted(CLUSTER, "other", two);
    assert_eq!(amounts(&spec), (0, 64));
    // A limit that is written is a request before defaults are looked up.
    let limited = "containers: [{name: a, resources: {limits: {cpu: '1', memory: 512Mi}}}]";
    assert_eq!(amounts(&admitted(CLUSTER, "default", limited).0), (1_000, 512));
}

#[test]
fn pods_outside_of_a_limit_range_are_refused() {
    let refusals = |containers: &str| {
        let spec = admitted(CLUSTER, "default", &format!("containers: [{containers}]")).0;
        spec.problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let with = |requests: &str| format!("{{name: a, resources: {{requests: {{{requests}}}}}}}");
    assert_eq!(
        refusals(&with("cpu: '3', memory: 8Mi")),
        [
            "containers[0]: memory 8Mi is less than the 16Mi that LimitRange limits allows",
            "containers[0]: cpu 3 is more than the 2 that LimitRange limits allows"
        ]
    );
    let large = with("memory: 600Mi");
    assert_eq!(
        refusals(&format!("{large}, {}", large.replace("name: a", "name: b"))),
        ["pod: memory 1200Mi is more than the 1Gi that LimitRange limits allows"]
    );
}

#[test]
fn a_runtime_class_adds_overhead_and_where_its_pods_run() {
    let kata = "runtimeClassName: kata, containers: [{name: a, resources: {requests: {cpu: '1', memory: 1Mi}}}]";
    let (spec, notes) = admitted(CLUSTER, "other", kata);
    assert_eq!((amounts(&spec), notes), ((1_250, 121), vec![]));
    assert!(spec.node_selector.get("kata").is_some_and(|requirement| requirement.has("yes")));
    assert_eq!((spec.tolerations.len(), spec.problems), (1, vec![]));
    let (spec, notes) = admitted("", "other", kata);
    assert_eq!(amounts(&spec), (1_000, 1));
    assert_eq!(
        notes,
        ["RuntimeClass kata is not in the input: its pods are planned without the overhead, node \
          selector and tolerations that it may add"]
    );
    let elsewhere = format!("nodeSelector: {{kata: 'no'}}, {kata}");
    let problems = admitted(CLUSTER, "other", &elsewhere).0.problems;
    let words: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        [
            "runtimeClassName: RuntimeClass kata: its node selector contradicts the `nodeSelector` of \
          the pod"
        ]
    );
}

#[test]
fn a_runtime_class_of_windows_pods_brings_their_address() {
    let windows = CLUSTER.replace("kata: 'yes'", "kubernetes.io/os: windows");
    let pod = "runtimeClassName: kata, containers: [{name: a}]";
    let (spec, _) = admitted(&windows, "other", pod);
    assert_eq!(spec.requests.get("vpc.amazonaws.com/PrivateIPv4Address"), 1);
}
