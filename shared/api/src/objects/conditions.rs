//! `status.conditions`: what controllers say about an object.
//!
//! <https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties>

use jiff::Timestamp;

use crate::document::tree::{Tree, Value};

/// Conditions by type. What is malformed in one is as good as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions(Vec<One>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct One {
    kind: String,
    is_true: bool,
    reason: String,
    message: String,
    since: Option<Timestamp>,
}

impl Conditions {
    /// Reads `status.conditions` of `object`; an absent list is empty.
    pub(crate) fn of(object: &Tree) -> Self {
        let list = object.get("status").and_then(|status| status.get("conditions"));
        let Some(Value::List(items)) = list.map(|list| &list.value) else { return Self::default() };
        let text = |item: &Tree, key: &str| {
            item.get(key).and_then(Tree::as_text).unwrap_or_default().to_owned()
        };
        let one = |item: &Tree| One {
            kind: text(item, "type"),
            is_true: text(item, "status") == "True",
            reason: text(item, "reason"),
            message: text(item, "message"),
            since: text(item, "lastTransitionTime").parse().ok(),
        };
        Self(items.iter().map(one).collect())
    }

    fn get(&self, kind: &str) -> Option<&One> {
        self.0.iter().find(|one| one.kind == kind)
    }

    /// Whether there is none at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn is_true(&self, kind: &str) -> bool {
        self.get(kind).is_some_and(|one| one.is_true)
    }

    /// When the condition last changed, if it is true.
    pub(crate) fn since(&self, kind: &str) -> Option<Timestamp> {
        self.get(kind).filter(|one| one.is_true)?.since
    }

    /// When the condition last changed, if it has this reason: known, or not.
    #[expect(clippy::option_option, reason = "a condition may not say since when it is")]
    pub(crate) fn since_with_reason(&self, kind: &str, reason: &str) -> Option<Option<Timestamp>> {
        self.get(kind).filter(|one| one.reason == reason).map(|one| one.since)
    }

    /// The reason of a condition that is true.
    pub(crate) fn reason_if_true(&self, kind: &str) -> Option<String> {
        self.get(kind).filter(|one| one.is_true).map(|one| one.reason.clone())
    }

    /// Why the object is not ready, in words: the conditions that are not true. `None` when it is,
    /// or when nobody looked yet.
    pub(crate) fn not_ready(&self) -> Option<String> {
        if self.is_empty() || self.is_true("Ready") {
            return None;
        }
        let others = self.0.iter().filter(|one| !one.is_true && one.kind != "Ready");
        let said: Vec<String> = others.map(One::in_words).collect();
        let ready = || self.get("Ready").map(One::in_words);
        Some(match said.as_slice() {
            [] => ready().unwrap_or_else(|| "it has no condition Ready".to_owned()),
            said => said.join("; "),
        })
    }
}

impl One {
    fn in_words(&self) -> String {
        let message = if self.message.is_empty() { &self.reason } else { &self.message };
        format!("condition {} is not true: {message}", self.kind)
    }
}
