//! Every rule of `spec.kubelet`: what is taken, and what Karpenter's condition would say.

use model::{
    Problem,
    node_class::{KubeletFault, NodeClass},
};

use api::{files::read as read_file, objects::Object};

/// A class of the image family with `kubelet`.
fn class(family: &str, kubelet: &str) -> NodeClass {
    let alias = if family == "Custom" { "al2023" } else { &family.to_lowercase() };
    let text = format!(
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {{name: default}}\nspec:\n  \
         role: r\n  amiFamily: {family}\n  amiSelectorTerms: [{{alias: {alias}@latest}}]\n  \
         subnetSelectorTerms: [{{id: subnet-1}}]\n  securityGroupSelectorTerms: [{{id: sg-1}}]\n  \
         kubelet: {kubelet}\n"
    );
    let manifest = read_file(&text, "x.yaml");
    match manifest.objects.into_iter().next() {
        Some(Object::NodeClass(read)) => {
            let class = read.class;
            assert_eq!(class.problems.is_empty(), class.kubelet_fault().is_none(), "{kubelet}");
            class
        }
        other => panic!("{kubelet}: {other:?} {:?}", manifest.problems),
    }
}

/// `Reason: words` of a block; `right` if there is none.
fn said(family: &str, kubelet: &str) -> String {
    let class = class(family, kubelet);
    let Some(fault) = class.kubelet_fault() else { return "right".to_owned() };
    let explained = class.problems.iter().filter(|problem| fault.explains(problem));
    let reason = match fault {
        KubeletFault::Invalid => "Invalid",
        KubeletFault::ExpressionsDisabled => "Expressions",
        KubeletFault::InvalidExpression => "InvalidExpression",
        KubeletFault::UnsupportedByFamily => "Unsupported",
    };
    format!("{reason}: {}", Problem::in_words(explained))
}

/// A block, and what is said of it: the beginning of it at least.
#[track_caller]
fn check(table: &[(&str, &str)]) {
    for (kubelet, expected) in table {
        let text = said("AL2023", kubelet);
        assert!(text.starts_with(expected), "{kubelet}: {text}");
        assert!(*expected != "right" || text == "right", "{kubelet}: {text}");
    }
}

#[test]
fn members_have_the_names_and_types_of_kubelet_configuration() {
    check(&[
        ("{}", "right"),
        ("{registryPullQPS: 5, registryBurst: -1}", "right"),
        ("{registryPullQPS: '5'}", "Invalid: spec.kubelet.registryPullQPS: must be a whole number"),
        ("{registryPullQPS: 2147483648}", "Invalid: spec.kubelet.registryPullQPS"),
        ("{podPidsLimit: 2147483648}", "right"),
        ("{maxpods: 5}", "Invalid: spec.kubelet.maxpods: unknown field"),
        ("{seccompDefault: true}", "right"),
        ("{seccompDefault: 1}", "Invalid: spec.kubelet.seccompDefault: must be true or false"),
        ("{memoryThrottlingFactor: 0.9}", "right"),
        ("{memoryThrottlingFactor: high}", "Invalid: spec.kubelet.memoryThrottlingFactor"),
        ("{syncFrequency: 1m30s}", "right"),
        ("{syncFrequency: 90}", "Invalid: spec.kubelet.syncFrequency"),
        ("{syncFrequency: soon}", "Invalid: spec.kubelet.syncFrequency"),
        ("{allowedUnsafeSysctls: [net.core.somaxconn]}", "right"),
        (
            "{allowedUnsafeSysctls: net.core.somaxconn}",
            "Invalid: spec.kubelet.allowedUnsafeSysctls",
        ),
        ("{allowedUnsafeSysctls: [1]}", "Invalid: spec.kubelet.allowedUnsafeSysctls[0]"),
        ("{featureGates: {A: true}}", "right"),
        ("{featureGates: {A: 'true'}}", "Invalid: spec.kubelet.featureGates.A"),
        ("{topologyManagerPolicy: null}", "right"),
        ("{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration}", "right"),
    ]);
}

