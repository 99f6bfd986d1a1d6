//! Pods, workloads and DaemonSets: what is read, what is put into words, what is refused.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use api::objects::PodManifest;
use model::Pod;

use super::*;

pub(super) fn pod_of(spec: &str) -> Pod {
    let text = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{{spec}}}\n");
    let manifest = read(&text, "x.yaml");
    assert_eq!(manifest.problems, []);
    match manifest.objects.into_iter().next() {
        Some(Object::Pod(read)) => read.pod,
        other => panic!("{other:?}"),
    }
}

/// What of a pod's `spec` cannot be honored, beside one container.
#[track_caller]
fn unsupported(spec: &str, expected: &Expect) {
    let pod = pod_of(&format!("containers: [{{name: m}}], {spec}"));
    let rules = pod.spec.problems.iter().map(|problem| problem.rule.to_string());
    expected.assert_eq(&rules.collect::<Vec<_>>().join("\n"));
}

/// What a pod requests.
#[track_caller]
fn requests(spec: &str, expected: &Expect) {
    expected.assert_eq(&pod_of(spec).spec.requests.to_string());
}

#[test]
fn limits_stand_in_for_requests_that_are_missing() {
    requests(
        "containers: [{name: m, resources: {requests: {cpu: 100m}, limits: {cpu: 1, memory: 1Gi}}}]",
        &expect!["cpu 100m, memory 1Gi, pods 1"],
    );
    requests(
        "containers: [{name: m, resources: {requests: {cpu: 0}, limits: {cpu: 1}}}]",
        &expect!["pods 1"],
    );
}

#[test]
fn requests_are_effective() {
    requests(
        "initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 100m}}}, \
         {name: i, resources: {requests: {cpu: 2}}}], \
         containers: [{name: m, resources: {requests: {cpu: 500m}, limits: {nvidia.com/gpu: 1}}}], \
         overhead: {cpu: 50m}",
        &expect!["cpu 2150m, pods 1, nvidia.com/gpu 1"],
    );
    requests(
        "resources: {requests: {cpu: 3}, limits: {memory: 2Gi}}, \
         containers: [{name: m, resources: {requests: {cpu: 500m}}}]",
        &expect!["cpu 3, memory 2Gi, pods 1"],
    );
    requests(
        "resources: {limits: {cpu: 3}}, \
         containers: [{name: m, resources: {requests: {cpu: 500m}}}]",
        &expect!["cpu 500m, pods 1"],
    );
}

#[test]
fn tolerations_compare_whole_numbers() {
    let pod = pod_of(
        "containers: [{name: m}], tolerations: [{key: a, operator: Gt, value: '5'}, \
         {key: a, operator: Lt, value: '-1', effect: NoExecute}]",
    );
    let tolerates = |value: &str| {
        let effect = model::TaintEffect::NoExecute;
        let taint = model::Taint { key: "a".to_owned(), value: value.to_owned(), effect };
        pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(&taint))
    };
    for (value, expected) in [
        ("6", true),
        ("5", false),
        ("0", false),
        ("-1", false),
        ("-2", true),
        ("06", false),
        ("6.5", false),
        ("", false),
        ("99999999999999999999", false),
    ] {
        assert_eq!(tolerates(value), expected, "{value}");
    }
}

#[test]
fn what_cannot_be_honored_yet_is_put_into_words() {
    unsupported(
        "volumes: [{name: a, awsElasticBlockStore: {volumeID: vol-1}}]",
        &expect!["awsElasticBlockStore volumes"],
    );
}

