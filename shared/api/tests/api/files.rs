//! Manifests: the shipped examples are right, and each bad input gives exactly one clear message.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::{Expect, expect};
use model::{node_class::NodeClass, node_pool::NodePool};

use api::{
    files::{cross_check, read},
    objects::Object,
};

mod class_status;
mod cluster;
mod devices;
mod json_list;
mod launch_options;
mod node_class;
mod node_pool;
mod places;
mod pod_rules;
mod pods;

/// What is wrong with `text`, one line each.
fn problems(text: &str) -> String {
    let manifests = [read(text, "x.yaml")];
    let between = cross_check(&manifests);
    let diagnostics: Vec<_> = manifests[0].problems.iter().chain(&between).collect();
    diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// What is wrong with the text that `make` makes of each input: one message for each bad one.
#[track_caller]
fn each(make: impl Fn(&str) -> String, inputs: &[&str], expected: &Expect) {
    let outcomes = inputs.iter().map(|input| {
        let text = problems(&make(input));
        assert!(!text.contains('\n'), "more than one message about {input}:\n{text}");
        let outcome = if text.is_empty() { "right" } else { &text };
        format!("{}\n    {outcome}\n", input.replace('\n', "\\n"))
    });
    expected.assert_eq(&outcomes.collect::<String>());
}

#[track_caller]
fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&problems(text));
}

const POOL: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
";
const CLASS: &str = "\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
";

#[test]
fn the_shipped_examples_are_read_without_a_problem() {
    for (file, text, objects) in [
        ("story/nodepool.yaml", include_str!("../../../../examples/story/nodepool.yaml"), 2),
        ("story/deployment.yaml", include_str!("../../../../examples/story/deployment.yaml"), 1),
        ("story/daemonset.yaml", include_str!("../../../../examples/story/daemonset.yaml"), 1),
        ("default.yaml", include_str!("../../../../examples/walkthrough/default.yaml"), 3),
        (
            "spot-and-on-demand.yaml",
            include_str!("../../../../examples/walkthrough/spot-and-on-demand.yaml"),
            5,
        ),
        (
            "grace-period.yaml",
            include_str!("../../../../examples/walkthrough/grace-period.yaml"),
            3,
        ),
    ] {
        assert_eq!(problems(text), "", "{file}");
        let manifest = read(text, file);
        assert_eq!((manifest.objects.len(), manifest.places.len()), (objects, objects), "{file}");
        for object in manifest.objects {
            let problems = match &object {
                Object::NodePool(pool) => pool.problems.clone(),
                Object::NodeClass(read) => read.class.problems.clone(),
                Object::Workload(workload) => workload.spec.problems.clone(),
                Object::DaemonSet(daemon_set, _) => daemon_set.spec.problems.clone(),
                _ => vec![],
            };
            assert_eq!(problems, [], "{object:?}");
        }
    }
}

#[test]
fn the_smallest_objects_are_right() {
    check(&format!("{POOL}---\n{CLASS}"), &expect![""]);
}

#[test]
fn lists_are_expanded_and_items_may_leave_out_their_kind() {
    let list = "\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: web}
- apiVersion: v1
  kind: PodList
  items:
  - metadata: {name: a}
    spec: {containers: [{name: m}]}
";
    let manifest = read(list, "x.yaml");
    assert_eq!(manifest.problems, []);
    assert!(matches!(&manifest.objects[..],
        [Object::Other { kind, name, .. }, Object::Pod(pod)]
            if kind == "ConfigMap" && name == "web" && pod.pod.key.to_string() == "default/a"));
}

