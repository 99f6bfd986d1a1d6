//! Both sides of every rule about NodePools.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use model::node_pool::{BudgetNodes, ConsolidationPolicy};

use super::*;

/// The problems of the pool with `line` added to its `spec`.
#[track_caller]
fn spec(line: &str, expected: &Expect) {
    check(&format!("{POOL}  {line}\n---\n{CLASS}"), expected);
}

/// The same with `line` added to `spec.template.spec`.
#[track_caller]
fn template(line: &str, expected: &Expect) {
    check(&format!("{POOL}      {line}\n---\n{CLASS}"), expected);
}

/// The same with these requirements.
#[track_caller]
fn requirement(entry: &str, expected: &Expect) {
    let pool = POOL.replace("requirements: []", &format!("requirements: [{{{entry}}}]"));
    check(&format!("{pool}---\n{CLASS}"), expected);
}

fn good(lines: &str) -> NodePool {
    let manifest = read(&format!("{POOL}{lines}"), "x.yaml");
    assert_eq!(manifest.problems, []);
    match manifest.objects.into_iter().next() {
        Some(Object::NodePool(pool)) => pool,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_absent_has_the_defaults_of_the_api() {
    let pool = good("");
    assert_eq!(pool.weight, 0);
    assert_eq!(pool.template.expire_after, Some(jiff::SignedDuration::from_hours(720)));
    assert_eq!(pool.template.termination_grace_period, None);
    assert_eq!(pool.disruption, model::node_pool::Disruption::default());
    assert!(pool.is_usable());
    // An empty block and an empty list of budgets are something else than absence.
    assert_eq!(good("  disruption: {}\n").disruption, pool.disruption);
    assert_eq!(good("  disruption: {budgets: []}\n").disruption.budgets, []);
}

#[test]
fn what_is_given_is_kept() {
    let pool = good(
        "      expireAfter: Never
      terminationGracePeriod: 48h
  weight: 100
  limits: {cpu: 1k, memory: 1.5Gi, nodes: 3, nvidia.com/gpu: \"8\"}
  disruption:
    consolidateAfter: Never
    consolidationPolicy: WhenEmpty
    budgets:
    - {nodes: \"5\", schedule: \"@daily\", duration: 1h30m0s, reasons: [Empty, Drifted]}
    - {nodes: 100%}
    - {schedule: 0 9 * * mon-fri, duration: 8h}
",
    );
    assert_eq!((pool.weight, pool.template.expire_after), (100, None));
    assert_eq!(pool.template.termination_grace_period.unwrap().as_hours(), 48);
    let limits: Vec<_> = pool.limits.0.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(
        limits,
        [("cpu", 1_000_000), ("memory", 1_610_612_736), ("nodes", 3), ("nvidia.com/gpu", 8)]
    );
    assert_eq!(pool.disruption.policy, ConsolidationPolicy::WhenEmpty);
    assert_eq!(pool.disruption.consolidate_after, None);
    let nodes: Vec<_> = pool.disruption.budgets.iter().map(|budget| budget.nodes).collect();
    let percent = BudgetNodes::Percent;
    assert_eq!(nodes, [BudgetNodes::Count(5), percent(100), percent(10)]);
    assert_eq!(pool.disruption.budgets[0].window.as_ref().unwrap().duration.as_mins(), 90);
    assert_eq!(pool.disruption.budgets[0].reasons.len(), 2);
}

#[test]
fn fields_in_the_wrong_place_come_with_the_cure() {
    spec(
        "expireAfter: 720h",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.expireAfter: unknown field; `expireAfter` belongs in spec.template.spec
    "#]],
    );
    spec(
        "disruption: {consolidateAfter: 1m, expireAfter: 720h}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.disruption.expireAfter: unknown field; `expireAfter` belongs in spec.template.spec
    "#]],
    );
    spec(
        "ttlSecondsAfterEmpty: 30",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.ttlSecondsAfterEmpty: unknown field; write spec.disruption with `consolidationPolicy: WhenEmpty` and `consolidateAfter`
    "#]],
    );
    spec(
        "Weight: 3",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.Weight: unknown field; it is spelled `weight`
    "#]],
    );
    template(
        "kubelet: {maxPods: 20}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.template.spec.kubelet: unknown field; kubelet settings belong in the EC2NodeClass
    "#]],
    );
    template(
        "consolidateAfter: 1m",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.template.spec.consolidateAfter: unknown field; `consolidateAfter` belongs in spec.disruption
    "#]],
    );
    spec(
        "disruption: {consolidationPolicy: WhenUnderutilized}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.disruption.consolidationPolicy: `WhenUnderutilized` is the name of v1beta1; write `WhenEmptyOrUnderutilized`
    "#]],
    );
    check(
        &format!(
            "{}---\n{CLASS}",
            POOL.replace("group: karpenter.k8s.aws", "apiVersion: karpenter.k8s.aws/v1")
        ),
        &expect![[r#"
            x.yaml:7: NodePool general: spec.template.spec.nodeClassRef.apiVersion: unknown field; write `group: karpenter.k8s.aws` in place of `apiVersion`
        "#]],
    );
    check(
        &format!("{}---\n{CLASS}", POOL.replace("{name: general}", "{name: general, nmae: x}")),
        &expect![[r#"
            x.yaml:3: NodePool general: metadata.nmae: unknown field
        "#]],
    );
}

#[test]
fn numbers_have_bounds_and_types() {
    spec(
        "weight: 0",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.weight: must be 1 to 100, not 0
    "#]],
    );
    spec(
        "weight: 101",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.weight: must be 1 to 100, not 101
    "#]],
    );
    spec(
        "weight: \"10\"",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.weight: must be a whole number, not the text `10`
    "#]],
    );
    spec(
        "weight: 1.5",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.weight: must be a whole number, not the number 1.5
    "#]],
    );
    spec(
        "limits: {cpu: 1O0m}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.limits.cpu: `1O0m` is not a quantity: after the number only one of the suffixes n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3 may stand
    "#]],
    );
    spec(
        "limits: {cpu: -1}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.limits.cpu: `-1` is not a quantity: it must not be negative
    "#]],
    );
    spec(
        "limits: [cpu]",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.limits: must be a map, not a list
    "#]],
    );
    spec(
        "replicas: -1",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.replicas: must be at least 0, not -1
    "#]],
    );
}

#[test]
fn durations_are_groups_of_whole_numbers() {
    template(
        "expireAfter: 30d",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.template.spec.expireAfter: `30d` is not a duration: it must be whole numbers with the units h, m, s such as `720h` or `1h30m`
    "#]],
    );
    template(
        "expireAfter: 720",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.template.spec.expireAfter: must be a text, not the number 720; quote it: "720"
    "#]],
    );
    template(
        "terminationGracePeriod: Never",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.template.spec.terminationGracePeriod: `Never` is not a duration: it must be whole numbers with the units h, m, s such as `720h` or `1h30m`
    "#]],
    );
    spec(
        "disruption: {consolidateAfter: 1.5h}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.disruption.consolidateAfter: `1.5h` is not a duration: it must be whole numbers with the units h, m, s such as `720h` or `1h30m`
    "#]],
    );
}

#[test]
fn budgets_have_rules_of_their_own() {
    spec(
        "disruption: {budgets: [{nodes: 5}]}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.disruption.budgets[0].nodes: must be a text, not the number 5; quote it: "5"
    "#]],
    );
    spec(
        "disruption: {budgets: [{nodes: 101%}]}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.disruption.budgets[0].nodes: `101%` is neither a count such as `5` nor a share such as `10%` of at most 100%
    "#]],
    );
    spec(
        "disruption: {budgets: [{nodes: \"-1\"}]}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.disruption.budgets[0].nodes: `-1` is neither a count such as `5` nor a share such as `10%` of at most 100%
    "#]],
    );
    spec(
        "disruption: {budgets: [{schedule: \"@daily\"}]}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.disruption.budgets[0]: `schedule` and `duration` must be set together
    "#]],
    );
    spec(
        "disruption: {budgets: [{duration: 1h}]}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.disruption.budgets[0]: `schedule` and `duration` must be set together
    "#]],
    );
    spec(
        "disruption: {budgets: [{schedule: \"@every 1h\", duration: 1h}]}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.disruption.budgets[0].schedule: `@every 1h` is not a schedule: it must be five fields of cron or one of @annually, @yearly, @monthly, @weekly, @daily, @midnight, @hourly
    "#]],
    );
    spec(
        "disruption: {budgets: [{schedule: \"0 9 * *\", duration: 1h}]}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.disruption.budgets[0].schedule: `0 9 * *` is not a schedule: it must be five fields of cron or one of @annually, @yearly, @monthly, @weekly, @daily, @midnight, @hourly
    "#]],
    );
    spec(
        "disruption: {budgets: [{schedule: \"@daily\", duration: 30s}]}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.disruption.budgets[0].duration: `30s` is not a duration in hours and minutes such as `1h30m`
    "#]],
    );
    spec(
        "disruption: {budgets: [{reasons: [Expired]}]}",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.disruption.budgets[0].reasons[0]: must be one of `Underutilized`, `Empty`, `Drifted`, not `Expired`
    "#]],
    );
}

#[test]
fn requirements_have_rules() {
    requirement(
        "key: kubernetes.io/arch, operator: in, values: [a]",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].operator: must be one of `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte`, `Lte`, not `in`
    "#]],
    );
    requirement(
        "key: kubernetes.io/hostname, operator: Exists",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].key: label `kubernetes.io/hostname` is restricted
    "#]],
    );
    requirement(
        "key: karpenter.sh/nodepool, operator: In, values: [a]",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].key: `karpenter.sh/nodepool` cannot be required of a NodePool: it is set by it
    "#]],
    );
    requirement(
        "key: karpenter.sh/custom, operator: Exists",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].key: label `karpenter.sh/custom` is restricted
    "#]],
    );
    requirement(
        "key: karpenter.k8s.aws/custom, operator: Exists",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].key: label `karpenter.k8s.aws/custom` is restricted
    "#]],
    );
    requirement(
        "key: a/b/c, operator: Exists",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].key: `a/b/c` is not a label key: it must be an optional DNS prefix and `/`, then at most 63 letters, digits, `-`, `_` and `.`
    "#]],
    );
    requirement(
        "key: team, operator: In",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].values: operator In on `team` needs at least one value
    "#]],
    );
    requirement(
        "key: team, operator: Gt, values: [a]",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].values: operator Gt on `team` takes exactly one non-negative integer, not ["a"]
    "#]],
    );
    requirement(
        "key: team, operator: Gt, values: ['1', '2']",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].values: operator Gt on `team` takes exactly one non-negative integer, not ["1", "2"]
    "#]],
    );
    requirement(
        "key: team, operator: In, values: [1]",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].values[0]: must be a text, not the number 1; quote it: "1"
    "#]],
    );
    requirement(
        "key: team, operator: In, values: ['a b']",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].values: `a b` is not a label value: at most 63 letters, digits, `-`, `_` and `.`, starting and ending with a letter or digit
    "#]],
    );
    requirement(
        "key: team, operator: In, values: [a], minValues: 2",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].minValues: must not be above the number of values, 1
    "#]],
    );
    requirement(
        "key: team, operator: Exists, minValues: 51",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].minValues: must be 1 to 50, not 51
    "#]],
    );
    requirement(
        "key: karpenter.sh/capacity-type, operator: In, values: [sport]",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].values: ["sport"] has none of the known values `on-demand`, `spot`, `reserved`
    "#]],
    );
    requirement(
        "operator: Exists",
        &expect![[r#"
        x.yaml:8: NodePool general: spec.template.spec.requirements[0].key: is required
    "#]],
    );
    for good in [
        "key: team, operator: NotIn",
        "key: team, operator: Gt, values: ['0']",
        "key: team, operator: In, values: [a, b], minValues: 2",
        "key: beta.kubernetes.io/arch, operator: In, values: [arm64]",
        "key: karpenter.sh/capacity-type, operator: In, values: [spot, sport]",
        "key: kubernetes.io/custom, operator: DoesNotExist",
    ] {
        requirement(good, &expect![""]);
    }
}

#[test]
fn labels_and_taints_have_rules() {
    let labels = |text: &str| {
        POOL.replace("    spec:\n", &format!("    metadata: {{labels: {{{text}}}}}\n    spec:\n"))
    };
    for (text, expected) in [
        (
            "karpenter.sh/nodepool: a",
            expect![[r#"
            x.yaml:6: NodePool general: spec.template.metadata.labels[karpenter.sh/nodepool]: label `karpenter.sh/nodepool` is restricted
        "#]],
        ),
        (
            "kubernetes.io/hostname: a",
            expect![[r#"
            x.yaml:6: NodePool general: spec.template.metadata.labels[kubernetes.io/hostname]: label `kubernetes.io/hostname` is restricted
        "#]],
        ),
        (
            "karpenter.k8s.aws/mine: a",
            expect![[r#"
            x.yaml:6: NodePool general: spec.template.metadata.labels[karpenter.k8s.aws/mine]: label `karpenter.k8s.aws/mine` is restricted
        "#]],
        ),
        (
            "team: a b",
            expect![[r#"
            x.yaml:6: NodePool general: spec.template.metadata.labels.team: `a b` is not a label value: at most 63 letters, digits, `-`, `_` and `.`, starting and ending with a letter or digit
        "#]],
        ),
        (
            "team: on",
            expect![[r#"
                x.yaml:6: NodePool general: spec.template.metadata.labels.team: must be a text, not the boolean true; write it in quotes
            "#]],
        ),
        ("karpenter.sh/capacity-type: spot, topology.kubernetes.io/zone: a, team: ''", expect![""]),
    ] {
        check(&format!("{}---\n{CLASS}", labels(text)), &expected);
    }
    template(
        "taints: [{key: a, effect: NoRun}]",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.template.spec.taints[0].effect: must be one of `NoSchedule`, `PreferNoSchedule`, `NoExecute`, not `NoRun`
    "#]],
    );
    template(
        "taints: [{key: a}]",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.template.spec.taints[0].effect: is required
    "#]],
    );
    template(
        "taints: [{key: a b, effect: NoExecute}]",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.template.spec.taints[0].key: `a b` is not a taint key: it must be a qualified name
    "#]],
    );
    template(
        "taints: [{key: a, value: a b, effect: NoExecute}]",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.template.spec.taints[0].value: `a b` is not a taint value: it must be a label value
    "#]],
    );
    template("taints: [{key: a, effect: NoExecute}, {key: a, effect: NoSchedule}]", &expect![""]);
}

#[test]
fn what_only_karpenter_refuses_stays_with_the_pool() {
    let pool = POOL.to_owned()
        + "      taints: [{key: a, effect: NoSchedule}]\n      startupTaints: [{key: a, value: x, effect: NoSchedule}]\n";
    let manifest = read(&pool, "x.yaml");
    let Object::NodePool(pool) = &manifest.objects[0] else { panic!("{manifest:?}") };
    assert_eq!(manifest.problems.len(), 1);
    assert!(!pool.is_usable());
    expect!["spec.template.spec.startupTaints[0]: `a` with the effect NoSchedule stands there twice among taints and startup taints"].assert_eq(&pool.problems.join("\n"));
}

#[test]
fn static_pools_are_not_supported_yet() {
    let pool = good("  replicas: 3\n  limits: {nodes: 5}\n");
    assert_eq!(pool.replicas, Some(3));
    assert_eq!(pool.problems, ["not supported yet: spec.replicas (static pools)"]);
    spec(
        "replicas: 3\n  limits: {cpu: 5}",
        &expect![[r#"
        x.yaml:10: NodePool general: spec.limits: a static pool (one with spec.replicas) may only limit `nodes`
    "#]],
    );
    spec(
        "replicas: 3\n  weight: 5",
        &expect![[r#"
        x.yaml:10: NodePool general: spec.weight: must not be set on a static pool (one with spec.replicas)
    "#]],
    );
}

#[test]
fn placeholders_that_were_left_in_are_found_everywhere() {
    check(
        &format!("{}---\n{CLASS}", POOL.replace("general", "\"${POOL}\"")),
        &expect![[r#"
            x.yaml:3: NodePool ${POOL}: metadata.name: `${POOL}` was left in: it is a placeholder; put the value in its place, for instance by sending the file through envsubst
        "#]],
    );
    template(
        "taints: [{key: \"${KEY}\", effect: NoSchedule}]",
        &expect![[r#"
        x.yaml:9: NodePool general: spec.template.spec.taints[0].key: `${KEY}` was left in: it is a placeholder; put the value in its place, for instance by sending the file through envsubst
    "#]],
    );
}
