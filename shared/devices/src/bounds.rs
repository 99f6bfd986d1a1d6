//! Nodes that reach devices, as requirements.

use std::collections::BTreeSet;

use model::{
    NodeName, Requirements,
    dynamic_resources::{NodeSelector, NodeSelectorTerm},
    requirements::Undefined,
};

/// What a node must be to reach devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceBounds {
    /// Labels of the node.
    pub requirements: Requirements,
    /// Its name is one of these; `None` is any name.
    pub nodes: Option<BTreeSet<NodeName>>,
}

impl DeviceBounds {
    /// All terms of `selector` at once, as Karpenter takes them (`nodeSelectorsToRequirements`). Kubernetes allows
    /// one term only.
    pub(crate) fn of_selector(selector: &NodeSelector) -> Self {
        let mut bounds = Self::default();
        for term in &selector.terms {
            bounds.add(&Self::of_term(term));
        }
        bounds
    }

    pub(crate) fn of_node(name: &NodeName) -> Self {
        let nodes = Some(BTreeSet::from([name.clone()]));
        Self { requirements: Requirements::new(), nodes }
    }

    fn of_term(term: &NodeSelectorTerm) -> Self {
        Self { requirements: term.requirements.clone(), nodes: term.nodes.clone() }
    }

    /// Both must hold.
    pub(crate) fn add(&mut self, other: &Self) {
        self.requirements.add_all(&other.requirements);
        self.nodes = match (self.nodes.take(), &other.nodes) {
            (Some(these), Some(others)) => Some(these.intersection(others).cloned().collect()),
            (these, others) => these.or_else(|| others.clone()),
        };
    }

    /// Whether a node with `requirements` may be such a node.
    pub(crate) fn allow(&self, requirements: &Requirements, node: Option<&NodeName>) -> bool {
        allow(&self.requirements, self.nodes.as_ref(), requirements, node)
    }
}

/// Whether any term of `selector` matches.
pub(crate) fn any_matches(
    selector: &NodeSelector,
    requirements: &Requirements,
    node: Option<&NodeName>,
) -> bool {
    let mut terms = selector.terms.iter();
    terms.any(|term| allow(&term.requirements, term.nodes.as_ref(), requirements, node))
}

fn allow(
    wanted: &Requirements,
    nodes: Option<&BTreeSet<NodeName>>,
    requirements: &Requirements,
    node: Option<&NodeName>,
) -> bool {
    nodes.is_none_or(|nodes| node.is_some_and(|node| nodes.contains(node)))
        && requirements.compatible(wanted, Undefined::WellKnown).is_ok()
}
