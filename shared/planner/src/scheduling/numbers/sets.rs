//! Sets of requirements by number: each distinct requirement and each distinct set once, and each
//! distinct pair joined once.
//!
//! The algebra itself is `model::Requirement`. Here it only becomes cheap: a claim's requirements
//! are a number, adding a pod's requirements to them is one look-up after the first time, and a few
//! look-ups by label the first time.

use std::{collections::BTreeMap, rc::Rc};

use model::{LabelKey, Requirement, Requirements, labels};

use crate::index::{
    id::{LabelId, RequirementId, SetId, kind},
    table::Table,
};

/// A requirement of a set, with the number of its label.
type Entry = (LabelId, RequirementId);

/// All distinct requirements and sets seen so far.
#[derive(Debug, Default)]
pub struct Sets {
    labels: BTreeMap<LabelKey, LabelId>,
    requirements: Table<kind::Requirement, Rc<Requirement>>,
    requirement_ids: BTreeMap<Rc<Requirement>, RequirementId>,
    /// For two requirements on one label what satisfies both, or `None` when nothing does.
    both: BTreeMap<(RequirementId, RequirementId), Option<RequirementId>>,
    /// Each set, sorted by the numbers of its labels.
    all: Table<kind::Set, Rc<[Entry]>>,
    set_ids: BTreeMap<Rc<[Entry]>, SetId>,
    joined: BTreeMap<(SetId, SetId), Option<SetId>>,
}

impl Sets {
    /// The number of `set`.
    pub fn id(&mut self, set: &Requirements) -> SetId {
        let entries = set.iter().map(|requirement| self.entry(requirement.clone())).collect();
        self.id_of(entries)
    }

    fn id_of(&mut self, mut entries: Vec<Entry>) -> SetId {
        entries.sort_unstable();
        if let Some(id) = self.set_ids.get(entries.as_slice()) {
            return *id;
        }
        let entries: Rc<[Entry]> = entries.into();
        let id = self.all.push(Rc::clone(&entries));
        self.set_ids.insert(entries, id);
        id
    }

    fn entry(&mut self, requirement: Requirement) -> Entry {
        let label = self.label(requirement.key());
        if let Some(id) = self.requirement_ids.get(&requirement) {
            return (label, *id);
        }
        let requirement = Rc::new(requirement);
        let id = self.requirements.push(Rc::clone(&requirement));
        self.requirement_ids.insert(requirement, id);
        (label, id)
    }

    /// The numbers of the requirements of the set with number `id`.
    pub(crate) fn members(&self, id: SetId) -> impl Iterator<Item = RequirementId> {
        self.all[id].iter().map(|(_, requirement)| *requirement)
    }

    /// The number of `label`.
    pub(crate) fn label(&mut self, label: &LabelKey) -> LabelId {
        let next = LabelId::nth(self.labels.len());
        *self.labels.entry(label.clone()).or_insert(next)
    }

    /// The number of the requirement of the set `id` on `label`.
    pub(crate) fn on(&self, id: SetId, label: LabelId) -> Option<RequirementId> {
        self.all[id].iter().find(|(own, _)| *own == label).map(|(_, requirement)| *requirement)
    }

    /// The requirement with number `id`.
    pub(crate) fn requirement(&self, id: RequirementId) -> &Rc<Requirement> {
        &self.requirements[id]
    }

    /// The set with number `id`.
    pub fn get(&self, id: SetId) -> Requirements {
        self.members(id)
            .map(|requirement| Requirement::clone(self.requirement(requirement)))
            .collect()
    }

    /// What is left of a new node's requirements `node` when a pod with `pod` joins it, or `None`
    /// when they do not go together: `Requirements::compatible` where well-known labels may be
    /// undefined, and the intersection.
    pub fn join(&mut self, node: SetId, pod: SetId) -> Option<SetId> {
        if self.all[pod].is_empty() {
            return Some(node);
        }
        if let Some(known) = self.joined.get(&(node, pod)) {
            return *known;
        }
        let joined = self.joined_entries(node, pod).map(|entries| self.id_of(entries));
        self.joined.insert((node, pod), joined);
        joined
    }

    fn joined_entries(&mut self, node: SetId, pod: SetId) -> Option<Vec<Entry>> {
        let mut entries = self.all[node].to_vec();
        let wanted = Rc::clone(&self.all[pod]);
        for (label, requirement) in wanted.iter() {
            match entries.iter_mut().find(|(own, _)| own == label) {
                Some((_, own)) => *own = self.both(*own, *requirement)?,
                None if self.may_be_undefined(*requirement) => entries.push((*label, *requirement)),
                None => return None,
            }
        }
        Some(entries)
    }

    fn may_be_undefined(&self, id: RequirementId) -> bool {
        let requirement = self.requirement(id);
        labels::is_well_known(requirement.key().as_str()) || requirement.allows_absence()
    }

    fn both(&mut self, own: RequirementId, wanted: RequirementId) -> Option<RequirementId> {
        let is_possible = |requirement: &Requirement| {
            !requirement.values().is_empty() && requirement.can_be_satisfied()
        };
        if own == wanted && is_possible(self.requirement(own)) {
            return Some(own);
        }
        if let Some(known) = self.both.get(&(own, wanted)) {
            return *known;
        }
        let (a, b) = (self.requirement(own), self.requirement(wanted));
        let fit = a.allows_absence() && b.allows_absence() || a.has_intersection(b);
        let intersection = (fit && b.can_be_satisfied())
            .then(|| a.intersection(b))
            .filter(Requirement::can_be_satisfied);
        let both = intersection.map(|requirement| self.entry(requirement).1);
        self.both.insert((own, wanted), both);
        both
    }
}