#[test]
fn the_claims_of_a_pod_are_those_of_its_spec_and_of_its_containers() {
    let claims = |spec: &str| {
        let claims = &pod_of(spec).spec.claims;
        let reference = |(name, claim): &(String, Option<model::ObjectName>)| match claim {
            Some(claim) => format!("{name}={claim}"),
            None => name.clone(),
        };
        let named: Vec<_> = claims.references.iter().map(reference).collect();
        (named.join(" "), claims.is_asked_by_container)
    };
    let references = "resourceClaims: [{name: gpu, resourceClaimTemplateName: t}, \
               {name: net, resourceClaimName: net-0}]";
    let asks = "{name: m, resources: {claims: [{name: gpu, request: one}]}}";
    assert_eq!(
        claims(&format!("containers: [{{name: m}}], {references}")),
        ("gpu net=net-0".into(), false)
    );
    assert_eq!(
        claims(&format!("containers: [{asks}], {references}")),
        ("gpu net=net-0".into(), true)
    );
    let init = format!("containers: [{{name: c}}], initContainers: [{asks}], {references}");
    assert_eq!(claims(&init), ("gpu net=net-0".into(), true));
    let none = "containers: [{name: m, resources: {claims: []}}], resourceClaims: []";
    assert_eq!(claims(none), (String::new(), false));
}

#[test]
fn a_claim_of_a_pod_is_there_or_made_from_a_template() {
    let refused = |claims: &str| {
        let spec = format!("spec: {{containers: [{{name: m}}], resourceClaims: [{claims}]}}");
        let text = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\n{spec}\n");
        let problems = read(&text, "x.yaml").problems;
        assert_eq!(problems.len(), 1, "{claims}");
    };
    refused("{name: gpu}");
    refused("{name: gpu, resourceClaimName: a, resourceClaimTemplateName: b}");
    refused("{name: gpu, resourceClaimName: ''}");
    refused("{resourceClaimName: a}");
}

#[test]
fn empty_structures_are_harmless() {
    unsupported(
        "topologySpreadConstraints: [], resourceClaims: [], volumes: [{name: a, emptyDir: {}}], \
         affinity: {podAffinity: {}, podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: []}, \
         nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}, nodeSelector: {}",
        &expect![""],
    );
}

#[test]
fn an_operator_that_does_not_go_with_its_values_is_put_into_words() {
    let affinity = |expression: &str| {
        format!(
            "affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: \
             {{nodeSelectorTerms: [{{matchExpressions: [{{{expression}}}]}}]}}}}}}"
        )
    };
    unsupported(
        &affinity("key: a, operator: In, values: []"),
        &expect!["node affinity a: operator In on `a` needs at least one value"],
    );
    unsupported(
        &affinity("key: a, operator: Gt, values: [x]"),
        &expect![[
            r#"node affinity a: operator Gt on `a` takes exactly one non-negative integer, not ["x"]"#
        ]],
    );
    // Keys and values are judged where pods are placed: some pods are placed without being judged.
    unsupported(&affinity("key: kubernetes.io/hostname, operator: Exists"), &expect![""]);
    unsupported("nodeSelector: {not a key: not a value!}", &expect![""]);
}

#[test]
fn what_decides_is_read() {
    let pod = pod_of(
        "containers: [{name: m}], nodeName: node-1, priorityClassName: system-node-critical, \
         nodeSelector: {beta.kubernetes.io/arch: arm64}, tolerations: [{operator: Exists}, \
         {key: a, value: b, effect: NoSchedule}], affinity: {nodeAffinity: \
         {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: \
         [{key: team, operator: NotIn, values: [x]}, {key: a, operator: Lte, values: ['3']}]}, {}]}}}",
    );
    assert_eq!(pod.node.as_ref().map(ToString::to_string).as_deref(), Some("node-1"));
    assert_eq!((pod.spec.priority, pod.spec.termination_grace_seconds), (2_000_001_000, 30));
    assert_eq!(pod.spec.node_selector.to_string(), "kubernetes.io/arch In [arm64]");
    assert_eq!(pod.spec.required_terms.iter().map(Vec::len).collect::<Vec<_>>(), [2, 0]);
    assert_eq!(pod.spec.tolerations.len(), 2);
    assert_eq!(pod.uid.as_str(), "default/a");
}

#[test]
fn a_status_says_whether_a_node_must_be_found() {
    let text = "apiVersion: v1
kind: Pod
metadata:
  name: a
  namespace: x
  uid: u
  creationTimestamp: 2026-08-01T11:00:00Z
  deletionTimestamp: '2026-08-01T13:00:00Z'
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: c, uid: u}
  - {apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}
spec:
  containers: [{name: m, resources: {requests: {cpu: 100m}}}]
