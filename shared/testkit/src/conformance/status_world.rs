//! What the suites of `NodeClasses` and `NodePools` need of others: people who write objects.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// A condition as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCondition {
    /// `status`; `None` is `Unknown`.
    pub status: Option<bool>,
    /// `reason`
    pub reason: String,
    /// `message`
    pub message: String,
    /// `lastTransitionTime`
    pub since: Timestamp,
}

/// An object as another client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObject {
    /// Another one after each write that changed something.
    pub revision: String,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// `status.conditions` by type.
    pub conditions: BTreeMap<String, StoredCondition>,
    /// What else the status says, in words of the suite's own: `subnets` are ids with commas between,
    /// `nodes` is how many.
    pub said: BTreeMap<&'static str, String>,
}

/// What others do to the objects of one kind, which no controller looks at.
pub trait StatusWorld {
    /// Makes an object that breaks no rule.
    async fn make(&self, name: &str);
    /// Writes another spec, which breaks no rule either.
    async fn change_spec(&self, name: &str);
    /// Annotates the object.
    async fn annotate(&self, name: &str, key: &str, value: &str);
    /// Deletes the object, and waits until it is gone.
    async fn delete(&self, name: &str);
    /// The object, if it is there.
    async fn stored(&self, name: &str) -> Option<StoredObject>;
}
