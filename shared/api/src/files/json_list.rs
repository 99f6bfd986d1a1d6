//! Lists in JSON, as `kubectl get -o json` prints them: the pods of a whole cluster may be among
//! their items.
//!
//! Pods that a server stored are read as in its own pages. All else is left to the readers of
//! manifests, with its lines.

use model::api_version::{KARPENTER_V1, RESOURCE_V1};

use self::splitter::{Item, Skeleton, Splitter};
use super::{Manifest, Place, read_object};
use crate::{
    document::{
        json_tree,
        tree::{self, Entry, Tree, TreeValue},
    },
    lists::PodReader,
    objects::Object,
};

mod splitter;

/// Kinds of which a cluster has thousands, and whose line numbers are not needed.
const MANY: [(&str, &str); 10] = [
    ("v1", "Node"),
    (KARPENTER_V1, "NodeClaim"),
    ("v1", "PersistentVolume"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Namespace"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
    ("storage.k8s.io/v1", "CSINode"),
    (RESOURCE_V1, "ResourceSlice"),
    (RESOURCE_V1, "ResourceClaim"),
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
            let value = Tree::new(1, value);
            Entry { key: key.to_owned(), line: 1, value }
        };
        let entries = vec![
            entry("apiVersion", TreeValue::Text(api_version)),
            entry("kind", TreeValue::Text(kind)),
            entry("items", TreeValue::List(rest)),
        ];
        manifest.add(&[Tree::new(1, TreeValue::Map(entries))], &file);
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
