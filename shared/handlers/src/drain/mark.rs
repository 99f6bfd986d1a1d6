//! Nodes that are replaced or rebooted take no new pods, and those that stay after all do again.
//!
//! What is to be so the commands of the ledger say. Once it is, the pass keeps a digest of that, so that
//! later ones do not look again.

use std::collections::BTreeSet;

use model::{
    NodeName,
    ledger::{Snapshot, digest},
    node::{Node, NodePatch},
};
use planner::disruption::Marked;
use ports::{Adapters, Invocation, Nodes as _, PortError};

use super::DrainPorts;
use crate::{error::story, pass::each, settle::ignore_missing, sync::keep};

/// Nodes that are looked at at the same time.
const AT_ONCE: usize = 16;

/// Which nodes are to be marked, and which are not to be.
pub(super) struct Marks(Marked);

impl Marks {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        Self(planner::disruption::marked(snapshot))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0 == Marked::default()
    }

    /// A number that differs for other nodes; 0 for none.
    pub(super) fn digest(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let with = |sign: char, nodes: &BTreeSet<NodeName>| -> Vec<String> {
            nodes.iter().map(|node| format!("{sign}{node}")).collect()
        };
        let Marked { replaced, rebooting, freed } = &self.0;
        let texts = [with('+', replaced), with('*', rebooting), with('-', freed)].concat();
        digest(texts.join(" ").as_bytes())
    }

    /// Makes it so; whether it is now.
    pub(super) async fn set<A: Adapters>(
        &self,
        ports: &DrainPorts<'_, A>,
        at: &Invocation,
    ) -> bool {
        type Patch = fn(&Node) -> Option<NodePatch>;
        let Marked { replaced, rebooting, freed } = &self.0;
        let replaced = replaced.iter().map(|node| (node, planner::held as Patch));
        let rebooting = rebooting.iter().map(|node| (node, planner::held_for_reboot as Patch));
        let freed = freed.iter().map(|node| (node, planner::released as Patch));
        let nodes: Vec<(&NodeName, Patch)> = replaced.chain(rebooting).chain(freed).collect();
        let (answers, rest_at) = each(nodes, AT_ONCE, ports.clock, at, async |(name, patch)| {
            let answer = mark(ports, name, patch).await;
            if let Err(error) = &answer {
                tracing::warn!(node = %name, story = story(error), "node not marked");
            }
            answer.is_ok()
        })
        .await;
        rest_at.is_none() && answers.into_iter().all(|is_set| is_set)
    }
}

/// Has claims that are replaced say so, and those that are not any more be silent; whether they do now.
pub(super) async fn say<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    snapshot: &Snapshot,
    at: &Invocation,
) -> bool {
    let changed = planner::disruption::reasons_shown(snapshot, at.now);
    if changed.is_empty() {
        return true;
    }
    let (answers, rest_at) = each(changed, AT_ONCE, ports.clock, at, async |claim| {
        keep::<A>(ports.ledger, ports.node_claims, &claim, at).await
    })
    .await;
    rest_at.is_none() && answers.into_iter().all(|is_said| is_said)
}

async fn mark<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    name: &NodeName,
    patch: impl Fn(&Node) -> Option<NodePatch>,
) -> Result<(), PortError> {
    let Some(node) = ports.nodes.node(name).await? else { return Ok(()) };
    match patch(&node) {
        Some(patch) => ignore_missing(ports.nodes.patch(name, &patch).await),
        None => Ok(()),
    }
}
