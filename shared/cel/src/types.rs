//! Types of values, as far as they are known before an evaluation.

use std::{fmt, sync::Arc};

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Any of the others: only its evaluation tells.
    Dyn,
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A whole number of 64 bits with a sign.
    Int,
    /// A whole number of 64 bits without a sign.
    Uint,
    /// A number with a fraction.
    Double,
    /// A text.
    Text,
    /// Values of one type in an order.
    List(Box<Self>),
    /// Values by keys.
    Map(Box<(Self, Self)>),
    /// Fields of these names and no others.
    Object(Arc<[(&'static str, Self)]>),
    /// A quantity of Kubernetes.
    Quantity,
    /// A semantic version.
    Semver,
}

impl Type {
    /// A list of `items`.
    pub fn list(items: Self) -> Self {
        Self::List(Box::new(items))
    }

    /// A map from `keys` to `values`.
    pub fn map(keys: Self, values: Self) -> Self {
        Self::Map(Box::new((keys, values)))
    }

    /// Whether a value of one may be one of the other.
    pub fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (Self::List(one), Self::List(other)) => one.fits(other),
            (Self::Map(one), Self::Map(other)) => one.0.fits(&other.0) && one.1.fits(&other.1),
            _ => self == other,
        }
    }

    /// The type of values that have either type.
    pub(crate) fn or(self, other: &Self) -> Self {
        match (self, other) {
            (Self::List(one), Self::List(other)) => Self::list(one.or(other)),
            (Self::Map(one), Self::Map(other)) => {
                let (keys, values) = *one;
                Self::map(keys.or(&other.0), values.or(&other.1))
            }
            (one, other) if one == *other => one,
            _ => Self::Dyn,
        }
    }

    /// The type of all of `types`.
    pub(crate) fn of_all(types: impl Iterator<Item = Self>) -> Self {
        types.reduce(|kind, next| kind.or(&next)).unwrap_or(Self::Dyn)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null_type"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::Text => f.write_str("string"),
            Self::List(items) => write!(f, "list({items})"),
            Self::Map(parts) => write!(f, "map({}, {})", parts.0, parts.1),
            Self::Object(_) => f.write_str("object"),
            Self::Quantity => f.write_str("quantity"),
            Self::Semver => f.write_str("semver"),
        }
    }
}