#[test]
fn json_is_read_as_well() {
    let text = r#"{"apiVersion":"v1","kind":"List","items":[
  {"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},"spec":{"providerId":"x"}}]}"#;
    check(
        text,
        &expect!["x.yaml:2: Node a: spec.providerId: unknown field; it is spelled `providerID`"],
    );
}

#[test]
fn what_is_no_manifest_is_one_message() {
    check("", &expect![""]);
    check("---\n---\n", &expect![""]);
    check(
        "a: 1\n---\nb: 2\n",
        &expect![[r#"
            x.yaml:1: not a Kubernetes object: `apiVersion` and `kind` are required
            x.yaml:3: not a Kubernetes object: `apiVersion` and `kind` are required"#]],
    );
    check(
        "- a\n",
        &expect!["x.yaml:1: not a Kubernetes object: `apiVersion` and `kind` are required"],
    );
    check("a: 1\na: 2\n", &expect!["x.yaml:2: not valid YAML: duplicate mapping key: a"]);
    check(
        "a: {b: ${CLUSTER_NAME}}\n",
        &expect![
            "x.yaml:1: not valid YAML: while parsing a flow mapping, did not find expected ',' or '}'; `${CLUSTER_NAME}` was left in: put the value in its place"
        ],
    );
    check(
        "a:\n\t- b\n",
        &expect![
            "x.yaml:2: not valid YAML: tabs disallowed within this context (block indentation)"
        ],
    );
}

#[test]
fn documents_beside_one_that_is_no_yaml_are_read_with_directives_too() {
    for (text, line) in [
        (format!("# pools\n%YAML 1.2\n---\na: 1\na: 2\n---\n{CLASS}"), 7),
        (format!("%YAML 1.2\n---\n{CLASS}...\n# next\n%YAML 1.2\n---\na: 1\na: 2\n"), 3),
    ] {
        let read = read(&text, "x.yaml");
        assert_eq!(read.problems.len(), 1, "{text}: {:?}", read.problems);
        assert_eq!(read.objects.len(), 1, "{text}");
        assert_eq!(read.places[0].line, Some(line), "{text}");
    }
    check(
        "%YAML 1.2\n---\n# a\na: 1\na: 2\n---\n---\n",
        &expect!["x.yaml:5: not valid YAML: duplicate mapping key: a"],
    );
}

#[test]
fn two_objects_without_a_line_between_them_are_said_to_be_two() {
    let expected = expect![
        "x.yaml:9: two objects stand without `---` between them; put a line `---` above this one"
    ];
    check(&format!("{POOL}{CLASS}"), &expected);
    check(&format!("{POOL}{CLASS}").replace('\n', "\r\n"), &expected);
    // Wherever the second begins, and whatever stands before both.
    let class = CLASS.replacen("apiVersion: karpenter.k8s.aws/v1\n", "", 1);
    check(
        &format!("{CLASS}---\n{POOL}{class}apiVersion: karpenter.k8s.aws/v1\n"),
        &expect![
            "x.yaml:18: two objects stand without `---` between them; put a line `---` above this one"
        ],
    );
    // A file without a last newline, and the next behind it.
    check(
        &format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a---\n{CLASS}"),
        &expect![
            "x.yaml:5: two objects stand without `---` between them; put a line `---` above this one"
        ],
    );
    // One object that says a thing twice.
    check(
        &format!("{POOL}kind: NodePool\n"),
        &expect!["x.yaml:9: not valid YAML: duplicate mapping key: kind"],
    );
    check(
        &format!("{CLASS}  role: node\n---\n{CLASS}"),
        &expect!["x.yaml:9: not valid YAML: duplicate mapping key: role"],
    );
}

#[test]
fn old_versions_and_unknown_kinds_are_named() {
    for (version, kind) in [
        ("karpenter.sh/v1beta1", "NodePool"),
        ("karpenter.k8s.aws/v1beta1", "EC2NodeClass"),
        ("karpenter.sh/v1alpha5", "Provisioner"),
        ("karpenter.sh/v1alpha5", "Machine"),
        ("karpenter.sh/v1alpha1", "NodeOverlay"),
        ("karpenter.sh/v1", "NodeClaim"),
        ("autoscaling.x-k8s.io/v1beta1", "CapacityBuffer"),
        ("karpenter.sh/v1", "Nodepool"),
        ("karpenter.sh/v1", "EC2NodeClass"),
        ("v1", "ConfigMap"),
    ] {
        let outcome =
            problems(&format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n"));
        assert_eq!(outcome.lines().count(), usize::from(kind != "ConfigMap"), "{outcome}");
    }
    check(
        "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\n---\n\
         apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: b}\n---\n\
         apiVersion: karpenter.sh/v1\nkind: EC2NodeClass\nmetadata: {name: c}\n---\n\
         apiVersion: karpenter.sh/v1\nkind: NodeOverlay\nmetadata: {name: d}\n",
        &expect![[r#"
            x.yaml:1: NodePool a: spec: is required
            x.yaml:5: Provisioner b: spec.providerRef: is required
            x.yaml:9: EC2NodeClass c: apiVersion: `karpenter.sh/v1` has no kind `EC2NodeClass`; write karpenter.k8s.aws/v1
            x.yaml:13: NodeOverlay d: apiVersion: `karpenter.sh/v1` has no kind `NodeOverlay`; write karpenter.sh/v1alpha1"#]],
    );
}

#[test]
fn kinds_and_versions_that_no_api_server_has_are_named() {
    each(
        |input| {
            let (version, kind) = input.split_once(' ').unwrap();
            format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n")
        },
        &[
            "karpenter.sh/v1 NodePol",
            "apps/v1 Deployments",
            "apps/v1 Pods",
            "v1 Deploymnet",
            "v1 Pods",
            "v1 Job",
            "v1 Service",
            "v1 Config",
            "apps/v2 Deployment",
            "apps/v2 Other",
            "extensions/v1beta1 Deployment",
            "extensions/v1beta1 Ingress",
            "policy/v1beta1 PodDisruptionBudget",
            "policy/v1beta1 PodSecurityPolicy",
            "storage.k8s.io/v1alpha1 VolumeAttributesClass",
            "argoproj.io/v1alpha1 Deployments",
        ],
        &expect![[r#"
            karpenter.sh/v1 NodePol
                x.yaml:2: NodePol a: kind: `karpenter.sh/v1` has no kind `NodePol`; did you mean `NodePool`?
            apps/v1 Deployments
                x.yaml:1: Deployments a: apiVersion: `apps/v1` has no kind `Deployments`, so the object is not read; did you mean `Deployment`?
            apps/v1 Pods
                x.yaml:1: Pods a: apiVersion: `apps/v1` has no kind `Pods`, so the object is not read
            v1 Deploymnet
                x.yaml:1: Deploymnet a: apiVersion: `v1` has no kind `Deploymnet`, so the object is not read
            v1 Pods
                x.yaml:1: Pods a: apiVersion: `v1` has no kind `Pods`, so the object is not read
            v1 Job
                x.yaml:1: Job a: apiVersion: `v1` has no kind `Job`, so the object is not read; write batch/v1
            v1 Service
                right
            v1 Config
                right
            apps/v2 Deployment
                x.yaml:1: Deployment a: apiVersion: `apps/v2` has no kind `Deployment`, so the object is not read; write apps/v1
            apps/v2 Other
                right
            extensions/v1beta1 Deployment
                x.yaml:1: Deployment a: apiVersion: Kubernetes 1.22 removed `extensions/v1beta1`; write apps/v1
            extensions/v1beta1 Ingress
                x.yaml:1: Ingress a: apiVersion: Kubernetes 1.22 removed `extensions/v1beta1`
            policy/v1beta1 PodDisruptionBudget
                x.yaml:1: PodDisruptionBudget a: apiVersion: Kubernetes 1.25 removed `policy/v1beta1`; write policy/v1
            policy/v1beta1 PodSecurityPolicy
                x.yaml:1: PodSecurityPolicy a: apiVersion: Kubernetes 1.25 removed `policy/v1beta1`
            storage.k8s.io/v1alpha1 VolumeAttributesClass
                right
            argoproj.io/v1alpha1 Deployments
                right
        "#]],
    );
    let stored = |version: &str, kind: &str| {
        problems(&format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a, uid: u}}\n"))
    };
    assert_eq!(stored("v1", "KindOfALaterRelease"), "");
    assert_ne!(stored("policy/v1beta1", "PodDisruptionBudget"), "");
}

#[test]
fn a_pool_that_names_a_missing_class_is_reported_with_its_place() {
    check(
        POOL,
        &expect![
            "x.yaml:7: NodePool general: spec.template.spec.nodeClassRef.name: there is no EC2NodeClass `default`"
        ],
    );
    // A class that was refused counts as there: one message is enough.
    let bad_class = CLASS.replace("sg-1", "sg_1");
    check(
        &format!("{POOL}---\n{bad_class}"),
        &expect![
            "x.yaml:17: EC2NodeClass default: spec.securityGroupSelectorTerms[0].id: `sg_1` is not a valid security group id: it must be `sg-` followed by lower-case letters or digits"
        ],
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_panics(
        at in 0..600_usize,
        cut in 0..30_usize,
        inserted in "[-a-z0-9 {}\\[\\]:,\"'$&*|>\n]{0,6}",
    ) {
        let text = format!("{POOL}---\n{CLASS}");
        let kept: String = text.chars().take(at).collect();
        let rest: String = text.chars().skip(at + cut).collect();
        let manifest = read(&format!("{kept}{inserted}{rest}"), "x.yaml");
        proptest::prop_assert_eq!(manifest.objects.len(), manifest.places.len());
        for problem in manifest.problems {
            proptest::prop_assert!(!problem.to_string().contains('\n'), "{}", problem);
        }
    }
}
