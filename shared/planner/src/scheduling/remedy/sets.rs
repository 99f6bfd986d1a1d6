//! Changes that help together where no single one does.

use model::node_pool::NodePool;

use super::{
    Change, Group, pod,
    search::{PAIRED_MAX, Search, Try, alone, has_place, key, of_pool},
    words::Words,
};

/// One change of a set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part<'p> {
    Of(&'p Change),
    OfPod(&'p pod::Rule),
}

impl Search {
    /// Drops pairs of rules of pods.
    pub(super) fn of_pairs(&mut self, groups: &mut [Group<'_>]) {
        let pairs = |group: &Group<'_>| {
            let rules = group.rules.len();
            let is_open = group.needs_sets() && group.is_its_own_fault && rules <= PAIRED_MAX;
            let rules = if is_open { rules } else { 0 };
            (0..rules).flat_map(|second| (0..second).map(move |first| [first, second]))
        };
        let mut tries = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            for [first, second] in pairs(group) {
                let dropped: Vec<&pod::Rule> =
                    [first, second].into_iter().filter_map(|n| group.rules.get(n)).collect();
                tries.push(alone(group, &[number, first, second], &dropped));
            }
        }
        if tries.is_empty() {
            return;
        }
        let Some(places) = self.places(&[], tries) else { return };
        for (number, group) in groups.iter_mut().enumerate() {
            let helps = |[first, second]: &[usize; 2]| {
                has_place(&places, group, &[number, *first, *second])
            };
            let Some(pair) = pairs(group).find(helps) else { continue };
            let rules = pair.into_iter().filter_map(|place| group.rules.get(place));
            group.together = Some(rules.map(|rule| rule.in_words(group.pod)).collect());
        }
    }

    /// Makes all changes, of the pod alone if that suffices, and then takes back each that is not needed.
    pub(super) fn of_sets(&mut self, groups: &mut [Group<'_>]) {
        for number in 0..groups.len() {
            let Some(group) = groups.get(number).filter(|group| group.needs_sets()) else {
                continue;
            };
            let Some((words, shared)) = self.set_of(number, group) else { return };
            if words.is_empty() {
                continue;
            }
            let others = groups.iter().enumerate().skip(number + 1);
            let others = others.filter(|(_, other)| other.needs_sets() && !shared.is_empty());
            let tries: Vec<Try> =
                others.map(|(other, group)| alone(group, &[other], &[])).collect();
            let places = if tries.is_empty() { None } else { self.places(&shared, tries) };
            let places = places.unwrap_or_default();
            for (other, group) in groups.iter_mut().enumerate() {
                if other == number || has_place(&places, group, &[other]) {
                    group.together = Some(words.clone());
                }
            }
        }
    }

    /// The set that lets pods of `group` be scheduled, in words, none if none is found, and its changes if none is of the
    /// pod: other pods may need the same. `None` if that takes too many steps.
    fn set_of(&mut self, number: usize, group: &Group<'_>) -> Option<(Vec<Words>, Vec<Change>)> {
        let mut systems: Vec<Vec<Change>> = vec![Vec::new()];
        if !group.is_its_own_fault {
            let of_one = |pool: &NodePool| {
                [self.of_class(&pool.template.node_class), of_pool(pool)].concat()
            };
            systems = self.usable_pools().map(of_one).collect();
        }
        for system in systems {
            let asked = |label: &str| group.rules.iter().any(|rule| rule.is_of(label));
            let system = system.iter().filter(|change| match change {
                Change::Class(_, rule) => rule.label().is_none_or(asked),
                Change::Pool(..) | Change::Workload(..) => true,
            });
            // What comes first is taken back first.
            let sizes = group.sizes.iter().filter(|_| !group.is_its_own_fault);
            let rules = group.rules.iter().chain(sizes);
            let parts = system.map(Part::Of).chain(rules.map(Part::OfPod)).collect();
            let needed = self.needed((number, group), parts)?;
            if needed.is_empty() {
                continue;
            }
            let in_words = |part: &Part<'_>| match part {
                Part::Of(change) => change.in_words(),
                Part::OfPod(rule) => rule.in_words(group.pod),
            };
            let change = |part: &Part<'_>| match part {
                Part::Of(change) => Some(Change::clone(change)),
                Part::OfPod(_) => None,
            };
            let shared: Option<Vec<Change>> = needed.iter().map(change).collect();
            return Some((needed.iter().map(in_words).collect(), shared.unwrap_or_default()));
        }
        Some((Vec::new(), Vec::new()))
    }

    /// Those of `parts` of which each is needed to let the pod be scheduled; none if they do not let it. `None` if that
    /// takes too many steps.
    fn needed<'p>(
        &mut self,
        of: (usize, &Group<'_>),
        mut parts: Vec<Part<'p>>,
    ) -> Option<Vec<Part<'p>>> {
        if !self.helps(of, &parts)? {
            return Some(Vec::new());
        }
        for part in parts.clone() {
            let others: Vec<Part<'_>> =
                parts.iter().copied().filter(|other| *other != part).collect();
            if self.helps(of, &others)? {
                parts = others;
            }
        }
        Some(parts)
    }

    fn helps(&mut self, (number, group): (usize, &Group<'_>), parts: &[Part<'_>]) -> Option<bool> {
        let (mut changes, mut rules) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Part::Of(change) => changes.push(Change::clone(change)),
                Part::OfPod(rule) => rules.push(*rule),
            }
        }
        let places = self.places(&changes, vec![alone(group, &[number], &rules)])?;
        places.get(&key(group.pod, &[number])).copied()
    }
}
