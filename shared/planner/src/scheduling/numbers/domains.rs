//! Labels by whose values pods are spread or kept together, and their values as numbers.
//!
//! The hostname is not among them: its values are the nodes themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use model::{LabelKey, Requirement, Values, requirement::Value};

use crate::{
    index::{
        bits::BitSet,
        id::{DomainId, KeyId, LabelId, RequirementId, SetId, kind},
        table::Table,
    },
    scheduling::numbers::sets::Sets,
};

/// Some of the domains of a label.
pub(crate) type Domains = BitSet<kind::Domain>;

/// By label: what a set of requirements leaves of its domains.
pub(crate) type LeftByKey = Table<kind::Key, Left>;

/// One label with its values, which are the domains.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) label: LabelKey,
    /// Its number in `Sets`.
    number: LabelId,
    values: Table<kind::Domain, Value>,
    numbers: BTreeMap<Value, DomainId>,
    /// The domains that a requirement allows, of those that there were then.
    masks: BTreeMap<RequirementId, (usize, Rc<Domains>)>,
    /// By domains: the set that asks for exactly those.
    asking: BTreeMap<Domains, SetId>,
}

/// What a set of requirements leaves of the domains of a label.
#[derive(Clone, Debug)]
pub(crate) enum Left {
    /// The set says nothing about the label.
    Anything,
    /// Exactly one.
    One(DomainId),
    /// These; the flag says that they are listed, not excluded.
    Some(Rc<Domains>, bool),
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    pub(crate) all: Table<kind::Key, Key>,
    by_label: BTreeMap<LabelKey, KeyId>,
    /// By set: what it leaves of each label.
    left: BTreeMap<SetId, Rc<LeftByKey>>,
}

impl Keys {
    /// The number of `label`, which is new if need be.
    pub(crate) fn key(&mut self, label: &LabelKey, sets: &mut Sets) -> KeyId {
        if let Some(known) = self.by_label.get(label) {
            return *known;
        }
        let key = self.all.push(Key {
            label: label.clone(),
            number: sets.label(label),
            values: Table::default(),
            numbers: BTreeMap::new(),
            masks: BTreeMap::new(),
            asking: BTreeMap::new(),
        });
        self.by_label.insert(label.clone(), key);
        key
    }

    /// Gives the values of `key` their numbers, in their own order.
    pub(crate) fn know(&mut self, key: KeyId, values: &BTreeSet<Value>) {
        for value in values {
            self.all[key].domain(value);
        }
    }

    /// The number of what `set` asks of the label `key`.
    pub(crate) fn asked(&self, key: KeyId, set: SetId, sets: &Sets) -> Option<RequirementId> {
        sets.on(set, self.all[key].number)
    }

    /// What `set` leaves of each label. Labels and domains that came later are not in it.
    pub(crate) fn left(&mut self, set: SetId, sets: &Sets) -> Rc<LeftByKey> {
        if let Some(known) = self.left.get(&set) {
            return Rc::clone(known);
        }
        let of_key = |key: &mut Key| match sets.on(set, key.number) {
            None => Left::Anything,
            Some(id) => key.left(id, sets.requirement(id)),
        };
        let lefts: Rc<LeftByKey> = Rc::new(self.all.iter_mut().map(of_key).collect());
        self.left.insert(set, Rc::clone(&lefts));
        lefts
    }
}

impl Key {
    /// The number of the domain `value`, which is new if need be.
    pub(crate) fn domain(&mut self, value: &Value) -> DomainId {
        if let Some(known) = self.numbers.get(value) {
            return *known;
        }
        let number = self.values.push(Value::clone(value));
        self.numbers.insert(Value::clone(value), number);
        number
    }

    pub(crate) fn find(&self, value: &str) -> Option<DomainId> {
        self.numbers.get(value).copied()
    }

    /// The value that `domain` is.
    pub(crate) fn name(&self, domain: DomainId) -> &Value {
        &self.values[domain]
    }

    /// The values that `domains` are.
    pub(crate) fn names<'a>(&'a self, domains: &'a Domains) -> impl Iterator<Item = &'a Value> {
        domains.iter().map(|domain| &self.values[domain])
    }

    /// The domains that the requirement with number `id` allows.
    pub(crate) fn mask(&mut self, id: RequirementId, requirement: &Requirement) -> Rc<Domains> {
        if let Some((_, mask)) = self.masks.get(&id).filter(|(len, _)| *len == self.values.len()) {
            return Rc::clone(mask);
        }
        let mask = Rc::new(self.having(requirement));
        self.masks.insert(id, (self.values.len(), Rc::clone(&mask)));
        mask
    }

    /// The domains that `requirement` allows.
    pub(crate) fn having(&self, requirement: &Requirement) -> Domains {
        BitSet::of(self.values.len(), |domain| requirement.has(&self.values[domain]))
    }

    fn left(&mut self, id: RequirementId, requirement: &Requirement) -> Left {
        if !requirement.is_complement() {
            // An unknown value is a domain once a pod is there.
            for value in requirement.values() {
                self.domain(value);
            }
        }
        if let Some(value) = requirement.single_value() {
            return Left::One(self.domain(value));
        }
        Left::Some(self.mask(id, requirement), !requirement.is_complement())
    }

    /// The set that asks for exactly `domains`.
    pub(crate) fn asking(&mut self, domains: &Domains, sets: &mut Sets) -> SetId {
        if let Some(known) = self.asking.get(domains) {
            return *known;
        }
        let values: Values = self.names(domains).map(Value::clone).collect();
        let set = sets.id(&[Requirement::listed(self.label.clone(), values)].into_iter().collect());
        self.asking.insert(domains.clone(), set);
        set
    }
}
