//! What admission adds to new pods.

use api::objects::Object;
use model::{PodSpec, TaintEffect};

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
fn pods_tolerate_the_taints_of_the_devices_that_they_request() {
    let spec = "initContainers: [{name: i, resources: {limits: {example.com/dongle: 1}}}], containers: [{name: a, \
                resources: {limits: {nvidia.com/gpu: 1, cpu: 1, hugepages-2Mi: 2Mi}}}, {name: b, resources: {limits: \
                {nvidia.com/gpu: 1}}}], tolerations: [{key: example.com/dongle, operator: Exists, effect: NoSchedule}]";
    let tolerated: Vec<(String, Option<TaintEffect>)> = admitted("", "default", spec)
        .0
        .tolerations
        .into_iter()
        .map(|toleration| (toleration.key, toleration.effect))
        .collect();
    let no_schedule = Some(TaintEffect::NoSchedule);
    let expected = [("example.com/dongle", no_schedule), ("nvidia.com/gpu", no_schedule)];
    assert_eq!(tolerated, expected.map(|(key, effect)| (key.to_owned(), effect)));
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

/// The claims of `text` and the zones of their volumes, as a cluster has them soon after it is applied.
fn bound(text: &str) -> (Vec<String>, usize) {
    let mut read = Read::of(&[InputFile::named("cluster.yaml", text)]);
    assert!(read.problems().is_empty(), "{:?}", read.problems());
    let notes = super::bind(&mut read.manifests).len();
    let objects = || read.manifests.iter().flat_map(|manifest| &manifest.objects);
    let volume = |name: &str| {
        objects().find_map(|object| match object {
            Object::Volume(read) if read.name == name => Some(read.volume.terms.len()),
            _ => None,
        })
    };
    let claims = objects().filter_map(|object| match object {
        Object::VolumeClaim(key, claim) => {
            let name = claim.volume.as_deref().unwrap_or("nothing");
            let terms = volume(name).map_or_else(|| "gone".to_owned(), |terms| terms.to_string());
            let bound = claim.is_bind_completed;
            Some(format!("{}: {name} {terms} {bound}", key.name))
        }
        _ => None,
    });
    (claims.collect(), notes)
}

const CLASSES: &str = "
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: waits, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: efs}
provisioner: efs.csi.aws.com
---
";

fn volume(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}, labels: \
         {{topology.kubernetes.io/zone: us-west-2b}}}}\nspec: {{{spec}}}\n---\n"
    )
}

fn claim(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}}}\nspec: {{accessModes: \
         [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}, {spec}}}\n---\n"
    )
}

#[test]
fn new_claims_are_bound_unless_their_volumes_wait_for_pods() {
    let text = CLASSES.to_owned()
        + &volume("kept", "claimRef: {namespace: default, name: b}")
        + &volume("named", "storageClassName: waits")
        + &volume("free", "storageClassName: efs")
        + &claim("a", "volumeName: named")
        + &claim("b", "storageClassName: waits")
        + &claim("c", "storageClassName: efs")
        + &claim("d", "storageClassName: efs")
        + &claim("e", "")
        + &claim("f", "volumeName: missing");
    let (claims, notes) = bound(&text);
    assert_eq!(
        claims,
        [
            "a: named 1 true",
            "b: kept 1 true",
            "c: free 1 true",
            "d: pvc-default-d 0 true",
            "e: nothing gone false",
            "f: missing gone false",
        ]
    );
    assert_eq!(notes, 1, "the zone of d is not known");
}

#[test]
fn claims_that_a_server_has_stored_stay_as_they_are() {
    let stored = claim("a", "storageClassName: efs").replace("{name: a}", "{name: a, uid: u}");
    assert_eq!(bound(&(CLASSES.to_owned() + &stored)).0, ["a: nothing gone false"]);
}
