//! One requirement: the tables of Karpenter's `requirement_test.go` and the laws behind them.

use model::{Values, labels, requirement::*};
use proptest::{collection::btree_set, prelude::*, sample::select};

/// `In a b`, `NotIn a & Gte 1`, `In a min 2`: parts joined by `&` are intersected. The label is `key`.
fn requirement(text: &str) -> Requirement {
    let part = |part: &str| {
        let (part, min) = part.split_once(" min ").map_or((part, None), |(p, m)| (p, Some(m)));
        let mut words = part.split_whitespace();
        let operator = Operator::parse(words.next().unwrap()).unwrap();
        let min = min.map(|min| min.trim().parse().unwrap());
        Requirement::new("key", operator, words).unwrap().with_min_values(min)
    };
    text.split('&').map(part).reduce(|a, b| a.intersection(&b)).unwrap()
}

#[track_caller]
fn check(text: &str, shown: &str) {
    assert_eq!(requirement(text).to_string(), format!("key {shown}"), "{text}");
}

#[test]
fn an_operator_has_a_name_that_reads_back() {
    for name in ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"] {
        assert_eq!(Operator::parse(name).unwrap().to_string(), name);
    }
    for name in ["in", "", "Equals", "GT"] {
        assert_eq!(Operator::parse(name), None, "{name}");
    }
}

#[test]
fn construction_gives_a_set_and_the_operator_that_it_amounts_to() {
    // RQ7, RQ8, and the table of the construction.
    let complement = |exclusions: u64| i64::MAX.unsigned_abs() - exclusions;
    for (text, operator, is_complement, values, at_least, at_most, size) in [
        ("In b a", Operator::In, false, 2, None, None, 2),
        ("In a a", Operator::In, false, 1, None, None, 1),
        ("In", Operator::DoesNotExist, false, 0, None, None, 0),
        ("NotIn a b", Operator::NotIn, true, 2, None, None, complement(2)),
        ("NotIn", Operator::Exists, true, 0, None, None, complement(0)),
        ("Exists", Operator::Exists, true, 0, None, None, complement(0)),
        ("DoesNotExist", Operator::DoesNotExist, false, 0, None, None, 0),
        ("Gt 1", Operator::Exists, true, 0, Some(2), None, complement(0)),
        ("Lt 9", Operator::Exists, true, 0, None, Some(8), complement(0)),
        ("Lt 0", Operator::Exists, true, 0, None, Some(-1), complement(0)),
        ("Gte 0", Operator::Exists, true, 0, Some(0), None, complement(0)),
        ("Lte 0", Operator::Exists, true, 0, None, Some(0), complement(0)),
        ("Gt 9223372036854775807", Operator::DoesNotExist, false, 0, None, None, 0),
        ("Gt 9223372036854775806", Operator::Exists, true, 0, Some(i64::MAX), None, complement(0)),
    ] {
        let set = requirement(text);
        assert_eq!(set.operator(), operator, "{text}");
        assert_eq!((set.is_complement(), set.values().len()), (is_complement, values), "{text}");
        assert_eq!((set.at_least(), set.at_most()), (at_least, at_most), "{text}");
        assert_eq!((set.size(), set.min_values()), (size, None), "{text}");
        let absence = matches!(operator, Operator::NotIn | Operator::DoesNotExist);
        assert_eq!(set.allows_absence(), absence, "{text}");
    }
}

#[test]
fn a_bound_is_one_integer_that_is_not_negative() {
    for values in
        [&[][..], &["1", "2"], &["1", "1"], &["a"], &["-1"], &["1.5"], &["9223372036854775808"]]
    {
        for operator in [Operator::Gt, Operator::Lt, Operator::Gte, Operator::Lte] {
            let error =
                Requirement::new("key", operator, values.iter().copied()).unwrap_err().to_string();
            let text = format!(
                "operator {operator} on `key` takes exactly one non-negative integer, not {values:?}"
            );
            assert_eq!(error, text);
        }
    }
    assert_eq!(Requirement::new("", Operator::Exists, []), Err(InvalidRequirement::Key));
}

