//! Sets of requirements: Karpenter's `requirements_test.go`, the compatibility matrix, and laws.

use std::sync::Arc;

use model::{
    InstanceType, InstanceTypeName, LabelKey, Operator, Requirement, Resources, labels,
    requirements::*,
};
use proptest::{collection::vec, prelude::*, sample::select};

/// `zone In a b; cpu Gt 1 min 2`: requirements separated by `;`, where `CUSTOM` and `KNOWN` stand
/// for a label of the user's own and for a well-known one.
fn requirements(text: &str) -> Requirements {
    let parsed = |text: &str| {
        let (text, min) = text.split_once(" min ").map_or((text, None), |(t, m)| (t, Some(m)));
        let mut words = text.split_whitespace();
        let key = match words.next().unwrap() {
            "CUSTOM" => "example.com/team",
            "KNOWN" => "karpenter.k8s.aws/instance-cpu",
            key => key,
        };
        let operator = Operator::parse(words.next().unwrap()).unwrap();
        let min = min.map(|min| min.trim().parse().unwrap());
        Requirement::new(key, operator, words).unwrap().with_min_values(min)
    };
    text.split(';').filter(|text| !text.trim().is_empty()).map(parsed).collect()
}

#[track_caller]
fn check(node: &str, pod: &str, undefined: Undefined, accepted: bool) {
    let outcome = requirements(node).compatible(&requirements(pod), undefined);
    assert_eq!(outcome.is_ok(), accepted, "node `{node}`, pod `{pod}`, {undefined:?}: {outcome:?}");
}

/// The matrix of the specification (§3.4) with the numeric operators as bounded `Exists`: for each
/// node side, what the pod sides [`PODS`] get. `u` is accepted where well-known labels may be
/// undefined and the label is one.
const MATRIX: [(&str, &str); 12] = [
    // The pod side:  -  In A  NotIn A  Exists  DNE  In 5  NotIn 5  Gt 4  Lt 4  Gte 5  Lte 4
    ("", "+ u + u + u + u u u u"),
    ("In A", "+ + - + - - + - - - -"),
    ("In B", "+ - + + - - + - - - -"),
    ("NotIn A", "+ - + + + + + + + + +"),
    ("Exists", "+ + + + - + + + + + +"),
    ("DoesNotExist", "+ - + - + - + - - - -"),
    ("In 5", "+ - + + - + - + - + -"),
    ("In 3", "+ - + + - - + - + - +"),
    ("Gt 4", "+ - + + - + + + - + -"),
    ("Lt 4", "+ - + + - - + - + - +"),
    ("Gte 5", "+ - + + - + + + - + -"),
    ("Lte 4", "+ - + + - - + - + - +"),
];

const PODS: [&str; 11] = [
    "",
    "In A",
    "NotIn A",
    "Exists",
    "DoesNotExist",
    "In 5",
    "NotIn 5",
    "Gt 4",
    "Lt 4",
    "Gte 5",
    "Lte 4",
];

#[test]
fn compatibility_is_the_matrix_for_custom_and_well_known_labels() {
    // RQ14, RQ15.
    for key in ["CUSTOM", "KNOWN"] {
        let with_key =
            |text: &str| if text.is_empty() { String::new() } else { format!("{key} {text}") };
        for (node, validations) in MATRIX {
            let validations: Vec<&str> = validations.split(' ').collect();
            assert_eq!(validations.len(), PODS.len());
            for (pod, validation) in PODS.into_iter().zip(validations) {
                let (node, pod) = (with_key(node), with_key(pod));
                check(&node, &pod, Undefined::Refused, validation == "+");
                let is_known = key == "KNOWN";
                let accepted = validation == "+" || validation == "u" && is_known;
                check(&node, &pod, Undefined::WellKnown, accepted);
            }
        }
    }
}

#[test]
fn aliases_meet_their_canonical_labels() {
    // RQ1.
    check("beta.kubernetes.io/os In linux", "kubernetes.io/os In linux", Undefined::Refused, true);
    check(
        "topology.kubernetes.io/zone In a",
        "failure-domain.beta.kubernetes.io/zone In b",
        Undefined::Refused,
        false,
    );
    let both =
        [("kubernetes.io/arch", "arm64"), ("beta.kubernetes.io/arch", "amd64"), ("", "nothing")];
    let node = Requirements::of_labels(both);
    assert_eq!(node.len(), 1);
    assert_eq!(node.get(labels::ARCH).unwrap().operator(), Operator::DoesNotExist);
}

