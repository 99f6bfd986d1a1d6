//! What pods ask about places: spread, affinity, volumes, ports of the node.

use model::{storage::PodVolume, topology::NodeInclusionPolicy};

use super::{pods::pod_of, *};

/// A pod with two labels and one container.
fn labelled(spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, labels: {{app: web, rev: r1}}}}\n\
         spec: {{containers: [{{name: m}}], {spec}}}\n"
    )
}

fn spec_of(spec: &str) -> std::sync::Arc<model::PodSpec> {
    let manifest = read(&labelled(spec), "x.yaml");
    assert_eq!(manifest.problems, []);
    match manifest.objects.into_iter().next() {
        Some(Object::Pod(read)) => read.pod.spec,
        other => panic!("{other:?}"),
    }
}

/// A selector as `key Operator [values]`.
fn shown(selector: Option<&model::selector::LabelSelector>) -> String {
    let Some(selector) = selector else { return "none".to_owned() };
    let shown = |e: &model::selector::SelectorExpression| {
        format!("{} {:?} {:?}", e.key, e.operator, e.values)
    };
    selector.expressions.iter().map(shown).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_spread_has_the_defaults_of_the_api_server() {
    let spec = spec_of(
        "topologySpreadConstraints: [{maxSkew: 2, topologyKey: failure-domain.beta.kubernetes.io/zone, \
         whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}, minDomains: 3, \
         matchLabelKeys: [rev, missing]}, {maxSkew: 1, topologyKey: team, nodeTaintsPolicy: Honor, \
         nodeAffinityPolicy: Ignore, whenUnsatisfiable: ScheduleAnyway}]",
    );
    let [first, second] = spec.spread.as_slice() else { panic!("{:?}", spec.spread) };
    assert_eq!(first.topology_key.as_str(), "topology.kubernetes.io/zone");
    assert_eq!((first.max_skew, first.min_domains), (2, Some(3)));
    assert_eq!(first.node_affinity_policy, NodeInclusionPolicy::Honor);
    assert_eq!(first.node_taints_policy, NodeInclusionPolicy::Ignore);
    assert_eq!(shown(first.selector.as_ref()), r#"app In {"web"}, rev In {"r1"}"#);
    assert_eq!(second.node_affinity_policy, NodeInclusionPolicy::Ignore);
    assert_eq!(second.node_taints_policy, NodeInclusionPolicy::Honor);
    assert_eq!((second.min_domains, &second.selector), (None, &None));
}

#[test]
fn affinity_to_other_pods_is_read_with_its_namespaces() {
    let spec = spec_of(
        "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
         kubernetes.io/hostname, labelSelector: {matchExpressions: [{key: app, operator: Exists}]}, \
         namespaces: [one, two], namespaceSelector: {}, mismatchLabelKeys: [rev]}]}, \
         podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7, \
         podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: web}}}}]}}",
    );
    let near = &spec.pod_affinity.required[0];
    assert_eq!(shown(near.selector.as_ref()), r#"app Exists {}, rev NotIn {"r1"}"#);
    assert_eq!(near.namespaces.len(), 2);
    assert!(
        near.namespace_selector
            .as_ref()
            .is_some_and(|label_selector| label_selector.expressions.is_empty())
    );
    let far = &spec.pod_anti_affinity.preferred[0];
    assert_eq!((far.weight, &far.term.namespace_selector), (7, &None));
    assert!(spec.pod_anti_affinity.required.is_empty());
}

#[test]
fn node_affinity_has_preferences_and_fields() {
    let spec = spec_of(
        "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, \
         preference: {matchExpressions: [{key: team, operator: In, values: [a]}]}}], \
         requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: \
         [{key: metadata.name, operator: In, values: [ip-1]}]}]}}}",
    );
    assert_eq!(spec.preferred_terms[0].weight, 5);
    assert_eq!(spec.preferred_terms[0].term[0].to_string(), "team In [a]");
    assert!(spec.has_match_fields);
    assert_eq!(spec.match_fields[0][0].to_string(), "metadata.name In [ip-1]");
}

#[test]
fn what_breaks_the_rules_of_the_api_is_refused() {
    let cases = [
        (
            "topologySpreadConstraints: [{maxSkew: 0, topologyKey: a, whenUnsatisfiable: Never}]",
            "maxSkew: must be at least 1, not 0",
        ),
        (
            "topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, minDomains: 2, \
             whenUnsatisfiable: ScheduleAnyway}]",
            "minDomains: goes with `whenUnsatisfiable: DoNotSchedule` only",
        ),
        (
            "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
             a, labelSelector: {matchExpressions: [{key: app, operator: In}]}}]}}",
            "the operators In and NotIn need values",
        ),
        (
            "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: \
             101, podAffinityTerm: {topologyKey: a}}]}}",
            "weight: must be 1 to 100, not 101",
        ),
    ];
    for (spec, rule) in cases {
        let found_problems = problems(&labelled(spec));
        assert!(found_problems.contains(rule), "`{rule}` is missing in {found_problems}");
    }
}

#[test]
fn an_invalid_selector_that_a_server_took_selects_nothing() {
    let text = labelled(
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, \
         labelSelector: {matchExpressions: [{key: app, operator: In}]}}]",
    );
    let manifest = read(&text.replace("name: a,", "name: a, uid: u,"), "x.yaml");
    assert_eq!(manifest.problems, []);
    let Object::Pod(read) = &manifest.objects[0] else { panic!("{manifest:?}") };
    let selector = read.pod.spec.spread[0].selector.as_ref().unwrap();
    assert!(selector.is_invalid && !selector.selects(&read.pod.spec.labels));
}

#[test]
fn volumes_are_claims_or_decide_nothing() {
    let pod = pod_of(
        "containers: [{name: m}], volumes: [{name: a, emptyDir: {}}, {name: b, \
         persistentVolumeClaim: {claimName: data, readOnly: true}}, {name: c, ephemeral: \
         {volumeClaimTemplate: {spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: \
         {storage: 1Gi}}}}}}]",
    );
    let ephemeral =
        PodVolume::Ephemeral { volume: "c".to_owned(), storage_class: Some("fast".to_owned()) };
    assert_eq!(pod.volumes, [PodVolume::Claim("data".parse().unwrap()), ephemeral]);
}

/// Ports of the node that a pod takes, as `ip:port/protocol`.
#[track_caller]
fn check_ports(spec: &str, expected: &[&str]) {
    let pod = pod_of(spec);
    let shown = pod.spec.host_ports.iter().map(|p| format!("{}:{}/{}", p.ip, p.port, p.protocol));
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

#[test]
fn ports_of_the_node_are_those_of_containers_and_sidecars() {
    check_ports(
        "containers: [{name: m, ports: [{containerPort: 80, hostPort: 8080}, {containerPort: 81}, \
         {containerPort: 53, hostPort: 53, protocol: UDP, hostIP: 10.0.0.1}, {containerPort: 82, \
         hostPort: 0}]}], initContainers: [{name: i, ports: [{containerPort: 9, hostPort: 9}]}]",
        &["0.0.0.0:8080/TCP", "10.0.0.1:53/UDP"],
    );
    check_ports(
        "hostNetwork: true, containers: [{name: m, ports: [{containerPort: 80}]}]",
        &["0.0.0.0:80/TCP"],
    );
    check_ports(
        "containers: [{name: m}], initContainers: [{name: i, restartPolicy: Always, ports: \
         [{containerPort: 53, hostPort: 53}]}]",
        &["0.0.0.0:53/TCP"],
    );
}
