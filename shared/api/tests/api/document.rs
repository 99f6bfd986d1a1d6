//! Text as trees and trees as text: lines, placeholders, scripts.

use api::document::{
    json_tree::parse,
    placeholder::in_text,
    tree::{Tree, TreeValue as Scalar, parse_json, parse_yaml},
    yaml::{Comments, to_text, to_text_with},
};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn a_tree_is_the_one_that_yaml_has() {
    let json = r#"{"a": [1, -2, true, null, "5", "\u00e4\n"], "b": {"c": {}}, "d": []}"#;
    assert_eq!(parse(json, 1).map(|tree| vec![tree]), parse_yaml(json).ok());
}

#[test]
fn what_yaml_reads_otherwise_is_left_to_it() {
    for json in [r#"{"a": 1.50}"#, r#"{"a": 1, "a": 2}"#, "{", r#"{"a": 1} 2"#] {
        assert_eq!(parse(json, 1), None, "{json}");
    }
}
#[test]
fn d19_every_way_to_write_a_placeholder_is_seen() {
    let texts = [
        ("arn:aws:iam::${ACCOUNT}:role/x", Some("${ACCOUNT}")),
        ("$CLUSTER_NAME", Some("$CLUSTER_NAME")),
        ("KarpenterNodeRole-$CLUSTER", Some("$CLUSTER")),
        ("<CLUSTER_NAME>", Some("<CLUSTER_NAME>")),
        ("<your cluster>", Some("<your cluster>")),
        ("<<CLUSTER>>", Some("<<CLUSTER>>")),
        ("{{ .Values.cluster }}", Some("{{ .Values.cluster }}")),
        ("costs $5", None),
        ("a < b > c", None),
        ("^a$", None),
        ("$", None),
        ("plain", None),
    ];
    for (text, placeholder) in texts {
        assert_eq!(in_text(text), placeholder, "{text}");
    }
}
#[test]
fn lines_count_through_the_whole_file() {
    let documents = parse_yaml("a: 1\n---\n\nb:\n  - c: on\n---\n").unwrap();
    assert_eq!(documents.len(), 2);
    let b = documents[1].get("b").unwrap();
    let Scalar::List(items) = &b.value else { panic!("{b:?}") };
    assert_eq!((items[0].line, &items[0].get("c").unwrap().value), (5, &Scalar::Bool(true)));
}

#[test]
fn what_is_no_yaml_is_refused_with_its_line() {
    for (text, line, rule) in [
        ("a: 1\na: 2\n", 2, "not valid YAML: duplicate mapping key: a"),
        ("a: 1\n b: 2\n", 2, "not valid YAML: mapping values are not allowed in this context"),
    ] {
        let error = parse_yaml(text).unwrap_err();
        assert_eq!((error.line, error.rule.as_str()), (Some(line), rule));
    }
}

#[test]
fn json_skips_what_is_not_read() {
    let tree = parse_json(
        r#"{"metadata":{"managedFields":[{"a":1}],"name":"x","labels":{"env":"prod"}}}"#,
    )
    .unwrap();
    let metadata = tree.get("metadata").unwrap();
    assert_eq!(metadata.get("managedFields"), None);
    assert_eq!(metadata.get("name").unwrap().as_text(), Some("x"));
    let env = metadata.get("labels").unwrap().get("env").unwrap();
    assert_eq!(env.as_text(), Some("prod"));
}
#[test]
fn comments_stand_above_what_they_are_about() {
    let value = json!({"spec": {"role": "nodes", "terms": [{"id": "a", "name": "b"}]}});
    let comments = Comments::from([
        ("/spec/role".to_owned(), vec!["kept".to_owned()]),
        ("/spec/terms/0/id".to_owned(), vec!["one".to_owned()]),
        ("/spec/terms/0/name".to_owned(), vec!["two".to_owned(), "three".to_owned()]),
    ]);
    let wanted = "spec:\n  # kept\n  role: nodes\n  terms:\n  # one\n  - id: a\n    # two\n    # three\n    name: b\n";
    assert_eq!(to_text_with(&value, &comments), wanted);
}

#[test]
fn scripts_stay_readable() {
    let value = json!({"userData": "#!/bin/bash\n\n  echo hi\n", "empty": {}, "n": 5, "s": "5"});
    assert_eq!(
        to_text(&value),
        "empty: {}\n\"n\": 5\ns: \"5\"\nuserData: |\n  #!/bin/bash\n\n    echo hi\n"
    );
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-z0-9:#'\"\\\\ \n\t@%{}\\[\\]&*!|>,?-]{0,12}",
        "\\PC{0,6}",
        Just("~".to_owned())
    ];
    let leaf = prop_oneof![
        text.clone().prop_map(Value::String),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::Bool),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(text.clone(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn what_is_written_is_read_back(value in value()) {
        let whole = json!({"it": value});
        let text = to_text(&whole);
        let read = parse_yaml(&text).map_err(|e| TestCaseError::fail(format!("{e:?}\n{text}")))?;
        prop_assert_eq!(read.first().map(Tree::to_json), Some(whole), "{}", text);
    }
}