#[test]
fn beta_labels_become_the_canonical_ones() {
    // RQ1.
    for (alias, canonical) in [
        ("failure-domain.beta.kubernetes.io/zone", labels::ZONE),
        ("failure-domain.beta.kubernetes.io/region", labels::REGION),
        ("topology.ebs.csi.aws.com/zone", labels::ZONE),
        ("beta.kubernetes.io/arch", labels::ARCH),
        ("beta.kubernetes.io/os", labels::OS),
        ("beta.kubernetes.io/instance-type", labels::INSTANCE_TYPE),
        ("beta.kubernetes.io/other", "beta.kubernetes.io/other"),
    ] {
        let made = Requirement::of_label(alias, "x").unwrap();
        assert_eq!(made, Requirement::of_label(canonical, "x").unwrap());
        assert_eq!(made.key().as_str(), canonical);
        assert_eq!(made.single_value().map(|value| &**value), Some("x"));
    }
}

#[test]
fn membership_honors_operator_and_bounds() {
    // RQ6, RQ12, RQ13.
    for (text, members, others) in [
        ("In a 1", &["a", "1"][..], &["b", "2", "01"][..]),
        ("NotIn a 1", &["b", "2", "", "01"], &["a", "1"]),
        ("Exists", &["a", "1", ""], &[]),
        ("DoesNotExist", &[], &["a", "1", ""]),
        ("Gt 1", &["2", "100", "+2", "007"], &["1", "0", "-5", "a", "", "1.5", "2Gi"]),
        ("Lt 9", &["8", "0", "-1"], &["9", "10", "b", ""]),
        ("Gte 1", &["1", "2"], &["0", "x"]),
        ("Lte 9", &["9", "0"], &["10", "x"]),
        ("Gte 0", &["0"], &["-1"]),
        ("Lte 0", &["0"], &["1"]),
        ("Lt 0", &["-1"], &["0", "1"]),
        ("Gt 1 & Lt 9 & NotIn 5", &["2", "8"], &["1", "9", "5", "a"]),
        ("Gte 1", &["9223372036854775807"], &["9223372036854775808"]),
    ] {
        let set = requirement(text);
        for member in members {
            assert!(set.has(member), "{text}: {member}");
        }
        for other in others {
            assert!(!set.has(other), "{text}: {other}");
        }
    }
    assert_eq!(requirement("Gt 4"), requirement("Gte 5"));
    assert_eq!(requirement("Lt 4"), requirement("Lte 3"));
}

#[test]
fn intersections_are_those_of_sets() {
    // RQ2 to RQ5 and RQ12, each pair in both orders.
    for (a, b, both) in [
        ("Exists", "Exists", "Exists"),
        ("Exists", "DoesNotExist", "DoesNotExist"),
        ("Exists", "In A B", "In [A B]"),
        ("Exists", "NotIn A", "NotIn [A]"),
        ("Exists", "Gt 1", "Gt 1"),
        ("DoesNotExist", "DoesNotExist", "DoesNotExist"),
        ("DoesNotExist", "NotIn A", "DoesNotExist"),
        ("DoesNotExist", "Gt 1", "DoesNotExist"),
        ("DoesNotExist", "In A", "DoesNotExist"),
        ("In A", "In B", "DoesNotExist"),
        ("In A", "In A B", "In [A]"),
        ("In A", "NotIn A", "DoesNotExist"),
        ("In A B", "NotIn A", "In [B]"),
        ("In B", "NotIn A", "In [B]"),
        ("NotIn A", "NotIn B", "NotIn [A B]"),
        // Bounds keep integers in their range, and a listed set sheds them.
        ("In A", "Gt 1", "DoesNotExist"),
        ("In 1 9 A", "Gt 1", "In [9]"),
        ("In 1 9", "Lt 9", "In [1]"),
        ("In 1 9", "Gte 1 & Lte 9", "In [1 9]"),
        ("In 1 9", "Gt 1 & Lt 9", "DoesNotExist"),
        // A complement keeps them, with the exclusions in their range.
        ("NotIn A", "Gt 1", "Gt 1"),
        ("NotIn 12", "Gt 1", "NotIn [12] Gt 1"),
        ("NotIn 12", "Lt 9", "Lt 9"),
        ("NotIn 1 12 A", "Gte 1 & Lte 9", "NotIn [1] Gt 0 Lt 10"),
        // Bounds tighten, and what crosses is nothing.
        ("Gt 1", "Gt 9", "Gt 9"),
        ("Lt 1", "Lt 9", "Lt 1"),
        ("Gte 1", "Gt 1", "Gt 1"),
        ("Lte 9", "Lt 9", "Lt 9"),
        ("Gt 1", "Lt 9", "Gt 1 Lt 9"),
        ("Gt 9", "Lt 1", "DoesNotExist"),
        ("Gt 1", "Lt 2", "DoesNotExist"),
        ("Gte 2", "Lte 1", "DoesNotExist"),
        ("Gte 1", "Lte 1", "Gt 0 Lt 2"),
        ("Gte 9", "NotIn A & Lt 1", "DoesNotExist"),
        // The larger minValues governs, even over nothing.
        ("In A B min 2", "Exists", "In [A B] minValues 2"),
        ("In A min 1", "NotIn A min 3", "DoesNotExist minValues 3"),
        ("Gt 9 min 2", "Lt 1", "DoesNotExist minValues 2"),
        ("Gt 1 min 1", "Lt 9 min 2", "Gt 1 Lt 9 minValues 2"),
    ] {
        check(&format!("{a} & {b}"), both);
        check(&format!("{b} & {a}"), both);
    }
}

