//! What `validate` finds in one file.

use crate::{CLASS, POOL, deployment, folder, planning::NODE, run};

/// A NodePool whose requirements are `requirements`, the first of which is on line 9.
fn pool(requirements: &str) -> String {
    let (start, _) = POOL.split_once("      - ").expect("its requirements");
    format!("{start}{requirements}")
}

#[test]
fn a_lone_node_pool_that_no_instance_type_fits_is_reported() {
    let nothing = "pool.yaml:9: NodePool general: it launches nothing: its requirements leave no instance \
                   type that can be bought now: no instance type has";
    for (requirement, said) in [
        (
            "{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['100000']}",
            format!("{nothing} karpenter.k8s.aws/instance-cpu Gt 100000"),
        ),
        (
            "{key: kubernetes.io/arch, operator: NotIn, values: [amd64, arm64]}",
            format!("{nothing} kubernetes.io/arch NotIn [amd64 arm64]"),
        ),
        (
            "{key: topology.kubernetes.io/zone, operator: In, values: [us-west-2z]}",
            "pool.yaml:9: NodePool general: no node has topology.kubernetes.io/zone `us-west-2z`: us-west-2 \
             has us-west-2a, us-west-2b, us-west-2c, us-west-2d"
                .to_owned(),
        ),
        (
            "{key: topology.kubernetes.io/zone, operator: In, values: [Frankfurt]}",
            "`Frankfurt`: AWS has none of this name".to_owned(),
        ),
    ] {
        let folder = folder("lone", &[("pool.yaml", &pool(&format!("      - {requirement}\n")))]);
        let warned = run(&folder, "validate pool.yaml");
        warned.says(&["1 file: 1 warning", &said]);
        assert_eq!(warned.code, Some(0), "{requirement}");
    }
}

#[test]
fn what_each_requirement_of_a_lone_node_pool_allows_may_be_impossible_together() {
    let both = pool(
        "      - {key: topology.kubernetes.io/region, operator: In, values: [us-west-2]}
      - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a, us-west-2-lax-1a]}
      - {key: topology.kubernetes.io/zone, operator: NotIn, values: [us-west-2-lax-1a]}
      - {key: kubernetes.io/arch, operator: In, values: [AMD64]}
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7g]}
      - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c]}
",
    );
    let folder = folder("together", &[("pool.yaml", &both)]);
    let warned = run(&folder, "validate pool.yaml");
    warned.says(&[
        "1 file: 3 warnings",
        "pool.yaml:12: NodePool general: spec.template.spec.requirements: no instance type has \
         kubernetes.io/arch `AMD64`: write `amd64`",
        "no instance type has karpenter.k8s.aws/instance-category In [c] and \
         karpenter.k8s.aws/instance-family In [m7g]",
        "pool.yaml:10: NodePool general: no node in a zone of eu-west-1 has \
         topology.kubernetes.io/region us-west-2",
        "NodePool general: eu-west-1a: only instance types and zones of us-west-2 are built in",
    ]);
}

#[test]
fn regions_that_are_not_built_in_are_not_checked() {
    for value in ["eu-west-1a", "us-gov-west-1b", "eu-central-1-ham-1a"] {
        let zone = format!(
            "      - {{key: topology.kubernetes.io/zone, operator: In, values: [{value}]}}\n"
        );
        let folder = folder("elsewhere", &[("pool.yaml", &pool(&zone))]);
        let said = run(&folder, "validate pool.yaml");
        said.says(&["1 file: nothing is wrong in what was checked", "Not checked", value]);
        assert_eq!(said.code, Some(0), "{value}");
    }
}

#[test]
fn a_pod_that_no_instance_type_can_host_is_reported() {
    let pod = "apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  nodeSelector:
    kubernetes.io/arch: arm64
    team: a
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c6a]}
  containers: [{name: c}]
