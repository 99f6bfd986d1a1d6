//! Lists in JSON: what a server stored is read apart, and nothing else changes.

use api::{
    files::{ListReader, read},
    objects::Object,
};

const LIST: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "uid": "1", "future": 1},
 "spec": {"containers": [{"name": "m"}]}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"},
 "spec": {"containers": [{"name": "m",
  "image_": "x"}]}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c", "uid": "3"},
 "spec": {"containers": [{"name": "m", "resources": {"requests": {"cpu": "1O"}}}]}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "d", "uid": "4"},
 "spec": {"containers": [{"name": "m"}]}},
{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "e"}}]}"#;

fn words(text: &str) -> (Vec<String>, Vec<String>) {
    let manifest = read(text, "x.json");
    let mut objects: Vec<String> = manifest
        .objects
        .iter()
        .zip(&manifest.places)
        .map(|(object, place)| match object {
            Object::Pod(read) => format!("{:?} {}", place.line, read.pod.key),
            other => format!("{:?} {other:?}", place.line),
        })
        .collect();
    objects.sort();
    (objects, manifest.problems.iter().map(ToString::to_string).collect())
}

#[test]
fn pods_that_a_server_stored_are_read_apart_and_nothing_else_changes() {
    let (objects, problems) = words(LIST);
    // YAML has no short way: the same list after a comment.
    let (expected, expected_problems) = words(&format!("# a list\n{LIST}"));
    let down = |text: &String| {
        let moved =
            |line: u32| text.replace(&format!("Some({})", line + 1), &format!("Some({line})"));
        (1..20).map(moved).find(|moved| moved != text).unwrap_or_else(|| text.clone())
    };
    let mut expected: Vec<String> = expected.iter().map(down).collect();
    expected.sort();
    assert_eq!(objects, expected);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("x.json:6: Pod b: "), "{problems:?}");
    assert!(problems[1].starts_with("x.json:8: Pod c: "), "{problems:?}");
    assert_eq!(expected_problems.len(), 2);
}

#[test]
fn it_makes_no_difference_in_which_pieces_the_text_comes() {
    let typed = LIST.replace("\"List\"", "\"PodList\"").replace("\"b\"", "\"\u{fc}\\\"]}\"");
    let indented = LIST.replace('\n', &format!("\n{}", " ".repeat(19)));
    for text in [LIST, &typed, &indented] {
        let whole = read(text, "x.json");
        assert_eq!(whole.objects.len(), 3);
        for size in 1..text.len() {
            let mut reader = ListReader::new("x.json");
            for piece in text.as_bytes().chunks(size) {
                reader.add(piece).unwrap();
            }
            assert_eq!(reader.finish().as_ref(), Some(&whole), "{size}");
        }
    }
}

#[test]
fn what_is_no_such_list_is_left_to_be_read_as_a_whole() {
    let pod = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "uid": "1"},
        "spec": {"containers": [{"name": "m"}]}}"#;
    let list = |items: &str| format!(r#"{{"kind": "List", "apiVersion": "v1", "items": {items}}}"#);
    let read = |text: &str| {
        let mut reader = ListReader::new("x.json");
        reader.add(text.as_bytes())?;
        reader.finish()
    };
    assert!(read(&list(&format!("[{pod}]"))).is_some());
    for text in [
        pod.to_owned(),
        format!("# a list\n{}", list(&format!("[{pod}]"))),
        list(&format!("[{pod} {pod}]")),
        list(&format!("[{pod},]")),
        list(&format!("[{pod}, 0]")),
        list(&format!("[{pod}, \"x\"]")),
        list(&format!("[{pod}], \"items\": []")),
        list(&format!("[{pod}")),
        list(&format!("{{\"items\": [{pod}]}}")),
        list(&format!("[{pod}]")).replace("\"List\"", "\"Bag\""),
        format!("{0}{0}", list(&format!("[{pod}]"))),
        list("[]"),
        String::new(),
        "}".to_owned(),
        "{]".to_owned(),
    ] {
        assert_eq!(read(&text), None, "{text}");
    }
}

#[test]
fn items_of_a_typed_list_need_not_say_their_kind() {
    let list = LIST.replace("\"List\"", "\"PodList\"").replace(
        "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"d\"",
        "{\"metadata\": {\"name\": \"d\"",
    );
    assert_eq!(words(&list), words(LIST));
}
