//! What expressions come to on instance types, and in what becomes of these.

use std::sync::Arc;

use model::{
    RegionCatalog,
    node_class::{ImageFamily, ResolvedNodeClass},
    policies::MinValuesPolicy,
    problem::Weight,
};

use super::*;
use crate::{
    NodeSettings, PricedTypes, all_types, dry_run, expression_failure, offer, requests_with,
    testing::{PROFILE, claim, class, described, instance_type, instance_type_info, now, settings},
};

const M5: &str = "m5.large amd64 2 8Gi 29 0.096 0.04 karpenter.k8s.aws/instance-memory=8192";
const M5_XLARGE: &str = "m5.xlarge amd64 4 16Gi 58 0.192 0.08";

fn name(text: &str) -> ResourceName {
    ResourceName::new(text).unwrap()
}

/// A class as it is read: with `max_pods` and with `reserved` for the kubelet.
fn written_class(
    family: ImageFamily,
    max_pods: Option<&str>,
    reserved: &[(&str, &str)],
) -> ResolvedNodeClass {
    let mut class = class(family);
    let kubelet = &mut class.class.kubelet;
    kubelet.max_pods = max_pods.map(|text| MaxPods::Expression(text.to_owned()));
    let amounts = reserved.iter().map(|(key, text)| (name(key), (*text).to_owned()));
    kubelet.kube_reserved = amounts.collect();
    let fields = class.class.kubelet.expressions().into_iter().map(|(field, _)| field);
    let rule = Rule::ExpressionsDisabled;
    let weight = Weight::Unusable;
    class.class.problems =
        fields.map(|field| Problem { weight, field, rule: rule.clone() }).collect();
    class
}

/// The same with the gate open.
fn opened(
    family: ImageFamily,
    max_pods: Option<&str>,
    reserved: &[(&str, &str)],
) -> ResolvedNodeClass {
    let mut class = written_class(family, max_pods, reserved);
    open_expressions(&mut class.class);
    class
}

/// What the gate's opening says of `maxPods`; empty if nothing.
fn complaint(text: &str) -> String {
    let class = opened(ImageFamily::Al2023, Some(text), &[]).class;
    assert_eq!(class.kubelet_fault().is_some(), !class.problems.is_empty(), "{text}");
    Problem::in_words(&class.problems)
}

/// The value of `text` on an m5.large with 20 pods.
fn value(text: &str) -> Result<u64, String> {
    let m5 = instance_type(M5);
    let info = instance_type_info("m5.large", 2);
    let values = Variables::of(&m5, Some(&info)).values(20);
    evaluated(&compile(text)?, &values)
}

