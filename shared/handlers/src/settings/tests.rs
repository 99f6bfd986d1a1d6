//! What settings are read as, and what is refused.

use std::collections::BTreeMap;

use model::{Problem, problem::Weight};

use super::*;

fn read(values: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
    let values: BTreeMap<&str, &str> = values.iter().copied().collect();
    let get = |name: &str| values.get(name).map(|value| (*value).to_owned());
    Settings::read(|setting| setting.parameter, get)
        .map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
}

#[test]
fn what_is_said_of_defaults_is_so() {
    let said: Vec<(&str, &str)> = SETTINGS.iter().map(|s| (s.parameter, s.default)).collect();
    assert_eq!(read(&said), Ok(Settings::default()));
    assert_eq!(read(&[]), Ok(Settings::default()));
}

#[test]
fn each_setting_changes_something() {
    let values: BTreeMap<&str, &str> = [
        ("FeatureGates", "SpotToSpotConsolidation=true,ReservedCapacity=false"),
        ("PreferencePolicy", "Ignore"),
        ("MinValuesPolicy", "BestEffort"),
        ("IgnoreDraRequests", "false"),
        (
            "SchedulerConfig",
            "podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: zone, \
             whenUnsatisfiable: DoNotSchedule}]}",
        ),
        ("BatchMaxDuration", "30s"),
        ("BatchIdleDuration", "1500ms"),
        ("VmMemoryOverheadPercent", "0.05"),
        ("ReservedEnis", "1"),
        ("IsolatedVpc", "true"),
        ("DisableDryRun", "true"),
        ("EnableZonalShift", "true"),
        ("RebalanceRecommendations", "replace-first"),
        ("AutoscalerAnnotations", "honor"),
        ("PollIntervalSeconds", "60"),
        ("WakeRestSeconds", "120"),
        ("Consolidation", "thorough"),
        ("WorkloadRest", "30m"),
        ("ReplacementSaving", "0.05"),
        ("MoveSaving", "1.5"),
        ("MovesPerHour", "100"),
        ("Packing", "cheapest"),
        ("NodeCharge", "0.01"),
        ("MaxDollarsPerHour", "12.5"),
        ("Metrics", "nodepool"),
        ("Record", "facts"),
        ("KarpenterNamespaces", "platform, karpenter-2"),
    ]
    .into();
    assert_eq!(values.len(), SETTINGS.len());
    for (parameter, value) in &values {
        assert_ne!(read(&[(parameter, value)]).unwrap(), Settings::default(), "{parameter}");
    }
    let settings = read(&[("FeatureGates", "ReservedCapacity=false")]).unwrap();
    assert!(!settings.nodes.reserved_capacity && !settings.policies.reserved_capacity);
}

#[test]
fn a_bad_value_is_refused_with_its_name_and_rule() {
    for (parameter, value, rule) in [
        ("KarpenterNamespaces", "a,,b", "a list of namespaces such as `kube-system,karpenter`"),
        ("KarpenterNamespaces", "Team", "a list of namespaces such as `kube-system,karpenter`"),
        ("PollIntervalSeconds", "0", "a whole number from 1 to 60"),
        ("WakeRestSeconds", "4", "a whole number from 5 to 120"),
        ("PollIntervalSeconds", "5s", "a whole number from 1 to 60"),
        ("BatchIdleDuration", "1", "a duration such as `1.5s` from 0s to 30s"),
        ("BatchMaxDuration", "31s", "a duration such as `1.5s` from 0s to 30s"),
        ("BatchMaxDuration", "-1s", "a duration such as `1.5s` from 0s to 30s"),
        ("PreferencePolicy", "ignore", "`Respect` or `Ignore`"),
        ("MinValuesPolicy", "Loose", "`Strict` or `BestEffort`"),
        ("VmMemoryOverheadPercent", "7.5%", "a decimal such as `0.075` from 0 to 1"),
        ("VmMemoryOverheadPercent", "7.5", "a decimal such as `0.075` from 0 to 1"),
        ("ReservedEnis", "-1", "a whole number from 0 to 64"),
        ("IsolatedVpc", "1", "`true` or `false`"),
        ("DisableDryRun", "yes", "`true` or `false`"),
        ("Consolidation", "Thorough", "`karpenter` or `thorough`"),
        ("WorkloadRest", "25h", "a duration such as `1.5s` from 0s to 86400s"),
        ("ReplacementSaving", "5%", "a decimal such as `0.075` from 0 to 1"),
        ("MovesPerHour", "-1", "a whole number from 0 to 1000000"),
        ("MaxDollarsPerHour", "$5", "a decimal number of dollars such as `12.5`, or `none`"),
        ("MaxDollarsPerHour", "-1", "a decimal number of dollars such as `12.5`, or `none`"),
        ("NodeCharge", "-1", "a decimal number of dollars such as `0.01`"),
        ("NodeCharge", "none", "a decimal number of dollars such as `0.01`"),
        ("RebalanceRecommendations", "replace", "`ignore` or `replace-first`"),
        ("AutoscalerAnnotations", "true", "`ignore` or `honor`"),
        (
            "SchedulerConfig",
            "profiles: []",
            "`podTopologySpread.defaultConstraints` in YAML or JSON: profiles: unknown field",
        ),
    ] {
        let expected = format!("{parameter}: `{value}` is not {rule}");
        assert_eq!(read(&[(parameter, value)]), Err(vec![expected]));
    }
}

#[test]
fn a_gate_that_is_not_known_is_refused() {
    let open = read(&[("FeatureGates", "PodDeletionCostManagement=true")]).unwrap();
    assert!(open.policies.pod_deletion_cost_management);
    for gates in ["Repair=true", "NodeOverlay"] {
        let wrong = read(&[("FeatureGates", gates)]).unwrap_err().join("; ");
        assert!(wrong.starts_with(&format!("FeatureGates: `{gates}` is not a list")), "{wrong}");
        assert!(wrong.contains("PodDeletionCostManagement"), "{wrong}");
    }
}

#[test]
fn either_gate_of_devices_places_pods_with_claims() {
    let places = |values: &[(&str, &str)]| read(values).unwrap().policies.places_claims();
    assert!(!places(&[]));
    assert!(!places(&[("IgnoreDraRequests", "true")]));
    assert!(places(&[("IgnoreDraRequests", "false")]));
    assert!(places(&[("FeatureGates", "DRAEFA=true")]));
    assert!(places(&[("FeatureGates", "DRANVIDIAGPU=true"), ("IgnoreDraRequests", "true")]));
}

#[test]
fn everything_that_is_wrong_is_reported_at_once() {
    let wrong = read(&[("ReservedEnis", "many"), ("IsolatedVpc", "maybe")]).unwrap_err();
    assert_eq!(wrong.len(), 2);
}

#[test]
fn the_gate_of_gpus_lets_them_be_shared() {
    let closed = NodeClass {
        problems: vec![Problem {
            weight: Weight::Unusable,
            field: String::new(),
            rule: Rule::GpuSharingDisabled,
        }],
        ..testkit::build::node_class("default")
    };
    let problems = |gates: &str| {
        let mut class = closed.clone();
        read(&[("FeatureGates", gates)]).unwrap().open_gates([&mut class]);
        class.problems.len()
    };
    assert_eq!(problems("DRAEFA=true"), 1);
    assert_eq!(problems("DRANVIDIAGPU=true"), 0);
}
