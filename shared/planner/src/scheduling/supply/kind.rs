//! What nodes are like, room aside: labels and taints as far as they are certain.

use std::collections::BTreeMap;

use model::{
    Operator, Requirement, Requirements, Resources, Taint, Values, facts::Daemon, labels,
    requirement::Value,
};

use crate::{
    index::{
        id::{self, KindId},
        table::Table,
    },
    scheduling::launchable::template::tolerates_firmly,
};

/// What is certain about a label of a node: its value is one of `values`, or it may be absent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Known {
    pub(super) values: Requirement,
    pub(super) may_be_absent: bool,
}

/// What decides which pods a node takes, room aside.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(super) labels: BTreeMap<String, Known>,
    pub(super) taints: Vec<Taint>,
}

/// What is known about the domain of existing capacity.
#[derive(Debug)]
pub(crate) enum Whereabouts<'a> {
    /// It lacks the label.
    Nowhere,
    /// It may lack the label.
    Unknown,
    /// It is there.
    At(&'a Value),
    /// It will be at one of these.
    AtOneOf(&'a Values),
}

impl Kind {
    /// Whether a pod with `wanted` may go there, whatever the node turns out to be.
    pub(crate) fn accepts(&self, wanted: &Requirements) -> bool {
        wanted.iter().all(|requirement| match self.labels.get(requirement.key().as_str()) {
            None => requirement.allows_absence(),
            // Two spellings of one label that contradict each other are as good as none.
            Some(known) if known.values.operator() == Operator::DoesNotExist => {
                requirement.allows_absence()
            }
            Some(known) => {
                (!known.may_be_absent || requirement.allows_absence())
                    && is_within(&known.values, requirement)
            }
        })
    }

    /// What is known about the value of its label `key`.
    pub(crate) fn whereabouts(&self, key: &str) -> Whereabouts<'_> {
        match self.labels.get(key) {
            Some(known) if !known.may_be_absent && !known.values.is_complement() => {
                match known.values.single_value() {
                    Some(value) => Whereabouts::At(value),
                    None => Whereabouts::AtOneOf(known.values.values()),
                }
            }
            Some(_) => Whereabouts::Unknown,
            None => Whereabouts::Nowhere,
        }
    }

    /// Its taints.
    pub(crate) fn taints(&self) -> &[Taint] {
        &self.taints
    }
}

/// Whether every value of `inner` is one of `outer`.
fn is_within(inner: &Requirement, outer: &Requirement) -> bool {
    if let Some(value) = inner.single_value() {
        return outer.has(value);
    }
    let inner = inner.clone().with_min_values(None);
    let outer = outer.clone().with_min_values(None);
    inner.intersection(&outer) == inner
}

/// Kinds by number, while they are found.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    pub(super) all: Table<id::kind::Kind, Kind>,
    numbers: BTreeMap<Kind, KindId>,
    /// By kind, and whether it is initialized: what its daemons request.
    daemons: BTreeMap<(KindId, bool), Resources>,
}

impl Kinds {
    pub(super) fn number(&mut self, kind: Kind) -> KindId {
        if let Some(known) = self.numbers.get(&kind) {
            return *known;
        }
        let number = self.all.push(kind.clone());
        self.numbers.insert(kind, number);
        number
    }

    /// What daemons request on a node of a kind.
    pub(super) fn daemons(
        &mut self,
        kind: KindId,
        is_initialized: bool,
        daemons: &[Daemon],
    ) -> &Resources {
        let kinds = &self.all;
        self.daemons.entry((kind, is_initialized)).or_insert_with(|| {
            let mut kind_of_node = kinds[kind].clone();
            if !is_initialized {
                kind_of_node.labels.extend(started());
            }
            daemon_requests(&kind_of_node, daemons)
        })
    }
}

/// The labels that are asked for, by their canonical names. One that stands twice with different
/// values has none.
pub(super) fn exact(
    labels: &BTreeMap<String, String>,
    is_asked: impl Fn(&str) -> bool,
) -> BTreeMap<String, Known> {
    let mut knowns: BTreeMap<String, Known> = BTreeMap::new();
    for (key, value) in labels.iter().filter(|(key, _)| is_asked(key)) {
        let Ok(values) = Requirement::of_label(key, value) else { continue };
        let name = values.key().as_str().to_owned();
        let known = knowns
            .entry(name)
            .or_insert_with(|| Known { values: values.clone(), may_be_absent: false });
        known.values = known.values.intersection(&values);
    }
    knowns
}

/// Labels that a node gets while it starts.
pub(super) fn started() -> BTreeMap<String, Known> {
    let labels = [labels::REGISTERED, labels::INITIALIZED];
    exact(&labels.map(|key| (key.to_owned(), "true".to_owned())).into(), |_| true)
}

pub(super) fn daemon_requests(kind: &Kind, daemons: &[Daemon]) -> Resources {
    let lands = |daemon: &&Daemon| {
        let mut terms = 0..daemon.spec.required_terms.len().max(1);
        tolerates_firmly(daemon, &kind.taints)
            && terms.any(|term| kind.accepts(&daemon.spec.requirements(term)))
    };
    let landing = daemons.iter().filter(lands);
    landing.fold(Resources::default(), |sum, daemon| sum.saturating_add(&daemon.spec.requests))
}
