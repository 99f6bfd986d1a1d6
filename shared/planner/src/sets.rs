//! Sets of requirements by number: each distinct set once, and each distinct pair joined once.
//!
//! The algebra itself is `model::Requirements`. Here it only becomes cheap: a claim's requirements
//! are a number, adding a pod's requirements to them is one look-up after the first time.

use std::{collections::BTreeMap, rc::Rc};

use model::{Requirements, requirements::Undefined};

/// Number of a distinct set of requirements.
pub(crate) type SetId = u32;

/// All distinct sets seen so far.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    all: Vec<Rc<Requirements>>,
    ids: BTreeMap<Rc<Requirements>, SetId>,
    joined: BTreeMap<(SetId, SetId), Option<SetId>>,
}

impl Sets {
    /// The number of `set`.
    pub(crate) fn id(&mut self, set: Requirements) -> SetId {
        let set = Rc::new(set);
        if let Some(id) = self.ids.get(&set) {
            return *id;
        }
        let id = SetId::try_from(self.all.len()).unwrap_or(SetId::MAX);
        self.all.push(Rc::clone(&set));
        self.ids.insert(set, id);
        id
    }

    /// The set with number `id`.
    pub(crate) fn get(&self, id: SetId) -> Rc<Requirements> {
        let index = usize::try_from(id).unwrap_or(usize::MAX);
        self.all.get(index).map(Rc::clone).unwrap_or_default()
    }

    /// What is left of a new node's requirements `node` when a pod with `pod` joins it, or `None`
    /// when they do not go together.
    pub(crate) fn join(&mut self, node: SetId, pod: SetId) -> Option<SetId> {
        if let Some(known) = self.joined.get(&(node, pod)) {
            return *known;
        }
        let (mine, wanted) = (self.get(node), self.get(pod));
        let joined = mine.compatible(&wanted, Undefined::WellKnown).is_ok().then(|| {
            let mut both = Requirements::clone(&mine);
            both.add_all(&wanted);
            self.id(both)
        });
        self.joined.insert((node, pod), joined);
        joined
    }
}

#[cfg(test)]
mod tests {
    use model::labels;

    use super::*;

    #[test]
    fn equal_sets_have_one_number_and_joining_narrows() {
        let mut sets = Sets::default();
        let zones = |zones: &[&str]| {
            let zones = zones.iter().copied();
            let zone = model::Requirement::new(labels::ZONE, model::Operator::In, zones);
            Requirements::from_iter([zone.unwrap()])
        };
        let (ab, bc, c) =
            (sets.id(zones(&["a", "b"])), sets.id(zones(&["b", "c"])), sets.id(zones(&["c"])));
        assert_eq!(sets.id(zones(&["b", "a"])), ab);
        let b = sets.id(zones(&["b"]));
        assert_eq!(sets.join(ab, bc), Some(b));
        assert_eq!(sets.join(ab, c), None);
        assert_eq!(sets.join(b, ab), Some(b));
    }
}
