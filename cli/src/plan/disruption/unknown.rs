//! What decides about nodes and is not among the facts, with the input that would say it.

use std::collections::BTreeSet;

use model::{
    NodeClaim, NodeClassName, NodeName,
    disruption::{Command, Progress},
    facts::Facts,
    static_hash::NODE_CLASS,
};
use planner::{KnownTypes, disruption, disruption::Outlook};
use report::output::{many, named};

use crate::{authority, plan::args::View};

/// Nodes that a line names.
const NODES_NAMED: usize = 3;

/// A line for each thing that is unknown, by class. `foreign_context` is the context of the kubeconfig whose cluster the
/// facts seem not to be of.
pub(super) fn of(
    facts: &Facts,
    view: View,
    outlook: &Outlook,
    foreign_context: Option<&str>,
) -> Vec<String> {
    let claims = || facts.ledger.claims.values().filter(|claim| !claim.is_deleting());
    let mut lines = Vec::new();
    // A second cause of drift decides nothing.
    let has_drifted = |claim: &NodeClaim| {
        claim.node.as_ref().is_some_and(|node| outlook.drifted.contains_key(node))
    };
    let not_drifted = || claims().filter(|claim| !has_drifted(claim));
    for name in
        classes(not_drifted().filter(|claim| claim.annotations.contains_key(NODE_CLASS.key)))
    {
        let others = if claims().any(|claim| claim.node_class == *name && has_drifted(claim)) {
            "other nodes"
        } else {
            "nodes"
        };
        let hashes = facts.class_hashes.as_ref();
        if !hashes.is_some_and(|hashes| hashes.contains_key(name)) {
            lines.push(format!(
                "whether {others} have drifted from the spec of EC2NodeClass {name} in this input: its hash cannot be worked \
                 out; {}",
                authority::cure(foreign_context)
            ));
        }
    }
    for name in classes(not_drifted().filter(|claim| has_image(claim))) {
        if !facts.class_images.contains_key(name) {
            lines.push(format!(
                "whether nodes of EC2NodeClass {name} have another image than it selects: its status does not say \
                 which; --live reads it"
            ));
        }
    }
    if !outlook.not_listed.is_empty() {
        let names: Vec<&str> = outlook.not_listed.iter().map(String::as_str).collect();
        lines.push(format!(
            "whether EC2 still offers what these nodes are, which the functions ask it: the list of instance types lacks {}",
            named(&names, 1)
        ));
    }
    let replaced = facts.ledger.commands.values().filter(|command| is_half_known(command)).count();
    if view == View::Journeyman && 0 < replaced {
        lines.push(format!(
            "what replaces {} being disrupted: --ledger or --table reads it",
            if replaced == 1 {
                "1 node that is".to_owned()
            } else {
                format!("{} nodes that are", many(replaced))
            }
        ));
    }
    let is_karpenters = view == View::Karpenter;
    let nominated =
        is_karpenters.then(|| disruption::hosts_of_pending(facts, &KnownTypes::default()));
    if let Some(nominated) = nominated.filter(|nodes| !nodes.is_empty()) {
        let names: Vec<&str> = nominated.iter().map(NodeName::as_str).collect();
        lines.push(format!(
            "whether Karpenter has nominated {} for pending pods that fit there, and so does not disrupt it: no object \
             says so; --view journeyman counts them",
            named(&names, NODES_NAMED)
        ));
    }
    let empty = empty(facts);
    if view == View::Journeyman && 0 < empty {
        lines.push(format!(
            "since when {} empty: the NodeClaim has no condition Empty, and the function `disrupt` counts from its next look",
            if empty == 1 { "1 node is".to_owned() } else { format!("{} nodes are", many(empty)) }
        ));
    }
    if claims().any(|claim| claim.instance.is_some()) {
        lines.push(
            "whether instances have other subnets or security groups than their EC2NodeClass selects, unless a \
             condition Drifted says so: only EC2 knows them, and the function `sweep` asks"
                .to_owned(),
        );
    }
    lines
}

/// How many nodes have no pod that would need another node, in NodePools that wait for `consolidateAfter`.
fn empty(facts: &Facts) -> usize {
    let used: BTreeSet<&NodeName> = facts
        .pods
        .iter()
        .filter(|pod| pod.is_reschedulable())
        .filter_map(|pod| pod.node.as_ref())
        .collect();
    let waits = |claim: &&NodeClaim| {
        let pool = facts.node_pools.iter().find(|pool| pool.name == claim.node_pool);
        let after = pool.and_then(|pool| pool.disruption.consolidate_after);
        after.is_some_and(|after| after.is_positive())
    };
    let is_empty = |claim: &&NodeClaim| {
        !claim.is_deleting()
            && claim.empty_since.is_none()
            && claim.node.as_ref().is_some_and(|node| !used.contains(node))
    };
    facts.ledger.claims.values().filter(is_empty).filter(waits).count()
}

/// Whether only the NodeClaim that is being replaced says that there is `command`.
fn is_half_known(command: &Command) -> bool {
    matches!(&command.progress, Progress::Launching { claims, .. } if claims.is_empty())
}

fn classes<'a>(claims: impl Iterator<Item = &'a NodeClaim>) -> BTreeSet<&'a NodeClassName> {
    claims.map(|claim| &claim.node_class).collect()
}

fn has_image(claim: &NodeClaim) -> bool {
    claim.instance.as_ref().is_some_and(|instance| instance.image.is_some())
}
