//! Another policy for facts that were recorded.

use model::{
    facts::{ClassOffer, Facts},
    node_pool::NodePool,
    overlay::NodeOverlay,
    problem::Rule,
    recorded::{Question, RecordedFacts},
    static_hash::NODE_POOL,
};
use simulator::ClusterObject;

use crate::manifests::Loaded;

/// Puts NodePools and NodeOverlays of `loaded` in the places of those of the same names. What of it changes
/// nothing is the answer, in words.
pub(super) fn replace(recorded: &mut RecordedFacts, loaded: Loaded) -> Vec<String> {
    let mut notes = loaded.ignored;
    if matches!(recorded.question, Question::CarryOn | Question::Interrupt(_)) {
        let why = "it was decided by what the ledger says of claims and commands: no NodePool has a say in it, and \
                   --with changes nothing";
        notes.push(why.to_owned());
    }
    let facts = &mut recorded.facts;
    for object in loaded.objects {
        match object {
            ClusterObject::NodePool(pool) => notes.extend(take_pool(facts, pool)),
            ClusterObject::NodeOverlay(overlay) => take_overlay(facts, overlay),
            other => notes.push(format!(
                "{} is as it was: --with takes NodePools and NodeOverlays",
                name(&other)
            )),
        }
    }
    if !facts.surroundings.node_overlays.is_empty() && !facts.policies.node_overlay {
        notes.push("NodeOverlays do not count: the feature gate NodeOverlay was closed".to_owned());
    }
    notes
}

/// What it is called.
fn name(object: &ClusterObject) -> String {
    match object {
        ClusterObject::NodeClass(_) => {
            format!("{object}, which offers what the account had then,")
        }
        ClusterObject::Node(node) => format!("node {}", node.node.name),
        ClusterObject::Namespace(name, _) => format!("namespace {name}"),
        other => other.to_string(),
    }
}

/// What was found out about the pool of the same name, and is not in any file, holds for the new one.
fn take_pool(facts: &mut Facts, mut pool: NodePool) -> Option<String> {
    let found_out =
        |rule: &Rule| matches!(rule, Rule::ClassNotReady { .. } | Rule::LaunchRefused { .. });
    let place = facts.node_pools.iter().position(|known| known.name == pool.name);
    if let Some(place) = place {
        let known = facts.node_pools.remove(place);
        let is_same_class = known.template.node_class == pool.template.node_class;
        let kept = known.problems.into_iter().filter(|problem| found_out(&problem.rule));
        pool.problems.extend(kept.filter(|_| is_same_class));
        // Of the drift hash the known one stands, until the new pool is there: its nodes have not drifted yet.
        for key in [NODE_POOL.key, NODE_POOL.version_key] {
            pool.annotations.remove(key);
        }
        for (key, value) in known.annotations {
            pool.annotations.entry(key).or_insert(value);
        }
    }
    let class = &pool.template.node_class;
    let offer = facts.classes.as_ref().and_then(|classes| classes.get(class));
    let note = match offer {
        Some(ClassOffer::Ready(_)) => None,
        Some(ClassOffer::NotReady(_)) => Some("was not ready"),
        None => Some("is not among the facts"),
    };
    let note = note.map(|why| {
        format!("NodePool {}: its EC2NodeClass {class} {why}: nothing is launched", pool.name)
    });
    let after = facts.node_pools.partition_point(|known| known.name < pool.name);
    facts.node_pools.insert(after, pool);
    note
}

fn take_overlay(facts: &mut Facts, overlay: NodeOverlay) {
    let overlays = &mut facts.surroundings.node_overlays;
    overlays.retain(|known| known.name != overlay.name);
    let after = overlays.partition_point(|known| known.name < overlay.name);
    overlays.insert(after, overlay);
}
