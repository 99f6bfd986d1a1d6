//! Changes in words.

/// Changes of which one is named as what helps.
pub(super) const NAMED_MAX: usize = 3;

/// A change in words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Words {
    /// What is not there then: `the taint …`.
    Without(String),
    /// What is there then: `a subnet in …`.
    With(String),
}

impl Words {
    fn alone(&self) -> String {
        match self {
            Self::Without(what) => format!("without {what}"),
            Self::With(what) => format!("with {what}"),
        }
    }
}

/// That any one of `changes` would let the pod be scheduled.
pub(super) fn any_of(changes: &[Words]) -> String {
    let named: Vec<String> = changes.iter().take(NAMED_MAX).map(Words::alone).collect();
    format!("it could be scheduled {}", named.join(", or "))
}

/// That all of `changes` together would let the pod be scheduled.
pub(super) fn all_of(changes: &[Words]) -> String {
    if let [change] = changes {
        return any_of(std::slice::from_ref(change));
    }
    let joined = |preposition: &str, named: Vec<&str>| {
        (!named.is_empty()).then(|| format!("{preposition} {}", named.join(" and ")))
    };
    let without = changes.iter().filter_map(|change| match change {
        Words::Without(what) => Some(what.as_str()),
        Words::With(_) => None,
    });
    let with = changes.iter().filter_map(|change| match change {
        Words::With(what) => Some(what.as_str()),
        Words::Without(_) => None,
    });
    let parts = [joined("without", without.collect()), joined("with", with.collect())];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("it could be scheduled {} together", parts.join(" and "))
}
