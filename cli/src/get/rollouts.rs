//! Which images the nodes of each NodePool run, and what became of their rollouts.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    ClaimPhase, ImageId, NodeClassName, NodePoolName,
    disruption::{Command, Progress},
};
use serde_json::json;

use super::{GetArgs, Listed, age, claims};
use crate::records::{Records, known};

/// Nodes of one NodePool on one image.
struct Row {
    nodes: usize,
    initialized: usize,
    /// When the first of them was created, or the rollout was halted.
    since: Timestamp,
    state: &'static str,
    message: Option<String>,
}

type Key<'r> = (&'r NodePoolName, &'r NodeClassName, Option<&'r ImageId>);

/// Images of nodes by NodePool, with halts that are in force, and images that were accepted just now.
pub(super) fn rollouts(records: &Records, args: &GetArgs) -> Listed {
    let heads = ["NODEPOOL", "NODECLASS", "IMAGE", "NODES", "READY", "STATE", "AGE", "MESSAGE"];
    let mut listed = Listed { heads: heads.to_vec(), spared: &["AGE"], ..Listed::default() };
    let mut rows: BTreeMap<Key<'_>, Row> = BTreeMap::new();
    let at = records.at;
    let row = |since| Row { nodes: 0, initialized: 0, since, state: "", message: None };
    for claim in claims(records, args).filter(|claim| !claim.is_deleting()) {
        let Some(instance) = &claim.instance else { continue };
        let key = (&claim.node_pool, &claim.node_class, instance.image.as_ref());
        let of_image = rows.entry(key).or_insert_with(|| row(claim.created_at));
        of_image.nodes += 1;
        of_image.initialized += usize::from(claim.phase == ClaimPhase::Initialized);
        of_image.since = of_image.since.min(claim.created_at);
    }
    for Command { progress, found_at, .. } in records.commands.values() {
        match progress {
            Progress::Halted(halt) => {
                let target = &halt.target;
                if args.node_pool.as_ref().is_some_and(|pool| *pool != target.node_pool) {
                    continue;
                }
                let key = (&target.node_pool, &target.node_class, target.image.as_ref());
                let halted = rows.entry(key).or_insert_with(|| row(*found_at));
                (halted.state, halted.message) = ("Halted", Some(halt.why.clone()));
            }
            Progress::Accepted(accepted) => {
                let is_accepted = |(_, class, image): &Key<'_>| {
                    **class == accepted.node_class
                        && image.is_some_and(|image| accepted.images.contains(image))
                };
                for (_, row) in rows.iter_mut().filter(|(key, _)| is_accepted(key)) {
                    row.state = "Accepted";
                }
            }
            _ => {}
        }
    }
    for ((pool, class, image), row) in rows {
        let Row { nodes, initialized, since, state, message } = row;
        let image = image.map(ToString::to_string);
        let cells = vec![
            pool.to_string(),
            class.to_string(),
            image.clone().unwrap_or_default(),
            nodes.to_string(),
            initialized.to_string(),
            state.to_owned(),
            age(since, at),
            message.clone().unwrap_or_default(),
        ];
        let name = format!("rollout/{pool}/{}", image.as_deref().unwrap_or("unknown"));
        let document = known(json!({
            "nodePool": pool.as_str(),
            "nodeClass": class.as_str(),
            "image": image,
            "nodes": nodes,
            "initialized": initialized,
            "state": Some(state).filter(|state| !state.is_empty()),
            "since": since.to_string(),
            "message": message,
        }));
        listed.push(cells, document, name);
    }
    listed
}
