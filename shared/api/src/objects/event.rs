//! Events: what happened to a node or a Deployment, and when.

use jiff::Timestamp;
use model::{Namespace, NodeClaimName, NodeName, ObjectName, PodKey};

use crate::document::{field::Field, tree::Tree};

/// A `v1` Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventManifest {
    /// What it is about.
    pub about: EventSubject,
    /// Such as `SpotInterrupted`.
    pub reason: String,
    /// When it happened first.
    pub at: Timestamp,
}

/// What an Event is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventSubject {
    /// A Node.
    Node(NodeName),
    /// A NodeClaim.
    NodeClaim(NodeClaimName),
    /// A Deployment, by namespace and name.
    Deployment(PodKey),
    /// Anything else.
    Other,
}

/// Reads an Event; `None` of one without a time. Nothing of it is a mistake of the person who planned: an API server
/// has it from a program.
pub(crate) fn read(root: &Field<'_>) -> Option<EventManifest> {
    let tree = root.tree();
    let times = ["firstTimestamp", "eventTime", "lastTimestamp"];
    Some(EventManifest {
        about: tree.get("involvedObject").and_then(about).unwrap_or(EventSubject::Other),
        reason: tree.get("reason")?.as_text()?.to_owned(),
        at: times.into_iter().find_map(|key| tree.get(key)?.as_text()?.parse().ok())?,
    })
}

fn about(tree: &Tree) -> Option<EventSubject> {
    let text = |key: &str| tree.get(key)?.as_text();
    let name = text("name")?;
    match text("kind")? {
        "Node" => Some(EventSubject::Node(NodeName::new(name).ok()?)),
        "NodeClaim" => Some(EventSubject::NodeClaim(NodeClaimName::new(name).ok()?)),
        "Deployment" => {
            let namespace = Namespace::new(text("namespace")?).ok()?;
            let name = ObjectName::new(name).ok()?;
            Some(EventSubject::Deployment(PodKey { namespace, name }))
        }
        _ => None,
    }
}
