//! Answers for programs, in the form that the user chose.

use std::io::{self, Write};

use report::json::{self, Versioned};
use serde::Serialize;

/// Writes `answer`, an object, with the version of its form, as YAML if `is_yaml`, otherwise as JSON.
pub(crate) fn write(
    answer: &impl Serialize,
    is_yaml: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if !is_yaml {
        return json::write(answer, out);
    }
    let text = serde_saphyr::to_string(&Versioned::of(answer))
        .map_err(|error| io::Error::other(error.to_string()))?;
    out.write_all(text.as_bytes())
}
