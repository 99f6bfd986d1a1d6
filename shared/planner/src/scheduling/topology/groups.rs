//! Rules about the places of other pods, each once for all pods that ask for it.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/topologygroup.go`. There, rules that differ
//! only in `minDomains`, or in the values of the node filter, are one; here they are two.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

use model::{
    Namespace, Requirements, Taint, Toleration,
    ledger::digest,
    selector::{LabelSelector, SelectorOperator},
    taint,
};

use crate::{
    index::{
        id::{GroupId, KeyId, kind},
        table::Table,
    },
    scheduling::numbers::domains::Domains,
};

/// What a group counts, and to which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Pods that are selected, so that no domain is far ahead.
    Spread {
        /// By how many.
        max_skew: u32,
        /// With fewer domains, the least counts as none.
        min_domains: Option<u32>,
    },
    /// Pods that are selected, to be near them.
    Affinity,
    /// Pods that are selected, to be far from them.
    AntiAffinity,
    /// Pods that want to be far from those that are selected.
    Inverse,
}

/// Which nodes a spread constraint counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Filter {
    /// Any of these must hold for the node's labels; none of them is as good as one that does.
    pub(crate) terms: Vec<Requirements>,
    /// These must tolerate its taints; `None` is whatever its taints.
    pub(crate) tolerations: Option<Vec<Toleration>>,
}

impl Filter {
    /// Whether every node passes.
    pub(crate) fn is_open(&self) -> bool {
        self.terms.is_empty() && self.tolerations.is_none()
    }

    /// Whether nodes pass whatever their labels are.
    pub(crate) fn ignores_labels(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a node with `taints` passes that has labels as `accepts` says.
    pub(crate) fn passes(&self, taints: &[Taint], accepts: impl Fn(&Requirements) -> bool) -> bool {
        let tolerated = self
            .tolerations
            .as_ref()
            .is_none_or(|tolerations| taint::untolerated(taints, tolerations).is_empty());
        tolerated && (self.terms.is_empty() || self.terms.iter().any(accepts))
    }
}

/// Namespaces whose pods are meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Namespaces {
    /// Every one.
    All,
    /// This one.
    One(Namespace),
    /// These, which are none or several.
    Of(BTreeSet<Namespace>),
}

impl From<BTreeSet<Namespace>> for Namespaces {
    fn from(mut names: BTreeSet<Namespace>) -> Self {
        match (names.len(), names.pop_first()) {
            (1, Some(name)) => Self::One(name),
            (_, first) => {
                names.extend(first);
                Self::Of(names)
            }
        }
    }
}

/// One rule.
#[derive(Debug)]
pub(crate) struct Group {
    /// The label, by its number in `Keys`; `None` is the hostname.
    pub(crate) key: Option<KeyId>,
    pub(crate) purpose: Purpose,
    pub(crate) namespaces: Namespaces,
    /// `None` selects nothing.
    pub(crate) selector: Option<LabelSelector>,
    pub(crate) filter: Filter,
    /// Domains that are there without any node.
    pub(crate) universe: Domains,
    /// Of an affinity: domains that all waiting pods with the rule can be in, where they are not free to be in any.
    pub(crate) first: Option<Domains>,
}

/// What makes a rule, beside its purpose: looked for before it is copied.
#[derive(Debug)]
pub(crate) struct Asked<'s> {
    pub(crate) key: Option<KeyId>,
    pub(crate) namespaces: Namespaces,
    pub(crate) selector: Option<&'s LabelSelector>,
    pub(crate) filter: Filter,
    pub(crate) universe: Domains,
}

impl Asked<'_> {
    fn is_same(&self, purpose: Purpose, group: &Group) -> bool {
        self.key == group.key
            && purpose == group.purpose
            && self.selector == group.selector.as_ref()
            && self.namespaces == group.namespaces
            && self.filter == group.filter
            && self.universe == group.universe
    }

    /// A number that equal rules share, and others hardly ever.
    fn fingerprint(&self, purpose: Purpose) -> u64 {
        let key = self.key.map_or(0, |key| u64::from(key.number()) + 1);
        let purpose = match purpose {
            Purpose::Spread { max_skew, .. } => 3 + u64::from(max_skew),
            Purpose::Affinity => 0,
            Purpose::AntiAffinity => 1,
            Purpose::Inverse => 2,
        };
        key.rotate_left(32) ^ purpose ^ selector_digest(self.selector).rotate_left(5)
    }
}

