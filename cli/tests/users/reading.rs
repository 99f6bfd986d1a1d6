//! What is read, and what is left out.

use std::fs;

use crate::{CLASS, POOL, deployment, folder, run};

#[test]
fn d6_a_stray_file_in_a_directory_is_skipped_with_a_note() {
    let web = deployment("web", 2);
    let files = [
        ("in/class.yaml", CLASS),
        ("in/pool.yaml", POOL),
        ("in/web.yaml", &web),
        ("in/policy.json", r#"{"Version": "2012-10-17", "Statement": []}"#),
        ("in/values.yaml", "replicas: 3\n"),
        ("in/template.yaml", "kind: {{ .Values.kind }}\n{{- end }}\n"),
    ];
    let folder = folder("d6", &files);
    let planned = run(&folder, "plan in --strict");
    planned.says(&[
        "default/web ×2",
        "in/policy.json:1: not a Kubernetes object",
        "in/template.yaml",
    ]);
    assert_eq!(planned.code, Some(0), "what was skipped is no fault of an object");
    run(&folder, "simulate --manifests in --duration 1m").says(&["in/values.yaml:1"]);
    assert_eq!(run(&folder, "hash in").code, Some(0));
    assert_eq!(run(&folder, "convert in").code, Some(0));
    // What is named is meant.
    let refused = run(&folder, "plan in/class.yaml in/values.yaml");
    refused.complains(&["in/values.yaml:1: not a Kubernetes object"]);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn d8_of_an_object_that_is_there_twice_the_last_counts_and_it_is_said() {
    let (first, last) = (deployment("web", 3), deployment("web", 2));
    let other = POOL.replace("on-demand", "spot");
    let files = [
        ("1.yaml", CLASS),
        ("2.yaml", POOL),
        ("3.yaml", &first),
        ("4.yaml", &last),
        ("5.yaml", &other),
    ];
    let folder = folder("d8", &files);
    let planned = run(&folder, "plan .");
    planned.says(&[
        "default/web ×2",
        " spot ",
        "./3.yaml:1: Deployment default/web appears again, and ./4.yaml:1 wins",
        "./2.yaml:1: NodePool general appears again, and ./5.yaml:1 wins",
    ]);
    let played = run(&folder, "simulate --manifests . --duration 3m");
    played.says(&["pods placed      2", "Deployment default/web appears again", ": spot "]);
}

#[test]
fn d9_endless_replicas_are_counted_up_to_the_limit_of_a_plan() {
    let web = deployment("web", 2_147_483_647);
    let folder = folder("d9", &[("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &web)]);
    let left =
        "Deployment default/web: 2,147,433,647 of its pods are left out: a plan is for 50,000";
    run(&folder, "plan .").says(&[left]);
    let refused = run(&folder, "simulate --manifests . --duration 1m");
    refused.complains(&["spec.replicas", "50,000"]);
    assert_eq!(refused.code, Some(2));
}

#[test]
fn d12_kubelet_settings_of_v1alpha5_become_valid_v1() {
    let old = "\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec:
  providerRef: {name: default}
  kubeletConfiguration:
    containerRuntime: containerd
    systemReserved: {cpu: 1, memory: 1Gi}
";
    let template = "\
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: default}
spec:
  subnetSelector: {karpenter.sh/discovery: a}
  securityGroupSelector: {karpenter.sh/discovery: a}
";
    let files = [("in/a.yaml", old), ("in/b.yaml", template)];
    let folder = folder("d12", &files);
    let converted = run(&folder, "convert in --role nodes");
    assert_eq!(converted.code, Some(0), "{}", converted.complaints);
    converted.says(&["cpu: \"1\"", "`containerRuntime` was left out"]);
    fs::write(folder.join("v1.yaml"), &converted.out).expect("a file of the test");
    let planned = run(&folder, "plan v1.yaml --strict");
    assert_eq!((planned.code, planned.complaints.as_str()), (Some(0), ""));
}

#[test]
fn d13_pools_and_classes_of_different_files_are_converted_together() {
    let pool = "\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {name: default}
      requirements: []
      kubelet: {maxPods: 42}
";
    let class = CLASS
        .replace("aws/v1", "aws/v1beta1")
        .replace("amiSelectorTerms: [{alias: al2023@latest}]", "amiFamily: AL2023");
    let files = [("in/pool.yaml", pool), ("in/class.yaml", &class), ("in/deep/x.yaml", "a: b")];
    let folder = folder("d13", &files);
    for words in ["convert in/pool.yaml in/class.yaml", "convert in", "convert -R in"] {
        let converted = run(&folder, words);
        assert_eq!(converted.code, Some(0), "{}", converted.complaints);
        converted.says(&["maxPods: 42", "It was in the NodePools of this class."]);
    }
}

#[test]
fn d14_a_dump_counts_what_a_deployment_made_only_once() {
    let owned = |kind: &str, name: &str, owner: &str| {
        format!(
            "metadata: {{name: {name}, namespace: default, uid: {name}, ownerReferences: \
             [{{apiVersion: apps/v1, kind: {kind}, name: {owner}, uid: u, controller: true}}]}}"
        )
    };
    let spec = "{containers: [{name: m, resources: {requests: {cpu: 800m}}}]}";
    let set = format!(
        "apiVersion: apps/v1\nkind: ReplicaSet\n{}\nspec: {{replicas: 2, selector: {{}}, template: \
         {{spec: {spec}}}}}\n",
        owned("Deployment", "web-7d9c8b6f5", "web")
    );
    let pod = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\n{}\nspec: {spec}\n",
            owned("ReplicaSet", name, "web-7d9c8b6f5")
        )
    };
    let dump = [deployment("web", 2), set, pod("web-a"), pod("web-b")].join("---\n");
    let folder = folder("d14", &[("class.yaml", CLASS), ("pool.yaml", POOL), ("dump.yaml", &dump)]);
    let played = run(&folder, "simulate --manifests . --duration 3m");
    played.says(&["pods placed      2"]);
}

#[test]
fn d17_what_makes_pods_that_are_not_read_is_named() {
    let kinds = "\
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: front}
spec: {}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: old}
spec: {}
";
    let folder = folder("d17", &[("all.yaml", &[CLASS, POOL, kinds].join("---\n"))]);
    let planned = run(&folder, "plan all.yaml");
    planned.says(&[
        "Rollout front: its pods are left out",
        "CronJob nightly:",
        "ReplicationController old:",
    ]);
    let json = run(&folder, "plan all.yaml -o json").json();
    assert_eq!(json["leftOut"].as_array().map(Vec::len), Some(3));
}

#[test]
fn d19_a_placeholder_is_seen_however_it_is_written() {
    for left_in in ["${CLUSTER}", "$CLUSTER", "<CLUSTER>", "<<CLUSTER>>", "{{ .Values.name }}"] {
        let class = CLASS.replace("role: nodes", &format!("role: \"{left_in}\""));
        let folder = folder("d19", &[("class.yaml", &class)]);
        let refused = run(&folder, "plan class.yaml --strict");
        refused.complains(&[&format!("spec.role: `{left_in}` was left in: it is a placeholder")]);
        assert_eq!(refused.code, Some(1));
    }
}

#[test]
fn d20_what_was_refused_is_not_said_to_be_missing() {
    let class = CLASS.replace("role:", "rol:");
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: \
                 {storageClassName: 5}\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: db}\nspec:\n  containers: [{name: m}]\n  \
               volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n";
    let web = deployment("web", 1);
    let files = [("class.yaml", &*class), ("pool.yaml", POOL), ("web.yaml", &web)];
    let refused = run(&folder("d20-class", &files), "plan .");
    refused.says(&["EC2NodeClass default is not ready: it could not be read"]);
    refused.is_silent_about(&["there is no EC2NodeClass"]);
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("claim.yaml", claim), ("pod.yaml", pod)];
    let refused = run(&folder("d20-claim", &files), "plan .");
    refused.says(&["PersistentVolumeClaim data: it could not be read"]);
    let pool = POOL.replace("general", "genera_");
    let files = [("class.yaml", CLASS), ("pool.yaml", &pool), ("web.yaml", &web)];
    let refused = run(&folder("d20-pool", &files), "plan .");
    refused.says(&["there is no NodePool that could be read"]);
}

