//! Which images the nodes of each NodePool run, and what became of their rollouts.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{ClaimPhase, ImageId, NodeClaim, NodeClassName, NodePoolName};
use serde_json::json;

use super::{GetArgs, Listed, age, claims};
use crate::records::{Records, is_at, known};

/// Nodes of one NodePool on one image.
struct Row {
    nodes: usize,
    initialized: usize,
    /// When the first of them was created, or the rollout was halted.
    since: Timestamp,
    message: Option<String>,
}

/// How the nodes of a row are: the word is the cell of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// No rollout concerns them.
    Still,
    /// They are to be replaced, and nothing holds them.
    Drifted,
    /// They are to be replaced, and wait for a rollout.
    Waiting,
    /// They are what drifted nodes of their NodePool are replaced by.
    Updated,
    /// Canaries passed on their image just now.
    Accepted,
    /// They are canaries that were not healthy.
    Halted,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Still => "",
            Self::Drifted => "Drifted",
            Self::Waiting => "Waiting",
            Self::Updated => "Updated",
            Self::Accepted => "Accepted",
            Self::Halted => "Halted",
        }
    }
}

type Key<'r> = (&'r NodePoolName, &'r NodeClassName, Option<&'r ImageId>, State);

/// What is known of rollouts.
struct Rollouts<'r> {
    records: &'r Records,
    /// NodePools with nodes that are to be replaced, and why these wait; `None` if nothing holds them.
    left: BTreeMap<&'r NodePoolName, Option<&'r str>>,
}

impl<'r> Rollouts<'r> {
    fn of(records: &'r Records) -> Self {
        let drifted = records.claims.values().filter(|claim| is_left(claim));
        let pools: BTreeSet<&NodePoolName> = drifted.map(|claim| &claim.node_pool).collect();
        let waiting = |pool: &NodePoolName| records.waiting(pool.as_str()).map(|(_, why)| why);
        Self { records, left: pools.into_iter().map(|pool| (pool, waiting(pool))).collect() }
    }

    /// How the node of `claim` is, and why in words.
    fn state(&self, claim: &NodeClaim) -> (State, Option<&'r str>) {
        let mut halts = self.records.halts().map(|(_, halt)| halt);
        let halt = halts
            .find(|halt| halt.target.node_pool == claim.node_pool && is_at(claim, &halt.target));
        if let Some(halt) = halt {
            return (State::Halted, Some(&halt.why));
        }
        let of_pool = self.left.get(&claim.node_pool).copied();
        if is_left(claim) {
            let why = of_pool.flatten();
            return (if why.is_some() { State::Waiting } else { State::Drifted }, why);
        }
        let commands = self.records.commands.values();
        let is_accepted =
            commands.filter_map(|command| command.progress.accepted()).any(|accepted| {
                let is_accepted = |image| accepted.images.contains(image);
                accepted.node_class == claim.node_class && claim.image().is_some_and(is_accepted)
            });
        let state = match (is_accepted, of_pool) {
            (true, _) => State::Accepted,
            (false, Some(_)) => State::Updated,
            (false, None) => State::Still,
        };
        (state, None)
    }
}

/// Whether the node of `claim` is to be replaced because it has drifted.
fn is_left(claim: &NodeClaim) -> bool {
    claim.conditions.drifted.is_some() && !claim.is_deleting()
}

/// Images of nodes by NodePool, with what rollouts mean for them, and halts that are in force.
pub(super) fn rollouts(records: &Records, args: &GetArgs) -> Listed {
    let heads = ["NODEPOOL", "NODECLASS", "IMAGE", "NODES", "READY", "STATE", "AGE", "MESSAGE"];
    let mut listed = Listed { heads: heads.to_vec(), spared: &["AGE"], ..Listed::default() };
    let mut rows: BTreeMap<Key<'_>, Row> = BTreeMap::new();
    let (at, states) = (records.at, Rollouts::of(records));
    let row = |since, message| Row { nodes: 0, initialized: 0, since, message };
    for claim in claims(records, args).filter(|claim| !claim.is_deleting()) {
        let Some(instance) = &claim.instance else { continue };
        let (state, message) = states.state(claim);
        let key = (&claim.node_pool, &claim.node_class, instance.image.as_ref(), state);
        let of_image =
            rows.entry(key).or_insert_with(|| row(claim.created_at, message.map(str::to_owned)));
        of_image.nodes += 1;
        of_image.initialized += usize::from(claim.phase == ClaimPhase::Initialized);
        of_image.since = of_image.since.min(claim.created_at);
    }
    for (since, halt) in records.halts() {
        let target = &halt.target;
        if args.node_pool.as_ref().is_some_and(|pool| *pool != target.node_pool) {
            continue;
        }
        let image = target.image.as_ref();
        let key = (&target.node_pool, &target.node_class, image, State::Halted);
        rows.entry(key).or_insert_with(|| row(since, Some(halt.why.clone())));
    }
    for ((pool, class, image, state), row) in rows {
        let Row { nodes, initialized, since, message } = row;
        let (image, state) = (image.map(ToString::to_string), state.as_str());
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
        let mut name = format!("rollout/{pool}/{}", image.as_deref().unwrap_or("unknown"));
        if !state.is_empty() {
            name.push('/');
            name.push_str(&state.to_lowercase());
        }
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