/// A number that equal selectors share, and others hardly ever.
pub(crate) fn selector_digest(selector: Option<&LabelSelector>) -> u64 {
    let expressions = selector.into_iter().flat_map(|selector| &selector.expressions);
    let texts =
        expressions.flat_map(|expression| iter::once(&expression.key).chain(&expression.values));
    texts.fold(0, |sum: u64, text| sum.rotate_left(5) ^ digest(text.as_bytes()))
}

impl Namespaces {
    /// Whether pods of `namespace` are meant.
    fn have(&self, namespace: &Namespace) -> bool {
        match self {
            Self::All => true,
            Self::One(name) => name == namespace,
            Self::Of(names) => names.contains(namespace),
        }
    }
}

impl Group {
    /// Whether a pod of `namespace` with `labels` is meant.
    pub(crate) fn means(&self, namespace: &Namespace, labels: &BTreeMap<String, String>) -> bool {
        self.namespaces.have(namespace) && self.selects(labels)
    }

    /// Whether a pod with `labels` is meant if its namespace is.
    pub(crate) fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.selects(labels))
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    pub(crate) all: Table<kind::Group, Group>,
    /// By fingerprint.
    numbers: BTreeMap<u64, Vec<GroupId>>,
    /// By a label that is asked for: the groups that ask for it first of all, and whether they ask for
    /// nothing else.
    by_label: BTreeMap<String, BTreeMap<String, Vec<(GroupId, bool)>>>,
    /// Those that ask for no label with certain values.
    others: Vec<GroupId>,
}

impl Groups {
    /// The number of what is `asked` for that purpose, which is new if there is no equal one.
    pub(crate) fn number(&mut self, purpose: Purpose, asked: &Asked<'_>) -> GroupId {
        let alike = self.numbers.entry(asked.fingerprint(purpose)).or_default();
        let known = alike.iter().find(|number| asked.is_same(purpose, &self.all[**number]));
        if let Some(known) = known {
            return *known;
        }
        let number = self.all.push(Group {
            key: asked.key,
            purpose,
            namespaces: asked.namespaces.clone(),
            selector: asked.selector.cloned(),
            filter: asked.filter.clone(),
            universe: asked.universe.clone(),
            first: None,
        });
        alike.push(number);
        let expressions = asked.selector.iter().flat_map(|selector| &selector.expressions);
        let mut listed = expressions
            .filter(|selector_expression| selector_expression.operator == SelectorOperator::In);
        match listed.next() {
            Some(selector_expression) => {
                let values = self.by_label.entry(selector_expression.key.clone()).or_default();
                let is_all = asked.selector.is_some_and(|selector| {
                    !selector.is_invalid && selector.expressions.len() == 1
                });
                for value in &selector_expression.values {
                    values.entry(value.clone()).or_default().push((number, is_all));
                }
            }
            None => self.others.push(number),
        }
        number
    }

    /// The groups that mean a pod of `namespace` with `labels`, ascending.
    pub(crate) fn selecting(
        &self,
        namespace: &Namespace,
        labels: &BTreeMap<String, String>,
    ) -> Vec<GroupId> {
        let asked = labels.iter().filter_map(|(key, value)| self.by_label.get(key)?.get(value));
        let others = self.others.iter().map(|number| (*number, false));
        let likely = asked.flatten().copied().chain(others);
        let is_meant = |(number, is_all): &(GroupId, bool)| {
            let group = &self.all[*number];
            group.namespaces.have(namespace) && (*is_all || group.selects(labels))
        };
        let mut groups: Vec<GroupId> = likely.filter(is_meant).map(|(number, _)| number).collect();
        groups.sort_unstable();
        groups
    }
}
