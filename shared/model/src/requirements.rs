//! Sets of requirements, one for each label.
//!
//! Karpenter: `pkg/scheduling/requirements.go`.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
};

use crate::{InstanceType, LabelKey, Requirement, labels};

/// Requirements by label. Adding to a label that is there intersects.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirements(BTreeMap<LabelKey, Requirement>);

/// Labels of the node side that a pod may ask for although they are not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undefined {
    /// None: what the node lacks cannot be asked for. For existing nodes.
    Refused,
    /// The well-known ones: the instance type will define them. For nodes yet to be launched.
    WellKnown,
}

/// Why two sets of requirements do not go together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Incompatible {
    /// The node side says nothing about a label that the pod side asks for.
    #[error("label \"{key}\" does not have known values{}", shown_hint(hint.as_deref()))]
    Undefined {
        /// The label.
        key: LabelKey,
        /// A known label that may have been meant.
        hint: Option<String>,
    },
    /// No value satisfies both.
    #[error("key {}, {wanted} not in {offered}", wanted.key())]
    Disjoint {
        /// What the pod side asks.
        wanted: Box<Requirement>,
        /// What the node side has.
        offered: Box<Requirement>,
    },
    /// The values that both allow are none that a label can have, or the key is none.
    #[error("{0}, which no label of a node can have")]
    NoLabel(Box<Requirement>),
}

/// How far instance types reach towards every `minValues`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MinValues {
    /// How many types, from the first, it takes; all of them when it is not reached.
    pub types: usize,
    /// The labels whose `minValues` is not reached, with the number of values that is.
    pub violated: BTreeMap<LabelKey, u32>,
}