";
    let folder = folder("pod", &[("pod.yaml", pod)]);
    let warned = run(&folder, "validate pod.yaml");
    warned.says(&[
        "1 file: 1 warning",
        "Pod default/p: its node selector or affinity: its requirements leave no instance type",
        "no instance type has karpenter.k8s.aws/instance-family In [c6a] and kubernetes.io/arch In [arm64]",
    ]);
    let possible = pod.replace("[c6a]", "[c6a, c6g]");
    let folder = self::folder("pod", &[("pod.yaml", &possible)]);
    run(&folder, "validate pod.yaml").says(&["1 file: nothing is wrong"]);
}

#[test]
fn a_value_that_is_wrong_hides_nothing_else() {
    let pool = pool(
        "      - {key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: [a]}
      - {key: kubernetes.io/arch, operator: Is, values: [amd64]}
      - {key: kubernetes.io/hostname, operator: Exists}
  weight: 1000
",
    );
    let class = CLASS.replace("  role: nodes\n", "  role: nodes\n  instanceProfile: mine\n");
    let class = class.replace("al2023@latest}", "al2024@latest}, {id: x}");
    let folder = folder("all", &[("all.yaml", &format!("{pool}---\n{class}"))]);
    let refused = run(&folder, "validate all.yaml");
    refused.says(&[
        "all.yaml:9: NodePool general: spec.template.spec.requirements[0].values: operator Gt",
        "requirements[1].operator: must be one of",
        "label `kubernetes.io/hostname` is restricted",
        "spec.weight: must be 1 to 100",
        "`role` and `instanceProfile` exclude each other",
        "`al2024` is not one of",
        "spec.amiSelectorTerms[1].id: `x` is not a valid image id",
    ]);
    refused.is_silent_about(&["spec.amiFamily"]);
}

const LINUX: &str = "      - {key: kubernetes.io/os, operator: In, values: [linux]}\n";

#[test]
fn a_field_that_is_one_letter_off_is_guessed() {
    for (wrong, right) in [
        ("limts", "did you mean `limits`?"),
        ("limitss", "did you mean `limits`?"),
        ("weigth", "did you mean `weight`?"),
        ("eight", "did you mean `weight`?"),
        ("Weight", "it is spelled `weight`"),
    ] {
        let folder = folder("guessed", &[("pool.yaml", &pool(&format!("{LINUX}  {wrong}: 1\n")))]);
        run(&folder, "validate pool.yaml")
            .says(&[&format!("spec.{wrong}: unknown field; {right}")]);
    }
    for wrong in ["wieghts", "lim", "colour"] {
        let folder =
            folder("not-guessed", &[("pool.yaml", &pool(&format!("{LINUX}  {wrong}: 1\n")))]);
        let refused = run(&folder, "validate pool.yaml");
        refused.says(&[&format!("spec.{wrong}: unknown field\n")]);
    }
}

