//! How much a call of a port is about.

/// How large a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// What is listed, named or missing: which of them, the operation's row says.
    pub items: u64,
    /// A second amount, for the few rows that need one.
    pub others: u64,
    /// Read units of DynamoDB.
    pub read_units: u64,
    /// Write units of DynamoDB, those of the index included.
    pub write_units: u64,
    /// Bytes that are read from DynamoDB: a query answers at most 1 MB at once.
    pub bytes: u64,
}

impl Load {
    /// A load of a number of items.
    pub fn items(items: usize) -> Self {
        Self { items: number(items), ..Self::default() }
    }
}

pub(crate) fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
