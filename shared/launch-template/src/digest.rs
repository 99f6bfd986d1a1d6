//! A stable digest of structured values, for names that are made of what they name.
//!
//! FNV-1a with 64 bits over fields in a fixed order. Each field is its name, then either `absent`
//! or the length and the bytes of its text, so that no two different lists of fields read alike.
//! It is ours: only names that we made ourselves are compared with it. Launch templates and instance
//! profiles that exist are named by it, so another function would have all of them made anew.

use std::fmt::{Display, Write as _};

/// Collects fields.
#[derive(Debug, Default)]
pub(crate) struct Digest {
    text: String,
}

impl Digest {
    /// Adds a field that is there.
    pub(crate) fn field(&mut self, name: &str, value: impl Display) {
        let value = value.to_string();
        self.push(format_args!("{name}:{}:{value}\n", value.len()));
    }

    /// Adds a field that may be absent.
    pub(crate) fn optional(&mut self, name: &str, value: Option<impl Display>) {
        match value {
            Some(value) => self.field(name, value),
            None => self.push(format_args!("{name}:absent\n")),
        }
    }

    /// Adds every item of a list, and how many there are.
    pub(crate) fn list(&mut self, name: &str, values: impl ExactSizeIterator<Item = impl Display>) {
        self.field(name, values.len());
        for value in values {
            self.field(name, value);
        }
    }

    /// The digest of the fields so far.
    pub(crate) fn finish(&self) -> u64 {
        model::ledger::digest(self.text.as_bytes())
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        self.text.write_fmt(text).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fields: &[(&str, Option<&str>)]) -> u64 {
        let mut digest = Digest::default();
        for (name, value) in fields {
            digest.optional(name, *value);
        }
        digest.finish()
    }

    #[test]
    fn fields_cannot_be_shifted_into_each_other() {
        let numbers = [
            of(&[]),
            of(&[("a", None)]),
            of(&[("a", Some(""))]),
            of(&[("a", Some("absent"))]),
            of(&[("a", Some("x")), ("b", Some("y"))]),
            of(&[("a", Some("x\nb:1:y"))]),
            of(&[("b", Some("y")), ("a", Some("x"))]),
        ];
        let distinct: std::collections::BTreeSet<_> = numbers.iter().collect();
        assert_eq!(distinct.len(), numbers.len());
    }

    #[test]
    fn a_digest_never_changes() {
        assert_eq!(of(&[("a", Some("x")), ("b", None)]), 12_466_364_576_564_898_808);
    }
}