#[test]
fn two_complements_always_meet_and_nothing_meets_nothing() {
    for (a, b, meet) in [
        ("Exists", "NotIn A", true),
        ("NotIn 1 & Gte 1", "Lte 1", true),
        ("Gt 9", "Lt 1", false),
        ("Exists", "DoesNotExist", false),
        ("NotIn A", "DoesNotExist", false),
        ("DoesNotExist", "DoesNotExist", false),
        ("In A", "NotIn A", false),
        ("In A 5", "Gt 4", true),
        ("In A", "Gt 4", false),
        ("In A B", "In B C", true),
        ("In A", "In C", false),
    ] {
        assert_eq!(requirement(a).has_intersection(&requirement(b)), meet, "{a}, {b}");
        assert_eq!(requirement(b).has_intersection(&requirement(a)), meet, "{b}, {a}");
    }
}

#[test]
fn a_set_is_shown_with_at_most_five_values() {
    // RQ10.
    check("In b a", "In [a b]");
    check("NotIn a", "NotIn [a]");
    check("Exists", "Exists");
    check("DoesNotExist", "DoesNotExist");
    check("In e d c b a", "In [a b c d e]");
    check("In g f e d c b a", "In [a b c d e and 2 others]");
    check("In f e d c b a", "In [a b c d e and 1 other]");
    check("Gt 1", "Gt 1");
    check("Lt 9 min 3", "Lt 9 minValues 3");
    check("NotIn 3 4 & Gte 1 & Lte 9 min 2", "NotIn [3 4] Gt 0 Lt 10 minValues 2");
}

#[test]
fn a_set_is_written_as_entries() {
    // RQ11.
    for (text, entries) in [
        ("In b a", &["In a b"][..]),
        ("NotIn b a", &["NotIn a b"]),
        ("Exists", &["Exists"]),
        ("DoesNotExist", &["DoesNotExist"]),
        ("Gt 1", &["Gte 2"]),
        ("Lt 9", &["Lte 8"]),
        ("Gte 1 & Lte 9", &["Gte 1", "Lte 9"]),
        ("Gte 1 & Lte 9 & NotIn 5", &["Gte 1", "Lte 9"]),
        ("Gte 2 & In 1 3 a", &["In 3"]),
    ] {
        let written: Vec<String> = requirement(text)
            .entries()
            .into_iter()
            .map(|(operator, values)| format!("{operator} {}", values.join(" ")).trim().to_owned())
            .collect();
        assert_eq!(written, entries, "{text}");
    }
}

#[test]
fn any_value_is_one_of_the_set() {
    // RQ9.
    for (text, value) in [
        ("In b a", Some("a")),
        ("In ;reboot b", Some("b")),
        ("In ;reboot", None),
        ("DoesNotExist", None),
        ("Exists", Some("0")),
        ("NotIn 0 1 a", Some("2")),
        ("Gt 5", Some("6")),
        ("Lt 5", Some("0")),
        ("Gte 3 & Lte 4 & NotIn 3", Some("4")),
        ("Gte 3 & Lte 4 & NotIn 3 4", None),
        ("Lt 0", None),
    ] {
        assert_eq!(requirement(text).any_value().as_deref(), value, "{text}");
    }
}

