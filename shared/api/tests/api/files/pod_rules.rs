//! What an API server refuses of pods and of what makes them.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use super::*;

#[test]
fn pods_that_an_api_server_refuses_are_named() {
    let pod = |spec: &str| {
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{{spec}}}\n")
    };
    each(
        pod,
        &[
            "containers: [{name: m}], initContainers: [{name: i}, {name: m}]",
            "containers: [{name: m}], restartPolicy: Sometimes",
            "containers: [{name: m, resources: {requests: {nvidia.com/gpu: 1}}}]",
            "containers: [{name: m, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}}]",
            "containers: [{name: m, resources: {requests: {cpu: 1, hugepages-2Mi: 100Mi}}}]",
            "containers: [{name: m, resources: {limits: {hugepages-2Mi: 100Mi}}}]",
            "containers: [{name: m, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]",
            "containers: [{name: m, resources: {requests: {cpu: 2}}}], resources: {requests: {cpu: 1}}",
            "containers: [{name: m}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: \
             DoNotSchedule}, {maxSkew: 2, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]",
            "containers: [{name: m}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: \
             DoNotSchedule, matchLabelKeys: [b]}]",
            "containers: [{name: m}], affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: \
             [{topologyKey: a, mismatchLabelKeys: [b]}]}}",
            "containers: [{name: m}], affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: \
             [{topologyKey: a, labelSelector: {}, matchLabelKeys: [b], mismatchLabelKeys: [b]}]}}",
            "containers: [{name: m}], volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: \
             [ReadWriteOnce]}}}}]",
        ],
        &expect![[r#"
            containers: [{name: m}], initContainers: [{name: i}, {name: m}]
                x.yaml:4: Pod a: spec.containers[0].name: `m` is the name of another container of the pod; rename one of them
            containers: [{name: m}], restartPolicy: Sometimes
                x.yaml:4: Pod a: spec.restartPolicy: must be one of `Always`, `OnFailure`, `Never`, not `Sometimes`
            containers: [{name: m, resources: {requests: {nvidia.com/gpu: 1}}}]
                x.yaml:4: Pod a: spec.containers[0].resources.requests[nvidia.com/gpu]: needs a limit of the same amount; add the limit `nvidia.com/gpu: 1`
            containers: [{name: m, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}}]
                x.yaml:4: Pod a: spec.containers[0].resources.requests[nvidia.com/gpu]: must be equal to the limit; request 2
            containers: [{name: m, resources: {requests: {cpu: 1, hugepages-2Mi: 100Mi}}}]
                x.yaml:4: Pod a: spec.containers[0].resources.requests.hugepages-2Mi: needs a limit of the same amount; add the limit `hugepages-2Mi: 100Mi`
            containers: [{name: m, resources: {limits: {hugepages-2Mi: 100Mi}}}]
                x.yaml:4: Pod a: spec.containers[0].resources: huge pages need CPU or memory beside them; request `cpu` or `memory` as well
            containers: [{name: m, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]
                x.yaml:4: Pod a: spec.containers[0].resources.requests.cpu: is more than the limit; raise the limit
            containers: [{name: m, resources: {requests: {cpu: 2}}}], resources: {requests: {cpu: 1}}
                x.yaml:4: Pod a: spec.resources.requests.cpu: is less than the 2 that the containers request together; request at least 2
            containers: [{name: m}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]
                x.yaml:4: Pod a: spec.topologySpreadConstraints[1]: a constraint before has `a` with `DoNotSchedule` too; keep one of them
            containers: [{name: m}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [b]}]
                x.yaml:4: Pod a: spec.topologySpreadConstraints[0].matchLabelKeys: goes with a `labelSelector` only; write a `labelSelector`, or leave out `matchLabelKeys`
            containers: [{name: m}], affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, mismatchLabelKeys: [b]}]}}
                x.yaml:4: Pod a: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].mismatchLabelKeys: goes with a `labelSelector` only; write a `labelSelector`, or leave out `mismatchLabelKeys`
            containers: [{name: m}], affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, labelSelector: {}, matchLabelKeys: [b], mismatchLabelKeys: [b]}]}}
                x.yaml:4: Pod a: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].mismatchLabelKeys: `b` is among `matchLabelKeys` as well; take it out of one of them
            containers: [{name: m}], volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}]
                x.yaml:4: Pod a: spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests.storage: is required; write how large it is, such as `storage: 10Gi`
        "#]],
    );
}

#[test]
fn pods_that_an_api_server_takes_are_read() {
    for spec in [
        "containers: [{name: m, resources: {limits: {nvidia.com/gpu: 1}}}]",
        "containers: [{name: m, resources: {requests: {cpu: 1, hugepages-2Mi: 2Mi}, limits: {hugepages-2Mi: 2Mi}}}]",
        "containers: [{name: m, resources: {requests: {ephemeral-storage: 1Gi, cpu: 1}, limits: {cpu: 2}}}]",
        "containers: [{name: m, resources: {requests: {cpu: 1}}}], resources: {requests: {cpu: 1}, limits: {cpu: 2}}",
        "containers: [{name: m}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: \
         DoNotSchedule}, {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]",
        "containers: [{name: m}], restartPolicy: Never, initContainers: [{name: i}]",
    ] {
        pods::pod_of(spec);
    }
    // A server of another release stored it: that is no mistake to mend here.
    let stored = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, uid: u}\nspec: {containers: [{name: m, resources: \
                  {requests: {nvidia.com/gpu: 1}}}]}\n";
    assert_eq!(read(stored, "x.yaml").problems, []);
}

