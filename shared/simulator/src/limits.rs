//! The real account's limits, as values that a scenario can change.
//!
//! A world without them hides what a real account does: it throttles, it ends functions at their time
//! limit, it ends chains of messages, and its lists take time. Every default names its source.

mod action;
pub mod bucket;
mod charge;
pub mod costs;
mod functions;
mod latency;
pub mod load;
mod quotas;
mod sizes;

pub use action::{ApiAction, ApiService};
pub use bucket::{RequestLimits, TokenBucket};
pub use costs::actions_of;
pub use functions::{
    FunctionLimits, FunctionQueue, FunctionTable, RECURSIVE_INVOCATIONS_MAX, RecursiveLoop,
};
pub use latency::Latencies;
pub use load::Load;
pub use quotas::Quotas;
pub use sizes::{claim_bytes, decision_bytes};

pub(crate) use charge::Usage;
pub(crate) use load::number;
pub(crate) use sizes::{
    claim_units, commit as commit_load, created_bytes, decision_units, read as read_load, refusal,
    removal_units, write_units,
};

/// What DynamoDB gives one partition of a table, and what it takes at once. All items of a cluster are
/// in one partition.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html>,
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLimits {
    /// Read units of one partition in one second. Default: 3,000.
    pub read_units_per_second: u32,
    /// Write units of one partition in one second. Default: 1,000.
    pub write_units_per_second: u32,
    /// Bytes of one item. Default: 400 KB.
    pub item_bytes_max: u64,
    /// Bytes of all items of one transaction. Default: 4 MB.
    pub transaction_bytes_max: u64,
}

impl Default for TableLimits {
    fn default() -> Self {
        Self {
            read_units_per_second: 3_000,
            write_units_per_second: 1_000,
            item_bytes_max: 400 * 1_024,
            transaction_bytes_max: 4 << 20,
        }
    }
}

/// What one account in one region, and the API server beside it, allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountLimits {
    /// How many requests of each action are answered.
    pub requests: RequestLimits,
    /// What the table takes; `None` is anything.
    pub table: Option<TableLimits>,
    /// What each function and its queue are allowed.
    pub functions: FunctionTable,
    /// How long requests take.
    pub latencies: Latencies,
    /// How much there may be of what is bought and made.
    pub quotas: Quotas,
}

impl Default for AccountLimits {
    /// An account that never asked for more, with the functions as `template.yaml` deploys them.
    fn default() -> Self {
        Self {
            requests: RequestLimits::default_of_account(),
            table: Some(TableLimits::default()),
            functions: FunctionTable::deployed(),
            latencies: Latencies::default(),
            quotas: Quotas::default(),
        }
    }
}

impl AccountLimits {
    /// No limit at all, for tests about something else: nothing is throttled or takes time of its own,
    /// and every function and queue has a minute.
    pub fn unlimited() -> Self {
        Self {
            requests: RequestLimits::default(),
            table: None,
            functions: FunctionTable::uniform(),
            latencies: Latencies::NONE,
            quotas: Quotas::UNLIMITED,
        }
    }
}
