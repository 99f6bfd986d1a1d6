//! Pods as the API server sends them: tens of thousands, most of them alike.
//!
//! Names, times, node and phase are each pod's own. What the pods of one workload share (labels, what
//! they take, what they ask for) is read once for equal texts and kept once. A pod in which anything is
//! not as expected is read again as a whole by the reader of manifests, which knows how to complain.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use jiff::Timestamp;
use model::{
    Namespace, NodeName, ObjectName, Pod, PodKey, PodSpec, PodUid, pod::Owner, storage::PodVolume,
};
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use self::trimmed::{Reference, Status, Trimmed};
use super::{Error, Page, RawListMetadata, items, read_item};
use crate::manifest::{PodManifest, pod};

mod trimmed;

/// Texts that are kept for comparison. More are forgotten: then pods that are alike are kept more
/// than once, and nothing else changes.
const TEXT_BYTES_MAX: usize = 2 << 20;

/// Reads the pages of one list of pods.
#[derive(Debug, Default)]
pub struct PodReader {
    shared: BTreeMap<Box<str>, Shared>,
    namespaces: BTreeSet<Namespace>,
    nodes: BTreeSet<NodeName>,
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

/// Reads a list, and each of its pods when it comes by.
struct ListSeed<'r>(&'r mut PodReader);

impl<'de> DeserializeSeed<'de> for ListSeed<'_> {
    type Value = (RawListMetadata, Vec<PodManifest>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ListSeed<'_> {
    type Value = (RawListMetadata, Vec<PodManifest>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of pods")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut metadata, mut items) = (None, None);
        while let Some(key) = map.next_key::<trimmed::Text<'de>>()? {
            match &*key.0 {
                "metadata" if metadata.is_none() => metadata = Some(map.next_value()?),
                "items" if items.is_none() => items = Some(map.next_value_seed(Items(self.0))?),
                "metadata" | "items" => return Err(A::Error::custom("it is there twice")),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let items = items.ok_or_else(|| A::Error::missing_field("items"))?;
        Ok((metadata.unwrap_or_default(), items))
    }
}

/// Reads the items of a list, as long as all of them are as expected.
struct Items<'r>(&'r mut PodReader);

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = Vec<PodManifest>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = Vec<PodManifest>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("pods")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut pods = Vec::new();
        while let Some(trimmed) = items.next_element::<Trimmed<'de>>()? {
            let pod = self.0.manifest(&trimmed);
            pods.push(pod.ok_or_else(|| A::Error::custom("a pod is not as expected"))?);
        }
        Ok(pods)
    }
}

impl PodReader {
    /// Reads a PodList.
    pub fn page(&mut self, body: &[u8]) -> Result<Page<PodManifest>, Error> {
        if let Some(page) = self.page_at_once(body) {
            return Ok(page);
        }
        items(body, "Pod", |item| match self.pod(item) {
            Some(pod) => Ok(pod),
            None => read_item(item, "Pod", |root, _| pod::read_pod(root)),
        })
    }

    /// The page, if all of it is as expected.
    fn page_at_once(&mut self, body: &[u8]) -> Option<Page<PodManifest>> {
        // As a text: its parts need not be looked at one by one.
        let body = std::str::from_utf8(body).ok()?;
        let mut deserializer = serde_json::Deserializer::from_str(body);
        let (metadata, items) = ListSeed(self).deserialize(&mut deserializer).ok()?;
        deserializer.end().ok()?;
        Some(Page {
            items,
            malformed: Vec::new(),
            continue_token: metadata.continue_token.filter(|token| !token.is_empty()),
            resource_version: metadata.resource_version,
        })
    }

    /// The pod of `text`, if all of it is as expected.
    fn pod(&mut self, text: &str) -> Option<PodManifest> {
        let trimmed: Trimmed<'_> = serde_json::from_str(text).ok()?;
        self.manifest(&trimmed)
    }

    /// The pod of `text`, an item of a list whose items are of `kind` unless they say so themselves, if
    /// a server stored it and all of it is as expected.
    pub(crate) fn stored(&mut self, text: &str, kind: &str) -> Option<PodManifest> {
        let trimmed: Trimmed<'_> = serde_json::from_str(text).ok()?;
        let kind = trimmed.kind.as_ref().map_or(kind, |text| &text.0);
        let is_first_version = trimmed.api_version.as_ref().is_none_or(|text| text.0 == "v1");
        let is_pod = kind == "Pod" && is_first_version && trimmed.metadata.uid.is_some();
        if is_pod { self.manifest(&trimmed) } else { None }
    }

