//! Answers for programs.

use std::io::{self, Write};

use model::HourlyPrice;
use serde::Serialize;

use crate::{format::Format, output::exact_dollars};

/// The version of the form of every JSON and YAML answer. It grows when a member is renamed or removed, or changes its
/// type; members that are added do not change it.
pub const SCHEMA_VERSION: u32 = 2;

/// An answer, which is an object, with the version of its form.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Versioned<T> {
    schema_version: u32,
    #[serde(flatten)]
    answer: T,
}

impl<T> Versioned<T> {
    /// `answer` in the form of this release.
    pub const fn of(answer: T) -> Self {
        Self { schema_version: SCHEMA_VERSION, answer }
    }
}

/// Writes `answer`, an object, with the version of its form, as YAML or else as JSON.
pub fn write(answer: &impl Serialize, format: Format, out: &mut impl Write) -> io::Result<()> {
    print(&Versioned::of(answer), format, out)
}

/// Writes `answer` as YAML or else as JSON.
pub fn print(answer: &impl Serialize, format: Format, out: &mut impl Write) -> io::Result<()> {
    if format == Format::Yaml {
        let text = serde_saphyr::to_string(answer);
        return out
            .write_all(text.map_err(|error| io::Error::other(error.to_string()))?.as_bytes());
    }
    serde_json::to_writer_pretty(&mut *out, answer)?;
    writeln!(out)
}

/// Dollars as a number: the one whose shortest decimal form is the exact amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Dollars(f64);

impl Dollars {
    /// Of nano-dollars.
    pub fn of(nanos: u128) -> Self {
        Self::parsed(&exact_dollars(nanos))
    }

    /// `amount` without `less`, both in nano-dollars.
    pub fn difference(amount: u128, less: u128) -> Self {
        let sign = if amount < less { "-" } else { "" };
        Self::parsed(&format!("{sign}{}", exact_dollars(amount.abs_diff(less))))
    }

    fn parsed(decimal: &str) -> Self {
        // Each decimal is a number.
        Self(decimal.parse().unwrap_or_default())
    }
}

impl From<HourlyPrice> for Dollars {
    fn from(price: HourlyPrice) -> Self {
        Self::parsed(&price.to_string())
    }
}