#[test]
fn custom_labels_of_a_pool_decide_as_pinned() {
    // CC2, CC3, SL2, SL3, WK4, WK5 and WK7, as far as they are algebra.
    for (node, pod, accepted) in [
        ("CUSTOM In red", "CUSTOM In red", true),
        ("CUSTOM In red", "CUSTOM In blue red", true),
        ("CUSTOM In red", "CUSTOM Exists", true),
        ("CUSTOM In red", "CUSTOM NotIn blue", true),
        ("CUSTOM In red", "CUSTOM NotIn red", false),
        ("CUSTOM In red", "CUSTOM DoesNotExist", false),
        ("CUSTOM In red", "CUSTOM In blue", false),
        ("", "CUSTOM In red", false),
        ("", "CUSTOM Exists", false),
        ("", "CUSTOM NotIn red", true),
        ("", "CUSTOM DoesNotExist", true),
        ("KNOWN In 2 4 8", "KNOWN Gt 2; KNOWN Lte 4", true),
        ("KNOWN In 2 4 8", "KNOWN Gt 8", false),
        ("KNOWN In 2 4", "KNOWN NotIn 2 4", false),
        ("KNOWN In 2 4; CUSTOM In red", "KNOWN In 2; CUSTOM In blue", false),
        ("", "kubernetes.io/hostname In node-1", false),
    ] {
        check(node, pod, Undefined::WellKnown, accepted);
    }
}

#[test]
fn every_reason_is_given_and_names_the_label() {
    let node = requirements("zone In a; team In red; kubernetes.io/os In linux");
    let pod = requirements("zone In b; team NotIn red; color Exists; kubernetes.io/os In linux");
    let reasons: Vec<String> = node
        .compatible(&pod, Undefined::Refused)
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        reasons,
        [
            "label \"color\" does not have known values",
            "key team, team NotIn [red] not in team In [red]",
            "key zone, zone In [b] not in zone In [a]",
        ]
    );
    assert_eq!(node.intersects(&pod).unwrap_err().len(), 2);
}

#[test]
fn a_misspelled_label_gets_a_hint() {
    // RQ16.
    for (key, hint) in [
        ("zone", Some(labels::ZONE)),
        ("region", Some(labels::REGION)),
        ("nodepool", Some(labels::NODE_POOL)),
        ("instance-type", Some(labels::INSTANCE_TYPE)),
        ("arch", Some(labels::ARCH)),
        ("capacity-type", Some(labels::CAPACITY_TYPE)),
        ("topology.kubernetesio/zone", Some(labels::ZONE)),
        ("topology.kubernetes.io/regio", Some(labels::REGION)),
        ("karpenter.sh.io/nodepool", Some(labels::NODE_POOL)),
        ("node.io/instance-type", Some(labels::INSTANCE_TYPE)),
        ("kubernetesio/arch", Some(labels::ARCH)),
        ("karpenter/capacity-type", Some(labels::CAPACITY_TYPE)),
        ("team-name", Some("example.com/team-name")),
        ("unknown", None),
        ("example.com/unknown", None),
    ] {
        let node = requirements("example.com/team-name In a");
        let pod = requirements(&format!("{key} In x"));
        for undefined in [Undefined::Refused, Undefined::WellKnown] {
            let reasons = node.compatible(&pod, undefined).unwrap_err();
            let hint = hint.map(|hint| format!(" (typo of \"{hint}\"?)")).unwrap_or_default();
            let text = format!("label \"{key}\" does not have known values{hint}");
            assert_eq!(reasons.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
        }
    }
}

#[test]
fn a_label_that_is_spelled_right_gets_no_hint() {
    let reasons = Requirements::new()
        .compatible(&requirements("topology.kubernetes.io/zone In a"), Undefined::Refused)
        .unwrap_err();
    let key = LabelKey::new(labels::ZONE).unwrap();
    assert_eq!(reasons, [Incompatible::Undefined { key, hint: None }]);
}

#[test]
fn a_set_is_shown_sorted_and_without_restricted_labels() {
    // RQ17.
    let text = "b In x; a NotIn y; karpenter.sh/registered In true; kubernetes.io/hostname Exists";
    let forward = requirements(text);
    let backward: Requirements = text
        .split(';')
        .rev()
        .flat_map(|t| requirements(t).iter().cloned().collect::<Vec<_>>())
        .collect();
    assert_eq!(forward, backward);
    assert_eq!(forward.to_string(), "a NotIn [y], b In [x]");
}

#[test]
fn one_label_holds_one_requirement() {
    let mut both = requirements("a In x y; a NotIn y");
    assert_eq!(both.to_string(), "a In [x]");
    both.replace(Requirement::of_label("a", "z").unwrap());
    both.add_all(&requirements("a Exists; b Exists min 2"));
    assert_eq!(both.to_string(), "a In [z], b Exists minValues 2");
    assert!(both.has_min_values() && both.contains("b") && both.len() == 2 && !both.is_empty());
    assert!(both.remove("b").is_some() && both.get("b").is_none() && !both.has_min_values());
}

fn instance_types(texts: &[&str]) -> Vec<InstanceType> {
    let named = texts.iter().enumerate().map(|(index, text)| InstanceType {
        name: InstanceTypeName::new(&format!("m{index}.large")).unwrap(),
        requirements: requirements(text),
        capacity: Resources::default(),
        overhead: Resources::default(),
        offerings: Vec::new(),
    });
    named.collect()
}

#[test]
fn min_values_takes_the_shortest_prefix_or_says_what_is_missing() {
    // §3.6 and MV12.
    let types = ["a In x; b In 1", "a In x; b In 2", "a In y; b In 2", "a In z"];
    for (wanted, taken, violated) in [
        ("a Exists", 1, &[][..]),
        ("a Exists min 1", 1, &[]),
        ("a Exists min 2", 3, &[]),
        ("a Exists min 3", 4, &[]),
        ("b Exists min 2", 2, &[]),
        ("a Exists min 2; b Exists min 2", 3, &[]),
        ("a Exists min 4", 4, &[("a", 3)]),
        ("a Exists min 3; b Exists min 3", 4, &[("b", 2)]),
        ("a Exists min 9; b Exists min 9; c Exists min 1", 4, &[("a", 3), ("b", 2), ("c", 0)]),
        // Only values that are allowed count.
        ("a In x min 2", 4, &[("a", 1)]),
        ("a NotIn y min 2", 4, &[]),
        // Two requirements on one label: the larger minValues (MV3, MV6).
        ("a Exists min 1; a NotIn q min 3", 4, &[]),
    ] {
        let outcome = requirements(wanted).min_values(&instance_types(&types));
        let violated = violated.iter().map(|(k, n)| (LabelKey::new(k).unwrap(), *n)).collect();
        assert_eq!(outcome, MinValues { types: taken, violated }, "{wanted}");
    }
    let nothing = requirements("a Exists min 2").min_values(&[]);
    assert_eq!(nothing, MinValues::default());
}

const KEYS: [&str; 3] = ["CUSTOM", "KNOWN", "other"];
const SETS: [&str; 12] = [
    "In A",
    "In A B",
    "In 3 5",
    "NotIn A",
    "NotIn 5 B",
    "Exists",
    "DoesNotExist",
    "Gt 4",
    "Lt 4",
    "Gte 3",
    "Lte 5",
    "In",
];

fn any() -> impl Strategy<Value = Requirements> {
    vec((select(&KEYS[..]), select(&SETS[..])), 0..5).prop_map(|entries| {
        let texts: Vec<String> = entries.iter().map(|(key, set)| format!("{key} {set}")).collect();
        requirements(&texts.join(";"))
    })
}

fn labels_of_a_node() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let keys = ["example.com/team", "karpenter.k8s.aws/instance-cpu", "other"];
    let value = proptest::option::of(select(&["A", "B", "3", "5"][..]));
    vec(value, 3).prop_map(move |values| {
        keys.into_iter().zip(values).filter_map(|(k, v)| Some((k, v?))).collect()
    })
}