    fn manifest(&mut self, trimmed: &Trimmed<'_>) -> Option<PodManifest> {
        let Shared { spec, is_gated, volumes } = self.shared(trimmed)?;
        let metadata = &trimmed.metadata;
        let namespace = metadata.namespace.as_ref().map_or("default", |text| &text.0);
        let key = PodKey {
            namespace: self.namespace(namespace)?,
            name: ObjectName::new(&metadata.name.0).ok()?,
        };
        let uid = match &metadata.uid {
            Some(text) => PodUid::new(&text.0),
            None => PodUid::new(&key.to_string()),
        };
        let volumes = match trimmed.claims() {
            Some(names) => {
                let claims = names.map(|name| ObjectName::new(name).ok().map(PodVolume::Claim));
                claims.collect::<Option<_>>()?
            }
            None => volumes,
        };
        let time = |text: &trimmed::Text<'_>| text.0.parse::<Timestamp>().ok();
        let created_at = match &metadata.creation_timestamp {
            Some(text) => time(text)?,
            None => Timestamp::UNIX_EPOCH,
        };
        let owner = controller(metadata.owner_references.as_deref().unwrap_or_default());
        let mut pod = Pod {
            key,
            uid: uid.ok()?,
            created_at,
            deleted_at: match &metadata.deletion_timestamp {
                Some(text) => Some(time(text)?),
                None => None,
            },
            phase: model::pod::PodPhase::default(),
            started_at: None,
            unschedulable_at: None,
            node: self.node(trimmed.spec.node_name.as_ref())?,
            nominated_node: None,
            owner,
            is_ready: false,
            volumes,
            spec,
        };
        if let Some(status) = &trimmed.status {
            self.add_status(status, &mut pod)?;
        }
        Some(PodManifest { pod, is_gated })
    }

    fn add_status(&mut self, status: &Status<'_>, pod: &mut Pod) -> Option<()> {
        if let Some(phase) = &status.phase {
            pod.phase = pod::phase(&phase.0)?;
        }
        if let Some(text) = &status.start_time {
            pod.started_at = Some(text.0.parse().ok()?);
        }
        pod.nominated_node = self.node(status.nominated_node_name.as_ref())?;
        if let Some(conditions) = &status.conditions {
            pod.is_ready = conditions.is_ready;
            pod.unschedulable_at = conditions.unschedulable_since.as_ref().map(|since| {
                let since = since.as_ref().and_then(|text| text.0.parse().ok());
                since.unwrap_or(pod.created_at)
            });
        }
        Some(())
    }

    /// What the pod shares with others of its text.
    fn shared(&mut self, trimmed: &Trimmed<'_>) -> Option<Shared> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        trimmed.write_shared(&mut text);
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
        let PodManifest { pod: Pod { spec, volumes, .. }, is_gated } = read;
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
    fn node(&mut self, text: Option<&trimmed::Text<'_>>) -> Option<Option<NodeName>> {
        let Some(text) = text.map(|text| &*text.0).filter(|text| !text.is_empty()) else {
            return Some(None);
        };
        if let Some(known) = self.nodes.get(text) {
            return Some(Some(known.clone()));
        }
        let node = NodeName::new(text).ok()?;
        self.make_room(text.len());
        self.nodes.insert(node.clone());
        Some(Some(node))
    }

    fn make_room(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.bytes > TEXT_BYTES_MAX {
            self.shared.clear();
            self.namespaces.clear();
            self.nodes.clear();
            self.bytes = bytes;
        }
    }
}

/// The owner that controls the pod; of a pod without one, the first.
fn controller(owners: &[Reference<'_>]) -> Option<Owner> {
    let controls = owners.iter().find(|owner| owner.controller == Some(true));
    controls.or_else(|| owners.first()).map(|owner| Owner {
        api_version: owner.api_version.0.to_string(),
        kind: owner.kind.0.to_string(),
        name: owner.name.0.to_string(),
    })
}

#[cfg(test)]
mod tests;
