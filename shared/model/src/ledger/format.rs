//! The format of the ledger: what an upgrade and a rollback compare before they change anything.

use std::{fmt, ops::RangeInclusive};

/// Which formats of the ledger's items a release writes and reads. The template of each release carries it as text.
///
/// Functions of two releases share the table while they are replaced, and the former release may come back. So a new
/// format takes two releases: the first reads it, the second writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerFormat {
    /// The format of every item that is written.
    pub writes: u32,
    /// The formats that are read.
    pub reads: RangeInclusive<u32>,
}

impl LedgerFormat {
    /// That of this release. An optional member or a new kind of item that other releases may pass over needs no new
    /// format. `tests/golden/ledger-N` keeps items of each format that is read.
    pub const OURS: Self = Self { writes: 1, reads: 1..=1 };

    /// Whether a release with this format can read what a release with the format `other` writes.
    pub fn can_read(&self, other: &Self) -> bool {
        self.reads.contains(&other.writes)
    }

    /// The format in `text`, as [`fmt::Display`] writes it; `None` if it is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let (writes, reads) = text.strip_prefix("writes ")?.split_once(", reads ")?;
        let (from, to) = reads.split_once(" to ")?;
        Some(Self { writes: writes.parse().ok()?, reads: from.parse().ok()?..=to.parse().ok()? })
    }
}

impl fmt::Display for LedgerFormat {
    /// `writes 2, reads 1 to 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { writes, reads } = self;
        write!(f, "writes {writes}, reads {} to {}", reads.start(), reads.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_read_as_it_is_written() {
        let format = LedgerFormat { writes: 2, reads: 1..=3 };
        assert_eq!(format.to_string(), "writes 2, reads 1 to 3");
        assert_eq!(LedgerFormat::parse("writes 2, reads 1 to 3"), Some(format));
        for text in ["", "2", "writes 2", "writes 2, reads 1", "writes x, reads 1 to 3"] {
            assert_eq!(LedgerFormat::parse(text), None, "{text}");
        }
    }

    #[test]
    fn every_release_reads_what_it_writes() {
        let LedgerFormat { writes, reads } = LedgerFormat::OURS;
        assert!(reads.contains(&writes));
    }

    #[test]
    fn a_new_format_is_read_by_one_release_and_written_by_the_next() {
        let format = |writes, reads| LedgerFormat { writes, reads };
        let (first, second, third) = (format(1, 1..=1), format(1, 1..=2), format(2, 1..=2));
        assert!(second.can_read(&first) && first.can_read(&second));
        assert!(third.can_read(&second) && second.can_read(&third));
        assert!(third.can_read(&first) && !first.can_read(&third));
    }
}
