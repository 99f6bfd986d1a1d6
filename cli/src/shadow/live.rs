//! Dumps of a running cluster, read through its API server. Nothing is changed in it.

use std::fs;

use installer::{
    installation::{now, pause},
    live::{self, ClusterClient, LiveAnswer, ObjectKind, kinds},
};
use jiff::SignedDuration;
use model::duration::later;
use report::{error::BadInput, screen::Screen};
use serde_json::{Value, json};

use super::ShadowArgs;
use crate::simulate::dumps::file_name;

/// What is read. Nodes come before pods: what is bound meanwhile is on a node that is there.
const KINDS: [ObjectKind; 14] = [
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
    kinds::EVENTS,
];

/// Writes a dump each `every` for `length`, the first one now.
pub(super) fn record(
    args: &ShadowArgs,
    (every, length): (SignedDuration, SignedDuration),
) -> Result<(), BadInput> {
    if every < SignedDuration::from_secs(10) {
        return Err(BadInput::one("--every: must be at least 10s: an API server has other work"));
    }
    let bad = |error: std::io::Error| BadInput::one(format!("{}: {error}", args.dumps.display()));
    live::needed("shadow --live")?;
    let cluster = ClusterClient::open(&args.place()).map_err(BadInput::one)?;
    fs::create_dir_all(&args.dumps).map_err(bad)?;
    let start = now();
    let mut due = start;
    let mut made = 0_u64;
    loop {
        let path = args.dumps.join(file_name(now()));
        let items = items(&cluster).map_err(BadInput::one)?;
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        // A dump that is there is whole, whenever it ends.
        let part = args.dumps.join(".part");
        fs::write(&part, list.to_string()).and_then(|()| fs::rename(&part, &path)).map_err(bad)?;
        made += 1;
        let said = format!("{made} written: {}", path.display());
        // Where nobody can read it there is nobody to tell.
        let _unread = Screen::of_stderr().lines(&said, &mut std::io::stderr());
        due = later(due, every);
        if due.duration_since(start) > length {
            return Ok(());
        }
        let left = due.duration_since(now());
        pause(std::time::Duration::try_from(left).unwrap_or_default());
    }
}

fn items(cluster: &ClusterClient) -> LiveAnswer<Vec<Value>> {
    let mut items = Vec::new();
    for kind in KINDS {
        items.append(&mut cluster.objects(&kind)?);
    }
    Ok(items)
}
