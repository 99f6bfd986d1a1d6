//! Records of the table's stream.

use model::{ClusterName, NodeClaim};

/// One change of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRecord {
    /// Names the record when it has to be delivered again; empty when it has none.
    pub sequence_number: String,
    /// The cluster, where it could be read.
    pub cluster: Option<ClusterName>,
    /// The claim as it is now; `None` when the change is no claim's or the claim was removed.
    pub claim: Result<Option<NodeClaim>, Error>,
}

/// Why a record or an event cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stream: {0}")]
pub struct Error(pub String);

/// Reads the event that a stream hands to a function.
pub fn records(_event: &str) -> Result<Vec<StreamRecord>, Error> {
    Err(Error(String::new()))
}

/// The same, from an event that was read already.
pub fn records_of(_event: &serde_json::Value) -> Result<Vec<StreamRecord>, Error> {
    Err(Error(String::new()))
}