#[test]
fn a_document_that_is_no_yaml_hides_no_other_one() {
    let broken = "kind: NodePool\nspec: [1\n";
    let weight = pool(&format!("{LINUX}  weight: 1000\n"));
    let text = format!("{CLASS}---\n{broken}--- # a third\n{weight}---\n{broken}");
    let lines = |text: &str| text.lines().count();
    let folder = folder("documents", &[("all.yaml", &text)]);
    let refused = run(&folder, "validate all.yaml");
    let third = lines(CLASS) + 1 + lines(broken) + 1 + lines(&weight);
    refused.says(&[
        "not valid YAML",
        &format!("all.yaml:{third}: NodePool general: spec.weight: must be 1 to 100"),
        "EC2NodeClass  1",
        "1 file: 3 problems",
    ]);
    let answer = run(&folder, "validate all.yaml -o json").json();
    let lines: Vec<u64> = answer["problems"]
        .as_array()
        .expect("problems")
        .iter()
        .map(|problem| problem["line"].as_u64().expect("a line"))
        .collect();
    assert!(lines.is_sorted() && lines.len() == 3, "{answer}");
    // A text in a block has no documents, and a directive belongs to the document after it.
    let block =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    ---\n    b: [\n";
    let folder = self::folder("documents-block", &[("all.yaml", &format!("{block}---\n{CLASS}"))]);
    assert_eq!(run(&folder, "validate all.yaml").code, Some(0));
}

/// A budget that never applies, or always, is a mistake.
#[test]
fn windows_that_never_open_or_never_close_are_named() {
    let budgets = |rows: &str| format!("{POOL}  disruption:\n    budgets:\n{rows}");
    let wrong = budgets(
        "    - {nodes: \"1\", schedule: \"0 0 30 2 *\", duration: 1h}\n    - {nodes: \"0\", reasons: [Drifted], \
         schedule: \"0 * * * *\", duration: 2h}\n",
    );
    let right = budgets(
        "    - {nodes: \"0\", schedule: \"0 8 * * *\", duration: 2h}\n    - {nodes: \"5\", schedule: \"0 * * * *\", \
         duration: 2h}\n",
    );
    let folder =
        folder("windows", &[("class.yaml", CLASS), ("wrong.yaml", &wrong), ("right.yaml", &right)]);
    let said = run(&folder, "validate class.yaml wrong.yaml");
    said.says(&[
        "2 warnings",
        "spec.disruption.budgets[0].schedule: `0 0 30 2 *` names no day that there is",
        "budgets[1].schedule: `0 * * * *` with the duration 2h0m0s has no end: nodes are never disrupted for Drifted",
    ]);
    assert_eq!(said.code, Some(0));
    run(&folder, "validate class.yaml right.yaml").says(&["nothing is wrong"]);
}

/// Continuous integration hears of user data by which every launch is refused; what may be meant is a warning.
#[test]
fn user_data_that_refuses_each_launch_is_an_error() {
    let class = |text: &str| format!("{CLASS}  userData: |\n    {text}\n");
    let refused = class("Content-Type: text/plain\n\n    hello");
    let doubtful = class("echo hi");
    let folder = folder("user-data", &[("refused.yaml", &refused), ("doubtful.yaml", &doubtful)]);
    let said = run(&folder, "validate refused.yaml");
    said.says(&["refused.yaml:9: ", "every launch from it is refused", "1 file: 1 problem"]);
    assert_eq!(said.code, Some(1));
    let said = run(&folder, "validate doubtful.yaml");
    said.says(&["1 warning", "doubtful.yaml:9: ", "does not start with `#!`"]);
    assert_eq!(said.code, Some(0));
}

#[test]
fn what_an_api_server_refuses_of_pods_is_named() {
    let web = deployment("web", 1)
        .replace("{cpu: 800m}", "{cpu: 800m, memory: 2Gi}, limits: {memory: 1Gi}");
    let web = web.replace(
        "spec: {containers",
        "spec: {tolerations: [{key: a, operator: Exists, value: b}], containers",
    );
    let folder = folder("refused-pods", &[("web.yaml", &web)]);
    let refused = run(&folder, "validate web.yaml");
    assert_eq!(refused.code, Some(1), "{}", refused.complaints);
    for words in [
        "resources.requests.memory: is more than the limit",
        "`Exists` takes no `value`, and this is `b`",
    ] {
        assert!(
            refused.out.contains(words) || refused.complaints.contains(words),
            "{}{}",
            refused.out,
            refused.complaints
        );
    }
}

#[test]
fn names_and_limits_that_launch_nothing_are_named() {
    let long = "a".repeat(64);
    let pool = POOL.replace("name: general", &format!("name: {long}"));
    let pool = pool.replace("spec:\n  template", "spec:\n  limits: {memory: '4'}\n  template");
    let folder = folder("long-name", &[("class.yaml", CLASS), ("pool.yaml", &pool)]);
    let answer = run(&folder, "validate .");
    assert_eq!(answer.code, Some(1), "{}", answer.out);
    answer.says(&[
        "is not a label value: at most 63",
        "spec.limits.memory: 4 is less than any node has",
    ]);
}

#[test]
fn memory_of_instance_types_is_in_mebibytes() {
    let key = "karpenter.k8s.aws/instance-memory";
    for (operator, value, said) in [
        ("Gt", "16", "Gt 16: the label is in MiB, and every instance type has at least 512"),
        ("Lt", "64", "Lt 64: the label is in MiB"),
        ("In", "16", "`16`: write `16384`"),
        ("In", "16Gi", "`16Gi`: write `16384`"),
    ] {
        let requirement =
            format!("      - {{key: {key}, operator: {operator}, values: ['{value}']}}\n");
        let folder = folder("memory", &[("pool.yaml", &pool(&requirement))]);
        run(&folder, "validate pool.yaml").says(&["pool.yaml:9: NodePool general: ", said]);
    }
    let refused = pool(&format!("      - {{key: {key}, operator: Gt, values: ['16Gi']}}\n"));
    let folder = folder("memory-refused", &[("pool.yaml", &refused)]);
    run(&folder, "validate pool.yaml").says(&["takes exactly one non-negative integer in MiB"]);
    let right = pool(&format!("      - {{key: {key}, operator: Gt, values: ['16384']}}\n"));
    let folder = self::folder("memory-right", &[("pool.yaml", &right)]);
    run(&folder, "validate pool.yaml").says(&["1 file: nothing is wrong"]);
}

#[test]
fn versions_that_no_api_server_has_are_named() {
    let old = POOL.replace("karpenter.sh/v1", "karpenter.sh/v1beta1");
    let budget = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n";
    let folder =
        folder("old", &[("class.yaml", CLASS), ("old.yaml", &old), ("budget.yaml", budget)]);
    let said = run(&folder, "validate class.yaml old.yaml");
    said.says(&[
        "old.yaml:1: NodePool general: karpenter.sh/v1beta1 NodePool",
        "`journeyman convert`",
    ]);
    assert_eq!(said.code, Some(0));
    let refused = run(&folder, "validate budget.yaml");
    refused.says(&["Kubernetes 1.25 removed `policy/v1beta1`; write policy/v1"]);
    assert_eq!(refused.code, Some(1));
}

#[test]
fn annotations_that_protect_nothing_here_are_named() {
    let pod = |annotations: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, annotations: {{{annotations}}}}}\nspec: {{containers: \
             [{{name: m}}]}}\n"
        )
    };
    let node = |annotations: &str| {
        format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: node, annotations: {{{annotations}}}}}\n"
        )
    };
    let right = "karpenter.sh/do-not-disrupt: 'true'";
    let evict = "cluster-autoscaler.kubernetes.io/safe-to-evict: ";
    for (text, said) in [
        (
            pod("karpenter.sh/do-not-evict: 'true'"),
            Some("karpenter.sh/do-not-evict is of Karpenter"),
        ),
        (pod(&format!("{evict}'false'")), Some("safe-to-evict is of Cluster Autoscaler")),
        (pod(&format!("{evict}'true'")), None),
        (pod(&format!("{evict}'false', {right}")), None),
        (node("karpenter.sh/do-not-disrupt: 48h"), Some("of nodes only `true` counts")),
        (
            node("cluster-autoscaler.kubernetes.io/scale-down-disabled: 'true'"),
            Some("write `karpenter.sh/do"),
        ),
        (node(right), None),
    ] {
        let folder = folder("unprotected", &[("a.yaml", &text)]);
        let answer = run(&folder, "validate a.yaml");
        answer.says(&[said.unwrap_or("nothing is wrong")]);
    }
}

