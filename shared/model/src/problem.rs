//! What is wrong with an object of a user.
//!
//! Problems are values from the reader of an object to the code that shows them: code looks at the weight,
//! the field and the rule, and words are made where people read them.

use std::fmt;

use jiff::{Timestamp, Unit};

use crate::{NodeClassName, condition::NotReady, dynamic_resources::InvalidGpuSharing};

/// How much a problem weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// An API server would not have taken the object. No object of the model has such a problem.
    Refused,
    /// The object is taken, and Karpenter's own validation makes it unusable.
    Unusable,
    /// The object is right, and this program does not honor the field yet.
    Unsupported,
    /// The NodePool is taken and launches, and none of its nodes is disrupted by its budgets. No object of the
    /// model has such a problem: its budgets hold what cannot be read.
    ClosesDisruption,
}

/// What is wrong with one field of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// How much it weighs.
    pub weight: Weight,
    /// The field, such as `spec.weight`; empty when it is about the whole object.
    pub field: String,
    /// The rule that it breaks.
    pub rule: Rule,
}

/// A rule that an object breaks: by name where code asks for it, else in words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// What people read. Code never compares it.
    Words(String),
    /// Of a NodePool: its EC2NodeClass is not ready.
    ClassNotReady {
        /// The class.
        class: NodeClassName,
        /// What the status of the class says.
        why: NotReady,
    },
    /// Of a NodePool: EC2 refused to launch for it, and it is tried again later.
    LaunchRefused {
        /// Why, in EC2's words.
        reason: String,
        /// When it is tried again.
        until: Timestamp,
    },
    /// Of an EC2NodeClass: the field is an expression, and the gate `NodeClassCEL` is off.
    ExpressionsDisabled,
    /// Of an EC2NodeClass: the annotation sets how GPUs are shared, and the gate `DRANVIDIAGPU` is off.
    GpuSharingDisabled,
    /// Of an EC2NodeClass: the annotation sets how GPUs are shared, and not to a mode that there is.
    GpuSharingInvalid(String),
    /// The object's own status says that it is not ready.
    NotReady(NotReady),
    /// Of an object that cannot be read: why. What the model holds of it is what could be read.
    Unreadable(String),
}

impl Problem {
    /// A problem by Karpenter's own validation, in words.
    pub fn unusable(field: &str, words: impl Into<String>) -> Self {
        Self { weight: Weight::Unusable, field: field.to_owned(), rule: words.into().into() }
    }

    /// A field that is not honored yet. The words go on after its name.
    pub fn unsupported(field: &str, words: impl Into<String>) -> Self {
        Self { weight: Weight::Unsupported, field: field.to_owned(), rule: words.into().into() }
    }

    /// Whether it is about `field` or a part of it.
    pub fn is_within(&self, field: &str) -> bool {
        let rest = self.field.strip_prefix(field);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }

    /// Several problems on one line.
    pub fn in_words<'a>(problems: impl IntoIterator<Item = &'a Self>) -> String {
        let words: Vec<String> = problems.into_iter().map(ToString::to_string).collect();
        words.join("; ")
    }
}

impl fmt::Display for Problem {
    /// `spec.weight: must be 1 to 100, not 0`; of what is not supported yet: `not supported yet:
    /// spec.kubelet.maxPods as an expression`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { weight, field, rule } = self;
        match (weight, field.as_str()) {
            (Weight::Unsupported, field) => write!(f, "not supported yet: {field} {rule}"),
            (_, "") => rule.fmt(f),
            (_, field) => write!(f, "{field}: {rule}"),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::ClassNotReady { class, why } => {
                write!(f, "EC2NodeClass {class} is not ready: {why}")
            }
            Self::LaunchRefused { reason, until } => {
                let until = until.round(Unit::Second).unwrap_or(*until);
                write!(f, "it launches nothing until {until}: {reason}")
            }
            Self::ExpressionsDisabled => f.write_str(
                "an expression needs the feature gate NodeClassCEL, which is off (FeatureGates=NodeClassCEL=true)",
            ),
            Self::GpuSharingDisabled => f.write_str(
                "sharing GPUs needs the feature gate DRANVIDIAGPU, which is off (FeatureGates=DRANVIDIAGPU=true)",
            ),
            Self::GpuSharingInvalid(mode) => InvalidGpuSharing(mode.clone()).fmt(f),
            Self::NotReady(why) => f.write_str(&why.in_detail()),
            Self::Unreadable(why) => write!(f, "it cannot be read: {why}"),
        }
    }
}

impl From<String> for Rule {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl From<&str> for Rule {
    fn from(words: &str) -> Self {
        Self::Words(words.to_owned())
    }
}