#[test]
fn members_of_members_are_looked_at_as_well() {
    check(&[
        ("{authentication: {anonymous: {enabled: false}}}", "right"),
        (
            "{authentication: {anonymous: {enabled: 'no'}}}",
            "Invalid: spec.kubelet.authentication.anonymous.enabled: must be true or false",
        ),
        ("{authentication: {token: x}}", "Invalid: spec.kubelet.authentication.token: unknown"),
        ("{logging: {verbosity: 3, flushFrequency: 5000000000}}", "right"),
        ("{logging: {flushFrequency: 5s, options: {json: {infoBufferSize: 1Mi}}}}", "right"),
        ("{logging: {verbosity: -1}}", "Invalid: spec.kubelet.logging.verbosity"),
        (
            "{logging: {vmodule: [{filePattern: a*, verbosity: x}]}}",
            "Invalid: spec.kubelet.logging",
        ),
        ("{reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]}", "right"),
        ("{reservedMemory: [{numaNode: 0, limits: {memory: much}}]}", "Invalid: spec.kubelet.res"),
        ("{staticPodURLHeader: {a: [b]}}", "right"),
        ("{staticPodURLHeader: {a: b}}", "Invalid: spec.kubelet.staticPodURLHeader.a"),
        (
            "{shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 5}]}",
            "right",
        ),
        ("{tracing: {samplingRatePerMillion: 1.5}}", "Invalid: spec.kubelet.tracing"),
        ("{userNamespaces: {idsPerPod: 65536}}", "right"),
    ]);
}

#[test]
fn taints_are_not_for_it_to_say() {
    check(&[
        ("{registerWithTaints: []}", "Invalid: spec.kubelet.registerWithTaints: must not be given"),
        ("{registerWithTaints: null}", "right"),
    ]);
}

#[test]
fn eviction_has_signals_thresholds_and_periods() {
    let mut table = vec![
        ("{evictionHard: {memory.available: 0%}}", "right"),
        ("{evictionHard: {memory.available: 100%}}", "right"),
        ("{evictionHard: {memory.available: 100.1%}}", "Invalid"),
        ("{evictionHard: {memory.available: -1%}}", "Invalid"),
        ("{evictionHard: {memory.available: 100Mi}}", "right"),
        ("{evictionHard: {memory.available: -100Mi}}", "Invalid"),
        ("{evictionHard: {memory.available: 5}}", "Invalid"),
        ("{evictionHard: {memory.free: 5%}}", "Invalid"),
        ("{evictionMinimumReclaim: {nodefs.available: 500Mi}}", "right"),
        ("{evictionMinimumReclaim: {nodefs.free: 500Mi}}", "Invalid"),
        ("{evictionSoft: {memory.available: 5%}}", "Invalid"),
        ("{evictionSoftGracePeriod: {memory.available: 1m}}", "Invalid"),
        (
            "{evictionSoft: {memory.available: 5%}, \
             evictionSoftGracePeriod: {memory.available: 0s}}",
            "right",
        ),
        (
            "{evictionSoft: {memory.available: 5%}, \
             evictionSoftGracePeriod: {memory.available: -1s}}",
            "Invalid",
        ),
        (
            "{evictionSoft: {memory.available: 5%}, \
             evictionSoftGracePeriod: {pid.available: 1m}}",
            "Invalid",
        ),
    ];
    let signals = [
        "memory.available",
        "nodefs.available",
        "nodefs.inodesFree",
        "imagefs.available",
        "imagefs.inodesFree",
        "pid.available",
    ]
    .map(|signal| format!("{{evictionHard: {{{signal}: 5%}}}}"));
    table.extend(signals.iter().map(|block| (block.as_str(), "right")));
    check(&table);
}