const UNIVERSE: [&str; 14] =
    ["a", "b", "", "-1", "0", "1", "2", "3", "4", "5", "6", "+3", "03", "9223372036854775807"];

const BOUNDS: [Operator; 4] = [Operator::Gt, Operator::Gte, Operator::Lt, Operator::Lte];

fn atom() -> impl Strategy<Value = Requirement> {
    let some = || btree_set(select(&UNIVERSE[..]), 0..5);
    let listed = |operator| {
        some().prop_map(move |values| Requirement::new("key", operator, values).unwrap())
    };
    let bounded = (select(&BOUNDS[..]), 1..6_i64)
        .prop_map(|(o, n)| Requirement::new("key", o, [n.to_string().as_str()]).unwrap());
    let any = prop_oneof![listed(Operator::In), listed(Operator::NotIn), bounded];
    (any, proptest::option::of(1..4_u32)).prop_map(|(set, min)| set.with_min_values(min))
}

/// Up to three atoms intersected: every form that a requirement can take.
fn any() -> impl Strategy<Value = Requirement> {
    proptest::collection::vec(atom(), 1..4)
        .prop_map(|atoms| atoms.into_iter().reduce(|a, b| a.intersection(&b)).unwrap())
}

proptest! {
    #[test]
    fn intersection_is_commutative(a in any(), b in any()) {
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
    }

    #[test]
    fn intersection_is_associative(a in any(), b in any(), c in any()) {
        prop_assert_eq!(
            a.intersection(&b).intersection(&c),
            a.intersection(&b.intersection(&c))
        );
    }

    #[test]
    fn intersection_is_idempotent(a in any(), b in any()) {
        prop_assert_eq!(a.intersection(&a), a.clone());
        let both = a.intersection(&b);
        prop_assert_eq!(both.intersection(&b), both);
    }

    #[test]
    fn an_intersection_has_what_both_have(a in any(), b in any()) {
        let both = a.intersection(&b);
        for value in UNIVERSE {
            prop_assert_eq!(both.has(value), a.has(value) && b.has(value), "{}", value);
        }
        prop_assert_eq!(both.min_values(), a.min_values().max(b.min_values()));
    }

    /// Two complements that leave no integer between their bounds still count as meeting: what is
    /// left of them is not a listed set.
    #[test]
    fn sets_meet_where_their_intersection_is_not_the_empty_list(a in any(), b in any()) {
        let both = a.intersection(&b);
        let left = both.is_complement() || !both.values().is_empty();
        prop_assert_eq!(a.has_intersection(&b), left);
        let witness = UNIVERSE.iter().any(|value| a.has(value) && b.has(value));
        prop_assert!(!witness || left);
        let listed = !a.is_complement() || !b.is_complement();
        prop_assert!(!listed || witness == left);
    }

    #[test]
    fn entries_read_back_without_exclusions_beside_a_bound(a in any()) {
        let again = a
            .entries()
            .iter()
            .map(|(operator, values)| {
                let values = values.iter().map(String::as_str);
                Requirement::new("key", *operator, values).unwrap()
            })
            .reduce(|a, b| a.intersection(&b))
            .unwrap()
            .with_min_values(a.min_values());
        let is_bounded = a.at_least().is_some() || a.at_most().is_some();
        let excluded = if is_bounded { Values::default() } else { a.values().clone() };
        prop_assert_eq!(again.values(), &excluded);
        let rest = |r: &Requirement| (r.key().clone(), r.is_complement(), r.at_least(), r.at_most(), r.min_values());
        prop_assert_eq!(rest(&again), rest(&a));
    }

    #[test]
    fn any_value_is_a_member(a in any()) {
        match a.any_value() {
            Some(value) => prop_assert!(a.has(&value)),
            None => prop_assert!((0..10).all(|n| !a.has(&n.to_string()))),
        }
    }
}