/// A workload of `kind` with the rest of its `spec` before `template`, whose labels are `app: a`, and of its pods.
fn workload(kind: &str, spec: &str, pod: &str) -> String {
    let version = if kind == "Job" { "batch/v1" } else { "apps/v1" };
    format!(
        "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{{spec}template: {{metadata: {{labels: \
         {{app: a}}}}, spec: {{{pod}containers: [{{name: m}}]}}}}}}\n"
    )
}

const SELECTOR: &str = "selector: {matchLabels: {app: a}}, ";

#[test]
fn workloads_select_the_pods_of_their_templates() {
    each(
        |spec| workload("Deployment", &format!("{spec}, "), ""),
        &[
            "replicas: 1",
            "selector: {}",
            "selector: {matchLabels: {app: b}}",
            "selector: {matchExpressions: [{key: app, operator: NotIn, values: [a]}]}",
        ],
        &expect![[r#"
            replicas: 1
                x.yaml:4: Deployment a: spec.selector: is required; write the labels of the template under `selector.matchLabels`
            selector: {}
                x.yaml:4: Deployment a: spec.selector: must not be empty; write the labels of the template under `selector.matchLabels`
            selector: {matchLabels: {app: b}}
                x.yaml:4: Deployment a: spec.selector: does not select the pods of the template; write the labels of the template under `selector.matchLabels`
            selector: {matchExpressions: [{key: app, operator: NotIn, values: [a]}]}
                x.yaml:4: Deployment a: spec.selector: does not select the pods of the template; write the labels of the template under `selector.matchLabels`
        "#]],
    );
    for kind in ["DaemonSet", "StatefulSet", "ReplicaSet"] {
        let said = read(&workload(kind, "selector: {matchLabels: {app: b}}, ", ""), "x.yaml");
        let said: Vec<_> = said.problems.iter().map(ToString::to_string).collect();
        assert!(said[0].contains("spec.selector: does not select"), "{kind}: {said:?}");
    }
}

#[test]
fn a_stateful_set_whose_name_is_too_long_for_a_label_gets_no_pods() {
    for (length, expected) in [(52, None), (53, Some("has 53 characters"))] {
        let text = workload("StatefulSet", SELECTOR, "");
        let text = text.replace("{name: a}", &format!("{{name: {}}}", "n".repeat(length)));
        let problems = read(&text, "x.yaml").problems;
        let first = problems.first().map(ToString::to_string);
        assert_eq!(first.is_some(), expected.is_some(), "{first:?}");
        assert!(expected.is_none_or(|words| first.is_some_and(|first| first.contains(words))));
    }
}

#[test]
fn pods_of_jobs_end_and_those_of_other_workloads_do_not() {
    let policies =
        ["", "restartPolicy: Always, ", "restartPolicy: OnFailure, ", "restartPolicy: Never, "];
    for (kind, selector, taken) in [
        ("Deployment", SELECTOR, [true, true, false, false]),
        ("StatefulSet", SELECTOR, [true, true, false, false]),
        ("ReplicaSet", SELECTOR, [true, true, false, false]),
        ("DaemonSet", SELECTOR, [true, true, false, false]),
        ("Job", "", [false, false, true, true]),
    ] {
        for (policy, is_taken) in policies.iter().zip(taken) {
            let read = read(&workload(kind, selector, policy), "x.yaml");
            let said: Vec<_> = read.problems.iter().map(ToString::to_string).collect();
            assert_eq!(said.is_empty(), is_taken, "{kind} {policy}: {said:?}");
            let is_named = |text: &String| text.contains("spec.template.spec.restartPolicy: ");
            assert!(said.iter().all(is_named), "{said:?}");
        }
    }
    check(
        &workload("Job", "", ""),
        &expect![
            "x.yaml:4: Job a: spec.template.spec.restartPolicy: must be `OnFailure` or `Never` in a Job, not `Always`, the default; write one of them"
        ],
    );
    check(
        &workload("DaemonSet", SELECTOR, policies[3]),
        &expect![
            "x.yaml:4: DaemonSet a: spec.template.spec.restartPolicy: must be `Always`, not `Never`; leave it out, or make a Job"
        ],
    );
}

#[test]
fn claims_of_volumes_have_a_size_and_access_modes() {
    let set = |spec: &str| {
        let templates =
            format!("volumeClaimTemplates: [{{metadata: {{name: d}}, spec: {{{spec}}}}}], ");
        workload("StatefulSet", &format!("{SELECTOR}{templates}"), "")
    };
    let size = "resources: {requests: {storage: 1Gi}}";
    let modes = "accessModes: [ReadWriteOnce]";
    let empty = format!("accessModes: [], {size}");
    each(
        set,
        &[size, modes, &empty],
        &expect![[r#"
        resources: {requests: {storage: 1Gi}}
            x.yaml:4: StatefulSet a: spec.volumeClaimTemplates[0].spec.accessModes: is required; write `accessModes: [ReadWriteOnce]`
        accessModes: [ReadWriteOnce]
            x.yaml:4: StatefulSet a: spec.volumeClaimTemplates[0].spec.resources.requests.storage: is required; write how large it is, such as `storage: 10Gi`
        accessModes: [], resources: {requests: {storage: 1Gi}}
            x.yaml:4: StatefulSet a: spec.volumeClaimTemplates[0].spec.accessModes: is required; write `accessModes: [ReadWriteOnce]`
    "#]],
    );
    assert_eq!(read(&set(&format!("{size}, {modes}")), "x.yaml").problems, []);
    check(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec: {accessModes: [ReadWriteOnce]}\n",
        &expect![
            "x.yaml:4: PersistentVolumeClaim a: spec.resources.requests.storage: is required; write how large it is, such as `storage: 10Gi`"
        ],
    );
}
