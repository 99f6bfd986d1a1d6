//! Values.

use std::{fmt, sync::Arc};

use crate::{library, semver::Semver};

/// What an expression may come to. Copies are cheap.
#[derive(Clone, Debug)]
pub enum CelValue {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number without a sign.
    Uint(u64),
    /// A number with a fraction, infinite, or no number.
    Double(f64),
    /// A text.
    Text(Arc<str>),
    /// Values in their order.
    List(Arc<[Self]>),
    /// Keys, each once, and their values.
    Map(Arc<[(Self, Self)]>),
    /// A map that has an empty map at every other key.
    OpenMap(Arc<[(Self, Self)]>),
    /// Billionths of a unit.
    Quantity(i128),
    /// A semantic version.
    Semver(Arc<Semver>),
}

impl CelValue {
    /// A whole number, or a double towards zero; `None` if it is neither, or beyond 64 bits.
    pub fn to_int(&self) -> Option<i64> {
        match library::int(std::slice::from_ref(self)) {
            Ok(Self::Int(number)) if !matches!(self, Self::Text(_)) => Some(number),
            _ => None,
        }
    }

    /// A number as a double; `None` if it is none.
    pub fn to_double(&self) -> Option<f64> {
        match library::double(std::slice::from_ref(self)) {
            Ok(Self::Double(number)) if !matches!(self, Self::Text(_)) => Some(number),
            _ => None,
        }
    }

    /// Bytes or items that it has.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::List(items) => items.len(),
            Self::Map(entries) | Self::OpenMap(entries) => entries.len(),
            _ => 0,
        }
    }
}

impl From<&str> for CelValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl fmt::Display for CelValue {
    /// As messages name a key or an index: of lists, maps, quantities and versions only that they are some.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(truth) => truth.fmt(f),
            Self::Int(number) => number.fmt(f),
            Self::Uint(number) => number.fmt(f),
            Self::Double(number) => number.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(_) => f.write_str("a list"),
            Self::Map(_) | Self::OpenMap(_) => f.write_str("a map"),
            Self::Quantity(_) => f.write_str("a quantity"),
            Self::Semver(_) => f.write_str("a semantic version"),
        }
    }
}
