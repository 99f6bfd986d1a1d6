//! Both sides of every rule about NodePools.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use model::Problem;
use model::node_pool::{BudgetNodes, ConsolidationPolicy};

use super::*;

/// The pool with a line added to its `spec`, and its class.
fn spec(line: &str) -> String {
    format!("{POOL}  {line}\n---\n{CLASS}")
}

/// The same with a line added to `spec.template.spec`.
fn template(line: &str) -> String {
    format!("{POOL}      {line}\n---\n{CLASS}")
}

/// The same with one requirement.
fn requirement(entry: &str) -> String {
    let pool = POOL.replace("requirements: []", &format!("requirements: [{{{entry}}}]"));
    format!("{pool}---\n{CLASS}")
}

/// The same with labels in its template.
fn labels(labels: &str) -> String {
    let metadata = format!("    metadata: {{labels: {{{labels}}}}}\n    spec:\n");
    format!("{}---\n{CLASS}", POOL.replace("    spec:\n", &metadata))
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
    each(
        spec,
        &[
            "expireAfter: 720h",
            "disruption: {consolidateAfter: 1m, expireAfter: 720h}",
            "ttlSecondsAfterEmpty: 30",
            "Weight: 3",
            "disruption: {consolidationPolicy: WhenUnderutilized}",
        ],
        &expect![[r#"
            expireAfter: 720h
                x.yaml:9: NodePool general: spec.expireAfter: unknown field; `expireAfter` belongs in spec.template.spec
            disruption: {consolidateAfter: 1m, expireAfter: 720h}
                x.yaml:9: NodePool general: spec.disruption.expireAfter: unknown field; `expireAfter` belongs in spec.template.spec
            ttlSecondsAfterEmpty: 30
                x.yaml:9: NodePool general: spec.ttlSecondsAfterEmpty: unknown field; write spec.disruption with `consolidationPolicy: WhenEmpty` and `consolidateAfter`
            Weight: 3
                x.yaml:9: NodePool general: spec.Weight: unknown field; it is spelled `weight`
            disruption: {consolidationPolicy: WhenUnderutilized}
                x.yaml:9: NodePool general: spec.disruption.consolidationPolicy: `WhenUnderutilized` is the name of an older version; write `WhenEmptyOrUnderutilized`
        "#]],
    );
    each(
        template,
        &["kubelet: {maxPods: 20}", "consolidateAfter: 1m"],
        &expect![[r#"
            kubelet: {maxPods: 20}
                right
            consolidateAfter: 1m
                x.yaml:9: NodePool general: spec.template.spec.consolidateAfter: unknown field; `consolidateAfter` belongs in spec.disruption
        "#]],
    );
    let replaced = |from, to| format!("{}---\n{CLASS}", POOL.replace(from, to));
    let by_version = "apiVersion: karpenter.k8s.aws/v1";
    check(
        &replaced("group: karpenter.k8s.aws", by_version),
        &expect![
            "x.yaml:7: NodePool general: spec.template.spec.nodeClassRef.apiVersion: unknown field; write `group: karpenter.k8s.aws` in place of `apiVersion`"
        ],
    );
    check(
        &replaced("{name: general}", "{name: general, nmae: x}"),
        &expect!["x.yaml:3: NodePool general: metadata.nmae: unknown field; did you mean `name`?"],
    );
}

#[test]
fn numbers_have_bounds_and_types() {
    each(
        spec,
        &[
            "weight: 0",
            "weight: 101",
            "weight: \"10\"",
            "weight: 1.5",
            "limits: {cpu: 1O0m}",
            "limits: {cpu: -1}",
            "limits: [cpu]",
            "replicas: -1",
        ],
        &expect![[r#"
            weight: 0
                x.yaml:9: NodePool general: spec.weight: must be 1 to 100, not 0
            weight: 101
                x.yaml:9: NodePool general: spec.weight: must be 1 to 100, not 101
            weight: "10"
                x.yaml:9: NodePool general: spec.weight: must be a whole number, not the text `10`
            weight: 1.5
                x.yaml:9: NodePool general: spec.weight: must be a whole number, not the number 1.5
            limits: {cpu: 1O0m}
                x.yaml:9: NodePool general: spec.limits.cpu: `1O0m` is not a quantity: after the number only one of the suffixes n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3 may stand
            limits: {cpu: -1}
                x.yaml:9: NodePool general: spec.limits.cpu: `-1` is not a quantity: it must not be negative
            limits: [cpu]
                x.yaml:9: NodePool general: spec.limits: must be a map, not a list
            replicas: -1
                x.yaml:9: NodePool general: spec.replicas: must be at least 0, not -1
        "#]],
    );
}

#[test]
fn durations_are_groups_of_whole_numbers() {
    each(
        template,
        &["expireAfter: 30d", "expireAfter: 720", "terminationGracePeriod: Never"],
        &expect![[r#"
            expireAfter: 30d
                x.yaml:9: NodePool general: spec.template.spec.expireAfter: `30d` is not a duration: it must be whole numbers with the units h, m, s such as `720h` or `1h30m`
            expireAfter: 720
                x.yaml:9: NodePool general: spec.template.spec.expireAfter: must be a text, not the number 720; write it with its unit, such as `720h`
            terminationGracePeriod: Never
                x.yaml:9: NodePool general: spec.template.spec.terminationGracePeriod: `Never` is not a duration: it must be whole numbers with the units h, m, s such as `720h` or `1h30m`
        "#]],
    );
    each(
        spec,
        &["disruption: {consolidateAfter: 1.5h}"],
        &expect![[r#"
        disruption: {consolidateAfter: 1.5h}
            x.yaml:9: NodePool general: spec.disruption.consolidateAfter: `1.5h` is not a duration: it must be whole numbers with the units h, m, s such as `720h` or `1h30m`
    "#]],
    );
}

#[test]
fn budgets_have_rules_of_their_own() {
    each(
        spec,
        &[
            "disruption: {budgets: [{nodes: 5}]}",
            "disruption: {budgets: [{nodes: 101%}]}",
            "disruption: {budgets: [{nodes: \"-1\"}]}",
            "disruption: {budgets: [{schedule: \"@daily\"}]}",
            "disruption: {budgets: [{duration: 1h}]}",
            "disruption: {budgets: [{schedule: \"@every 1h\", duration: 1h}]}",
            "disruption: {budgets: [{schedule: \"0 9 * *\", duration: 1h}]}",
            "disruption: {budgets: [{schedule: \"0 0 * * sat-sun\", duration: 1h}]}",
            "disruption: {budgets: [{schedule: \"30 10 * * 1-7\", duration: 1h}]}",
            "disruption: {budgets: [{schedule: \"0 9 * * 5#2\", duration: 1h}]}",
            "disruption: {budgets: [{schedule: a b c d e, duration: 1h}]}",
            "disruption: {budgets: [{schedule: \"@daily\", duration: 30s}]}",
            "disruption: {budgets: [{reasons: [Expired]}]}",
        ],
        &expect![[r#"
            disruption: {budgets: [{nodes: 5}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0].nodes: must be a text, not the number 5; quote it: "5"
            disruption: {budgets: [{nodes: 101%}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0].nodes: `101%` is neither a count such as `5` nor a share such as `10%` of at most 100%
            disruption: {budgets: [{nodes: "-1"}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0].nodes: `-1` is neither a count such as `5` nor a share such as `10%` of at most 100%
            disruption: {budgets: [{schedule: "@daily"}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0]: `schedule` and `duration` must be set together
            disruption: {budgets: [{duration: 1h}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0]: `schedule` and `duration` must be set together
            disruption: {budgets: [{schedule: "@every 1h", duration: 1h}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0].schedule: `@every 1h` is not a schedule: it must be five fields of cron (minute, hour, day of month, month, day of week) or one of @annually, @yearly, @monthly, @weekly, @daily, @midnight, @hourly
            disruption: {budgets: [{schedule: "0 9 * *", duration: 1h}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0].schedule: `0 9 * *` is not a schedule: it must be five fields of cron (minute, hour, day of month, month, day of week) or one of @annually, @yearly, @monthly, @weekly, @daily, @midnight, @hourly
            disruption: {budgets: [{schedule: "0 0 * * sat-sun", duration: 1h}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0].schedule: `0 0 * * sat-sun` is not a schedule: the range `sat-sun` runs backwards; write `sat,sun`
            disruption: {budgets: [{schedule: "30 10 * * 1-7", duration: 1h}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0].schedule: `30 10 * * 1-7` is not a schedule: the day of week must be 0 to 6, not `1-7`; Sunday is 0: write `0-6`
            disruption: {budgets: [{schedule: "0 9 * * 5#2", duration: 1h}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0].schedule: `0 9 * * 5#2` is not a schedule: `5#2` is not a day of week
            disruption: {budgets: [{schedule: a b c d e, duration: 1h}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0].schedule: `a b c d e` is not a schedule: `a` is not a minute
            disruption: {budgets: [{schedule: "@daily", duration: 30s}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0].duration: `30s` is not a duration in hours and minutes such as `1h30m`
            disruption: {budgets: [{reasons: [Expired]}]}
                x.yaml:9: NodePool general: spec.disruption.budgets[0].reasons[0]: must be one of `Underutilized`, `Empty`, `Drifted`, `Unhealthy`, not `Expired`
        "#]],
    );
}

#[test]
fn requirements_have_rules() {
    each(
        requirement,
        &[
            "key: kubernetes.io/arch, operator: in, values: [a]",
            "key: kubernetes.io/hostname, operator: Exists",
            "key: karpenter.sh/nodepool, operator: In, values: [a]",
            "key: karpenter.sh/custom, operator: Exists",
            "key: karpenter.k8s.aws/custom, operator: Exists",
            "key: a/b/c, operator: Exists",
            "key: team, operator: In",
            "key: team, operator: Gt, values: [a]",
            "key: team, operator: Gt, values: ['1', '2']",
            "key: team, operator: In, values: [1]",
            "key: team, operator: In, values: ['a b']",
            "key: team, operator: In, values: [a], minValues: 2",
            "key: team, operator: Exists, minValues: 51",
            "key: karpenter.sh/capacity-type, operator: In, values: [sport]",
            "operator: Exists",
            // Right:
            "key: team, operator: NotIn",
            "key: team, operator: Gt, values: ['0']",
            "key: team, operator: In, values: [a, b], minValues: 2",
            "key: beta.kubernetes.io/arch, operator: In, values: [arm64]",
            "key: karpenter.sh/capacity-type, operator: In, values: [spot, sport]",
            "key: kubernetes.io/custom, operator: DoesNotExist",
        ],
        &expect![[r#"
            key: kubernetes.io/arch, operator: in, values: [a]
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].operator: must be one of `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte`, `Lte`, not `in`
            key: kubernetes.io/hostname, operator: Exists
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].key: label `kubernetes.io/hostname` is restricted
            key: karpenter.sh/nodepool, operator: In, values: [a]
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].key: `karpenter.sh/nodepool` cannot be required of a NodePool: it is set by it
            key: karpenter.sh/custom, operator: Exists
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].key: label `karpenter.sh/custom` is restricted
            key: karpenter.k8s.aws/custom, operator: Exists
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].key: label `karpenter.k8s.aws/custom` is restricted
            key: a/b/c, operator: Exists
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].key: `a/b/c` is not a qualified name: it must be an optional DNS prefix and `/`, then at most 63 letters, digits, `-`, `_` and `.`
            key: team, operator: In
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].values: operator In on `team` needs at least one value
            key: team, operator: Gt, values: [a]
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].values: operator Gt on `team` takes exactly one non-negative integer, not ["a"]
            key: team, operator: Gt, values: ['1', '2']
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].values: operator Gt on `team` takes exactly one non-negative integer, not ["1", "2"]
            key: team, operator: In, values: [1]
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].values[0]: must be a text, not the number 1; quote it: "1"
            key: team, operator: In, values: ['a b']
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].values: `a b` is not a label value: at most 63 letters, digits, `-`, `_` and `.`, starting and ending with a letter or digit
            key: team, operator: In, values: [a], minValues: 2
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].minValues: must not be above the number of values, 1
            key: team, operator: Exists, minValues: 51
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].minValues: must be 1 to 50, not 51
            key: karpenter.sh/capacity-type, operator: In, values: [sport]
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].values: ["sport"] has none of the known values `on-demand`, `spot`, `reserved`
            operator: Exists
                x.yaml:8: NodePool general: spec.template.spec.requirements[0].key: is required
            key: team, operator: NotIn
                right
            key: team, operator: Gt, values: ['0']
                right
            key: team, operator: In, values: [a, b], minValues: 2
                right
            key: beta.kubernetes.io/arch, operator: In, values: [arm64]
                right
            key: karpenter.sh/capacity-type, operator: In, values: [spot, sport]
                right
            key: kubernetes.io/custom, operator: DoesNotExist
                right
        "#]],
    );
}

#[test]
fn labels_and_taints_have_rules() {
    each(
        labels,
        &[
            "karpenter.sh/nodepool: a",
            "kubernetes.io/hostname: a",
            "karpenter.k8s.aws/mine: a",
            "team: a b",
            "team: on",
            // Right:
            "karpenter.sh/capacity-type: spot, topology.kubernetes.io/zone: a, team: ''",
        ],
        &expect![[r#"
            karpenter.sh/nodepool: a
                x.yaml:6: NodePool general: spec.template.metadata.labels[karpenter.sh/nodepool]: label `karpenter.sh/nodepool` is restricted
            kubernetes.io/hostname: a
                x.yaml:6: NodePool general: spec.template.metadata.labels[kubernetes.io/hostname]: label `kubernetes.io/hostname` is restricted
            karpenter.k8s.aws/mine: a
                x.yaml:6: NodePool general: spec.template.metadata.labels[karpenter.k8s.aws/mine]: label `karpenter.k8s.aws/mine` is restricted
            team: a b
                x.yaml:6: NodePool general: spec.template.metadata.labels.team: `a b` is not a label value: at most 63 letters, digits, `-`, `_` and `.`, starting and ending with a letter or digit
            team: on
                x.yaml:6: NodePool general: spec.template.metadata.labels.team: must be a text, not the boolean on; quote it: "on"
            karpenter.sh/capacity-type: spot, topology.kubernetes.io/zone: a, team: ''
                right
        "#]],
    );
    each(
        template,
        &[
            "taints: [{key: a, effect: NoRun}]",
            "taints: [{key: a}]",
            "taints: [{key: a b, effect: NoExecute}]",
            "taints: [{key: a, value: a b, effect: NoExecute}]",
            // Right:
            "taints: [{key: a, effect: NoExecute}, {key: a, effect: NoSchedule}]",
        ],
        &expect![[r#"
            taints: [{key: a, effect: NoRun}]
                x.yaml:9: NodePool general: spec.template.spec.taints[0].effect: must be one of `NoSchedule`, `PreferNoSchedule`, `NoExecute`, not `NoRun`
            taints: [{key: a}]
                x.yaml:9: NodePool general: spec.template.spec.taints[0].effect: is required
            taints: [{key: a b, effect: NoExecute}]
                x.yaml:9: NodePool general: spec.template.spec.taints[0].key: `a b` is not a qualified name: it must be an optional DNS prefix and `/`, then at most 63 letters, digits, `-`, `_` and `.`
            taints: [{key: a, value: a b, effect: NoExecute}]
                x.yaml:9: NodePool general: spec.template.spec.taints[0].value: `a b` is not a qualified name: it must be an optional DNS prefix and `/`, then at most 63 letters, digits, `-`, `_` and `.`
            taints: [{key: a, effect: NoExecute}, {key: a, effect: NoSchedule}]
                right
        "#]],
    );
}

#[test]
fn what_only_karpenter_refuses_stays_with_the_pool() {
    let pool = POOL.to_owned()
        + "      taints: [{key: a, effect: NoSchedule}]\n      startupTaints: [{key: a, value: x, effect: NoSchedule}]\n";
    let manifest = read(&pool, "x.yaml");
    let Object::NodePool(pool) = &manifest.objects[0] else { panic!("{manifest:?}") };
    assert_eq!(manifest.problems.len(), 1);
    assert!(!pool.is_usable());
    expect!["spec.template.spec.startupTaints[0]: `a` with the effect NoSchedule stands there twice among taints and startup taints"].assert_eq(&Problem::in_words(&pool.problems));
}

#[test]
fn static_pools_have_replicas_and_limit_nodes_alone() {
    let pool = good("  replicas: 3\n  limits: {nodes: 5}\n");
    assert_eq!(pool.replicas, Some(3));
    assert_eq!(pool.problems, Vec::new());
    each(
        spec,
        &["replicas: 3\n  limits: {cpu: 5}", "replicas: 3\n  weight: 5"],
        &expect![[r#"
            replicas: 3\n  limits: {cpu: 5}
                x.yaml:10: NodePool general: spec.limits: a static pool (one with spec.replicas) may only limit `nodes`
            replicas: 3\n  weight: 5
                x.yaml:10: NodePool general: spec.weight: must not be set on a static pool (one with spec.replicas)
        "#]],
    );
}

#[test]
fn placeholders_that_were_left_in_are_found_everywhere() {
    let pool = POOL.replace("general", "\"${POOL}\"");
    check(
        &format!("{pool}---\n{CLASS}"),
        &expect![
            "x.yaml:3: NodePool ${POOL}: metadata.name: `${POOL}` was left in: it is a placeholder; put the value in its place, for instance by sending the file through envsubst"
        ],
    );
    each(
        template,
        &["taints: [{key: \"${KEY}\", effect: NoSchedule}]"],
        &expect![[r#"
        taints: [{key: "${KEY}", effect: NoSchedule}]
            x.yaml:9: NodePool general: spec.template.spec.taints[0].key: `${KEY}` was left in: it is a placeholder; put the value in its place, for instance by sending the file through envsubst
    "#]],
    );
}

#[test]
fn two_requirements_that_exclude_each_other_are_both_named() {
    let warned = |requirements: &str| {
        let pool = POOL.replace("requirements: []", &format!("requirements:\n{requirements}"));
        let warnings = read(&pool, "x.yaml").warnings;
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        warned(
            "      - {key: kubernetes.io/arch, operator: In, values: [amd64]}\n      - {key: a, operator: Exists}\n      \
             - {key: beta.kubernetes.io/arch, operator: In, values: [arm64]}\n"
        ),
        [
            "x.yaml:11: NodePool general: spec.template.spec.requirements: `kubernetes.io/arch In [amd64]` and \
             `kubernetes.io/arch In [arm64]` exclude each other: no node meets both"
        ]
    );
    let together = "      - {key: a, operator: NotIn, values: [b]}\n      - {key: a, operator: DoesNotExist}\n      \
                    - {key: c, operator: Gt, values: ['1']}\n      - {key: c, operator: In, values: ['1', '2']}\n";
    assert_eq!(warned(together), Vec::<String>::new());
}