#[test]
fn a_static_pool_without_room_for_a_replacement_is_named() {
    for (limit, said) in [
        (2, "1 of 3 nodes is never launched"),
        (3, "no room for a replacement"),
        (4, "nothing is wrong"),
    ] {
        let pool = format!("{POOL}  replicas: 3\n  limits: {{nodes: {limit}}}\n");
        let folder = folder("full-static-pool", &[("class.yaml", CLASS), ("pool.yaml", &pool)]);
        run(&folder, "validate .").says(&[said]);
    }
}

#[test]
fn expressions_of_a_class_are_looked_at_for_every_instance_type() {
    let gate = "--aws-feature-gates NodeClassCEL=true";
    let right = "{maxPods: 'min(110, max_pods)', systemReserved: {memory: memory_mib / 100}}";
    for (kubelet, options, code, said) in [
        (right, gate, 0, "1 file: nothing is wrong"),
        (right, "--feature-gates NodeClassCEL=true", 0, "1 file: nothing is wrong"),
        (
            right,
            "",
            0,
            "class.yaml:9: EC2NodeClass `default`: spec.kubelet.maxPods: an expression needs the feature gate \
             NodeClassCEL, which is off (FeatureGates=NodeClassCEL=true)",
        ),
        (
            "{maxPods: 'min(110,'}",
            gate,
            1,
            "spec.kubelet.maxPods: `min(110,` is no valid expression: ",
        ),
        (
            "{maxPods: cpus * 2}",
            "",
            1,
            "there is no variable `cpus`; there are vcpus, memory_mib, ",
        ),
        ("{kubeReserved: {cpu: vcpus - 2}}", gate, 1, "spec.kubelet.kubeReserved.cpu: for "),
        ("{kubeReserved: {cpu: vcpus - 2}}", "", 1, ": -1 is negative"),
    ] {
        let class = format!("{CLASS}  kubelet: {kubelet}\n");
        let folder = folder("expressions", &[("class.yaml", &class)]);
        let answer = run(&folder, format!("validate class.yaml {options}").trim_end());
        answer.says(&[said]);
        assert_eq!(answer.code, Some(code), "{kubelet} {options}");
    }
}