impl Requirements {
    /// No requirement at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// The requirements that a node with these labels satisfies. Labels that Kubernetes would not
    /// have let in (an empty key) are left out.
    pub fn of_labels<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        labels
            .into_iter()
            .filter_map(|(key, value)| Requirement::of_label(key, value).ok())
            .collect()
    }

    /// Requirements on different labels, which is much quicker than adding one by one when they come
    /// in the order of the labels. Of two on one label the later stands.
    pub fn of_distinct(requirements: impl IntoIterator<Item = Requirement>) -> Self {
        Self(
            requirements
                .into_iter()
                .map(|requirement| (requirement.key().clone(), requirement))
                .collect(),
        )
    }

    /// Adds one; a requirement on the same label is intersected with it.
    pub fn add(&mut self, requirement: Requirement) {
        match self.0.entry(requirement.key().clone()) {
            Entry::Occupied(mut entry) => {
                let both = entry.get().intersection(&requirement);
                entry.insert(both);
            }
            Entry::Vacant(entry) => {
                entry.insert(requirement);
            }
        }
    }

    /// Adds all of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for requirement in other.iter() {
            self.add(requirement.clone());
        }
    }

    /// Puts one in place of whatever stood for its label.
    pub fn replace(&mut self, requirement: Requirement) {
        self.0.insert(requirement.key().clone(), requirement);
    }

    /// Takes the requirement on `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Requirement> {
        self.0.remove(key)
    }

    /// The requirement on `key`, if there is one. Absence allows every value.
    pub fn get(&self, key: &str) -> Option<&Requirement> {
        self.0.get(key)
    }

    /// Whether there is a requirement on `key`.
    pub fn contains(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// In the order of the labels.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Requirement> {
        self.0.values()
    }

    /// How many labels have a requirement.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no label has one.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether any requirement has a `minValues`.
    pub fn has_min_values(&self) -> bool {
        self.iter().any(|requirement| requirement.min_values().is_some())
    }

    /// Whether a pod with `wanted` may go onto a node with these. All reasons why not: first the
    /// labels that are unknown here, then those without a common value.
    ///
    /// Beside [`Requirements::intersects`], a label that the pod side asks for must be known here,
    /// unless `undefined` lets it pass or its absence satisfies the pod; and what both sides leave to
    /// a node yet to be launched must be something that it can be labeled with.
    pub fn compatible(&self, wanted: &Self, undefined: Undefined) -> Result<(), Vec<Incompatible>> {
        let is_known = |requirement: &&Requirement| {
            let key = requirement.key().as_str();
            undefined == Undefined::WellKnown && labels::is_well_known(key)
                || self.contains(key)
                || requirement.allows_absence()
        };
        let mut problems: Vec<_> = wanted
            .iter()
            .filter(|requirement| !is_known(requirement))
            .map(|requirement| Incompatible::Undefined {
                key: requirement.key().clone(),
                hint: self.typo_hint(requirement.key().as_str()),
            })
            .collect();
        problems.extend(self.intersects(wanted).err().into_iter().flatten());
        if undefined == Undefined::WellKnown {
            problems.extend(wanted.iter().filter_map(|wanted| self.no_label(wanted)));
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// What no node can be labeled with, although it is in both sets.
    fn no_label(&self, wanted: &Requirement) -> Option<Incompatible> {
        let offered = self.get(wanted.key().as_str())?;
        let no_label = |requirement| Some(Incompatible::NoLabel(Box::new(requirement)));
        if !wanted.can_be_satisfied() {
            return no_label(wanted.clone());
        }
        // Nearly always one of the values wanted will do, and nothing has to be made to see it.
        if offered.takes_value_of(wanted) {
            return None;
        }
        let both = offered.intersection(wanted);
        if both.can_be_satisfied() { None } else { no_label(both) }
    }

    /// Whether every label that both name has a value that satisfies both.
    ///
    /// Two requirements that both accept absence go together without a common value.
    pub fn intersects(&self, wanted: &Self) -> Result<(), Vec<Incompatible>> {
        let disjoint = |requirement: &Requirement| {
            let offered = self.get(requirement.key().as_str())?;
            let both_absent = offered.allows_absence() && requirement.allows_absence();
            (!both_absent && !offered.has_intersection(requirement)).then(|| {
                Incompatible::Disjoint {
                    wanted: Box::new(requirement.clone()),
                    offered: Box::new(offered.clone()),
                }
            })
        };
        let problems: Vec<_> = wanted.iter().filter_map(disjoint).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// How many of `types`, in their order, it takes to reach every `minValues`. An empty list
    /// passes: callers look at emptiness themselves.
    ///
    /// The values counted are the type's own, whether this set allows them or not, as in Karpenter.
    pub fn min_values<'a>(&self, types: impl IntoIterator<Item = &'a InstanceType>) -> MinValues {
        let wanted: Vec<(&Requirement, u32)> =
            self.iter().filter_map(|r| Some((r, r.min_values()?))).collect();
        let mut seen = vec![std::collections::BTreeSet::new(); wanted.len()];
        let missing = |seen: &[std::collections::BTreeSet<&str>]| -> BTreeMap<LabelKey, u32> {
            let count = |values: &std::collections::BTreeSet<&str>| {
                u32::try_from(values.len()).unwrap_or(u32::MAX)
            };
            let both = wanted.iter().zip(seen);
            both.filter(|((_, min), values)| count(values) < *min)
                .map(|((requirement, _), values)| (requirement.key().clone(), count(values)))
                .collect()
        };
        let mut types_seen = 0;
        for instance_type in types {
            types_seen += 1;
            for ((requirement, _), values) in wanted.iter().zip(&mut seen) {
                let offered = instance_type
                    .requirements
                    .get(requirement.key().as_str())
                    .into_iter()
                    .flat_map(Requirement::values);
                values.extend(offered.map(|value| &**value).filter(|value| requirement.has(value)));
            }
            if missing(&seen).is_empty() {
                return MinValues { types: types_seen, violated: BTreeMap::new() };
            }
        }
        let violated = if types_seen == 0 { BTreeMap::new() } else { missing(&seen) };
        MinValues { types: types_seen, violated }
    }

    /// A label that may have been meant by `key`: one that contains it, or that ends with what
    /// follows its `/`. A well-known label was meant as it stands.
    fn typo_hint(&self, key: &str) -> Option<String> {
        if labels::is_well_known(key) {
            return None;
        }
        let name = key.rsplit('/').next().unwrap_or(key);
        let map = self.0.keys().map(LabelKey::as_str);
        let known = labels::well_known().map(|key| -> &str { key }).chain(map);
        known
            .filter(|known| known.contains(key) || known.ends_with(name))
            .map(ToOwned::to_owned)
            .next()
    }
}

fn shown_hint(hint: Option<&str>) -> String {
    hint.map(|label| format!(" (typo of \"{label}\"?)")).unwrap_or_default()
}

impl FromIterator<Requirement> for Requirements {
    fn from_iter<I: IntoIterator<Item = Requirement>>(requirements: I) -> Self {
        let mut both = Self::new();
        for requirement in requirements {
            both.add(requirement);
        }
        both
    }
}

impl fmt::Display for Requirements {
    /// Entries sorted and joined by `, `, without labels that users may not set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.iter().filter(|r| !labels::is_restricted(r.key().as_str()));
        let mut lines: Vec<String> = shown.map(ToString::to_string).collect();
        lines.sort();
        f.write_str(&lines.join(", "))
    }
}
