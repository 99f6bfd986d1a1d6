//! Lists in JSON, as `kubectl get -o json` prints them: the pods of a whole cluster may be among
//! their items.
//!
//! Pods that a server stored are read as in its own pages. All else is left to the readers of
//! manifests, with its lines.

use model::api_version::KARPENTER_V1;

use self::splitter::{Item, Skeleton, Splitter};
use super::{Manifest, Place, read_object};
use crate::{
    document::{
        json_tree,
        tree::{self, Entry, Tree, Value},
    },
    lists::PodReader,
    objects::Object,
};

mod splitter;

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
        if !tree.has_uid() || !MANY.contains(&(api_version, kind)) {
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

/// Reads a list in JSON while its text comes in pieces: of a large one the objects are a small part, and
/// its text is never in memory as a whole.
#[derive(Debug)]
pub struct ListReader {
    file: String,
    splitter: Splitter,
    items: Items,
}

/// What the items came to so far.
#[derive(Debug, Default)]
struct Items {
    pods: PodReader,
    /// What is read as servers write it.
    manifest: Manifest,
    /// All else, for the readers of manifests.
    rest: Vec<Tree>,
}

impl ListReader {
    /// Begins to read `file`.
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), splitter: Splitter::new(), items: Items::default() }
    }

    /// Reads on. `None` when [`super::read`] has to read the text as a whole: because it is something
    /// else, or because it is to be said what is wrong with it.
    pub fn add(&mut self, piece: &[u8]) -> Option<()> {
        let Self { file, splitter, items } = self;
        splitter.add(piece, |item| items.add(item, file))
    }

    /// Everything that was read, at the end of the text; `None` is as in [`Self::add`], and where a server
    /// stored none of the objects.
    pub fn finish(self) -> Option<Manifest> {
        let Self { file, splitter, items: Items { mut manifest, rest, .. } } = self;
        let Skeleton { api_version, kind, .. } = splitter.finish()?;
        if manifest.objects.is_empty() || !kind.ends_with("List") {
            return None;
        }
        let entry = |key: &str, value| {
            let value = Tree { line: 1, value };
            Entry { key: key.to_owned(), line: 1, value }
        };
        let entries = vec![
            entry("apiVersion", Value::Text(api_version)),
            entry("kind", Value::Text(kind)),
            entry("items", Value::List(rest)),
        ];
        manifest.add(&[Tree { line: 1, value: Value::Map(entries) }], &file);
        Some(manifest)
    }
}

impl Items {
    fn add(&mut self, Item { text, line, list_kind }: Item<'_>, file: &str) -> Option<()> {
        let item = std::str::from_utf8(text).ok()?;
        let kind = list_kind.and_then(|kind| kind.strip_suffix("List")).unwrap_or_default();
        if let Some(pod) = self.pods.stored(item, kind) {
            self.manifest.objects.push(Object::Pod(pod));
            self.manifest.places.push(Place {
                file: file.to_owned(),
                line: Some(line),
                is_stored: true,
                ..Place::default()
            });
        } else if self.manifest.add_quietly(item, line, file) {
            // It was like nearly all that servers send.
        } else {
            let [tree] = <[Tree; 1]>::try_from(tree::parse_yaml(item).ok()?).ok()?;
            self.rest.push(tree.moved_down(line - 1));
        }
        Some(())
    }
}

/// What `text` holds, if it is a list in JSON with objects that a server stored.
pub(super) fn read(text: &str, file: &str) -> Option<Manifest> {
    let mut reader = ListReader::new(file);
    reader.add(text.as_bytes())?;
    reader.finish()
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
    fn it_makes_no_difference_in_which_pieces_the_text_comes() {
        let typed = LIST.replace("\"List\"", "\"PodList\"").replace("\"b\"", "\"\u{fc}\\\"]}\"");
        for text in [LIST, &typed] {
            let whole = read(text, "x.json");
            assert_eq!(whole.objects.len(), 3);
            for size in 1..text.len() {
                let mut reader = super::ListReader::new("x.json");
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
        let list =
            |items: &str| format!(r#"{{"kind": "List", "apiVersion": "v1", "items": {items}}}"#);
        let read = |text: &str| super::read(text, "x.json");
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
}
