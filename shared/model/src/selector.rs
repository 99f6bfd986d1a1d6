//! Label selectors: which objects a constraint is about.
//!
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// A label selector. An empty one selects everything; where the field is absent, nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelSelector {
    /// All of these must hold. A set, so that a repeated expression is the same selector.
    pub expressions: BTreeSet<SelectorExpression>,
    /// It breaks a rule of the API: it selects nothing.
    pub is_invalid: bool,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SelectorExpression {
    /// The label.
    pub key: String,
    /// What is asked of it.
    pub operator: SelectorOperator,
    /// Of `In` and `NotIn`, else empty.
    pub values: BTreeSet<String>,
}

/// What a selector asks of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SelectorOperator {
    /// It is there with one of the values.
    In,
    /// It is not there, or with another value.
    NotIn,
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
}

impl LabelSelector {
    /// The selector of `matchLabels`.
    pub fn of_labels<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let expressions = labels.into_iter().map(|(key, value)| SelectorExpression::is(key, value));
        Self { expressions: expressions.collect(), is_invalid: false }
    }

    /// The same with `key` equal to `value` as well.
    #[must_use]
    pub fn and(mut self, key: &str, value: &str) -> Self {
        self.expressions.insert(SelectorExpression::is(key, value));
        self
    }

    /// Whether an object with `labels` is selected.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        !self.is_invalid && self.expressions.iter().all(|expression| expression.holds(labels))
    }
}

impl fmt::Display for LabelSelector {
    /// As kubectl takes it: `app=web,tier in (a,b),!old`; `every pod` of an empty one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expressions: Vec<String> = self.expressions.iter().map(ToString::to_string).collect();
        if expressions.is_empty() {
            return f.write_str("every pod");
        }
        f.write_str(&expressions.join(","))
    }
}

impl fmt::Display for SelectorExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<&str> = self.values.iter().map(String::as_str).collect();
        let (key, listed) = (&self.key, values.join(","));
        match (self.operator, values.as_slice()) {
            (SelectorOperator::In, [value]) => write!(f, "{key}={value}"),
            (SelectorOperator::NotIn, [value]) => write!(f, "{key}!={value}"),
            (SelectorOperator::In, _) => write!(f, "{key} in ({listed})"),
            (SelectorOperator::NotIn, _) => write!(f, "{key} notin ({listed})"),
            (SelectorOperator::Exists, _) => f.write_str(key),
            (SelectorOperator::DoesNotExist, _) => write!(f, "!{key}"),
        }
    }
}

impl SelectorExpression {
    /// The label `key` is there with `value`.
    pub fn is(key: &str, value: &str) -> Self {
        let values = BTreeSet::from([value.to_owned()]);
        Self { key: key.to_owned(), operator: SelectorOperator::In, values }
    }

    /// Whether it holds for `labels`.
    pub fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match self.operator {
            SelectorOperator::In => value.is_some_and(|value| self.values.contains(value)),
            SelectorOperator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            SelectorOperator::Exists => value.is_some(),
            SelectorOperator::DoesNotExist => value.is_none(),
        }
    }
}
