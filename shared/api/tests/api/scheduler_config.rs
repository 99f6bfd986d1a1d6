//! Karpenter's `SCHEDULER_CONFIG`.

use api::objects::scheduler_config::read;
use model::topology::{NodeInclusionPolicy, SpreadConstraint, WhenUnsatisfiable};

fn of_constraints(constraints: &str) -> String {
    format!(r#"{{"podTopologySpread": {{"defaultConstraints": [{constraints}]}}}}"#)
}

#[test]
fn json_and_yaml_are_read() {
    let json = of_constraints(
        r#"{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule", "minDomains": 3, "nodeTaintsPolicy": "Honor"},
           {"maxSkew": 5, "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway", "nodeAffinityPolicy": "Ignore"}"#,
    );
    let yaml = "\
podTopologySpread:
  defaultConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    minDomains: 3
    nodeTaintsPolicy: Honor
  - maxSkew: 5
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    nodeAffinityPolicy: Ignore
";
    let zones = SpreadConstraint {
        topology_key: "topology.kubernetes.io/zone".parse().unwrap(),
        max_skew: 1,
        min_domains: Some(3),
        when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
        selector: None,
        node_affinity_policy: NodeInclusionPolicy::Honor,
        node_taints_policy: NodeInclusionPolicy::Honor,
    };
    let hosts = SpreadConstraint {
        topology_key: "kubernetes.io/hostname".parse().unwrap(),
        max_skew: 5,
        min_domains: None,
        when_unsatisfiable: WhenUnsatisfiable::ScheduleAnyway,
        node_affinity_policy: NodeInclusionPolicy::Ignore,
        node_taints_policy: NodeInclusionPolicy::Ignore,
        ..zones.clone()
    };
    for text in [json.as_str(), yaml] {
        assert_eq!(read(text).unwrap().constraints, [zones.clone(), hosts.clone()], "{text}");
    }
}

#[test]
fn a_text_without_constraints_has_none() {
    let texts = ["", "{}", "podTopologySpread: {}", "podTopologySpread: {defaultConstraints: []}"];
    for text in texts {
        assert_eq!(read(text).unwrap().constraints, [], "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_configuration_is_named() {
    const ZONES: &str = r#""topologyKey": "topology.kubernetes.io/zone""#;
    const ANYWAY: &str = r#""whenUnsatisfiable": "ScheduleAnyway""#;
    let whole = format!(r#"{{"maxSkew": 1, {ZONES}, {ANYWAY}}}"#);
    let first = "podTopologySpread.defaultConstraints[0]";
    for (constraints, field, rule) in [
        (format!(r#"{{"maxSkew": 0, {ZONES}, {ANYWAY}}}"#), "maxSkew", "must be at least 1"),
        (format!("{{{ZONES}, {ANYWAY}}}"), "maxSkew", "is required"),
        (format!(r#"{{"maxSkew": 1, {ANYWAY}}}"#), "topologyKey", "is required"),
        (format!(r#"{{"maxSkew": 1, "topologyKey": "a b", {ANYWAY}}}"#), "topologyKey", "a b"),
        (
            format!(r#"{{"maxSkew": 1, {ZONES}, "whenUnsatisfiable": "Wait"}}"#),
            "whenUnsatisfiable",
            "must be one of",
        ),
        (whole.replace('}', r#", "labelSelector": {}}"#), "labelSelector", "deduced for each pod"),
        (
            whole.replace('}', r#", "matchLabelKeys": ["a"]}"#),
            "matchLabelKeys",
            "deduced for each pod",
        ),
        (whole.replace('}', r#", "skew": 1}"#), "skew", "unknown field"),
    ] {
        let error = read(&of_constraints(&constraints)).unwrap_err();
        assert!(error.contains(&format!("{first}.{field}: ")), "{error}");
        assert!(error.contains(rule), "{error}");
    }
    let twice = read(&of_constraints(&format!("{whole}, {whole}"))).unwrap_err();
    assert!(twice.contains("defaultConstraints[1]: an earlier constraint has the same"), "{twice}");
    let unknown = read("podTopologySpread: {defaultConstraint: []}").unwrap_err();
    assert!(unknown.contains("podTopologySpread.defaultConstraint: unknown field"), "{unknown}");
    assert!(read("profiles: []").unwrap_err().contains("profiles: unknown field"));
    for text in ["[", "- a", "a: b\n---\na: c"] {
        assert!(read(text).is_err(), "{text}");
    }
}
