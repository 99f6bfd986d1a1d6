//! Rules across fields: the CEL text that a definition holds, beside the check that does the same here.
//!
//! A schema names its rules by [`validations`]; the walk over an object finds their checks again. So no
//! rule is in a definition that is not checked, and the other way round.

use serde_json::{Value, json};

use crate::document::field::Check;

/// A rule across fields. Some of Karpenter's texts say `!self.all(…)` where each item is meant: an API
/// server refuses a list only if every item of it is wrong. The check means each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    texts: Texts,
    /// Complains, at the field of the schema or within it, where the rule is broken.
    pub(crate) check: Check,
}

/// What an API server is given: each a CEL expression and the message of its violation.
#[derive(Clone, Copy, Debug)]
enum Texts {
    One(&'static str, &'static str),
    Made(fn() -> Vec<(String, String)>),
}

impl Rule {
    /// One expression.
    pub(crate) const fn new(expression: &'static str, message: &'static str, check: Check) -> Self {
        Self { texts: Texts::One(expression, message), check }
    }

    /// An expression whose check is that of the rule before it.
    pub(crate) const fn and(expression: &'static str, message: &'static str) -> Self {
        Self::new(expression, message, |_| {})
    }

    /// A rule about a change: an object by itself cannot break it.
    pub(crate) const fn of_change(expression: &'static str, message: &'static str) -> Self {
        Self::and(expression, message)
    }

    /// Expressions that are put together, with one check.
    pub(crate) const fn made(texts: fn() -> Vec<(String, String)>, check: Check) -> Self {
        Self { texts: Texts::Made(texts), check }
    }

    /// Its expressions, each with its message.
    pub(crate) fn texts(self) -> Vec<(String, String)> {
        match self.texts {
            Texts::One(expression, message) => vec![(expression.to_owned(), message.to_owned())],
            Texts::Made(make) => make(),
        }
    }
}

/// `x-kubernetes-validations` of a schema with these rules.
pub(crate) fn validations(rules: &[Rule]) -> Value {
    let texts = rules.iter().flat_map(|rule| rule.texts());
    texts.map(|(rule, message)| json!({"message": message, "rule": rule})).collect()
}
