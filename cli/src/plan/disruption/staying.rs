//! Nodes that are not disrupted: one reason for each, and nodes with the same reason together.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    NodeName,
    disruption::Method,
    ledger::{Decision, RejectionReason},
};
use planner::disruption::{Proposal, Said};

use report::output::in_order;

use super::Found;

/// Different texts of one reason that are listed; if there are more, an example stands for all.
const TEXTS_SHOWN: usize = 3;

/// A node that is not disrupted now.
pub(super) struct Staying<'a> {
    /// The node.
    pub(super) node: &'a NodeName,
    /// The reason that decides, with what it is about: `drift: …`.
    pub(super) reason: String,
    /// What the reason is, to keep like ones together.
    kind: (Option<&'static str>, Option<RejectionReason>),
}

/// Nodes that are not disrupted for the same reason.
pub(super) struct Group<'a> {
    /// The nodes, in the order of their names.
    pub(super) nodes: Vec<&'a str>,
    /// Why, for all of them; if `is_example`, why the first of them is not disrupted.
    pub(super) reason: String,
    /// Whether the reasons of the other nodes name other pods or numbers.
    pub(super) is_example: bool,
}

impl Group<'_> {
    /// Why, or an example.
    pub(super) fn in_words(&self) -> String {
        let example = if self.is_example { "for example, " } else { "" };
        format!("{example}{}", self.reason)
    }
}

/// The nodes that are disrupted now, those before a method is asked included.
pub(super) fn disrupted<'a>(found: &'a Found<'_>) -> BTreeSet<&'a NodeName> {
    let steps = found.next.iter().flat_map(|step| &step.claims);
    let steps = steps.chain(found.ahead.iter().flat_map(Decision::claims));
    let claims = steps.filter_map(|name| found.facts.ledger.claims.get(name));
    let acting = found.proposal().into_iter().flat_map(Proposal::nodes);
    claims.filter_map(|claim| claim.node.as_ref()).chain(acting).collect()
}

/// Every node that is not disrupted now, and the reason that decides.
pub(super) fn of<'a>(found: &'a Found<'_>) -> Vec<Staying<'a>> {
    let (disrupted, acting) = (disrupted(found), found.proposal());
    let staying = |node: &'a NodeName| {
        let Some((method, said)) = found.outlook.decisive(node, acting) else {
            let reason = "no method looks at the node".to_owned();
            return Staying { node, reason, kind: (None, None) };
        };
        let method = method.map(planner::disruption::name_of);
        let reason = method.map_or_else(|| said.to_string(), |method| format!("{method}: {said}"));
        let kind = match said {
            Said::Objection(objection) => Some(objection.reason()),
            Said::Voided(_) | Said::After(_) => None,
        };
        Staying { node, reason, kind: (method, kind) }
    };
    found.facts.nodes.keys().filter(|node| !disrupted.contains(node)).map(staying).collect()
}

/// What every method says about `node`, by the name of the method.
pub(super) fn said(found: &Found<'_>, node: &NodeName) -> BTreeMap<&'static str, String> {
    let reason =
        |method: Method| Some((method.as_str(), found.outlook.said(method, node)?.to_string()));
    Method::ALL.into_iter().filter_map(reason).collect()
}

/// `staying`, those with the same reason together, the largest group first.
pub(super) fn grouped<'a>(staying: &[Staying<'a>]) -> Vec<Group<'a>> {
    let mut kinds: BTreeMap<_, BTreeMap<&str, Vec<&'a str>>> = BTreeMap::new();
    for stays in staying {
        let texts = kinds.entry(stays.kind).or_default();
        texts.entry(&stays.reason).or_default().push(stays.node.as_str());
    }
    let mut groups = Vec::new();
    for ((_, kind), texts) in kinds {
        if kind.is_some() && TEXTS_SHOWN < texts.len() {
            groups.extend(with_example(texts));
            continue;
        }
        groups.extend(texts.into_iter().map(|(reason, nodes)| Group {
            nodes,
            reason: reason.to_owned(),
            is_example: false,
        }));
    }
    for group in &mut groups {
        group.nodes = in_order(std::mem::take(&mut group.nodes));
    }
    groups.sort_by(|a, b| b.nodes.len().cmp(&a.nodes.len()).then_with(|| a.nodes.cmp(&b.nodes)));
    groups
}

/// One group for all of `texts`, which the text of most nodes stands for.
fn with_example<'a>(texts: BTreeMap<&str, Vec<&'a str>>) -> Option<Group<'a>> {
    let mut texts: Vec<(&str, Vec<&str>)> = texts.into_iter().collect();
    texts.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    let reason = texts.first()?.0.to_owned();
    let nodes = texts.into_iter().flat_map(|(_, nodes)| nodes).collect();
    Some(Group { nodes, reason, is_example: true })
}
