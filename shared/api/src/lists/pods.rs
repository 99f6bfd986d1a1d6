//! Pods as the API server sends them: tens of thousands, most of them alike.
//!
//! Names, times, node and phase are each pod's own. What the pods of one workload share (labels, what
//! they take, what they ask for) is read once for equal texts and kept once. A pod in which anything is
//! not as expected is read again as a whole by the reader of manifests, which knows how to complain.
//!
//! That is what `cursor`, `trimmed` and `trimmed::shared` are for. In the bench `lists` they read 30,000
//! pods in 0.15 seconds of CPU and keep 26 MB; the reader of manifests alone takes 0.86 seconds and
//! 118 MB. If that gain disappears, or is not needed any more, they can be deleted: the results are the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use model::{
    Namespace, NodeName, ObjectName, Pod, PodKey, PodSpec, PodUid, pod::Owner, storage::PodVolume,
};

use self::{
    cursor::{JsonCursor, Member},
    trimmed::{Reference, Status, Trimmed},
};
use super::{Error, Page, RawListMetadata, Unreadable, items, read_item};
use crate::objects::{PodManifest, pod};

pub mod cursor;
mod trimmed;

/// Texts that are kept for comparison. More are forgotten: then pods that are alike are kept more
/// than once, and nothing else changes.
pub const TEXT_BYTES_MAX: usize = 2 << 20;

/// Reads the pages of one list of pods.
#[derive(Debug, Default)]
pub struct PodReader {
    shared: BTreeMap<Box<str>, Shared>,
    namespaces: BTreeSet<Namespace>,
    nodes: BTreeSet<NodeName>,
    owners: BTreeSet<Arc<Owner>>,
    /// Of all that is kept.
    bytes: usize,
    /// Of the pod at hand.
    text: String,
    /// The latest text and what it says: lists are in the order of names, so the next is often alike.
    latest: Option<(String, Shared)>,
}

/// What pods with one text have in common.
#[derive(Clone, Debug)]
struct Shared {
    spec: Arc<PodSpec>,
    is_gated: bool,
    /// Volumes that are not simply claims by name.
    volumes: Vec<PodVolume>,
}

impl PodReader {
    /// Reads a PodList. Of a pod that cannot be read, name, node and the like stand for it where they can
    /// be read: an unreadable pod does not make its node empty.
    pub fn page(&mut self, body: &[u8]) -> Result<Page<PodManifest>, Error> {
        if let Some(page) = self.page_at_once(body) {
            return Ok(page);
        }
        items(body, "Pod", |item| match self.pod(item) {
            Some(pod) => Ok(pod),
            None => read_item(item, "Pod", |root, _| pod::read_pod(root)).map_err(|unreadable| {
                let rest = pod::read_rest(item, &unreadable.problem).map(Box::new);
                Unreadable { rest, ..unreadable }
            }),
        })
    }

    /// The page, if all of it is as expected.
    fn page_at_once(&mut self, body: &[u8]) -> Option<Page<PodManifest>> {
        let mut cursor = JsonCursor::new(std::str::from_utf8(body).ok()?);
        let (mut metadata, mut items) = (Member::default(), Member::default());
        cursor.members(|key, cursor| match key {
            "metadata" => metadata.read(cursor, &Member::default(), JsonCursor::skip),
            "items" => items.read(cursor, &Member::default(), |cursor| self.items(cursor)),
            _ => cursor.skip(),
        })?;
        cursor.end()?;
        let metadata: RawListMetadata = match metadata.text() {
            Some(text) => serde_json::from_str(text).ok()?,
            None => RawListMetadata::default(),
        };
        Some(Page {
            items: items.take()?,
            malformed: Vec::new(),
            continue_token: metadata.continue_token.filter(|token| !token.is_empty()),
            resource_version: metadata.resource_version,
        })
    }

    fn items(&mut self, cursor: &mut JsonCursor<'_>) -> Option<Vec<PodManifest>> {
        let mut before = Trimmed::default();
        cursor.list(|cursor| {
            before = Trimmed::read(cursor, &before)?;
            self.manifest(&before)
        })
    }

    /// The pod of `text`, if all of it is as expected.
    pub fn pod(&mut self, text: &str) -> Option<PodManifest> {
        self.manifest(&trimmed(text)?)
    }

    /// The pod of `text`, an item of a list whose items are of `kind` unless they say so themselves, if
    /// a server stored it and all of it is as expected.
    pub(crate) fn stored(&mut self, text: &str, kind: &str) -> Option<PodManifest> {
        let trimmed = trimmed(text)?;
        let kind = trimmed.kind.get().map_or(kind, |text| text);
        let is_first_version = trimmed.api_version.get().is_none_or(|text| text == "v1");
        let is_pod = kind == "Pod" && is_first_version && trimmed.metadata()?.uid.get().is_some();
        if is_pod { self.manifest(&trimmed) } else { None }
    }