proptest! {
    #[test]
    fn what_is_compatible_intersects(node in any(), pod in any()) {
        let strict = node.compatible(&pod, Undefined::Refused);
        let loose = node.compatible(&pod, Undefined::WellKnown);
        prop_assert!(strict.is_err() || loose.is_ok());
        prop_assert!(loose.is_err() || node.intersects(&pod).is_ok());
    }

    #[test]
    fn intersects_is_symmetric(a in any(), b in any()) {
        prop_assert_eq!(a.intersects(&b).is_ok(), b.intersects(&a).is_ok());
    }

    /// On labels that are there, compatibility is what kube-scheduler decides about a node.
    #[test]
    fn a_node_is_compatible_where_its_labels_are_members(
        labels in labels_of_a_node(),
        pod in any(),
    ) {
        let node = Requirements::of_labels(labels.clone());
        let fits = pod.iter().all(|wanted| {
            let label = labels.iter().find(|(key, _)| *key == wanted.key().as_str());
            label.map_or_else(|| wanted.allows_absence(), |(_, value)| wanted.has(value))
        });
        prop_assert_eq!(node.compatible(&pod, Undefined::Refused).is_ok(), fits);
    }

    #[test]
    fn adding_is_by_label_and_in_any_order(a in any(), b in any()) {
        let (mut requirements, mut other) = (a.clone(), b.clone());
        requirements.add_all(&b);
        other.add_all(&a);
        prop_assert_eq!(&requirements, &other);
        let once = requirements.clone();
        requirements.add_all(&b);
        prop_assert_eq!(&requirements, &once);
        for requirement in once.iter() {
            let key = requirement.key().as_str();
            let expected = match (a.get(key), b.get(key)) {
                (Some(a), Some(b)) => a.intersection(b),
                (one, other) => one.or(other).unwrap().clone(),
            };
            prop_assert_eq!(requirement, &expected);
        }
    }

    #[test]
    fn a_prefix_that_reaches_min_values_is_the_shortest(
        values in vec(select(&["In A", "In B", "In C"][..]), 0..8),
        min in 1..4_u32,
    ) {
        let texts: Vec<String> = values.iter().map(|value| format!("a {value}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let types = instance_types(&texts);
        let wanted = requirements(&format!("a Exists min {min}"));
        let outcome = wanted.min_values(&types);
        let distinct = |types: &[InstanceType]| {
            let values = types.iter().filter_map(|t| t.label("a")).map(Arc::clone);
            values.collect::<std::collections::BTreeSet<_>>().len()
        };
        let enough = |count: usize| distinct(&types[..count]) >= usize::try_from(min).unwrap();
        if outcome.violated.is_empty() && !types.is_empty() {
            prop_assert!(enough(outcome.types) && !enough(outcome.types - 1));
        } else {
            prop_assert!(!enough(types.len()) && outcome.types == types.len());
        }
    }
}
