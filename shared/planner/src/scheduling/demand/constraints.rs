//! What pods ask of a node alone, whatever other pods are there.

use std::{collections::BTreeMap, rc::Rc};

use model::{Requirements, Toleration, labels};

use crate::{
    index::{
        bits::BitSet,
        id::{ConstraintsId, SetId, kind},
        table::Table,
    },
    scheduling::numbers::sets::Sets,
};

/// What pods ask of a node alone, each distinct preference once.
#[derive(Debug, Default)]
pub(crate) struct ConstraintTable {
    pub(crate) all: Table<kind::Constraints, Constraints>,
    numbers: BTreeMap<(Requirements, Vec<Toleration>), ConstraintsId>,
}

/// What a pod asks of a node alone.
#[derive(Debug)]
pub(crate) struct Constraints {
    pub(crate) wanted: Requirements,
    pub(crate) tolerations: Vec<Toleration>,
    /// What it asks of a new node.
    pub(crate) new: NewNodeConstraints,
    /// The pools whose taints are tolerated, from the first use on.
    pub(crate) tolerates: Option<Rc<BitSet<kind::Template>>>,
    /// The existing capacity that would take it, room aside, from the first use on.
    pub(crate) existing: Option<Rc<BitSet<kind::Place>>>,
}

/// What is required of a new node, whose name is not known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewNodeConstraints {
    /// Without the hostname.
    pub(crate) set: SetId,
    /// Whether a new name will do.
    pub(crate) is_possible: bool,
}

/// `wanted` of a new node.
pub(crate) fn of_new(wanted: &Requirements, sets: &mut Sets) -> NewNodeConstraints {
    let mut rest = wanted.clone();
    let hostname = rest.remove(labels::HOSTNAME);
    let is_possible =
        hostname.is_none_or(|requirement| requirement.has("hostname-placeholder-0001"));
    NewNodeConstraints { set: sets.id(&rest), is_possible }
}

impl ConstraintTable {
    /// The number of the constraints of a pod that wants this of the labels and tolerates this.
    pub(crate) fn number(
        &mut self,
        sets: &mut Sets,
        wanted: Requirements,
        tolerations: Vec<Toleration>,
    ) -> ConstraintsId {
        let key = (wanted, tolerations);
        if let Some(known) = self.numbers.get(&key) {
            return *known;
        }
        let (wanted, tolerations) = key.clone();
        let number = self.all.push(Constraints {
            new: of_new(&wanted, sets),
            wanted,
            tolerations,
            tolerates: None,
            existing: None,
        });
        self.numbers.insert(key, number);
        number
    }
}