#[test]
fn d21_what_is_wrong_with_an_older_version_is_said_in_its_own_words_and_with_its_line() {
    let old = "\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec:
  providerRef: {name: default}
  requirements:
  - {key: kubernetes.io/arch, operator: Within, values: [amd64]}
";
    let folder = folder("d21", &[("old.yaml", old)]);
    let said = "old.yaml:7: Provisioner default: spec.requirements[0].operator";
    for words in ["convert old.yaml", "plan old.yaml"] {
        run(&folder, words).complains(&[said]);
    }
}

#[test]
fn w8_a_directory_is_validated_with_a_summary() {
    let wrong = POOL.replace("operator: In", "operator: Within");
    let web = deployment("web", 1);
    let files = [("a/class.yaml", CLASS), ("a/b/pool.yaml", &*wrong), ("a/b/web.yaml", &web)];
    let folder = folder("w8", &files);
    let right = run(&folder, "validate a");
    right.says(&["1 file: nothing is wrong", "EC2NodeClass"]);
    assert_eq!(right.code, Some(0));
    let wrong = run(&folder, "validate -R a");
    wrong.says(&["a/b/pool.yaml:9: NodePool general: spec.template.spec.requirements[0].operator"]);
    wrong.says(&["3 files: 1 problem in 1 of them", "Deployment"]);
    assert_eq!(wrong.code, Some(1));
}