#[test]
fn what_is_reserved_is_a_quantity_of_four_resources() {
    check(&[
        ("{kubeReserved: {cpu: 100m, memory: 1Gi, ephemeral-storage: 1Gi, pid: '100'}}", "right"),
        ("{systemReserved: {cpu: 100m, memory: 1Gi, ephemeral-storage: 1Gi, pid: '100'}}", "right"),
        ("{systemReserved: {cpu: '0'}}", "right"),
        ("{kubeReserved: {nvidia.com/gpu: '1'}}", "Invalid"),
        ("{kubeReserved: {cpu: '-1'}}", "Invalid"),
        ("{systemReserved: {cpu: 1}}", "Invalid: spec.kubelet.systemReserved.cpu: must be a text"),
        (
            "{systemReserved: {cpu: vcpus * 10}}",
            "Expressions: spec.kubelet.systemReserved.cpu: an ex",
        ),
        ("{kubeReserved: {cpu: ''}}", "Expressions: spec.kubelet.kubeReserved.cpu: an expression"),
    ]);
}

#[test]
fn numbers_have_limits() {
    check(&[
        ("{maxPods: 0, podsPerCore: 0, evictionMaxPodGracePeriod: 0}", "right"),
        ("{maxPods: -1}", "Invalid"),
        ("{podsPerCore: -1}", "Invalid"),
        ("{evictionMaxPodGracePeriod: -1}", "Invalid"),
        (
            "{maxPods: max_pods - 10}",
            "Expressions: spec.kubelet.maxPods: an expression needs the fe",
        ),
        (
            "{maxPods: '58'}",
            "Expressions: spec.kubelet.maxPods: an expression needs the feature gate",
        ),
        // What is wrong by itself is said first.
        ("{maxPods: max_pods - 10, podsPerCore: -1}", "Invalid: spec.kubelet.podsPerCore"),
        ("{imageGCHighThresholdPercent: 100, imageGCLowThresholdPercent: 0}", "right"),
        ("{imageGCHighThresholdPercent: 101}", "Invalid"),
        ("{imageGCLowThresholdPercent: -1}", "Invalid"),
        ("{imageGCHighThresholdPercent: 51, imageGCLowThresholdPercent: 50}", "right"),
        ("{imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 50}", "Invalid"),
    ]);
}

#[test]
fn all_findings_are_said_at_once() {
    let text = said("AL2023", "{maxPods: -1, seccompDefault: 1}");
    let expected = "Invalid: spec.kubelet.maxPods: must be at least 0, not -1; \
                    spec.kubelet.seccompDefault: must be true or false, not the number 1";
    assert_eq!(text, expected);
}

#[test]
fn families_differ_in_what_their_nodes_can_be_told() {
    let blocks = [
        "{podsPerCore: 5}",
        "{clusterDNS: [10.0.0.10]}",
        "{clusterDNS: [10.0.0.10, 10.0.0.11]}",
        "{registryPullQPS: 5}",
    ];
    for (family, expected) in [
        ("AL2023", "right right right right"),
        ("Custom", "right right right right"),
        ("AL2", "right right right Unsupported"),
        ("Windows2022", "right right right Unsupported"),
        ("Bottlerocket", "right right right Unsupported"),
    ] {
        let texts = blocks.map(|block| {
            let text = said(family, block);
            text.split(':').next().unwrap_or_default().to_owned()
        });
        assert_eq!(texts.join(" "), expected, "{family}");
    }
}

#[test]
fn what_only_the_node_looks_at_is_kept_as_it_is() {
    let kubelet = class("AL2023", "{maxPods: 20, registryPullQPS: 5, featureGates: {A: true}}");
    let passed_through: Vec<_> = kubelet.kubelet.passed_through.iter().collect();
    let passed = |key: &str, json: &str| (key.to_owned(), json.to_owned());
    let expected = [passed("featureGates", r#"{"A":true}"#), passed("registryPullQPS", "5")];
    assert_eq!(passed_through, expected.iter().map(|(key, json)| (key, json)).collect::<Vec<_>>());
}