#[test]
fn a_plan_follows_the_expressions_of_the_class_behind_their_gate() {
    let class = |kubelet: &str| format!("{CLASS}  kubelet: {kubelet}\n");
    let plan = |kubelet: &str, options: &str| {
        let files = [
            ("class.yaml", class(kubelet)),
            ("pool.yaml", POOL.to_owned()),
            ("web.yaml", deployment("web", 3)),
        ];
        let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
        run(&folder("expressed", &files), format!("plan . {options}").trim_end())
    };
    let gate = "--set FeatureGates=NodeClassCEL=true";
    plan("{maxPods: vcpus * 10}", gate).says(&["default/web ×3"]);
    let closed = plan("{maxPods: vcpus * 10}", "");
    closed.says(&["spec.kubelet.maxPods: an expression needs the feature gate NodeClassCEL"]);
    let failing = plan("{maxPods: 100 / (vcpus - 2)}", gate);
    failing.says(&["division by zero"]);
}

#[test]
fn a_budget_has_a_time_zone() {
    let budgets = |schedule: &str| {
        format!(
            "{POOL}  disruption:\n    budgets: [{{nodes: \"0\", duration: 8h, schedule: \"{schedule}\"}}]\n"
        )
    };
    for (schedule, said) in [
        ("CRON_TZ=Europe/Berlin 0 9 * * mon-fri", "nothing is wrong"),
        ("CRON_TZ=Berlin 0 9 * * mon-fri", "`Berlin` is not a time zone such as `Europe/Berlin`"),
        ("TZ=Asia/Tokyo 0 */8 * * *", "has no end: nodes are never disrupted"),
    ] {
        let pool = budgets(schedule);
        let folder = folder("zoned-budget", &[("class.yaml", CLASS), ("pool.yaml", &pool)]);
        run(&folder, "validate .").says(&[said]);
    }
}

#[test]
fn a_schedule_in_the_time_of_a_zone_is_one_that_karpenter_cannot_read() {
    let budgets = "  disruption:\n    budgets: [{nodes: 100%}, {nodes: \"0\", duration: 8h, \
                   schedule: \"CRON_TZ=Europe/Berlin 0 9 * * mon-fri\"}]\n";
    let pool = format!("{POOL}{budgets}");
    let files = [("class.yaml", CLASS), ("pool.yaml", &*pool), ("node.yaml", NODE)];
    let folder = folder("zone", &files);
    for (options, answer) in [
        ("--view journeyman --now 2026-11-26T12:00:00Z", ", until 2026-11-26T16:00:00Z"),
        (
            "--view journeyman --now 2026-11-26T07:59:00Z",
            "general: 1 node for Underutilized, Empty, Drifted",
        ),
        ("--view karpenter --now 2026-11-26T07:59:00Z", "general: no node is disrupted: "),
    ] {
        let planned = run(&folder, &format!("plan . --disruption {options}"));
        let karpenter = "Karpenter cannot read it, and disrupts no node of this NodePool";
        planned.says(&["spec.disruption.budgets[1].schedule", karpenter, answer]);
    }
}