#[test]
fn w9_pools_of_other_providers_get_one_kind_line() {
    let auto =
        POOL.replace("karpenter.k8s.aws, kind: EC2NodeClass", "eks.amazonaws.com, kind: NodeClass");
    let web = deployment("web", 1);
    let folder = folder("w9", &[("pool.yaml", &auto), ("web.yaml", &web)]);
    let waiting = run(&folder, "plan pool.yaml web.yaml");
    waiting.says(&["general: the NodePool cannot be used", "left to EKS Auto Mode"]);
    waiting.is_silent_about(&["does not exist"]);
    let planned = run(&folder, "plan pool.yaml");
    planned
        .complains(&["names a NodeClass of eks.amazonaws.com: the pool is left to EKS Auto Mode"]);
    assert_eq!(planned.complaints.lines().count(), 1, "{}", planned.complaints);
    assert_eq!(planned.code, Some(0));
    let converted = run(&folder, "convert pool.yaml");
    converted.says(&["group: eks.amazonaws.com"]);
    assert_eq!((converted.complaints, converted.code), (planned.complaints, Some(0)));
}

#[test]
fn w9_a_pool_of_another_provider_keeps_no_command_from_the_pools_beside_it() {
    let auto = POOL
        .replace("karpenter.k8s.aws, kind: EC2NodeClass", "eks.amazonaws.com, kind: NodeClass")
        .replace("name: general", "name: auto");
    let web = deployment("web", 1);
    let node = "apiVersion: v1\nkind: Node\nmetadata:\n  name: i-1\n  labels: {karpenter.sh/nodepool: auto, \
                eks.amazonaws.com/compute-type: auto}\nspec: {providerID: \"aws:///us-west-2a/i-1\"}\n";
    let files = [
        ("in/auto.yaml", &*auto),
        ("in/class.yaml", CLASS),
        ("in/pool.yaml", POOL),
        ("web.yaml", &web),
        ("node.yaml", node),
    ];
    let folder = folder("w9-mixed", &files);
    let template = run(&folder, "render --cluster-facts-template").out;
    fs::write(folder.join("facts.json"), template).unwrap();
    let left = "left to EKS Auto Mode";
    for (words, said) in [
        ("plan in web.yaml", "1 node would be launched"),
        ("simulate --manifests in --manifests web.yaml --duration 10m", left),
        ("render in --cluster-facts facts.json", "for pods: cpu"),
        ("validate in", left),
        ("convert in", "group: eks.amazonaws.com"),
        ("plan in node.yaml --disruption", "i-1: EKS Auto Mode manages this node"),
    ] {
        let answered = run(&folder, words);
        assert_eq!(answered.code, Some(0), "{words}: {}{}", answered.complaints, answered.out);
        answered.says(&[said]);
    }
}

