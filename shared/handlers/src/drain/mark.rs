//! Nodes that are replaced take no new pods, and those that stay after all do again.
//!
//! What is to be so the commands of the ledger say. Once it is, the pass keeps a digest of that, so that
//! later ones do not look again.

use std::collections::BTreeSet;

use model::{
    NodeName,
    ledger::{Snapshot, digest},
    node::{Node, NodePatch},
};
use ports::{Adapters, Invocation, Nodes as _, PortError};

use super::DrainPorts;
use crate::{error::story, pass::each, settle::ignore_missing, sync::keep};

/// Nodes that are looked at at the same time.
const AT_ONCE: usize = 16;

/// Which nodes are to be marked, and which are not to be.
pub(super) struct Marks {
    replaced: BTreeSet<NodeName>,
    freed: BTreeSet<NodeName>,
}

impl Marks {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let (replaced, freed) = planner::disruption::marked(snapshot);
        Self { replaced, freed }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replaced.is_empty() && self.freed.is_empty()
    }

    /// A number that differs for other nodes; 0 for none.
    pub(super) fn digest(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let replaced = self.replaced.iter().map(|node| format!("+{node}"));
        let freed = self.freed.iter().map(|node| format!("-{node}"));
        let texts: Vec<String> = replaced.chain(freed).collect();
        digest(texts.join(" ").as_bytes())
    }

    /// Makes it so; whether it is now.
    pub(super) async fn set<A: Adapters>(
        &self,
        ports: &DrainPorts<'_, A>,
        at: &Invocation,
    ) -> bool {
        type Patch = fn(&Node) -> Option<NodePatch>;
        let replaced = self.replaced.iter().map(|node| (node, planner::held as Patch));
        let freed = self.freed.iter().map(|node| (node, planner::released as Patch));
        let nodes: Vec<(&NodeName, Patch)> = replaced.chain(freed).collect();
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
