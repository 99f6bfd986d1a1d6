//! Lists in JSON, as `kubectl get -o json` prints them: the pods of a whole cluster may be among
//! their items.
//!
//! Pods that a server stored are read as in its own pages. All else is left to the readers of
//! manifests, with its lines.

use serde::Deserialize;
use serde_json::value::RawValue;

use model::api_version::KARPENTER_V1;

use super::{Manifest, Place, read_object};
use crate::{
    document::{
        json_tree,
        tree::{self, Entry, Tree, Value},
    },
    lists::PodReader,
    objects::Object,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    api_version: String,
    kind: String,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Kinds of which a cluster has thousands, and of which nobody asks where their fields stand.
const MANY: [(&str, &str); 8] = [
    ("v1", "Node"),
    (KARPENTER_V1, "NodeClaim"),
    ("v1", "PersistentVolume"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Namespace"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
    ("storage.k8s.io/v1", "CSINode"),
];

impl Manifest {
    /// Adds the object of `item`, which begins at `line`, if a server stored it and nothing is wrong
    /// with it. Then it is not read as YAML, which takes ten times as long.
    fn add_quietly(&mut self, item: &str, line: u32, file: &str) -> bool {
        let Some(tree) = json_tree::parse(item, line) else { return false };
        let text = |key: &str| tree.get(key).and_then(Tree::as_text);
        let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
            return false;
        };
        let is_stored = tree.get("metadata").and_then(|metadata| metadata.get("uid")).is_some();
        if !is_stored || !MANY.contains(&(api_version, kind)) {
            return false;
        }
        let mut read = Self::default();
        read_object(&tree, api_version, kind, file, &mut read);
        if !read.problems.is_empty() || read.objects.is_empty() {
            return false;
        }
        self.objects.append(&mut read.objects);
        self.places.append(&mut read.places);
        true
    }
}

/// The stored pods of `text`, if that is a list in JSON which has any, and a list of the rest.
pub(super) fn split(text: &str, file: &str) -> Option<(Manifest, Tree)> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let list: List<'_> = serde_json::from_str(text).ok()?;
    let item_kind = list.kind.strip_suffix("List")?;
    let mut reader = PodReader::default();
    let mut manifest = Manifest::default();
    let mut rest = Vec::new();
    let (mut line, mut seen) = (1, 0);
    for item in list.items {
        // The item is a part of the text.
        let start = item.get().as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        line += text.get(seen..start)?.matches('\n').count();
        seen = start;
        if let Some(pod) = reader.stored(item.get(), item_kind) {
            let line = u32::try_from(line).ok();
            manifest.objects.push(Object::Pod(pod));
            manifest.places.push(Place {
                file: file.to_owned(),
                line,
                is_stored: true,
                ..Place::default()
            });
        } else if manifest.add_quietly(item.get(), u32::try_from(line).ok()?, file) {
            // It was like nearly all that servers send.
        } else {
            let lines_before = u32::try_from(line - 1).ok()?;
            let [tree] = <[Tree; 1]>::try_from(tree::parse_yaml(item.get()).ok()?).ok()?;
            rest.push(tree.moved_down(lines_before));
        }
    }
    if manifest.objects.is_empty() {
        return None;
    }
    let entry = |key: &str, value| {
        let value = Tree { line: 1, value };
        Entry { key: key.to_owned(), line: 1, value }
    };
    let entries = vec![
        entry("apiVersion", Value::Text(list.api_version)),
        entry("kind", Value::Text(list.kind)),
        entry("items", Value::List(rest)),
    ];
    Some((manifest, Tree { line: 1, value: Value::Map(entries) }))
}

#[cfg(test)]
mod tests {
    use super::super::{Object, read};

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
    fn items_of_a_typed_list_need_not_say_their_kind() {
        let list = LIST.replace("\"List\"", "\"PodList\"").replace(
            "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"d\"",
            "{\"metadata\": {\"name\": \"d\"",
        );
        assert_eq!(words(&list), words(LIST));
    }
}