#[test]
fn w9_a_pool_with_kubelet_settings_that_the_api_server_prunes_is_planned_with() {
    let pool =
        POOL.replace("      requirements:", "      kubelet: {maxPods: 20}\n      requirements:");
    let web = deployment("web", 1);
    let files = [("class.yaml", CLASS), ("pool.yaml", &pool), ("web.yaml", &web)];
    let planned = run(&folder("w9-kubelet", &files), "plan .");
    planned.says(&[
        "1 node would be launched",
        "spec.template.spec.kubelet: is pruned by the API server",
    ]);
    assert_eq!(planned.code, Some(0));
}

#[test]
fn a_refused_object_shows_in_the_exit_code_unless_it_comes_from_a_cluster() {
    let web = deployment("web", 1);
    let pool = POOL.replace("operator: In", "operator: Within");
    let class = CLASS.replace("role:", "rol:");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: db}\nspec: {containers: [{name: m, \
               resources: {requests: {cpu: 1O}}}]}\n";
    for (refused, kind) in [(&*pool, "NodePool"), (&*class, "EC2NodeClass"), (pod, "Pod")] {
        let refused =
            refused.replace("general", "other").replace("name: default}\nspec", "name: x}\nspec");
        let files = [("a.yaml", CLASS), ("b.yaml", POOL), ("c.yaml", &*web), ("d.yaml", &refused)];
        let folder = folder("refused", &files);
        for words in ["plan .", "plan . -o json", "plan . --disruption"] {
            let planned = run(&folder, words);
            planned.complains(&["./d.yaml:", kind]);
            assert_eq!(planned.code, Some(1), "{words} {kind}: {}", planned.complaints);
            if words == "plan ." {
                planned.says(&["1 node would be launched", "default/web"]);
            }
        }
        let stored = refused
            .replacen("metadata: {", "metadata: {uid: 1a, ", 1)
            .replace("rol:", "role: nodes\n  amiFamily: 5 #");
        fs::write(folder.join("d.yaml"), stored).expect("a file of the test");
        let planned = run(&folder, "plan .");
        planned.complains(&["./d.yaml:", kind]);
        assert_eq!(planned.code, Some(0), "{kind}: {}", planned.complaints);
        assert_eq!(run(&folder, "plan . --strict").code, Some(1), "{kind}");
    }
}

#[test]
fn a_node_pool_whose_class_is_elsewhere_is_no_mistake() {
    let folder = folder(
        "alone",
        &[("pool.yaml", POOL), ("other.yaml", &CLASS.replace("name: default", "name: x"))],
    );
    let alone = run(&folder, "validate pool.yaml");
    alone.says(&["1 file: nothing is wrong", "no EC2NodeClass `default` among these files"]);
    assert_eq!(alone.code, Some(0));
    let beside = run(&folder, "validate pool.yaml other.yaml");
    beside.says(&["2 files: 1 problem in 1 of them", "there is no EC2NodeClass `default`"]);
    assert_eq!(beside.code, Some(1));
}