status:
  phase: Pending
  startTime: '2026-08-01T11:30:00Z'
  nominatedNodeName: ''
  conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, lastTransitionTime: '2026-08-01T12:00:00Z'}]
  containerStatuses: [{name: m, allocatedResources: {cpu: 150m}}]
";
    let manifest = read(text, "x.yaml");
    let Object::Pod(PodManifest { pod, .. }) = &manifest.objects[0] else { panic!("{manifest:?}") };
    assert!(pod.is_provisionable() && pod.is_terminating());
    assert_eq!(pod.unschedulable_at.unwrap().to_string(), "2026-08-01T12:00:00Z");
    assert_eq!(pod.owner.as_ref().unwrap().kind, "ReplicaSet");
    assert_eq!(pod.spec.requests.to_string(), "cpu 150m, pods 1");
    let unseen = read(&text.replace("reason: Unschedulable", "reason: SchedulingGated"), "x.yaml");
    assert!(matches!(&unseen.objects[0], Object::Pod(read) if !read.pod.is_provisionable()));
}

#[test]
fn a_pod_that_is_resized_in_place_takes_what_is_asked_for_or_given() {
    let requests = |status: &str| {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, namespace: x}}\nspec: {{\
             initContainers: [{{name: i, resources: {{requests: {{cpu: 300m}}}}}}], \
             containers: [{{name: m, resources: {{requests: {{cpu: 500m}}}}}}]}}\nstatus: {status}\n"
        );
        let manifest = read(&text, "x.yaml");
        let Object::Pod(PodManifest { pod, .. }) = &manifest.objects[0] else {
            panic!("{manifest:?}")
        };
        pod.spec.requests.to_string()
    };
    let given = |allocated: &str, in_force: &str| {
        format!(
            "containerStatuses: [{{name: m, allocatedResources: {{cpu: {allocated}}}, resources: \
             {{requests: {{cpu: {in_force}}}}}}}]"
        )
    };
    let infeasible = "conditions: [{type: PodResizePending, status: 'True', reason: Infeasible}]";
    let deferred = "conditions: [{type: PodResizePending, status: 'True', reason: Deferred}]";
    for (status, expected) in [
        (format!("{{{}}}", given("200m", "200m")), "cpu 500m, pods 1"),
        (format!("{{{}}}", given("600m", "200m")), "cpu 600m, pods 1"),
        (format!("{{{}}}", given("200m", "700m")), "cpu 700m, pods 1"),
        (format!("{{{}, {deferred}}}", given("400m", "400m")), "cpu 500m, pods 1"),
        (format!("{{{}, {infeasible}}}", given("400m", "400m")), "cpu 400m, pods 1"),
        // Without a word of the kubelet the spec counts.
        (format!("{{{infeasible}}}"), "cpu 500m, pods 1"),
        // An init container is not resized, unless it goes on running.
        (
            "{initContainerStatuses: [{name: i, allocatedResources: {cpu: '2'}}]}".to_owned(),
            "cpu 500m, pods 1",
        ),
    ] {
        assert_eq!(requests(&status), expected, "{status}");
    }
}

#[test]
fn eks_gives_windows_pods_an_address_of_their_node_however_they_ask_for_windows() {
    let term = |os: &str| {
        format!(
            "affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: \
             [{{matchExpressions: [{{key: kubernetes.io/os, {os}}}]}}]}}}}}}, "
        )
    };
    let with = "PrivateIPv4Address 1";
    for (asks, has_address) in [
        ("nodeSelector: {kubernetes.io/os: windows}, ", true),
        (&*term("operator: In, values: [windows]"), true),
        (&*term("operator: NotIn, values: [linux]"), false),
        ("", false),
    ] {
        let requests =
            pod_of(&format!("{asks}containers: [{{name: m}}]")).spec.requests.to_string();
        assert_eq!(requests.contains(with), has_address, "{asks}: {requests}");
    }
}

