//! Dumps of a cluster: when each was made, and what is in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use api::objects::{EventManifest, EventSubject, Object};
use jiff::Timestamp;
use model::{
    DeletionReason, InstanceId, NodeClaim, OfferingKey, Pod, ProviderId, node::Node,
    policies::Policies,
};
use report::error::BadInput;
use simulator::ClusterObject;

use super::{demand, incidents};
use crate::{
    gates::Gates,
    list_price::offering,
    manifests::{self, Depth, Read},
    simulate::dumps::file_name,
};

/// A cluster at a time.
pub(super) struct Dump {
    pub(super) at: Timestamp,
    pub(super) nodes: Vec<Node>,
    pub(super) claims: Vec<NodeClaim>,
    /// Instances that ended or were told to, whose objects can be there for another minute: they cost nothing.
    pub(super) ended: BTreeSet<InstanceId>,
    /// Pods that have not ended.
    pub(super) pods: Vec<Pod>,
    /// Those that are compared.
    pub(super) events: Vec<EventManifest>,
    /// Whether it has any events, compared or not. Otherwise it is unknown what happened.
    pub(super) has_events: bool,
    /// The same and everything else, as it is played.
    pub(super) objects: Vec<ClusterObject>,
    pub(super) notes: Vec<String>,
}

/// Whether `event` says anything that is compared.
pub(super) fn is_used(event: &EventManifest) -> bool {
    match event.about {
        EventSubject::Node(_) | EventSubject::NodeClaim(_) => incidents::is_used(&event.reason),
        EventSubject::Deployment(_) => event.reason == demand::SCALED,
        EventSubject::Other => false,
    }
}

/// The time that `name` says: as [`file_name`] writes it, or as RFC 3339 does.
fn time_of(name: &str) -> Option<Timestamp> {
    let (day, time) = name.split_once('T')?;
    format!("{day}T{}", time.replace('-', ":")).parse().ok()
}

/// Every dump in `folder`, oldest first, each with the objects of `more` in the place of its own.
pub(super) fn read(folder: &Path, more: &[PathBuf]) -> Result<Vec<Dump>, BadInput> {
    let bad = |rule: &str| BadInput::one(format!("{}: {rule}", folder.display()));
    let entries = fs::read_dir(folder).map_err(|error| bad(&error.to_string()))?;
    let mut dumps: BTreeMap<Timestamp, PathBuf> = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(|error| bad(&error.to_string()))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_file = [".json", ".yaml", ".yml"].iter().any(|ending| name.ends_with(ending));
        if name.starts_with('.') || !is_file && !path.is_dir() {
            continue;
        }
        let stem =
            if path.is_dir() { name } else { name.rsplit_once('.').map_or(name, |(s, _)| s) };
        let at = time_of(stem).ok_or_else(|| {
            bad(&format!(
                "`{name}` does not say its time: call it such as {}",
                file_name(example())
            ))
        })?;
        if let Some(other) = dumps.insert(at, path.clone()) {
            let other = other.display();
            return Err(bad(&format!("{other} and {} are of one time", path.display())));
        }
    }
    if dumps.len() < 2 {
        return Err(bad("holds fewer than two dumps, and a comparison needs two"));
    }
    dumps.into_iter().map(|(at, path)| dump(at, path, more)).collect()
}

const fn example() -> Timestamp {
    Timestamp::constant(1_785_585_600, 0)
}

fn dump(at: Timestamp, path: PathBuf, more: &[PathBuf]) -> Result<Dump, BadInput> {
    let paths: Vec<PathBuf> = [path].into_iter().chain(more.iter().cloned()).collect();
    let read = Read::of_paths(&paths, Depth::All, |_| ())?;
    let (mut nodes, mut claims, mut pods) = (Vec::new(), Vec::new(), Vec::new());
    let (mut events, mut has_events) = (Vec::new(), false);
    let objects = read.manifests.iter().flat_map(|manifest| &manifest.objects);
    for object in objects {
        match object {
            Object::Node(node) => nodes.push(node.clone()),
            Object::NodeClaim(claim) => claims.push(NodeClaim::clone(claim)),
            Object::Pod(read) if !read.pod.is_terminal() => pods.push(read.pod.clone()),
            Object::Event(event) => {
                has_events = true;
                events.extend(is_used(event).then(|| event.clone()));
            }
            _ => {}
        }
    }
    let loaded = manifests::loaded(read)?;
    let mut notes = loaded.ignored;
    let policies = Policies::default();
    let gates = Gates::Fixed("shadow", &policies);
    notes.extend(manifests::closed_gates(&loaded.objects, gates));
    let (ended, objects) = (ended(&claims), loaded.objects);
    Ok(Dump { at, nodes, claims, ended, pods, events, has_events, objects, notes })
}

/// The instances of `claims` that ended or were told to.
pub(super) fn ended(claims: &[NodeClaim]) -> BTreeSet<InstanceId> {
    let has_ended = |claim: &&NodeClaim| {
        let reason = claim.deletion.as_ref().map(|deletion| deletion.reason);
        claim.is_instance_terminating() || reason == Some(DeletionReason::InstanceEnded)
    };
    let instances = claims.iter().filter(has_ended).filter_map(|claim| claim.instance.as_ref());
    instances.map(|instance| instance.id.clone()).collect()
}

impl Dump {
    /// Whether Karpenter's objects say which nodes it launched. Otherwise another autoscaler runs the nodes.
    pub(super) fn has_claims(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Whether the instance of `node` ended or was told to.
    pub(super) fn has_ended(&self, node: &Node) -> bool {
        let instance = node.provider_id.as_ref().and_then(ProviderId::instance);
        instance.is_some_and(|instance| self.ended.contains(&instance))
    }

    /// Instances that run, by id, each with the name of its node, or of its claim until it has one, and with what it is.
    pub(super) fn instances(&self) -> BTreeMap<InstanceId, (&str, Option<OfferingKey>)> {
        let mut instances = BTreeMap::new();
        for claim in &self.claims {
            if let Some(instance) = &claim.instance {
                let offering = Some(instance.offering());
                instances.insert(instance.id.clone(), (claim.name.as_str(), offering));
            }
        }
        for node in &self.nodes {
            if let Some(instance) = node.provider_id.as_ref().and_then(ProviderId::instance) {
                instances.insert(instance, (node.name.as_str(), offering(&node.labels)));
            }
        }
        instances.retain(|instance, _| !self.ended.contains(instance));
        instances
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_their_times() {
        assert_eq!(file_name(example()), "2026-08-01T12-00-00Z.json");
        for name in ["2026-08-01T12-00-00Z", "2026-08-01T12:00:00Z"] {
            assert_eq!(time_of(name), Some(example()), "{name}");
        }
        assert_eq!(["noon", "2026-08-01", "T"].map(time_of), [None, None, None]);
    }
}