#[test]
fn what_is_valid_and_does_nothing_is_a_warning() {
    let requirements = "
        - {key: kubernetes.io/os, operator: In, values: [Linux]}
        - {key: karpenter.k8s.aws/instance-category, operator: NotIn, values: [T, none]}
        - {key: node.kubernetes.io/instance-type, operator: In, values: [m99.large]}
        - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a]}";
    let pool = "apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: POOL}
spec:
  template:
    metadata:
      annotations: {karpenter.sh/do-not-disrupt: 30m}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      startupTaints:
        - {key: example.com/agent, effect: NoSchedule}
        - {key: node.cilium.io/agent-not-ready, effect: NoExecute}
      requirements: ";
    let none = "[{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['9999']}]";
    let overlay = "---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: NAME}
spec: {weight: 5, requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [c6a, C6G]}], price: '1'}
";
    let mut web = deployment("web", 1);
    web = web.replacen(
        "metadata: {labels",
        "metadata: {annotations: {karpenter.sh/do-not-disrupt: 'True'}, labels",
        1,
    );
    let files = [
        ("class.yaml", CLASS),
        (
            "a.yaml",
            &*format!(
                "{}{requirements}\n---\n{}{none}",
                pool.replace("POOL", "a"),
                pool.replace("POOL", "b")
            ),
        ),
        ("web.yaml", &*web),
        (
            "overlays.yaml",
            &*format!("{}{}", overlay.replace("NAME", "c"), overlay.replace("NAME", "d")),
        ),
    ];
    let folder = folder("valid", &files);
    let warned = run(&folder, "validate .");
    assert_eq!(warned.code, Some(0), "{}{}", warned.out, warned.complaints);
    warned.says(&[
        "./a.yaml:14: NodePool a: spec.template.spec.requirements: no instance type has kubernetes.io/os `Linux`: write `linux`",
        "no instance type has karpenter.k8s.aws/instance-category `T`: write `t`",
        "no instance type of us-west-2 has node.kubernetes.io/instance-type `m99.large`",
        "./a.yaml:7: NodePool a: annotation karpenter.sh/do-not-disrupt is `30m`, which protects nothing: of nodes only `true` counts",
        "./a.yaml:11: NodePool a: spec.template.spec.startupTaints: none of the workloads here tolerates example.com/agent:NoSchedule",
        "./a.yaml:31: NodePool b: it launches nothing: its requirements leave no instance type",
        "Deployment default/web: annotation karpenter.sh/do-not-disrupt is `True`",
        "NodeOverlay c: it changes nothing: it conflicts with NodeOverlay d of the same weight: the price of c6a.",
        "no instance type has karpenter.k8s.aws/instance-family `C6G`: write `c6g`",
    ]);
    warned.is_silent_about(&["`none`", "cilium", "NodeOverlay d: it changes"]);
    // `plan` says what of it has no effect.
    let planned = run(&folder, "plan .");
    planned.says(&[
        "NodePool b launches nothing: its requirements leave no instance type",
        "NodeOverlay c has no effect: the feature gate NodeOverlay is off (--feature-gates NodeOverlay=true)",
    ]);
    let planned = run(&folder, "plan . --feature-gates NodeOverlay=true");
    planned.says(&["NodeOverlay c changes nothing: it conflicts with NodeOverlay d"]);
    planned.is_silent_about(&["NodeOverlay d changes"]);
}

#[test]
fn two_objects_without_a_line_between_them_are_said_to_be_two() {
    let folder = folder("unparted", &[("a/all.yaml", &[POOL, CLASS].concat())]);
    let said = "a/all.yaml:10: two objects stand without `---` between them";
    for words in ["plan a", "validate a", "simulate a", "convert a", "hash a"] {
        let refused = run(&folder, words);
        assert!(
            [&refused.out, &refused.complaints].iter().any(|text| text.contains(said)),
            "{words}"
        );
        assert_ne!(refused.code, Some(0), "{words}");
    }
}
