//! What a change set changes, as the rows of a table: what is lost first, what is new last.

use std::collections::BTreeMap;

use crate::live::ResourceChange;

/// The heads of the table.
pub const HEADS: [&str; 3] = ["CHANGE", "RESOURCE", "TYPE"];

/// What becomes of a resource, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Deleted,
    Replaced,
    MayBeReplaced,
    Changed,
    Other,
    Created,
}

impl Fate {
    fn of(change: &ResourceChange) -> Self {
        match (change.action.as_str(), change.replacement.as_str()) {
            ("Remove", _) => Self::Deleted,
            ("Modify", "True") => Self::Replaced,
            ("Modify", "Conditional") => Self::MayBeReplaced,
            ("Modify", _) => Self::Changed,
            ("Add", _) => Self::Created,
            _ => Self::Other,
        }
    }

    fn word(self, change: &ResourceChange) -> String {
        match self {
            Self::Deleted => "delete".to_owned(),
            Self::Replaced => "replace".to_owned(),
            Self::MayBeReplaced => "change, may replace".to_owned(),
            Self::Changed => "change".to_owned(),
            Self::Other => change.action.to_lowercase(),
            Self::Created => "create".to_owned(),
        }
    }
}

/// A row for each resource; new resources of one type share a row, because a new stack has more than a hundred.
pub fn rows(changes: &[ResourceChange]) -> Vec<Vec<String>> {
    let mut present: Vec<(Fate, &ResourceChange)> =
        changes.iter().map(|change| (Fate::of(change), change)).collect();
    present.sort_by_key(|(fate, change)| (*fate, change.kind.as_str(), change.name.as_str()));
    let mut created: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut rows = Vec::new();
    for (fate, change) in present {
        if fate == Fate::Created {
            created.entry(&change.kind).or_default().push(&change.name);
        } else {
            rows.push(vec![fate.word(change), change.name.clone(), change.kind.clone()]);
        }
    }
    for (kind, names) in created {
        let resources = match names.as_slice() {
            [name] => (*name).to_owned(),
            names => format!("{} resources", names.len()),
        };
        rows.push(vec!["create".to_owned(), resources, kind.to_owned()]);
    }
    rows
}