#[test]
fn workloads_have_replicas() {
    let of = |version: &str, kind: &str, spec: &str| {
        let (selector, policy) = match kind {
            "Job" => ("", "restartPolicy: Never, "),
            _ => ("selector: {matchLabels: {app: a}}, ", ""),
        };
        let text = format!(
            "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{{selector}{spec}template: \
             {{metadata: {{labels: {{app: a}}, annotations: {{x: z, karpenter.sh/do-not-disrupt: \
             'true'}}}}, spec: {{{policy}containers: [{{name: m}}]}}}}}}\n"
        );
        let manifest = read(&text, "x.yaml");
        assert_eq!(manifest.problems, []);
        match manifest.objects.into_iter().next() {
            Some(Object::Workload(workload)) => workload,
            other => panic!("{other:?}"),
        }
    };
    let replicas = |version, kind, spec| of(version, kind, spec).replicas;
    assert_eq!(replicas("apps/v1", "Deployment", ""), 1);
    assert_eq!(replicas("apps/v1", "Deployment", "replicas: 0, "), 0);
    assert_eq!(replicas("apps/v1", "ReplicaSet", "replicas: 7, "), 7);
    assert_eq!(replicas("batch/v1", "Job", ""), 1);
    assert_eq!(replicas("batch/v1", "Job", "parallelism: 5, completions: 3, "), 3);
    assert_eq!(replicas("batch/v1", "Job", "parallelism: 5, suspend: true, "), 0);
    let set = of(
        "apps/v1",
        "StatefulSet",
        "replicas: 2, ordinals: {start: 3}, volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: \
         fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}], ",
    );
    let template = ("data".parse().unwrap(), Some("fast".to_owned()));
    assert_eq!((set.first_ordinal, set.claim_templates.as_slice()), (3, [template].as_slice()));
    assert_eq!(set.spec.annotations.len(), 1);
    assert_eq!(set.spec.labels.len(), 1);
}

#[test]
fn what_is_wrong_with_pods_is_named() {
    let pod = |spec: &str| {
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{{spec}}}\n")
    };
    each(
        pod,
        &[
            "containers: [{name: m, resources: {requests: {cpu: 1O0m}}}]",
            "containers: [{name: m, resource: {}}]",
            "containers: [{name: m}], nodeselector: {a: b}",
            "containers: [{name: m}], nodeSelector: {a: true}",
            "containers: {name: m}",
            "nodeSelector: {}",
            "containers: [{name: m}], tolerations: [{value: b}]",
            "containers: [{name: m}], tolerations: [{key: a, effect: Never}]",
        ],
        &expect![[r#"
            containers: [{name: m, resources: {requests: {cpu: 1O0m}}}]
                x.yaml:4: Pod a: spec.containers[0].resources.requests.cpu: `1O0m` is not a quantity: after the number only one of the suffixes n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3 may stand
            containers: [{name: m, resource: {}}]
                x.yaml:4: Pod a: spec.containers[0].resource: unknown field; did you mean `resources`?
            containers: [{name: m}], nodeselector: {a: b}
                x.yaml:4: Pod a: spec.nodeselector: unknown field; it is spelled `nodeSelector`
            containers: [{name: m}], nodeSelector: {a: true}
                x.yaml:4: Pod a: spec.nodeSelector.a: must be a text, not the boolean true; quote it: "true"
            containers: {name: m}
                x.yaml:4: Pod a: spec.containers: must be a list, not a map
            nodeSelector: {}
                x.yaml:4: Pod a: spec.containers: is required
            containers: [{name: m}], tolerations: [{value: b}]
                x.yaml:4: Pod a: spec.tolerations[0]: without a `key` the operator must be `Exists`
            containers: [{name: m}], tolerations: [{key: a, effect: Never}]
                x.yaml:4: Pod a: spec.tolerations[0].effect: must be `NoSchedule`, `PreferNoSchedule` or `NoExecute`, not `Never`
        "#]],
    );
    check(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: three\n  selector: {matchLabels: {app: a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec: {containers: [{name: m}]}\n",
        &expect![
            "x.yaml:5: Deployment a: spec.replicas: must be a whole number, not the text `three`"
        ],
    );
    check(
        "apiVersion: v1\nkind: Pod\nmetadata: {}\n",
        &expect![[r#"
            x.yaml:3: Pod (without a name): metadata.name: is required
            x.yaml:1: Pod (without a name): spec: is required"#]],
    );
}
