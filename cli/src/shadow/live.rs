//! Dumps of a running cluster, read through its API server. Nothing is changed in it.

use std::{fs, path::Path};

use api::{files, objects::Object};
use installer::{
    installation::{now, pause},
    live::{self, ClusterClient, LiveAnswer, ObjectKind, kinds},
};
use jiff::SignedDuration;
use model::duration::later;
use report::{error::BadInput, screen::Screen};
use serde_json::{Value, json};

use super::{ShadowArgs, dumps::is_used};
use crate::simulate::dumps::file_name;

/// What is read besides events. Nodes come before pods: what is bound meanwhile is on a node that is there.
const KINDS: [ObjectKind; 13] = [
    kinds::NODE_POOLS,
    kinds::NODE_CLASSES,
    kinds::NODE_CLAIMS,
    kinds::NODES,
    kinds::NAMESPACES,
    kinds::DAEMON_SETS,
    kinds::DEPLOYMENTS,
    kinds::STATEFUL_SETS,
    kinds::STORAGE_CLASSES,
    kinds::VOLUMES,
    kinds::VOLUME_CLAIMS,
    kinds::DISRUPTION_BUDGETS,
    kinds::PODS,
];

/// Writes a dump into `folder` each `every` for `length`, the first one now.
pub(super) fn record(
    args: &ShadowArgs,
    folder: &Path,
    (every, length): (SignedDuration, SignedDuration),
) -> Result<(), BadInput> {
    if every < SignedDuration::from_secs(10) {
        return Err(BadInput::one("--every: must be at least 10s: an API server has other work"));
    }
    let bad = |error: std::io::Error| BadInput::one(format!("{}: {error}", folder.display()));
    live::needed("shadow --live")?;
    let cluster = ClusterClient::open(&args.place()).map_err(BadInput::one)?;
    fs::create_dir_all(folder).map_err(bad)?;
    let start = now();
    let mut due = start;
    let mut made = 0_u64;
    loop {
        let path = folder.join(file_name(now()));
        let mut items = items(&cluster).map_err(BadInput::one)?;
        match cluster.objects_if_allowed(&kinds::EVENTS).map_err(BadInput::one)? {
            Ok(events) => items.extend(compared(events)),
            Err(why) if made == 0 => says(&format!("{why}: the dumps have no events")),
            Err(_) => {}
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        // A dump that is there is whole, whenever it ends.
        let part = folder.join(".part");
        fs::write(&part, list.to_string()).and_then(|()| fs::rename(&part, &path)).map_err(bad)?;
        made += 1;
        says(&format!("{made} written: {}", path.display()));
        due = later(due, every);
        if due.duration_since(start) > length {
            return Ok(());
        }
        let left = due.duration_since(now());
        pause(std::time::Duration::try_from(left).unwrap_or_default());
    }
}

fn says(line: &str) {
    // If standard error is closed, there is no one to read the line.
    let _unread = Screen::of_stderr().lines(line, &mut std::io::stderr());
}

/// The `events` that are compared. If there are none, the first one stays: it says that events were read.
fn compared(events: Vec<Value>) -> Vec<Value> {
    let first = events.first().cloned();
    let mut compared: Vec<Value> = events.into_iter().filter(is_compared).collect();
    if compared.is_empty() {
        compared.extend(first);
    }
    compared
}

fn is_compared(event: &Value) -> bool {
    let read = files::read(&event.to_string(), "event");
    read.objects.iter().any(|object| matches!(object, Object::Event(event) if is_used(event)))
}

fn items(cluster: &ClusterClient) -> LiveAnswer<Vec<Value>> {
    let mut items = Vec::new();
    for kind in KINDS {
        items.append(&mut cluster.objects(&kind)?);
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_have_the_events_that_are_compared_or_one_that_says_that_they_were_read() {
        let event = |kind: &str, name: &str, reason: &str| {
            json!({
                "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "shop"},
                "involvedObject": {"kind": kind, "namespace": "shop", "name": name},
                "reason": reason, "firstTimestamp": "2026-08-01T12:00:00Z",
            })
        };
        let used = [
            event("Node", "ip-1", "SpotInterruption"),
            event("NodeClaim", "general-1", "TerminatingOnInterruption"),
            event("NodeClaim", "general-2", "InstanceUnhealthy"),
            event("NodeClaim", "general-3", "SpotInterrupted"),
            event("Deployment", "web", "ScalingReplicaSet"),
        ];
        let unused = [
            event("Pod", "web-1", "Scheduled"),
            event("Pod", "web-1", "TerminatingOnInterruption"),
            event("Node", "ip-1", "NodeReady"),
            event("Deployment", "web", "SpotInterruption"),
        ];
        assert_eq!(compared([&unused[..], &used[..]].concat()), used);
        assert_eq!(compared(unused.to_vec()), unused[..1]);
        assert_eq!(compared(Vec::new()), Vec::<Value>::new());
    }
}