#[test]
fn formulas_have_karpenters_variables_and_functions() {
    for (text, expected) in [
        ("((default_enis - 1) * (ips_per_eni - 1)) + 2", 20),
        ("min(250, ((default_enis - 1) * (ips_per_eni - 1)) * 16 + 2)", 250),
        ("max(60, vcpus * 30)", 60),
        ("11 * max_pods + 255", 475),
        ("memory_mib / 100", 81),
        ("max(vcpus, 60.5)", 60),
        ("min(110.5, max_pods)", 20),
        ("min(3, 7.9) + max(7.9, 3)", 10),
        ("instance_type == \"m5.large\" ? vcpus * 2 : vcpus", 4),
        ("instance_type.startsWith('m5.') ? 1 : 2", 1),
        ("{'m5.large': 7}[instance_type]", 7),
        ("int(double(memory_mib) * 0.05)", 409),
    ] {
        assert_eq!(value(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_has_no_amount_says_why() {
    for (text, expected) in [
        ("100 / (vcpus - vcpus)", "division by zero"),
        ("100 % (vcpus - vcpus)", "division by zero"),
        ("100.0 / 0.0", "inf is not finite, or too large"),
        ("0.0 / 0.0", "NaN is not finite, or too large"),
        ("1e30", "1000000000000000000000000000000 is not finite, or too large"),
        ("vcpus - 100", "-98 is negative"),
        ("9223372036854775807 + vcpus", "integer overflow"),
        ("{'a': 1}[instance_type]", "no such key: \"m5.large\""),
    ] {
        assert_eq!(value(text), Err(expected.to_owned()), "{text}");
    }
    assert_eq!(value("0.9 - 1.0"), Ok(0), "a double counts towards zero");
}

#[test]
fn what_is_no_expression_is_a_problem_of_the_class() {
    for (text, expected) in [
        ("min(110, max_pods)", ""),
        ("58", ""),
        (
            "",
            "spec.kubelet.maxPods: `` is no valid expression: expected a value, not the end (at character 1)",
        ),
        (
            "min(110,",
            "spec.kubelet.maxPods: `min(110,` is no valid expression: expected a value, not the end (at character 9)",
        ),
        (
            "vcpus == 2",
            "spec.kubelet.maxPods: `vcpus == 2` is no valid expression: its result is bool, and must be int or double",
        ),
        (
            "instance_type",
            "spec.kubelet.maxPods: `instance_type` is no valid expression: its result is string, and must be int or double",
        ),
        (
            "[1, 2.0][0]",
            "spec.kubelet.maxPods: `[1, 2.0][0]` is no valid expression: its result is dyn, and must be int or double",
        ),
        (
            "max(1, 2, 3)",
            "spec.kubelet.maxPods: `max(1, 2, 3)` is no valid expression: `max` does not take (int, int, int) (at \
             character 1)",
        ),
    ] {
        assert_eq!(complaint(text), expected);
    }
    let long = complaint(&"x".repeat(5_000));
    assert!(long.len() < 500 && long.contains("x…"), "{long}");
    let unknown = complaint("cpus * 2");
    assert!(
        unknown.contains("there is no variable `cpus`; there are vcpus, memory_mib"),
        "{unknown}"
    );
}

#[test]
fn a_closed_gate_stands_against_every_expression_and_an_open_one_against_none_that_is_right() {
    let reserved = [("cpu", "vcpus * 10"), ("memory", "1Gi"), ("pid", "x")];
    let closed = written_class(ImageFamily::Al2023, Some("max_pods"), &reserved).class;
    assert_eq!(closed.kubelet_fault(), Some(KubeletFault::ExpressionsDisabled));
    let mut invalid = closed.clone();
    open_expressions(&mut invalid);
    assert_eq!(invalid.kubelet_fault(), Some(KubeletFault::InvalidExpression));
    assert_eq!(invalid.problems.len(), 1, "{:?}", invalid.problems);
    let mut structure = closed.clone();
    structure.kubelet.fault = Some(KubeletFault::Invalid);
    assert_eq!(structure.kubelet_fault(), Some(KubeletFault::Invalid));
    let mut right = closed;
    right.kubelet.kube_reserved.remove("pid");
    open_expressions(&mut right);
    assert_eq!((right.kubelet_fault(), right.problems), (None, Vec::new()));
}

#[test]
fn results_have_the_units_of_their_resources_and_are_rounded_up() {
    let most = u64::try_from(i64::MAX).unwrap();
    for (resource, amount, expected) in [
        ("cpu", 53, "60m"),
        ("cpu", 60, "60m"),
        ("cpu", 0, "0m"),
        ("memory", 1, "16Mi"),
        ("memory", 160, "160Mi"),
        ("memory", 0, "0Mi"),
        ("memory", most, "9223372036854775807Mi"),
        ("ephemeral-storage", 3, "3Gi"),
        ("pid", 4_097, "4097"),
    ] {
        assert_eq!(written(&name(resource), amount), expected, "{resource} {amount}");
    }
}

/// Pods and what is reserved for the kubelet on each type.
fn sizes(catalog: &RegionCatalog, class: &ResolvedNodeClass) -> Vec<String> {
    let types = all_types(catalog, class, &NodeSettings::default()).unwrap();
    let said = types.iter().map(|offered| {
        let (name, pods) = (&offered.instance_type.name, offered.instance_type.capacity.pods);
        format!("{name}: {pods} pods, {}", offered.overhead.kube_reserved)
    });
    said.collect()
}

#[test]
fn pods_come_first_and_what_is_reserved_sees_them() {
    let reserved = [("memory", "max_pods"), ("cpu", "vcpus - 100"), ("ephemeral-storage", "2Gi")];
    let mut class = opened(ImageFamily::Al2023, Some("max_pods + 100"), &reserved);
    // By three interfaces of ten addresses, one of them the interface's own, 29 pods; a negative amount is left out.
    let expected = ["m5.large: 129 pods, cpu 70m, memory 144Mi, ephemeral-storage 2Gi"];
    assert_eq!(sizes(&described(&[M5]), &class), expected);
    // An expression sees what there would be without it: by default with the limit per core.
    class.class.kubelet.pods_per_core = Some(4);
    let expected = ["m5.large: 8 pods, cpu 70m, memory 16Mi, ephemeral-storage 2Gi"];
    assert_eq!(sizes(&described(&[M5]), &class), expected);
    let windows = opened(ImageFamily::Windows2022, Some("max_pods - 10"), &[]);
    assert!(sizes(&described(&[M5]), &windows)[0].starts_with("m5.large: 100 pods"));
}

#[test]
fn max_pods_that_fails_on_one_type_fails_the_listing() {
    for (text, expected) in [
        ("100 / (vcpus - 2)", "spec.kubelet.maxPods: for m5.large: division by zero"),
        ("vcpus - 4", "spec.kubelet.maxPods: for m5.large: -2 is negative"),
        (
            "2147483646 + vcpus",
            "spec.kubelet.maxPods: for m5.large: 2147483648 is more than 2147483647",
        ),
    ] {
        let class = opened(ImageFamily::Al2023, Some(text), &[]);
        let catalog = described(&[M5]);
        let failure = all_types(&catalog, &class, &NodeSettings::default()).unwrap_err();
        assert_eq!(failure.to_string(), expected);
        assert_eq!(offer(&catalog, &class, &BTreeMap::new(), now()), []);
        let validated = expression_failure(&catalog, &class.class, &NodeSettings::default());
        assert_eq!(validated, Some(failure));
    }
}

#[test]
fn a_failing_amount_fails_the_validation_and_is_left_out_of_the_listing() {
    let reserved = [("cpu", "100 / (vcpus - 2)"), ("memory", "160")];
    let class = opened(ImageFamily::Al2023, None, &reserved);
    let failure = expression_failure(&described(&[M5]), &class.class, &NodeSettings::default());
    let expected = "spec.kubelet.kubeReserved.cpu: for m5.large: division by zero";
    assert_eq!(failure.unwrap().to_string(), expected);
    let sizes = sizes(&described(&[M5]), &class);
    // A bare `160` is a quantity: bytes.
    assert_eq!(sizes, ["m5.large: 29 pods, cpu 70m, memory 160, ephemeral-storage 1Gi"]);
    let plain = opened(ImageFamily::Al2023, None, &[("cpu", "100m")]);
    assert_eq!(expression_failure(&described(&[M5]), &plain.class, &NodeSettings::default()), None);
}

fn user_data(family: ImageFamily, max_pods: &str, reserved: &[(&str, &str)]) -> Vec<String> {
    let class = opened(family, Some(max_pods), reserved);
    let mut catalog = described(&[M5, M5_XLARGE]);
    catalog
        .descriptions
        .insert("m5.xlarge".parse().unwrap(), Arc::new(instance_type_info("m5.xlarge", 4)));
    let types = offer(&catalog, &class, &BTreeMap::new(), now());
    let sold = PricedTypes {
        descriptions: Some(&catalog.descriptions),
        ..PricedTypes::at_list_prices(&types)
    };
    let claims = [claim(&["paid=on-demand"], &[M5, M5_XLARGE])];
    let strict = MinValuesPolicy::Strict;
    let launch = requests_with(&claims, &class, sold, &settings(), PROFILE, strict).unwrap();
    launch.templates.into_iter().map(|template| template.data.user_data).collect()
}

#[test]
fn types_with_other_results_have_other_launch_templates() {
    let same = user_data(ImageFamily::Al2023, "20", &[("cpu", "vcpus + 1")]);
    assert_eq!(same.len(), 1, "3m and 5m are both 10m");
    assert!(same[0].contains("cpu: \"10m\"") && same[0].contains("maxPods: 20"), "{}", same[0]);
    let other = user_data(ImageFamily::Al2023, "20", &[("cpu", "vcpus * 10")]);
    assert_eq!(other.len(), 2);
    let pods = user_data(ImageFamily::Al2023, "vcpus * 10", &[]);
    assert_eq!(pods.len(), 2);
}

#[test]
fn every_family_gets_amounts() {
    let reserved =
        [("cpu", "default_enis * ips_per_eni"), ("memory", "100Mi"), ("pid", "vcpus / 0")];
    for (family, expected) in [
        (ImageFamily::Al2, vec!["--max-pods=7", "--kube-reserved=\"cpu=30m,memory=100Mi\""]),
        (ImageFamily::Al2023, vec!["maxPods: 7", "cpu: \"30m\"", "memory: \"100Mi\""]),
        (ImageFamily::Bottlerocket, vec!["max-pods = 7", "cpu = \"30m\"", "memory = \"100Mi\""]),
        (
            ImageFamily::Windows2022,
            vec!["--max-pods=7", "--kube-reserved=\"cpu=30m,memory=100Mi\""],
        ),
    ] {
        let texts = user_data(family, "7", &reserved);
        let [text] = texts.as_slice() else { panic!("{family:?}: {}", texts.len()) };
        for part in expected {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("vcpus"), "{text}");
    }
}

#[test]
fn a_change_of_an_expression_is_checked_by_another_dry_run() {
    let key = |text: &str| {
        let class = opened(ImageFamily::Al2023, Some(text), &[]).class;
        dry_run::key(&class, &BTreeMap::new(), &[], &[], &[], PROFILE)
    };
    assert_ne!(key("vcpus"), key("vcpus * 2"));
}

#[test]
fn a_dry_run_is_made_of_amounts() {
    let class =
        opened(ImageFamily::Al2023, Some("min(max_pods, vcpus * 2)"), &[("cpu", "ips_per_eni")]);
    let catalog = described(&[M5]);
    let types = offer(&catalog, &class, &BTreeMap::new(), now());
    let sold = PricedTypes {
        descriptions: Some(&catalog.descriptions),
        ..PricedTypes::at_list_prices(&types)
    };
    let tried = dry_run::dry_run_requests(&class, sold, &[], &settings(), PROFILE, "1f").unwrap();
    let user_data = tried.template.unwrap().data.user_data;
    assert!(user_data.contains("maxPods: 4") && user_data.contains("cpu: \"10m\""), "{user_data}");
}