    fn manifest(&mut self, trimmed: &Trimmed<'_>) -> Option<PodManifest> {
        let Shared { spec, is_gated, volumes } = self.shared(trimmed)?;
        let (metadata, own) = (trimmed.metadata()?, trimmed.spec()?);
        let key = PodKey {
            namespace: self.namespace(metadata.namespace.get().map_or("default", |text| text))?,
            name: ObjectName::new(metadata.name.get()?).ok()?,
        };
        let uid = match metadata.uid.get() {
            Some(text) => PodUid::new(text),
            None => PodUid::new(&key.to_string()),
        };
        let volumes = match own.claims() {
            Some(names) => {
                let claims = names.map(|name| ObjectName::new(name).ok().map(PodVolume::Claim));
                claims.collect::<Option<_>>()?
            }
            None => volumes,
        };
        let created_at = match metadata.creation_timestamp.get() {
            Some(text) => text.parse().ok()?,
            None => Timestamp::UNIX_EPOCH,
        };
        let mut pod = Pod {
            key,
            uid: uid.ok()?,
            created_at,
            deleted_at: match metadata.deletion_timestamp.get() {
                Some(text) => Some(text.parse().ok()?),
                None => None,
            },
            phase: model::pod::PodPhase::default(),
            started_at: None,
            unschedulable_at: None,
            node: self.node(&own.node_name)?,
            nominated_node: None,
            owner: self.controller(metadata.owner_references.items()),
            is_ready: false,
            volumes,
            made_claims: BTreeMap::new(),
            spec,
        };
        if let Some(status) = trimmed.status() {
            self.add_status(status, &mut pod)?;
        }
        Some(PodManifest { pod, is_gated, new: None })
    }

    fn add_status(&mut self, status: &Status<'_>, pod: &mut Pod) -> Option<()> {
        if let Some(phase) = status.phase.get() {
            pod.phase = pod::phase(phase)?;
        }
        if let Some(text) = status.start_time.get() {
            pod.started_at = Some(text.parse().ok()?);
        }
        pod.nominated_node = self.node(&status.nominated_node_name)?;
        for (name, claim) in status.made_claims.items() {
            let claim = claim.as_deref().map(ObjectName::new).transpose().ok()?;
            pod.made_claims.insert(name.to_string(), claim);
        }
        if let Some(conditions) = status.conditions.get() {
            pod.is_ready = conditions.is_ready;
            pod.unschedulable_at = conditions.unschedulable_since.as_ref().map(|since| {
                since.get().and_then(|text| text.parse().ok()).unwrap_or(pod.created_at)
            });
        }
        Some(())
    }

    /// What the pod shares with others of its text.
    fn shared(&mut self, trimmed: &Trimmed<'_>) -> Option<Shared> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        trimmed.write_shared(&mut text)?;
        if let Some((latest, shared)) = &self.latest
            && *latest == text
        {
            self.text = text;
            return Some(shared.clone());
        }
        let shared = self.looked_up(&text)?;
        let (before, _) = self.latest.replace((text, shared.clone())).unzip();
        self.text = before.unwrap_or_default();
        Some(shared)
    }

    fn looked_up(&mut self, text: &str) -> Option<Shared> {
        if let Some(known) = self.shared.get(text) {
            return Some(known.clone());
        }
        let read = read_item(text, "Pod", |root, _| pod::read_pod(root)).ok()?;
        let PodManifest { pod: Pod { spec, volumes, .. }, is_gated, .. } = read;
        let shared = Shared { spec, is_gated, volumes };
        self.make_room(text.len());
        self.shared.insert(text.into(), shared.clone());
        Some(shared)
    }

    fn namespace(&mut self, text: &str) -> Option<Namespace> {
        if let Some(known) = self.namespaces.get(text) {
            return Some(known.clone());
        }
        let namespace = Namespace::new(text).ok()?;
        self.make_room(text.len());
        self.namespaces.insert(namespace.clone());
        Some(namespace)
    }

    /// `Some(None)` where there is none, `None` where it is no name.
    #[expect(clippy::option_option, reason = "no node and no name of a node are two things")]
    fn node(&mut self, text: &trimmed::Text<'_>) -> Option<Option<NodeName>> {
        let Some(text) = text.get().filter(|text| !text.is_empty()) else {
            return Some(None);
        };
        if let Some(known) = self.nodes.get(&**text) {
            return Some(Some(known.clone()));
        }
        let node = NodeName::new(text).ok()?;
        self.make_room(text.len());
        self.nodes.insert(node.clone());
        Some(Some(node))
    }

    /// The owner that controls the pod; of a pod without one, the first.
    fn controller(&mut self, owners: &[Reference<'_>]) -> Option<Arc<Owner>> {
        let controls = owners.iter().find(|owner| owner.controller.get() == Some(&true));
        let owner = controls.or_else(|| owners.first())?;
        let [api_version, kind, name] = [&owner.api_version, &owner.kind, &owner.name]
            .map(|text| text.get().map(ToString::to_string).unwrap_or_default());
        let owner = Owner { api_version, kind, name };
        if let Some(known) = self.owners.get(&owner) {
            return Some(Arc::clone(known));
        }
        self.make_room(owner.api_version.len() + owner.kind.len() + owner.name.len());
        let owner = Arc::new(owner);
        self.owners.insert(Arc::clone(&owner));
        Some(owner)
    }

    /// Bytes of the texts that are kept: at most [`TEXT_BYTES_MAX`].
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    fn make_room(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.bytes > TEXT_BYTES_MAX {
            self.shared.clear();
            self.namespaces.clear();
            self.nodes.clear();
            self.owners.clear();
            self.bytes = bytes;
        }
    }
}

/// The members of the pod of `text`.
fn trimmed(text: &str) -> Option<Trimmed<'_>> {
    let mut cursor = JsonCursor::new(text);
    let trimmed = Trimmed::read(&mut cursor, &Trimmed::default())?;
    cursor.end()?;
    Some(trimmed)
}
